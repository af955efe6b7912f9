/** Whatever order and repetition messages arrive in: no event twice, no step back, and the events are the differences. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import type { AdvertContent, AdvertEvent } from '../src/engine/domain/advert.ts';
import { applyMessage, type HeldProperty, type MessageOrigin } from '../src/engine/domain/change.ts';
import { uuidOf } from '../src/engine/domain/ids.ts';
import type { IntakeMessage, UpsertMessage } from '../src/engine/domain/intake-message.ts';
import { EVENTS_KEPT, isLive } from '../src/engine/domain/property.ts';
import { ADVERT, changesOf, expireAt, nextOrigin, OTHER_ADVERT, upsertAt } from './support/adverts.ts';
import { runsOf } from './support/random-runs.ts';

const ADVERTS = [ADVERT, OTHER_ADVERT, uuidOf('ad000000-0000-4000-8000-000000000003')];

const content = fc.record<Partial<AdvertContent>>(
  {
    price: fc.constantFrom(null, 100_000, 200_000, 200_000.5),
    surface: fc.constantFrom(null, 50, 60),
    pictures: fc.subarray(['a', 'b', 'c']),
    title: fc.constantFrom(null, 'T2', 'T3'),
    picturesRemote: fc.subarray(['r']),
    contact: fc.constantFrom(null, { agency: 'A', email: null, fax: null, name: null, phone: null, reference: null }),
  },
  { requiredKeys: [] },
);

/** One message a minute, of three adverts of one property. */
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

test('a message delivered again, at once or with all the others, changes nothing and tells nothing', () => {
  fc.assert(
    fc.property(history, (messages) => {
      const origins = messages.map(nextOrigin);
      const changes = changesOf(messages, null, origins);
      const last = changes.at(-1)?.held ?? null;
      for (const [position, { held }] of changes.entries()) {
        const again = applyMessage(held, messages[position] as IntakeMessage, origins[position] as MessageOrigin);
        assert.deepEqual([again.held, again.events, again.mayAffectMatches], [held, [], false]);
      }
      const replayed = changesOf(messages, last, origins);
      assert.deepEqual(replayed.at(-1)?.held, last);
      for (const { events } of replayed) assert.deepEqual(events, []);
    }),
    { numRuns: 200 },
  );
});

/** What each advert is said to be under one time: each time another thing, the first of them no expiry. */
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

test('what one crawl said in one minute comes again in a restored stream: only what was not recorded is told', () => {
  fc.assert(
    fc.property(historyOfOneMinute, fc.nat(), (messages, lost) => {
      const whole = changesOf(messages);
      const recorded = whole.slice(0, lost % (messages.length + 1));
      // Through the rows, whose members come back in any order.
      const rows = recorded.at(-1)?.held ?? null;
      const held = rows && JSON.parse(JSON.stringify(rows), (_, value) => inAnotherOrder(value));
      const again = changesOf(
        messages,
        held,
        messages.map((_, position) => ({ stream: 2, sequence: position + 1 })),
      );
      const timesOf = (at: HeldProperty | null | undefined) =>
        Object.values(at?.crawls ?? {}).map(([crawledAt]) => crawledAt);
      assert.deepEqual(again.at(-1)?.held?.state, whole.at(-1)?.held?.state);
      assert.deepEqual(timesOf(again.at(-1)?.held), timesOf(whole.at(-1)?.held));
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

test('a message older than its advert has no effect, wherever it turns up', () => {
  fc.assert(
    fc.property(history, fc.nat(), fc.nat(), (messages, early, late) => {
      const message = messages[early % messages.length] as IntakeMessage;
      const held = changesOf(messages.slice(0, 1 + (late % messages.length))).at(-1)?.held ?? null;
      const crawledAt = held?.crawls[message.advertUuid]?.[0];
      if (crawledAt === undefined || message.crawledAt >= crawledAt) return;
      assert.deepEqual(applyMessage(held, message, nextOrigin()), {
        outcome: 'stale',
        held,
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
      const held = changesOf(arrival).at(-1)?.held ?? null;
      for (const uuid of ADVERTS) {
        const ofAdvert = arrival.filter(({ advertUuid }) => advertUuid === uuid);
        const first = ofAdvert.findIndex(({ kind }) => kind === 'upsert');
        const advert = held?.state.adverts.find((candidate) => candidate.uuid === uuid);
        assert.equal(advert !== undefined, first !== -1);
        if (advert === undefined || held === null) continue;
        const newest = ofAdvert.slice(first).reduce((a, b) => (a.crawledAt > b.crawledAt ? a : b));
        assert.equal(held.crawls[uuid]?.[0], newest.crawledAt);
        assert.equal(isLive(advert), newest.kind === 'upsert');
        if (newest.kind === 'upsert') {
          assert.deepEqual([advert.content, advert.property], [newest.advert, newest.property]);
        }
      }
    }),
    { numRuns: runsOf(600) },
  );
});

test('the events of a history are the differences between what a naive ledger knew and what it learns', () => {
  fc.assert(
    fc.property(history, (messages) => {
      const ledger = new Map<string, Known>();
      let held: HeldProperty | null = null;
      for (const message of messages) {
        const change = applyMessage(held, message, nextOrigin());
        assert.deepEqual(told(change.events), naiveEvents(ledger, message));
        assert.equal(change.outcome === 'changed' || change.outcome === 'created', change.events.length > 0);
        for (const { advertUuid, createdAt } of change.events)
          assert.deepEqual([advertUuid, createdAt], [message.advertUuid, message.crawledAt]);
        held = change.held;
      }
      const events = changesOf(messages).flatMap((change) => change.events);
      for (const advert of held?.state.adverts ?? []) {
        const all = events.filter(({ advertUuid }) => advertUuid === advert.uuid);
        assert.deepEqual(advert.events, all.slice(-EVENTS_KEPT).map(withoutDaysAway));
        assert.equal(advert.changedAt, all.at(-1)?.createdAt);
      }
      assert.ok((held?.state.adverts.length ?? 0) <= ADVERTS.length);
    }),
    { numRuns: runsOf(600) },
  );
});

interface Known {
  readonly upsert: UpsertMessage;
  readonly isLive: boolean;
}

/** `advert.events` of the document have no `daysAway`. */
function withoutDaysAway(event: AdvertEvent): AdvertEvent {
  if (event.field === null) return event;
  const { daysAway: _away, ...field } = event.field;
  return { ...event, field };
}

/** Kind and, for a field, both values. */
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
