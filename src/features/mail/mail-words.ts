/**
 * The phrases of e-mails and of the page to unsubscribe, in each language. Inserted texts must be cleaned: see
 * `cleanText`.
 */

import type { EventKind } from '../../engine/domain/codes.ts';
import type { MailLanguage } from '../../engine/domain/mail.ts';
import { isBlank } from '../../engine/domain/text.ts';

const FRENCH_EVENTS: Readonly<Record<EventKind, string>> = {
  'ad.update.price': 'Le prix a changé',
  'ad.update.surface': 'La surface a changé',
  'ad.update.pictures': 'Les photos ont changé',
  'ad.update.expired': 'Une annonce a expiré',
  'ad.update.reactivated': 'Une annonce est de nouveau en ligne',
  'property.ad.create': 'Une annonce est parue',
  'property.ad.update': 'Une annonce a changé',
  'property.match.end': 'Ne correspond plus à votre recherche',
  'property.match.resume': 'Correspond de nouveau à votre recherche',
};

const FRENCH = {
  locale: 'fr-FR',
  untitled: 'Bien sans titre',
  /** By code. */
  propertyTypes: ['Appartement', 'Maison', 'Immeuble', 'Parking', 'Bureau', 'Terrain', 'Commerce'],
  property: 'Bien',
  toSell: 'à vendre',
  toRent: 'à louer',
  colon: ' : ',
  semicolon: ' ; ',
  /** Whether charges are included; null: unknown. */
  perMonth: (hasCharges: boolean | null) =>
    ` par mois${hasCharges === null ? '' : hasCharges ? ' charges comprises' : ' hors charges'}`,
  unknownPrice: 'prix inconnu',
  rooms: (count: number) => (count === 1 ? '1 pièce' : `${count} pièces`),
  bedrooms: (count: number) => (count === 1 ? '1 chambre' : `${count} chambres`),
  land: (surface: string) => `terrain ${surface}`,
  energy: (category: string) => `DPE ${category}`,
  expired: (titles: string) => `N'est plus en ligne : ${titles}`,
  from: (sender: string) => `Envoyé par ${sender}.`,
  newMatch: 'Nouvelle annonce qui correspond à votre recherche',
  changedMatch: 'Correspond désormais à votre recherche',
  /** These three are about a property that has ceased to satisfy the search. */
  newAdvert: 'Nouvelle annonce',
  formerMatch: 'A correspondu à votre recherche',
  noMatch: 'Ne correspond plus à votre recherche',
  /** An expired advert is live again. */
  back: (days: number) =>
    `Une annonce est de nouveau en ligne${days < 1 ? '' : days === 1 ? ' après un jour' : ` après ${days} jours`}`,
  /** Either may be empty. */
  gone: (price: string, where: string) => `L'annonce${price === '' ? '' : ` à ${price}`}${where} n'est plus en ligne`,
  /** Behind a price or a change. */
  at: (publisher: string) => ` chez ${publisher}`,
  also: (offers: readonly string[]) => `Aussi à ${offers.join(', à ')}`,
  events: FRENCH_EVENTS,
  searches: (titles: readonly string[]) =>
    `${titles.length === 1 ? 'Recherche' : 'Recherches'} ${titles.map((title) => `« ${title} »`).join(', ')}`,
  subjectOfOne: (what: string, search: string) => `${what} – ${search}`,
  subjectOfExpired: (count: number) => `${count} biens ne sont plus en ligne`,
  subjectOfMany: (count: number) => `${count} biens pour vos recherches`,
  subjectOfSearch: (count: number, search: string) => `${count} biens pour « ${search} »`,
  more: (count: number) => (count === 1 ? 'Et 1 autre bien.' : `Et ${count} autres biens.`),
  show: "Voir l'annonce",
  why: 'Vous recevez cet e-mail parce que des recherches enregistrées portent votre adresse.',
  unsubscribe: 'Ne plus recevoir ces e-mails',
  page: {
    title: 'Désinscription',
    question: 'Ne plus recevoir par e-mail les annonces de ces recherches ?',
    confirm: 'Ne plus rien recevoir',
    done: "C'est fait : plus aucune annonce ne sera envoyée à cette adresse.",
    takeBack: 'Recevoir à nouveau ces e-mails',
    again: "C'est fait : les annonces seront de nouveau envoyées à cette adresse.",
    unknown: "Ce lien n'est pas ou n'est plus valable.",
  },
};

