/** What one transaction takes of a batch: the rest is left for the next one, in its order. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { yieldToOthers } from '../src/engine/actor/waiting.ts';
import { type SearchNumber, searchNumberOf, type Uuid } from '../src/engine/domain/ids.ts';
import type { PropertyFacts } from '../src/engine/domain/property-facts.ts';
import { type IntakeEntry, judgeBatch } from '../src/engine/intake/judging.ts';
import { createJudgingOrder } from '../src/engine/intake/judging-order.ts';
import { openLedger } from '../src/engine/intake/market-ledger.ts';
import { createMarketMedians } from '../src/engine/matching/market-medians.ts';
import type { LockedProperty } from '../src/engine/store/properties.ts';
import { nextOrigin, resolveToulon, upsertAt } from './support/adverts.ts';
import { numberedUuid } from './support/intake.ts';

const BOUNDS = { advertsMax: 200, bytesMax: 8_388_608, batchBytesMax: 16_777_216, waitingMax: 64 };

async function leftOf(messages: number, satisfied: number, notifying: number): Promise<readonly number[]> {
  const numbers: SearchNumber[] = Array.from({ length: satisfied }, (_, number) => searchNumberOf(number + 1));
  const matcher = {
    match: () => numbers,
    notifying: { horizon: null, has: (number: SearchNumber) => number <= notifying },
  };
  const entries = Array.from({ length: messages }, (_, number) => {
    const ids = { propertyUuid: numberedUuid('property', number), advertUuid: numberedUuid('advert', number) };
    return { message: upsertAt(0, ids), origin: nextOrigin(), bytes: 1_000, traceparent: null };
  });
  const ledger = openLedger(createMarketMedians());
  const batch = await judgeBatch(new Map(), entries, ledger, { matcher, resolvePlace: resolveToulon, bounds: BOUNDS });
  assert.equal(batch.changes.length + batch.left.length, messages);
  return batch.left;
}

test('a batch ends at two thousand pairs that are notified, whatever else they satisfy', async () => {
  assert.deepEqual(await leftOf(6, 1_000, 500), [4, 5]);
  assert.deepEqual(await leftOf(6, 1_000, 0), []);
});

test('one change may have more of them', async () => {
  assert.deepEqual(await leftOf(3, 9_000, 5_000), [1, 2]);
});

const PUBLISHED = 240;
const TO_ALL = searchNumberOf(1);

/** A market that grows to fifty priced properties and on, and those that its median judges. */
const grownMarket = fc.array(fc.constantFrom(2_000, 2_500, 3_000, 9_000, 20_000, 60_000, 400), {
  minLength: PUBLISHED,
  maxLength: PUBLISHED,
});

function pricedAt(pricePerMeter: number, number: number): IntakeEntry {
  const ids = {
    propertyUuid: numberedUuid('property', number % 170),
    advertUuid: numberedUuid('advert', number % 170),
  };
  const message = upsertAt(number, {
    ...ids,
    advert: { price: pricePerMeter * 50, surface: 50 },
    property: { transactionType: 0, city: { insee: '83137', zipcode: null, name: null } },
  });
  return { message, origin: { ...nextOrigin(), sequence: number + 1 }, bytes: 1_000, traceparent: null };
}

/** By property, whether its price was coherent before and after each change. */
async function judgedBy(recorders: number, entries: readonly IntakeEntry[], pauses: readonly number[]) {
  const judged = new Map<Uuid, string>();
  const matcher = {
    match: ({ isPriceCoherent }: PropertyFacts) => (isPriceCoherent ? [TO_ALL] : []),
    notifying: { horizon: null, has: () => false },
  };
  const [medians, order] = [createMarketMedians(), createJudgingOrder()];
  for (const { origin } of entries) order.expect(origin.sequence);
  const shareOf = ({ message }: IntakeEntry): number => Number.parseInt(message.propertyUuid.slice(-2), 16) % recorders;
  const work = Array.from({ length: recorders }, async (_, recorder) => {
    const share = entries.filter((entry) => shareOf(entry) === recorder);
    const known = new Map<Uuid, LockedProperty>();
    for (let start = 0, at = 0; start < share.length; at++) {
      const pauseOf = pauses[(at + 7 * recorder) % pauses.length] as number;
      for (let turn = 0; turn < pauseOf; turn++) await yieldToOthers();
      const batch = share.slice(start, start + 10 + pauseOf);
      const ledger = openLedger(medians, recorders > 1 ? order : undefined);
      const { changes, latest } = await judgeBatch(known, batch, ledger, {
        ...{ matcher, resolvePlace: resolveToulon, bounds: BOUNDS },
      });
      for (const { propertyUuid, before, after } of changes) {
        judged.set(propertyUuid, `${judged.get(propertyUuid) ?? ''}${before.length}${after.length} `);
      }
      for (const [uuid, held] of latest) known.set(uuid, { held, bytes: 1_000 });
      start += batch.length;
    }
  });
  await Promise.all(work);
  return judged;
}

test('whether a price is coherent does not depend on which recorder is ahead', async () => {
  let judgedByMedian = 0;
  await fc.assert(
    fc.asyncProperty(grownMarket, fc.array(fc.nat(40), { minLength: 5, maxLength: 9 }), async (prices, pauses) => {
      const entries = prices.map(pricedAt);
      const expected = await judgedBy(1, entries, pauses);
      assert.deepEqual(await judgedBy(2, entries, pauses), expected);
      judgedByMedian += [...expected.values()].filter((coherent) => coherent.includes('0')).length;
    }),
    { numRuns: 12 },
  );
  assert.ok(judgedByMedian > 50);
});
