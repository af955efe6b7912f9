/**
 * In any order and with any repetition of messages, no event occurs twice, no state reverts, and events are the
 * differences between states.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import type { AdvertContent, AdvertEvent } from '../src/engine/domain/advert.ts';
import { applyMessage, type MessageOrigin, recrawlUnread, type StoredProperty } from '../src/engine/domain/change.ts';
import { uuidOf } from '../src/engine/domain/ids.ts';
import type { IntakeMessage, UpsertMessage } from '../src/engine/domain/intake-message.ts';
import { EVENTS_KEPT, isLive } from '../src/engine/domain/property.ts';
import {
  ADVERT,
  changesOf,
  expireAt,
  NO_CONTACT,
  nextOrigin,
  OTHER_ADVERT,
  PROPERTY,
  upsertAt,
} from './support/adverts.ts';
import { runsOf } from './support/random-runs.ts';
import { recrawlHistory } from './support/recrawl-histories.ts';

const ADVERTS = [ADVERT, OTHER_ADVERT, uuidOf('ad000000-0000-4000-8000-000000000003')];

const content = fc.record<Partial<AdvertContent>>(
  {
    price: fc.constantFrom(null, 100_000, 200_000, 200_000.5),
    surface: fc.constantFrom(null, 50, 60),
    pictures: fc.subarray(['a', 'b', 'c']),
    title: fc.constantFrom(null, 'T2', 'T3'),
    picturesRemote: fc.subarray(['r']),
    contact: fc.constantFrom(null, { ...NO_CONTACT, agency: 'A' }),
  },
  { requiredKeys: [] },
);

/** One message per minute, about three adverts of one property. */
const history: fc.Arbitrary<readonly IntakeMessage[]> = fc
  .array(
    fc.record({
      advertUuid: fc.constantFrom(...ADVERTS),
      isExpiry: fc.nat({ max: 3 }).map((n) => n === 0),
      advert: content,
      room: fc.constantFrom(null, 2, 3),
    }),
    { minLength: 1, maxLength: 30, size: 'max' },
  )
  .map((steps) =>
    steps.map(({ advertUuid, isExpiry, advert, room }, at) =>
      isExpiry ? expireAt(at, { advertUuid }) : upsertAt(at, { advertUuid, advert, property: { room } }),
    ),
  );

test('a message delivered again, immediately or with all the others, changes nothing and creates no event', () => {
  fc.assert(
    fc.property(history, (messages) => {
      const origins = messages.map(nextOrigin);
      const changes = changesOf(messages, null, origins);
      const last = changes.at(-1)?.stored ?? null;
      for (const [position, { stored }] of changes.entries()) {
        const again = applyMessage(stored, messages[position] as IntakeMessage, origins[position] as MessageOrigin);
        assert.deepEqual([again.stored, again.events, again.mayAffectMatches], [stored, [], false]);
      }
      const replayed = changesOf(messages, last, origins);
      assert.deepEqual(replayed.at(-1)?.stored, last);
      for (const { events } of replayed) assert.deepEqual(events, []);
    }),
    { numRuns: 200 },
  );
});

/** Messages about adverts with the same time. All messages about an advert differ, and the first is not an expiry. */
const historyOfOneMinute: fc.Arbitrary<readonly IntakeMessage[]> = fc
  .uniqueArray(
    fc.record({ advertUuid: fc.constantFrom(...ADVERTS), price: fc.constantFrom('expired', null, 1, 2, 3, 4, 5) }),
    { minLength: 1, maxLength: 21, selector: ({ advertUuid, price }) => `${advertUuid} ${price}` },
  )
  .map((steps) => {
    const [expiries, upserts] = [steps.filter(isExpiry), steps.filter((step) => !isExpiry(step))];
    const isKnown = ({ advertUuid }: { advertUuid: string }) => upserts.some((each) => each.advertUuid === advertUuid);
    return [...upserts, ...expiries.filter(isKnown)].map(({ advertUuid, price }) =>
      price === 'expired'
        ? expireAt(1, { advertUuid })
        : upsertAt(1, { advertUuid, advert: { price: price as number } }),
    );
  });

