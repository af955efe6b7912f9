/** The rules of matching and notifying, one by one (decisions, sections 3 to 6). Other tests have random histories. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createdAtOf, searchNumberOf, timeOrderedUuid, type Uuid, uuidOf } from '../src/engine/domain/ids.ts';
import type { SearchRoute } from '../src/engine/domain/routing.ts';
import { type Alerts, deriveAlerts } from '../src/engine/intake/alerts.ts';
import type { EvaluatedChange } from '../src/engine/intake/evaluated-change.ts';
import type { Match } from '../src/engine/store/matches.ts';
import { changesOf, minute, PROPERTY, ROUTE, resolveToulon, TOULON, upsertAt } from './support/adverts.ts';
import { tuplesOf, valuesOf } from './support/lists.ts';

const SEVEN = ROUTE.number;
const TRACE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const NOW = new Date('2026-03-10T09:00:00.000Z');

const CONTACT = { agency: 'Agence', email: 'a@a.example', fax: null, name: 'N', phone: '+33', reference: 'R' };
const ADVERT_PARTS = {
  advert: { price: 250_000, surface: 62, contact: CONTACT },
  property: { city: { insee: TOULON.insee, zipcode: null, name: null } },
};

/** An advert is created, and becomes cheaper. */
const [CREATED, CHEAPER] = changesOf([
  upsertAt(0, ADVERT_PARTS),
  upsertAt(5, { ...ADVERT_PARTS, advert: { ...ADVERT_PARTS.advert, price: 240_000 } }),
]);

function judged(
  change: typeof CREATED,
  beforeNumbers: readonly number[],
  afterNumbers: readonly number[],
): EvaluatedChange {
  assert.ok(change?.stored);
  const [before, after] = [beforeNumbers.map(searchNumberOf), afterNumbers.map(searchNumberOf)];
  const { stored, events } = change;
  const facts = { before: null, after: null };
  return { propertyUuid: PROPERTY, stored, former: null, events, before, after, facts, traceparent: TRACE };
}

function follow(
  changes: readonly EvaluatedChange[],
  { known = [], route = {} }: { readonly known?: readonly Match[]; readonly route?: Partial<SearchRoute> } = {},
): Alerts {
  return deriveAlerts(changes, new Map([[SEVEN, { ...ROUTE, ...route }]]), known, resolveToulon, NOW);
}

const MATCH: Match = {
  id: uuidOf('3a7c4000-0000-4000-8000-000000000001'),
  searchNumber: SEVEN,
  propertyUuid: PROPERTY,
  hasBegun: true,
  createdAt: new Date(minute(-60)),
  updatedAt: new Date(minute(-60)),
  lastSequence: 1,
  lastDeliveryId: uuidOf('3a7c4000-0000-7000-8000-000000000002'),
  cause: null,
};

const NOTHING: Alerts = {
  newMatches: [],
  changedMatches: [],
  snapshots: [],
  deliveries: [],
  feedItems: [],
  feedEntries: [],
  featurePairs: [],
  began: [],
  notices: [],
};

test('deliveries of a match are numbered across batches and endpoints', () => {
  const first = follow([judged(CREATED, [], [7]), judged(CHEAPER, [7], [7])]);
  assert.deepEqual(tuplesOf(first.deliveries, 'sequence', 'channel', 'kind'), [
    [1, 'match', 'property.ad.create'],
    [2, 'event', 'property.ad.create'],
    [3, 'event', 'ad.update.price'],
    [4, 'event', 'property.ad.update'],
  ]);
  assert.equal(follow([judged(CHEAPER, [], [7])]).deliveries[0]?.kind, 'property.ad.update', 'of a known advert');
  const second = follow([judged(CHEAPER, [7], [7])], { known: first.newMatches });
  assert.deepEqual(valuesOf(second.deliveries, 'sequence'), [5, 6]);
  const [match] = first.newMatches;
  const cause = { searchVersion: ROUTE.version, channel: 'match', events: CREATED?.events };
  assert.deepEqual(match?.cause, cause, 'the next change of the batch does not replace it');
  assert.deepEqual([first.began, second.began], [[match], []]);
  assert.deepEqual(tuplesOf(second.changedMatches, 'id', 'hasBegun', 'createdAt'), [[match?.id, true, NOW]]);
  const silent = follow([judged(CHEAPER, [7], [7])], { known: second.changedMatches, route: { subscribedEvents: [] } });
  assert.deepEqual(silent, NOTHING, 'an event without a subscription is neither numbered nor written');
  const unsent = follow([judged(CHEAPER, [7], [7])], { known: second.changedMatches, route: { eventEndpoint: null } });
  assert.deepEqual([unsent.deliveries, valuesOf(unsent.feedItems, 'sequence')], [[], [7, 8]], 'the feed has both');
  assert.deepEqual(
    tuplesOf(unsent.feedEntries, 'clientId', 'id'),
    unsent.feedItems.map(({ id }) => [ROUTE.clientId, id]),
  );
  const restored = deriveAlerts(
    [judged(CHEAPER, [7], [7])],
    new Map([[SEVEN, ROUTE]]),
    second.changedMatches,
    resolveToulon,
    NOW,
    { sequenceFloor: 1_000_000 },
  );
  assert.deepEqual(valuesOf(restored.deliveries, 'sequence'), [1_000_001, 1_000_002]);
});

test('a document is written once for each change and variant, and without contacts for a search that hides them', () => {
  const routes = new Map(
    [7, 8, 9].map((each) => {
      const number = searchNumberOf(each);
      return [number, { ...ROUTE, number, hidePropertyContact: each === 9 }];
    }),
  );
  const changes = [judged(CREATED, [], [7, 8, 9]), judged(CHEAPER, [7, 8, 9], [7, 8, 9])];
  const { deliveries, snapshots } = deriveAlerts(changes, routes, [], resolveToulon, NOW);
  assert.deepEqual([snapshots.length, deliveries.length], [4, 12]);
  const documents = new Map(snapshots.map(({ id, document }) => [id, document]));
  for (const { searchNumber, snapshotId } of deliveries)
    assert.equal(documents.get(snapshotId)?.includes(CONTACT.email), searchNumber !== 9);
});

test('delivery ids ascend and carry the time of their snapshot, even if the clock was set back', () => {
  const ids: Uuid[] = [];
  const other: Match = { ...MATCH, searchNumber: searchNumberOf(8), lastDeliveryId: timeOrderedUuid(new Date(0)) };
  let known: readonly Match[] = [];
  for (const minutes of [0, -60, -60, -1, 0, 1]) {
    const now = new Date(NOW.getTime() + 60_000 * minutes);
    const change = judged(CHEAPER, [7], [7]);
    const { changedMatches, newMatches, deliveries, snapshots } = deriveAlerts(
      [change, change],
      new Map([[SEVEN, ROUTE]]),
      [...known, other],
      resolveToulon,
      now,
    );
    known = [...newMatches, ...changedMatches];
    ids.push(...deliveries.map(({ id }) => id));
    // Retention searches for the deliveries of a snapshot among the ids of the minute after it.
    for (const { id, snapshotId } of deliveries) assert.deepEqual(createdAtOf(id), createdAtOf(snapshotId));
    assert.ok(snapshots.every(({ id }) => createdAtOf(id) >= now));
  }
  assert.equal(ids.length, 24);
  assert.deepEqual(ids.toSorted(), ids);
  assert.equal(createdAtOf(ids.at(-1) as Uuid).getTime(), NOW.getTime() + 60_000, 'the clock decides again');
});
