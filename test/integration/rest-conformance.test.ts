/**
 * Every member of the specification's tables 2.1 and 2.2, and of the decisions, is sent, stored as the matcher reads
 * it, and answered. A criterion must also match one property and not another. Every query parameter of the OpenAPI
 * document is refused beyond its schema.
 */

import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { satisfies } from '../../src/engine/domain/criteria.ts';
import { featureSetOf } from '../../src/engine/domain/features.ts';
import { marketKey, NO_MARKETS } from '../../src/engine/domain/market-prices.ts';
import {
  type AdvertFacts,
  NOTHING_KNOWN,
  NOTHING_KNOWN_OF_ADVERT,
  type PropertyFacts,
} from '../../src/engine/domain/property-facts.ts';
import { criteriaOf, SEARCH_DEFAULTS, type SearchMembers } from '../../src/engine/domain/search.ts';
import { changedSince } from '../../src/engine/store/search-feed.ts';
import { listSiteCategories } from '../../src/engine/store/site-categories.ts';
import { startTestApi } from '../support/api.ts';
import { assertNone } from '../support/lists.ts';
import { searchNumberOfId } from '../support/seeded-matches.ts';

const api = await startTestApi({ after });
const categories = new Map((await listSiteCategories(api.database)).map(({ id, name }) => [id, name]));

const ADVERT: AdvertFacts = {
  ...NOTHING_KNOWN_OF_ADVERT,
  siteCategory: 'Agence',
  publisherName: 'Foncia',
  publisherType: 1,
  price: 250_000,
  hasVirtualTour: true,
  constructionYear: 1975,
  condominiumFees: 0,
  rentalCharges: 100,
  energy: 'C',
  greenHouseGas: 'A',
  features: featureSetOf(['pool', 'balcony']),
  texts: ['Bel appartement', 'Vue mer, rénové'],
};

/** The market of flats for sale in Toulon. */
function marketsOf(median: number): PropertyFacts['markets'] {
  const kind = { code: '83137', transactionType: 0, propertyType: 0 };
  const market = { ...kind, name: 'Toulon', median, count: 83, changedAt: new Date(0) };
  return new Map([[marketKey('83137', 0, 0), market]]);
}

/** A flat in Toulon that satisfies each search below. */
const FLAT: PropertyFacts = {
  ...NOTHING_KNOWN,
  transactionType: 0,
  propertyType: 0,
  price: 250_000,
  pricePerMeter: 3_846.15,
  surface: 65,
  landSurface: 100,
  room: 3,
  bedroom: 2,
  furnished: true,
  elevator: true,
  floor: 0,
  isOnLastFloor: true,
  lat: 43.12,
  lon: 5.93,
  inseeCodes: ['83137'],
  departmentCode: '83',
  zipcodes: ['83000'],
  texts: ['Appartement T3'],
  adverts: [ADVERT],
  isPriceCoherent: true,
  markets: marketsOf(4_000),
  distances: { 'school//public': 420 },
};

const withAdvert = (change: Partial<AdvertFacts>): Partial<PropertyFacts> => ({ adverts: [{ ...ADVERT, ...change }] });

interface Row {
  readonly member: keyof SearchMembers;
  readonly sent: unknown;
  /** The value in the answer; absent if it equals the value sent. */
  readonly answered?: unknown;
  /** Members sent together with it, if it is not valid alone. */
  readonly beside?: Readonly<Record<string, unknown>>;
  /** A flat with this difference does not match; absent if the value sets no criterion. */
  readonly unlike?: Partial<PropertyFacts>;
}