const isExpiry = ({ price }: { readonly price: unknown }): boolean => price === 'expired';

test('after NATS is restored, repeated messages of one crawl time are recognised, and only new ones create events', () => {
  fc.assert(
    fc.property(historyOfOneMinute, fc.nat(), (messages, lost) => {
      const whole = changesOf(messages);
      const recorded = whole.slice(0, lost % (messages.length + 1));
      // Read back as from rows, whose members may be in any order.
      const rows = recorded.at(-1)?.stored ?? null;
      const stored = rows && JSON.parse(JSON.stringify(rows), (_, value) => inAnotherOrder(value));
      const again = changesOf(
        messages,
        stored,
        messages.map((_, position) => ({ stream: 2, sequence: position + 1 })),
      );
      const timesOf = (at: StoredProperty | null | undefined) =>
        Object.values(at?.crawls ?? {}).map(([crawledAt]) => crawledAt);
      assert.deepEqual(again.at(-1)?.stored?.state, whole.at(-1)?.stored?.state);
      assert.deepEqual(timesOf(again.at(-1)?.stored), timesOf(whole.at(-1)?.stored));
      assert.deepEqual(
        again.flatMap(({ events }) => events),
        whole.slice(recorded.length).flatMap(({ events }) => events),
      );
    }),
    { numRuns: runsOf(600) },
  );
});

function inAnotherOrder(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).reverse());
}

test('a message older than the newest one about its advert has no effect, wherever it appears', () => {
  fc.assert(
    fc.property(history, fc.nat(), fc.nat(), (messages, early, late) => {
      const message = messages[early % messages.length] as IntakeMessage;
      const stored = changesOf(messages.slice(0, 1 + (late % messages.length))).at(-1)?.stored ?? null;
      const crawledAt = stored?.crawls[message.advertUuid]?.[0];
      if (crawledAt === undefined || message.crawledAt >= crawledAt) return;
      assert.deepEqual(applyMessage(stored, message, nextOrigin()), {
        outcome: 'stale',
        stored,
        events: [],
        mayAffectMatches: false,
      });
    }),
    { numRuns: runsOf(600) },
  );
});

test('in any order of arrival the newest message of each advert decides, if that advert was seen live before', () => {
  const shuffled = history.chain((messages) =>
    fc.shuffledSubarray([...messages], { minLength: messages.length, maxLength: messages.length }),
  );
  fc.assert(
    fc.property(shuffled, (arrival) => {
      const stored = changesOf(arrival).at(-1)?.stored ?? null;
      for (const uuid of ADVERTS) {
        const ofAdvert = arrival.filter(({ advertUuid }) => advertUuid === uuid);
        const first = ofAdvert.findIndex(({ kind }) => kind === 'upsert');
        const advert = stored?.state.adverts.find((candidate) => candidate.uuid === uuid);
        assert.equal(advert !== undefined, first !== -1);
        if (advert === undefined || stored === null) continue;
        const newest = ofAdvert.slice(first).reduce((a, b) => (a.crawledAt > b.crawledAt ? a : b));
        assert.equal(stored.crawls[uuid]?.[0], newest.crawledAt);
        assert.equal(isLive(advert), newest.kind === 'upsert');
        if (newest.kind === 'upsert') {
          assert.deepEqual([advert.content, advert.property], [newest.advert, newest.property]);
        }
      }
    }),
    { numRuns: runsOf(600) },
  );
});

