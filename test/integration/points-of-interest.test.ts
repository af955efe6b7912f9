/**
 * `pointsOfInterest`: alerts, previews, lists and explanations judge by the distances that are stored with a property
 * at its last change. An oracle measures all points, as chords between unit vectors.
 */

import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { createRandom } from '../../bench/adverts/seeded-random.ts';
import { randomUuid, type Uuid } from '../../src/engine/domain/ids.ts';
import type { IntakeMessage } from '../../src/engine/domain/intake-message.ts';
import type { PointOfInterest } from '../../src/engine/domain/point-of-interest.ts';
import { buildPointIndex, NO_POINTS } from '../../src/engine/matching/points/poi-index.ts';
import { removePointSource, replacePointSource } from '../../src/engine/store/points-of-interest.ts';
import { digested, recentFlat } from '../support/adverts.ts';
import { startTestApi } from '../support/api.ts';
import { openRecording } from '../support/question-scene.ts';
import { lastFirst } from '../support/servers.ts';

type Attributes = PointOfInterest['attributes'];

interface Term {
  readonly facility: string;
  readonly attributes?: Attributes;
  readonly within?: number;
  readonly beyond?: number;
}

interface Place {
  readonly lat: number;
  readonly lon: number;
}

const random = createRandom(20_261_130);
const cleanup = lastFirst({ after });
let index = NO_POINTS;
const api = await startTestApi(cleanup, { pointsOfInterest: () => index });
const scene = await openRecording(cleanup, api.database, api.reference.resolvePlace);

/** Around Toulon; the reach in degrees decides how many are far. */
function placeWithin(reach: number): Place {
  const away = () => (random.uniform() * 2 - 1) * reach;
  return { lat: 43.12 + away(), lon: 5.93 + away() };
}

function pointAt(place: Place, facility: string, attributes: Attributes = {}, name: string | null = null) {
  return { ...place, facility, attributes, name } as PointOfInterest;
}

function randomPoints(count: number): PointOfInterest[] {
  return Array.from({ length: count }, (_, at) => {
    const facility = random.pick(['school', 'school', 'kindergarten', 'restaurant', 'parking']);
    const schoolType = random.pick(['lycée', 'primaire', undefined]);
    const operatorType = random.pick(['public', 'private', undefined]);
    const attributes = { ...(schoolType && { schoolType }), ...(operatorType && { operatorType }) } as Attributes;
    return pointAt(placeWithin(0.7), facility, facility === 'school' ? attributes : {}, `point ${at}`);
  });
}

const sources = new Map<string, readonly PointOfInterest[]>();

async function importPoints(source: string, points: readonly PointOfInterest[]): Promise<void> {
  sources.set(source, points);
  await replacePointSource(
    api.database,
    source,
    (async function* () {
      yield points;
    })(),
  );
  measured.clear();
  index = await buildPointIndex((add) => add([...sources.values()].flat()));
}

function unitVector({ lat, lon }: Place): readonly [number, number, number] {
  const [phi, lambda] = [(lat * Math.PI) / 180, (lon * Math.PI) / 180];
  return [Math.cos(phi) * Math.cos(lambda), Math.cos(phi) * Math.sin(lambda), Math.sin(phi)];
}

function metersBetween(one: Place, other: Place): number {
  const [a, b] = [unitVector(one), unitVector(other)];
  return 2 * 6_371_000 * Math.asin(Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]) / 2);
}

/** Distances since the last import, because a measure reads all points. */
const measured = new Map<string, number | null>();

/** Null if unknown. */
function distanceByHand({ facility, attributes }: Term, place: Place | null): number | null {
  const key = JSON.stringify([facility, attributes, place]);
  const known = measured.get(key);
  if (known !== undefined) return known;
  const distanceM = measure({ facility, ...(attributes && { attributes }) }, place);
  measured.set(key, distanceM);
  return distanceM;
}

function measure({ facility, attributes = {} }: Term, place: Place | null): number | null {
  const ofFacility = [...sources.values()].flat().filter((point) => point.facility === facility);
  if (place === null || ofFacility.length === 0) return null;
  const wanted = Object.entries(attributes);
  const fits = ofFacility.filter((point) =>
    wanted.every(([name, value]) => (point.attributes as Readonly<Record<string, string>>)[name] === value),
  );
  const nearest = fits.reduce((least, point) => Math.min(least, metersBetween(place, point)), Number.POSITIVE_INFINITY);
  return Math.round(nearest) > 50_000 ? 50_001 : Math.round(nearest);
}