const TOULON = { '@context': '/contexts/City', '@id': '/cities/83137', '@type': 'City' };
const toulon = { ...TOULON, article: '', insee: '83137', libelle: 'Toulon', name: 'Toulon', zipcode: '83000' };
const var83 = {
  '@context': '/contexts/Department',
  '@id': '/departments/83',
  '@type': 'Department',
  chefLieu: '83137',
  departmentCode: '83',
  name: 'Var',
  nameClean: 'var',
};
const paris75 = {
  ...{ '@context': '/contexts/Department', '@id': '/departments/75', '@type': 'Department' },
  ...{ chefLieu: '75056', departmentCode: '75', name: 'Paris', nameClean: 'paris' },
};
const categoryOf = (wanted: string) => {
  const [id] = [...categories].find(([, name]) => name === wanted) as [number, string];
  const iri = `/site_categories/${id}`;
  return { iri, embedded: { '@context': '/contexts/SiteCategory', '@id': iri, '@type': 'SiteCategory', name: wanted } };
};
const agence = categoryOf('Agence');
const notaire = categoryOf('Notaire');
const elsewhere = { lat: 48.85, lon: 2.35, inseeCodes: ['75056'], departmentCode: '75', zipcodes: ['75001'] };
const square = [
  [
    [5.9, 43.1],
    [6, 43.1],
    [6, 43.2],
    [5.9, 43.2],
    [5.9, 43.1],
  ],
] as const;
const withAltitude = [square[0].map((position) => [...position, 12])];
const around = [square[0].map(([lon, lat]) => [lon - 3.6, lat + 5.7])];
const phrase =
  'expressions[0][0][word]=vue%20mer&expressions[0][0][options][includes]=true&expressions[0][0][options][strict]=true';
const circle = { lat: '43.12', lon: '5.93', radius: '2' };

