/** Explanations agree with `satisfies`: evaluations, summaries and words, on the cases that also test the index. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isInAreas } from '../src/engine/domain/areas.ts';
import {
  criterionReason,
  evaluate,
  failuresOf,
  removableCriteria,
  satisfies,
  withoutCriterion,
} from '../src/engine/domain/criteria.ts';
import { CRITERION_NAMES } from '../src/engine/domain/criterion-table.ts';
import { EXPRESSIONS, foundWords, readText } from '../src/engine/domain/expression-criterion.ts';
import { formatExpressions } from '../src/engine/domain/expressions.ts';
import { NO_MEDIANS } from '../src/engine/domain/market-prices.ts';
import { propertyFacts, readingOf } from '../src/engine/domain/property-document.ts';
import {
  factsOf,
  lookupKey,
  lookupKeys,
  pageOf,
  readSummary,
  summaryOf,
  summaryText,
} from '../src/engine/domain/property-summary.ts';
import { criteriaOf, SEARCH_DEFAULTS } from '../src/engine/domain/search.ts';
import { boxesOf } from '../src/features/explanations/area-boxes.ts';
import { expireAt, heldAfter, resolveToulon, upsertAt } from './support/adverts.ts';
import { criteria, facts } from './support/criteria-arbitrary.ts';
import { runsOf } from './support/random-runs.ts';

const CASES = fc.sample(fc.tuple(criteria, facts), { numRuns: runsOf(40_000), seed: 21 });

test('an explanation agrees with `satisfies`, for searches and properties of every kind', () => {
  const seen = new Set<string>();
  for (const [search, property] of CASES) {
    const evaluations = evaluate(search, property);
    assert.equal(
      evaluations.every(({ holds }) => holds),
      satisfies(search, property),
    );
    assert.equal(evaluations[0]?.criterion, 'liveAdvert');
    const failing = evaluations.filter(({ holds }) => !holds).map(({ criterion }) => criterion);
    assert.deepEqual(failuresOf(search, property, Number.POSITIVE_INFINITY), failing);
    assert.deepEqual(failuresOf(search, property, 2), failing.slice(0, 2));
    for (const { criterion } of evaluations) seen.add(criterion);
  }
  assert.deepEqual([...seen].sort(), [...CRITERION_NAMES].sort());
});

test('without one of its criteria a search is satisfied exactly if no other criterion fails', () => {
  for (const [search, property] of CASES) {
    for (const name of removableCriteria(search)) {
      const wider = withoutCriterion(search, name);
      assert.equal(
        evaluate(wider, property).filter(({ criterion }) => criterion === name).length,
        Number(name === 'liveAdvert'),
      );
      if (name === 'liveAdvert') continue;
      const others = failuresOf(search, property, Number.POSITIVE_INFINITY).filter((failing) => failing !== name);
      assert.equal(satisfies(wider, property), others.length === 0, name);
    }
  }
});

test('every evaluation has a complete sentence in both languages', () => {
  for (const [search, property] of CASES.slice(0, 5_000)) {
    for (const evaluation of evaluate(search, property)) {
      const [french, english] = [criterionReason(evaluation, 'fr'), criterionReason(evaluation, 'en')];
      for (const sentence of [french, english]) assert.match(sentence, /^\p{Lu}.*\.$/su);
      assert.doesNotMatch(french + english, /undefined|null|NaN|Infinity/);
    }
  }
});

test('the boxes of an area contain every place in it', () => {
  for (const [{ areas }, property] of CASES) {
    const { lat, lon } = property;
    if (lat === null || lon === null) continue;
    const drawn = { ...areas, inseeCodes: [], departmentCodes: [], zipcodes: [] };
    if (!isInAreas(drawn, property)) continue;
    const isCovered = boxesOf(areas).some(
      ({ west, south, east, north }) => lon >= west && lon <= east && lat >= south && lat <= north,
    );
    assert.ok(isCovered, JSON.stringify({ areas, lat, lon }));
  }
});

test('a fact that an older summary lacks is unknown', () => {
  const stored = heldAfter(
    upsertAt(0, {
      advert: { price: 200_000, publisher: { category: null, name: null, type: 1 } },
      property: { room: 2 },
    }),
  );
  const summary = summaryOf(readingOf(stored.state, stored.crawls, resolveToulon), stored.crawls);
  const [facts, [advert], ...rest] = JSON.parse(summaryText(summary));
  assert.deepEqual([facts[10], advert[3]], [2, 1]);
  const older = readSummary(JSON.stringify([facts.slice(0, 10), [advert.slice(0, 3)], ...rest]));
  const found = factsOf(older, NO_MEDIANS);
  assert.deepEqual([found.room, found.adverts[0]?.publisherType, found.price], [null, null, 200_000]);
});

test('an advert is found by its URL of any length, ignoring fragment, trailing slash and the case of the host', () => {
  const url = `https://Portal.example/${'a'.repeat(100_000)}`;
  const { state } = heldAfter(upsertAt(0, { advert: { url: `${url}#photos` } }));
  const keys = lookupKeys(state, { lat: null, inseeCodes: ['83137'], departmentCode: '83', zipcodes: [] });
  for (const typed of [`${url}#plan`, `${url}/`, url.replace('https://Portal', 'HTTPS://portal')]) {
    assert.ok(keys.includes(lookupKey('url', pageOf(typed))));
  }
  assert.equal(pageOf('https://portal.example/A/?page=B/#c'), 'https://portal.example/A?page=B/');
  assert.equal(pageOf('https://portal.example/'), pageOf('https://portal.example'));
  assert.ok(keys.includes(lookupKey('insee', '83137')));
  assert.ok(!keys.includes(lookupKey('zipcode', '83137')));
  for (const key of keys) assert.equal(BigInt.asIntN(64, BigInt(key)), BigInt(key));
});

/** The French sentence for a requested criterion, about an advert that says `Vue mer, travaux à prévoir`. */
function frenchReason(asked: object, furnished: boolean | null): string {
  const search = criteriaOf({ ...SEARCH_DEFAULTS, title: '', withCoherentPrice: null, ...asked }, () => null);
  const advert = { title: 'Vue mer', description: 'Travaux à prévoir', furnished };
  const stored = heldAfter(upsertAt(0, { advert }));
  const property = propertyFacts(readingOf(stored.state, stored.crawls, resolveToulon), NO_MEDIANS);
  const evaluation = evaluate(search, property).find(({ criterion }) => criterion !== 'liveAdvert');
  assert.ok(evaluation);
  return criterionReason(evaluation, 'fr').replaceAll('\u00a0', ' ');
}