/** True, false, or null if only unknown distances fail. */
function verdictByHand(terms: readonly Term[], place: Place | null): boolean | null {
  const verdicts = terms.map((term) => {
    const meters = distanceByHand(term, place);
    if (meters === null) return null;
    return term.within === undefined ? meters >= (term.beyond ?? 0) * 1_000 : meters <= term.within * 1_000;
  });
  return verdicts.includes(false) ? false : verdicts.includes(null) ? null : true;
}

function messageOf(property: Uuid, place: Place | null, price = 100_000): IntakeMessage {
  const message = recentFlat(property, property, { price });
  return digested({ ...message, property: { ...message.property, locations: place } });
}

async function publish(property: Uuid, place: Place | null, price?: number): Promise<void> {
  await scene.record([messageOf(property, place, price)]);
}

async function createSearch(members: object): Promise<string> {
  const body = { title: 'x', notificationEnabled: true, eventEndpoint: 'https://hooks.example.com/', ...members };
  const answered = await api.call('POST', '/searches', { endpointRecipient: 'https://hooks.example.com/', ...body });
  assert.equal(answered.status, 201, answered.text);
  return answered.body['@id'];
}

async function faultsOf(members: object) {
  const { status, body } = await api.call('POST', '/searches', { title: 'x', ...members });
  assert.equal(status, 422);
  return body.violations as readonly Readonly<Record<'propertyPath' | 'message' | 'code', string>>[];
}

async function matched(search: string): Promise<ReadonlySet<string>> {
  const { rows } = await api.database.query<{ uuid: string }>(
    `select property_uuid as uuid from matches join searches on number = search_number where searches.id = $1`,
    [search.split('/').at(-1)],
  );
  return new Set(rows.map(({ uuid }) => uuid));
}

async function stateOf(property: Uuid): Promise<readonly unknown[]> {
  const { rows } = await api.database.query<{ state: string }>('select state from properties where uuid = $1', [
    property,
  ]);
  return JSON.parse(rows[0]?.state ?? '');
}

async function storedDistances(property: Uuid): Promise<unknown> {
  return (await stateOf(property))[2];
}

async function explanationOf(search: string, property: Uuid, language = 'en') {
  const headers = { 'Accept-Language': language };
  const { body } = await api.call('GET', `${search}/explanation?property=${property}`, undefined, { headers });
  const criteria = body.criteria as readonly Readonly<Record<string, unknown>>[];
  const one = criteria.find(({ criterion }) => criterion === 'pointsOfInterest') ?? {};
  return {
    satisfied: body.satisfied,
    actual: one.actual,
    reason: String(one.reason).replaceAll(/[\u00a0\u202f]/g, ' '),
  };
}

async function eventsOf(search: string): Promise<readonly unknown[]> {
  const { body } = await api.call('GET', `/feed?search=${search}`);
  return body.items.map(({ body: { event, adEvent } }: { body: Readonly<Record<string, Record<string, unknown>>> }) =>
    adEvent?.fieldName === 'pointsOfInterest' ? [event, adEvent.fieldOldValue, adEvent.fieldNewValue] : event,
  );
}

const homes = Array.from({ length: 150 }, () => ({
  property: randomUuid(),
  place: random.chance(0.1) ? null : placeWithin(random.pick([0.05, 0.3, 1.5])),
}));

const COMBINATIONS: readonly Term[] = [
  { facility: 'school' },
  { facility: 'school', attributes: { schoolType: 'lycée', operatorType: 'public' } },
  { facility: 'school', attributes: { schoolType: 'maternelle' } },
  { facility: 'kindergarten' },
  { facility: 'parking' },
  { facility: 'hospital' },
];

function randomTerms(): readonly Term[] {
  return Array.from({ length: random.integer(1, 2) }, () => {
    const km = random.pick([0.05, 1.005, 3, 10, 50]);
    return { ...random.pick(COMBINATIONS), ...(random.chance(0.6) ? { within: km } : { beyond: km }) };
  });
}

it('without a search that names points, a property is stored without distances', async () => {
  await importPoints('schools', randomPoints(600));
  const property = randomUuid();
  await publish(property, placeWithin(0.1));
  assert.equal((await stateOf(property)).length, 2);
});

