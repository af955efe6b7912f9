/**
 * Finds communes by codes, or the beginning of the name. A scan of all 35,000. The beginning of a former commune's or a
 * locality's name leads to its commune too.
 */

import type { City } from '../domain/city.ts';
import { foldText } from '../domain/text.ts';
import { type CommuneRecord, cityIdOf } from './commune-records.ts';
import { nameForPeople, spellingsOf, withoutArticle } from './place-names.ts';

export interface CityFilter {
  readonly insees?: ReadonlySet<string>;
  /** The commune has one of them. */
  readonly zipcodes?: ReadonlySet<string>;
  /** Beginning of the name, case, accents and hyphens ignored, with or without the article; `st` may be `saint`. */
  readonly namePrefix?: string;
}

export interface CityPage {
  /** `relevance`, the default: those that have the typed name as a whole, then the others by name. */
  readonly order?: 'relevance' | 'name' | 'id';
  readonly direction?: 'asc' | 'desc';
  readonly offset: number;
  readonly limit: number;
}

export interface FoundCity {
  readonly city: City;
  /** The name of a former commune or locality that was typed in place of its own; else null. */
  readonly matchedName: string | null;
}

export interface FoundCities {
  /** On all pages together. */
  readonly total: number;
  readonly cities: readonly FoundCity[];
}

export type FindCities = (filter: CityFilter, page?: CityPage) => FoundCities;

const EVERYTHING: CityPage = { offset: 0, limit: Number.POSITIVE_INFINITY };

/** Folding 40,000 names takes 70 ms: the orders are computed at their first use. */
export function createCityFinder(
  communes: readonly CommuneRecord[],
  cityOf: (commune: CommuneRecord) => City,
): FindCities {
  let byName: readonly NamedCommune[] | null = null;
  let byId: readonly NamedCommune[] | null = null;
  return (filter, { order = 'relevance', direction = 'asc', offset, limit } = EVERYTHING) => {
    byName ??= sortByName(communes);
    if (order === 'id') byId ??= byName.toSorted((a, b) => cityIdOf(a.commune.insee) - cityIdOf(b.commune.insee));
    const inOrder = order === 'id' && byId !== null ? byId : byName;
    const names = spellingsOf(filter.namePrefix ?? '');
    const found = inOrder.filter(conditionOf(filter)).flatMap((named) => matchOf(named, names) ?? []);
    if (direction === 'desc') found.reverse();
    if (order === 'relevance') found.sort((a, b) => Number(b.isWhole) - Number(a.isWhole));
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

interface CommuneMatch {
  readonly commune: CommuneRecord;
  readonly matchedName: string | null;
  /** One of `names` is the whole name. */
  readonly isWhole: boolean;
}

/** By its own name before another one; null when none begins with one of `names`. */
function matchOf({ commune, folded, bare, others }: NamedCommune, names: readonly string[]): CommuneMatch | null {
  if (names.some((name) => folded.startsWith(name) || bare.startsWith(name))) {
    return { commune, matchedName: null, isWhole: names.includes(folded) };
  }
  const other = others.find(({ folded: key, bare: rest }) =>
    names.some((name) => key.startsWith(name) || rest.startsWith(name)),
  );
  return other === undefined ? null : { commune, matchedName: other.name, isWhole: names.includes(other.folded) };
}

interface NamedCommune {
  readonly commune: CommuneRecord;
  readonly folded: string;
  /** `folded` without its article. */
  readonly bare: string;
  /** Former communes and localities. */
  readonly others: readonly { readonly name: string; readonly folded: string; readonly bare: string }[];
}

function sortByName(communes: readonly CommuneRecord[]): readonly NamedCommune[] {
  const named = communes.map((commune) => {
    const folded = foldText(commune.officialName);
    const others = commune.otherNames
      .map(nameForPeople)
      .map((name) => ({ name, folded: foldText(name) }))
      .map((other) => ({ ...other, bare: withoutArticle(other.folded) }))
      .filter((other) => other.folded !== folded);
    return { commune, folded, bare: withoutArticle(folded), others };
  });
  return named.sort((a, b) => compare(a.folded, b.folded) || compare(a.commune.insee, b.commune.insee));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
