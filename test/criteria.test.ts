/** Rules of decisions, section 3, at their boundaries: the definition and the index agree. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Criteria, criterionReason, type Evaluation, evaluate, satisfies } from '../src/engine/domain/criteria.ts';
import { ANYTHING, CRITERION_NAMES, type CriterionName, plainCriteria } from '../src/engine/domain/criterion-table.ts';
import { featureSetOf } from '../src/engine/domain/features.ts';
import { distanceKm } from '../src/engine/domain/geo.ts';
import { searchNumberOf } from '../src/engine/domain/ids.ts';
import { type MarketPrice, marketPercent } from '../src/engine/domain/market-prices.ts';
import {
  type AdvertFacts,
  NOTHING_KNOWN,
  NOTHING_KNOWN_OF_ADVERT,
  type PropertyFacts,
  sameFacts,
} from '../src/engine/domain/property-facts.ts';
import { criteriaOf, SEARCH_DEFAULTS, type SearchMembers } from '../src/engine/domain/search.ts';
import { criterionSetOf } from '../src/engine/domain/unknown-criteria.ts';
import type { EvaluatedChange } from '../src/engine/intake/evaluated-change.ts';
import { endOf } from '../src/engine/intake/match-ends.ts';
import { SearchIndex } from '../src/engine/matching/search-index.ts';
import { criteria, facts } from './support/criteria-arbitrary.ts';

const EVERYWHERE: Criteria['areas'] = { circle: null, inseeCodes: [], departmentCodes: [], zipcodes: [], polygons: [] };

const ADVERT: AdvertFacts = {
  ...NOTHING_KNOWN_OF_ADVERT,
  siteCategory: 'portail',
  publisherName: 'Étude Martin',
  publisherType: 1,
  price: 255_000,
  hasVirtualTour: false,
  texts: ['Appartement avec balcon'],
};

/** A flat in the first arrondissement of Paris. */
const FLAT: PropertyFacts = {
  ...NOTHING_KNOWN,
  transactionType: 0,
  propertyType: 0,
  price: 250_000,
  pricePerMeter: 5000,
  surface: 50,
  landSurface: null,
  room: 2,
  bedroom: 1,
  furnished: null,
  lat: 48.8606,
  lon: 2.3376,
  inseeCodes: ['75101', '75056'],
  departmentCode: '75',
  zipcodes: ['75001'],
  texts: ['Au cœur de Paris'],
  adverts: [ADVERT],
  isPriceCoherent: true,
};

const index = new SearchIndex();

/** True if `FLAT` with `property` satisfies a search with `criteria` by definition. Asserts that the index agrees. */
function matches(criteria: Partial<Criteria>, property: Partial<PropertyFacts> = {}): boolean {
  const search = { ...ANYTHING, ...criteria };
  const facts = { ...FLAT, ...property };
  const holds = satisfies(search, facts);
  index.upsert(searchNumberOf(1), search);
  assert.deepEqual(index.match(facts), holds ? [1] : []);
  return holds;
}

function inAreas(areas: Partial<Criteria['areas']>, property: Partial<PropertyFacts> = {}): boolean {
  return matches({ areas: { ...EVERYWHERE, ...areas } }, property);
}

test('a search without criteria matches every property with a live advert', () => {
  assert.ok(matches({}));
  assert.ok(!matches({}, { adverts: [] }));
});

test('a feature is present if an advert names it, absent if an advert denies it or names only others, and otherwise unknown', () => {
  const [balcony, garden] = [featureSetOf(['balcony']), featureSetOf(['garden'])];
  const stated = (...adverts: readonly (readonly [named: number, denied: number])[]) => ({
    adverts: adverts.map(([features, deniedFeatures]) => ({ ...ADVERT, features, deniedFeatures })),
  });
  const included = { includedFeatures: balcony };
  const excluded = { excludedFeatures: balcony };
  const [present, absent] = [stated([balcony, 0]), stated([garden, 0])];
  assert.ok(matches(included, present) && matches(included, stated([0, balcony], [balcony, 0])));
  assert.ok(
    !matches(included, absent) && !matches(included, stated([0, balcony])) && !matches(included, stated([0, 0])),
  );
  assert.ok(!matches({ includedFeatures: balcony | garden }, present));
  assert.ok(matches({ includedFeatures: balcony | garden }, stated([balcony, 0], [garden, 0])));
  assert.ok(matches(excluded, absent) && matches(excluded, stated([0, 0])) && matches(excluded, stated([0, balcony])));
  assert.ok(!matches(excluded, present) && !matches(excluded, stated([balcony, 0], [0, balcony])));
});

