/**
 * What was notified of a search and a property, and why, in words for the person whose search it is. What the match
 * recorded is told, and what holds today; where nothing was notified nothing is said of what may have been.
 */

import type { EventKind } from './codes.ts';
import { criterionReason, type Judgement } from './criteria.ts';
import { type Language, shownNumber } from './criterion-words.ts';

/** An event of the change that the match came with. */
export interface CausingEvent {
  readonly kind: EventKind;
  readonly field?: string;
  readonly was?: string | null;
  readonly is?: string | null;
}

export interface NotifiedPair {
  /** When it began or, if it stood already, when it was first notified. */
  readonly createdAt: Date;
  readonly hasBegun: boolean;
  readonly cause: readonly CausingEvent[];
  /** False: what was sent is not kept any more. */
  readonly areDeliveriesKept: boolean;
}

export interface ExplainedPair {
  readonly judgements: readonly Judgement[];
  /** Null: nothing was notified. */
  readonly notified: NotifiedPair | null;
  /** Notifications of the search are off. */
  readonly isSilent: boolean;
}

interface Words {
  readonly began: (at: string) => string;
  readonly beganNew: (at: string) => string;
  readonly beganByPrice: (at: string, was: string, is: string) => string;
  readonly beganBySurface: (at: string, was: string, is: string) => string;
  readonly stood: (at: string) => string;
  readonly deliveriesForgotten: string;
  readonly silent: string;
  readonly noLonger: string;
  readonly satisfied: string;
  readonly unsatisfied: string;
  readonly nothing: string;
  readonly unknown: string;
}

const WORDS: Readonly<Record<Language, Words>> = {
  fr: {
    began: (at) => `Le bien s'est mis à correspondre à la recherche le ${at}.`,
    beganNew: (at) => `Le bien s'est mis à correspondre à la recherche avec la parution d'une annonce, le ${at}.`,
    beganByPrice: (at, was, is) =>
      `Le bien s'est mis à correspondre à la recherche le ${at}\u00a0: le prix est alors passé de ${was} à ${is}.`,
    beganBySurface: (at, was, is) =>
      `Le bien s'est mis à correspondre à la recherche le ${at}\u00a0: la surface est alors passée de ${was} à ${is}.`,
    stood: (at) => `Le bien correspondait déjà à la recherche quand un événement a été signalé, le ${at}.`,
    deliveriesForgotten: "Ce qui a été envoyé n'est plus conservé.",
    silent: 'Les notifications de la recherche sont désactivées.',
    noLonger: "Il n'y correspond plus.",
    satisfied: 'Le bien correspond à la recherche.',
    unsatisfied: 'Le bien ne correspond pas à la recherche.',
    nothing: "Rien n'a été signalé à son sujet.",
    unknown: 'inconnu',
  },
  en: {
    began: (at) => `The property began to match the search on ${at}.`,
    beganNew: (at) => `The property began to match the search on ${at}, when an advert appeared.`,
    beganByPrice: (at, was, is) =>
      `The property began to match the search on ${at}, when the price went from ${was} to ${is}.`,
    beganBySurface: (at, was, is) =>
      `The property began to match the search on ${at}, when the surface went from ${was} to ${is}.`,
    stood: (at) => `The property matched the search already when an event was notified on ${at}.`,
    deliveriesForgotten: 'What was sent is no longer kept.',
    silent: 'The notifications of the search are off.',
    noLonger: 'It does not match any more.',
    satisfied: 'The property matches the search.',
    unsatisfied: 'The property does not match the search.',
    nothing: 'Nothing was notified of it.',
    unknown: 'unknown',
  },
};

export function matchReason({ judgements, notified, isSilent }: ExplainedPair, language: Language): string {
  const words = WORDS[language];
  const failing = judgements.filter(({ holds }) => !holds);
  const reasons = failing.map((judgement) => criterionReason(judgement, language));
  const isSatisfied = failing.length === 0;
  const sentences =
    notified === null
      ? [isSatisfied ? words.satisfied : words.unsatisfied, ...reasons, words.nothing]
      : [beginningOf(notified, language), ...(isSatisfied ? [] : [words.noLonger]), ...reasons];
  return [
    ...sentences,
    ...(notified?.areDeliveriesKept === false ? [words.deliveriesForgotten] : []),
    ...(isSilent ? [words.silent] : []),
  ].join(' ');
}

function beginningOf({ createdAt, hasBegun, cause }: NotifiedPair, language: Language): string {
  const words = WORDS[language];
  const at = day(createdAt, language);
  if (!hasBegun) return words.stood(at);
  const change = cause.find(({ field }) => field === 'price' || field === 'surface');
  if (change !== undefined) {
    const isPrice = change.field === 'price';
    const show = (value: string | null = null): string =>
      value === null ? words.unknown : `${shownNumber(Number(value), language)}\u00a0${isPrice ? '€' : 'm²'}`;
    return (isPrice ? words.beganByPrice : words.beganBySurface)(at, show(change.was), show(change.is));
  }
  return cause.some(({ kind }) => kind === 'property.ad.create') ? words.beganNew(at) : words.began(at);
}

/** As a person in France reads it, to the minute. */
function day(at: Date, language: Language): string {
  const locale = language === 'fr' ? 'fr-FR' : 'en-GB';
  return at.toLocaleString(locale, { timeZone: 'Europe/Paris', dateStyle: 'long', timeStyle: 'short' });
}
