/** Finds communes by codes, a part of the name, or its slug. A scan of all 35,000. */

import type { City } from '../domain/city.ts';
import { foldText, foldWords } from '../domain/text.ts';
import { type CommuneRecord, cityIdOf } from './commune-records.ts';
import { fullWordOf } from './place-names.ts';

export interface CityFilter {
  readonly insees?: ReadonlySet<string>;
  /** The commune has one of them. */
  readonly zipcodes?: ReadonlySet<string>;
  /** Beginning of the name, case, accents and hyphens ignored, with or without the article; `st` may be `saint`. */
  readonly namePrefix?: string;
  /** Any part of the name, likewise. */
  readonly namePart?: string;
  /** `saint-etienne`, or with one of its zip codes: `saint-etienne-42000`. */
  readonly slug?: string;
}

export interface CityPage {
  readonly order?: 'name' | 'id';
  readonly direction?: 'asc' | 'desc';
  readonly offset: number;
  readonly limit: number;
}

export interface FoundCities {
  /** On all pages together. */
  readonly total: number;
  readonly cities: readonly City[];
}

export type FindCities = (filter: CityFilter, page?: CityPage) => FoundCities;

const EVERYTHING: CityPage = { offset: 0, limit: Number.POSITIVE_INFINITY };

/** Folding 35,000 names takes 60 ms: the orders are computed at their first use. */
export function createCityFinder(
  communes: readonly CommuneRecord[],
  cityOf: (commune: CommuneRecord) => City,
): FindCities {
  let byName: readonly NamedCommune[] | null = null;
  let byId: readonly NamedCommune[] | null = null;
  return (filter, { order = 'name', direction = 'asc', offset, limit } = EVERYTHING) => {
    byName ??= sortByName(communes);
    if (order === 'id') byId ??= byName.toSorted((a, b) => cityIdOf(a.commune.insee) - cityIdOf(b.commune.insee));
    const found = (order === 'id' && byId !== null ? byId : byName).filter(conditionOf(filter));
    if (direction === 'desc') found.reverse();
    const onPage = found.slice(offset, offset + limit);
    return { total: found.length, cities: onPage.map(({ commune }) => cityOf(commune)) };
  };
}

function conditionOf({ insees, zipcodes, namePrefix, namePart, slug }: CityFilter): (named: NamedCommune) => boolean {
  const prefixes = spellingsOf(namePrefix ?? '');
  const parts = spellingsOf(namePart ?? '');
  const slugWords = slug === undefined ? null : foldText(slug);
  return (named) => {
    const { commune, folded, bare } = named;
    return (
      (insees === undefined || insees.has(commune.insee)) &&
      (zipcodes === undefined || commune.zipcodes.some((zipcode) => zipcodes.has(zipcode))) &&
      prefixes.some((prefix) => folded.startsWith(prefix) || bare.startsWith(prefix)) &&
      parts.some((part) => folded.includes(part)) &&
      (slugWords === null || hasSlug(named, slugWords))
    );
  };
}

/** As typed, and with abbreviations written out. */
function spellingsOf(text: string): readonly string[] {
  const words = foldWords(text);
  return [words.join(' '), words.map((word) => fullWordOf(word) ?? word).join(' ')];
}

function hasSlug({ commune, folded }: NamedCommune, words: string): boolean {
  const name = folded.replace(/ arrondissement$/, '');
  if (!words.startsWith(name)) return false;
  return words === name || words === folded || commune.zipcodes.some((zipcode) => words === `${name} ${zipcode}`);
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