test('an unknown value is reported as unknown, not as a wrong type or a coherent price', () => {
  assert.equal(frenchReason({ transactionType: '1' }, null), "Le type de transaction n'est pas connu.");
  assert.equal(frenchReason({ propertyTypes: [0, 1] }, null), "Le type de bien n'est pas connu.");
  assert.equal(frenchReason({ publisherTypes: 1 }, null), "Le type d'annonceur n'est pas connu.");
  assert.equal(frenchReason({ withCoherentPrice: true }, null), "Rien n'indique que le prix s'écarte du marché.");
});

test('a value that no live advert states is reported as unknown, not as another class', () => {
  const search = criteriaOf(
    { ...SEARCH_DEFAULTS, title: '', energyCategories: ['A'], publisherTypes: 1, withVirtualTour: true },
    () => null,
  );
  const stored = heldAfter(upsertAt(0, { advert: { energy: { category: 'B', value: null } } }), expireAt(1));
  const property = propertyFacts(readingOf(stored.state, stored.crawls, resolveToulon), NO_MEDIANS);
  const reasons = new Map(evaluate(search, property).map((one) => [one.criterion, criterionReason(one, 'en')]));
  assert.equal(reasons.get('energy'), 'The energy class is unknown.');
  assert.equal(reasons.get('publisherTypes'), 'The type of publisher is unknown.');
});

test('a criterion that is never unknown is not accepted as unknown', () => {
  const members = { ...SEARCH_DEFAULTS, title: '', withVirtualTour: true, orMissing: ['withVirtualTour'] };
  const search = criteriaOf(members, () => null);
  for (const messages of [[upsertAt(0)], [upsertAt(0), expireAt(1)]]) {
    const stored = heldAfter(...messages);
    const property = propertyFacts(readingOf(stored.state, stored.crawls, resolveToulon), NO_MEDIANS);
    const evaluation = evaluate(search, property).find(({ criterion }) => criterion === 'withVirtualTour');
    assert.ok(evaluation);
    assert.deepEqual([evaluation.holds, criterionReason(evaluation, 'en')], [false, 'There is no virtual tour.']);
  }
});

