/**
 * Pages that are too large to be built in one piece: a hundred searches of thousands of cities each are a hundred
 * megabytes. Such a page is written member by member, as its client takes it, and of each client and in all only a few
 * are under way. It has no entity tag: nobody knows its last byte when the first one leaves.
 */

import { Readable } from 'node:stream';
import type { Context } from 'koa';
import { principalOf } from './auth.ts';
import { answerStream } from './content.ts';
import { Problem } from './problem.ts';

export const PAGES_OF_CLIENT_MAX = 2;
export const PAGES_MAX = 8;

export type AnswerPage = (ctx: Context, envelope: object, members: AsyncIterable<object>) => void;

/** `envelope` is a collection without members; `members` is asked for one only when the last one was taken. Throws 429. */
export function createLargeAnswers(): AnswerPage {
  const underWay = new Map<string, number>();
  let total = 0;
  const take = (client: string, count: number): void => {
    const next = (underWay.get(client) ?? 0) + count;
    if (next === 0) underWay.delete(client);
    else underWay.set(client, next);
    total += count;
  };
  return (ctx, envelope, members) => {
    const { clientId } = principalOf(ctx);
    if ((underWay.get(clientId) ?? 0) >= PAGES_OF_CLIENT_MAX || total >= PAGES_MAX) {
      const detail = 'this page is large, and as many as may be are under way: ask for fewer items';
      throw new Problem(429, detail, { headers: { 'Retry-After': '1' } });
    }
    take(clientId, 1);
    ctx.res.once('close', () => take(clientId, -1));
    answerStream(ctx, Readable.from(textOf(envelope, members)));
  };
}

async function* textOf(envelope: object, members: AsyncIterable<object>): AsyncGenerator<string> {
  yield `${JSON.stringify({ ...envelope, 'hydra:member': undefined }).slice(0, -1)},"hydra:member":[`;
  let separator = '';
  for await (const member of members) {
    yield separator + JSON.stringify(member);
    separator = ',';
  }
  yield ']}';
}
