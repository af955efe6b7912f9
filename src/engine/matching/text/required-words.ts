/** Words that a text must have to satisfy expressions: by the rarest of them searches are found. */

import type { ExpressionEntry, Expressions } from '../../domain/expressions.ts';
import { lemmasOf } from '../../domain/inflection/lemmas.ts';
import { foldWords } from '../../domain/text.ts';
import { phrasesOf } from '../../domain/word-phrases.ts';

/** Words that most adverts contain say little: any other required one is rarer. */
const COMMON_LEMMAS: ReadonlySet<string> = new Set(
  foldWords(
    `appartement maison villa immeuble terrain pièce pièces chambre chambres cuisine salon séjour salle bain bains
     eau douche entrée surface prix vente vendre location louer bien situé proche centre ville quartier rue étage
     commerces écoles transports jardin balcon terrasse cave parking garage calme lumineux beau grand avec sans pour
     une des les dans sur est et de la le du en au`,
  ).flatMap(lemmasOf),
);

/** Words of which every text that satisfies a group has one, as rare as can be told; none when some group requires none. */
export function requiredWords(expressions: Expressions): readonly string[] {
  const required = new Set<string>();
  for (const group of expressions) {
    const choices = group.filter((entry) => entry.includes).flatMap(requiredChoices);
    const [rarest] = choices.sort(([a = ''], [b = '']) => byRarity(a, b));
    if (rarest === undefined) return [];
    for (const word of rarest) required.add(word);
  }
  return [...required];
}

/** Lists of words, of each of which a text with the entry has one, the most common first. */
function requiredChoices({ word, strict }: ExpressionEntry): string[][] {
  const phrases = strict ? [] : phrasesOf(word);
  if (phrases.length <= 1) return foldWords(word).map((one) => [one]);
  const rarest = phrases.map((phrase) => phrase.map((step) => step.word).sort(byRarity)[0] as string);
  return [rarest.sort(byRarity).reverse()];
}

const NUMBER = /^\d{2,}$/;

/** Numbers first, common words last; of others the longest first: the longer a word, the rarer (G. K. Zipf, 1935). */
function byRarity(a: string, b: string): number {
  return commonness(a) - commonness(b) || b.length - a.length || (a < b ? -1 : 1);
}

function commonness(word: string): number {
  return NUMBER.test(word) ? -1 : Number(isCommon(word));
}

function isCommon(word: string): boolean {
  return lemmasOf(word).some((lemma) => COMMON_LEMMAS.has(lemma));
}