test('a place on the circle is inside, and a place one micrometre farther is not', () => {
  for (const [lat, lon] of [
    [48.9, 2.4],
    [48.8606, 2.5],
    [48.7, 2.3376],
  ] as const) {
    const radiusKm = distanceKm(lat, lon, 48.8606, 2.3376);
    assert.ok(inAreas({ circle: { lat, lon, radiusKm } }));
    assert.ok(!inAreas({ circle: { lat, lon, radiusKm: radiusKm - 1e-9 } }));
  }
});

test('circles extend across the date line and are right overseas; Corsica is found by department, city and zip code', () => {
  assert.ok(inAreas({ circle: { lat: -13.3, lon: -179.9, radiusKm: 50 } }, { lat: -13.3, lon: 179.8 }));
  assert.ok(inAreas({ circle: { lat: -13.3, lon: 179.9, radiusKm: 50 } }, { lat: -13.3, lon: -179.8 }));
  assert.ok(!inAreas({ circle: { lat: -13.3, lon: 179.9, radiusKm: 10 } }, { lat: -13.3, lon: -179.8 }));
  assert.ok(inAreas({ circle: { lat: -20.88, lon: 55.45, radiusKm: 5 } }, { lat: -20.9, lon: 55.47 }));
  const ajaccio = { lat: 41.92, lon: 8.74, inseeCodes: ['2A004'], departmentCode: '2A', zipcodes: ['20000'] };
  assert.ok(inAreas({ departmentCodes: ['2A'] }, ajaccio) && !inAreas({ departmentCodes: ['2B', '20'] }, ajaccio));
  assert.ok(inAreas({ inseeCodes: ['2A004'] }, ajaccio) && inAreas({ zipcodes: ['20000'] }, ajaccio));
});

test('one area is sufficient; without coordinates only named places count', () => {
  const far = { lat: 43.3, lon: 5.4, radiusKm: 10 };
  assert.ok(inAreas({ circle: far, inseeCodes: ['75056'] }));
  assert.ok(inAreas({ circle: far, departmentCodes: ['13', '75'] }));
  assert.ok(!inAreas({ circle: far }));
  assert.ok(!inAreas({ circle: { ...far, radiusKm: 500 } }, { lat: null, lon: null }));
  assert.ok(inAreas({ circle: far, zipcodes: ['75001'] }, { lat: null, lon: null }));
});

test('a city includes its arrondissements and matches once, and an arrondissement does not include the others', () => {
  assert.ok(inAreas({ inseeCodes: ['75056', '75101'], zipcodes: ['75001'] }));
  assert.ok(!inAreas({ inseeCodes: ['75102'] }));
});

test('an excluded area excludes a property inside the circle, but none with an unknown location', () => {
  const areas = { ...EVERYWHERE, circle: { lat: 48.86, lon: 2.34, radiusKm: 10 } };
  const square = (lon: number, lat: number) =>
    [
      [
        [lon - 0.01, lat - 0.01],
        [lon + 0.01, lat - 0.01],
        [lon + 0.01, lat + 0.01],
        [lon - 0.01, lat - 0.01],
      ],
    ] as const;
  const nowhere = { lat: null, lon: null, inseeCodes: [], departmentCode: null, zipcodes: [] };
  const elsewhere = { inseeCodes: ['93066'], departmentCodes: ['93'], zipcodes: ['93200'], polygons: [square(3, 48)] };
  assert.ok(matches({ areas, excludedAreas: { ...EVERYWHERE, ...elsewhere } }));
  for (const excluded of [
    ...[{ inseeCodes: ['75056'] }, { inseeCodes: ['75101'] }, { departmentCodes: ['93', '75'] }],
    ...[{ zipcodes: ['75001'] }, { polygons: [square(3, 48), square(FLAT.lon as number, FLAT.lat as number)] }],
  ]) {
    const excludedAreas = { ...EVERYWHERE, ...elsewhere, ...excluded };
    assert.ok(!matches({ areas, excludedAreas }), JSON.stringify(excluded));
    assert.ok(matches({ excludedAreas }, nowhere));
    assert.ok(!matches({ excludedAreas, orMissing: criterionSetOf(CRITERION_NAMES) }));
  }
});

