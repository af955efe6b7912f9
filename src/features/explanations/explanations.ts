/**
 * Queries about stored properties: what a search would find or finds, and why a property is a match or is not.
 * Read-only; the engine does not depend on it.
 */

import { z } from 'zod';
import { keptFor } from '../../engine/actor/waiting.ts';
import { evaluate, removableCriteria, satisfier } from '../../engine/domain/criteria.ts';
import { CRITERION_NAMES, type RemovableCriterion } from '../../engine/domain/criterion-table.ts';
import { propertyDocument, propertyFacts, readingOf } from '../../engine/domain/property-document.ts';
import type { PropertyFacts } from '../../engine/domain/property-facts.ts';
import { factsOf, readSummary } from '../../engine/domain/property-summary.ts';
import { criteriaOf, SEARCH_DEFAULTS, type SiteCategoryName } from '../../engine/domain/search.ts';
import { weightOf } from '../../engine/domain/search-limits.ts';
import type { Queryable } from '../../engine/store/database.ts';
import { followMedians } from '../../engine/store/market-medians.ts';
import type { EstimateMatches } from '../../engine/store/searches.ts';
import { siteCategoryNames } from '../../engine/store/site-categories.ts';
import type { Feature } from '../../feature.ts';
import { dateTime, identity, link, list, text } from '../../rest/description/field-schemas.ts';
import { PropertyDocument } from '../../rest/description/property-schemas.ts';
import { type Contract, route, type Samples } from '../../rest/route.ts';
import { SearchChange } from '../../rest/search-schema.ts';
import { sampleChange } from '../../rest/webhook-tester.ts';
import { createWorkSlices, textsOf } from './examination.ts';
import {
  EXPLANATION_LIST_PARAMETERS,
  EXPLANATION_PARAMETERS,
  explanationDocument,
  explanationRoutes,
} from './explanation-routes.ts';
import { explainMatch, explainProperty } from './explanation-rpcs.ts';
import { PAIR_REASON_CODES } from './pair-history.ts';
import { readSample, readTexts } from './property-scans.ts';
import {
  FOUND_PROPERTY_PARAMETERS,
  foundPropertyDocument,
  foundPropertyRoutes,
  PREVIEW_PARAMETERS,
  previewDocument,
  previewRoutes,
} from './query-routes.ts';

/** The values that the criterion compares. */
const value = (description: string) => z.unknown().meta({ description });

const criterion = z.enum(CRITERION_NAMES).meta({ description: 'The criterion; all geography is `areas`.' });

const ExplainedCriterion = z.strictObject({
  criterion,
  expected: value('What was asked for; of a long list the first fifty.'),
  actual: value('What the property has; null when that is unknown.'),
  holds: z.boolean().meta({ description: 'True: the property has what was asked for.' }),
  reason: text('Why, in the language of Accept-Language (fr, en), for people.'),
});

/** A string, so that a code added later breaks no generated client. */
const MatchReason = z.strictObject({
  code: text(`Stays the same whatever the sentence says: ${PAIR_REASON_CODES.join(', ')}.`),
  at: dateTime('When it came about; null where that is not known, and for what is so now.').nullable(),
  reason: text('The same as a sentence, in the language of Accept-Language.'),
});

const Explanation = z.strictObject({
  ...identity('Explanation'),
  search: link('Search', 'The search.'),
  property: link('PropertyDocument', 'The property.'),
  satisfied: z.boolean().meta({ description: 'True: every criterion holds now.' }),
  criteria: list(ExplainedCriterion, 'Every criterion that is set, and that an advert is live.'),
  match: link('Match', 'The match; null when nothing was notified.').nullable(),
  matchReason: text('What was notified and why, and what holds now, in the language of Accept-Language.'),
  matchReasons: list(MatchReason, 'The same, one by one, each with a code that stays.'),
  deliveries: list(link('Delivery', 'A delivery.'), 'What was sent of the property, newest first, at most 1000.'),
});

const PreviewedDay = z.strictObject({
  date: z.iso.date().meta({ description: 'Day in Paris.' }),
  count: z.int().meta({ description: 'Of those that satisfy it now, how many began to on that day.' }),
});

const PreviewedProperty = z.strictObject({
  property: link('PropertyDocument', 'The property.'),
  satisfiedSince: dateTime('Its creation, or the last price or surface that made it satisfy the search.'),
});

const margin = z.int().meta({
  description: 'How far satisfiedNow may be from the truth, either way, with a confidence of 95 %; 0: it is exact.',
});

const WiderSearch = z.strictObject({
  criterion: z.enum(CRITERION_NAMES).meta({
    description: 'What is left out of the search; `liveAdvert` are the excluded site categories.',
  }),
  satisfiedNow: z.int().meta({ description: 'Properties that satisfy the rest.' }),
  margin,
  estimated: z.boolean().meta({ description: 'True: worked out from a sample.' }),
});

