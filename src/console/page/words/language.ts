/** French and English: the browser's language until the reader chooses. A text that one of them lacks does not compile. */

import { observable, useValue } from '../observable.ts';
import { keepLanguage, keptLanguage } from '../session.ts';
import { en } from './en.ts';
import { fr, type Words } from './fr.ts';

export type { Words } from './fr.ts';

export type Language = 'fr' | 'en';

const WORDS: Readonly<Record<Language, Words>> = { fr, en };

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
