/**
 * Where communes lie: by their outlines, and by centres where outlines do not decide, which is within Paris, Lyon and
 * Marseille, within communes that were separated after the outlines were drawn, and overseas where there are none
 * (decisions, section 5).
 */

import { distanceKm } from '../domain/geo.ts';
import type { CommuneOutlines } from './commune-outlines.ts';
import type { Centre, CommuneRecord } from './commune-records.ts';

/** A point farther than this from each centre of a commune without outline is in none of them. */
const CENTRE_RADIUS_KM = 30;

export interface CommuneLocations {
  /** The main one first; empty when none is known. */
  centresOf(commune: CommuneRecord): readonly Centre[];
  /** The commune that the place is in, null abroad and at sea. */
  communeAt(at: Centre): CommuneRecord | null;
  /** All within `radiusKm` of their outlines, and others a little farther. */
  communesAround(at: Centre, radiusKm: number): readonly CommuneRecord[];
  /** To the outline, 0 inside; of a commune without one to its nearest centre. */
  distanceKm(commune: CommuneRecord, at: Centre): number;
}

interface LocationSource {
  readonly communes: readonly CommuneRecord[];
  readonly outlines: CommuneOutlines;
  /** By INSEE code, those of communes merged since included. */
  readonly centres: ReadonlyMap<string, readonly Centre[]>;
  /** For the code of a merged commune the commune of today. */
  readonly communeOf: (insee: string) => CommuneRecord | null;
  /** By INSEE code of the commune that they belong to. */
  readonly arrondissements: ReadonlyMap<string, readonly CommuneRecord[]>;
}

export function locateCommunes(source: LocationSource): CommuneLocations {
  const { communes, outlines, communeOf, arrondissements } = source;
  const centres = centresByCommune(source);
  const centresOf = (commune: CommuneRecord) => centres.get(commune) ?? [];
  /** By INSEE code of an outline: those without one of their own whose main centre it holds. */
  const sharing = new Map<string, CommuneRecord[]>();
  const apart: CommuneRecord[] = [];
  for (const commune of communes) {
    if (commune.parentInsee !== null || outlines.has(commune.insee)) continue;
    const [centre] = centresOf(commune);
    const holder = centre === undefined ? null : outlines.at(centre.lat, centre.lon);
    if (holder === null) apart.push(commune);
    else sharing.set(holder, [...(sharing.get(holder) ?? []), commune]);
  }

  function communesIn(insee: string): readonly CommuneRecord[] {
    const commune = communeOf(insee);
    const parts = arrondissements.get(insee);
    if (commune === null || parts !== undefined) return parts ?? [];
    return [commune, ...(sharing.get(insee) ?? [])];
  }

  const distanceToCentre = (commune: CommuneRecord, at: Centre) =>
    Math.min(...centresOf(commune).map(({ lat, lon }) => distanceKm(at.lat, at.lon, lat, lon)));

  function nearestCentre(among: readonly CommuneRecord[], at: Centre, radiusKm: number): CommuneRecord | null {
    let [nearest, nearestKm]: [CommuneRecord | null, number] = [null, radiusKm];
    for (const commune of among) {
      const km = distanceToCentre(commune, at);
      if (km <= nearestKm) [nearest, nearestKm] = [commune, km];
    }
    return nearest;
  }

  return {
    centresOf,
    communeAt(at) {
      const insee = outlines.at(at.lat, at.lon);
      if (insee === null) return nearestCentre(apart, at, CENTRE_RADIUS_KM);
      const [only = null, ...more] = communesIn(insee);
      return more.length === 0 ? only : nearestCentre([only as CommuneRecord, ...more], at, Infinity);
    },
    communesAround(at, radiusKm) {
      const outlined = outlines.around(at.lat, at.lon, radiusKm).flatMap(communesIn);
      return [...outlined, ...apart.filter((commune) => distanceToCentre(commune, at) <= radiusKm)];
    },
    distanceKm: (commune, at) => outlines.distanceKm(commune.insee, at.lat, at.lon) ?? distanceToCentre(commune, at),
  };
}

function centresByCommune({ centres, communeOf }: LocationSource): Map<CommuneRecord, Centre[]> {
  const byCommune = new Map<CommuneRecord, Centre[]>();
  for (const [insee, points] of centres) {
    const commune = communeOf(insee);
    if (commune === null) continue;
    const known = byCommune.get(commune) ?? [];
    byCommune.set(commune, commune.insee === insee ? [...points, ...known] : [...known, ...points]);
  }
  return byCommune;
}
