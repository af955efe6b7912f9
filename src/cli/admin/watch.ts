/** `vigie admin watch`: what happens, as it happens. */

import { once } from 'node:events';
import type { JsonObject } from '@bufbuild/protobuf';
import type { ServiceError } from '@grpc/grpc-js';
import { callError, follow } from './client.ts';
import type { Command } from './command.ts';
import { methodNamed } from './descriptors.ts';
import { printable, textOf } from './output.ts';
import { fieldsOf, optionsOf, requestOf } from './request.ts';

const FIELDS = fieldsOf(methodNamed('WatchActivity').input, []);

export const WATCH: Command = {
  words: 'watch',
  summary: 'changes, matches and attempts as they happen, until Ctrl-C',
  details: 'A window, not a log: what a slow reader misses is counted.',
  options: optionsOf(FIELDS),
  example: 'vigie admin watch --failures --json | jq .attempt.error',
  async run(client, input) {
    const stream = follow(client, 'WatchActivity', requestOf(FIELDS, input));
    let isInterrupted = false;
    process.once('SIGINT', () => {
      isInterrupted = true;
      stream.cancel();
    });
    try {
      for await (const activity of stream as AsyncIterable<JsonObject>) {
        const line = input.isJson ? JSON.stringify(activity) : printable(describe(activity));
        if (!process.stdout.write(`${line}\n`)) await once(process.stdout, 'drain');
      }
    } catch (error) {
      if (!isInterrupted) throw callError(client, error as ServiceError);
    }
  },
};

function describe({ time, skippedCount, ...fact }: JsonObject): string {
  const skipped = Number(skippedCount) > 0 ? `(${textOf(skippedCount)} skipped) ` : '';
  return `${textOf(time)}  ${skipped}${describeFact(fact)}`;
}

type Texts = Readonly<Record<string, string | number>>;

function describeFact({ change, match, attempt }: JsonObject): string {
  if (change !== undefined) {
    const { property, kind, field, oldValue, newValue } = change as Texts;
    return `change   ${property}  ${kind}${field === '' ? '' : `  ${field} ${oldValue} → ${newValue}`}`;
  }
  if (match !== undefined) {
    const { search, property } = match as Texts;
    return `match    ${search}  ${property}`;
  }
  if (attempt === undefined) return 'something that this version does not know';
  const { delivery, endpoint, number, error, statusCode, durationMs, state } = attempt as Texts;
  const end = error === '' ? statusCode : `${error} ${statusCode || ''}`.trim();
  return `attempt  ${delivery}  ${endpoint}  #${number} ${end}  ${durationMs} ms  ${state}`;
}
