/** Counts the properties that a search would find, from property summaries (decisions, section 11). Read-only. */

import { hasAreas } from '../../engine/domain/areas.ts';
import { type Criteria, removableCriteria, withoutCriterion } from '../../engine/domain/criteria.ts';
import type { RemovableCriterion } from '../../engine/domain/criterion-table.ts';
import type { Uuid } from '../../engine/domain/ids.ts';
import { parisDayOf } from '../../engine/domain/mail.ts';
import type { Compared } from '../../engine/domain/property-document.ts';
import type { PropertyFacts } from '../../engine/domain/property-facts.ts';
import { readFirstEventAt } from '../../engine/store/events.ts';
import { type ExaminedProperty, evaluateCandidates, type QueryTools, satisfiedSince } from './examination.ts';
import { type CandidateScan, namesAreas, scanAnywhere, scanAreas } from './property-scans.ts';

export interface PreviewQuery {
  readonly criteria: Criteria;
  readonly days: number;
  readonly sampleMax: number;
  readonly placesMax: number;
  readonly now: Date;
}

export interface PreviewFigures {
  readonly satisfiedNow: number;
  /** Error of `satisfiedNow` in either direction, with a confidence of 95 %; 0 if everything was counted. */
  readonly margin: number;
  /** True if `satisfiedNow` was extrapolated from a part of the properties. */
  readonly estimated: boolean;
  /** When the properties that satisfy the search now began to do so. Oldest day first, today last. */
  readonly startedPerDay: readonly { readonly date: string; readonly count: number }[];
  /** Mean over the days with data, except the first, which counts the initial stock; null if there is no such day. */
  readonly perDay: number | null;
  /** First day with data; null if there is data for all requested days. */
  readonly knownSince: string | null;
  readonly sample: readonly { readonly uuid: Uuid; readonly satisfiedSince: string }[];
  /** Coordinates of the counted properties, in sample order. */
  readonly places: readonly CountedPlace[];
  readonly withoutCriterion: readonly ({ readonly criterion: RemovableCriterion } & Estimate)[];
}

/** A property without coordinates is shown at the centre of its commune. */
export interface CountedPlace extends Pick<PropertyFacts, 'lat' | 'lon'> {
  readonly insee: string | null;
}

type Estimate = Pick<PreviewFigures, 'satisfiedNow' | 'margin' | 'estimated'>;

/** Maximum number of properties whose texts are read for an estimate. */
const ESTIMATE_TEXTS_MAX = 2_000;

/**
 * If a search or each of its alternatives names areas, its figures count properties within them. Only the figure that
 * ignores the areas counts properties everywhere. All figures of other searches count properties everywhere.
 */
export async function previewFigures(
  { criteria, days, sampleMax, placesMax, now }: PreviewQuery,
  tools: QueryTools,
): Promise<PreviewFigures> {
  const isPlaced = namesAreas(criteria);
  /** The criterion that names the areas. */
  const placing = hasAreas(criteria.areas) ? 'areas' : 'alternatives';
  const candidates = await (isPlaced ? scanAreas : scanAnywhere)(tools, criteria, 1);
  const tally = createTally(criteria, { sampleMax, placesMax }, tools.medians);
  const weight = await evaluateCandidates(
    candidates.scan,
    criteria,
    tools,
    tally.take,
    candidates.isWhole ? Infinity : ESTIMATE_TEXTS_MAX,
  );
  const wider = withoutCriterion(criteria, placing);
  const anywhere = isPlaced ? await countSatisfied(await scanAnywhere(tools, wider, 0), wider, tools) : null;
  const here = estimate(tally.counts.satisfied, weight);
  const dates = lastDays(now, days);
  // Retention may have removed the first events, so the tally may contain an earlier day than the first kept event.
  const firstDay = parisDayOf((await readFirstEventAt(tools.database)) ?? now);
  const knownSince = [firstDay, ...tally.startedOn.keys()].reduce((one, other) => (one < other ? one : other));
  const isCut = knownSince > (dates[0] as string);
  // The count of the first day includes the initial stock.
  const known = dates.filter((date) => (isCut ? date > knownSince : true));
  const started = known.reduce((sum, date) => sum + (tally.startedOn.get(date) ?? 0), 0);
  return {
    ...here,
    startedPerDay: dates.map((date) => ({ date, count: Math.round((tally.startedOn.get(date) ?? 0) * weight) })),
    perDay: known.length === 0 ? null : Number(((started * weight) / known.length).toFixed(3)),
    knownSince: isCut ? knownSince : null,
    sample: tally.newest(),
    places: tally.places,
    withoutCriterion: removableCriteria(criteria).map((criterion) => {
      if (criterion === placing && anywhere !== null) {
        return { criterion, ...anywhere, satisfiedNow: Math.max(here.satisfiedNow, anywhere.satisfiedNow) };
      }
      return { criterion, ...estimate(tally.countWithout(criterion), weight) };
    }),
  };
}

