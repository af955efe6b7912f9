/**
 * Completes the name of a place: finds cities, departments and zip codes with a word that equals or begins with each
 * typed word. Former names, and names of former communes and localities, also find the commune. A sorted list of all
 * words refers to the places. A place with the typed code precedes the others, which are sorted by relevance
 * (`relevanceAmong`), then by kind of name and number of inhabitants.
 */

import { foldWords } from '../domain/text.ts';
import { type CommuneNames, keyedName, type NameMatch, nameFit, relevanceAmong, spellingsOf } from './commune-names.ts';
import { type CommuneRecord, cityIdOf, type Department } from './commune-records.ts';
import { fullWordOf, isDividedCity, nameForPeople, type PlaceReading, placeKey } from './place-names.ts';

export type PlaceType = 'zipcode' | 'city' | 'department';

export interface CompletedPlace {
  readonly type: PlaceType;
  /** The name in everyday use; for a zip code, the code itself. */
  readonly name: string;
  /** An INSEE code, a department code or a zip code. */
  readonly code: string;
  /** The id of the city or department, as in IRIs; null for a zip code. */
  readonly id: number | null;
  /** The first zip code of a city (null if it has none), or the zip code itself; null for a department. */
  readonly zipcode: string | null;
  readonly population: number;
  /** Ids of the communes with this zip code; empty for other types. */
  readonly cityIds: readonly number[];
  readonly cityNames: readonly string[];
  /** The former name or the locality that the text matched instead of the place's own name; else null. */
  readonly matchedName: string | null;
}

export interface FoundPlaces {
  /** The number of places on all pages. */
  readonly total: number;
  readonly places: readonly CompletedPlace[];
}

export type CompletePlaces = (text: string, page: { readonly offset: number; readonly limit: number }) => FoundPlaces;

export interface PlaceSource {
  readonly communes: readonly CommuneRecord[];
  readonly departments: readonly Department[];
  readonly names: CommuneNames;
  readonly byZipcode: ReadonlyMap<string, readonly CommuneRecord[]>;
  readonly nameOf: (commune: CommuneRecord) => string;
}

/** The index is created at the first use, because reading all words takes 100 ms. */
export function createPlaceCompletion(source: PlaceSource): CompletePlaces {
  let index: PlaceIndex | null = null;
  return (text, { offset, limit }) => {
    index ??= new PlaceIndex(placesOf(source), source.names);
    const found = index.find(text);
    return { total: found.length, places: index.placesAt(found.slice(offset, offset + limit)) };
  };
}

/** A place under one of its names. */
interface WordedPlace {
  /** The place under its own name. */
  readonly place: CompletedPlace;
  /** Null for the place's own name. */
  readonly otherName: string | null;
  readonly keyed: ReturnType<typeof keyedName>;
  readonly kind: NameMatch['kind'];
  readonly words: readonly string[];
}

class PlaceIndex {
  /** By rank. */
  readonly #places: readonly WordedPlace[];
  readonly #names: CommuneNames;
  /** Distinct words, sorted. A word may belong to many places, for example the code of a department. */
  readonly #words: readonly string[];
  /** Ranks of the places that have the word. */
  readonly #ranksOf = new Map<string, number[]>();
  /** By rank: 1 if the current search has found the place. */
  readonly #isMet: Uint8Array;

  constructor(places: readonly WordedPlace[], names: CommuneNames) {
    this.#places = places.toSorted((a, b) => compareRank(a, b));
    this.#names = names;
    for (const [rank, { words }] of this.#places.entries()) {
      for (const word of words) {
        const ranks = this.#ranksOf.get(word);
        if (ranks === undefined) this.#ranksOf.set(word, [rank]);
        else ranks.push(rank);
      }
    }
    this.#words = [...this.#ranksOf.keys()].sort();
    this.#isMet = new Uint8Array(this.#places.length);
  }

