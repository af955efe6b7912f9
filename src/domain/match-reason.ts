/**
 * When the match of a search and a property began, or why it never did, in words for the person whose search it is. What
 * was recorded is told; what retention has forgotten says so; nothing is guessed.
 */

import { criterionReason, type Judgement } from './criteria.ts';
import { type Language, shownNumber } from './criterion-words.ts';
import type { DigestedChange } from './property-digest.ts';

export interface PairHistory {
  readonly judgements: readonly Judgement[];
  /** Null: no match ever began. */
  readonly beganAt: Date | null;
  /** The recorded change of price or surface that the match began with; null: another one, or it is forgotten. */
  readonly beganWith: DigestedChange | null;
  /** An advert of the property appeared as the match began. */
  readonly beganWithAdvert: boolean;
  /** False: what was recorded when the match began is not kept any more. */
  readonly isBeginningKept: boolean;
  /** False: what was sent when the match began is not kept any more. */
  readonly areDeliveriesKept: boolean;
  /** Notifications of the search are off. */
  readonly isSilent: boolean;
  /** Of a property that satisfies the search: since when, as far as is known. */
  readonly satisfiedSince: { readonly at: string; readonly change: DigestedChange | null } | null;
  readonly search: { readonly createdAt: Date; readonly updatedAt: Date };
}

interface Words {
  readonly began: (at: string) => string;
  readonly beganNew: (at: string) => string;
  readonly beganByPrice: (at: string, was: string, is: string) => string;
  readonly beganBySurface: (at: string, was: string, is: string) => string;
  readonly forgotten: string;
  readonly deliveriesForgotten: string;
  readonly silent: string;
  readonly noLonger: string;
  readonly never: string;
  readonly stood: (since: string, search: string) => string;
  readonly stoodBeforeChange: (since: string, search: string) => string;
  readonly unrecorded: (since: string) => string;
  readonly unknown: string;
}

const WORDS: Readonly<Record<Language, Words>> = {
  fr: {
    began: (at) => `Le bien correspond à la recherche depuis le ${at}.`,
    beganNew: (at) => `Le bien correspond à la recherche depuis la parution d'une annonce, le ${at}.`,
    beganByPrice: (at, was, is) =>
      `Le bien correspond à la recherche depuis le ${at}\u00a0: le prix est alors passé de ${was} à ${is}.`,
    beganBySurface: (at, was, is) =>
      `Le bien correspond à la recherche depuis le ${at}\u00a0: la surface est alors passée de ${was} à ${is}.`,
    forgotten: "Le changement qui en est la cause n'est plus conservé.",
    deliveriesForgotten: "Ce qui a été envoyé n'est plus conservé.",
    silent: 'Les notifications de la recherche sont désactivées.',
    noLonger: "Il n'y correspond plus.",
    never: "Le bien n'a jamais correspondu à la recherche.",
    stood: (since, search) =>
      `Le bien correspondait déjà (depuis le ${since}) quand la recherche a été créée, le ${search}\u00a0: ` +
      'seul ce qui se met à correspondre ensuite est signalé.',
    stoodBeforeChange: (since, search) =>
      `Le bien correspondait déjà (depuis le ${since}) quand la recherche a été modifiée, le ${search}\u00a0: ` +
      'seul ce qui se met à correspondre ensuite est signalé.',
    unrecorded: (since) =>
      `Le bien correspond à la recherche (depuis le ${since}, d'après son prix et sa surface), sans qu'un changement ` +
      "enregistré l'explique\u00a0: celui qui en est la cause n'a pas été conservé, ou ne l'est plus.",
    unknown: 'inconnu',
  },
  en: {
    began: (at) => `The property has matched the search since ${at}.`,
    beganNew: (at) => `The property has matched the search since ${at}, when an advert appeared.`,
    beganByPrice: (at, was, is) =>
      `The property has matched the search since ${at}, when the price went from ${was} to ${is}.`,
    beganBySurface: (at, was, is) =>
      `The property has matched the search since ${at}, when the surface went from ${was} to ${is}.`,
    forgotten: 'What brought it about is no longer kept.',
    deliveriesForgotten: 'What was sent is no longer kept.',
    silent: 'The notifications of the search are off.',
    noLonger: 'It does not match any more.',
    never: 'The property never matched the search.',
    stood: (since, search) =>
      `The property matched already (since ${since}) when the search was created on ${search}: only what begins to ` +
      'match afterwards is told.',
    stoodBeforeChange: (since, search) =>
      `The property matched already (since ${since}) when the search was changed on ${search}: only what begins to ` +
      'match afterwards is told.',
    unrecorded: (since) =>
      `The property matches (since ${since}, by its price and surface), and no recorded change made it so: what did is ` +
      'not, or no longer, kept.',
    unknown: 'unknown',
  },
};

export function matchReason(history: PairHistory, language: Language): string {
  const words = WORDS[language];
  return [
    reasonOf(history, language),
    ...(history.areDeliveriesKept ? [] : [words.deliveriesForgotten]),
    ...(history.isSilent ? [words.silent] : []),
  ].join(' ');
}

function reasonOf(history: PairHistory, language: Language): string {
  const words = WORDS[language];
  const failing = history.judgements.filter(({ holds }) => !holds);
  const reasons = failing.map((judgement) => criterionReason(judgement, language)).join(' ');
  if (history.beganAt !== null) {
    const beginning = beginningOf(history, history.beganAt, language);
    return failing.length === 0 ? beginning : `${beginning} ${words.noLonger} ${reasons}`;
  }
  if (failing.length > 0) return `${words.never} ${reasons}`;
  return standingReason(history, language);
}

function beginningOf(
  { beganWith, beganWithAdvert, isBeginningKept }: PairHistory,
  at: Date,
  language: Language,
): string {
  const words = WORDS[language];
  const when = day(at, language);
  if (beganWith !== null) {
    const unit = beganWith.field === 'price' ? '\u00a0€' : '\u00a0m²';
    const show = (value: number | null): string =>
      value === null ? words.unknown : shownNumber(value, language) + unit;
    const told = beganWith.field === 'price' ? words.beganByPrice : words.beganBySurface;
    return told(when, show(beganWith.was), show(beganWith.is));
  }
  if (beganWithAdvert) return words.beganNew(when);
  return isBeginningKept ? words.began(when) : `${words.began(when)} ${words.forgotten}`;
}

function standingReason({ satisfiedSince, search }: PairHistory, language: Language): string {
  const words = WORDS[language];
  const at = new Date(satisfiedSince?.at ?? search.createdAt);
  const since = day(at, language);
  if (at <= search.createdAt) return words.stood(since, day(search.createdAt, language));
  if (at <= search.updatedAt) return words.stoodBeforeChange(since, day(search.updatedAt, language));
  return words.unrecorded(since);
}

/** As a person in France reads it, to the minute. */
function day(at: Date, language: Language): string {
  const locale = language === 'fr' ? 'fr-FR' : 'en-GB';
  return at.toLocaleString(locale, { timeZone: 'Europe/Paris', dateStyle: 'long', timeStyle: 'short' });
}