test('adverts of excluded site categories are ignored in every respect', () => {
  const agency: AdvertFacts = {
    ...ADVERT,
    siteCategory: 'agence',
    publisherName: 'Foncia',
    publisherType: 0,
    price: 9,
    hasVirtualTour: true,
    energy: 'A',
    greenHouseGas: 'B',
    constructionYear: 1950,
    condominiumFees: 0,
    features: featureSetOf(['balcony']),
    texts: ['loft'],
  };
  const property = { adverts: [ADVERT, agency] };
  const without = { excludedSiteCategories: ['agence'] };
  for (const criteria of [
    { publisherTypes: [0] },
    { withVirtualTour: true },
    { advertPrice: { min: null, max: 10 } },
    { includedSiteCategories: ['agence'] },
    { energy: ['A', 'C'] },
    { greenHouseGas: ['B'] },
    { constructionYear: { min: 1950, max: 1975 } },
    { condominiumFees: { min: null, max: 1 } },
    { includedFeatures: featureSetOf(['balcony']) },
    { expressions: [[{ word: 'loft', includes: true, strict: false }]] },
  ]) {
    assert.ok(matches(criteria, property), JSON.stringify(criteria));
    assert.ok(!matches({ ...criteria, ...without }, property), JSON.stringify(criteria));
  }
  assert.ok(!matches({ excludedSiteCategories: ['agence', 'portail'] }, property));
  assert.ok(matches(without, { adverts: [{ ...ADVERT, siteCategory: null }] }));
  const excluding = { excludedFeatures: featureSetOf(['balcony']) };
  assert.ok(!matches(excluding, property) && matches({ ...excluding, ...without }, property));
  assert.ok(matches({ ...without, expressions: [[{ word: 'loft', includes: false, strict: true }]] }, property));
});

test('every criterion alone decides some of the compared cases, both ways', () => {
  const decided = { holding: new Set<string>(), failing: new Set<string>() };
  const cases = fc.sample(fc.tuple(criteria, facts), { numRuns: 20_000, seed: 12 });
  for (const [search, property] of cases) {
    const verdicts = evaluate(search, property);
    const failing = verdicts.filter(({ holds }) => !holds);
    if (failing.length === 1) decided.failing.add((failing[0] as { criterion: string }).criterion);
    if (failing.length === 0) for (const { criterion } of verdicts) decided.holding.add(criterion);
  }
  const all = [...CRITERION_NAMES].sort();
  assert.deepEqual([...decided.holding].sort(), all);
  assert.deepEqual([...decided.failing].sort(), all);
});

/** Markets of flats for sale with these codes and medians. */
function marketsOf(...rows: readonly Partial<MarketPrice>[]): PropertyFacts['markets'] {
  const market = {
    code: '',
    name: 'Paris',

    transactionType: 0,
    propertyType: 0,
    count: 83,
    changedAt: new Date(0),
  };
  return new Map(
    rows.map((row) => {
      const one = { ...market, median: null, ...row };
      return [`${one.code}/${one.transactionType}/${one.propertyType}`, one];
    }),
  );
}

/** The rule again, written from the decisions: the difference of a price from its market, null if unknown. */
function percentByDefinition(facts: PropertyFacts): number | null {
  const size = facts.propertyType === 5 ? facts.landSurface : facts.surface;
  if (facts.price === null || !size || facts.transactionType === null || facts.propertyType === null) return null;
  const places = [facts.inseeCodes[0], facts.departmentCode];
  const medians = places.flatMap((code) =>
    [...facts.markets.values()]
      .filter((row) => row.code === code && row.transactionType === facts.transactionType)
      .filter((row) => row.propertyType === facts.propertyType && row.median !== null)
      .map((row) => row.median as number),
  );
  const [median] = medians;
  return median === undefined ? null : ((facts.price / size - median) / median) * 100;
}

