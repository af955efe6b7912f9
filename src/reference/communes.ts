/**
 * All communes of France in memory, by INSEE code, id, zip code and name, with the departments and regions round them.
 * Read from two npm packages at start-up (a quarter of a second). Only imported coordinates change it afterwards, at
 * once and for everyone who holds it. `City` objects are built when first asked for and kept until then.
 */

import type { City, CodedPlace, ResolvePlace } from '../domain/city.ts';
import { foldText } from '../domain/text.ts';
import { OUTLYING_PARTS } from './arrondissement-centres.ts';
import { type Centre, readCentres } from './commune-centres.ts';
import { type CommuneRecord, type Department, readCommuneRecords } from './commune-records.ts';
import { cityIdOf, inseeOf } from './reference-ids.ts';
import { createPlaceResolver } from './resolve-place.ts';

export interface Reference {
  /** The commune or arrondissement of this INSEE code; for a merged commune's code the commune it is part of now. */
  city(insee: string): City | null;
  cityById(id: number): City | null;
  /** In order of INSEE code, arrondissements included. */
  cities(): Iterable<City>;
  /** Inhabitants by INSEE code; Paris, Lyon and Marseille are represented by their arrondissements. */
  populations(): Iterable<readonly [insee: string, population: number]>;
  department(code: string): Department | null;
  departmentById(id: number): Department | null;
  departments(): readonly Department[];
  /** Whether some commune has this zip code. */
  isZipcode(zipcode: string): boolean;
  readonly resolvePlace: ResolvePlace;
  /** Communes that meet every given filter, in order of folded name. An INSEE or zip code is compared exactly. */
  findCities(filter: CityFilter, page?: CityPage): FoundCities;
  /** Makes these the imported commune centres, by INSEE code, and no others: they go before those of the package. */
  relocate(coordinates: ReadonlyMap<string, Centre>): void;
}

interface CityFilter {
  readonly insee?: string;
  readonly zipcode?: string;
  /** Beginning of the name, case, accents and hyphens ignored, with or without the article. */
  readonly namePrefix?: string;
}

interface CityPage {
  readonly offset: number;
  readonly limit: number;
}

interface FoundCities {
  /** On all pages together. */
  readonly total: number;
  readonly cities: readonly City[];
}

/** Index of the nearest of `points`, or null when none is near enough. */
type NearestPoint = (lat: number, lon: number) => number | null;

export interface ReferenceOptions {
  /** Imported commune centres, see `relocate`. */
  readonly coordinates?: ReadonlyMap<string, Centre>;
  /** Builds the look-up of the nearest commune centre (matching/commune-locator.ts); without it none is near. */
  readonly nearest?: (points: readonly Centre[]) => NearestPoint;
}

const FRANCE: CodedPlace = { code: 'FR', id: 250, name: 'France' };

/** Throws when a file of the reference packages cannot be read. */
export async function loadReference(options: ReferenceOptions = {}): Promise<Reference> {
  const { communes, mergedInto, departments } = await readCommuneRecords();
  const ownCentres = await readCentres(communes);
  const table = indexCommunes(communes);
  const departmentsByCode = new Map(departments.map((department) => [department.code, department]));
  const departmentsById = new Map(departments.map((department) => [department.id, department]));
  const locate = (imported: ReadonlyMap<string, Centre>): LocatedCommunes => {
    const centres = new Map([...ownCentres, ...imported]);
    const points = pointsOf(table, centres, imported);
    return {
      cityOf: createCityBuilder(table, departmentsByCode, centres),
      nearestCommune: createNearestCommune(points, options.nearest),
    };
  };
  let located = locate(options.coordinates ?? new Map());
  const cityOf = (commune: CommuneRecord) => located.cityOf(commune);
  const communeOf = (insee: string) => table.byInsee.get(mergedInto.get(insee) ?? insee) ?? null;
  const orNull = (commune: CommuneRecord | null | undefined) => (commune ? cityOf(commune) : null);
  return {
    city: (insee) => orNull(communeOf(insee)),
    cityById: (id) => orNull(table.byInsee.get(inseeOf(id))),
    *cities() {
      for (const commune of communes) yield cityOf(commune);
    },
    *populations() {
      for (const { insee, population } of communes) if (!table.arrondissements.has(insee)) yield [insee, population];
    },
    department: (code) => departmentsByCode.get(code) ?? null,
    departmentById: (id) => departmentsById.get(id) ?? null,
    departments: () => departments,
    isZipcode: (zipcode) => table.byZipcode.has(zipcode),
    resolvePlace: createPlaceResolver({
      communeOf,
      communesOfZipcode: (zipcode) => table.byZipcode.get(zipcode) ?? [],
      nearestCommune: (lat, lon) => located.nearestCommune(lat, lon),
      cityOf,
    }),
    findCities: createCityFinder(table, cityOf),
    relocate(coordinates) {
      located = locate(coordinates);
    },
  };
}

