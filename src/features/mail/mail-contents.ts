/**
 * What an e-mail says of a property: few members of its document as it is when the e-mail is written, and the recorded
 * reasons why it does. Neither the document nor a contact is kept for it. Only http and https addresses are taken over. Each
 * property stands once, with every search and reason that led to it, the match first; those that have expired meanwhile in a
 * line at the end. An e-mail shows the properties that changed last and counts the others: one of a hundred kilobytes is cut
 * off by its reader.
 */

import type { AdvertEvent } from '../../engine/domain/advert.ts';
import type { EventKind } from '../../engine/domain/codes.ts';
import { type SearchNumber, type Uuid, uuidAfter } from '../../engine/domain/ids.ts';
import type { MailRoute } from '../../engine/domain/mail.ts';
import type { PropertyDocument } from '../../engine/domain/property-document.ts';
import type { NotifiedPair } from '../../engine/intake/alerts.ts';

export interface MailProperty {
  readonly title: string | null;
  readonly transactionType: number | null;
  readonly propertyType: number | null;
  readonly isExpired: boolean;
  /** Euros. */
  readonly price: number | null;
  /** The price that this recipient was last notified of; null when it is the same, or there was none. */
  readonly priceBefore: number | null;
  readonly pricePerMeter: number | null;
  /** m². */
  readonly surface: number | null;
  readonly landSurface: number | null;
  readonly room: number | null;
  readonly bedroom: number | null;
  /** A to G. */
  readonly energyClass: string | null;
  readonly city: string | null;
  readonly zipcode: string | null;
  /** Of the agency or portal. */
  readonly publisher: string | null;
  readonly picture: string | null;
  readonly link: string | null;
}

/** `match`: it began to satisfy the search. */
export interface MailReason {
  readonly type: 'match' | 'event';
  readonly kind: EventKind;
  readonly oldValue: string | null;
  readonly newValue: string | null;
  /** Of an event. */
  readonly advertUuid?: Uuid;
}

/** An item as the recorder writes it. */
export interface NewMailItem {
  readonly id: Uuid;
  readonly clientId: Uuid;
  readonly searchNumber: SearchNumber;
  readonly matchId: Uuid;
  readonly propertyUuid: Uuid;
  readonly route: MailRoute;
  /** Of its search, incremented when that is silenced. */
  readonly generation: number;
  readonly reason: MailReason;
}

const NONE: readonly MailReason[] = [];

/** What a search is notified of by e-mail: a match that begins, and events of its subscribed kinds. */
export function mailReasonsOf(
  route: { readonly mail: MailRoute | null; readonly subscribedEvents: readonly EventKind[] },
  events: readonly AdvertEvent[],
  hasBegun: boolean,
): readonly MailReason[] {
  if (route.mail === null) return NONE;
  const reasons: MailReason[] = [];
  if (hasBegun) {
    const isNewAdvert = events.some(({ kind }) => kind === 'property.ad.create');
    const kind = isNewAdvert ? 'property.ad.create' : 'property.ad.update';
    reasons.push({ type: 'match', kind, oldValue: null, newValue: null });
  }
  for (const { kind, field, advertUuid } of events) {
    if (!route.subscribedEvents.includes(kind)) continue;
    const { fieldOldValue = null, fieldNewValue = null } = field ?? {};
    const [oldValue, newValue] = [cut(fieldOldValue, NAME_LENGTH_MAX), cut(fieldNewValue, NAME_LENGTH_MAX)];
    reasons.push({ type: 'event', kind, oldValue, newValue, advertUuid });
  }
  return reasons;
}

/** One for each reason of each pair. */
export function newMailItems(pairs: readonly NotifiedPair[]): readonly NewMailItem[] {
  // The changes of a batch have one time: ids above each other keep their order.
  let id: Uuid | null = null;
  return pairs.flatMap(({ route, match, change, hasBegun }) => {
    const { clientId, generation, mail } = route;
    if (mail === null) return [];
    return mailReasonsOf(route, change.events, hasBegun).map((reason) => {
      id = uuidAfter(id, match.updatedAt);
      const { searchNumber, id: matchId } = match;
      return {
        id,
        clientId,
        searchNumber,
        matchId,
        propertyUuid: change.propertyUuid,
        route: mail,
        generation,
        reason,
      };
    });
  });
}

const TITLE_LENGTH_MAX = 200;
const NAME_LENGTH_MAX = 100;
const URL_LENGTH_MAX = 2_048;

/** `notifiedPrice`: that of the last e-mail to the recipient with the property, null without one. */
export function mailProperty(
  document: PropertyDocument,
  notifiedPrice: number | null,
  reasons: readonly MailReason[],
): MailProperty {
  const { title, price, city, pictures, adverts, lastCrawledAdvert, ...members } =
    document as unknown as DocumentMembers;
  const speaking = [...adverts.filter(({ uuid }) => uuid === lastCrawledAdvert), ...adverts];
  const [first] = speaking;
  const before = notifiedPrice ?? priceKnownBefore(price, reasons);
  return {
    title: cut(title, TITLE_LENGTH_MAX),
    transactionType: members.transactionType,
    propertyType: members.propertyType,
    isExpired: members.expired,
    price,
    priceBefore: before === price ? null : before,
    pricePerMeter: members.pricePerMeter,
    surface: members.surface,
    landSurface: members.landSurface,
    room: members.room,
    bedroom: members.bedroom,
    energyClass: first?.energy?.category ?? null,
    city: cut(city?.name ?? null, NAME_LENGTH_MAX),
    zipcode: cut(city?.zipcode ?? null, NAME_LENGTH_MAX),
    publisher: cut(first?.publisher?.name ?? first?.publisher?.category ?? null, NAME_LENGTH_MAX),
    picture: firstOf(pictures.map(webUrl)),
    link: firstOf(speaking.map(({ url }) => webUrl(url))),
  };
}

