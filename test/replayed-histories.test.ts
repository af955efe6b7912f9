/**
 * Crawlers stamp whole minutes, instances crash, and terms begin with what the ones before had recorded already: every
 * message is recorded once in the order of its stream, and nothing else is ever told. The recorder is simulated with its
 * position behind the rows, copies of the database, and streams that are made anew.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { AdvertEvent } from '../src/engine/domain/advert.ts';
import { applyMessage, type HeldProperty } from '../src/engine/domain/change.ts';
import { uuidOf } from '../src/engine/domain/ids.ts';
import type { IntakeMessage } from '../src/engine/domain/intake-message.ts';
import { ADVERT, expireAt, minute, OTHER_ADVERT, upsertAt } from './support/adverts.ts';
import { runsOf } from './support/random-runs.ts';

/** Of one property, many with the same `crawledAt`, some older than the one before. */
const history: fc.Arbitrary<readonly IntakeMessage[]> = fc.array(
  fc
    .record({
      advertUuid: fc.constantFrom(ADVERT, OTHER_ADVERT, uuidOf('ad000000-0000-4000-8000-000000000003')),
      at: fc.nat({ max: 3 }),
      price: fc.constantFrom(null, 240_000, 250_000),
    })
    .map(({ advertUuid, at, price }) =>
      price === null ? expireAt(at, { advertUuid }) : upsertAt(at, { advertUuid, advert: { price } }),
    ),
  { minLength: 1, maxLength: 20, size: 'max' },
);

/** After so many messages the term ends, and the next one begins so many before that; or with a copy of the rows. */
interface Crash {
  readonly after: number;
  readonly back: number;
  readonly isRestored: boolean;
}

const crashes: fc.Arbitrary<readonly Crash[]> = fc.array(
  fc.record({ after: fc.nat({ max: 6 }), back: fc.nat({ max: 20 }), isRestored: fc.boolean() }),
  {
    maxLength: 12,
  },
);

interface Rows {
  readonly held: HeldProperty | null;
  readonly events: readonly AdvertEvent[];
  /** Every message up to here is in them. */
  readonly recorded: number;
}

const EMPTY: Rows = { held: null, events: [], recorded: 0 };

function record(rows: Rows, message: IntakeMessage, stream: number, sequence: number): Rows {
  const change = applyMessage(rows.held, message, { stream, sequence });
  return {
    held: change.held,
    events: [...rows.events, ...change.events],
    recorded: Math.max(rows.recorded, sequence),
  };
}

const recordAll = (messages: readonly IntakeMessage[], rows = EMPTY, stream = 1): Rows =>
  messages.reduce((after, message, position) => record(after, message, stream, position + 1), rows);

function recordWithCrashes(messages: readonly IntakeMessage[], ends: readonly Crash[]): Rows {
  const copies: Rows[] = [EMPTY];
  let rows = EMPTY;
  let next = 1;
  for (const { after, back, isRestored } of ends) {
    for (let taken = 0; taken < after && next <= messages.length; taken++, next++) {
      rows = record(rows, messages[next - 1] as IntakeMessage, 1, next);
      copies.push(rows);
    }
    if (isRestored) rows = copies[back % copies.length] as Rows;
    next = Math.max(1, Math.min(next, rows.recorded + 1) - back);
  }
  for (; next <= messages.length; next++) rows = record(rows, messages[next - 1] as IntakeMessage, 1, next);
  return rows;
}

test('whatever a term takes in again, each message is recorded once and in the order of the stream', () => {
  fc.assert(
    fc.property(history, crashes, (messages, ends) => {
      const [expected, found] = [recordAll(messages), recordWithCrashes(messages, ends)];
      assert.deepEqual(found.events, expected.events);
      assert.deepEqual(found.held, expected.held);
    }),
    { numRuns: runsOf(2_000) },
  );
});

test('in a stream that was made anew the same numbers are other messages: the crawlers’ clock decides', () => {
  fc.assert(
    fc.property(history, history, (before, later) => {
      const first = recordAll(before);
      const anew = later.map((message) => ({
        ...message,
        crawledAt: minute(10 + Number(message.crawledAt.slice(14, 16))),
      }));
      const [found, expected] = [
        recordAll(anew, first, 2),
        anew.reduce((rows, message, position) => record(rows, message, 1, 100 + position), first),
      ];
      assert.deepEqual(found.events, expected.events);
    }),
    { numRuns: 500 },
  );
});

test('a requeued message is no repeated one, and does not undo what came after it', () => {
  const [cut, later] = [upsertAt(5, { advert: { price: 240_000 } }), upsertAt(5, { advert: { price: 230_000 } })];
  const created = record(EMPTY, upsertAt(4, { advert: { price: 250_000 } }), 1, 1).held;
  const requeued = { stream: 1, sequence: 9, requeuedFrom: 2 };
  assert.equal(applyMessage(created, cut, requeued).outcome, 'changed');
  const overtaken = applyMessage(created, later, { stream: 1, sequence: 3 }).held;
  assert.equal(applyMessage(overtaken, cut, requeued).outcome, 'stale', 'the stream’s order decides');
  const older = applyMessage(created, upsertAt(4, { advert: { price: 230_000 } }), { stream: 1, sequence: 3 }).held;
  assert.equal(applyMessage(older, cut, requeued).outcome, 'changed', 'the crawlers’ clock decides');
});
