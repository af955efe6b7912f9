/**
 * Distances from a property to the nearest points of interest (decisions, section 16). A *combination* is a facility,
 * perhaps with attributes, such as public schools. Distances are whole metres, great-circle, on a sphere of 6371 km.
 */

import type { Facility, PointAttributes, PointOfInterest } from './point-of-interest.ts';

/** Points of the facility that have all these attributes. */
export interface Combination {
  readonly facility: Facility;
  readonly attributes?: PointAttributes;
}

/** A condition on the distance to a combination: `within` or `beyond`, in kilometres. Both limits are inclusive. */
export interface PointTerm extends Combination {
  readonly within?: number;
  readonly beyond?: number;
}

/** Replaces distances above `DISTANCE_MAX_M`, and those to an empty combination of a facility that has points. */
export const BEYOND_M = 50_001;
export const DISTANCE_MAX_M = 50_000;

/** Metres by `combinationKey`. A distance is null if no point of the facility is stored. */
export type PointDistances = Readonly<Record<string, number | null>>;

/** A snapshot of the points of some combinations. */
export interface NearestPoints {
  /** Returns `known` with the missing distances from a location (degrees, WGS 84). Null if there are no distances. */
  complete(known: PointDistances | null, lat: number, lon: number): PointDistances | null;
}

export const NO_COMBINATIONS: NearestPoints = { complete: (known) => known };

/** For example `school/lycée/public`, or `parking//`. Stored with properties and searches. */
export function combinationKey({ facility, attributes }: Combination): string {
  return `${facility}/${attributes?.schoolType ?? ''}/${attributes?.operatorType ?? ''}`;
}

/** The facility of a `combinationKey`. */
export function facilityOf(key: string): Facility {
  return key.slice(0, key.indexOf('/')) as Facility;
}

/** The keys of all combinations to which the point belongs, without duplicates. */
export function combinationsOf({ facility, attributes }: Pick<PointOfInterest, 'facility' | 'attributes'>) {
  const { schoolType, operatorType } = attributes;
  const operators = operatorType === undefined ? [''] : ['', operatorType];
  const types = schoolType === undefined ? [''] : ['', schoolType];
  return types.flatMap((type) => operators.map((operator) => `${facility}/${type}/${operator}`));
}

interface Requesting {
  readonly pointsOfInterest: readonly PointTerm[];
  readonly alternatives: readonly Partial<Pick<Requesting, 'pointsOfInterest'>>[];
}

/** The keys of the combinations that a search and its alternatives name, without duplicates. */
export function requestedCombinations({ pointsOfInterest, alternatives }: Requesting): readonly string[] {
  if (pointsOfInterest.length === 0 && alternatives.length === 0) return NONE;
  const terms = [...pointsOfInterest, ...alternatives.flatMap((one) => one.pointsOfInterest ?? [])];
  return [...new Set(terms.map(combinationKey))];
}

const NONE: readonly string[] = [];

/** The distance to the combination of the term, in metres; null if it is unknown. */
export function distanceTo(term: PointTerm, distances: PointDistances | null): number | null {
  return distances?.[combinationKey(term)] ?? null;
}

/** The accepted distances of a term, in metres, inclusive. */
export function metersOf({ within, beyond = 0 }: PointTerm): { readonly min: number; readonly max: number } {
  if (within !== undefined) return { min: 0, max: Math.round(within * 1_000) };
  return { min: Math.round(beyond * 1_000), max: Number.POSITIVE_INFINITY };
}

export function isAccepted(term: PointTerm, distanceM: number | null): boolean {
  const { min, max } = metersOf(term);
  return distanceM !== null && distanceM >= min && distanceM <= max;
}

export function areSameDistances(a: PointDistances | null, b: PointDistances | null): boolean {
  if (a === b) return true;
  if (a === null || b === null) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}
