/**
 * How many of 1,000 adverts a search that is saved will match: judged against the first thousand properties of the sample,
 * which are read once a minute and kept. A leader's sample of adverts corrects what a client's searches add up to
 * (store/search-totals.ts).
 */

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
import { textsOf } from './examination.ts';
import { readSample } from './property-scans.ts';
import { readTexts } from './property-texts.ts';
import { createWorkSlices } from './work-slices.ts';

/** What a search without criteria matches, though none be held. */
const SAMPLE_MAX = 1_000;
/** Whose texts are read: folding one costs more than judging all the rest. */
const TEXTS_MAX = 100;
/** Every search has it that does not refuse it: not by itself a criterion. */
const GIVEN: RemovableCriterion = 'withCoherentPrice';
const KEPT_MS = 60_000;
/** Corners, and words, that are looked at for one search: fewer properties stand for the others where it has very many. */
const CORNERS_LOOKED_AT_MAX = 4_000_000;
const WORDS_LOOKED_AT_MAX = 2_000;
/** Before a look at the clock. */
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
  let kept: { readonly sample: Promise<Sample>; readonly endMs: number } | null = null;
  return async () => {
    if (kept === null || nowMs() >= kept.endMs) {
      const reading = { sample: readSampled(database), endMs: nowMs() + KEPT_MS };
      kept = reading;
      reading.sample.catch(() => {
        if (kept === reading) kept = null;
      });
    }
    const sample = await kept.sample;
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
