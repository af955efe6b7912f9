/**
 * Estimates how many of 1,000 adverts a search that is saved will match: it is evaluated against the first thousand
 * properties of the sample, which are read once a minute and kept. A leader's sample of adverts corrects a client's
 * totals (store/search-totals.ts).
 */

import { keptFor } from '../../engine/actor/waiting.ts';
import { removableCriteria, satisfier } from '../../engine/domain/criteria.ts';
import type { RemovableCriterion } from '../../engine/domain/criterion-table.ts';
import type { PropertyFacts } from '../../engine/domain/property-facts.ts';
import { factsOf, readSummary } from '../../engine/domain/property-summary.ts';
import { criteriaOf, type SiteCategoryName } from '../../engine/domain/search.ts';
import { weightOf } from '../../engine/domain/search-limits.ts';
import type { Queryable } from '../../engine/store/database.ts';
import { readMedians } from '../../engine/store/market-medians.ts';
import type { EstimateMatches } from '../../engine/store/searches.ts';
import { siteCategoryNames } from '../../engine/store/site-categories.ts';
import { createWorkSlices, textsOf } from './examination.ts';
import { readSample, readTexts } from './property-scans.ts';

/** The estimate of a search without criteria, even when no property is held. */
const SAMPLE_MAX = 1_000;
/** Properties whose texts are read: folding one costs more than evaluating all the rest. */
const TEXTS_MAX = 100;
/** Every search has it by default: not a criterion by itself. */
const GIVEN: RemovableCriterion = 'withCoherentPrice';
const KEPT_MS = 60_000;
/** Corners, and words, evaluated for one search: with very many, fewer properties represent the others. */
const CORNERS_LOOKED_AT_MAX = 4_000_000;
const WORDS_LOOKED_AT_MAX = 2_000;
/** Evaluations between two reads of the clock. */
const JUDGED_AT_ONCE = 8;

interface Sample {
  readonly properties: readonly PropertyFacts[];
  /** Of the first ones, with their texts. */
  readonly withTexts: readonly PropertyFacts[];
  readonly siteCategoryName: SiteCategoryName;
}

/** Resolves when the sample is in memory, read within the last minute. */
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
  const [rows, median] = [await readSample(database, SAMPLE_MAX), await readMedians(database)];
  const first = rows.slice(0, TEXTS_MAX).map(({ uuid }) => uuid);
  const texts = await readTexts(database, first);
  const slices = createWorkSlices();
  const properties: PropertyFacts[] = [];
  const withTexts: PropertyFacts[] = [];
  for (const [at, { uuid, facts }] of rows.entries()) {
    const summary = readSummary(facts);
    properties.push(factsOf(summary, median));
    if (at < TEXTS_MAX) withTexts.push(factsOf(summary, median, textsOf(summary, texts.get(uuid) ?? [])));
    await slices.take();
  }
  return { properties, withTexts, siteCategoryName: await siteCategoryNames(database) };
}

async function estimate(
  { properties, withTexts, siteCategoryName }: Sample,
  ...[members]: Parameters<EstimateMatches>
): Promise<number> {
  const criteria = criteriaOf(members, siteCategoryName);
  if (removableCriteria(criteria).every((name) => name === GIVEN)) return SAMPLE_MAX;
  const hasWords = criteria.expressions.length > 0;
  const [satisfies, satisfiesAll] = [satisfier({ ...criteria, expressions: [] }), satisfier(criteria)];
  const slices = createWorkSlices();
  const judgedMax = Math.ceil(CORNERS_LOOKED_AT_MAX / (weightOf(members).polygonCorners + 1));
  const readMax = Math.ceil(WORDS_LOOKED_AT_MAX / (criteria.expressions.flat().length + 1));
  let [judged, satisfied, read, worded] = [0, 0, 0, 0];
  for (const facts of properties.slice(0, judgedMax)) {
    const known = withTexts[judged];
    judged += 1;
    if (satisfies(facts)) {
      satisfied += 1;
      if (hasWords && known !== undefined && read < readMax) {
        read += 1;
        worded += Number(satisfiesAll(known));
      }
    }
    if (judged % JUDGED_AT_ONCE === 0) await slices.take();
  }
  const share = read === 0 ? 1 : worded / read;
  return judged === 0 ? 0 : Math.round((satisfied * share * properties.length) / judged);
}
