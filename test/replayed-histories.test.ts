/**
 * Times of crawls are whole minutes, instances crash, and a new leader begins with messages that earlier leaders have
 * recorded. Every message is recorded once, in the order of its stream, and no other event is created. The simulated
 * recorder has a position that may be behind its rows, copies of the database, and streams that are created again.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { AdvertEvent } from '../src/engine/domain/advert.ts';
import { applyMessage, type StoredProperty } from '../src/engine/domain/change.ts';
import { uuidOf } from '../src/engine/domain/ids.ts';
import type { IntakeMessage } from '../src/engine/domain/intake-message.ts';
import { ADVERT, expireAt, minute, OTHER_ADVERT, upsertAt } from './support/adverts.ts';
import { runsOf } from './support/random-runs.ts';

/** Messages of one property, many with the same `crawledAt`, some older than the one before. */
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

/** After `after` messages a leader ends; the next one begins `back` messages earlier, or with a copy of older rows. */
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
  readonly stored: StoredProperty | null;
  readonly events: readonly AdvertEvent[];
  /** The rows include every message up to this sequence. */
  readonly recorded: number;
}

const EMPTY: Rows = { stored: null, events: [], recorded: 0 };

function record(rows: Rows, message: IntakeMessage, stream: number, sequence: number): Rows {
  const change = applyMessage(rows.stored, message, { stream, sequence });
  return {
    stored: change.stored,
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

test('each message is recorded once and in stream order, even if a new leader reads some again', () => {
  fc.assert(
    fc.property(history, crashes, (messages, ends) => {
      const [expected, found] = [recordAll(messages), recordWithCrashes(messages, ends)];
      assert.deepEqual(found.events, expected.events);
      assert.deepEqual(found.stored, expected.stored);
    }),
    { numRuns: runsOf(2_000) },
  );
});

test('in a new stream the same numbers are different messages, and the crawlers’ clock decides', () => {
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

test('a requeued message is not treated as a repetition, and does not undo later ones', () => {
  const [cut, later] = [upsertAt(5, { advert: { price: 240_000 } }), upsertAt(5, { advert: { price: 230_000 } })];
  const created = record(EMPTY, upsertAt(4, { advert: { price: 250_000 } }), 1, 1).stored;
  const requeued = { stream: 1, sequence: 9, requeuedFrom: 2 };
  assert.equal(applyMessage(created, cut, requeued).outcome, 'changed');
  const overtaken = applyMessage(created, later, { stream: 1, sequence: 3 }).stored;
  assert.equal(applyMessage(overtaken, cut, requeued).outcome, 'stale', 'the stream’s order decides');
  const older = applyMessage(created, upsertAt(4, { advert: { price: 230_000 } }), { stream: 1, sequence: 3 }).stored;
  assert.equal(applyMessage(older, cut, requeued).outcome, 'changed', 'the crawlers’ clock decides');
});
