/**
 * Judges scanned properties one by one by the criteria of a search, texts last: they lie in the documents, and are read
 * for those alone that nothing else decides. Only so many texts are read for one question; what was judged until then is a
 * fair sample of the rest.
 */

import { type Criteria, failuresOf, satisfies, withoutCriterion } from '../domain/criteria.ts';
import type { CriterionName } from '../domain/criterion-table.ts';
import type { Uuid } from '../domain/ids.ts';
import {
  factsOf,
  type MedianOf,
  NO_TEXTS,
  type PropertyDigest,
  type PropertyTexts,
  readDigest,
} from '../domain/property-digest.ts';
import type { PropertyFacts } from '../domain/property-facts.ts';
import type { Queryable } from '../store/database.ts';
import { type AdvertTexts, readTexts, type Scan, type ScannedProperty } from '../store/property-scans.ts';
import { createWorkSlices } from './work-slices.ts';

/** A live property that fails one criterion at most, or none but for the site categories that are excluded. */
export interface ExaminedProperty {
  readonly uuid: Uuid;
  readonly digest: PropertyDigest;
  readonly facts: PropertyFacts;
  /** The first two. */
  readonly failures: readonly CriterionName[];
  /** Satisfies the search when no site category is excluded. */
  readonly isSatisfiedWithoutExclusions: boolean;
}

/** Properties whose texts one question reads. */
const TEXTS_MAX = 2_500;
const BLOCK = 250;
/** Of this process, for one scan: who sends an outline of a hundred thousand corners gets an estimate. */
const WORK_MS_MAX = 2_000;

/** Resolves with how many properties each of the examined ones stands for. */
export async function examine(
  { properties, weight }: Scan,
  criteria: Criteria,
  { database, median }: { readonly database: Queryable; readonly median: MedianOf },
  onProperty: (one: ExaminedProperty) => void,
): Promise<number> {
  const slices = createWorkSlices();
  const hasTexts = criteria.expressions.length > 0;
  const textless = hasTexts ? { ...criteria, expressions: [] } : criteria;
  let textsLeft = TEXTS_MAX;
  for (let from = 0; from < properties.length; from += BLOCK) {
    const isSpent = (hasTexts && textsLeft <= 0) || slices.workedMs > WORK_MS_MAX;
    if (from > 0 && isSpent) return (weight * properties.length) / from;
    const pending: ExaminedProperty[] = [];
    for (const property of properties.slice(from, from + BLOCK)) {
      const one = judged(property, textless, median);
      if (isRelevant(one)) pending.push(one);
      await slices.take();
    }
    const texts = hasTexts ? await slices.pause(readTexts(database, uuidsOf(pending))) : null;
    textsLeft -= texts === null ? 0 : pending.length;
    for (const one of pending) {
      const known = texts === null ? one : withTexts(one, texts.get(one.uuid) ?? [], criteria, median);
      if (isRelevant(known)) onProperty(known);
      await slices.take();
    }
  }
  return weight;
}

function uuidsOf(properties: readonly ExaminedProperty[]): readonly Uuid[] {
  return properties.map(({ uuid }) => uuid);
}

function isRelevant({ failures, isSatisfiedWithoutExclusions }: ExaminedProperty): boolean {
  return failures.length <= 1 || isSatisfiedWithoutExclusions;
}

function judged({ uuid, facts: text }: ScannedProperty, criteria: Criteria, median: MedianOf): ExaminedProperty {
  return judgedWith(uuid, readDigest(text), NO_TEXTS, criteria, median);
}

function withTexts(
  { uuid, digest }: ExaminedProperty,
  adverts: readonly AdvertTexts[],
  criteria: Criteria,
  median: MedianOf,
): ExaminedProperty {
  const speaking = adverts.find(([advert]) => advert === digest.speaker);
  const texts: PropertyTexts = {
    own: speaking === undefined ? [] : present(speaking[1] ?? speaking[3], speaking[2] ?? speaking[4]),
    byAdvert: new Map(adverts.map(([advert, , , title, description]) => [advert, present(title, description)])),
  };
  return judgedWith(uuid, digest, texts, criteria, median);
}

function present(...texts: readonly (string | null)[]): readonly string[] {
  return texts.filter((text) => text !== null);
}

function judgedWith(
  uuid: Uuid,
  digest: PropertyDigest,
  texts: PropertyTexts,
  criteria: Criteria,
  median: MedianOf,
): ExaminedProperty {
  const facts = factsOf(digest, median, texts);
  const failures = failuresOf(criteria, facts, 2);
  const hasExclusions = criteria.excludedSiteCategories.length > 0;
  const isSatisfiedWithoutExclusions =
    hasExclusions && satisfies(withoutCriterion(criteria, 'excludedSiteCategories'), facts);
  return { uuid, digest, facts, failures, isSatisfiedWithoutExclusions };
}
