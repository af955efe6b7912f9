/**
 * `marketDifference`: PostgreSQL computes the medians of markets; alerts, previews, lists and explanations judge by the
 * stored rows, and `/markets` answers them. An oracle computes the medians by sorting.
 */

import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { createRandom } from '../../bench/adverts/seeded-random.ts';
import { randomUuid, type Uuid } from '../../src/engine/domain/ids.ts';
import type { IntakeMessage } from '../../src/engine/domain/intake-message.ts';
import { digested, recentFlat } from '../support/adverts.ts';
import { startRecordedApi } from '../support/recorded-api.ts';

const FEWEST = 50;
const [APARTMENT, LAND] = [0, 5];
const TOULON = '83137';

interface Home {
  readonly property: Uuid;
  readonly insee: string;
  readonly transactionType: number | null;
  readonly propertyType: number | null;
  readonly price: number | null;
  readonly surface: number | null;
  readonly landSurface: number | null;
  readonly isLive?: boolean;
}

function messageOf({ property, insee, transactionType, propertyType, ...home }: Home): IntakeMessage {
  const { price, surface, landSurface } = home;
  const message = recentFlat(property, property, { price, surface, landSurface }, insee);
  return digested({ ...message, property: { ...message.property, transactionType, propertyType } });
}

function expiryOf({ property }: Home): IntakeMessage {
  const crawledAt = new Date().toISOString();
  return digested({ kind: 'expire', crawledAt, propertyUuid: property, advertUuid: property, expiredAt: null });
}

const random = createRandom(20_261_130);
const recorded = await startRecordedApi({ after });
const { api, scene, matched } = recorded;

function flat(home: Partial<Home>): Home {
  const one = { property: randomUuid(), insee: TOULON, transactionType: 0, propertyType: APARTMENT };
  return { ...one, price: 200_000, surface: 50, landSurface: null, ...home };
}

/** Markets of every size around the fewest prices, in communes, arrondissements, whole cities and departments. */
function randomHomes(count: number): readonly Home[] {
  const communes = [TOULON, TOULON, '83061', '83126', '75101', '75102', '75056', '69381', '69389', '69266', '13216'];
  return Array.from({ length: count }, () =>
    flat({
      insee: random.pick(communes),
      transactionType: random.pick([0, 0, 0, 1, null]),
      propertyType: random.pick([APARTMENT, APARTMENT, 1, LAND, null]),
      price: random.chance(0.1) ? null : random.integer(50_000, 900_000),
      surface: random.chance(0.1) ? null : random.integer(200, 15_000) / 100,
      landSurface: random.chance(0.3) ? null : random.integer(100, 5_000),
      isLive: random.chance(0.8),
    }),
  );
}

const WHOLE_CITIES: Readonly<Record<string, string>> = { 751: '75056', 693: '69123', 132: '13055' };

function pricePerMeterOf({ propertyType, price, surface, landSurface }: Home): number | null {
  const size = propertyType === LAND ? landSurface : surface;
  return price === null || size === null ? null : price / size;
}

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length / 2;
  return ((sorted[Math.ceil(half) - 1] as number) + (sorted[Math.floor(half)] as number)) / 2;
}

/** The median and count of each group with enough prices, by the keys of its homes. */
function mediansByHand(homes: readonly Home[], keysOf: (home: Home) => readonly string[]) {
  const groups = new Map<string, number[]>();
  for (const home of homes) {
    const price = pricePerMeterOf(home);
    if (price === null || home.transactionType === null) continue;
    for (const key of keysOf(home)) groups.set(key, [...(groups.get(key) ?? []), price]);
  }
  const large = [...groups].filter(([, prices]) => prices.length >= FEWEST);
  return new Map(large.map(([key, prices]) => [key, { median: medianOf(prices), count: prices.length }]));
}

function marketsByHand(homes: readonly Home[]) {
  return mediansByHand(homes, ({ insee, transactionType, propertyType, isLive }) => {
    const city = /^(751|6938|132)/.test(insee) ? (WHOLE_CITIES[insee.slice(0, 3)] ?? []) : [];
    const codes = [insee, city, insee.slice(0, 2)].flat();
    return isLive === false || propertyType === null
      ? []
      : codes.map((code) => `${code}/${transactionType}/${propertyType}`);
  });
}

interface StoredMarket {
  readonly key: string;
  readonly median: number | null;
  readonly count: number | null;
  readonly changedAt: Date;
}

async function storedMarkets(): Promise<ReadonlyMap<string, StoredMarket>> {
  const { rows } = await api.database.query<StoredMarket>(
    `select concat_ws('/', code, transaction_type, property_type) as key, median, property_count as count,
       changed_at as "changedAt" from market_prices`,
  );
  return new Map(rows.map((row) => [row.key, row]));
}

