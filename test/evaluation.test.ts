/** One transaction records a limited part of a batch. The rest is deferred to the next one, in order. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type SearchNumber, searchNumberOf } from '../src/engine/domain/ids.ts';
import type { IntakeMessage } from '../src/engine/domain/intake-message.ts';
import { NO_MEDIANS } from '../src/engine/domain/market-prices.ts';
import { stateText } from '../src/engine/domain/stored-property.ts';
import { evaluateBatch, unreadStates } from '../src/engine/intake/evaluation.ts';
import { expireAt, heldAfter, nextOrigin, PROPERTY, resolveToulon, upsertAt } from './support/adverts.ts';
import { numberedUuid } from './support/intake.ts';

const BOUNDS = { advertsMax: 200, bytesMax: 8_388_608, batchBytesMax: 16_777_216, waitingMax: 64 };
/** Without a search that notifies. */
const matcher = { match: () => [], notifying: { horizon: null, has: () => false } };
const dependencies = { matcher, medians: () => NO_MEDIANS, resolvePlace: resolveToulon, bounds: BOUNDS };

function entryOf(message: IntakeMessage, bytes = 1_000) {
  return { message, origin: nextOrigin(), bytes, traceparent: null };
}

async function leftOf(messages: number, satisfied: number, notifying: number): Promise<readonly number[]> {
  const numbers: SearchNumber[] = Array.from({ length: satisfied }, (_, number) => searchNumberOf(number + 1));
  const matching = {
    match: () => numbers,
    notifying: { horizon: null, has: (number: SearchNumber) => number <= notifying },
  };
  const entries = Array.from({ length: messages }, (_, number) => {
    const ids = { propertyUuid: numberedUuid('property', number), advertUuid: numberedUuid('advert', number) };
    return entryOf(upsertAt(0, ids));
  });
  const batch = await evaluateBatch(new Map(), entries, { ...dependencies, matcher: matching });
  assert.equal(batch.changes.length + batch.deferred.length, messages);
  return batch.deferred;
}

test('a batch ends at two thousand notified pairs, however many other pairs there are', async () => {
  assert.deepEqual(await leftOf(6, 1_000, 500), [4, 5]);
  assert.deepEqual(await leftOf(6, 1_000, 0), []);
});

test('a single change may exceed the limit of notified pairs', async () => {
  assert.deepEqual(await leftOf(3, 9_000, 5_000), [1, 2]);
});

test('messages that repeat the last one of their advert need no stored state, up to the first one that changes something', async () => {
  const stored = heldAfter(upsertAt(5), expireAt(6));
  const { crawls } = stored;
  const messages = [expireAt(7), expireAt(1), expireAt(8), upsertAt(9), expireAt(10)];
  const entries = messages.map((message) => ({ ...entryOf(message), wasAcknowledged: true }));
  const unread = new Map([[PROPERTY, { stored: null, crawls, bytes: 1_000 }]]);
  const withoutState = await evaluateBatch(unread, entries, dependencies);
  const known = new Map([[PROPERTY, { stored, crawls, bytes: 1_000 }]]);
  const withState = await evaluateBatch(known, entries.slice(0, 3), dependencies);
  assert.deepEqual([withoutState.deferred, withoutState.stateless], [[], [3, 4]]);
  assert.deepEqual(withoutState.outcomes, withState.outcomes);
  assert.deepEqual(withoutState.news, withState.news);
  assert.deepEqual(withoutState.unread.get(PROPERTY), withState.latest.get(PROPERTY)?.crawls);
  assert.deepEqual([...unreadStates(unread, entries, BOUNDS)], [PROPERTY]);
  assert.deepEqual([...unreadStates(unread, entries.slice(0, 3), BOUNDS)], []);
  assert.deepEqual([...unreadStates(known, entries, BOUNDS)], []);
});

test('an advert beyond the limits of a property is rejected without the stored state, for the same reason as with it', async () => {
  const [other, another] = [numberedUuid('advert', 2), numberedUuid('advert', 3)];
  const stored = heldAfter(upsertAt(5));
  const { crawls } = stored;
  const bytes = Buffer.byteLength(stateText(stored.state));
  const messages = [
    upsertAt(6, { advertUuid: other }),
    upsertAt(7, { advert: { price: 1 } }),
    upsertAt(8, { advertUuid: another }),
  ];
  const entries = messages.map((message) => entryOf(message, 100_000));
  for (const bounds of [
    { ...BOUNDS, advertsMax: 1 },
    { ...BOUNDS, bytesMax: bytes + 100 },
  ]) {
    const bounded = { ...dependencies, bounds };
    const unread = new Map([[PROPERTY, { stored: null, crawls, bytes }]]);
    const withoutState = await evaluateBatch(unread, entries, bounded);
    const withState = await evaluateBatch(new Map([[PROPERTY, { stored, crawls, bytes }]]), entries, bounded);
    const reasonOf = (batch: typeof withState, position: number) =>
      batch.rejected.get(position)?.replace(/\d+ bytes/, 'bytes');
    assert.match(reasonOf(withState, 0) ?? '', /more than the limit/);
    assert.equal(reasonOf(withoutState, 0), reasonOf(withState, 0));
    // The second message needs the state, and the third one waits for it.
    assert.deepEqual([[...withoutState.rejected.keys()], withoutState.stateless], [[0], [1, 2]]);
    assert.deepEqual([...unreadStates(unread, entries, bounds)], [PROPERTY]);
    assert.deepEqual([...unreadStates(unread, entries.slice(0, 1), bounds)], []);
  }
});