test('the index and the definition agree on the market difference, alone and with orMissing', () => {
  const bound = fc.constantFrom(null, null, -90, -80, -50, -20, -0.5, 0, 20, 100, 500);
  const stated = facts.map(({ transactionType, propertyType, price, surface, departmentCode, ...others }) => ({
    ...others,
    transactionType: transactionType ?? 0,
    propertyType: propertyType ?? 0,
    price: price ?? 200_000,
    surface: surface || 60,
    departmentCode: departmentCode ?? '75',
  }));
  const property = fc.oneof(facts, { weight: 4, arbitrary: stated });
  const pairs = fc.record({ min: bound, max: bound, acceptsUnknown: fc.boolean(), property });
  const counts = { held: 0, failed: 0, unknown: 0 };
  for (const { min, max, acceptsUnknown, property } of fc.sample(pairs, { numRuns: 20_000, seed: 75 })) {
    if (property.adverts.length === 0) continue;
    const members = { marketDifferenceMin: min, marketDifferenceMax: max };
    const search = {
      ...criteriaFrom(members),
      orMissing: acceptsUnknown ? criterionSetOf(['marketDifference']) : 0,
    };
    const percent = percentByDefinition(property);
    const isSet = min !== null || max !== null;
    const isKnownFit = percent !== null && (min === null || percent >= min) && (max === null || percent <= max);
    const expected = !isSet || (percent === null ? acceptsUnknown : isKnownFit);
    index.upsert(searchNumberOf(1), search);
    assert.deepEqual(index.match(property), expected ? [1] : [], JSON.stringify({ min, max, percent }));
    assert.equal(satisfies(search, property), expected);
    if (isSet) counts[percent === null ? 'unknown' : expected ? 'held' : 'failed'] += 1;
  }
  assert.ok(Math.min(...Object.values(counts)) > 1_000, JSON.stringify(counts));
});

