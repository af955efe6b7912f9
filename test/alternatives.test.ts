/** Alternatives of a search (decisions, section 16): an independent oracle, the index, reasons, and e-mails. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '../bench/adverts/seeded-random.ts';
import { criterionReason, type Evaluation, evaluate, satisfies } from '../src/engine/domain/criteria.ts';
import type { StoredAlternative } from '../src/engine/domain/criterion-kinds.ts';
import { searchNumberOf } from '../src/engine/domain/ids.ts';
import { NOTHING_KNOWN, NOTHING_KNOWN_OF_ADVERT, type PropertyFacts } from '../src/engine/domain/property-facts.ts';
import { criteriaOf, SEARCH_DEFAULTS, type SearchMembers } from '../src/engine/domain/search.ts';
import { SearchIndex } from '../src/engine/matching/search-index.ts';
import { namedSearch, searchWords } from '../src/features/mail/search-words.ts';
import { runsOf } from './support/random-runs.ts';

const CITIES = ['83137', '83061', '69123'] as const;

interface Asked {
  readonly budgetMax?: number;
  readonly roomMin?: number;
  readonly furnished?: boolean;
  readonly includedInseeCodes?: readonly string[];
  readonly expressions?: string;
  readonly excludedInseeCodes?: readonly string[];
  readonly orMissing?: readonly string[];
  readonly alternatives?: readonly Asked[];
}

/** True if `facts` satisfy `asked`, without the code under test. Members that `orMissing` names may be unknown. */
function holds(asked: Asked, facts: PropertyFacts): boolean {
  const { price, room, furnished, inseeCodes } = facts;
  const text = [...facts.texts, ...facts.adverts.flatMap(({ texts }) => texts)].join(' ');
  const accepts = (name: string, isKnown: boolean) => !isKnown && (asked.orMissing ?? []).includes(name);
  const verdicts = [
    asked.budgetMax === undefined || (price !== null && price <= asked.budgetMax) || accepts('budget', price !== null),
    asked.roomMin === undefined || (room !== null && room >= asked.roomMin) || accepts('room', room !== null),
    asked.furnished === undefined || furnished === asked.furnished || accepts('furnished', furnished !== null),
    asked.includedInseeCodes === undefined ||
      inseeCodes.some((code) => asked.includedInseeCodes?.includes(code)) ||
      accepts('areas', inseeCodes.length > 0),
    asked.excludedInseeCodes === undefined || !inseeCodes.some((code) => asked.excludedInseeCodes?.includes(code)),
    asked.expressions === undefined || /balcon/.test(text) || accepts('expressions', text !== ''),
  ];
  const { alternatives = [] } = asked;
  return verdicts.every(Boolean) && (alternatives.length === 0 || alternatives.some((one) => holds(one, facts)));
}

function membersFrom(asked: Asked): SearchMembers {
  const alternatives = (asked.alternatives ?? []) as unknown as readonly StoredAlternative[];
  return { ...SEARCH_DEFAULTS, title: 'x', withCoherentPrice: null, ...asked, alternatives };
}

const criteriaFrom = (asked: Asked) => criteriaOf(membersFrom(asked), () => null);

const random = createRandom(75);

function randomCriteria(): Asked {
  const some = <Value>(oneIn: number, value: Value): Value | undefined =>
    random.chance(1 / oneIn) ? value : undefined;
  const criteria = {
    budgetMax: some(2, random.pick([200_000, 200_001, 234_567])),
    roomMin: some(3, random.integer(1, 4)),
    furnished: some(4, random.chance(0.5)),
    includedInseeCodes: some(2, random.pick([[CITIES[0]], [CITIES[1], CITIES[2]], [...CITIES]])),
    expressions: some(4, 'expressions[0][0][word]=balcon'),
    orMissing: some(3, ['budget', 'room', 'furnished', 'areas', 'expressions']),
  };
  return Object.fromEntries(Object.entries(criteria).filter(([, value]) => value !== undefined));
}

function randomSearch(): Asked {
  const own = random.chance(0.5) ? {} : randomCriteria();
  const alternatives = Array.from({ length: random.integer(0, 4) }, () =>
    Object.fromEntries(
      Object.entries(randomCriteria()).filter(([name]) => name === 'orMissing' || !Object.hasOwn(own, name)),
    ),
  );
  return { ...own, ...(random.chance(0.2) ? { excludedInseeCodes: [random.pick(CITIES)] } : {}), alternatives };
}

function randomFacts(): PropertyFacts {
  return {
    ...NOTHING_KNOWN,
    price: random.pick([null, 199_999, 200_000, 200_001, 234_568]),
    room: random.pick([null, 1, 2, 3, 4]),
    furnished: random.pick([null, true, false]),
    inseeCodes: random.pick([[], ...CITIES.map((code) => [code])]),
    adverts: [{ ...NOTHING_KNOWN_OF_ADVERT, texts: random.pick([[], ['Un balcon'], ['Une cave']]) }],
  };
}

