/**
 * Random histories of adverts and searches, told to the service in batches and to a naive model one by one: both must
 * name the same deliveries and the same items that the feed alone tells, counted alike, and a pair must keep one match for
 * ever (decisions, sections 3, 4, 6 and 11).
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { AdvertContent } from '../src/engine/domain/advert.ts';
import { applyMessage, type Change, type HeldProperty } from '../src/engine/domain/change.ts';
import { EVENT_KINDS, type EventKind } from '../src/engine/domain/codes.ts';
import { satisfies } from '../src/engine/domain/criteria.ts';
import { type SearchNumber, searchNumberOf, uuidOf } from '../src/engine/domain/ids.ts';
import type { IntakeMessage } from '../src/engine/domain/intake-message.ts';
import { isLive } from '../src/engine/domain/property.ts';
import { propertyDocument, propertyFacts, readingOf } from '../src/engine/domain/property-document.ts';
import { bodyOf, type SearchRoute } from '../src/engine/domain/routing.ts';
import { criteriaOf, SEARCH_DEFAULTS, type SearchMembers } from '../src/engine/domain/search.ts';
import { type Alerts, deriveAlerts, touchedBy } from '../src/engine/intake/alerts.ts';
import type { EvaluatedChange } from '../src/engine/intake/evaluated-change.ts';
import type { Match } from '../src/engine/store/matches.ts';
import { expireAt, nextOrigin, resolveToulon, upsertAt } from './support/adverts.ts';

interface SearchPlan {
  readonly route: SearchRoute;
  readonly budgetMax: number;
  readonly home: HomePlan;
  /** Its notifications are off before this message. */
  readonly silentBefore: number;
  /** Unknown to the service before this message. */
  readonly createdBefore: number;
  /** Gone from then on. */
  readonly deletedBefore: number;
}

interface Told {
  readonly search: number;
  readonly channel: string;
  readonly kind: EventKind;
  /** Null: nobody is sent it, the feed alone tells it. */
  readonly endpoint: string | null;
  /** Its place among all that is told of its match. */
  readonly sequence: number | null;
  readonly document: string;
}

const CLIENTS = [uuidOf('c11e2700-0000-4000-8000-000000000001'), uuidOf('c11e2700-0000-4000-8000-000000000002')];
const STEPS_MAX = 40;
const PROPERTIES = [uuidOf('0d9e0c6a-0000-4000-8000-000000000001'), uuidOf('0d9e0c6a-0000-4000-8000-000000000002')];
const ADVERTS = [uuidOf('ad000000-0000-4000-8000-000000000001'), uuidOf('ad000000-0000-4000-8000-000000000002')];
const CONTACT = { agency: 'Agence', email: 'a@a.example', fax: null, name: 'N', phone: '+33', reference: 'R' };

type Home = Pick<AdvertContent, (typeof HOME_MEMBERS)[number]>;
const HOME_MEMBERS = [
  ...(['floor', 'floorQuantity', 'elevator', 'constructionYear', 'condominiumFees', 'rentalCharges'] as const),
  ...(['energy', 'greenHouseGas', 'features'] as const),
] as const;

const category = fc.constantFrom(null, 'A', 'C', 'G').map((letter) => letter && { category: letter, value: null });
const homes: fc.Arbitrary<Home> = fc.record({
  floor: fc.constantFrom(null, 0, 2),
  floorQuantity: fc.constantFrom(null, 0, 3, 5),
  elevator: fc.constantFrom(null, true, false),
  constructionYear: fc.constantFrom(null, 1950, 2000),
  condominiumFees: fc.constantFrom(null, 0, 900),
  rentalCharges: fc.constantFrom(null, 50, 90),
  energy: category,
  greenHouseGas: category,
  features: fc.subarray(['Balcon', 'Cave', 'sans balcon', 'Proche parking'], { maxLength: 2 }),
});

/** What a search asks of the home, and the same as this test understands it, of live adverts, the newest first. */
interface HomePlan {
  readonly members: Partial<SearchMembers>;
  readonly fits: (live: readonly Home[]) => boolean;
}

/** Of the newest advert that states it. */
function stated<Name extends keyof Home>(live: readonly Home[], name: Name): Home[Name] | null {
  return live.map((home) => home[name]).find((value) => value !== null) ?? null;
}

function isAny<Name extends keyof Home>(
  name: Name,
  fits: (value: NonNullable<Home[Name]>) => boolean,
  isUnknownTaken = false,
): HomePlan['fits'] {
  return (live) => {
    const known = live.map((home) => home[name]).filter((value) => value !== null);
    return known.length === 0 ? isUnknownTaken : known.some(fits);
  };
}