test('an unknown value satisfies the criteria that orMissing names, and a known wrong value satisfies none', () => {
  const [balcony, pool] = [featureSetOf(['balcony']), featureSetOf(['pool'])];
  const within = { min: 2, max: 3 };
  const asked: { readonly [Name in CriterionName]?: Partial<Criteria> } = {
    ...Object.fromEntries(plainCriteria('range').map(({ name }) => [name, { [name]: within }])),
    transactionType: { transactionType: 1 },
    propertyTypes: { propertyTypes: [1, 2] },
    publisherTypes: { publisherTypes: [0] },
    furnished: { furnished: true },
    elevator: { elevator: false },
    lastFloor: { lastFloor: true },
    energy: { energy: ['A'] },
    greenHouseGas: { greenHouseGas: ['A', 'B'] },
    includedSiteCategories: { includedSiteCategories: ['notaires'] },
    includedPublishers: { includedPublishers: ['Foncia'] },
    pointsOfInterest: { pointsOfInterest: [{ facility: 'school', within: 1 }] },
    includedFeatures: { includedFeatures: balcony },
    areas: { areas: { ...EVERYWHERE, inseeCodes: ['83137'], circle: { lat: 43, lon: 6, radiusKm: 1 } } },
    expressions: { expressions: [[{ word: 'piscine', includes: true, strict: false }]] },
  };
  const stated = { constructionYear: 1, condominiumFees: 4, rentalCharges: 4, energy: 'G', greenHouseGas: 'C' };
  const known = {
    ...{ ...FLAT, price: 1, pricePerMeter: 1, surface: 1, landSurface: 1, room: 1, bedroom: 1, floor: 1 },
    ...{ furnished: false, elevator: true, isOnLastFloor: false },
    markets: marketsOf({ code: '75101', median: 2 }),
    distances: { 'school//': 1_001 },
    adverts: [{ ...ADVERT, ...stated, price: 1, features: pool }, { ...NOTHING_KNOWN_OF_ADVERT }],
  };
  const unknown = {
    ...NOTHING_KNOWN,
    adverts: [NOTHING_KNOWN_OF_ADVERT, { ...NOTHING_KNOWN_OF_ADVERT, texts: [' '] }],
  };
  const without = [
    'alternatives',
    'liveAdvert',
    'withVirtualTour',
    'withCoherentPrice',
    'excludedFeatures',
    'excludedAreas',
  ];
  assert.deepEqual([...Object.keys(asked), ...without].sort(), [...CRITERION_NAMES].sort());
  const names = Object.keys(asked) as CriterionName[];
  for (const name of names) {
    const others = criterionSetOf(names.filter((one) => one !== name));
    const accepting = { ...asked[name], orMissing: criterionSetOf([name]) };
    assert.ok(matches(accepting, unknown), `${name} is unknown`);
    assert.ok(!matches(accepting, known), `${name} is known`);
    assert.ok(!matches({ ...asked[name], orMissing: others }, unknown), `${name} is not named`);
    assert.ok(!matches(accepting, { ...unknown, adverts: [] }));
    const [evaluation] = evaluate({ ...ANYTHING, ...accepting }, unknown).slice(-1) as [Evaluation];
    assert.deepEqual([evaluation.criterion, evaluation.holds], [name, true]);
    assert.match(criterionReason(evaluation, 'en'), /unknown, which the search accepts/);
    assert.match(criterionReason(evaluation, 'fr'), /inconnue, ce que la recherche accepte/);
  }
  const all = Object.assign({ orMissing: criterionSetOf(CRITERION_NAMES) }, ...Object.values(asked));
  assert.ok(matches(all, unknown) && !matches({ ...all, withVirtualTour: true }, unknown));
  const noBalcony = { ...unknown, adverts: [{ ...NOTHING_KNOWN_OF_ADVERT, deniedFeatures: balcony }] };
  assert.ok(!matches({ includedFeatures: balcony, orMissing: criterionSetOf(['includedFeatures']) }, noBalcony));
  const both = { includedFeatures: balcony | pool, orMissing: criterionSetOf(['includedFeatures']) };
  assert.ok(!matches(both, { adverts: [{ ...ADVERT, features: pool }] }), 'other features are named');
  // The facts of adverts in an excluded site category are ignored.
  const rated = { ...unknown, adverts: [{ ...ADVERT, energy: 'G' }, NOTHING_KNOWN_OF_ADVERT] };
  const energy = { energy: ['A'], orMissing: criterionSetOf(['energy']) };
  assert.ok(!matches(energy, rated) && matches({ ...energy, excludedSiteCategories: ['portail'] }, rated));
  for (const place of [
    { lat: 48, lon: 2 },
    { departmentCode: '75' },
    { zipcodes: ['75001'] },
    { inseeCodes: ['75056'] },
  ])
    assert.ok(!matches({ ...asked.areas, orMissing: criterionSetOf(['areas']) }, { ...unknown, ...place }));
});

test('included cities and INSEE codes are one list, each code once', () => {
  const search = criteriaFrom({ includedCities: ['75056', '2A004'], includedInseeCodes: ['97411', '75056'] });
  assert.deepEqual(search.areas.inseeCodes, ['75056', '2A004', '97411']);
  assert.deepEqual(criteriaFrom({ includedInseeCodes: ['75056'] }).areas.inseeCodes, ['75056']);
  assert.ok(matches(search));
});

test('facts differ when any of their values does', () => {
  fc.assert(
    fc.property(facts, facts, (a, b) => {
      assert.equal(sameFacts(a, b), isSame(compared(a), compared(b)));
      assert.ok(sameFacts(a, structuredClone(a)));
      for (const key of Object.keys(a) as (keyof PropertyFacts)[]) {
        const mixed = { ...a, [key]: b[key] };
        assert.equal(sameFacts(a, mixed), isSame(compared(a), compared(mixed)), key);
      }
    }),
  );
});

/** Criteria of a search with these members and without the price filter; only site category 1 has a name. */
function criteriaFrom(members: Partial<SearchMembers>): Criteria {
  const all = { ...SEARCH_DEFAULTS, title: '', withCoherentPrice: null, ...members };
  return criteriaOf(all, (id) => (id === 1 ? 'portail' : null));
}

