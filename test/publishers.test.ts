/** Publishers that searches include or exclude, compared with an oracle that shares no code with the matcher. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom, type Random } from '../bench/adverts/seeded-random.ts';
import { type Criteria, satisfies } from '../src/engine/domain/criteria.ts';
import { ANYTHING } from '../src/engine/domain/criterion-table.ts';
import { featureSetOf } from '../src/engine/domain/features.ts';
import { searchNumberOf } from '../src/engine/domain/ids.ts';
import {
  type AdvertFacts,
  NOTHING_KNOWN,
  NOTHING_KNOWN_OF_ADVERT,
  type PropertyFacts,
} from '../src/engine/domain/property-facts.ts';
import { publisherKey } from '../src/engine/domain/publisher-criteria.ts';
import { criterionSetOf } from '../src/engine/domain/unknown-criteria.ts';
import { SearchIndex } from '../src/engine/matching/search-index.ts';
import { runsOf } from './support/random-runs.ts';

const SAME = [
  [
    'Étude Martin',
    'ETUDE  MARTIN',
    'étude-martin',
    'SARL Etude Martin',
    'Étude Martin, S.A.R.L.',
    'eurl étude martin sas',
  ],
  ['Foncia', 'FONCIA SA', 'S.A. Foncia', 'Foncia (SAS)', 'E.U.R.L. Foncia', 'Foncia S.A.S.'],
  ['L’Œil & Cie', "l'oeil cie"],
  ['SARL', 'sarl'],
  ['SA SAS', 'sas'],
  ['Agence 2000'],
  ['Agence 2000 Sud'],
  ['Sarlat Immobilier'],
  ['Foncia SA Toulon'],
];

test('names are compared whole, without case, accents, punctuation and a legal form at either end', () => {
  const keys = SAME.map((names) => new Set(names.map(publisherKey)));
  for (const [i, each] of keys.entries()) assert.equal(each.size, 1, `${SAME[i]?.[0]}: ${[...each].join(', ')}`);
  assert.equal(new Set(keys.flatMap((each) => [...each])).size, SAME.length);
  assert.deepEqual(['…', '', ' - '].map(publisherKey), ['', '', '']);
});

/** Spellings by publisher; the last one is no name. */
const PUBLISHERS = [...SAME, ['—', '?!']];
const CATEGORIES = ['portail', 'agence', 'notaire'];
const [POOL] = [featureSetOf(['pool'])];

interface ModelAdvert {
  readonly category: string | null;
  /** Numbers of publishers. */
  readonly publishers: readonly number[];
  readonly price: number | null;
  readonly hasPool: boolean;
  readonly text: string;
}

interface ModelSearch {
  readonly included: readonly number[];
  readonly excluded: readonly number[];
  readonly excludedCategory: string | null;
  readonly priceMax: number | null;
  readonly pool: boolean | null;
  readonly word: string | null;
  readonly accepts: readonly ('includedPublishers' | 'advertPrice')[];
}

const NO_NAME = PUBLISHERS.length - 1;

function expected(search: ModelSearch, adverts: readonly ModelAdvert[]): boolean {
  const left = adverts.filter(
    ({ category, publishers }) =>
      !(category !== null && category === search.excludedCategory) &&
      publishers.every((publisher) => publisher === NO_NAME || !search.excluded.includes(publisher)),
  );
  if (left.length === 0) return false;
  const named = left.flatMap(({ publishers }) => publishers).filter((publisher) => publisher !== NO_NAME);
  if (search.included.length > 0 && !named.some((publisher) => search.included.includes(publisher))) {
    if (named.length > 0 || !search.accepts.includes('includedPublishers')) return false;
  }
  const prices = left.flatMap(({ price }) => price ?? []);
  const { priceMax } = search;
  if (priceMax !== null && !prices.some((price) => price <= priceMax)) {
    if (prices.length > 0 || !search.accepts.includes('advertPrice')) return false;
  }
  if (search.pool !== null && left.some(({ hasPool }) => hasPool) !== search.pool) return false;
  return search.word === null || left.some(({ text }) => text.includes(search.word as string));
}

function spelling(random: Random, publisher: number): string {
  return random.pick(PUBLISHERS[publisher] as string[]);
}

function randomAdvert(random: Random): ModelAdvert {
  const publishers = [0.8, 0.3].filter((share) => random.chance(share)).map(() => random.integer(0, NO_NAME));
  return {
    category: random.chance(0.2) ? null : random.pick(CATEGORIES),
    publishers,
    price: random.chance(0.3) ? null : random.integer(1, 4),
    hasPool: random.chance(0.4),
    text: random.pick(['balcon', 'jardin', 'cave']),
  };
}

