/** The reasons of a pair's history in sentences, for the owner of the search. */

import { criterionReason, type Judgement } from '../../engine/domain/criteria.ts';
import { type Language, shownNumber } from '../../engine/domain/criterion-words.ts';
import type { PairReason, PairReasonCode } from './pair-history.ts';

type Sentence = (reason: { readonly at: string | null; readonly was: string; readonly is: string }) => string;

const on = (word: string, at: string | null): string => (at === null ? '' : `${word}${at}`);

const WORDS: Readonly<Record<Language, Readonly<Record<PairReasonCode, Sentence>>>> = {
  fr: {
    satisfied: () => 'Le bien correspond à la recherche.',
    unsatisfied: () => 'Le bien ne correspond pas à la recherche.',
    'price-incoherent': () => "Le bien ne correspond pas à la recherche\u00a0: son prix n'est pas cohérent.",
    'not-notified': () => "Rien n'a été signalé à son sujet.",
    began: ({ at }) => `Le bien s'est mis à correspondre à la recherche le ${at}.`,
    'began-with-advert': ({ at }) =>
      `Le bien s'est mis à correspondre à la recherche avec la parution d'une annonce, le ${at}.`,
    'began-by-price': ({ at, was, is }) =>
      `Le bien s'est mis à correspondre à la recherche le ${at}\u00a0: le prix est alors passé de ${was} à ${is}.`,
    'began-by-surface': ({ at, was, is }) =>
      `Le bien s'est mis à correspondre à la recherche le ${at}\u00a0: la surface est alors passée de ${was} à ${is}.`,
    'notified-of-event': ({ at }) =>
      `Le bien correspondait déjà à la recherche quand un événement a été signalé, le ${at}.`,
    'stood-when-created': ({ at }) => `Il correspondait déjà quand la recherche a été créée${on(', le ', at)}.`,
    'stood-when-changed': ({ at }) =>
      `Il s'est mis à correspondre quand la recherche a été modifiée${on(', le ', at)}.`,
    'began-while-silent': ({ at }) =>
      `Il s'est mis à correspondre${on(' le ', at)} pendant que les notifications de la recherche étaient désactivées.`,
    'not-recorded': () => "Ce qui l'a fait correspondre n'est pas enregistré.",
    left: () => "Il n'y correspond plus.",
    'came-back': ({ at }) =>
      `Il avait cessé d'y correspondre et y est revenu${on(' le ', at)}\u00a0; une correspondance n'est signalée qu'une fois.`,
    'not-subscribed': () => "La recherche n'est pas abonnée aux événements survenus depuis.",
    'no-endpoint': () => "La recherche n'avait alors pas d'adresse pour le recevoir\u00a0: seul le flux l'a.",
    cancelled: () => 'Des envois ont été annulés avec la recherche ou ses notifications.',
    paused: () => "Des envois attendent\u00a0: leur adresse a été mise en pause par l'exploitant.",
    unsubscribed: () => "Le destinataire des e-mails s'est désabonné.",
    'deliveries-forgotten': () => "Ce qui a été envoyé n'est plus conservé.",
    'notifications-off': () => 'Les notifications de la recherche sont désactivées.',
    'search-deleted': ({ at }) => `La recherche a été supprimée le ${at}.`,
  },
  en: {
    satisfied: () => 'The property matches the search.',
    unsatisfied: () => 'The property does not match the search.',
    'price-incoherent': () => 'The property does not match the search: its price is not coherent.',
    'not-notified': () => 'Nothing was notified of it.',
    began: ({ at }) => `The property began to match the search on ${at}.`,
    'began-with-advert': ({ at }) => `The property began to match the search on ${at}, when an advert appeared.`,
    'began-by-price': ({ at, was, is }) =>
      `The property began to match the search on ${at}, when the price went from ${was} to ${is}.`,
    'began-by-surface': ({ at, was, is }) =>
      `The property began to match the search on ${at}, when the surface went from ${was} to ${is}.`,
    'notified-of-event': ({ at }) => `The property matched the search already when an event was notified on ${at}.`,
    'stood-when-created': ({ at }) => `It matched already when the search was created${on(' on ', at)}.`,
    'stood-when-changed': ({ at }) => `It began to match when the search was changed${on(' on ', at)}.`,
    'began-while-silent': ({ at }) =>
      `It began to match${on(' on ', at)} while the notifications of the search were off.`,
    'not-recorded': () => 'What made it match is not recorded.',
    left: () => 'It does not match any more.',
    'came-back': ({ at }) => `It had left and came back${on(' on ', at)}: a match is notified once.`,
    'not-subscribed': () => 'The search does not subscribe to the events since then.',
    'no-endpoint': () => 'The search had no endpoint for it then: the feed alone has it.',
    cancelled: () => 'Deliveries were cancelled with the search or its notifications.',
    paused: () => 'Deliveries wait: an operator has paused their endpoint.',
    unsubscribed: () => 'The recipient of the e-mails has unsubscribed.',
    'deliveries-forgotten': () => 'What was sent is no longer kept.',
    'notifications-off': () => 'The notifications of the search are off.',
    'search-deleted': ({ at }) => `The search was deleted on ${at}.`,
  },
};

export function reasonSentence({ code, at, was, is }: PairReason, language: Language): string {
  const unit = code === 'began-by-price' ? '€' : 'm²';
  const show = (value: string | null = null): string =>
    value === null
      ? { fr: 'inconnu', en: 'unknown' }[language]
      : `${shownNumber(Number(value), language)}\u00a0${unit}`;
  return WORDS[language][code]({ at: at === null ? null : day(at, language), was: show(was), is: show(is) });
}

/** All of them, and which criteria fail. */
export function matchReasonOf(
  reasons: readonly PairReason[],
  judgements: readonly Judgement[],
  language: Language,
): string {
  const failing = judgements.filter(({ holds }) => !holds).map((judgement) => criterionReason(judgement, language));
  return reasons
    .flatMap((reason) => {
      const isFailure = reason.code === 'unsatisfied' || reason.code === 'price-incoherent';
      return [reasonSentence(reason, language), ...(isFailure ? failing : [])];
    })
    .join(' ');
}

/** In the French format, to the minute. */
function day(at: Date, language: Language): string {
  const locale = language === 'fr' ? 'fr-FR' : 'en-GB';
  return at.toLocaleString(locale, { timeZone: 'Europe/Paris', dateStyle: 'long', timeStyle: 'short' });
}
