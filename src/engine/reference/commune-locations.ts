/**
 * Locates communes by their outlines or, within Paris, Lyon and Marseille, by the outlines of the arrondissements. Uses
 * centres where outlines do not decide (decisions, section 5). Some communes were separated after the outlines were
 * drawn, and overseas collectivities have no outlines.
 */

import { distanceKm, isInPolygon, type Polygon } from '../domain/geo.ts';
import type { CommuneOutlines } from './commune-outlines.ts';
import type { Centre, CommuneRecord } from './commune-records.ts';

/** A point farther than this from each centre of a commune outside all outlines is not in that commune. */
const CENTRE_RADIUS_KM = 30;

/**
 * Polygons, including the sea, of territories that have near neighbours but no outlines, by department. The corners are
 * from `@rapideditor/country-coder` 5.6.1 (ISC), whose border with Sint Maarten is exact to some hundred metres.
 */
const TERRITORIES: Readonly<Record<string, Polygon>> = {
  '975': [cornersOf('-56.72993 46.65575,-55.90758 46.6223,-56.27503 47.39728,-56.72993 46.65575')],
  '977': [cornersOf('-62.62718 18.26185,-63.1055 17.86651,-62.34423 17.49165,-62.62718 18.26185')],
  '978': [
    cornersOf(
      '-62.93924 18.02904,-62.62718 18.26185,-63.35989 18.06012,-63.33064 17.9615,-63.13502 18.05445,' +
        '-63.11042 18.05339,-63.09686 18.04608,-63.07759 18.04943,-63.0579 18.06614,-63.04039 18.05619,' +
        '-63.02323 18.05757,-62.93924 18.02904',
    ),
  ],
};

/** Each corner is a longitude and a latitude. */
function cornersOf(ring: string): Polygon[number] {
  return ring.split(',').map((corner) => {
    const [lon, lat] = corner.split(' ');
    return [Number(lon), Number(lat)];
  });
}

export type CommuneLocations = ReturnType<typeof locateCommunes>;

interface LocationSource {
  readonly communes: readonly CommuneRecord[];
  readonly outlines: CommuneOutlines;
  /** Outlines of the arrondissements. */
  readonly within: CommuneOutlines;
  /** By INSEE code. Includes merged communes. */
  readonly centres: ReadonlyMap<string, readonly Centre[]>;
  /** For the code of a merged commune, returns the commune that it is now part of. */
  readonly communeOf: (insee: string) => CommuneRecord | null;
  /** By the INSEE code of the commune that the arrondissements belong to. */
  readonly arrondissements: ReadonlyMap<string, readonly CommuneRecord[]>;
}

export function locateCommunes(source: LocationSource) {
  const { communes, outlines, within, communeOf, arrondissements } = source;
  const centres = centresByCommune(source);
  const centresOf = (commune: CommuneRecord) => centres.get(commune) ?? [];
  /** By the INSEE code of an outline: communes without an outline whose main centre this outline contains. */
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
    /** The centres of a commune, the main centre first; empty if no centre is known. */
    centresOf,
    /** The commune of the point, even if it is at sea near the coast (`CommuneOutlines.at`); null if there is none. */
    communeAt(at: Centre) {
      const insee = outlines.at(at.lat, at.lon);
      if (insee === null) return nearestCentre(apart.filter(mayHold(at)), at, CENTRE_RADIUS_KM);
      // The border is the outline of the commune, even where the outlines of arrondissements differ by a few metres.
      const arrondissement = arrondissements.has(insee) ? within.at(at.lat, at.lon) : null;
      if (arrondissement !== null) return communeOf(arrondissement);
      return nearestCentre(communesIn(insee), at, Infinity);
    },
    /** All communes whose outline, or else nearest centre, is within `radiusKm`, and some farther communes. */
    communesAround(at: Centre, radiusKm: number) {
      const outlined = outlines.around(at.lat, at.lon, radiusKm).flatMap(communesIn);
      return [...outlined, ...apart.filter((commune) => distanceToCentre(commune, at) <= radiusKm)];
    },
    /** Kilometres to the outline, 0 inside it. For a commune without an outline, kilometres to its nearest centre. */
    distanceKm(commune: CommuneRecord, at: Centre) {
      const drawn = commune.parentInsee === null ? outlines : within;
      return drawn.distanceKm(commune.insee, at.lat, at.lon) ?? distanceToCentre(commune, at);
    },
  };
}

/** Whether a commune without an outline may contain the point, by the territory of its department. */
function mayHold({ lat, lon }: Centre): (commune: CommuneRecord) => boolean {
  return ({ departmentCode }) => {
    const territory = TERRITORIES[departmentCode];
    return territory === undefined || isInPolygon(territory, lat, lon);
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