const ROWS: readonly Row[] = [
  { member: 'title', sent: 'T3 à Toulon, vue mer 🌊' },
  { member: 'transactionType', sent: '0', unlike: { transactionType: 1 } },
  { member: 'transactionType', sent: 0, answered: '0', unlike: { transactionType: 1 } },
  { member: 'propertyTypes', sent: 0, unlike: { propertyType: 1 } },
  { member: 'propertyTypes', sent: [0, 1], unlike: { propertyType: 5 } },
  { member: 'publisherTypes', sent: 1, unlike: withAdvert({ publisherType: 0 }) },
  { member: 'publisherTypes', sent: [1], unlike: withAdvert({ publisherType: null }) },
  { member: 'budgetMin', sent: 250_000, unlike: { price: 249_999 } },
  { member: 'budgetMax', sent: 250_000, unlike: { price: 250_001 } },
  { member: 'budgetMax', sent: 250_000, unlike: { price: null } },
  { member: 'budgetMax', sent: 0 },
  { member: 'budgetMin', sent: 0 },
  { member: 'advertPriceMin', sent: 250_000, unlike: withAdvert({ price: 249_999 }) },
  { member: 'advertPriceMax', sent: 250_000, unlike: withAdvert({ price: 250_001 }) },
  { member: 'pricePerMeterMin', sent: 3_846, unlike: { pricePerMeter: 3_845.99 } },
  { member: 'pricePerMeterMax', sent: 3_847, unlike: { pricePerMeter: 3_847.01 } },
  { member: 'surfaceMin', sent: 65, unlike: { surface: 64.9 } },
  { member: 'surfaceMax', sent: 65, unlike: { surface: 65.1 } },
  { member: 'landSurfaceMin', sent: 100, unlike: { landSurface: 99 } },
  { member: 'landSurfaceMax', sent: 100, unlike: { landSurface: 101 } },
  { member: 'roomMin', sent: 3, unlike: { room: 2 } },
  { member: 'roomMax', sent: 3, unlike: { room: 4 } },
  { member: 'bedroomMin', sent: 2, unlike: { bedroom: 1 } },
  { member: 'bedroomMax', sent: 2, unlike: { bedroom: 3 } },
  { member: 'furnished', sent: true, unlike: { furnished: false } },
  { member: 'floorMin', sent: 0, unlike: { floor: -1 } },
  { member: 'floorMax', sent: 0, unlike: { floor: 1 } },
  { member: 'floorMin', sent: -1, unlike: { floor: -2 } },
  { member: 'floorMin', sent: 0, unlike: { floor: null } },
  { member: 'marketDifferenceMin', sent: -20, unlike: { price: 207_999 } },
  { member: 'marketDifferenceMin', sent: -90, unlike: { price: 25_999 } },
  { member: 'marketDifferenceMax', sent: 500, unlike: { price: 1_560_001 } },
  { member: 'marketDifferenceMax', sent: 0, unlike: { price: 260_001 } },
  { member: 'marketDifferenceMax', sent: 12.5, unlike: { markets: NO_MARKETS } },
  {
    member: 'pointsOfInterest',
    sent: [{ facility: 'school', attributes: { operatorType: 'public' }, within: 0.42 }],
    unlike: { distances: { 'school//public': 421 } },
  },
  { member: 'lastFloor', sent: true, unlike: { isOnLastFloor: null } },
  { member: 'lastFloor', sent: false },
  { member: 'alternatives', sent: [{ floorMin: 30 }, { floorMin: -1 }], unlike: { floor: -2 } },
  { member: 'elevator', sent: true, unlike: { elevator: false } },
  { member: 'constructionYearMin', sent: 1975, unlike: withAdvert({ constructionYear: 1974 }) },
  { member: 'constructionYearMax', sent: 1975, unlike: withAdvert({ constructionYear: 1976 }) },
  { member: 'condominiumFeesMax', sent: 1200, unlike: withAdvert({ condominiumFees: 1201 }) },
  { member: 'rentalChargesMax', sent: 100, unlike: withAdvert({ rentalCharges: null }) },
  { member: 'energyCategories', sent: 'C', unlike: withAdvert({ energy: 'D' }) },
  { member: 'energyCategories', sent: ['A', 'C'], unlike: withAdvert({ energy: null }) },
  { member: 'greenHouseGasCategories', sent: ['A'], unlike: withAdvert({ greenHouseGas: 'B' }) },
  { member: 'includedFeatures', sent: ['pool'], unlike: withAdvert({ features: featureSetOf(['alarm']) }) },
  { member: 'excludedFeatures', sent: ['garage'], unlike: withAdvert({ features: featureSetOf(['garage']) }) },
  { member: 'orMissing', sent: ['budget'], beside: { budgetMax: 250_000 }, unlike: { price: 250_001 } },
  { member: 'withCoherentPrice', sent: true, unlike: { isPriceCoherent: false } },
  { member: 'withCoherentPrice', sent: false },
  { member: 'withCoherentPrice', sent: null },
  { member: 'withVirtualTour', sent: true, unlike: withAdvert({ hasVirtualTour: false }) },
  { member: 'hidePropertyContact', sent: true },
  { member: 'lat', sent: '43.12', beside: circle, unlike: elsewhere },
  { member: 'lat', sent: 43.12, answered: '43.12', beside: circle, unlike: elsewhere },
  { member: 'lon', sent: '5.93', beside: circle, unlike: elsewhere },
  { member: 'radius', sent: 2, answered: '2', beside: circle, unlike: { lat: 43.14 } },
  { member: 'includedCities', sent: ['/cities/83137'], answered: [toulon], unlike: elsewhere },
  { member: 'includedCities', sent: [toulon], unlike: elsewhere },
  { member: 'excludedCities', sent: [{ '@id': '/cities/75056' }], answered: [paris()], unlike: elsewhere },
  { member: 'excludedDepartments', sent: ['/departments/75'], answered: [paris75], unlike: elsewhere },
  { member: 'excludedZipcodes', sent: ['75001'], unlike: elsewhere },
  { member: 'excludedInseeCodes', sent: ['75056'], unlike: elsewhere },
  { member: 'excludedGeoShapes', sent: [around], unlike: elsewhere },
  { member: 'includedDepartments', sent: ['/departments/83'], answered: [var83], unlike: elsewhere },
  { member: 'includedZipcodes', sent: ['83000'], unlike: elsewhere },
  { member: 'includedInseeCodes', sent: ['83137'], unlike: elsewhere },
  {
    member: 'includedSiteCategories',
    sent: [agence.iri],
    answered: [agence.embedded],
    unlike: withAdvert({ siteCategory: 'Notaire' }),
  },
  {
    member: 'excludedSiteCategories',
    sent: [notaire.embedded],
    unlike: withAdvert({ siteCategory: 'Notaire' }),
  },
  { member: 'includedPublishers', sent: ['Foncia', 'SARL Étude'], unlike: withAdvert({ publisherName: 'Nexity' }) },
  { member: 'excludedPublishers', sent: ['Nexity'], unlike: withAdvert({ agency: 'NEXITY SA' }) },
  { member: 'geoShapes', sent: [square], unlike: elsewhere },
  { member: 'geoShapes', sent: { type: 'Polygon', coordinates: square }, answered: [square], unlike: elsewhere },
  { member: 'geoShapes', sent: { type: 'MultiPolygon', coordinates: [square] }, answered: [square], unlike: elsewhere },
  { member: 'geoShapes', sent: square, answered: [square], unlike: elsewhere },
  { member: 'geoShapes', sent: [withAltitude], answered: [square], unlike: elsewhere },
  { member: 'geoShapes', sent: '', answered: [] },
  { member: 'geoShapes', sent: square[0], answered: [square], unlike: elsewhere },
  { member: 'expressions', sent: phrase, unlike: withAdvert({ texts: ['vue sur mer'] }) },
  {
    member: 'expressions',
    sent: [[{ word: 'vue mer', options: { includes: true, strict: true } }]],
    answered: phrase,
    unlike: withAdvert({ texts: [] }),
  },
  {
    member: 'expressions',
    sent: [{ word: 'vue mer', strict: true }],
    answered: phrase,
    unlike: withAdvert({ texts: [] }),
  },
  { member: 'notificationEnabled', sent: true },
  { member: 'notificationRecipient', sent: 'alertes@example.com' },
  { member: 'notificationConsent', sent: { source: 'form', at: '2026-03-10T08:15:00+01:00' } },
  { member: 'notificationReplyTo', sent: 'agence@example.com' },
  { member: 'publicTitle', sent: 'Trois pièces à Toulon' },
  { member: 'notificationFrequency', sent: 'weekly' },
  { member: 'notificationFrequency', sent: 'daily' },
  { member: 'notificationFrequency', sent: null, answered: 'instant' },
  { member: 'endpointRecipient', sent: 'https://hooks.example.com/matches?a=b' },
  { member: 'eventEndpoint', sent: 'https://hooks.example.com/events' },
  { member: 'subscribedEvents', sent: ['ad.update.price', 'ad.update.expired', 'property.ad.create'] },
  { member: 'eventThresholds', sent: { price: { percent: 5, amount: 1_000, direction: 'down', since: 'told' } } },
  { member: 'eventThresholds', sent: { surface: { direction: 'up' } } },
  { member: 'eventThresholds', sent: null },
  { member: 'context', sent: { user: 42, tags: ['a', null], nested: { '': { é: '\u{1f3e0}' } } } },
  { member: 'context', sent: [1, 2, [3]] },
  { member: 'context', sent: 'a\0b\ud800' },
  { member: 'context', sent: 0 },
  { member: 'context', sent: false },
  { member: 'context', sent: JSON.parse('{"__proto__": {"x": 1}, "constructor": null}') },
  // Exactly 2 KiB of JSON, including the quotation marks.
  { member: 'context', sent: 'é'.repeat(1_023) },
];