function assertMedians(
  stored: readonly { readonly key: string; readonly median: number | null }[],
  expected: ReadonlyMap<string, { readonly median: number }>,
): void {
  const known = stored.filter(({ median }) => median !== null);
  assert.deepEqual(known.map(({ key }) => key).sort(), [...expected.keys()].sort());
  for (const { key, median } of known) {
    const wanted = expected.get(key)?.median ?? Number.NaN;
    assert.ok(Math.abs((median as number) / wanted - 1) < 1e-14, `${key}: ${median} is not ${wanted}`);
  }
}

const SEARCH = {
  title: 'cheap',
  transactionType: 0,
  propertyTypes: [APARTMENT],
  includedCities: [`/cities/${TOULON}`],
  marketDifferenceMax: -10,
  withCoherentPrice: null,
  notificationEnabled: true,
};
const ENDPOINTS = { endpointRecipient: 'https://hooks.example.com/', eventEndpoint: 'https://hooks.example.com/' };

const createSearch = (members: object = {}) => recorded.createSearch({ ...SEARCH, ...ENDPOINTS, ...members });
const explanationOf = (search: string, property: Uuid, language = 'en') =>
  recorded.explanationOf(search, property, 'marketDifference', language);

const stock = randomHomes(6_000);
let median = 0;

describe('the markets', () => {
  it('have the median and the number of live priced properties that sorting finds', async () => {
    await scene.record(stock.map(messageOf));
    await scene.record(stock.filter(({ isLive }) => isLive === false).map(expiryOf));
    await scene.computeMedians();
    const expected = marketsByHand(stock);
    const stored = await storedMarkets();
    assertMedians([...stored.values()], expected);
    for (const [key, { count }] of expected) assert.equal(stored.get(key)?.count, count, key);
    for (const key of ['75101/0/0', '75056/0/0', '69123/0/0', '69/0/0', '83137/0/5']) assert.ok(expected.has(key), key);
    assert.ok(!expected.has('13216/1/5'));
    median = stored.get(`${TOULON}/0/0`)?.median ?? 0;
  });

  it('do not change the medians of coherent prices: all stored properties, by department, land apart', async () => {
    const { rows } = await api.database.query<{ key: string; median: number }>(
      `select concat_ws('/', department_code, transaction_type, is_land) as key, median from market_medians`,
    );
    const expected = mediansByHand(stock, ({ insee, transactionType, propertyType }) => [
      `${insee.slice(0, 2)}/${transactionType}/${propertyType === LAND ? 't' : 'f'}`,
    ]);
    assertMedians(rows, expected);
  });

  it('keep the time of their last change while only the number changes, and their row when prices become too few', async () => {
    const [insee, surface] = ['2A004', 100];
    const homes = Array.from({ length: FEWEST + 1 }, (_, at) => flat({ insee, surface, price: 100_000 + 1_000 * at }));
    await scene.record(homes.map(messageOf));
    await scene.computeMedians();
    const before = (await storedMarkets()).get('2A004/0/0') as StoredMarket;
    assert.deepEqual([before.median, before.count], [1_250, FEWEST + 1]);
    const around = [1, 900_000].map((price) => flat({ insee, surface, price }));
    await scene.record(around.map(messageOf));
    await scene.computeMedians();
    assert.deepEqual((await storedMarkets()).get('2A004/0/0'), { ...before, count: FEWEST + 3 });
    await scene.record([...around, ...homes.slice(0, 2)].map(expiryOf));
    await scene.computeMedians();
    const few = (await storedMarkets()).get('2A004/0/0') as StoredMarket;
    assert.deepEqual([few.median, few.count], [null, null]);
    assert.ok(few.changedAt > before.changedAt);
  });
});

