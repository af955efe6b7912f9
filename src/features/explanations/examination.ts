/**
 * Evaluates scanned properties by the criteria of a search. Texts are evaluated last, because they are in the
 * documents, which are read only if the property is still relevant after all other criteria. Also computes since when a
 * property satisfies a search (decisions, section 11).
 */

import { yieldToOthers } from '../../engine/actor/waiting.ts';
import type { Cancellation } from '../../engine/actor/worker-thread.ts';
import { NOWHERE } from '../../engine/domain/areas.ts';
import {
  allExpressions,
  type Criteria,
  failuresOf,
  satisfies,
  without,
  withoutCriterion,
} from '../../engine/domain/criteria.ts';
import { ANYTHING, type CriterionName } from '../../engine/domain/criterion-table.ts';
import type { Uuid } from '../../engine/domain/ids.ts';
import type { Medians } from '../../engine/domain/market-prices.ts';
import type { PropertyFacts } from '../../engine/domain/property-facts.ts';
import {
  beforeLastChange,
  factsOf,
  NO_TEXTS,
  type PropertySummary,
  type PropertyTexts,
  readSummary,
} from '../../engine/domain/property-summary.ts';
import { type AdvertTexts, readTexts, type SampledDatabase, type Scan } from './property-scans.ts';

/** A live property that fails at most one criterion, or that satisfies the search without its excluded site categories. */
export interface ExaminedProperty {
  readonly uuid: Uuid;
  readonly summary: PropertySummary;
  readonly facts: PropertyFacts;
  /** The first two failed criteria. */
  readonly failures: readonly CriterionName[];
  /** Whether the property satisfies the search without its excluded site categories. */
  readonly isSatisfiedWithoutExclusions: boolean;
}

/** Number of properties whose documents are read together. */
const TEXTS_AT_ONCE = 50;

/** The resources of a query. Its database statements end when the query is cancelled. */
export interface QueryTools extends SampledDatabase, WorkSlicesOptions {
  readonly medians: Medians;
  readonly cancellation: Pick<Cancellation, 'throwIfCancelled'>;
}

/**
 * Resolves with the number of properties that each evaluated one represents. Stops after the texts of `textsMax`
 * properties; the properties evaluated by then are a fair sample of the rest.
 */
export async function evaluateCandidates(
  scan: Scan,
  criteria: Criteria,
  tools: QueryTools,
  onProperty: (one: ExaminedProperty) => void,
  textsMax = Infinity,
): Promise<number> {
  const hasTexts = allExpressions(criteria).length > 0;
  const textless = hasTexts ? without(criteria, { expressions: [] }) : criteria;
  let weight = 1;
  let textsLeft = textsMax;
  await scan(async (portion) => {
    const slices = createWorkSlices(tools);
    // Properties that only their texts can decide.
    const pending: ExaminedProperty[] = [];
    for (const { uuid, facts } of portion.properties) {
      const one = evaluated(uuid, readSummary(facts), NO_TEXTS, textless, tools.medians);
      if (isRelevant(one)) {
        if (hasTexts) pending.push(one);
        else onProperty(one);
      }
      await slices.yieldIfDue();
    }
    await readOn(pending, criteria, tools, onProperty);
    textsLeft -= pending.length;
    weight = portion.weight;
    return textsLeft > 0;
  });
  return weight;
}

/** Evaluates the properties again, with their texts. */
async function readOn(
  pending: readonly ExaminedProperty[],
  criteria: Criteria,
  tools: QueryTools,
  onProperty: (one: ExaminedProperty) => void,
): Promise<void> {
  for (let from = 0; from < pending.length; from += TEXTS_AT_ONCE) {
    const some = pending.slice(from, from + TEXTS_AT_ONCE);
    const uuids = some.map(({ uuid }) => uuid);
    const texts = await readTexts(tools.database, uuids);
    const slices = createWorkSlices(tools);
    for (const { uuid, summary } of some) {
      const known = evaluated(uuid, summary, textsOf(summary, texts.get(uuid) ?? []), criteria, tools.medians);
      if (isRelevant(known)) onProperty(known);
      await slices.yieldIfDue();
    }
  }
}