function paris(): object {
  const identity = { '@context': '/contexts/City', '@id': '/cities/75056', '@type': 'City' };
  return { ...identity, article: '', insee: '75056', libelle: 'Paris', name: 'Paris', zipcode: '75001' };
}

async function storedMembers(id: string): Promise<SearchMembers> {
  const number = await searchNumberOfId(api.database, id);
  let members: SearchMembers | null = null;
  await changedSince(api.database, null, (change) => {
    if (change.number === number) members = change.members;
    return undefined;
  });
  assert.ok(members);
  return members;
}

describe('every member of a search', () => {
  for (const { member, sent, beside = {}, unlike, ...row } of ROWS) {
    const answered = 'answered' in row ? row.answered : sent;
    it(`${member} as ${JSON.stringify(sent)?.slice(0, 60)} is stored, answered${unlike ? ' and matched' : ''}`, async () => {
      const created = await api.call('POST', '/searches', { title: 'Conformité', ...beside, [member]: sent });
      assert.equal(created.status, 201, created.text);
      assert.deepEqual(created.body[member], answered);
      const iri = created.body['@id'];
      assert.equal(created.headers.get('Location'), iri);
      const read = await api.call('GET', iri);
      assert.deepEqual(read.body, created.body);
      const members = await storedMembers(iri.split('/').at(-1));
      const criteria = criteriaOf(members, (id) => categories.get(id) ?? null);
      assert.equal(satisfies(criteria, FLAT), true, 'the flat matches');
      if (unlike) assert.equal(satisfies(criteria, { ...FLAT, ...unlike }), false, 'the other does not');
      else assert.equal(satisfies(criteria, { ...FLAT, price: null }), true, 'there is no criterion');
      const echoed = await api.call('PUT', iri, read.body);
      assert.equal(echoed.status, 200, echoed.text);
      assert.deepEqual({ ...echoed.body, updatedAt: null }, { ...read.body, updatedAt: null });
    });
  }

  it('has a row in the table', () => {
    const covered = new Set<string>(ROWS.map(({ member }) => member));
    assertNone(['title', ...Object.keys(SEARCH_DEFAULTS)].filter((member) => !covered.has(member)));
  });

  it('has the default of the decisions', async () => {
    const sentAt = Date.now();
    const { body } = await api.call('POST', '/searches', { title: 'Défauts' });
    const answeredAt = Date.now();
    for (const [member, value] of Object.entries(SEARCH_DEFAULTS)) assert.deepEqual(body[member], value, member);
    assert.match(body.token, /^whsec_[A-Za-z0-9+/]{43}=$/);
    assert.equal(body.user, `/users/${api.clientId}`);
    assert.equal((await api.call('GET', body.user)).body.name, 'test');
    for (const member of ['createdAt', 'updatedAt']) {
      const at = Date.parse(body[member]);
      // The answer is in whole milliseconds, and both clocks are this machine's.
      assert.ok(at >= sentAt - 1_000 && at <= answeredAt, body[member]);
    }
    assert.equal(body.lastAlertAt, null);
  });
});

