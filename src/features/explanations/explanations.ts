/**
 * Queries about stored properties. They list those that a search finds, count those that it would find, and explain why
 * a property is or is not a match. Read-only; the engine does not depend on this feature.
 */

import { z } from 'zod';
import { keptFor } from '../../engine/actor/waiting.ts';
import { allExpressions, evaluate, removableCriteria, satisfies, without } from '../../engine/domain/criteria.ts';
import { CRITERION_NAMES, type RemovableCriterion } from '../../engine/domain/criterion-table.ts';
import { NO_MEDIANS } from '../../engine/domain/market-prices.ts';
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
import { dateTime, dateTimeOrNull, identity, link, list, text } from '../../rest/description/field-schemas.ts';
import { PropertyDocument, PropertyMark } from '../../rest/description/property-schemas.ts';
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
import { EXPLANATION_RPCS } from './explanation-rpcs.ts';
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

const value = (description: string) => z.unknown().meta({ description });

const criterion = z.enum(CRITERION_NAMES).meta({ description: 'The criterion; `areas` means all areas.' });

const ExplainedCriterion = z.strictObject({
  criterion,
  expected: value('The expected value; at most fifty items of a list.'),
  actual: value('The actual value; null if it is unknown.'),
  holds: z.boolean().meta({ description: 'True if the property satisfies the criterion.' }),
  reason: text('Reason as a sentence, in the language of Accept-Language (fr, en).'),
});

/** Typed as a string, so that new codes do not break generated clients. */
const MatchReason = z.strictObject({
  code: text(`A stable code, independent of the sentence: ${PAIR_REASON_CODES.join(', ')}.`),
  at: dateTime('When it happened; null if that is unknown, or for a current state.').nullable(),
  reason: text('The reason as a sentence, in the language of Accept-Language.'),
});

const Explanation = z.strictObject({
  ...identity('Explanation'),
  search: link('Search', 'The search.'),
  property: link('PropertyDocument', 'The property.'),
  satisfied: z.boolean().meta({ description: 'True if the property satisfies every criterion now.' }),
  criteria: list(ExplainedCriterion, 'Every criterion that is set, and the condition that an advert is live.'),
  match: link('Match', 'The match; null if there is no match.').nullable(),
  matchReason: text('The notifications, their reasons and the current state, in the language of Accept-Language.'),
  matchReasons: list(MatchReason, 'The same reasons one by one, each with a stable code.'),
  deliveries: list(link('Delivery', 'A delivery.'), 'The deliveries about the property, newest first, at most 1000.'),
});

const PreviewedDay = z.strictObject({
  date: z.iso.date().meta({ description: 'Day in Paris.' }),
  count: z.int().meta({ description: 'Number of properties that satisfy the search now and started on that day.' }),
});

const PreviewedProperty = z.strictObject({
  property: link('PropertyDocument', 'The property.'),
  satisfiedSince: dateTime(
    'Time of the property’s creation, or of the last price or surface change that made it satisfy the search.',
  ),
});

const margin = z.int().meta({
  description: 'Error of satisfiedNow in either direction, with a confidence of 95 %; 0 if it is exact.',
});

const WiderSearch = z.strictObject({
  criterion: z.enum(CRITERION_NAMES).meta({
    description: 'The criterion that is left out; `liveAdvert`: the excluded site categories and publishers.',
  }),
  satisfiedNow: z.int().meta({ description: 'Number of properties that satisfy the other criteria.' }),
  margin,
  estimated: z.boolean().meta({ description: 'True if the figure is estimated from a sample.' }),
});

const Preview = z.strictObject({
  ...identity('Preview'),
  satisfiedNow: z.int().meta({ description: 'Number of properties that satisfy the search now.' }),
  margin,
  estimated: z.boolean().meta({ description: 'True if the figures are estimated from a sample.' }),
  startedPerDay: list(PreviewedDay, 'Oldest first, today last.'),
  perDay: z.number().nullable().meta({
    description: 'Mean of startedPerDay over the days after the first day with data; null if there are none.',
  }),
  knownSince: z.iso.date().nullable().meta({
    description: 'First day with data, in Paris time; null if there is data for all of startedPerDay.',
  }),
  sample: list(PreviewedProperty, 'Newest first.'),
  places: list(
    z.tuple([z.number(), z.number()]),
    'Longitude and latitude of counted properties. The query parameter `places` limits their number. A property ' +
      'without coordinates has those of its commune.',
  ),
  withoutCriterion: list(WiderSearch, 'The figures of the search without each of its criteria.'),
});

const FoundProperty = z.strictObject({
  ...PropertyDocument.shape,
  ...identity('FoundProperty'),
  match: link('Match', 'The match; null if there is no match.').nullable(),
  matchedAt: dateTimeOrNull('When the match began or was first notified; null if there is no match.'),
  satisfiedSince: dateTimeOrNull(
    'Time of the property’s creation, or of the last price or surface change that made it satisfy the search; null ' +
      'while the property does not.',
  ),
  mark: PropertyMark.nullable(),
});