describe('a search with a bound', () => {
  let search = '';
  let near: readonly Home[] = [];

  it('is notified of, lists, previews and explains the same properties', async () => {
    search = await createSearch();
    near = Array.from({ length: 400 }, () => {
      const surface = random.integer(2_000, 15_000) / 100;
      const percent = random.pick([-60, -10.5, -10.01, -9.99, -9.5, 0, 40]);
      return flat({ surface, price: Math.round(median * surface * (100 + percent)) / 100 });
    });
    await scene.record(near.map(messageOf));
    const isCheap = (home: Home): boolean => (((pricePerMeterOf(home) as number) - median) / median) * 100 <= -10;
    const cheap = near.filter(isCheap).map(({ property }) => property);
    assert.ok(cheap.length > 100 && cheap.length < 300);
    assert.deepEqual(await matched(search), new Set(cheap));
    const all = [...stock, ...near].filter(
      ({ insee, transactionType, propertyType, isLive }) =>
        insee === TOULON && transactionType === 0 && propertyType === APARTMENT && isLive !== false,
    );
    const expected = new Set(
      all.filter((home) => pricePerMeterOf(home) !== null && isCheap(home)).map((h) => h.property),
    );
    const listed = new Set<string>();
    for (let page = 1; listed.size < expected.size; page++) {
      const { body } = await api.call('GET', `${search}/properties?itemsPerPage=100&page=${page}`);
      if (body['hydra:member'].length === 0) break;
      for (const { uuid } of body['hydra:member']) listed.add(uuid);
    }
    assert.deepEqual(listed, expected);
    const preview = await api.call('POST', '/searches/preview', SEARCH);
    assert.equal(preview.body.satisfiedNow, expected.size);
    const [without] = preview.body.withoutCriterion.filter(
      (one: { readonly criterion: string }) => one.criterion === 'marketDifference',
    );
    assert.equal(without.satisfiedNow, all.length);
    for (const { property } of near.slice(0, 40)) {
      const { satisfied, holds } = await explanationOf(search, property);
      assert.deepEqual([satisfied, holds], [expected.has(property), expected.has(property)]);
    }
    const { body } = await api.call('GET', `/explanations?property=${cheap[0]}`);
    assert.deepEqual(
      body['hydra:member'].map((one: { readonly search: string }) => one.search),
      [search],
    );
  });

  it('is explained with the difference, the median, the market and its size', async () => {
    const [cheap, dear] = [-14, 25].map((percent) => flat({ price: median * (1 + percent / 100) * 50 }));
    const paris = flat({ insee: '75102', propertyType: LAND, surface: null, landSurface: 50, price: 1 });
    const unknown = flat({ price: null });
    await scene.record([cheap, dear, paris, unknown].flatMap((home) => (home ? messageOf(home) : [])));
    const count = marketsByHand(stock).get(`${TOULON}/0/0`)?.count;
    const shown = median.toLocaleString('en-GB', { maximumFractionDigits: 2 });
    const held = await explanationOf(search, (cheap as Home).property);
    assert.deepEqual(held.expected, { min: null, max: -10 });
    const rounded = Number(median.toFixed(2));
    assert.deepEqual(held.actual, { percent: -14, median: rounded, count, market: 'Toulon' });
    assert.equal(
      held.reason,
      `The price per m² is 14 % below the median of ${count} flats for sale in Toulon (${shown} €/m²).`,
    );
    const failed = await explanationOf(search, (dear as Home).property, 'fr');
    assert.match(
      failed.reason,
      new RegExp(`^Le prix au m² est 25 % au-dessus de la médiane de ${count} appartements à vendre`),
    );
    assert.match(
      failed.reason,
      /à Toulon \([\d ,]+ €\/m²\)\. L'écart avec le prix du marché \(25 %\) dépasse le maximum de -10 %\.$/,
    );
    assert.match(
      (await explanationOf(search, unknown.property)).reason,
      /^The difference from the market price is unknown\./,
    );
    const anywhere = await createSearch({ includedCities: [], propertyTypes: [LAND], marketDifferenceMax: 0 });
    const ofParis = await explanationOf(anywhere, paris.property);
    assert.match(
      ofParis.reason,
      /^The price per m² is [\d.]+ % below the median of \d+ plots of land for sale in the department Paris/,
    );
  });

  it('is explained with the moved median if a property no longer fits because of it', async () => {
    const fresh = await createSearch();
    const home = flat({ price: median * 0.89 * 50 });
    await scene.record([messageOf(home)]);
    assert.deepEqual(await matched(fresh), new Set([home.property]));
    await api.database.query(
      `update market_prices set changed_at = changed_at - interval '1 minute', revision = revision + 1`,
    );
    assert.ok(!(await explanationOf(fresh, home.property)).codes.includes('median-moved'));
    await scene.record(Array.from({ length: 500 }, () => messageOf(flat({ price: 1_000 * 50, isLive: true }))));
    await scene.computeMedians();
    const moved = await explanationOf(fresh, home.property);
    assert.deepEqual([moved.satisfied, moved.codes.includes('median-moved')], [false, true]);
  });
});

