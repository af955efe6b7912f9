/**
 * Folds commune names in the spellings of adverts. `St Maur`, `SAINT-MAUR CEDEX 2` and `Saint-Maur` have the same key,
 * as do `Paris 15e`, `Paris 15ème arrondissement`, `PARIS 15` and `Paris XV`.
 */

import { foldWords } from '../domain/text.ts';

const ABBREVIATIONS: Readonly<Record<string, string>> = {
  st: 'saint',
  ste: 'sainte',
  sts: 'saints',
  stes: 'saintes',
  s: 'sur',
  ss: 'sous',
  lez: 'les',
  nd: 'notre dame',
  mt: 'mont',
};
const ROMAN_NUMBERS: ReadonlyMap<string, string> = new Map(
  'i ii iii iv v vi vii viii ix x xi xii xiii xiv xv xvi xvii xviii xix xx'
    .split(' ')
    .map((numeral, i) => [numeral, String(i + 1)]),
);
/** Cities with arrondissements, and their departments. */
const DIVIDED_CITIES: ReadonlyMap<string, string> = new Map([
  ['paris', '75'],
  ['lyon', '69'],
  ['marseille', '13'],
]);
/** Whether the city has arrondissements. Each zip code of such a city belongs to an arrondissement. */
export function isDividedCity(key: string): boolean {
  return DIVIDED_CITIES.has(key);
}

/** An ordinal number, complete or partly typed. */
const ORDINAL = /^0?(\d{1,2})(?:er?|ere|em|eme|i|ie|iem|ieme|n|nd|nde|d)?$/;
const ARRONDISSEMENT = /^(?:arrondissements?|arrdt?|arr|ardt)$/;
const ARRONDISSEMENT_MAX = 20;
const CODE = /^(?:\d{5}|\d\d|2[ab]|9[78]\d)$/;

/** A name as written, which often has a code before or after it: `83000 Toulon`, `Toulon (83)`. */
export interface PlaceReading {
  /** The canonical name, as from `placeKey`. */
  readonly key: string;
  /** A zip code, or the code of a department. */
  readonly code: string | null;
}

export function readPlaceName(text: string): PlaceReading {
  const words = wordsOf(text);
  const [first = ''] = words;
  const last = words.length > 1 ? (words.at(-1) as string) : '';
  if (CODE.test(last) && !isArrondissement(text, first, last)) {
    return { key: keyOf(words.slice(0, -1)), code: last.toUpperCase() };
  }
  if (words.length > 1 && CODE.test(first)) return { key: keyOf(words.slice(1)), code: first.toUpperCase() };
  return { key: keyOf(words), code: null };
}

/** `Marseille 13` means the arrondissement, but `Marseille (13)` means the city and its department. */
function isArrondissement(text: string, city: string, code: string): boolean {
  const department = DIVIDED_CITIES.get(city);
  if (department === undefined || Number(code) > ARRONDISSEMENT_MAX) return false;
  return code !== department || !text.includes(`(${code})`);
}

/** The folded words of a commune name in canonical spelling, separated by spaces; empty if no word remains. */
export function placeKey(name: string): string {
  return keyOf(wordsOf(name));
}

function wordsOf(name: string): readonly string[] {
  const words = foldWords(name);
  const end = words.indexOf('cedex');
  return end === -1 ? words : words.slice(0, end);
}

function keyOf(written: readonly string[]): string {
  const words = written.map((word) => (Object.hasOwn(ABBREVIATIONS, word) ? ABBREVIATIONS[word] : word));
  const [city = '', ...rest] = words as string[];
  return DIVIDED_CITIES.has(city) ? arrondissementKey(city, rest) : words.join(' ');
}

/** The last word may be the beginning of `arrondissement`. */
function arrondissementKey(city: string, words: readonly string[]): string {
  const kept = words
    .filter((word, at) => !ARRONDISSEMENT.test(word) && (at === 0 || !'arrondissement'.startsWith(word)))
    .map((word) => ORDINAL.exec(word)?.[1] ?? ROMAN_NUMBERS.get(word.replace(/e(?:me|r)?$/, '')) ?? word);
  return [city, ...kept].join(' ');
}

/** The word that the abbreviation means; null if `word` is no abbreviation, or means several words. */
export function fullWordOf(word: string): string | null {
  const full = Object.hasOwn(ABBREVIATIONS, word) ? ABBREVIATIONS[word] : undefined;
  return full === undefined || full.includes(' ') ? null : full;
}

/** `Le`, `La`, `Les`, `L'`, `Los` or `Aux` at the beginning of an official name; otherwise empty. */
export function articleOf(officialName: string): string {
  return /^(?:L'|(?:Le|La|Les|Los|Aux)(?= ))/.exec(officialName)?.[0] ?? '';
}

export function withoutArticle(folded: string): string {
  return folded.replace(/^(?:l|le|la|les|los|aux) /, '');
}

/** Converts La Poste's `ST ETIENNE` to `Saint Etienne`; a name with a lower-case letter is unchanged. */
export function nameForPeople(name: string): string {
  if (name !== name.toUpperCase()) return name;
  const words = foldWords(name).map((word) => fullWordOf(word) ?? word);
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join(' ');
}

/** In lower case, without accents, with hyphens between words: `cote-d-or`. */
export function cleanName(name: string): string {
  return foldWords(name).join('-');
}
