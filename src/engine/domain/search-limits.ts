/**
 * Limits on the total of a client's searches (decisions, section 7). Polygon corners and excluded words are limited
 * because they are evaluated for more adverts than anything else. Matches are limited because each one is recorded.
 */

import { alternativesOf } from './alternatives.ts';
import type { CriterionMembers } from './criterion-table.ts';
import { combinationKey } from './point-distances.ts';
import { type SearchMembers } from './search.ts';

export interface SearchLimits {
  readonly searches: number;
  readonly polygonCorners: number;
  readonly excludedWords: number;
  /** An estimated average. */
  readonly matchesPerAdvert: number;
}

/** Amounts that one search adds to its client's totals. */
export type SearchWeight = Pick<SearchLimits, 'polygonCorners' | 'excludedWords'>;

export function weightOf(members: CriterionMembers): SearchWeight {
  const { geoShapes, excludedGeoShapes, expressions } = members;
  let polygonCorners = cornersOf(geoShapes) + cornersOf(excludedGeoShapes);
  let excludedWords = expressions?.match(EXCLUDED)?.length ?? 0;
  for (const alternative of alternativesOf(members).map(weightOf)) {
    polygonCorners += alternative.polygonCorners;
    excludedWords += alternative.excludedWords;
  }
  return { polygonCorners, excludedWords };
}

/** Amounts that a change of a search adds to its client's totals; may be negative. */
export function weightAdded(present: SearchMembers, next: SearchMembers): SearchWeight {
  const [before, after] = [weightOf(present), weightOf(next)];
  return {
    polygonCorners: after.polygonCorners - before.polygonCorners,
    excludedWords: after.excludedWords - before.excludedWords,
  };
}

/** The paths of the `pointsOfInterest` of a search and of its alternatives, with the keys of their combinations. */
export function combinationPaths({ pointsOfInterest, alternatives }: CriterionMembers) {
  const inAlternatives = alternativesOf({ alternatives }).map((one) => one.pointsOfInterest);
  return [pointsOfInterest, ...inAlternatives].flatMap((terms, list) =>
    terms.map((term, index) => ({
      key: combinationKey(term),
      path: [...(list === 0 ? [] : ['alternatives', list - 1]), 'pointsOfInterest', index],
    })),
  );
}

/** The keys of the combinations that a search and its alternatives name, without duplicates. */
export function combinationsIn(members: CriterionMembers): readonly string[] {
  return [...new Set(combinationPaths(members).map(({ key }) => key))];
}

/** In the query string, values are percent-encoded, so brackets occur only in names. */
const EXCLUDED = /\[includes\]=false/g;

function cornersOf(polygons: SearchMembers['geoShapes']): number {
  let corners = 0;
  for (const polygon of polygons) for (const ring of polygon) corners += ring.length;
  return corners;
}

const RATE = { min: 1, max: 1_000_000 };
const AMOUNT = { min: 0, max: 1_000_000_000 };

/** Allowed values of the limits that can be set for a single client. */
export const CLIENT_LIMIT_RANGES = {
  rateLimitPerSecond: RATE,
  rateLimitBurst: RATE,
  writeLimitPerSecond: RATE,
  writeLimitBurst: RATE,
  searchesMax: AMOUNT,
  polygonCornersMax: AMOUNT,
  excludedWordsMax: AMOUNT,
  matchesPerAdvertMax: AMOUNT,
} as const;

/** Maximum length, in UTF-16 units, of the name of a client or an API key. */
export const DISPLAY_NAME_LENGTH_MAX = 200;
