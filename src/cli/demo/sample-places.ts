/** Where sample adverts and points lie: communes drawn by population, points scattered round their centres. */

import type { City } from '../../domain/city.ts';
import type { Reference } from '../../reference/communes.ts';
import type { Random } from './seeded-random.ts';

export interface SamplePlace {
  readonly city: City;
  readonly population: number;
}

export interface SamplePoint {
  readonly lat: number;
  readonly lon: number;
}

/** A sampler of communes with a probability proportional to their population. */
export function createPlaceSampler(reference: Reference, random: Random): () => SamplePlace {
  const places: { readonly insee: string; readonly population: number }[] = [];
  const cumulated: number[] = [];
  let total = 0;
  for (const [insee, population] of reference.populations()) {
    if (population === 0) continue;
    total += population;
    places.push({ insee, population });
    cumulated.push(total);
  }
  const upTo = Float64Array.from(cumulated);
  return () => {
    const place = places[firstAbove(upTo, random.uniform() * total)];
    const city = place === undefined ? null : reference.city(place.insee);
    if (place === undefined || city === null) throw new Error('the reference holds no commune with inhabitants');
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
 * A point near the centre of a commune, farther out in larger ones; round the centre of Paris, Lyon or Marseille for an
 * arrondissement whose own is not known; null when no centre is known. Five decimals, about a metre.
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