const EXPLANATION_CONTRACT: Contract = {
  routes: [
    route('post /searches/preview', 'Preview', 'item', 'Previews a search without saving it', {
      body: 'SearchPreview',
      parameters: PREVIEW_PARAMETERS,
      status: 200,
      details:
        'Counts the properties that satisfy a search now, without saving it. Also shows how many of these began on ' +
        'each of the last days, the newest of them, and the counts without each criterion. ' +
        'The figures are exact for up to 20,000 candidate properties; above that, they are estimated from a sample, ' +
        'and `estimated` is true. At most two queries of a client run at a time.',
    }),
    route('get /searches/{id}/explanation', 'Explanation', 'item', 'Explains why a property matches a search or not', {
      parameters: EXPLANATION_PARAMETERS,
      takesSome: true,
      details:
        'Explains why a property is or is not a match of the search. The answer has the expected and the actual value ' +
        'of each criterion, when and why the match began, and its deliveries. Send one of `property`, `advert` and ' +
        '`url`. Sentences are in French or English, according to `Accept-Language`.',
    }),
    route('get /explanations', 'Explanation', 'collection', 'Lists the searches that a property satisfies', {
      parameters: EXPLANATION_LIST_PARAMETERS,
      takesSome: true,
      details:
        'Your searches that a property satisfies now, sorted by title, each with its explanation. Send one of ' +
        '`property`, `advert` and `url`.',
    }),
    route('get /searches/{id}/properties', 'FoundProperty', 'collection', 'Lists properties that satisfy a search', {
      parameters: FOUND_PROPERTY_PARAMETERS,
      details:
        'The live properties that satisfy the search now, notified or not, most recently changed first, each with ' +
        'its match and your mark, if any. Properties that you have hidden are left out. The list is complete for up ' +
        'to 20,000 candidate properties. Above that, it covers the 10,000 live properties that changed last: ' +
        '`estimated` is true, and `margin` is the number of properties that may be missing. As `text/csv`, the page ' +
        'has one line per property, and the header `Link` leads to the next page.',
    }),
  ],
  resources: { Explanation, Preview, FoundProperty },
  groups: {
    Explanation: 'Reasons why a property is or is not a match of a search.',
    Preview: 'Figures of the properties that a search would find, without saving it.',
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

/** The price of the sample property is slightly above the search's maximum. */
function examples({ at, ids, property, reference }: Samples): Readonly<Record<string, object>> {
  const { resolvePlace } = reference;
  const { state, crawls } = sampleChange('property.ad.create', at).stored;
  const facts = propertyFacts(readingOf(state, crawls, resolvePlace), NO_MEDIANS);
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
        match: { matchId: ids.match },
        deliveries: [{ id: ids.delivery }],
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
      matchedAt: at,
      mark: { state: 'kept', reason: null, note: 'To visit on Friday', markedAt: at },
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
  rpcs: EXPLANATION_RPCS,
  estimate: createMatchEstimator,
};

/** Maximum size of the sample. Also the estimate for every search without criteria. */
const SAMPLE_MAX = 1_000;
/** Number of properties whose texts are read: folding a text costs more than evaluating all other criteria. */
const TEXTS_MAX = 100;
/** Every search has this criterion by default, so it does not count as set by the client. */
const DEFAULT_CRITERION: RemovableCriterion = 'withCoherentPrice';
const KEPT_MS = 60_000;
/** Polygon corners and words compared for one search. Above these limits, fewer properties are evaluated. */
const CORNERS_COMPARED_MAX = 4_000_000;
const WORDS_COMPARED_MAX = 2_000;
/** Number of evaluations between two readings of the clock. */
const EVALUATED_AT_ONCE = 8;

interface Sample {
  /** The first properties also have `withTexts`, their facts with texts. */
  readonly properties: readonly { readonly facts: PropertyFacts; readonly withTexts: PropertyFacts | null }[];
  readonly siteCategoryName: SiteCategoryName;
}

/**
 * Estimates how many of 1,000 adverts a new search will match, by evaluating it against the first properties in sample
 * order, at most 1,000. Distances that are not stored with these properties count as unknown. The leader corrects a
 * client's totals with a sample of adverts (store/search-totals.ts). The returned function resolves when the sample is
 * in memory, and reads it again after a minute.
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
  const medians = await followMedians(database).renew();
  const first = rows.slice(0, TEXTS_MAX).map(({ uuid }) => uuid);
  const texts = await readTexts(database, first);
  const slices = createWorkSlices();
  const properties: Sample['properties'][number][] = [];
  for (const [at, { uuid, facts }] of rows.entries()) {
    const summary = readSummary(facts);
    const withTexts = at < TEXTS_MAX ? factsOf(summary, medians, textsOf(summary, texts.get(uuid) ?? [])) : null;
    properties.push({ facts: factsOf(summary, medians), withTexts });
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
  const textless = without(criteria, { expressions: [] });
  const slices = createWorkSlices();
  const evaluatedMax = Math.ceil(CORNERS_COMPARED_MAX / (weightOf(members).polygonCorners + 1));
  const words = allExpressions(criteria).flat().length;
  const readMax = words === 0 ? 0 : Math.ceil(WORDS_COMPARED_MAX / (words + 1));
  let [evaluated, satisfied, read, worded] = [0, 0, 0, 0];
  for (const { facts, withTexts } of properties.slice(0, evaluatedMax)) {
    evaluated += 1;
    if (satisfies(textless, facts)) {
      satisfied += 1;
      if (withTexts !== null && read < readMax) {
        read += 1;
        worded += Number(satisfies(criteria, withTexts));
      }
    }
    if (evaluated % EVALUATED_AT_ONCE === 0) await slices.yieldIfDue();
  }
  const share = read === 0 ? 1 : worded / read;
  return evaluated === 0 ? 0 : Math.round((satisfied * share * properties.length) / evaluated);
}