test('a reason states whether the property is furnished, and whether that was requested', () => {
  const sentences = ([true, false, null] as const).map((is) => frenchReason({ furnished: true }, is));
  assert.deepEqual(sentences, [
    'Le bien est meublé, comme demandé.',
    'Le bien est non meublé.',
    'On ne sait pas si le bien est meublé.',
  ]);
  assert.equal(frenchReason({ furnished: false }, false), 'Le bien est non meublé, comme demandé.');
});

test('missing words and unwanted words are listed in a sentence', () => {
  const asking = (...entries: [word: string, includes: boolean][]) => ({
    expressions: formatExpressions([entries.map(([word, includes]) => ({ word, includes, strict: false }))]),
  });
  const reasons = [asking(['terrasse', true]), asking(['terrasse', true], ['balcon', true], ['mer', true])];
  assert.deepEqual(
    reasons.map((asked) => frenchReason(asked, null)),
    [
      "Le texte de l'annonce ne contient pas « terrasse ».",
      "Le texte de l'annonce ne contient ni « terrasse », ni « balcon ».",
    ],
  );
  assert.equal(
    frenchReason(asking(['travaux', false], ['mer', false], ['jardin', false]), null),
    "Le texte de l'annonce contient « travaux » et « mer », que la recherche exclut.",
  );
});

test('an evaluation on words quotes the sentence that contains them', () => {
  const texts = ['Studio', 'Au calme. Belles vues sur la mer ! Cuisine à rénover.'];
  const shown = EXPRESSIONS.shown({
    holds: true,
    expected: [
      [{ word: 'vue mer', includes: true, strict: false }],
      [{ word: 'rénové', includes: true, strict: false }],
    ],
    actual: texts,
  });
  assert.deepEqual(shown.actual, [
    [{ word: 'vue mer', found: true, sentence: 'Belles vues sur la mer !', words: ['vues', 'mer'] }],
    [{ word: 'rénové', found: false }],
  ]);
});

test('if the text negates a word, the reason quotes the sentence', () => {
  const texts = ['T2', 'Bel étage. Petit immeuble sans ascenseur, au calme. Aucun gros travaux !'];
  const evaluate = (word: string, includes: boolean) => {
    const expected = [[{ word, includes, strict: false }]];
    const evaluated = { expected, actual: texts, holds: !includes };
    const shown = EXPRESSIONS.shown(evaluated).actual[0]?.[0];
    return [shown, EXPRESSIONS.reason(evaluated, 'en'), EXPRESSIONS.reason(evaluated, 'fr')];
  };
  assert.deepEqual(evaluate('ascenseur', true), [
    {
      word: 'ascenseur',
      found: false,
      sentence: 'Petit immeuble sans ascenseur, au calme.',
      words: ['ascenseur'],
    },
    'The text of the advert does not contain “ascenseur”. It says the opposite: “Petit immeuble sans ascenseur, au calme.”.',
    "Le texte de l'annonce ne contient pas «\u00a0ascenseur\u00a0». Il dit le contraire : «\u00a0Petit immeuble sans ascenseur, au calme.\u00a0».",
  ]);
  assert.deepEqual(evaluate('travaux', false).slice(1, 2), [
    'The text of the advert satisfies the requested expressions: “Aucun gros travaux !”.',
  ]);
  assert.deepEqual(evaluate('cave', true)[0], { word: 'cave', found: false });
});

test('if words are found, the reason quotes their sentence and their spelling in it', () => {
  const texts = [
    'T2 au calme',
    "Travaux récents ! Maison sans aucun gros travaux, avec vue dégagée. Belle s.d.b. et vues\nsur l'eau",
  ];
  const found = (word: string, strict = false) => foundWords({ word, includes: true, strict }, texts.map(readText));
  assert.deepEqual(found('sans travaux'), {
    sentence: 'Maison sans aucun gros travaux, avec vue dégagée.',
    words: ['sans', 'travaux'],
  });
  assert.deepEqual(found('salle de bains')?.sentence, 'Belle s.d.b.');
  assert.deepEqual(found('T 2'), { sentence: 'T2 au calme', words: ['T2'] });
  assert.deepEqual(found('vue dégagée', true)?.words, ['vue', 'dégagée']);
  assert.equal(found('sans vue mer'), null);
  const long = foundWords({ word: 'balcon', includes: true, strict: false }, [
    readText(`${'mot '.repeat(500)}balcon ${'mot '.repeat(500)}`),
  ]);
  assert.ok(long !== null && long.sentence.length <= 240 && long.sentence.includes('balcon'));
});
