/** Phrases that explain criteria to clients and recipients. Phrases for a single criterion are in its row. */

import type { MailLanguage } from './mail.ts';

/** Language of texts shown to people. */
export type Language = MailLanguage;

export type InLanguages<Text> = Readonly<Record<Language, Text>>;

export type Unit = 'euros' | 'eurosPerMeter' | 'meters' | 'none' | 'floor' | 'year' | 'percent';

interface RangeWords {
  readonly locale: string;
  readonly unknown: (what: string) => string;
  readonly within: (what: string, value: string) => string;
  readonly below: (what: string, value: string, bound: string) => string;
  readonly above: (what: string, value: string, bound: string) => string;
  readonly outside: (what: string) => string;
}

export const UNITS: Readonly<Record<Unit, string>> = {
  euros: '\u00a0€',
  eurosPerMeter: '\u00a0€/m²',
  meters: '\u00a0m²',
  none: '',
  floor: '',
  year: '',
  percent: '\u00a0%',
};

const WORDS: InLanguages<RangeWords> = {
  fr: {
    locale: 'fr-FR',
    unknown: (what) => `${what} n'est pas connu${/surface|année/i.test(what) ? 'e' : ''}.`,
    within: (what, value) => `${what} (${value}) convient.`,
    below: (what, value, bound) => `${what} (${value}) est en dessous du minimum de ${bound}.`,
    above: (what, value, bound) => `${what} (${value}) dépasse le maximum de ${bound}.`,
    outside: (what) => `${what} est en dehors des limites demandées.`,
  },
  en: {
    locale: 'en-GB',
    unknown: (what) => `${what} is unknown.`,
    within: (what, value) => `${what} (${value}) fits.`,
    below: (what, value, bound) => `${what} (${value}) is below the minimum of ${bound}.`,
    above: (what, value, bound) => `${what} (${value}) is above the maximum of ${bound}.`,
    outside: (what) => `${what} is outside the requested limits.`,
  },
};

/** In French, `Le Havre` becomes `au Havre`. */
export function inCity(name: string): InLanguages<string> {
  return { en: `in ${name}`, fr: `à ${name}`.replace(/^à Le /, 'au ').replace(/^à Les /, 'aux ') };
}

export function shownNumber(value: number, language: Language, digits = 2): string {
  return value.toLocaleString(WORDS[language].locale, { maximumFractionDigits: digits });
}

export function shownQuantity(value: number, unit: Unit, language: Language): string {
  return unit === 'year' ? String(value) : shownNumber(value, language) + UNITS[unit];
}

/** Explains why one of `values` is within the limits, or why none of them is. */
export function rangeReason(
  { what, unit }: { readonly what: InLanguages<string>; readonly unit: Unit },
  holds: boolean,
  { min, max }: { readonly min: number | null; readonly max: number | null },
  values: readonly (number | null)[],
  language: Language,
): string {
  const words = WORDS[language];
  const name = what[language];
  const show = (value: number): string => shownQuantity(value, unit, language);
  const known = values.filter((value) => value !== null);
  const [value, ...others] = known;
  if (value === undefined) return words.unknown(name);
  if (holds) {
    const fitting = known.find((one) => (min === null || one >= min) && (max === null || one <= max));
    return words.within(name, show(fitting ?? value));
  }
  if (min !== null && known.every((one) => one < min)) return words.below(name, show(Math.max(...known)), show(min));
  if (max !== null && known.every((one) => one > max)) return words.above(name, show(Math.min(...known)), show(max));
  return others.length === 0 ? words.unknown(name) : words.outside(name);
}
