/**
 * Limits on all searches of a client (decisions, section 7). Corners of polygons and excluded words are what one
 * client's searches cost every advert: nothing else is evaluated for as many adverts. The matches of the searches are
 * limited because they are recorded.
 */

import type { SearchMembers } from './search.ts';

export interface SearchLimits {
  readonly searches: number;
  readonly polygonCorners: number;
  readonly excludedWords: number;
  /** On average, estimated. */
  readonly matchesPerAdvert: number;
}

/** What one search adds to its client's totals. */
export type SearchWeight = Pick<SearchLimits, 'polygonCorners' | 'excludedWords'>;

export function weightOf({ geoShapes, expressions }: SearchMembers): SearchWeight {
  return { polygonCorners: cornersOf(geoShapes), excludedWords: expressions?.match(EXCLUDED)?.length ?? 0 };
}

/** The difference that a change of a search makes. */
export function weightAdded(present: SearchMembers, next: SearchMembers): SearchWeight {
  const [before, after] = [weightOf(present), weightOf(next)];
  return {
    polygonCorners: after.polygonCorners - before.polygonCorners,
    excludedWords: after.excludedWords - before.excludedWords,
  };
}

/** Values in the query string are percent-encoded: brackets occur in names only. */
const EXCLUDED = /\[includes\]=false/g;

function cornersOf(polygons: SearchMembers['geoShapes']): number {
  let corners = 0;
  for (const polygon of polygons) for (const ring of polygon) corners += ring.length;
  return corners;
}

const RATE = { min: 1, max: 1_000_000 };
const AMOUNT = { min: 0, max: 1_000_000_000 };

/** Bounds of each limit that may replace a client's default. */
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

/** The longest name of a client or key. */
export const DISPLAY_NAME_LENGTH_MAX = 200;
