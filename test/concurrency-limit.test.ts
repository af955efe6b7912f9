/** How many may be under way at once, and when the others may come again. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Uuid } from '../src/engine/domain/ids.ts';
import { createConcurrencyLimit } from '../src/rest/concurrency-limit.ts';
import { Problem } from '../src/rest/problem.ts';
import { verbatim } from '../src/rest/sentences.ts';

const BOUNDS = { perClientMax: 2, allMax: 8, retryAfterSeconds: 1, spreadSeconds: 8 };
const clientNumber = (number: number): Uuid => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}` as Uuid;
const noEnd = (): Promise<never> => new Promise(() => undefined);

/** What who is refused is told. */
async function refusal(asked: Promise<unknown>): Promise<{ readonly detail: string; readonly seconds: number }> {
  const problem = await asked.then(
    () => assert.fail('was let in'),
    (error: unknown) => error,
  );
  assert.ok(problem instanceof Problem);
  assert.equal(problem.status, 429);
  return { detail: problem.message, seconds: Number(problem.headers['Retry-After']) };
}

const QUESTIONS = verbatim('questions');

test('who has enough under way is told the next second, whoever else is there', async () => {
  const limited = createConcurrencyLimit(QUESTIONS, BOUNDS, () => 0.999);
  for (let i = 0; i < 2; i++) void limited(clientNumber(1), noEnd);
  const { detail, seconds } = await refusal(limited(clientNumber(1), noEnd));
  assert.match(detail, /2 of a client/);
  assert.equal(seconds, 1);
});

test('a crowd that finds no room is told different seconds, and nobody an earlier one than the first', async () => {
  let told = 0;
  const limited = createConcurrencyLimit(QUESTIONS, BOUNDS, () => (told++ % 100) / 100);
  for (let i = 0; i < 8; i++) void limited(clientNumber(i), noEnd);
  const seconds = new Map<number, number>();
  for (let i = 0; i < 100; i++) {
    const refused = await refusal(limited(clientNumber(100 + i), noEnd));
    assert.match(refused.detail, /the service is busy: 8 .* are under way, try again in \d+ s/);
    seconds.set(refused.seconds, (seconds.get(refused.seconds) ?? 0) + 1);
  }
  assert.deepEqual(
    [...seconds.keys()].toSorted((a, b) => a - b),
    [1, 2, 3, 4, 5, 6, 7, 8],
  );
  assert.ok(Math.max(...seconds.values()) <= 13);
});

test('there is room again when somebody has ended, whether it went well or not', async () => {
  const limited = createConcurrencyLimit(QUESTIONS, { ...BOUNDS, allMax: 1 });
  await assert.rejects(
    limited(clientNumber(1), () => Promise.reject(new Error('no'))),
    /^Error: no$/,
  );
  assert.equal(await limited(clientNumber(2), async () => 'answer'), 'answer');
});
