/**
 * Evaluates scanned properties by the criteria of a search. Texts are evaluated last, because summaries lack them. They
 * are read from the stored state if the property is still relevant after all other criteria. Also computes when a
 * property began to satisfy a search (decisions, section 11).
 */

import { yieldToOthers } from '../../engine/actor/waiting.ts';
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
import type { Compared } from '../../engine/domain/property-document.ts';
import type { PropertyFacts } from '../../engine/domain/property-facts.ts';
import {
  beforeLastChange,
  factsOf,
  NO_TEXTS,
  type PropertySummary,
  type PropertyTexts,
  readSummary,
} from '../../engine/domain/property-summary.ts';
import { excludesAdverts } from '../../engine/domain/site-category-criteria.ts';
import { type AdvertTexts, readTexts, type SampledDatabase, type Scan } from './property-scans.ts';

/** A live property that fails at most one criterion, or that satisfies the search without its exclusion of adverts. */
export interface ExaminedProperty {
  readonly uuid: Uuid;
  readonly summary: PropertySummary;
  readonly facts: PropertyFacts;
  /** The first two failed criteria. */
  readonly failures: readonly CriterionName[];
  /** True if the property satisfies the search without its excluded site categories and publishers. */
  readonly isSatisfiedWithoutExclusions: boolean;
}

/** Number of properties whose texts are read together. */
const TEXTS_AT_ONCE = 50;

/** The resources of a query. Its database statements end when the query is cancelled. */
export interface QueryTools extends SampledDatabase, WorkSlicesOptions {
  readonly medians: Medians & Compared;
  readonly cancelled: AbortSignal;
}

/**
 * Resolves with the number of properties that each evaluated property represents. Stops after the portion in which it
 * has read the texts of `textsMax` properties: those evaluated by then are a fair sample.
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
    // Properties for which only the texts are left to evaluate.
    const pending: ExaminedProperty[] = [];
    for (const { uuid, facts } of portion.properties) {
      const one = evaluated(uuid, readSummary(facts), NO_TEXTS, textless, tools.medians);
      if (isRelevant(one)) {
        if (hasTexts) pending.push(one);
        else onProperty(one);
      }
      await slices.yieldIfDue();
    }
    for await (const [{ uuid, summary }, adverts] of withTexts(pending, tools)) {
      const one = evaluated(uuid, summary, textsOf(summary, adverts), criteria, tools.medians);
      if (isRelevant(one)) onProperty(one);
    }
    textsLeft -= pending.length;
    weight = portion.weight;
    return textsLeft > 0;
  });
  return weight;
}

/** Each property with the texts of its adverts, or with none if `hasTexts` is false. Other work runs in between. */
export async function* withTexts<Property extends { readonly uuid: Uuid }>(
  properties: readonly Property[],
  tools: QueryTools,
  hasTexts = true,
) {
  for (let from = 0; from < properties.length; from += TEXTS_AT_ONCE) {
    const some = properties.slice(from, from + TEXTS_AT_ONCE);
    const uuids = some.map(({ uuid }) => uuid);
    const texts = hasTexts ? await readTexts(tools.database, uuids) : null;
    const slices = createWorkSlices(tools);
    for (const one of some) {
      yield [one, texts?.get(one.uuid) ?? []] as const;
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
  medians: Compared,
): ExaminedProperty {
  const facts = factsOf(summary, medians, texts);
  const failures = failuresOf(criteria, facts, 2);
  const isSatisfiedWithoutExclusions =
    excludesAdverts(criteria) && satisfies(withoutCriterion(criteria, 'liveAdvert'), facts);
  return { uuid, summary, facts, failures, isSatisfiedWithoutExclusions };
}

/**
 * When a property that satisfies `criteria` began to do so, in ISO 8601. It is the later of the property's creation and
 * the last recorded change of price or surface with that effect. Assumes that all other facts, the texts and the
 * medians have not changed.
 */
export function satisfiedSince(
  criteria: Criteria,
  { summary, facts }: Pick<ExaminedProperty, 'summary' | 'facts'>,
  medians: Compared,
): string {
  // Locations and texts have not changed, so only the alternatives that they satisfy are compared with former numbers.
  const { excludedSiteCategories, excludedPublishers } = criteria;
  const alternatives = criteria.alternatives.filter(({ areas, expressions, orMissing }) =>
    satisfies({ ...ANYTHING, excludedSiteCategories, excludedPublishers, areas, expressions, orMissing }, facts),
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

const SLICE_MS = 1;

let lastInLine: Promise<void> = Promise.resolve();

export interface WorkSlicesOptions {
  /** Clock in milliseconds; must be monotonic. */
  readonly nowMs?: () => number;
  readonly cancelled?: AbortSignal;
}

/**
 * Divides long work into slices of a millisecond, between which all other work of the thread runs. Several such tasks
 * take turns, and only one of them runs between two polls of the sockets.
 */
export function createWorkSlices({ nowMs = () => performance.now(), cancelled }: WorkSlicesOptions = {}) {
  let startMs = nowMs();
  return {
    /**
     * Called between small pieces of work. Returns undefined while the slice lasts, then a promise of the next slice.
     * Throws if the work is cancelled.
     */
    yieldIfDue(): Promise<void> | undefined {
      if (nowMs() - startMs < SLICE_MS) return undefined;
      cancelled?.throwIfAborted();
      lastInLine = lastInLine.then(yieldToOthers);
      return lastInLine.then(() => {
        startMs = nowMs();
      });
    },
  };
}