function isRelevant({ failures, isSatisfiedWithoutExclusions }: ExaminedProperty): boolean {
  return failures.length <= 1 || isSatisfiedWithoutExclusions;
}

export function textsOf(summary: PropertySummary, adverts: readonly AdvertTexts[]): PropertyTexts {
  const own = adverts.find(([advert]) => advert === summary.representative);
  return {
    own: own === undefined ? [] : present(own[1] ?? own[3], own[2] ?? own[4]),
    byAdvert: new Map(adverts.map(([advert, , , title, description]) => [advert, present(title, description)])),
  };
}

function present(...texts: readonly (string | null)[]): readonly string[] {
  return texts.filter((text) => text !== null);
}

function evaluated(
  uuid: Uuid,
  summary: PropertySummary,
  texts: PropertyTexts,
  criteria: Criteria,
  medians: Medians,
): ExaminedProperty {
  const facts = factsOf(summary, medians, texts);
  const failures = failuresOf(criteria, facts, 2);
  const hasExclusions = criteria.excludedSiteCategories.length > 0;
  const isSatisfiedWithoutExclusions = hasExclusions && satisfies(withoutCriterion(criteria, 'liveAdvert'), facts);
  return { uuid, summary, facts, failures, isSatisfiedWithoutExclusions };
}

/**
 * For a property that satisfies `criteria` now: the later of its creation and the last recorded change of price or
 * surface that made it satisfy them. All other facts, its texts and the medians are assumed to have been as they are now.
 * ISO 8601.
 */
export function satisfiedSince(
  criteria: Criteria,
  { summary, facts }: Pick<ExaminedProperty, 'summary' | 'facts'>,
  medians: Medians,
): string {
  // Texts and location have not changed, so only a few numbers remain to be compared, and alternatives that hold in them.
  const { excludedSiteCategories } = criteria;
  const alternatives = criteria.alternatives.filter(({ areas, expressions, orMissing }) =>
    satisfies({ ...ANYTHING, excludedSiteCategories, areas, expressions, orMissing }, facts),
  );
  const priced = without({ ...criteria, alternatives }, { areas: NOWHERE, excludedAreas: NOWHERE, expressions: [] });
  for (let present = summary; ; ) {
    const former = beforeLastChange(present);
    if (former === null) return summary.createdAt;
    if (!satisfies(priced, factsOf(former, medians))) {
      const at = present.changes.at(-1)?.at ?? '';
      return at > summary.createdAt ? at : summary.createdAt;
    }
    present = former;
  }
}

export interface WorkSlices {
  /**
   * Called between small pieces of work. Returns undefined while the slice lasts, then a promise of the next slice.
   * Throws if the work is cancelled.
   */
  yieldIfDue(): Promise<void> | undefined;
}

const SLICE_MS = 1;

let lastInLine: Promise<void> = Promise.resolve();

export interface WorkSlicesOptions {
  /** Clock in milliseconds; must be monotonic. */
  readonly nowMs?: () => number;
  readonly cancellation?: Pick<Cancellation, 'throwIfCancelled'>;
}

/**
 * Divides long work into slices. After a millisecond it yields to everything else in the thread. Several such works take
 * turns, and only one of them runs between two polls of the sockets.
 */
export function createWorkSlices({
  nowMs = () => performance.now(),
  cancellation,
}: WorkSlicesOptions = {}): WorkSlices {
  let startMs = nowMs();
  return {
    yieldIfDue() {
      if (nowMs() - startMs < SLICE_MS) return undefined;
      cancellation?.throwIfCancelled();
      lastInLine = lastInLine.then(yieldToOthers);
      return lastInLine.then(() => {
        startMs = nowMs();
      });
    },
  };
}
