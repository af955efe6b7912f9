/** The phrases of the recipient's page, in each language. Inserted texts must be cleaned: see `cleanText`. */

import type { MailFrequency, MailLanguage } from '../../engine/domain/mail.ts';
import { both, inLanguage } from '../../languages.ts';

const WORDS = {
  title: both('Your property alerts', 'Vos alertes immobilières'),
  from: (sender: string) =>
    both(`These alerts are sent to you by ${sender}.`, `Ces alertes vous sont envoyées par ${sender}.`),
  unknown: both('This link is invalid or has expired.', "Ce lien n'est pas ou n'est plus valable."),
  done: both('Done.', "C'est fait."),
  impossible: both(
    'This is not possible: the search no longer exists, or no longer sends you e-mails.',
    "Cela n'est pas possible : cette recherche n'existe plus, ou ne vous écrit plus.",
  ),
  erased: both(
    'Your address has been erased. Nothing is sent to it any more.',
    'Votre adresse a été effacée. Rien ne lui est plus envoyé.',
  ),
  unsubscribed: both('No more adverts are sent to your address.', "Plus aucune annonce n'est envoyée à votre adresse."),
  takeBack: both('Receive these e-mails again', 'Recevoir à nouveau ces e-mails'),
  stopAll: both('Stop all e-mails', 'Ne plus rien recevoir'),
  frequency: {
    instant: both(
      'You receive an e-mail soon after adverts appear.',
      'Vous recevez un e-mail peu après la parution des annonces.',
    ),
    daily: both(
      'You receive adverts once a day, in the morning.',
      'Vous recevez les annonces une fois par jour, le matin.',
    ),
    weekly: both(
      'You receive adverts once a week, on Monday morning.',
      'Vous recevez les annonces une fois par semaine, le lundi matin.',
    ),
  } satisfies Readonly<Record<MailFrequency, unknown>>,
  choose: { daily: both('Once a day', 'Une fois par jour'), weekly: both('Once a week', 'Une fois par semaine') },
  asBefore: both('Return to the initial frequency', 'Revenir à la fréquence initiale'),
  searches: both('What you are looking for', 'Ce que vous cherchez'),
  stopped: both('This search sends you no more e-mails.', "Cette recherche ne vous envoie plus d'e-mails."),
  stop: both('Stop this search', 'Arrêter cette recherche'),
  resume: both('Resume this search', 'Reprendre cette recherche'),
  homes: (count: number) =>
    both(
      count === 1 ? 'The property of this e-mail' : `The ${count} properties of this e-mail`,
      count === 1 ? 'Le bien de cet e-mail' : `Les ${count} biens de cet e-mail`,
    ),
  noHomes: both('The properties of this e-mail are no longer shown.', 'Les biens de cet e-mail ne sont plus affichés.'),
  offline: both('No longer online', "N'est plus en ligne"),
};

export const PAGE_WORDS = { fr: inLanguage(WORDS, 'fr'), en: inLanguage(WORDS, 'en') };

export type PageWords = (typeof PAGE_WORDS)[MailLanguage];
