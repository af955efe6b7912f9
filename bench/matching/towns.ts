/**
 * Populated communes from the npm reference data, at their known coordinates. Those without coordinates, mostly
 * villages, are scattered around known communes of their department, and arrondissements around the centre of their
 * commune.
 */

import { around } from 'geokdbush';
import KDBush from 'kdbush';
import { loadReference } from '../../src/engine/reference/communes.ts';
import { type Random, randomOf } from './random.ts';

export interface Town {
  readonly insee: string;
  readonly name: string;
  /** The town's own code and its parent's, as matching uses them. */
  readonly inseeCodes: readonly string[];
  readonly departmentCode: string;
  readonly zipcodes: readonly string[];
  readonly lat: number;
  readonly lon: number;
  readonly population: number;
}

export interface Towns {
  readonly all: readonly Town[];
  /** A town drawn by population. */
  draw(random: Random): Town;
  /** The nearest towns, beginning with the town itself. */
  neighbours(town: Town): readonly Town[];
  nearest(lat: number, lon: number): Town;
  /** A town with this INSEE code, or in this zip code or department. */
  named(code: string): Town | undefined;
}

const NEIGHBOURS = 12;
const ARRONDISSEMENT_KM = 4;
const SCATTER_KM = 15;
const KM_PER_DEGREE = 111.2;

export async function loadTowns(seed: number): Promise<Towns> {
  const reference = await loadReference();
  const known = new Map<string, { lat: number; lon: number }[]>();
  const draft: (Omit<Town, 'lat' | 'lon'> & { location: { lat: number; lon: number } | null; nearKm: number })[] = [];
  for (const [insee, population] of reference.populations()) {
    const city = reference.city(insee);
    const place = reference.resolvePlace({ insee, zipcode: null, name: null, lat: null, lon: null });
    if (city === null || place === null || population <= 0) continue;
    const parent = city.cityParentId === null ? null : reference.cityById(city.cityParentId);
    const departmentCode = city.department.code;
    if (city.location !== null) known.set(departmentCode, [...(known.get(departmentCode) ?? []), city.location]);
    const location = city.location ?? parent?.location ?? null;
    const nearKm = city.location !== null ? 0 : location !== null ? ARRONDISSEMENT_KM : SCATTER_KM;
    draft.push({
      insee,
      name: city.name,
      inseeCodes: place.inseeCodes,
      departmentCode,
      zipcodes: place.zipcodes.slice(0, 1),
      population,
      location,
      nearKm,
    });
  }
  const towns = draft.flatMap(({ location, nearKm, ...town }, i): Town[] => {
    const random = randomOf(seed, 1, i);
    const near = location ?? random.one(known.get(town.departmentCode) ?? []);
    return near === undefined ? [] : [{ ...town, ...scatter(near, nearKm, random) }];
  });
  const byCode = new Map<string, Town>();
  for (const town of towns) {
    for (const code of [...town.inseeCodes, ...town.zipcodes, town.departmentCode]) byCode.set(code, town);
  }
  return { all: towns, draw: drawer(towns), ...neighbourFinder(towns), named: (code) => byCode.get(code) };
}

/** A random location; its distances to the north and east are normally distributed with deviation `km`. */
export function scatter(
  { lat, lon }: { lat: number; lon: number },
  km: number,
  random: Random,
): { lat: number; lon: number } {
  const north = (random.normal() * km) / KM_PER_DEGREE;
  const east = (random.normal() * km) / KM_PER_DEGREE / Math.cos((lat * Math.PI) / 180);
  return { lat: Number((lat + north).toFixed(6)), lon: Number((lon + east).toFixed(6)) };
}

function drawer(towns: readonly Town[]): (random: Random) => Town {
  const sums = new Float64Array(towns.length);
  let sum = 0;
  for (const [i, { population }] of towns.entries()) sums[i] = sum += population;
  return (random) => {
    const target = random.next() * sum;
    let low = 0;
    let high = towns.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sums[middle] as number) <= target) low = middle + 1;
      else high = middle;
    }
    return towns[low] as Town;
  };
}

function neighbourFinder(towns: readonly Town[]): Pick<Towns, 'neighbours' | 'nearest'> {
  const tree = new KDBush(towns.length);
  for (const { lat, lon } of towns) tree.add(lon, lat);
  tree.finish();
  const nearestTo = (lat: number, lon: number, count: number) =>
    around(tree, lon, lat, count).map((i) => towns[i] as Town);
  const nearest = new Map(towns.map((town) => [town, nearestTo(town.lat, town.lon, NEIGHBOURS)]));
  return {
    neighbours: (town) => nearest.get(town) as readonly Town[],
    nearest: (lat, lon) => nearestTo(lat, lon, 1)[0] as Town,
  };
}