/** What coordinates have a say in. */
interface LocatedCommunes {
  readonly cityOf: (commune: CommuneRecord) => City;
  readonly nearestCommune: (lat: number, lon: number) => CommuneRecord | null;
}

interface CommuneTable {
  readonly communes: readonly CommuneRecord[];
  readonly byInsee: ReadonlyMap<string, CommuneRecord>;
  /** A commune with arrondissements is absent: each of its zip codes is one of theirs. */
  readonly byZipcode: ReadonlyMap<string, readonly CommuneRecord[]>;
  /** By INSEE code of the commune they belong to. */
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

/** The name in everyday use: an arrondissement is `Paris 15e`. */
function nameOf({ officialName, parentInsee }: CommuneRecord): string {
  return parentInsee === null ? officialName : officialName.replace(/ Arrondissement$/, '');
}

function createCityBuilder(
  table: CommuneTable,
  departments: ReadonlyMap<string, Department>,
  centres: ReadonlyMap<string, Centre>,
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
      location: centres.get(commune.insee) ?? null,
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

interface CommunePoint extends Centre {
  readonly commune: CommuneRecord;
}

/** Paris as a whole stands aside once all its arrondissements have a centre: the more precise place is meant. */
function pointsOf(
  table: CommuneTable,
  centres: ReadonlyMap<string, Centre>,
  imported: ReadonlyMap<string, Centre>,
): readonly CommunePoint[] {
  return table.communes.flatMap((commune) => {
    const { insee } = commune;
    if (table.arrondissements.get(insee)?.every((part) => centres.has(part.insee))) return [];
    const points = [centres.get(insee), imported.has(insee) ? undefined : OUTLYING_PARTS.get(insee)];
    return points.flatMap((point) => (point === undefined ? [] : { ...point, commune }));
  });
}

function createNearestCommune(
  points: readonly CommunePoint[],
  nearest: ReferenceOptions['nearest'],
): LocatedCommunes['nearestCommune'] {
  if (nearest === undefined) return () => null;
  const indexOfNearest = nearest(points);
  return (lat, lon) => {
    const index = indexOfNearest(lat, lon);
    return index === null ? null : (points[index]?.commune ?? null);
  };
}

/** Folding 35,000 names takes 60 ms: the order by name is made at the first search. */
function createCityFinder(table: CommuneTable, cityOf: (commune: CommuneRecord) => City): Reference['findCities'] {
  let sorted: readonly NamedCommune[] | null = null;
  return (filter, page = { offset: 0, limit: Number.POSITIVE_INFINITY }) => {
    sorted ??= sortByName(table.communes);
    const prefix = filter.namePrefix === undefined ? '' : foldText(filter.namePrefix);
    const { insee, zipcode } = filter;
    const found = sorted.filter(
      ({ commune, folded, bare }) =>
        (insee === undefined || commune.insee === insee) &&
        (zipcode === undefined || commune.zipcodes.includes(zipcode)) &&
        (folded.startsWith(prefix) || bare.startsWith(prefix)),
    );
    const onPage = found.slice(page.offset, page.offset + page.limit);
    return { total: found.length, cities: onPage.map(({ commune }) => cityOf(commune)) };
  };
}

interface NamedCommune {
  readonly commune: CommuneRecord;
  readonly folded: string;
  /** `folded` without its article. */
  readonly bare: string;
}

function sortByName(communes: readonly CommuneRecord[]): readonly NamedCommune[] {
  const named = communes.map((commune) => {
    const folded = foldText(commune.officialName);
    return { commune, folded, bare: folded.replace(/^(?:l|le|la|les|los|aux) /, '') };
  });
  return named.sort((a, b) => compare(a.folded, b.folded) || compare(a.commune.insee, b.commune.insee));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
