/** French and English. The browser's language decides until somebody chooses; a text that one of them lacks does not compile. */

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

/** Outside of what is drawn. */
export function presentWords(): Words {
  return WORDS[language.get()];
}