test('the events of a history are the differences between the previous state and the new one, as a naive ledger computes them', () => {
  fc.assert(
    fc.property(history, (messages) => {
      const ledger = new Map<string, Known>();
      let stored: StoredProperty | null = null;
      for (const message of messages) {
        const change = applyMessage(stored, message, nextOrigin());
        assert.deepEqual(told(change.events), naiveEvents(ledger, message));
        assert.equal(change.outcome === 'changed' || change.outcome === 'created', change.events.length > 0);
        for (const { advertUuid, createdAt } of change.events)
          assert.deepEqual([advertUuid, createdAt], [message.advertUuid, message.crawledAt]);
        stored = change.stored;
      }
      const events = changesOf(messages).flatMap((change) => change.events);
      for (const advert of stored?.state.adverts ?? []) {
        const all = events.filter(({ advertUuid }) => advertUuid === advert.uuid);
        assert.deepEqual(advert.events, all.slice(-EVENTS_KEPT).map(withoutDaysAway));
        assert.equal(advert.changedAt, all.at(-1)?.createdAt);
      }
      assert.ok((stored?.state.adverts.length ?? 0) <= ADVERTS.length);
    }),
    { numRuns: runsOf(600) },
  );
});

test('decisions based only on the crawls agree with those based on the state, and cover most messages that change nothing', () => {
  const decided = { unread: 0, recrawled: 0, stale: 0 };
  fc.assert(
    fc.property(recrawlHistory(PROPERTY, 60), (history) => {
      let stored = null as StoredProperty | null;
      for (const { message, origin } of history) {
        const change = applyMessage(stored, message, origin);
        const unread = recrawlUnread(stored?.crawls ?? {}, message, origin);
        if (unread !== null) {
          const { outcome, crawls } = unread;
          const expected = { outcome, stored: { state: stored?.state, crawls }, events: [], mayAffectMatches: false };
          assert.deepEqual(change, expected);
          assert.equal(change.stored?.state, stored?.state);
          decided.unread += 1;
        }
        if (change.outcome === 'recrawled' || change.outcome === 'stale') decided[change.outcome] += 1;
        const isOnlyAdvert = Object.keys(stored?.crawls ?? {}).length === 1;
        const isRepeated = stored?.crawls[message.advertUuid]?.[3] === message.digest;
        if (change.outcome === 'stale' || (isRepeated && isOnlyAdvert)) assert.notEqual(unread, null);
        stored = change.stored;
      }
    }),
    { numRuns: runsOf(2_000) },
  );
  assert.ok(decided.unread > 0.5 * (decided.recrawled + decided.stale), JSON.stringify(decided));
});

interface Known {
  readonly upsert: UpsertMessage;
  readonly isLive: boolean;
}

/** The document's `advert.events` have no `daysAway`. */
function withoutDaysAway(event: AdvertEvent): AdvertEvent {
  if (event.field === null) return event;
  const { daysAway: _away, ...field } = event.field;
  return { ...event, field };
}

/** The kind and, for a change of a field, both values. */
function told(events: ReturnType<typeof applyMessage>['events']): string[] {
  return events.map(({ kind, field }) =>
    field === null || field.fieldName === 'expired' ? kind : [kind, field.fieldOldValue, field.fieldNewValue].join(' '),
  );
}

function naiveEvents(ledger: Map<string, Known>, message: IntakeMessage): string[] {
  const known = ledger.get(message.advertUuid);
  if (message.kind === 'expire') {
    if (known === undefined || !known.isLive) return [];
    ledger.set(message.advertUuid, { ...known, isLive: false });
    return ['ad.update.expired'];
  }
  ledger.set(message.advertUuid, { upsert: message, isLive: true });
  if (known === undefined) return ['property.ad.create'];
  const before = known.upsert;
  const events: string[] = [];
  if (before.advert.price !== message.advert.price) {
    events.push(`ad.update.price ${before.advert.price ?? ''} ${message.advert.price ?? ''}`);
  }
  if (before.advert.surface !== message.advert.surface) {
    events.push(`ad.update.surface ${before.advert.surface ?? ''} ${message.advert.surface ?? ''}`);
  }
  if (before.advert.pictures.join() !== message.advert.pictures.join()) {
    events.push(`ad.update.pictures ${before.advert.pictures.length} ${message.advert.pictures.length}`);
  }
  if (!known.isLive) events.push('ad.update.reactivated');
  const isSame =
    isDeepStrictEqual(before.advert, message.advert) && isDeepStrictEqual(before.property, message.property);
  if (!known.isLive || !isSame) events.push('property.ad.update');
  return events;
}