it('invalid terms are refused with their path and the nearest name', async () => {
  const faults = await faultsOf({
    pointsOfInterest: [
      { facility: 'scool', within: 1 },
      { facility: 'school', attributes: { schoolType: 'collége' }, within: 1 },
      { facility: 'parking', attributes: { operatorType: 'public' }, within: 1 },
      { facility: 'parking', within: 1, beyond: 2 },
      { facility: 'parking' },
      { facility: 'parking', within: 0.04 },
      { facility: 'parking', beyond: 50.1 },
      { facility: 'parking', withn: 1 },
      { facility: 'school', attributes: {}, within: 1 },
    ],
  });
  const at = (index: number, path = '') => `pointsOfInterest[${index}]${path}`;
  assert.deepEqual(
    faults.map(({ propertyPath }) => propertyPath),
    [
      ...[at(0, '.facility'), at(1, '.attributes.schoolType'), at(2, '.attributes'), at(3), at(4), at(5, '.within')],
      ...[at(6, '.beyond'), at(7, '.withn'), at(8, '.attributes')],
    ],
  );
  assert.match(faults[0]?.message ?? '', /the nearest one is school$/);
  assert.match(faults[1]?.message ?? '', /the nearest one is collège$/);
  assert.match(faults[7]?.message ?? '', /the nearest one is within$/);
  const eleven = Array.from({ length: 11 }, () => ({ facility: 'school', within: 1 }));
  assert.deepEqual(
    (await faultsOf({ pointsOfInterest: eleven })).map(({ propertyPath, code }) => [propertyPath, code]),
    [['pointsOfInterest', 'too_long']],
  );
});

it('random searches match, list, preview and explain the properties whose distances fit', async () => {
  const wanted = Array.from({ length: 32 }, (_, at) => {
    const orMissing = random.chance(0.4) ? ['pointsOfInterest'] : [];
    const own = { terms: randomTerms(), orMissing };
    const alternatives = at % 4 === 3 ? Array.from({ length: 2 }, () => ({ terms: randomTerms(), orMissing })) : [];
    return { own, alternatives };
  });
  const membersOf = ({
    terms,
    orMissing,
  }: {
    readonly terms: readonly Term[];
    readonly orMissing: readonly string[];
  }) => ({
    pointsOfInterest: terms,
    orMissing,
  });
  const searches: string[] = [];
  for (const { own, alternatives } of wanted) {
    const members = alternatives.length === 0 ? membersOf(own) : { alternatives: alternatives.map(membersOf) };
    searches.push(await createSearch(members));
  }
  // A transaction has room for a limited number of matches.
  for (let at = 0; at < homes.length; at += 25)
    await scene.record(homes.slice(at, at + 25).map(({ property, place }) => messageOf(property, place)));
  let [fitting, failing] = [0, 0];
  for (const [at, { own, alternatives }] of wanted.entries()) {
    const fits = (place: Place | null): boolean =>
      (alternatives.length === 0 ? [own] : alternatives).some(({ terms, orMissing }) => {
        const verdict = verdictByHand(terms, place);
        return verdict === null ? orMissing.length > 0 : verdict;
      });
    const expected = new Set(homes.filter(({ place }) => fits(place)).map(({ property }) => property));
    const search = searches[at] as string;
    assert.deepEqual(await matched(search), expected, JSON.stringify(wanted[at]));
    fitting += expected.size;
    failing += homes.length - expected.size;
    if (at % 6 !== 3) continue;
    const { body: listed } = await api.call('GET', `${search}/properties?itemsPerPage=100`);
    const [extra] = [(await api.call('GET', `${search}/properties?itemsPerPage=1`)).body['hydra:totalItems']];
    assert.ok(
      listed['hydra:member'].every(
        ({ uuid }: { uuid: Uuid }) => expected.has(uuid) || !homes.some((h) => h.property === uuid),
      ),
    );
    const { body } = await api.call('GET', search);
    const preview = await api.call('POST', '/searches/preview', body);
    assert.equal(preview.body.satisfiedNow, extra);
    for (const { property } of homes.slice(0, 10))
      assert.equal((await explanationOf(search, property)).satisfied, expected.has(property));
  }
  assert.ok(fitting > 500 && failing > 500, `${fitting} fit and ${failing} do not`);
  const { property, place } = homes.find((home) => home.place !== null) as (typeof homes)[number];
  const stored = (await storedDistances(property)) as Readonly<Record<string, number | null>>;
  for (const term of COMBINATIONS) {
    const { schoolType = '', operatorType = '' } = term.attributes ?? {};
    assert.equal(stored[`${term.facility}/${schoolType}/${operatorType}`], distanceByHand(term, place));
  }
});