function factsOf(random: Random, adverts: readonly ModelAdvert[]): PropertyFacts {
  return {
    ...NOTHING_KNOWN,
    adverts: adverts.map(({ category, publishers, price, hasPool, text }): AdvertFacts => {
      const [one, other = null] = publishers.map((publisher) => spelling(random, publisher));
      const isFirst = random.chance(0.5);
      return {
        ...NOTHING_KNOWN_OF_ADVERT,
        siteCategory: category,
        publisherName: (isFirst ? one : other) ?? null,
        agency: (isFirst ? other : one) ?? null,
        price,
        features: hasPool ? POOL : 0,
        texts: [text],
      };
    }),
  };
}

function randomSearch(random: Random): ModelSearch {
  const some = (share: number) =>
    random.chance(share) ? Array.from({ length: random.integer(1, 4) }, () => random.integer(0, NO_NAME - 1)) : [];
  return {
    included: some(0.6),
    excluded: some(0.5),
    excludedCategory: random.chance(0.2) ? random.pick(CATEGORIES) : null,
    priceMax: random.chance(0.3) ? random.integer(1, 4) : null,
    pool: random.chance(0.3) ? random.chance(0.5) : null,
    word: random.chance(0.3) ? random.pick(['balcon', 'jardin']) : null,
    accepts: (['includedPublishers', 'advertPrice'] as const).filter(() => random.chance(0.4)),
  };
}

function criteriaOf(random: Random, search: ModelSearch): Criteria {
  const names = (publishers: readonly number[]) => publishers.map((publisher) => spelling(random, publisher));
  return {
    ...ANYTHING,
    includedPublishers: names(search.included),
    excludedPublishers: names(search.excluded),
    excludedSiteCategories: search.excludedCategory === null ? [] : [search.excludedCategory],
    advertPrice: { min: null, max: search.priceMax },
    includedFeatures: search.pool === true ? POOL : 0,
    excludedFeatures: search.pool === false ? POOL : 0,
    expressions: search.word === null ? [] : [[{ word: search.word, includes: true, strict: true }]],
    orMissing: criterionSetOf(search.accepts),
  };
}

test('the definition and the index agree with an oracle, alone and with other criteria, while searches change', () => {
  const random = createRandom(75);
  const index = new SearchIndex();
  const searches = new Map<number, ModelSearch & { readonly criteria: Criteria }>();
  let [pairs, found] = [0, 0];
  while (pairs < runsOf(200_000)) {
    for (let i = 0; i < 100; i++) {
      const number = random.integer(1, 1_500);
      if (random.chance(0.3)) {
        assert.equal(index.delete(searchNumberOf(number)), searches.delete(number));
        continue;
      }
      const search = randomSearch(random);
      const criteria = criteriaOf(random, search);
      index.upsert(searchNumberOf(number), criteria);
      searches.set(number, { ...search, criteria });
    }
    const adverts = Array.from({ length: random.integer(1, 4) }, () => randomAdvert(random));
    const facts = factsOf(random, adverts);
    const matches = [...searches].filter(([, search]) => expected(search, adverts)).map(([number]) => number);
    assert.deepEqual(
      index.match(facts).sort((a, b) => a - b),
      matches.sort((a, b) => a - b),
    );
    const all = new Set(matches);
    for (const [number, { criteria }] of searches) assert.equal(satisfies(criteria, facts), all.has(number));
    pairs += searches.size;
    found += matches.length;
  }
  assert.ok(found > pairs / 10 && found < pairs / 2, `${found} of ${pairs} pairs match`);
  for (const number of searches.keys()) index.delete(searchNumberOf(number));
  assert.equal(index.stats().conditions, 0);
});

test('the publishers of a property are read once, however many searches list them', () => {
  const index = new SearchIndex();
  const names = (from: number) => Array.from({ length: 50 }, (_, i) => `Agence ${(from + i) % 2_000}`);
  for (let i = 0; i < 2_000; i++) {
    const lists = { includedPublishers: names(i), excludedPublishers: names(i + 50) };
    index.upsert(searchNumberOf(i + 1), { ...ANYTHING, ...lists });
  }
  let reads = 0;
  const advert = Object.defineProperty({ ...NOTHING_KNOWN_OF_ADVERT }, 'publisherName', {
    get() {
      reads += 1;
      return 'SARL Agence 1000';
    },
  });
  const found = index.match({ ...NOTHING_KNOWN, adverts: [advert] }).sort((a, b) => a - b);
  assert.deepEqual(
    found,
    Array.from({ length: 50 }, (_, i) => 952 + i),
  );
  assert.equal(reads, 1);
});