const hasItem = (live: readonly Home[], ...items: readonly string[]) =>
  live.some(({ features }) => features.some((item) => items.includes(item)));
const isCheap = (euros: number) => euros <= 60;

const HOMES: readonly HomePlan[] = [
  { members: {}, fits: () => true },
  { members: { floorMin: 1 }, fits: (live) => (stated(live, 'floor') ?? 0) >= 1 },
  { members: { floorMax: 0, orMissing: ['floor'] }, fits: (live) => (stated(live, 'floor') ?? 0) <= 0 },
  {
    members: { lastFloor: true },
    fits: (live) =>
      (stated(live, 'floor') ?? -9) >=
      (stated(
        live.filter((one) => one.floorQuantity),
        'floorQuantity',
      ) ?? 99) -
        1,
  },
  { members: { elevator: false }, fits: (live) => stated(live, 'elevator') === false },
  { members: { elevator: true, orMissing: ['elevator'] }, fits: (live) => stated(live, 'elevator') ?? true },
  { members: { constructionYearMin: 1975 }, fits: isAny('constructionYear', (year) => year >= 1975) },
  { members: { condominiumFeesMax: 60 }, fits: isAny('condominiumFees', isCheap) },
  { members: { rentalChargesMax: 60, orMissing: ['rentalCharges'] }, fits: isAny('rentalCharges', isCheap, true) },
  { members: { energyCategories: ['A', 'B'] }, fits: isAny('energy', (one) => one.category === 'A') },
  {
    members: { greenHouseGasCategories: 'C', orMissing: ['greenHouseGas'] },
    fits: isAny('greenHouseGas', (one) => one.category === 'C', true),
  },
  { members: { includedFeatures: ['balcony'] }, fits: (live) => hasItem(live, 'Balcon') },
  {
    members: { includedFeatures: ['balcony'], orMissing: ['includedFeatures'] },
    fits: (live) => hasItem(live, 'Balcon') || !hasItem(live, 'Cave', 'sans balcon'),
  },
  { members: { excludedFeatures: ['cellar'] }, fits: (live) => !hasItem(live, 'Cave') },
];

const messages: fc.Arbitrary<readonly IntakeMessage[]> = fc
  .array(
    fc.record({
      propertyUuid: fc.constantFrom(...PROPERTIES),
      advertUuid: fc.constantFrom(...ADVERTS),
      isExpiry: fc.nat({ max: 4 }).map((n) => n === 0),
      price: fc.constantFrom(null, 100, 200, 300),
      title: fc.constantFrom('a', 'b'),
      home: homes,
    }),
    { minLength: 1, maxLength: STEPS_MAX, size: 'max' },
  )
  .map((steps) =>
    steps.map(({ isExpiry, price, title, home, ...ids }, at) =>
      isExpiry ? expireAt(at, ids) : upsertAt(at, { ...ids, advert: { ...home, price, title, contact: CONTACT } }),
    ),
  );

const searches: fc.Arbitrary<readonly SearchPlan[]> = fc
  .array(
    fc.record({
      budgetMax: fc.constantFrom(100, 200, 300),
      home: fc.constantFrom(...HOMES),
      createdBefore: fc.oneof(fc.constant(0), fc.nat({ max: STEPS_MAX })),
      lifetime: fc.oneof(fc.constant(STEPS_MAX), fc.nat({ max: STEPS_MAX })),
      silentBefore: fc.oneof(fc.constant(0), fc.constant(STEPS_MAX), fc.nat({ max: STEPS_MAX })),
      endpointRecipient: fc.option(fc.constant('https://client.example/matches')),
      eventEndpoint: fc.option(fc.constant('https://client.example/events')),
      subscribedEvents: fc.subarray([...EVENT_KINDS]),
      hidePropertyContact: fc.boolean(),
      generation: fc.constant(0),
      mail: fc.constant(null),
      thresholds: fc.constant(null),
      clientId: fc.constantFrom(...CLIENTS),
    }),
    { minLength: 1, maxLength: 6, size: 'max' },
  )
  .map((plans) =>
    plans.map(({ budgetMax, home, createdBefore, lifetime, silentBefore, ...route }, position) => ({
      budgetMax,
      home,
      silentBefore,
      createdBefore,
      deletedBefore: createdBefore + lifetime,
      route: {
        ...route,
        number: searchNumberOf(position + 1),
        version: position,
        id: uuidOf(`5ea2c400-0000-4000-8000-00000000000${position}`),
      },
    })),
  );

