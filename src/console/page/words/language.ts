/** French and English: the browser's language until the reader chooses. */

import { inLanguage, typeset } from '../../../languages.ts';
import { observable, useValue } from '../observable.ts';
import { keepLanguage, keptLanguage } from '../session.ts';
import { formatsOf } from './formats.ts';
import { words } from './words.ts';

export type Language = 'fr' | 'en';

const french = inLanguage(words, 'fr', typeset);

/** Texts, and formats of numbers and times. */
export type Words = typeof french & ReturnType<typeof formatsOf>;

/** The title of a copied search is not typeset, because its owner wrote it. */
const copyOf = (title: string): string => words.copyOf(title).fr;
const WORDS: Readonly<Record<Language, Words>> = {
  fr: { ...french, copyOf, ...formatsOf('fr') },
  // British English: days before months, 24 hours.
  en: { ...inLanguage(words, 'en'), ...formatsOf('en-GB') },
};

export const language = observable<Language>(keptLanguage().startsWith('fr') ? 'fr' : 'en');

export function chooseLanguage(chosen: Language): void {
  keepLanguage(chosen);
  language.set(chosen);
}

export function useWords(): Words {
  return WORDS[useValue(language)];
}

/** For code outside of components. */
export function presentWords(): Words {
  return WORDS[language.get()];
}