export async function countSatisfied(
  { scan, isWhole }: CandidateScan,
  criteria: Criteria,
  tools: QueryTools,
): Promise<Estimate> {
  let satisfied = 0;
  const take = ({ failures }: ExaminedProperty): void => {
    if (failures.length === 0) satisfied += 1;
  };
  const weight = await evaluateCandidates(scan, criteria, tools, take, isWhole ? Infinity : ESTIMATE_TEXTS_MAX);
  return estimate(satisfied, weight);
}

/** 95 % of a normal distribution are within this many standard deviations. */
const DEVIATIONS = 1.96;
/** Added to counts, because a zero in a sample does not prove that there are none (Agresti and Coull, 1998). */
const COUNTED_MORE = 2;

/** Extrapolates `count` from a sample in which each property represents `weight`. */
export function estimate(count: number, weight: number): Estimate {
  const deviation = Math.sqrt((count + COUNTED_MORE) * (1 - 1 / weight));
  return {
    satisfiedNow: Math.round(count * weight),
    margin: Math.round(DEVIATIONS * deviation * weight),
    estimated: weight > 1,
  };
}

function createTally(
  criteria: Criteria,
  { sampleMax, placesMax }: Pick<PreviewQuery, 'sampleMax' | 'placesMax'>,
  medians: Compared,
) {
  /** Count by day in Paris. */
  const startedOn = new Map<string, number>();
  const places: CountedPlace[] = [];
  const failing = new Map<string, number>();
  const counts = { satisfied: 0, withoutExclusions: 0 };
  let sample: PreviewFigures['sample'][number][] = [];
  const newest = (): typeof sample =>
    sample
      .toSorted((a, b) => compareTexts(b.satisfiedSince, a.satisfiedSince) || compareTexts(a.uuid, b.uuid))
      .slice(0, sampleMax);
  return {
    counts,
    startedOn,
    places,
    newest,
    take({ uuid, summary, facts, failures, isSatisfiedWithoutExclusions }: ExaminedProperty): void {
      if (isSatisfiedWithoutExclusions) counts.withoutExclusions += 1;
      const [first] = failures;
      if (first !== undefined) {
        if (failures.length === 1) failing.set(first, (failing.get(first) ?? 0) + 1);
        return;
      }
      counts.satisfied += 1;
      const { lat, lon, inseeCodes } = facts;
      if (places.length < placesMax) places.push({ lat, lon, insee: inseeCodes[0] ?? null });
      const at = satisfiedSince(criteria, { summary, facts }, medians);
      const date = parisDayOf(new Date(at));
      startedOn.set(date, (startedOn.get(date) ?? 0) + 1);
      sample.push({ uuid, satisfiedSince: at });
      if (sample.length > 10 * sampleMax) sample = newest();
    },
    countWithout(criterion: RemovableCriterion): number {
      if (criterion === 'liveAdvert') return counts.withoutExclusions;
      return counts.satisfied + (failing.get(criterion) ?? 0);
    },
  };
}

export function compareTexts(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

const DAY_MS = 86_400_000;

/** Calendar days, so that a day with a clock change counts as one. */
function lastDays(now: Date, count: number): readonly string[] {
  const today = Date.parse(`${parisDayOf(now)}T12:00:00Z`);
  return Array.from({ length: count }, (_, i) => new Date(today - (count - 1 - i) * DAY_MS).toISOString().slice(0, 10));
}
