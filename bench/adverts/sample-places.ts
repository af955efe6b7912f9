/** Places of sample adverts and points: communes drawn by population, and points scattered around their centres. */

import type { City } from '../../src/engine/domain/city.ts';
import {
  FACILITIES,
  type Facility,
  OPERATOR_TYPES,
  type PointAttributes,
  type PointOfInterest,
  SCHOOL_TYPES,
} from '../../src/engine/domain/point-of-interest.ts';
import type { Reference } from '../../src/engine/reference/communes.ts';
import { createRandom, type Random } from './seeded-random.ts';

export interface SamplePlace {
  readonly city: City;
  readonly population: number;
}

export interface SamplePoint {
  readonly lat: number;
  readonly lon: number;
}

/** A sampler of communes of metropolitan France, with a probability proportional to their population. */
export function createPlaceSampler(reference: Reference, random: Random): () => SamplePlace {
  const places: { readonly insee: string; readonly population: number }[] = [];
  const cumulated: number[] = [];
  let total = 0;
  for (const [insee, population] of reference.populations()) {
    // Overseas communes are left out: a map of all adverts would have to show other oceans.
    if (population === 0 || /^9[78]/.test(insee)) continue;
    total += population;
    places.push({ insee, population });
    cumulated.push(total);
  }
  const upTo = Float64Array.from(cumulated);
  return () => {
    const place = places[firstAbove(upTo, random.uniform() * total)];
    const city = place === undefined ? null : reference.city(place.insee);
    if (place === undefined || city === null) throw new Error('the reference data has no commune with inhabitants');
    return { city, population: place.population };
  };
}

function firstAbove(ascending: Float64Array, value: number): number {
  let low = 0;
  let high = ascending.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ascending[middle] as number) > value) high = middle;
    else low = middle + 1;
  }
  return low;
}

const KM_PER_DEGREE = 111.2;

/**
 * A point near the centre of a commune, farther out in larger ones. If an arrondissement of Paris, Lyon or Marseille
 * has no known centre, the commune's is used; null if no centre is known. Rounded to five decimals, about a metre.
 */
export function scatterPoint(
  { city, population }: SamplePlace,
  reference: Reference,
  random: Random,
): SamplePoint | null {
  const parent = city.cityParentId === null ? null : reference.cityById(city.cityParentId);
  const centre = city.location ?? parent?.location ?? null;
  if (centre === null) return null;
  const radiusKm = Math.min(4, 0.4 + Math.sqrt(population) / 120);
  const lat = centre.lat + (random.normal() * radiusKm) / 2 / KM_PER_DEGREE;
  const perDegree = KM_PER_DEGREE * Math.cos((lat * Math.PI) / 180);
  const lon = centre.lon + (random.normal() * radiusKm) / 2 / perDegree;
  return { lat: Math.round(lat * 1e5) / 1e5, lon: Math.round(lon * 1e5) / 1e5 };
}

export interface SamplePointsOptions {
  readonly seed: number;
  readonly reference: Reference;
  /** Number of points. */
  readonly count: number;
}

/**
 * Points of interest of all five facilities, with more in larger communes, for tests and benchmarks. The same seed
 * gives the same points.
 */
export function* samplePointsOfInterest(options: SamplePointsOptions): Generator<PointOfInterest, void> {
  const { reference, count } = options;
  const random = createRandom(options.seed);
  const samplePlace = createPlaceSampler(reference, random);
  for (let made = 0; made < count; ) {
    const place = samplePlace();
    const point = scatterPoint(place, reference, random);
    if (point === null) continue;
    const facility = random.pick(FACILITIES);
    const isNamed = facility === 'school' || facility === 'hospital' || random.chance(0.5);
    const attributes: PointAttributes = {
      ...(facility === 'school' ? { schoolType: random.pick(SCHOOL_TYPES) } : {}),
      ...(facility !== 'restaurant' && random.chance(0.6) ? { operatorType: random.pick(OPERATOR_TYPES) } : {}),
    };
    yield { facility, ...point, name: isNamed ? `${NOUNS[facility]} de ${place.city.name}` : null, attributes };
    made++;
  }
}

const NOUNS: Readonly<Record<Facility, string>> = {
  kindergarten: 'Crèche',
  school: 'École',
  restaurant: 'Table',
  hospital: 'Hôpital',
  parking: 'Parking',
};