test('any history, in any batches, tells what the naive model tells', () => {
  const batchSizes = fc.array(fc.integer({ min: 1, max: 6 }), { minLength: STEPS_MAX, maxLength: STEPS_MAX });
  fc.assert(
    fc.property(messages, searches, batchSizes, (history, plans, sizes) => {
      const service = createService(plans);
      const model = createModel(plans);
      for (let at = 0, batch = 0; at < history.length; batch++) {
        // Searches come and go between batches: routes are read once in each.
        const end = Math.min(history.length, at + (sizes[batch] as number));
        const told = service(history.slice(at, end), at);
        const expected = history.slice(at, end).flatMap((message) => model(message, at));
        assert.deepEqual(sorted(told), sorted(expected));
        at = end;
      }
    }),
    { numRuns: 150 },
  );
});

function sorted(told: readonly Told[]): readonly string[] {
  return told.map((each) => JSON.stringify(each)).sort();
}

/** The recorder without a database: the same order of work, with maps for tables. */
function createService(plans: readonly SearchPlan[]): (batch: readonly IntakeMessage[], at: number) => readonly Told[] {
  const properties = new Map<string, HeldProperty>();
  const matches = new Map<string, Match>();
  const keyOf = (match: Pick<Match, 'propertyUuid' | 'searchNumber'>) => `${match.propertyUuid}/${match.searchNumber}`;

  return (batch, at) => {
    const living = plans.filter((plan) => plan.createdBefore <= at && at < plan.deletedBefore);
    const matchesOf = (held: HeldProperty | null): SearchNumber[] =>
      held?.state.adverts.some(isLive)
        ? living.filter((plan) => isSatisfied(plan, held)).map(({ route }) => route.number)
        : [];
    const changes: EvaluatedChange[] = [];
    for (const message of batch) {
      const before = properties.get(message.propertyUuid) ?? null;
      const change = applyMessage(before, message, nextOrigin());
      if (change.held === null) continue;
      properties.set(message.propertyUuid, change.held);
      if (change.mayAffectMatches) {
        const { held, events } = change;
        changes.push({
          propertyUuid: message.propertyUuid,
          held,
          former: before,
          events,
          before: matchesOf(before),
          after: matchesOf(held),
          facts: { before: null, after: null },
          traceparent: null,
        });
      }
    }
    const { propertyUuids, searchNumbers } = touchedBy(changes);
    const routes = new Map(
      living
        .filter(({ silentBefore, route }) => silentBefore <= at && searchNumbers.has(route.number))
        .map(({ route }) => [route.number, route]),
    );
    const known = [...matches.values()]
      .filter(({ propertyUuid }) => propertyUuids.has(propertyUuid))
      .map((match) => ({ ...match, cause: null }));
    const now = new Date(Date.UTC(2026, 0, 1) + at);
    const consequences = deriveAlerts(changes, routes, known, resolveToulon, now);
    const { newMatches, changedMatches, snapshots, began } = consequences;

    let begins = 0;
    for (const match of newMatches) {
      assert.ok(!matches.has(keyOf(match)), 'a pair has one match for ever');
      begins += Number(match.hasBegun);
      matches.set(keyOf(match), match);
    }
    for (const match of changedMatches) {
      const former = matches.get(keyOf(match));
      assert.equal(match.id, former?.id);
      if (former?.hasBegun) assert.equal(match.createdAt, former.createdAt, 'createdAt is when it began');
      else begins += Number(match.hasBegun);
      assert.equal(match.cause !== null, match.hasBegun && former?.hasBegun === false, 'the cause stays');
      matches.set(keyOf(match), match);
    }
    assert.equal(began.length, begins);
    for (const match of [...newMatches, ...changedMatches]) assert.equal(match.updatedAt, now);
    assert.ok(snapshots.length <= 2 * changes.length, 'a document is written once per change and variant');
    const documents = new Map(snapshots.map(({ id, document }) => [id, document]));
    const told = inFeed(consequences, new Map(plans.map(({ route }) => [route.number, route.clientId])));
    return told.map(({ searchNumber, matchId, channel, kind, sequence, endpoint, head, snapshotId }) => {
      const body = JSON.parse(bodyOf(head, documents.get(snapshotId) as string));
      const match = matches.get(keyOf({ searchNumber, propertyUuid: body.match.propertyDocument.uuid }));
      assert.equal(matchId, match?.id);
      assert.equal(body.match['@id'], `/matches/${matchId}`);
      assert.equal(body.event, kind);
      const document = JSON.stringify(body.match.propertyDocument);
      return { search: searchNumber, channel, kind, endpoint, sequence, document };
    });
  };
}