describe('a new median', () => {
  const [insee, surface] = ['33063', 100];
  const property = randomUuid();
  const priced = (price: number) => flat({ property, insee, surface, price });
  const others = (price: number, count: number) =>
    Array.from({ length: count }, () => messageOf(flat({ insee, surface, price })));
  const subscribedEvents = ['property.match.end', 'property.match.resume'];
  const members = { includedCities: [`/cities/${insee}`], subscribedEvents };
  let search = '';

  const eventsOf = async () => (await recorded.noticesOf(search)).map(([event]) => event);

  it('ends and resumes nothing; a price does both, judged by the stored rows on both sides', async () => {
    await scene.record(others(300_000, 60));
    await scene.computeMedians();
    search = await createSearch(members);
    await scene.record([messageOf(priced(240_000))]);
    assert.deepEqual(await matched(search), new Set([property]));
    await scene.record([messageOf(priced(290_000))]);
    const market = { median: 3_000, count: 60, market: insee };
    const [event, fieldName, ...values] = (await recorded.noticesOf(search)).at(-1) ?? [];
    assert.deepEqual([event, fieldName], ['property.match.end', 'marketDifference']);
    const [from, to] = values.map((value) => JSON.parse(String(value)));
    assert.deepEqual(
      [from, to],
      [-20, -3.33].map((percent) => ({ percent, ...market })),
    );
    const told = (await eventsOf()).length;
    // The median rises to 4,000 €/m²: the property would fit, but nothing has happened to it.
    await scene.record(others(400_000, 200));
    await scene.computeMedians();
    assert.equal((await eventsOf()).length, told);
    assert.equal((await explanationOf(search, property)).satisfied, true);
    // It fits before and after this change by today's median. A notified end is resumed by the first later change.
    await scene.record([messageOf(priced(289_000))]);
    assert.equal((await eventsOf()).at(-1), 'property.match.resume');
    await scene.record([messageOf(priced(390_000))]);
    await scene.record([messageOf(priced(350_000))]);
    const [resume, end] = ['property.match.resume', 'property.match.end'];
    assert.deepEqual((await eventsOf()).slice(-3), [resume, end, resume]);
  });

  it('starts nothing: a property that only the median made fit starts after it has left and fits again', async () => {
    const homeless = randomUuid();
    const at = (price: number) => messageOf(flat({ property: homeless, insee, surface, price }));
    const fresh = await createSearch(members);
    await scene.record([at(395_000)]);
    await scene.record(others(500_000, 500));
    await scene.computeMedians();
    assert.equal((await explanationOf(fresh, homeless)).satisfied, true);
    await scene.record([at(396_000)]);
    assert.deepEqual(await matched(fresh), new Set());
    await scene.record([at(490_000)]);
    await scene.record([at(396_000)]);
    assert.deepEqual(await matched(fresh), new Set([homeless]));
  });
});

describe('GET /markets', () => {
  const read = (query: string) => api.call('GET', `/markets?${query}`);

  it('answers the market of a city, an arrondissement, a whole city and a department', async () => {
    const stored = await storedMarkets();
    for (const [place, code, name, level] of [
      [`city=/cities/${TOULON}`, TOULON, 'Toulon', 'city'],
      ['city=75101', '75101', 'Paris 1er', 'city'],
      ['city=/cities/75056', '75056', 'Paris', 'city'],
      ['department=/departments/83', '83', 'Var', 'department'],
    ] as const) {
      const { median: expected, count, changedAt } = stored.get(`${code}/0/0`) as StoredMarket;
      const { status, body } = await read(`${place}&transactionType=0&propertyType=0`);
      assert.equal(status, 200);
      const { '@id': iri, '@type': type, '@context': _, ...market } = body;
      assert.deepEqual(market, { median: expected, count, name, level, changedAt: changedAt.toISOString() });
      assert.equal(type, 'Market');
      assert.equal((await api.call('GET', iri)).body.median, expected);
    }
  });

  it('answers the department of a city or arrondissement with fewer than fifty prices, and 404 if that has fewer too', async () => {
    for (const [city, department] of [
      ['/cities/83069', 'Var'],
      ['69383', 'Rhône'],
    ]) {
      const { body } = await read(`city=${city}&transactionType=0&propertyType=0`);
      assert.deepEqual([body.name, body.level], [department, 'department']);
    }
    for (const query of ['city=2A004', 'city=120004', 'department=2A', 'city=83137']) {
      const type = query === 'city=83137' ? 6 : 0;
      const { status } = await read(`${query}&transactionType=0&propertyType=${type}`);
      assert.equal(status, query === 'city=2A004' ? 400 : 404, query);
    }
  });

  it('refuses other parameters with 400', async () => {
    const kind = 'transactionType=0&propertyType=0';
    for (const query of [
      kind,
      `city=${TOULON}&department=83&${kind}`,
      `city=99999&${kind}`,
      `city=Toulon&${kind}`,
      `department=00&${kind}`,
      `city=${TOULON}&city=75056&${kind}`,
      `city=${TOULON}&${kind}&page=1`,
    ])
      assert.equal((await read(query)).status, 400, query);
    const french = { headers: { 'Accept-Language': 'fr' } };
    const { body } = await api.call('GET', '/markets?city=Toulon&propertyType=0', undefined, french);
    assert.equal(
      body.detail,
      'city doit être un id, ou une IRI telle que /cities/1\u202f; transactionType est obligatoire',
    );
  });
});