export type MailWords = typeof FRENCH;

const ENGLISH: MailWords = {
  locale: 'en-GB',
  untitled: 'Untitled property',
  propertyTypes: ['Apartment', 'House', 'Building', 'Parking', 'Office', 'Land', 'Shop'],
  property: 'Property',
  toSell: 'for sale',
  toRent: 'to rent',
  colon: ': ',
  semicolon: '; ',
  perMonth: (hasCharges) =>
    ` a month${hasCharges === null ? '' : hasCharges ? ', charges included' : ', charges not included'}`,
  unknownPrice: 'price unknown',
  rooms: (count) => (count === 1 ? '1 room' : `${count} rooms`),
  bedrooms: (count) => (count === 1 ? '1 bedroom' : `${count} bedrooms`),
  land: (surface) => `land ${surface}`,
  energy: (category) => `energy class ${category}`,
  expired: (titles) => `No longer online: ${titles}`,
  from: (sender) => `Sent by ${sender}.`,
  newMatch: 'New advert that fits your search',
  changedMatch: 'Fits your search from now on',
  newAdvert: 'New advert',
  formerMatch: 'Fitted your search',
  noMatch: 'No longer fits your search',
  back: (days) => `An advert is online again${days < 1 ? '' : days === 1 ? ' after a day' : ` after ${days} days`}`,
  gone: (price, where) => `The advert${price === '' ? '' : ` for ${price}`}${where} is no longer online`,
  at: (publisher) => ` at ${publisher}`,
  also: (offers) => `Also for ${offers.join(', for ')}`,
  events: {
    'ad.update.price': 'The price has changed',
    'ad.update.surface': 'The surface has changed',
    'ad.update.pictures': 'The pictures have changed',
    'ad.update.expired': 'An advert has expired',
    'ad.update.reactivated': 'An advert is online again',
    'property.ad.create': 'An advert has appeared',
    'property.ad.update': 'An advert has changed',
    'property.match.end': 'No longer fits your search',
    'property.match.resume': 'Fits your search again',
  },
  searches: (titles) =>
    `${titles.length === 1 ? 'Search' : 'Searches'} ${titles.map((title) => `“${title}”`).join(', ')}`,
  subjectOfOne: (what, search) => `${what} – ${search}`,
  subjectOfExpired: (count) => `${count} properties are no longer online`,
  subjectOfMany: (count) => `${count} properties for your searches`,
  subjectOfSearch: (count, search) => `${count} properties for “${search}”`,
  more: (count) => (count === 1 ? 'And 1 more property.' : `And ${count} more properties.`),
  show: 'See the advert',
  why: 'You receive this e-mail because saved searches have your address.',
  unsubscribe: 'Receive no more of these e-mails',
  page: {
    title: 'Unsubscribe',
    question: 'Receive no more adverts of these searches by e-mail?',
    confirm: 'Receive nothing more',
    done: 'Done: no more adverts will be sent to this address.',
    takeBack: 'Receive these e-mails again',
    again: 'Done: adverts will be sent to this address again.',
    unknown: 'This link is not valid, or not any more.',
  },
};

export const MAIL_WORDS: Readonly<Record<MailLanguage, MailWords>> = { fr: FRENCH, en: ENGLISH };

/**
 * Without characters that end a line, control a terminal, change the direction, or are half a surrogate pair. Empty when
 * nobody would see anything of it.
 */
export function cleanText(text: string): string {
  const clean = text
    .replace(/[\p{Cc}\p{Cs}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]+/gu, ' ')
    .replace(/ {2,}/g, ' ')
    .trim();
  return isBlank(clean) ? '' : clean;
}