/**
 * For a property that is no new match: its price before the changes that led to `price`, the last one first. Those of
 * another advert led to another price.
 */
function priceKnownBefore(price: number | null, reasons: readonly MailReason[]): number | null {
  if (reasons.some(({ type }) => type === 'match')) return null;
  let known = price;
  for (const { kind, oldValue, newValue } of [...reasons].reverse())
    if (kind === 'ad.update.price' && numberOf(newValue) === known) known = numberOf(oldValue);
  return known;
}

function numberOf(value: string | null): number | null {
  return value === null || !Number.isFinite(Number(value)) ? null : Number(value);
}

type PlainMembers =
  | 'transactionType'
  | 'propertyType'
  | 'pricePerMeter'
  | 'surface'
  | 'landSurface'
  | 'room'
  | 'bedroom';

interface DocumentMembers extends Pick<MailProperty, PlainMembers | 'title' | 'price'> {
  readonly expired: boolean;
  readonly city: { readonly name: string; readonly zipcode: string | null } | null;
  readonly pictures: readonly string[];
  readonly lastCrawledAdvert: Uuid;
  readonly adverts: readonly {
    readonly uuid: Uuid;
    readonly url: string | null;
    readonly energy: { readonly category: string | null } | null;
    readonly publisher: { readonly name: string | null; readonly category: string | null } | null;
  }[];
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

/** An item of an e-mail. */
export interface MailItem {
  readonly id: Uuid;
  readonly searchNumber: SearchNumber;
  readonly propertyUuid: Uuid;
  readonly reason: MailReason;
}

export interface MailEntry {
  readonly property: MailProperty;
  readonly causes: readonly MailCause[];
}

/** A search that found the property, and the reasons: the match first, each reason once. */
export interface MailCause {
  readonly searchTitle: string;
  readonly reasons: readonly MailReason[];
}

export interface MailContents {
  /** Not expired. */
  readonly entries: readonly MailEntry[];
  readonly expired: readonly MailProperty[];
  /** Properties that are not shown. */
  readonly moreCount: number;
  /** Of every search that led to one of the properties. */
  readonly searchTitles: ReadonlySet<string>;
}

const ENTRIES_MAX = 50;

/** The content of an e-mail, by property; the one that changed last comes first. */
export function itemsByProperty(items: readonly MailItem[]): ReadonlyMap<Uuid, readonly MailItem[]> {
  const byProperty = new Map<Uuid, MailItem[]>();
  for (const item of [...items].sort((a, b) => (a.id < b.id ? -1 : 1)).reverse()) {
    const known = byProperty.get(item.propertyUuid);
    if (known === undefined) byProperty.set(item.propertyUuid, [item]);
    else known.unshift(item);
  }
  return new Map([...byProperty].slice(0, ENTRIES_MAX));
}

export interface MailSources {
  readonly documents: ReadonlyMap<Uuid, PropertyDocument>;
  /** Price of the last e-mail to the recipient that showed the property. */
  readonly notifiedPrices: ReadonlyMap<Uuid, number>;
  readonly titles: ReadonlyMap<SearchNumber, string>;
}

/** A property that was removed is left out. */
export function mailContents(items: readonly MailItem[], sources: MailSources): MailContents {
  const byProperty = itemsByProperty(items);
  const all = [...byProperty].flatMap(([uuid, ofProperty]): MailEntry[] => {
    const document = sources.documents.get(uuid);
    if (document === undefined) return [];
    const reasons = ofProperty.map(({ reason }) => reason);
    const property = mailProperty(document, sources.notifiedPrices.get(uuid) ?? null, reasons);
    return [{ property, causes: causesOf(ofProperty, sources.titles) }];
  });
  const total = new Set(items.map(({ propertyUuid }) => propertyUuid)).size;
  return {
    entries: all.filter(({ property }) => !property.isExpired),
    expired: all.filter(({ property }) => property.isExpired).map(({ property }) => property),
    moreCount: total - byProperty.size,
    searchTitles: new Set(items.map(({ searchNumber }) => sources.titles.get(searchNumber) ?? '')),
  };
}

function causesOf(items: readonly MailItem[], titles: ReadonlyMap<SearchNumber, string>): readonly MailCause[] {
  const reasonsOf = new Map<SearchNumber, MailReason[]>();
  for (const { searchNumber, reason } of items) {
    // Changes of one kind that continue each other are one reason, with the values from before the first to after the
    // last; those of two adverts are two.
    const reasons = reasonsOf.get(searchNumber) ?? [];
    const same = reasons.findIndex(
      ({ type, kind, newValue, advertUuid }) =>
        type === reason.type &&
        kind === reason.kind &&
        newValue === reason.oldValue &&
        advertUuid === reason.advertUuid,
    );
    const [before] = same < 0 ? [] : reasons.splice(same, 1);
    reasons.push({ ...reason, oldValue: (before ?? reason).oldValue });
    reasonsOf.set(searchNumber, reasons);
  }
  const isMatch = ({ type }: MailReason): number => (type === 'match' ? 0 : 1);
  return [...reasonsOf]
    .map(([number, reasons]) => ({
      searchTitle: titles.get(number) ?? '',
      reasons: reasons.sort((a, b) => isMatch(a) - isMatch(b)),
    }))
    .sort((a, b) => isMatch(a.reasons[0] as MailReason) - isMatch(b.reasons[0] as MailReason));
}
