/**
 * The locations of communes: centres of the table, including those of merged communes; imported ones take precedence.
 * Coordinates map to the commune of the nearest centre.
 */

import type { CommuneRecord } from './commune-records.ts';
import type { Centre } from './place-table.ts';

/** Looks up indices of `points` within a distance, the nearest first; see matching/commune-locator.ts. */
export type LocateNearest = (
  points: readonly Centre[],
) => (lat: number, lon: number, radiusKm?: number, max?: number) => readonly number[];

export interface CommuneLocations {
  /** The main one first; empty when none is known. */
  centresOf(commune: CommuneRecord): readonly Centre[];
  /** The nearest first, at most `max` centres; null is a place abroad. */
  communesNear(lat: number, lon: number, radiusKm?: number, max?: number): readonly (CommuneRecord | null)[];
}

export interface LocationSource {
  /** By INSEE code. */
  readonly centres: ReadonlyMap<string, readonly Centre[]>;
  readonly imported: ReadonlyMap<string, Centre>;
  /** For the code of a merged commune the commune of today, for one abroad null. */
  readonly communeOf: (insee: string) => CommuneRecord | null;
  /** By INSEE code of the commune that they belong to. */
  readonly arrondissements: ReadonlyMap<string, readonly CommuneRecord[]>;
  readonly nearest: LocateNearest;
}

export function locateCommunes(source: LocationSource): CommuneLocations {
  const { centres, imported, communeOf, arrondissements } = source;
  const byCommune = new Map<CommuneRecord | null, Centre[]>();
  const located = [...centres, ...[...imported].map(([insee, centre]) => [insee, [centre]] as const)];
  for (const [insee, points] of located) {
    if (imported.has(insee) && points[0] !== imported.get(insee)) continue;
    const commune = communeOf(insee);
    const known = byCommune.get(commune) ?? [];
    byCommune.set(commune, commune?.insee === insee ? [...points, ...known] : [...known, ...points]);
  }
  const points: Centre[] = [];
  const communes: (CommuneRecord | null)[] = [];
  for (const [commune, itsPoints] of byCommune) {
    // Paris as a whole is skipped: one of its arrondissements is meant.
    if (commune !== null && arrondissements.has(commune.insee)) continue;
    for (const point of itsPoints) {
      points.push(point);
      communes.push(commune);
    }
  }
  const nearest = source.nearest(points);
  return {
    centresOf: (commune) => byCommune.get(commune) ?? [],
    communesNear: (...around) => nearest(...around).map((index) => communes[index] ?? null),
  };
}
