/**
 * All communes of France in memory, by INSEE code, id, zip code and name, with their departments and regions. An npm
 * package, a table of places and outlines are read at start-up. `City` objects are created at their first use.
 */

import type { City, CodedPlace } from '../domain/city.ts';
import { createCityFinder } from './city-finder.ts';
import { type CommuneLocations, locateCommunes } from './commune-locations.ts';
import { CommuneNames } from './commune-names.ts';
import { readCommuneOutlines } from './commune-outlines.ts';
import {
  type CommuneRecord,
  cityIdOf,
  type Department,
  inseeOf,
  readCommuneRecords,
  readPlaceTable,
} from './commune-records.ts';
import { createPlaceCompletion } from './place-completion.ts';
import { createPlaceResolver } from './resolve-place.ts';

export type Reference = Awaited<ReturnType<typeof readReference>>;

const FRANCE: CodedPlace = { code: 'FR', id: 250, name: 'France' };

/** All services of a process share this value, because they only read it. */
let loaded: Promise<Reference> | null = null;

/** Throws if a file of the reference data cannot be read. */
export async function loadReference(): Promise<Reference> {
  loaded ??= readReference();
  // Each caller gets its own promise, so that node:test attributes continuations to the right test.
  return await loaded;
}

async function readReference() {
  const [places, outlines, within] = await Promise.all([
    readPlaceTable(),
    readCommuneOutlines(),
    readCommuneOutlines('arrondissements'),
  ]);
  const { communes, mergedInto, departments } = await readCommuneRecords(places);
  const table = indexCommunes(communes);
  const departmentsByCode = new Map(departments.map((department) => [department.code, department]));
  const departmentsById = new Map(departments.map((department) => [department.id, department]));
  const communeOf = (insee: string) => table.byInsee.get(mergedInto.get(insee) ?? insee) ?? null;
  const { arrondissements } = table;
  const located = locateCommunes({ communes, outlines, within, centres: places.centres, communeOf, arrondissements });
  const names = new CommuneNames({ communes, departments, communeOf });
  const cityOf = createCityBuilder(table, departmentsByCode, located.centresOf);
  const orNull = (commune: CommuneRecord | null | undefined) => (commune ? cityOf(commune) : null);
  return {
    /** The commune or arrondissement with this INSEE code; for a merged commune, the commune that it is now part of. */
    city: (insee: string) => orNull(communeOf(insee)),
    cityById: (id: number) => orNull(table.byInsee.get(inseeOf(id))),
    /** In the order of the official list, including arrondissements. */
    *cities() {
      for (const commune of communes) yield cityOf(commune);
    },
    /** Number of inhabitants by INSEE code. Paris, Lyon and Marseille are represented by their arrondissements. */
    *populations(): Generator<readonly [insee: string, population: number]> {
      for (const { insee, population } of communes) if (!arrondissements.has(insee)) yield [insee, population];
    },
    department: (code: string) => departmentsByCode.get(code) ?? null,
    departmentById: (id: number) => departmentsById.get(id) ?? null,
    departments: () => departments,
    /** The name of the commune, arrondissement or department with this code. */
    nameOf: (code: string) => orNull(communeOf(code))?.name ?? departmentsByCode.get(code)?.name ?? null,
    /** The outlines of the department's communes; null if the department or its outlines are unknown. */
    outlinesOf: (department: string) =>
      outlines.ofDepartment((insee) => {
        const commune = table.byInsee.get(insee);
        return commune?.departmentCode === department ? nameOf(commune) : null;
      }),
    /** Whether any commune has this zip code. */
    isZipcode: (zipcode: string) => table.byZipcode.has(zipcode),
    resolvePlace: createPlaceResolver({
      names,
      communeOf,
      communesOfZipcode: (zipcode) => table.byZipcode.get(zipcode) ?? [],
      communeAt: located.communeAt,
      communesAround: located.communesAround,
      distanceKm: located.distanceKm,
      cityOf,
    }),
    /** Finds communes that meet every given filter, ordered by relevance unless another order is requested. */
    findCities: createCityFinder(communes, names, cityOf),
    /** Finds places that match the typed words; see `place-completion.ts` for their order. */
    completePlaces: createPlaceCompletion({ communes, departments, names, byZipcode: table.byZipcode, nameOf }),
  };
}