test('the definition, the index and an independent oracle agree while searches change', () => {
  const index = new SearchIndex();
  const searches = new Map<number, Asked>();
  let found = 0;
  for (let round = 0; round < runsOf(40); round++) {
    for (let i = 0; i < 60; i++) {
      const number = random.integer(1, 400);
      if (random.chance(0.2)) assert.equal(index.delete(searchNumberOf(number)), searches.delete(number));
      else {
        const search = randomSearch();
        index.upsert(searchNumberOf(number), criteriaFrom(search));
        searches.set(number, search);
      }
    }
    for (let i = 0; i < 25; i++) {
      const facts = randomFacts();
      const expected = [...searches].filter(([, search]) => holds(search, facts)).map(([number]) => number);
      assert.deepEqual(index.match(facts).toSorted(), expected.toSorted());
      for (const search of searches.values())
        assert.equal(satisfies(criteriaFrom(search), facts), holds(search, facts), JSON.stringify([search, facts]));
      found += expected.length;
    }
  }
  assert.ok(found > 5_000, `${found} pairs`);
  for (const number of searches.keys()) index.delete(searchNumberOf(number));
  const { blocks, expressions } = index.stats();
  assert.deepEqual({ blocks, expressions }, { blocks: 0, expressions: 0 });
});

const LYON_OR_TOULON: Asked = {
  furnished: false,
  alternatives: [
    { includedInseeCodes: ['69123'], roomMin: 2, budgetMax: 200_000 },
    { includedInseeCodes: ['83137'], roomMin: 3 },
  ],
};

test('an evaluation lists the criteria that fail in each alternative, and its reason names the first that holds', () => {
  const home = { ...NOTHING_KNOWN, furnished: false, room: 2, price: 250_000, adverts: [NOTHING_KNOWN_OF_ADVERT] };
  const last = (inseeCodes: readonly string[], room = 2) =>
    evaluate(criteriaFrom(LYON_OR_TOULON), { ...home, inseeCodes, room }).at(-1) as Evaluation;
  const failing = last(['83137']);
  assert.deepEqual(
    [failing.criterion, failing.holds, failing.expected, failing.actual],
    [
      'alternatives',
      false,
      [
        ['budget', 'room', 'areas'],
        ['room', 'areas'],
      ],
      [['budget', 'areas'], ['room']],
    ],
  );
  assert.equal(criterionReason(failing, 'en'), 'None of the 2 alternatives holds.');
  assert.equal(criterionReason(last(['83137'], 3), 'fr'), "L'alternative 2 convient.");
  const only = evaluate(criteriaFrom({ alternatives: [{ roomMin: 3 }] }), home).at(-1) as Evaluation;
  assert.equal(criterionReason(only, 'en'), 'The alternative does not hold.');
});

test('the alternatives of a search share its polygons in the index', () => {
  const corners = Array.from({ length: 1_000 }, (_, i) => [5 + Math.cos(i / 160), 43 + Math.sin(i / 160)]);
  const bytesWith = (count: number) => {
    const index = new SearchIndex();
    const alternatives = Array.from({ length: count }, (_, i) => ({ roomMin: i + 1 }));
    const polygons = { geoShapes: [[[...corners, corners[0]]]], excludedGeoShapes: [[[...corners, corners[0]]]] };
    index.upsert(searchNumberOf(1), criteriaFrom({ ...polygons, alternatives }));
    const { bytes } = index.stats();
    index.delete(searchNumberOf(1));
    index.upsert(searchNumberOf(2), criteriaFrom({ ...polygons, alternatives }));
    assert.equal(index.stats().bytes, bytes);
    return bytes;
  };
  assert.ok(bytesWith(10) < 1.5 * bytesWith(1));
});

test('recipients read the alternatives in words', () => {
  const names = {
    city: (insee: string) => ({ 69123: 'Lyon', 83137: 'Toulon' })[insee] ?? null,
    department: () => null,
  };
  const members = membersFrom(LYON_OR_TOULON);
  const plain = (text: string) => text.replaceAll(/[\u00a0\u202f]/g, ' ');
  const lines = searchWords(members, { ...names, siteCategory: () => null }, 'fr').map(plain);
  assert.match(lines.at(-2) ?? '', /^Alternative 1 : Lieu : Lyon ?; Prix : jusqu'à 200 000 € ?; .*2/);
  assert.match(lines.at(-1) ?? '', /^Alternative 2 : Lieu : Toulon/);
  const { name } = namedSearch(members, names, 'fr');
  assert.match(plain(name), /à Lyon, .*200 000 € ou à Toulon/);
  const wordless = [...(LYON_OR_TOULON.alternatives ?? []), { expressions: 'expressions[0][0][word]=balcon' }];
  const { name: wider } = namedSearch(membersFrom({ alternatives: wordless }), names, 'fr');
  assert.match(plain(wider), /^Alternative 1 : Lieu : Lyon ; /);
});