const Preview = z.strictObject({
  ...identity('Preview'),
  satisfiedNow: z.int().meta({ description: 'Properties that satisfy the search now.' }),
  margin,
  estimated: z.boolean().meta({ description: 'True: the figures are worked out from a sample.' }),
  startedPerDay: list(PreviewedDay, 'Oldest first, today last.'),
  perDay: z.number().meta({ description: 'The mean of startedPerDay, over those days that the service has known.' }),
  knownSince: z.iso.date().nullable().meta({
    description: 'The first day that the service has known, in Paris; null: it has known all of startedPerDay.',
  }),
  sample: list(PreviewedProperty, 'Newest first.'),
  places: list(
    z.tuple([z.number(), z.number()]),
    'Longitude and latitude of properties that were counted, as many as asked for; of one without a place, its commune’s.',
  ),
  withoutCriterion: list(WiderSearch, 'What the search would find without each of its criteria.'),
});

const FoundProperty = z.strictObject({
  ...PropertyDocument.shape,
  ...identity('FoundProperty'),
  match: link('Match', 'The match; null while nothing of the property was notified for the search.').nullable(),
  satisfiedSince: dateTime('Its creation, or the last price or surface that made it satisfy the search.'),
});

const EXPLANATION_CONTRACT: Contract = {
  routes: [
    route('post /searches/preview', 'Preview', 'item', 'Tries a search out without saving it', {
      body: 'SearchPreview',
      parameters: PREVIEW_PARAMETERS,
      status: 200,
      details:
        'What a search would find, without saving it: how many properties satisfy it now, how many began to on each of the ' +
        'last days, the newest of them, and how many there would be without each criterion. Exact while 20,000 properties ' +
        'come into question at most; else the figures come from a sample, and `estimated` says so. Two questions of a ' +
        'client are answered at once.',
    }),
    route('get /searches/{id}/explanation', 'Explanation', 'item', 'Explains a search and a property', {
      parameters: EXPLANATION_PARAMETERS,
      takesSome: true,
      details:
        'Why a property is a match of the search, or is not: criterion by criterion what was asked for and what there is, ' +
        'when the match began and by what, and what was sent. Send one of `property`, `advert` and `url`. The words ' +
        'are for people, in French or English as `Accept-Language` prefers.',
    }),
    route('get /explanations', 'Explanation', 'collection', 'Lists the searches that a property satisfies', {
      parameters: EXPLANATION_LIST_PARAMETERS,
      takesSome: true,
      details:
        'Your searches that a property satisfies now, by title, each explained. Send one of `property`, `advert` and `url`.',
    }),
    route('get /searches/{id}/properties', 'FoundProperty', 'collection', 'Lists what satisfies a search now', {
      parameters: FOUND_PROPERTY_PARAMETERS,
      details:
        'The live properties that satisfy the search now, notified or not, the last changed first, each with its match if ' +
        'there is one. Exact while 20,000 properties come into question at most; else those of the 10,000 live properties that ' +
        'changed last: `estimated` says so, and `margin` how many more there may be. As `text/csv` the page has a line a property, and `Link` leads to the next.',
    }),
  ],
  resources: { Explanation, Preview, FoundProperty },
  groups: {
    Explanation: 'Why a property is a match of a search, or is not.',
    Preview: 'What a search would find, before it is saved.',
    FoundProperty: 'Properties that satisfy a search now, notified or not.',
  },
  parts: { ExplainedCriterion, PreviewedDay, PreviewedProperty, WiderSearch },
  estimated: ['FoundProperty'],
  withMargin: ['FoundProperty'],
  bodies: {
    SearchPreview: {
      schema: z.strictObject(SearchChange.shape),
      example: { transactionType: '0', propertyTypes: [0, 1], includedCities: ['/cities/83137'], budgetMax: 300_000 },
    },
  },
  examples,
};

/** For the sample property, whose price is slightly above the search's maximum. */
function examples({ at, ids, property, reference }: Samples): Readonly<Record<string, object>> {
  const { resolvePlace } = reference;
  const { state, crawls } = sampleChange('property.ad.create', at).held;
  const facts = propertyFacts(readingOf(state, crawls, resolvePlace), () => null);
  const budgetMax = Math.round((facts.price ?? 1) / 1.1);
  const members = { ...SEARCH_DEFAULTS, title: '', transactionType: 0, budgetMax };
  const evaluations = evaluate(
    criteriaOf(members, () => null),
    facts,
  );
  const satisfiedSince = at.toISOString();
  const now = { at: null };
  return {
    Explanation: explanationDocument(
      {
        searchId: ids.search,
        propertyUuid: property,
        matchId: ids.match,
        deliveryIds: [ids.delivery],
        evaluations,
        reasons: [
          { code: 'began-with-advert', at },
          { code: 'left', ...now },
          { code: 'unsatisfied', ...now },
        ],
      },
      'en',
    ),
    Preview: previewDocument(
      {
        satisfiedNow: 412,
        margin: 0,
        estimated: false,
        startedPerDay: [{ date: '2026-03-10', count: 3 }],
        perDay: 3,
        knownSince: '2026-03-10',
        places: [{ lat: 43.1256, lon: 5.9304, insee: null }],
        sample: [{ uuid: property, satisfiedSince }],
        withoutCriterion: [{ criterion: 'budget', satisfiedNow: 655, margin: 0, estimated: false }],
      },
      reference,
    ),
    FoundProperty: foundPropertyDocument(propertyDocument(state, crawls, resolvePlace, { withContacts: true }), {
      uuid: property,
      satisfiedSince,
      matchId: ids.match,
    }),
  };
}

