/** The effect of a message on the stored state of a property, and its events (decisions, section 4). */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AdvertContent, AdvertEvent } from '../src/engine/domain/advert.ts';
import { applyMessage } from '../src/engine/domain/change.ts';
import type { EventKind } from '../src/engine/domain/codes.ts';
import { uuidOf } from '../src/engine/domain/ids.ts';
import type { UpsertMessage } from '../src/engine/domain/intake-message.ts';
import { EVENTS_KEPT, type StoredAdvert } from '../src/engine/domain/property.ts';
import {
  changesOf,
  expireAt,
  heldAfter,
  minute,
  NO_CONTACT,
  nextOrigin,
  OTHER_ADVERT,
  upsertAt,
} from './support/adverts.ts';
import { valuesOf } from './support/lists.ts';

const CONTENT = {
  title: 'T3 au Mourillon',
  price: 250_000,
  surface: 62,
  pictures: ['1.jpg', '2.jpg'],
  contact: { ...NO_CONTACT, agency: 'A' },
} satisfies Partial<AdvertContent>;

interface Told {
  readonly kind: EventKind;
  readonly field: AdvertEvent['field'];
}

function told(events: readonly AdvertEvent[]): readonly Told[] {
  return events.map(({ kind, field }) => ({ kind, field }));
}

test('an advert expires once, at the time the crawler states or saw it', () => {
  for (const expiredAt of [undefined, minute(3)]) {
    const [, expiry, again] = changesOf([
      upsertAt(0),
      expireAt(5, expiredAt === undefined ? {} : { expiredAt }),
      expireAt(9),
    ]);
    assert.deepEqual(told(expiry?.events ?? []), [
      {
        kind: 'ad.update.expired',
        field: { fieldName: 'expired', fieldOldValue: 'false', fieldNewValue: 'true', percentVariation: null },
      },
    ]);
    assert.equal(expiry?.stored?.state.adverts[0]?.expiredAt, expiredAt ?? minute(5));
    assert.deepEqual([again?.outcome, again?.events], ['recrawled', []]);
    assert.equal(again?.stored?.state.adverts[0]?.expiredAt, expiredAt ?? minute(5));
  }
});

test('an advert that is live again states the number of whole days it was expired, and is updated', () => {
  for (const [expiredAt, at, daysAway] of [
    [5, 6, 0],
    [5, 5 + 24 * 60 - 1, 0],
    [5, 5 + 24 * 60, 1],
    [5, 5 + 90 * 24 * 60, 90],
    // A crawler may state an expiry in the future.
    [15, 9, 0],
  ] as const) {
    const [, , same] = changesOf([
      upsertAt(0, { advert: CONTENT }),
      expireAt(5, { expiredAt: minute(expiredAt) }),
      upsertAt(at, { advert: CONTENT }),
    ]);
    const field = { fieldName: 'expired', fieldOldValue: 'true', fieldNewValue: 'false', percentVariation: null };
    assert.deepEqual(told(same?.events ?? []), [
      { kind: 'ad.update.reactivated', field: { ...field, daysAway } },
      { kind: 'property.ad.update', field: null },
    ]);
  }
});

test('a missing member equals an unknown one: the difference is not a change', () => {
  const empty = { ...CONTENT, contact: NO_CONTACT, energy: { category: null, value: null } };
  const none = { ...CONTENT, contact: null, energy: null };
  for (const [before, after] of [
    [none, empty],
    [empty, none],
  ] as const) {
    const [, change] = changesOf([upsertAt(0, { advert: before }), upsertAt(5, { advert: after })]);
    assert.deepEqual([change?.outcome, change?.events], ['recrawled', []]);
  }
  const named = { ...CONTENT, contact: { ...NO_CONTACT, name: 'Jo' } };
  const [, change] = changesOf([upsertAt(0, { advert: empty }), upsertAt(5, { advert: named })]);
  assert.deepEqual(valuesOf(change?.events ?? [], 'kind'), ['property.ad.update']);
});

test('a message with the same timestamp as the state is not older, so it has an effect', () => {
  const stored = heldAfter(upsertAt(5, { advert: CONTENT }));
  assert.equal(
    applyMessage(stored, upsertAt(5, { advert: { ...CONTENT, price: 1 } }), nextOrigin()).outcome,
    'changed',
  );
  assert.equal(applyMessage(stored, expireAt(5), nextOrigin()).outcome, 'changed');
});

test('a re-crawl may change the advert that states the floor, although the most recent advert is still the same', () => {
  const third = uuidOf('ad000000-0000-4000-8000-000000000003');
  const messages = [
    upsertAt(1, { advert: { floor: 1 } }),
    upsertAt(3, { advertUuid: OTHER_ADVERT, advert: { floor: 2 } }),
    upsertAt(9, { advertUuid: third }),
  ];
  const affects = (minutes: number) =>
    changesOf([...messages, upsertAt(minutes, { advert: { floor: 1 } })]).at(-1)?.mayAffectMatches;
  assert.deepEqual([affects(2), affects(5)], [false, true]);
});

test('an advert keeps its 50 newest events, newest last', () => {
  const messages = Array.from({ length: 40 }, (_, count) => upsertAt(count, { advert: { price: count + 1 } }));
  const advert = heldAfter(...messages).state.adverts[0] as StoredAdvert;
  assert.equal(advert.events.length, EVENTS_KEPT);
  assert.equal(EVENTS_KEPT, 50);
  assert.deepEqual(
    advert.events,
    changesOf(messages)
      .flatMap(({ events }) => events)
      .slice(-50),
  );
});

test('the newest 32 states of one crawl are recognised in another stream, and an older one is a change again', () => {
  const crawled = Array.from({ length: 34 }, (_, count) => upsertAt(0, { advert: { price: count + 1 } }));
  const stored = heldAfter(...crawled);
  const outcomes = [1, 0].map(
    (at) => applyMessage(stored, crawled[at] as UpsertMessage, { stream: 2, sequence: 1 }).outcome,
  );
  assert.deepEqual(outcomes, ['stale', 'changed']);
});

test('the replaced state is not modified', () => {
  const stored = heldAfter(upsertAt(0, { advert: CONTENT }), upsertAt(1, { advertUuid: OTHER_ADVERT }));
  const before = structuredClone(stored);
  for (const message of [upsertAt(5), upsertAt(5, { advert: CONTENT }), expireAt(5)])
    applyMessage(stored, message, nextOrigin());
  assert.deepEqual(stored, before);
});
