/**
 * What an e-mail says of a property, and why it does: few members of its document as it was at the change, so that
 * neither the document nor a contact is kept for it. Only http and https addresses are taken over.
 */

import type { AdvertEvent } from './advert.ts';
import type { EventKind } from './codes.ts';
import type { SearchNumber, Uuid } from './ids.ts';
import type { MailRoute } from './mail.ts';
import type { PropertyDocument } from './property-document.ts';

export interface MailItemContent {
  readonly title: string | null;
  readonly transactionType: number | null;
  /** Euros. */
  readonly price: number | null;
  /** What the price was before this change; null when it is the same. */
  readonly priceBefore: number | null;
  /** m². */
  readonly surface: number | null;
  readonly landSurface: number | null;
  readonly room: number | null;
  readonly city: string | null;
  readonly zipcode: string | null;
  readonly picture: string | null;
  readonly link: string | null;
  readonly reason: MailReason;
}

/** `match`: it began to satisfy the search. */
export interface MailReason {
  readonly type: 'match' | 'event';
  readonly kind: EventKind;
  readonly oldValue: string | null;
  readonly newValue: string | null;
}

/** An item as the recorder writes it. */
export interface NewMailItem {
  readonly id: Uuid;
  readonly clientId: Uuid;
  readonly searchNumber: SearchNumber;
  readonly matchId: Uuid;
  readonly kind: EventKind;
  readonly route: MailRoute;
  readonly content: MailItemContent;
  readonly traceparent: string | null;
}

export interface MailNotice {
  readonly reason: MailReason;
  readonly event: AdvertEvent | null;
}

const NONE: readonly MailNotice[] = [];

/** What a search is told of by e-mail: a match that begins, and events of the kinds that it subscribed to. */
export function mailNoticesOf(
  route: { readonly mail: MailRoute | null; readonly subscribedEvents: readonly EventKind[] },
  events: readonly AdvertEvent[],
  hasBegun: boolean,
): readonly MailNotice[] {
  if (route.mail === null) return NONE;
  const notices: MailNotice[] = [];
  if (hasBegun) {
    const isNewAdvert = events.some(({ kind }) => kind === 'property.ad.create');
    const kind = isNewAdvert ? 'property.ad.create' : 'property.ad.update';
    notices.push({ reason: { type: 'match', kind, oldValue: null, newValue: null }, event: null });
  }
  for (const event of events) {
    if (!route.subscribedEvents.includes(event.kind)) continue;
    const { fieldOldValue: oldValue = null, fieldNewValue: newValue = null } = event.field ?? {};
    notices.push({ reason: { type: 'event', kind: event.kind, oldValue, newValue }, event });
  }
  return notices;
}

const TITLE_LENGTH_MAX = 200;
const NAME_LENGTH_MAX = 100;
const URL_LENGTH_MAX = 2_048;

/** `events`: those of the change. */
export function mailItemContent(
  document: PropertyDocument,
  { reason, event }: MailNotice,
  events: readonly AdvertEvent[],
): MailItemContent {
  const { title, price, city, pictures, adverts } = document as unknown as DocumentMembers;
  const { transactionType, surface, landSurface, room } = document as unknown as DocumentMembers;
  const ofPrice = event?.kind === 'ad.update.price' ? event : events.find(({ kind }) => kind === 'ad.update.price');
  const speaking = event?.advertUuid ?? document.lastCrawledAdvert;
  const links = [...adverts.filter(({ uuid }) => uuid === speaking), ...adverts].map(({ url }) => webUrl(url));
  return {
    title: cut(title, TITLE_LENGTH_MAX),
    transactionType,
    price,
    priceBefore: price === null ? null : priceBefore(ofPrice, price),
    surface,
    landSurface,
    room,
    city: cut(city?.name ?? null, NAME_LENGTH_MAX),
    zipcode: cut(city?.zipcode ?? null, NAME_LENGTH_MAX),
    picture: firstOf(pictures.map(webUrl)),
    link: firstOf(links),
    reason: { ...reason, ...valuesOf(reason) },
  };
}

interface DocumentMembers extends Pick<MailItemContent, 'title' | 'transactionType' | 'price' | 'surface'> {
  readonly landSurface: number | null;
  readonly room: number | null;
  readonly city: { readonly name: string; readonly zipcode: string | null } | null;
  readonly pictures: readonly string[];
  readonly adverts: readonly { readonly uuid: Uuid; readonly url: string | null }[];
}

function valuesOf({ oldValue, newValue }: MailReason): Pick<MailReason, 'oldValue' | 'newValue'> {
  return { oldValue: cut(oldValue, NAME_LENGTH_MAX), newValue: cut(newValue, NAME_LENGTH_MAX) };
}

/** Null when the advert whose price changed is not the one that the property's price is taken from. */
function priceBefore(event: AdvertEvent | undefined, price: number): number | null {
  const { fieldOldValue = null, fieldNewValue = null } = event?.field ?? {};
  return fieldOldValue !== null && Number(fieldNewValue) === price ? Number(fieldOldValue) : null;
}

function webUrl(text: string | null): string | null {
  if (text === null || text.length > URL_LENGTH_MAX || !URL.canParse(text)) return null;
  const { protocol, href } = new URL(text);
  return (protocol === 'https:' || protocol === 'http:') && href.length <= URL_LENGTH_MAX ? href : null;
}

function firstOf(found: readonly (string | null)[]): string | null {
  return found.find((each) => each !== null) ?? null;
}

/** By code points, so that no pair of surrogates is cut in two. */
function cut(text: string | null, lengthMax: number): string | null {
  return text === null || text.length <= lengthMax
    ? text
    : `${Array.from(text.slice(0, lengthMax)).slice(0, -1).join('')}…`;
}