export const explanations: Feature = {
  name: 'explanations',
  contract: EXPLANATION_CONTRACT,
  routes(router, dependencies, limiter) {
    previewRoutes(router, dependencies, limiter);
    explanationRoutes(router, dependencies, limiter);
    foundPropertyRoutes(router, dependencies, limiter);
  },
  rpcs: (usual) => ({ explainMatch: usual(explainMatch), explainProperty: usual(explainProperty) }),
  estimate: createMatchEstimator,
};

/** The estimate of a search without criteria, even when no property is stored. */
const SAMPLE_MAX = 1_000;
/** Properties whose texts are read: folding one costs more than evaluating all the rest. */
const TEXTS_MAX = 100;
/** Every search has it by default: not a criterion by itself. */
const DEFAULT_CRITERION: RemovableCriterion = 'withCoherentPrice';
const KEPT_MS = 60_000;
/** Corners, and words, evaluated for one search: with very many, fewer properties represent the others. */
const CORNERS_COMPARED_MAX = 4_000_000;
const WORDS_COMPARED_MAX = 2_000;
/** Evaluations between two reads of the clock. */
const EVALUATED_AT_ONCE = 8;

interface Sample {
  /** The first ones with their texts as well. */
  readonly properties: readonly { readonly facts: PropertyFacts; readonly withTexts: PropertyFacts | null }[];
  readonly siteCategoryName: SiteCategoryName;
}

/**
 * Estimates how many of 1,000 adverts a search that is saved will match: it is evaluated against the first thousand
 * properties of the sample. A leader's sample of adverts corrects a client's totals (store/search-totals.ts). Resolves
 * when the sample is in memory, read within the last minute.
 */
export function createMatchEstimator(
  database: Queryable,
  nowMs: () => number = () => performance.now(),
): () => Promise<EstimateMatches> {
  const currentSample = keptFor(KEPT_MS, () => readSampled(database), nowMs);
  return async () => {
    const sample = await currentSample();
    return (members) => estimate(sample, members);
  };
}

async function readSampled(database: Queryable): Promise<Sample> {
  const rows = await readSample(database, SAMPLE_MAX);
  const { median } = await followMedians(database).renew();
  const first = rows.slice(0, TEXTS_MAX).map(({ uuid }) => uuid);
  const texts = await readTexts(database, first);
  const slices = createWorkSlices();
  const properties: Sample['properties'][number][] = [];
  for (const [at, { uuid, facts }] of rows.entries()) {
    const summary = readSummary(facts);
    const withTexts = at < TEXTS_MAX ? factsOf(summary, median, textsOf(summary, texts.get(uuid) ?? [])) : null;
    properties.push({ facts: factsOf(summary, median), withTexts });
    await slices.yieldIfDue();
  }
  return { properties, siteCategoryName: await siteCategoryNames(database) };
}

async function estimate(
  { properties, siteCategoryName }: Sample,
  ...[members]: Parameters<EstimateMatches>
): Promise<number> {
  const criteria = criteriaOf(members, siteCategoryName);
  if (removableCriteria(criteria).every((name) => name === DEFAULT_CRITERION)) return SAMPLE_MAX;
  const [satisfies, satisfiesAll] = [satisfier({ ...criteria, expressions: [] }), satisfier(criteria)];
  const slices = createWorkSlices();
  const evaluatedMax = Math.ceil(CORNERS_COMPARED_MAX / (weightOf(members).polygonCorners + 1));
  const words = criteria.expressions.flat().length;
  const readMax = words === 0 ? 0 : Math.ceil(WORDS_COMPARED_MAX / (words + 1));
  let [evaluated, satisfied, read, worded] = [0, 0, 0, 0];
  for (const { facts, withTexts } of properties.slice(0, evaluatedMax)) {
    evaluated += 1;
    if (satisfies(facts)) {
      satisfied += 1;
      if (withTexts !== null && read < readMax) {
        read += 1;
        worded += Number(satisfiesAll(withTexts));
      }
    }
    if (evaluated % EVALUATED_AT_ONCE === 0) await slices.yieldIfDue();
  }
  const share = read === 0 ? 1 : worded / read;
  return evaluated === 0 ? 0 : Math.round((satisfied * share * properties.length) / evaluated);
}
