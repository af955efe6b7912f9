/**
 * Finds communes by codes or by the beginning of the name, in a scan of all 35,000 communes. The beginning of a former
 * name, or of the name of a former commune or a locality, also finds the commune.
 */

import type { City } from '../domain/city.ts';
import {
  type CommuneNames,
  isOfDepartment,
  type NameKeys,
  type NameMatch,
  nameFit,
  relevanceAmong,
  spellingsOf,
} from './commune-names.ts';
import { type CommuneRecord, cityIdOf } from './commune-records.ts';
import { isDividedCity, nameForPeople, type PlaceReading } from './place-names.ts';

export interface CityFilter {
  readonly insees?: ReadonlySet<string>;
  /** The commune has at least one of these zip codes. */
  readonly zipcodes?: ReadonlySet<string>;
  /** The beginning of the name as users type it, with or without article, zip code or department. */
  readonly namePrefix?: string;
}

export interface CityPage {
  /** The default is `relevance` (`relevanceAmong`). Ties: by inhabitants in its first position, otherwise by name. */
  readonly order?: 'relevance' | 'name' | 'id';
  readonly direction?: 'asc' | 'desc';
  readonly offset: number;
  readonly limit: number;
}

export interface FoundCity {
  readonly city: City;
  /** The former name or the locality that the text matched instead of the city's own name; else null. */
  readonly matchedName: string | null;
}

export interface FoundCities {
  /** The number of cities on all pages. */
  readonly total: number;
  readonly cities: readonly FoundCity[];
}

export type FindCities = (filter: CityFilter, page?: CityPage) => FoundCities;

const EVERYTHING: CityPage = { offset: 0, limit: Number.POSITIVE_INFINITY };

/** Each order is computed at its first use, because folding 40,000 names takes 70 ms. */
export function createCityFinder(
  communes: readonly CommuneRecord[],
  names: CommuneNames,
  cityOf: (commune: CommuneRecord) => City,
): FindCities {
  let byName: readonly NamedCommune[] | null = null;
  let byId: readonly NamedCommune[] | null = null;
  return (filter, { order = 'relevance', direction = 'asc', offset, limit } = EVERYTHING) => {
    byName ??= sortByName(communes, names);
    if (order === 'id') byId ??= byName.toSorted((a, b) => cityIdOf(a.commune.insee) - cityIdOf(b.commune.insee));
    const inOrder = (order === 'id' && byId !== null ? byId : byName).filter(conditionOf(filter));
    const found = findNamed(inOrder, names, filter.namePrefix ?? '');
    if (direction === 'desc') found.reverse();
    if (order === 'relevance') sortByRelevance(found);
    const onPage = found.slice(offset, offset + limit);
    return {
      total: found.length,
      cities: onPage.map(({ commune, matchedName }) => ({ city: cityOf(commune), matchedName })),
    };
  };
}

function conditionOf({ insees, zipcodes }: CityFilter): (named: NamedCommune) => boolean {
  return ({ commune }) =>
    (insees === undefined || insees.has(commune.insee)) &&
    (zipcodes === undefined || commune.zipcodes.some((zipcode) => zipcodes.has(zipcode)));
}

interface NamedCommune {
  readonly commune: CommuneRecord;
  readonly keys: NameKeys;
}

interface CommuneMatch extends NameMatch {
  readonly commune: CommuneRecord;
  readonly matchedName: string | null;
}

/** Uses the first reading of the text that matches any commune. */
function findNamed(communes: readonly NamedCommune[], names: CommuneNames, text: string): CommuneMatch[] {
  for (const reading of names.read(text)) {
    const typed = spellingsOf(text, reading);
    const found = communes.filter(hasCode(reading)).flatMap((named) => matchOf(named, typed) ?? []);
    if (found.length > 0) return found;
  }
  return [];
}

function hasCode({ code }: PlaceReading): (named: NamedCommune) => boolean {
  return ({ commune, keys }) => {
    if (code === null) return true;
    if (code.length < 5) return isOfDepartment(commune, code);
    return commune.zipcodes.includes(code) && !isDividedCity(keys.own.key);
  };
}

/** Prefers the commune's own name to its other names; null if no name begins with the typed text. */
function matchOf({ commune, keys }: NamedCommune, typed: readonly string[]): CommuneMatch | null {
  const { own, others } = keys;
  const { population } = commune;
  if (begins(own, typed)) {
    const fit = nameFit(own, typed);
    const isRenamed = fit === 'begun' && others.some((one) => one.isFormer && nameFit(one, typed) === 'whole');
    return { commune, population, kind: 'own', isRenamed, matchedName: null, fit };
  }
  const other = others.find((one) => begins(one, typed));
  if (other === undefined) return null;
  const kind = other.isFormer ? 'former' : 'locality';
  const fit = nameFit(other, typed);
  return { commune, population, kind, isRenamed: false, matchedName: nameForPeople(other.name), fit };
}

function begins({ key, bare }: Parameters<typeof nameFit>[0], typed: readonly string[]): boolean {
  for (const text of typed) if (key.startsWith(text) || bare.startsWith(text)) return true;
  return false;
}

function sortByRelevance(found: CommuneMatch[]): void {
  const orderOf = relevanceAmong(found);
  found.sort((a, b) => {
    const order = orderOf(a) - orderOf(b);
    return order === 0 && orderOf(a) === 0 ? b.commune.population - a.commune.population : order;
  });
}

function sortByName(communes: readonly CommuneRecord[], names: CommuneNames): readonly NamedCommune[] {
  const named = communes.map((commune) => ({ commune, keys: names.keys(commune) }));
  return named.sort((a, b) => compare(a.keys.own.key, b.keys.own.key) || compare(a.commune.insee, b.commune.insee));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
