/**
 * Commune names in the spellings of adverts. `St Maur`, `SAINT-MAUR CEDEX 2` and `Saint-Maur` fold to the same key, as
 * do `Paris 15e`, `Paris 15ème arrondissement`, `PARIS 15` and `Paris XV`.
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
const CITIES_WITH_ARRONDISSEMENTS: ReadonlySet<string> = new Set(['paris', 'lyon', 'marseille']);
const ORDINAL = /^0{0,3}(\d{1,3})(?:er?|ere|eme|ieme|nd|nde|d)?$/;
const ARRONDISSEMENT = /^(?:arrondissements?|arrdt?|arr|ardt)$/;

/** Folded words of a commune name in one canonical spelling, one space between them; empty when nothing is left. */
export function placeKey(name: string): string {
  const words: string[] = [];
  for (const word of foldWords(name)) {
    if (word === 'cedex') break;
    words.push(ABBREVIATIONS[word] ?? word);
  }
  const [city = '', ...rest] = words;
  return CITIES_WITH_ARRONDISSEMENTS.has(city) ? arrondissementKey(city, rest) : words.join(' ');
}

function arrondissementKey(city: string, words: readonly string[]): string {
  const kept = words
    .filter((word) => !ARRONDISSEMENT.test(word))
    .map((word) => ORDINAL.exec(word)?.[1] ?? ROMAN_NUMBERS.get(word.replace(/e(?:me|r)?$/, '')) ?? word);
  return [city, ...kept].join(' ');
}

/** The word for an abbreviation, null when it is none or ambiguous. */
export function fullWordOf(word: string): string | null {
  const full = Object.hasOwn(ABBREVIATIONS, word) ? ABBREVIATIONS[word] : undefined;
  return full === undefined || full.includes(' ') ? null : full;
}

/** `Le`, `La`, `Les`, `L'`, `Los` or `Aux` at the head of an official name, else empty. */
export function articleOf(officialName: string): string {
  return /^(?:L'|(?:Le|La|Les|Los|Aux)(?= ))/.exec(officialName)?.[0] ?? '';
}

/** `folded`: a name. */
export function withoutArticle(folded: string): string {
  return folded.replace(/^(?:l|le|la|les|los|aux) /, '');
}

/** As typed, and with abbreviations written out; both folded. */
export function spellingsOf(text: string): readonly string[] {
  const words = foldWords(text);
  return [words.join(' '), words.map((word) => fullWordOf(word) ?? word).join(' ')];
}

/** `Saint Etienne` for the `ST ETIENNE` of La Poste; other names as they are. */
export function nameForPeople(name: string): string {
  if (name !== name.toUpperCase()) return name;
  const words = foldWords(name).map((word) => fullWordOf(word) ?? word);
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join(' ');
}

/** Lower case, no accents, hyphens between words: `cote-d-or`. */
export function cleanName(name: string): string {
  return foldWords(name).join('-');
}
