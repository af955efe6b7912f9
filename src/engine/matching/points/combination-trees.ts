/**
 * Kd-trees of the points of interest to which distances are measured: one for each requested combination of facility
 * and attributes. Searching all points of a facility would take milliseconds if few have the attributes.
 */

import type KDBush from 'kdbush';
import { yieldToOthers } from '../../actor/waiting.ts';
import { BEYOND_M, combinationsOf, facilityOf, type NearestPoints } from '../../domain/point-distances.ts';
import type { PointOfInterest } from '../../domain/point-of-interest.ts';
import { Coordinates, nearestPosition, sortedTree } from './point-tree.ts';

export interface CombinationTree {
  /** Null if the combination has no points. */
  readonly tree: KDBush | null;
  /** True if the facility has any point. */
  readonly isKnown: boolean;
}

/** By `combinationKey`. */
export type CombinationTrees = ReadonlyMap<string, CombinationTree>;

/** Points must be added in portions that block the event loop for a few milliseconds at most. */
export function createTreesBuilder(keys: readonly string[]) {
  const coordinates = new Map(keys.map((key) => [key, new Coordinates()]));
  const facilities = new Set<string>();
  return {
    add(points: readonly PointOfInterest[]): void {
      for (const point of points) {
        facilities.add(point.facility);
        for (const key of combinationsOf(point)) coordinates.get(key)?.add(point.lat, point.lon);
      }
    },
    async finish(): Promise<CombinationTrees> {
      const trees = new Map<string, CombinationTree>();
      for (const [key, some] of coordinates) {
        const tree = some.length === 0 ? null : await sortedTree(some);
        // Makes the tree return positions in its sorted coordinates, not in the order of addition.
        tree?.ids.forEach((_, position, ids) => (ids[position] = position));
        await yieldToOthers();
        trees.set(key, { tree, isKnown: facilities.has(facilityOf(key)) });
      }
      return trees;
    },
  };
}

export function nearestPointsOf(trees: CombinationTrees): NearestPoints {
  return {
    complete(known, lat, lon) {
      let all: Record<string, number | null> | null = null;
      for (const [key, { tree, isKnown }] of trees) {
        if (known?.[key] !== undefined) continue;
        all ??= { ...known };
        all[key] = isKnown ? ((tree && nearestPosition(tree, lat, lon)?.distanceM) ?? BEYOND_M) : null;
      }
      return all ?? known;
    },
  };
}
