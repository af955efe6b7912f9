/**
 * The limits of requests: the rate, the number of concurrent ones, which of them wait, and when refused ones may be
 * repeated.
 */

import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { BlockList, type Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { Context } from 'koa';
import type { Uuid } from '../src/engine/domain/ids.ts';
import { onceClosed } from '../src/rest/content.ts';
import { ConcurrencyLimit, createQueryLimiter, limitRate } from '../src/rest/limits.ts';
import { Problem } from '../src/rest/problem.ts';
import { verbatim } from '../src/rest/sentences.ts';
import { createConnectionLimits } from '../src/roles/api.ts';
import { collectGarbage } from './support/garbage.ts';

const [A, B] = ['a', 'b'];
const QUESTIONS = verbatim('questions');
const noEnd = (): Promise<never> => new Promise(() => undefined);

/** The response to a refused request. */
async function refusalOf(
  asked: () => Promise<unknown>,
): Promise<{ readonly detail: string; readonly seconds: number }> {
  const problem = await asked().then(
    () => assert.fail('was answered'),
    (error: unknown) => error,
  );
  assert.ok(problem instanceof Problem, String(problem));
  assert.equal(problem.status, 429);
  return { detail: problem.message, seconds: Number(problem.extra.headers?.['Retry-After']) };
}

/** A request of `client`, with only the members that the limits read. */
function requestOf(client: string, method = 'GET', limits: object = {}) {
  const headers = new Map<string, unknown>();
  const res = Object.assign(new EventEmitter(), {
    setHeader: (name: string, value: unknown) => headers.set(name, value),
  });
  const state = {
    principal: { clientId: client, keyId: client, ...limits },
    chargeBody: (_bytes: number) => undefined,
  };
  return { headers, state, ctx: { method, path: '/searches', state, res } as unknown as Context };
}

test('a client at its limit may retry in a second, however busy other clients are', async () => {
  const places = new ConcurrencyLimit(QUESTIONS, { perClientMax: 2, allMax: 8, spreadSeconds: 8 }, () => 0.999);
  for (let i = 0; i < 2; i++) void places.run(A, noEnd);
  const { detail, seconds } = await refusalOf(() => places.run(A, noEnd));
  assert.match(detail, /2 per client/);
  assert.equal(seconds, 1);
});

test('refused clients get times to retry that are spread evenly over eight seconds', async () => {
  let drawn = 0;
  const places = new ConcurrencyLimit(
    QUESTIONS,
    { perClientMax: 2, allMax: 8, spreadSeconds: 8 },
    () => (drawn++ % 100) / 100,
  );
  for (let i = 0; i < 8; i++) void places.run(`client ${i}`, noEnd);
  const counts = new Map<number, number>();
  for (let i = 0; i < 100; i++) {
    const { detail, seconds } = await refusalOf(() => places.run(`other ${i}`, noEnd));
    assert.match(detail, /The service is busy: .* have reached their maximum of 8\. Try again in \d+ s/);
    counts.set(seconds, (counts.get(seconds) ?? 0) + 1);
  }
  assert.deepEqual(
    [...counts.keys()].toSorted((one, other) => one - other),
    [1, 2, 3, 4, 5, 6, 7, 8],
  );
  assert.ok(Math.max(...counts.values()) <= 13);
});

test('a finished request releases its slot once, whether it succeeded or failed', async () => {
  const places = new ConcurrencyLimit(QUESTIONS, { perClientMax: 1, allMax: 1 });
  await assert.rejects(
    places.run(A, () => Promise.reject(new Error('no'))),
    /^Error: no$/,
  );
  assert.equal(await places.run(B, async () => 'answer'), 'answer');
  const leave = places.tryEnter(A);
  leave?.();
  leave?.();
  assert.ok(places.tryEnter(B));
  assert.equal(places.tryEnter(A), null);
});

test('a client that disconnects before its request has claimed a slot leaves the slot free', async () => {
  const pages = new ConcurrencyLimit(QUESTIONS, { perClientMax: 1, allMax: 1 });
  const { ctx } = requestOf(A);
  ctx.res.emit('close');
  Object.assign(ctx.res, { closed: true });
  onceClosed(ctx, pages.tryEnter(A) ?? assert.fail());
  assert.ok(pages.tryEnter(A));
  const limiter = createQueryLimiter({} as never);
  for (let request = 0; request < 3; request++) {
    const late = limiter.run(ctx, async (gone) => {
      while (!gone.aborted) await wait(1);
      gone.throwIfAborted();
    });
    await assert.rejects(late, (error: unknown) => error instanceof Problem && error.status === 400);
  }
});

test('a connection that closes during its authentication does not count for its client', () => {
  const limits = createConnectionLimits(new BlockList(), 4);
  for (let connection = 0; connection < 3; connection++) {
    const socket = Object.assign(new EventEmitter(), { remoteAddress: '192.0.2.1', destroyed: false });
    limits.onConnection(socket as unknown as Socket);
    socket.destroyed = true;
    socket.emit('close');
    assert.equal(limits.noteAuthenticated(socket as unknown as Socket, A as Uuid), true);
  }
});

test('if requests may wait, those of one client run in sequence, and those of another client immediately', async () => {
  const places = new ConcurrencyLimit(QUESTIONS, { perClientMax: 1, allMax: 8, waitingMax: 7 });
  const began: number[] = [];
  const ends: (() => void)[] = [];
  const start = (client: string, number: number) =>
    places.run(client, () => {
      began.push(number);
      return new Promise<void>((resolve) => ends.push(resolve));
    });
  const all = Array.from({ length: 8 }, (_, number) => start(A, number));
  await refusalOf(() => start(A, 8));
  all.push(start(B, 9));
  for (let ended = 0; ended < 9; ended++) {
    await new Promise(setImmediate);
    ends[ended]?.();
  }
  await Promise.all(all);
  assert.deepEqual(began, [0, 9, 1, 2, 3, 4, 5, 6, 7]);
});

test('waiting clients take turns, reads and writes of one alternate, and a disconnected one waits no longer', async () => {
  const places = new ConcurrencyLimit(QUESTIONS, { perClientMax: 1, allMax: 1, waitingMax: Infinity });
  const leaveFirst = places.tryEnter('first');
  const order: string[] = [];
  const left = new AbortController();
  const enter = (client: string, what: string, isWriting: boolean, gone = new AbortController()) =>
    Promise.resolve(places.enter(client, () => gone.signal, isWriting)).then((leave) => {
      order.push(what);
      leave();
    });
  const waiting = [
    enter(A, 'a reads', false),
    enter(A, 'a reads again', false),
    enter(A, 'a writes', true),
    enter(B, 'b reads', false),
  ];
  const gone = enter(B, 'b has left', false, left);
  left.abort();
  await assert.rejects(gone, Problem);
  leaveFirst?.();
  await Promise.all(waiting);
  assert.deepEqual(order, ['a reads', 'b reads', 'a writes', 'a reads again']);
  assert.ok(places.tryEnter(A), 'every slot is free again');
});

/** The limits of decisions, section 7. */
const SETTINGS = { rateLimit: { perSecond: 1_000, burst: 2_000 }, writeLimit: { perSecond: 50, burst: 200 } };

test('a key has rates for reads and writes, its client may have others, and a large body costs more', async () => {
  let nowMs = 0;
  const limit = limitRate(SETTINGS as never, () => nowMs);
  const send = (...request: Parameters<typeof requestOf>) => {
    const { ctx, headers, state } = requestOf(...request);
    const answered = async () => limit(ctx, async () => 'answered');
    return { answered, headers, state };
  };
  const countAnswered = async (...request: Parameters<typeof requestOf>) => {
    for (let count = 0; ; count++) {
      const { answered, headers } = send(...request);
      const isAnswered = await answered().catch(() => false);
      if (isAnswered === false) {
        assert.deepEqual([headers.get('RateLimit-Remaining'), headers.get('RateLimit-Limit')], [0, count + headroom]);
        return count;
      }
    }
  };
  let headroom = 0;
  assert.equal(await countAnswered(A), 2_000);
  assert.equal(await countAnswered(A, 'POST'), 200);
  assert.equal(await countAnswered(B, 'DELETE', { writeLimitPerSecond: 1, writeLimitBurst: 3 }), 3);
  nowMs += 500;
  headroom = 1_500;
  assert.equal(await countAnswered(A), 500);
  headroom = 175;
  assert.equal(await countAnswered(A, 'PUT'), 25);
  const { detail, seconds } = await refusalOf(send(B, 'POST', { writeLimitPerSecond: 1 }).answered);
  assert.match(detail, /at most 1 write requests per second/);
  assert.equal(seconds, 1);
  nowMs += 60_000;
  const large = send(A, 'POST');
  await large.answered();
  large.state.chargeBody(1_000_000);
  const next = send(A, 'POST');
  await next.answered();
  assert.equal(next.headers.get('RateLimit-Remaining'), 200 - 2 - 15);
});

test('queries run two at once per client and eight in total, cheap ones twenty per client, and slow ones are ended', async () => {
  const limiter = createQueryLimiter({} as never);
  const run = (client: string) => limiter.run(requestOf(client).ctx, noEnd);
  for (let i = 0; i < 8; i++) void run(`client ${i >> 1}`);
  assert.match((await refusalOf(() => run('client 0'))).detail, /2 per client/);
  assert.match((await refusalOf(() => run(A))).detail, /their maximum of 8/);
  const single = () => limiter.runSingle(requestOf(A).ctx, noEnd);
  for (let i = 0; i < 20; i++) void single();
  assert.match((await refusalOf(single)).detail, /20 per client/);
  const timeout = Object.assign(new Error('canceling statement'), { code: '57014' });
  const slow = () => limiter.runSingle(requestOf(B).ctx, () => Promise.reject(timeout));
  const tooLong = { detail: 'The query takes too long. Make it narrower, or try again later.', seconds: 5 };
  assert.deepEqual(await refusalOf(slow), tooLong);
  const impatient = createQueryLimiter({} as never, 50);
  const late = () =>
    impatient.run(requestOf(B).ctx, async (ending) => {
      // A garbage collection must not remove the deadline.
      while (!ending.aborted) await wait(1).then(collectGarbage);
      ending.throwIfAborted();
    });
  assert.deepEqual(await refusalOf(late), tooLong);
});