interface Parameter {
  readonly name: string;
  readonly required?: boolean;
  readonly example?: string | number;
  readonly schema: Readonly<Partial<Record<'minimum' | 'maximum' | 'maxLength', number>>> & {
    readonly type: string;
    readonly enum?: readonly string[];
    readonly items?: { readonly enum?: readonly string[] };
  };
}

/** Queries with a value of the parameter that its schema does not allow, or with one value too many. */
function faultsOf({ name, schema }: Parameter): readonly string[] {
  const { type, minimum, maximum, maxLength, items } = schema;
  const values = [
    ...(schema.enum || items?.enum || type === 'boolean' ? ['nonsense'] : []),
    ...(type === 'integer' ? ['1.5'] : []),
    ...(minimum === undefined ? [] : [minimum - 1, 'x', '', '++1', '0x1']),
    ...(maximum === undefined ? [] : [maximum + 1, '9'.repeat(40)]),
    ...(maxLength === undefined ? [] : ['x'.repeat(maxLength + 1)]),
  ];
  return [...values.map((value) => `${name}=${encodeURIComponent(value)}`), ...(items ? [] : [`${name}=1&${name}=2`])];
}

describe('the query parameters', async () => {
  const { paths } = (await api.call('GET', '/openapi.json')).body;
  const { body: search } = await api.call('POST', '/searches', { title: 'Paramètres' });
  for (const [path, method] of Object.keys(paths).flatMap((path) =>
    Object.keys(paths[path]).map((one) => [path, one]),
  )) {
    const parameters: (Parameter & { readonly in: string })[] = paths[path as string][method as string].parameters;
    const queries = parameters.filter((each) => each.in === 'query');
    if (queries.length === 0) continue;
    it(`of ${method} ${path} are refused beyond their schemas or if they are missing, and the answer names all`, async () => {
      const address = String(path).replace('/searches/{id}', search['@id']);
      const known = queries.map(({ name }) => name).filter((name) => !/^(?:page|itemsPerPage)$/.test(name));
      const needed = queries.filter(({ required }) => required);
      const others = (left: string) =>
        needed.filter(({ name }) => name !== left).map(({ name, example }) => `${name}=${example}`);
      const asked = [
        ...['nonsense=1', '__proto__=1'].map((fault) => [...others(''), fault]),
        ...needed.map(({ name }) => others(name)),
        ...queries.flatMap((each) => faultsOf(each).map((fault) => [...others(each.name), fault])),
      ];
      for (const query of asked.map((each) => each.join('&'))) {
        const body = method === 'post' ? {} : undefined;
        const answer = await api.call(String(method).toUpperCase(), `${address}?${query}`, body);
        assert.equal(answer.status, 400, `${query.slice(0, 200)}: ${answer.text.slice(0, 300)}`);
        assert.equal(answer.body['hydra:search']['hydra:template'], `${address}{?${known.join()}}`);
      }
    });
  }
});