it('a ninth combination of a client is refused with its path, also in a change or an alternative', async () => {
  const [private_, college] = [{ operatorType: 'private' }, { schoolType: 'collège' }];
  const search = await createSearch({ pointsOfInterest: [{ facility: 'school', attributes: private_, beyond: 1 }] });
  const full = [
    { facility: 'school', within: 2 },
    { facility: 'kindergarten', attributes: private_, within: 2 },
    { facility: 'school', attributes: college, within: 2 },
  ];
  assert.deepEqual(
    (await faultsOf({ pointsOfInterest: full })).map(({ propertyPath }) => propertyPath),
    ['pointsOfInterest[2]'],
  );
  assert.deepEqual(
    (await faultsOf({ alternatives: [{ room: 2 }, { pointsOfInterest: full }].slice(1) })).map(
      (one) => one.propertyPath,
    ),
    ['alternatives[0].pointsOfInterest[2]'],
  );
  // Replaces the only use of a combination.
  const kindergarten = { pointsOfInterest: [full[1], full[0]] };
  assert.equal((await api.call('PUT', search, kindergarten)).status, 200);
  assert.equal((await api.call('PUT', search, { pointsOfInterest: full })).status, 200);
  const refused = await api.call('PUT', search, { pointsOfInterest: [...full, { facility: 'restaurant', within: 1 }] });
  assert.deepEqual([refused.status, refused.body.violations[0].propertyPath], [422, 'pointsOfInterest[3]']);
  assert.deepEqual((await api.call('GET', search)).body.pointsOfInterest, full);
  assert.equal((await api.call('DELETE', search)).status, 204);
  await createSearch({ pointsOfInterest: [{ facility: 'restaurant', within: 1 }] });
});

describe('an import of points, or a new combination', () => {
  const place = { lat: 44.5, lon: 4.5 };
  const north = (meters: number): Place => ({
    lat: place.lat + meters / ((6_371_000 * Math.PI) / 180),
    lon: place.lon,
  });
  const subscribedEvents = ['property.match.end', 'property.match.resume'];
  const property = randomUuid();
  let search = '';

  it('starts and ends no match until the next change of a property', async () => {
    await importPoints('cinemas', [pointAt(north(800), 'restaurant', {}, 'Far'), pointAt(north(60_000), 'parking')]);
    search = await createSearch({ pointsOfInterest: [{ facility: 'restaurant', within: 0.5 }], subscribedEvents });
    await publish(property, place);
    assert.deepEqual(await matched(search), new Set());
    await importPoints('near', [pointAt(north(420), 'restaurant', {}, 'Chez Léa')]);
    await publish(randomUuid(), null);
    assert.deepEqual([await matched(search), (await explanationOf(search, property)).satisfied], [new Set(), false]);
    await publish(property, place, 110_000);
    assert.deepEqual(await matched(search), new Set([property]));
    const { reason, actual } = await explanationOf(search, property);
    assert.equal(reason, 'Points of interest at the requested distances: restaurant (Chez Léa) 420 m away.');
    assert.deepEqual(actual, [{ facility: 'restaurant', meters: 420, name: 'Chez Léa' }]);
    await removePointSource(api.database, 'near');
    sources.delete('near');
    index = await buildPointIndex((add) => add([...sources.values()].flat()));
    await publish(randomUuid(), null);
    const kept = await explanationOf(search, property, 'fr');
    assert.equal(kept.reason, "Points d'intérêt aux distances demandées : restaurant à 420 m.");
    assert.deepEqual(await eventsOf(search), ['property.ad.update']);
    await publish(property, place, 120_000);
    assert.deepEqual((await eventsOf(search)).at(-1), ['property.match.end', null, null]);
    const { reason: failed } = await explanationOf(search, property, 'fr');
    assert.equal(
      failed,
      "Points d'intérêt à d'autres distances que celles demandées : restaurant (Far) à 800 m (au plus 500 m).",
    );
    await publish(property, north(400), 120_000);
    assert.deepEqual((await eventsOf(search)).at(-1), 'property.match.resume');
  });

  it('judges a property without the distance by its coordinates, before and after its next change', async () => {
    const [still, moving] = [randomUuid(), randomUuid()];
    await publish(still, place);
    await publish(moving, north(50_000));
    const decomposed = { schoolType: 'collège'.normalize('NFD') };
    const fresh = await createSearch({
      pointsOfInterest: [{ facility: 'school', attributes: decomposed, beyond: 50 }],
    });
    assert.equal((await explanationOf(fresh, still)).satisfied, true);
    await importPoints('college', [pointAt(north(50_000), 'school', { schoolType: 'collège' })]);
    await publish(still, place, 110_000);
    await publish(moving, place, 110_000);
    assert.deepEqual(await matched(fresh), new Set([moving]));
    await importPoints('college', []);
    const far = (await explanationOf(fresh, still)).actual;
    assert.deepEqual(far, [{ facility: 'school', attributes: { schoolType: 'collège' }, meters: 50_000 }]);
    await publish(still, place, 120_000);
    const reason = 'Points of interest at the requested distances: middle school more than 50 km away.';
    assert.equal((await explanationOf(fresh, still)).reason, reason);
  });
});