/**
 * Sorts cities and places before requests are served. Otherwise the first search would sort them, which takes too long
 * for a request.
 */
export function sortPlaces({ findCities, completePlaces }: Reference): void {
  findCities({}, { order: 'id', offset: 0, limit: 0 });
  completePlaces('', { offset: 0, limit: 0 });
}

interface CommuneTable {
  readonly communes: readonly CommuneRecord[];
  readonly byInsee: ReadonlyMap<string, CommuneRecord>;
  /** Excludes communes with arrondissements, because each of their zip codes belongs to an arrondissement. */
  readonly byZipcode: ReadonlyMap<string, readonly CommuneRecord[]>;
  /** By the INSEE code of the commune that the arrondissements belong to. */
  readonly arrondissements: ReadonlyMap<string, readonly CommuneRecord[]>;
}

function indexCommunes(communes: readonly CommuneRecord[]): CommuneTable {
  const byInsee = new Map<string, CommuneRecord>();
  const byZipcode = new Map<string, CommuneRecord[]>();
  const arrondissements = new Map<string, CommuneRecord[]>();
  for (const commune of communes) {
    byInsee.set(commune.insee, commune);
    if (commune.parentInsee !== null) append(arrondissements, commune.parentInsee, commune);
  }
  for (const commune of communes) {
    if (arrondissements.has(commune.insee)) continue;
    for (const zipcode of commune.zipcodes) append(byZipcode, zipcode, commune);
  }
  return { communes, byInsee, byZipcode, arrondissements };
}

function append(lists: Map<string, CommuneRecord[]>, key: string, commune: CommuneRecord): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [commune]);
  else list.push(commune);
}

/** The name in everyday use; for an arrondissement, for example `Paris 15e`. */
function nameOf({ officialName, parentInsee }: CommuneRecord): string {
  return parentInsee === null ? officialName : officialName.replace(/ Arrondissement$/, '');
}

function createCityBuilder(
  table: CommuneTable,
  departments: ReadonlyMap<string, Department>,
  centresOf: CommuneLocations['centresOf'],
): (commune: CommuneRecord) => City {
  const built = new Map<CommuneRecord, City>();
  const places = new Map([...departments.values()].map(({ code, id, name }) => [code, { code, id, name }]));

  function build(commune: CommuneRecord): City {
    const department = departments.get(commune.departmentCode);
    const place = places.get(commune.departmentCode);
    if (department === undefined || place === undefined) throw new Error(`commune ${commune.insee} has no department`);
    const name = nameOf(commune);
    const zipcode = commune.zipcodes[0] ?? '';
    const group = table.arrondissements.get(commune.insee) ?? table.byZipcode.get(zipcode) ?? [commune];
    return {
      id: cityIdOf(commune.insee),
      cityParentId: commune.parentInsee === null ? null : cityIdOf(commune.parentInsee),
      insee: commune.insee,
      name,
      originalName: commune.officialName,
      zipcode,
      country: FRANCE,
      department: place,
      region: department.region,
      groupedCityNames: group.map(nameOf),
      groupedCityZipcodes: commune.zipcodes,
      hasGroupedByName: group.length > 1,
      hasGroupedByZipcode: commune.zipcodes.length > 1,
      open: true,
      location: centresOf(commune)[0] ?? null,
    };
  }

  return (commune) => {
    const known = built.get(commune);
    if (known !== undefined) return known;
    const city = build(commune);
    built.set(commune, city);
    return city;
  };
}
