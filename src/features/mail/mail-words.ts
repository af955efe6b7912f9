/** The phrases of e-mails, in each language. Inserted texts must be cleaned: see `cleanText`. */

import type { EventKind } from '../../engine/domain/codes.ts';
import type { MailLanguage } from '../../engine/domain/mail.ts';
import { isBlank } from '../../engine/domain/text.ts';
import { both, counted, english, french, inLanguage } from '../../languages.ts';

const WORDS = {
  locale: both('en-GB', 'fr-FR'),
  untitled: both('Untitled property', 'Bien sans titre'),
  /** Indexed by code. */
  propertyTypes: [
    both('Apartment', 'Appartement'),
    both('House', 'Maison'),
    both('Building', 'Immeuble'),
    both('Parking', 'Parking'),
    both('Office', 'Bureau'),
    both('Land', 'Terrain'),
    both('Shop', 'Commerce'),
  ],
  property: both('Property', 'Bien'),
  toSell: both('for sale', 'à vendre'),
  toRent: both('to rent', 'à louer'),
  colon: both(': ', ' : '),
  semicolon: both('; ', ' ; '),
  /** `hasCharges`: true if charges are included; null if unknown. */
  perMonth: (hasCharges: boolean | null) =>
    both(
      ` a month${hasCharges === null ? '' : hasCharges ? ', charges included' : ', charges not included'}`,
      ` par mois${hasCharges === null ? '' : hasCharges ? ' charges comprises' : ' hors charges'}`,
    ),
  unknownPrice: both('price unknown', 'prix inconnu'),
  rooms: counted(['room', 'rooms'], ['pièce', 'pièces']),
  bedrooms: counted(['bedroom', 'bedrooms'], ['chambre', 'chambres']),
  land: (surface: string) => both(`land ${surface}`, `terrain ${surface}`),
  energy: (category: string) => both(`energy class ${category}`, `DPE ${category}`),
  expired: (titles: string) => both(`No longer online: ${titles}`, `N'est plus en ligne : ${titles}`),
  from: (sender: string) => both(`Sent by ${sender}.`, `Envoyé par ${sender}.`),
  newMatch: both('New advert that fits your search', 'Nouvelle annonce qui correspond à votre recherche'),
  changedMatch: both('Now fits your search', 'Correspond désormais à votre recherche'),
  /** The next three are for a property that no longer satisfies the search. */
  newAdvert: both('New advert', 'Nouvelle annonce'),
  formerMatch: both('Used to fit your search', 'A correspondu à votre recherche'),
  noMatch: both('No longer fits your search', 'Ne correspond plus à votre recherche'),
  /** Per cent; negative if the property is cheaper. */
  market: (percent: number) =>
    percent === 0
      ? both('at the market price', 'au prix du marché')
      : both(
          `${Math.abs(percent)}\u00a0% ${percent < 0 ? 'below' : 'above'} the market`,
          `${Math.abs(percent)}\u00a0% ${percent < 0 ? 'en dessous' : 'au-dessus'} du marché`,
        ),
  /** An expired advert is live again. */
  back: (days: number) =>
    both(
      `An advert is online again${days < 1 ? '' : days === 1 ? ' after a day' : ` after ${days} days`}`,
      `Une annonce est de nouveau en ligne${days < 1 ? '' : days === 1 ? ' après un jour' : ` après ${days} jours`}`,
    ),
  /** Either argument may be empty. */
  gone: (price: string, where: string) =>
    both(
      `The advert${price === '' ? '' : ` for ${price}`}${where} is no longer online`,
      `L'annonce${price === '' ? '' : ` à ${price}`}${where} n'est plus en ligne`,
    ),
  /** Follows a price or a change. */
  at: (publisher: string) => both(` at ${publisher}`, ` chez ${publisher}`),
  also: (offers: readonly string[]) => both(`Also for ${offers.join(', for ')}`, `Aussi à ${offers.join(', à ')}`),
  events: {
    'ad.update.price': both('The price has changed', 'Le prix a changé'),
    'ad.update.surface': both('The surface has changed', 'La surface a changé'),
    'ad.update.pictures': both('The pictures have changed', 'Les photos ont changé'),
    'ad.update.expired': both('An advert has expired', 'Une annonce a expiré'),
    'ad.update.reactivated': both('An advert is online again', 'Une annonce est de nouveau en ligne'),
    'property.ad.create': both('An advert has appeared', 'Une annonce est parue'),
    'property.ad.update': both('An advert has changed', 'Une annonce a changé'),
    'property.match.end': both('No longer fits your search', 'Ne correspond plus à votre recherche'),
    'property.match.resume': both('Fits your search again', 'Correspond de nouveau à votre recherche'),
  } satisfies Readonly<Record<EventKind, unknown>>,
  searches: (titles: readonly string[]) =>
    both(
      `${titles.length === 1 ? 'Search' : 'Searches'} ${titles.map((title) => `“${title}”`).join(', ')}`,
      `${titles.length === 1 ? 'Recherche' : 'Recherches'} ${titles.map((title) => `« ${title} »`).join(', ')}`,
    ),
  expiredCount: (count: number) =>
    both(`${count} properties are no longer online`, `${count} biens ne sont plus en ligne`),
  /** The number of properties for each kind of news. */
  news: {
    match: counted(['new property', 'new properties'], ['nouveauté', 'nouveautés']),
    cut: counted(['price cut', 'price cuts'], ['baisse de prix', 'baisses de prix']),
    back: counted(
      ['available again', 'available again'],
      ['bien de nouveau disponible', 'biens de nouveau disponibles'],
    ),
    change: counted(['change', 'changes'], ['changement', 'changements']),
    gone: counted(
      ['no longer online', 'no longer online'],
      ["bien qui n'est plus en ligne", 'biens qui ne sont plus en ligne'],
    ),
  },
  badges: {
    match: both('New', 'Nouveau'),
    cut: (percent: string) => both(`Price cut ${percent}`, `Prix en baisse ${percent}`),
    rise: (percent: string) => both(`Price rise ${percent}`, `Prix en hausse ${percent}`),
    back: both('Available again', 'De nouveau disponible'),
  },
  reply: both('Reply to this e-mail to arrange a visit.', 'Répondez à cet e-mail pour visiter.'),
  picture: (title: string) => both(`Picture: ${title}`, `Photo : ${title}`),
  /** Empty for an empty reference. */
  reference: (reference: string) =>
    both(reference === '' ? '' : `Reference ${reference}`, reference === '' ? '' : `Référence ${reference}`),
  moreSearches: (count: number) =>
    both(
      `And ${english(count, 'more search', 'more searches')}.`,
      `Et ${french(count, 'autre recherche', 'autres recherches')}.`,
    ),
  more: (count: number) =>
    both(
      `And ${english(count, 'more property', 'more properties')}.`,
      `Et ${french(count, 'autre bien', 'autres biens')}.`,
    ),
  showAll: both('See all properties of this e-mail', 'Voir tous les biens de cet e-mail'),
  show: both('See the advert', "Voir l'annonce"),
  why: both(
    'You receive this e-mail because saved searches have your address.',
    'Vous recevez cet e-mail parce que des recherches enregistrées portent votre adresse.',
  ),
  unsubscribe: both('Unsubscribe from these e-mails', 'Ne plus recevoir ces e-mails'),
};

const wordsIn = (language: MailLanguage) => ({ ...inLanguage(WORDS, language), language });

export type MailWords = ReturnType<typeof wordsIn>;

export const MAIL_WORDS: Readonly<Record<MailLanguage, MailWords>> = { fr: wordsIn('fr'), en: wordsIn('en') };

/**
 * Replaces characters that end a line, control a terminal, change the direction, or are half of a surrogate pair with
 * spaces. Returns an empty text if no visible character remains.
 */
export function cleanText(text: string): string {
  const clean = text
    .replace(/[\p{Cc}\p{Cs}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]+/gu, ' ')
    .replace(/ {2,}/g, ' ')
    .trim();
  return isBlank(clean) ? '' : clean;
}