  /** Ranks of the places that have all words of `text`, best first, each place once; empty if there are no words. */
  find(text: string): readonly number[] {
    for (const [at, reading] of this.#names.read(text).entries()) {
      const read = [...reading.key.split(' '), ...(reading.code === null ? [] : [reading.code.toLowerCase()])];
      const typed = at === 0 ? foldWords(text) : read;
      const found = this.#findWords(typed);
      const isSame = typed.join(' ') === read.join(' ');
      const ranks = isSame ? found : [...new Set([...found, ...this.#findWords(read)])].sort((a, b) => a - b);
      if (ranks.length > 0) return this.#inOrder(ranks, reading, at === 0 ? spellingsOf(text, reading) : [reading.key]);
    }
    return [];
  }

  #inOrder(ranks: readonly number[], { key, code }: PlaceReading, typed: readonly string[]): readonly number[] {
    const matches = ranks.map((rank) => matchOf(this.#places[rank] as WordedPlace, typed));
    const relevanceOf = relevanceAmong(matches);
    const typedCode = (code ?? key).toUpperCase();
    const mayBeCode = /\d/.test(typedCode);
    const first: number[] = [];
    const inOrder: number[][] = [];
    for (const [at, match] of matches.entries()) {
      const rank = ranks[at] as number;
      const isCode = mayBeCode && this.#places[rank]?.place.code === typedCode;
      if (isCode && (code === null || match.fit !== 'whole')) first.push(rank);
      else (inOrder[relevanceOf(match)] ??= []).push(rank);
    }
    return this.#onceEach([...first, ...inOrder.flat()]);
  }

  #findWords(words: readonly string[]): number[] {
    // The longest word usually has the fewest places, so the other words are checked only for these places.
    const [first, ...others] = [...new Set(words)].sort((a, b) => b.length - a.length).map(beginningsOf);
    if (first === undefined) return [];
    this.#isMet.fill(0);
    for (const beginning of first) this.#meet(beginning);
    const found: number[] = [];
    for (let rank = this.#isMet.indexOf(1); rank >= 0; rank = this.#isMet.indexOf(1, rank + 1)) {
      const stored = (this.#places[rank] as WordedPlace).words;
      const hasAll = others.every((beginnings) =>
        stored.some((word) => beginnings.some((one) => word.startsWith(one))),
      );
      if (hasAll) found.push(rank);
    }
    return found;
  }

  #onceEach(found: readonly number[]): readonly number[] {
    const met = new Set<CompletedPlace>();
    return found.filter((rank) => {
      const { place } = this.#places[rank] as WordedPlace;
      if (met.has(place)) return false;
      met.add(place);
      return true;
    });
  }

  placesAt(ranks: readonly number[]): readonly CompletedPlace[] {
    return ranks.map((rank) => {
      const { place, otherName } = this.#places[rank] as WordedPlace;
      return otherName === null ? place : { ...place, matchedName: nameForPeople(otherName) };
    });
  }

  #meet(beginning: string): void {
    for (let at = this.#firstAtOrAfter(beginning); this.#words[at]?.startsWith(beginning); at++) {
      for (const rank of this.#ranksOf.get(this.#words[at] as string) ?? []) this.#isMet[rank] = 1;
    }
  }

  #firstAtOrAfter(word: string): number {
    let [low, high] = [0, this.#words.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#words[middle] as string) < word) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function matchOf({ place, kind, keyed }: WordedPlace, typed: readonly string[]): NameMatch {
  const fit = nameFit(keyed, typed);
  const population = place.type === 'city' ? place.population : null;
  const isRenamed = kind === 'former' && fit === 'whole' && placeKey(place.name).startsWith(`${keyed.key} `);
  return { fit, population, kind, isRenamed };
}

/** `st` may be the beginning of a word or an abbreviation of `saint`. */
function beginningsOf(word: string): readonly string[] {
  const full = fullWordOf(word);
  return full === null ? [word] : [word, full];
}

const TYPES: readonly PlaceType[] = ['zipcode', 'city', 'department'];

/** Own names precede others, then larger places precede smaller places. The city of Paris precedes the department. */
function compareRank({ kind, place: a }: WordedPlace, { kind: otherKind, place: b }: WordedPlace): number {
  const byName = Number(kind !== 'own') - Number(otherKind !== 'own');
  return (
    byName || b.population - a.population || TYPES.indexOf(a.type) - TYPES.indexOf(b.type) || (a.code < b.code ? -1 : 1)
  );
}

function placesOf({ communes, departments, names, byZipcode, nameOf }: PlaceSource): WordedPlace[] {
  const inhabitants = new Map<string, number>();
  for (const { departmentCode, population, parentInsee } of communes) {
    if (parentInsee !== null) continue;
    inhabitants.set(departmentCode, (inhabitants.get(departmentCode) ?? 0) + population);
  }
  const none = { cityIds: [], cityNames: [], matchedName: null };
  return [
    ...communes.flatMap((commune): WordedPlace[] => {
      const { insee: code, zipcodes, departmentCode, population } = commune;
      const name = nameOf(commune);
      const zipcode = zipcodes[0] ?? null;
      const place = { type: 'city', name, code, id: cityIdOf(code), zipcode, population, ...none } as const;
      const keys = names.keys(commune);
      const ownZipcodes = isDividedCity(keys.own.key) ? [] : zipcodes;
      const codes = [code, departmentCode, ...ownZipcodes].map((one) => one.toLowerCase());
      const wordsOf = ({ key }: WordedPlace['keyed']) => [...key.split(' '), ...codes];
      return [
        { place, otherName: null, keyed: keys.own, kind: 'own', words: wordsOf(keys.own) },
        ...keys.others.map((keyed): WordedPlace => {
          const kind = keyed.isFormer ? 'former' : 'locality';
          return { place, otherName: keyed.name, keyed, kind, words: wordsOf(keyed) };
        }),
      ];
    }),
    ...departments.map(({ code, id, name }): WordedPlace => {
      const population = inhabitants.get(code) ?? 0;
      const place = { type: 'department', name, code, id, zipcode: null, population, ...none } as const;
      const keyed = keyedName(name);
      return { place, otherName: null, keyed, kind: 'own', words: [...keyed.key.split(' '), code.toLowerCase()] };
    }),
    ...[...byZipcode].map(([zipcode, holders]): WordedPlace => {
      const population = holders.reduce((sum, commune) => sum + commune.population, 0);
      const cities = { cityIds: holders.map(({ insee }) => cityIdOf(insee)), cityNames: holders.map(nameOf) };
      const place = {
        type: 'zipcode',
        name: zipcode,
        code: zipcode,
        id: null,
        zipcode,
        population,
        ...cities,
        matchedName: null,
      } as const;
      return { place, otherName: null, keyed: { key: zipcode, bare: zipcode }, kind: 'own', words: [zipcode] };
    }),
  ];
}
