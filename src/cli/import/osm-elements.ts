/**
 * OpenStreetMap data as its reader hands it over. It calls the visitor's members while it reads and yields now and then,
 * so that the caller can take what it has and let others run.
 */

import type { Tags } from './facility-tags.ts';

export interface OsmPlace {
  /** Degrees, WGS 84. */
  readonly lat: number;
  readonly lon: number;
}

export interface OsmMember {
  readonly type: 'node' | 'way' | 'relation';
  readonly id: number;
}

export interface OsmVisitor {
  /** A node that has an `amenity`. */
  node?(place: OsmPlace, tags: Tags): void;
  /** A way that has an `amenity`. */
  way?(nodeIds: readonly number[], tags: Tags): void;
  /** A relation that has an `amenity`. */
  relation?(members: readonly OsmMember[], tags: Tags): void;
  /** Every way, tagged or not. `nodeIds` is only decoded when called. */
  anyWay?(id: number, nodeIds: () => readonly number[]): void;
  /** Every node, tagged or not. */
  anyNode?(id: number, lat: number, lon: number): void;
}

/** Reads the file once from the beginning to the end. Throws `ImportFileError`. */
export type ReadOsm = (visitor: OsmVisitor) => AsyncIterable<void>;

/** The centre of the bounding box; null of nothing. */
export function boxCentre(places: Iterable<OsmPlace>): OsmPlace | null {
  let south = Number.POSITIVE_INFINITY;
  let north = Number.NEGATIVE_INFINITY;
  let west = Number.POSITIVE_INFINITY;
  let east = Number.NEGATIVE_INFINITY;
  for (const { lat, lon } of places) {
    south = Math.min(south, lat);
    north = Math.max(north, lat);
    west = Math.min(west, lon);
    east = Math.max(east, lon);
  }
  return south <= north ? { lat: (south + north) / 2, lon: (west + east) / 2 } : null;
}