/** The facts as criteria compare them: of the markets, only the difference counts. */
function compared(facts: PropertyFacts) {
  return { ...facts, markets: marketPercent(facts) };
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** Name and both values of the end of a match, when `FLAT` with `was` changes to `FLAT` with `is`. */
function endBetween(asked: Partial<Criteria>, was: Partial<PropertyFacts>, is: Partial<PropertyFacts>) {
  const events = [{ kind: 'property.ad.update', advertUuid: '', createdAt: '', field: null }];
  const facts = { before: { ...FLAT, ...was }, after: { ...FLAT, ...is } };
  const change = { events, facts } as unknown as EvaluatedChange;
  const { fieldName, fieldOldValue, fieldNewValue } = endOf(change, { ...ANYTHING, ...asked })?.field ?? {};
  return [fieldName, fieldOldValue, fieldNewValue].map((value) => (value === undefined ? assert.fail() : value));
}

test('an end names its criterion, without values of areas, publishers, points of interest, words and alternatives', () => {
  const elsewhere = { ...EVERYWHERE, zipcodes: ['69001'] };
  const otherAdvert = (advert: Partial<AdvertFacts>) => ({ texts: [], adverts: [{ ...ADVERT, ...advert }] });
  for (const [asked, is, was] of [
    [{ areas: { ...EVERYWHERE, zipcodes: ['75001'] } }, { zipcodes: ['69001'] }],
    [{ excludedAreas: elsewhere }, { zipcodes: ['69001'] }],
    [{ includedPublishers: ['Étude Martin'] }, otherAdvert({ publisherName: 'Foncia' })],
    [
      { pointsOfInterest: [{ facility: 'school', within: 1 }] },
      { distances: { 'school//': 1_001 } },
      { distances: { 'school//': 999 } },
    ],
    [{ expressions: [[{ word: 'balcon', includes: true, strict: false }]] }, otherAdvert({ texts: ['Vue'] })],
    [{ alternatives: [{ ...ANYTHING, room: { min: 2, max: null } }] }, { room: 1 }],
  ] as readonly (readonly [Partial<Criteria>, Partial<PropertyFacts>, Partial<PropertyFacts>?])[]) {
    assert.deepEqual(endBetween(asked, was ?? {}, is), [Object.keys(asked)[0], null, null]);
  }
  const without = { excludedPublishers: ['Foncia'] };
  assert.deepEqual(endBetween(without, {}, otherAdvert({ publisherName: 'Foncia' })), ['liveAdvert', '1', '0']);
});

test('an end states complete values, and only the features that the search names; a value that is too long is null', () => {
  const end = (asked: Partial<Criteria>, was: Partial<AdvertFacts>, is: Partial<AdvertFacts>, count = 1) => {
    const of = (advert: object) => ({ adverts: Array.from({ length: count }, () => ({ ...ADVERT, ...advert })) });
    return endBetween(asked, of(was), of(is));
  };
  const [pool, others] = [featureSetOf(['pool', 'garage', 'cellar']), featureSetOf(['alarm', 'quiet', 'cellar'])];
  assert.deepEqual(
    end({ includedFeatures: featureSetOf(['pool', 'quiet']) }, { features: pool | others }, { features: others }),
    ['includedFeatures', '{"present":["pool","quiet"],"absent":[]}', '{"present":["quiet"],"absent":["pool"]}'],
  );
  assert.deepEqual(end({ excludedFeatures: featureSetOf(['pool']) }, { features: others }, { features: pool }), [
    'excludedFeatures',
    '{"present":[],"absent":["pool"]}',
    '{"present":["pool"],"absent":[]}',
  ]);
  const professional = { publisherTypes: [1] };
  const publishers = (count: number) => end(professional, { publisherType: 1 }, { publisherType: 0 }, count);
  assert.deepEqual(publishers(99), ['publisherTypes', ...[1, 0].map((type) => JSON.stringify(Array(99).fill(type)))]);
  assert.deepEqual(publishers(100), ['publisherTypes', null, null]);
});