/** Deliveries, and what nobody is sent, as the feeds of their clients have them: each once, in the order of recording. */
function inFeed({ deliveries, feedItems, feedEntries }: Alerts, clientOf: ReadonlyMap<number, string>) {
  const items = feedItems.map((item) => ({ ...item, endpoint: null }));
  const told = new Map([...deliveries, ...items].map((each) => [each.id, each]));
  assert.equal(told.size, deliveries.length + feedItems.length, 'no id twice');
  assert.equal(feedEntries.length, told.size);
  return feedEntries.map(({ id, clientId, searchNumber }) => {
    const entry = told.get(id);
    assert.ok(entry !== undefined, 'the feed tells what was recorded, and nothing else');
    assert.deepEqual([searchNumber, clientId], [entry.searchNumber, clientOf.get(searchNumber)]);
    return entry;
  });
}

function isSatisfied({ budgetMax, home }: SearchPlan, { state, crawls }: HeldProperty): boolean {
  const criteria = criteriaOf({ ...SEARCH_DEFAULTS, title: '', budgetMax, ...home.members }, () => null);
  return satisfies(
    criteria,
    propertyFacts(readingOf(state, crawls, resolveToulon), () => null),
  );
}

interface NaiveAdvert {
  readonly price: number | null;
  readonly home: Home;
  readonly isLive: boolean;
  readonly seen: string;
}

/** Knows nothing of documents' insides: a property is its adverts' prices, a match is a set of pairs that were notified of a start. */
function createModel(plans: readonly SearchPlan[]): (message: IntakeMessage, at: number) => readonly Told[] {
  const adverts = new Map<string, Map<string, NaiveAdvert>>();
  const held = new Map<string, HeldProperty>();
  const begun = new Set<string>();
  const counts = new Map<string, number>();

  /** Newest first. */
  function liveOf(propertyUuid: string): readonly NaiveAdvert[] {
    const live = [...(adverts.get(propertyUuid)?.values() ?? [])].filter((advert) => advert.isLive);
    return live.toSorted((a, b) => b.seen.localeCompare(a.seen));
  }

  return (message, at) => {
    const { propertyUuid, advertUuid, crawledAt } = message;
    const before = liveOf(propertyUuid);
    const known = adverts.get(propertyUuid) ?? new Map<string, NaiveAdvert>();
    const former = known.get(advertUuid);
    if (message.kind === 'upsert')
      known.set(advertUuid, { price: message.advert.price, home: message.advert, isLive: true, seen: crawledAt });
    else if (former !== undefined) known.set(advertUuid, { ...former, isLive: false });
    adverts.set(propertyUuid, known);
    const after = liveOf(propertyUuid);
    // Which events a message makes, and the document, have tests of their own.
    const change: Change = applyMessage(held.get(propertyUuid) ?? null, message, nextOrigin());
    if (change.held !== null) held.set(propertyUuid, change.held);

    const told: Told[] = [];
    for (const { route, budgetMax, home, silentBefore, createdBefore, deletedBefore } of plans) {
      if (at < createdBefore || at >= deletedBefore) continue;
      const isFound = (live: readonly NaiveAdvert[]): boolean =>
        (live[0]?.price ?? Infinity) <= budgetMax && home.fits(live.map((advert) => advert.home));
      const [was, is] = [isFound(before), isFound(after)];
      const pair = `${propertyUuid}/${route.number}`;
      if (at < silentBefore || change.held === null) continue;
      const begins = is && !was && !begun.has(pair);
      if (begins) begun.add(pair);
      const { state, crawls } = change.held;
      const options = { withContacts: !route.hidePropertyContact };
      const document = JSON.stringify(propertyDocument(state, crawls, resolveToulon, options));
      assert.equal(document.includes('a@a.example'), !route.hidePropertyContact);
      const tell = (channel: string, kind: EventKind, endpoint: string | null): void => {
        const sequence = (counts.get(pair) ?? 0) + 1;
        counts.set(pair, sequence);
        told.push({ search: route.number, channel, kind, endpoint, sequence, document });
      };
      if (begins) {
        const kind = former === undefined ? 'property.ad.create' : 'property.ad.update';
        tell('match', kind, route.endpointRecipient);
      }
      if (!(was || is)) continue;
      for (const { kind } of change.events) {
        if (route.subscribedEvents.includes(kind)) tell('event', kind, route.eventEndpoint);
      }
    }
    return told;
  };
}
