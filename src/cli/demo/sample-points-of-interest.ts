/**
 * Points of interest of all five facilities round French communes, more of them in larger ones, the same for a seed.
 * For the demo and the benchmarks, where no OpenStreetMap extract is at hand.
 */

import {
  FACILITIES,
  type Facility,
  OPERATOR_TYPES,
  type PointAttributes,
  type PointOfInterest,
  SCHOOL_TYPES,
} from '../../domain/point-of-interest.ts';
import type { Reference } from '../../reference/communes.ts';
import { createPlaceSampler, scatterPoint } from './sample-places.ts';
import { createRandom, type Random } from './seeded-random.ts';

export interface SamplePointsOptions {
  readonly seed: number;
  readonly reference: Reference;
  /** How many points to make. */
  readonly count: number;
}

/** As OpenStreetMap counts them in France, roughly. */
const SHARES: Readonly<Record<Facility, number>> = {
  kindergarten: 6,
  school: 25,
  restaurant: 34,
  hospital: 2,
  parking: 33,
};
const SCHOOL_NAMES = [
  'Jean Jaurès',
  'Jules Ferry',
  'Marie Curie',
  'Victor Hugo',
  'Sainte-Anne',
  'Simone Veil',
] as const;
const RESTAURANT_NAMES = ['Le Bistrot', 'La Table', 'Chez Léon', "L'Olivier", 'Le Comptoir', 'La Marée'] as const;

export function* samplePointsOfInterest(options: SamplePointsOptions): Generator<PointOfInterest, void> {
  const { reference, count } = options;
  const random = createRandom(options.seed);
  const samplePlace = createPlaceSampler(reference, random);
  const shares = FACILITIES.map((facility) => [facility, SHARES[facility]] as const);
  for (let made = 0; made < count; ) {
    const place = samplePlace();
    const point = scatterPoint(place, reference, random);
    if (point === null) continue;
    const facility = random.weighted(shares);
    yield { facility, ...point, ...describe(facility, place.city.name, random) };
    made++;
  }
}

function describe(facility: Facility, place: string, random: Random): Pick<PointOfInterest, 'name' | 'attributes'> {
  switch (facility) {
    case 'school':
      return describeSchool(random);
    case 'kindergarten':
      return { name: random.chance(0.8) ? `Crèche de ${place}` : null, attributes: drawOperator(random) };
    case 'restaurant':
      return { name: random.chance(0.95) ? random.pick(RESTAURANT_NAMES) : null, attributes: {} };
    case 'hospital':
      return { name: `Hôpital de ${place}`, attributes: drawOperator(random) };
    case 'parking':
      return { name: random.chance(0.1) ? `Parking de ${place}` : null, attributes: {} };
  }
}

function describeSchool(random: Random): Pick<PointOfInterest, 'name' | 'attributes'> {
  const schoolType = random.pick(SCHOOL_TYPES);
  const kind = schoolType === 'collège' || schoolType === 'lycée' ? schoolType : `école ${schoolType}`;
  const name = `${kind.charAt(0).toUpperCase()}${kind.slice(1)} ${random.pick(SCHOOL_NAMES)}`;
  return { name, attributes: { ...(random.chance(0.85) ? { schoolType } : {}), ...drawOperator(random) } };
}

function drawOperator(random: Random): PointAttributes {
  return random.chance(0.6) ? { operatorType: random.chance(0.8) ? OPERATOR_TYPES[0] : OPERATOR_TYPES[1] } : {};
}
