/**
 * What an e-mail says of a property: its state when the e-mail is written, and what has changed since this recipient was
 * last notified of it. What an e-mail shows is kept for each advert, and an advert is compared with itself alone.
 * Neither the document nor a contact is kept for it; only http and https addresses are taken over.
 */

import type { HeldProperty } from '../../engine/domain/change.ts';
import type { ResolvePlace } from '../../engine/domain/city.ts';
import type { EventKind } from '../../engine/domain/codes.ts';
import { isInRange } from '../../engine/domain/criterion-kinds.ts';
import {
  isOfProperty,
  type OfProperty,
  plainCriteria,
  type RowOf,
  rangeAsked,
} from '../../engine/domain/criterion-table.ts';
import { homeOf } from '../../engine/domain/home-facts.ts';
import type { SearchNumber, Uuid } from '../../engine/domain/ids.ts';
import type { MailLanguage } from '../../engine/domain/mail.ts';
import { type HeldAdvert, isLive } from '../../engine/domain/property.ts';
import { pricePerMeterOf, propertyDocument } from '../../engine/domain/property-document.ts';
import type { SearchMembers } from '../../engine/domain/search.ts';
import { cut, type MailReason, NAME_LENGTH_MAX } from './mail-items.ts';
import { chargesOf } from './rental-charges.ts';

/** A live advert of a property, as an e-mail shows it. */
export interface MailAdvert {
  /** Euros. */
  readonly price: number | null;
  /** The agency or portal. */
  readonly publisher: string | null;
}

/** The members of a property document that an e-mail reads. Euros, m². */
type MailDocument = Readonly<Record<OfProperty<RowOf<'range'>>['source']['fact'], number | null>> & {
  readonly title: string | null;
  readonly transactionType: number | null;
  readonly propertyType: number | null;
  readonly expired: boolean;
  readonly city: { readonly name: string; readonly zipcode: string | null } | null;
  readonly pictures: readonly string[];
  readonly lastCrawledAdvert: Uuid;
};

/** The document, with the price of the advert that the entry shows. */
export interface MailProperty extends MailDocument, MailAdvert {
  /** The price of this advert that the recipient was last notified of; null when it is the same, or there was none. */
  readonly priceBefore: number | null;
  /** Whether the rent includes the charges; null when that is unknown. */
  readonly hasCharges: boolean | null;
  /** A to G. */
  readonly energyClass: string | null;
  readonly picture: string | null;
  readonly link: string | null;
}

const TITLE_LENGTH_MAX = 200;
const URL_LENGTH_MAX = 2_048;

/** An item of an e-mail. */
export interface MailItem {
  readonly id: Uuid;
  readonly searchNumber: SearchNumber;
  readonly propertyUuid: Uuid;
  readonly reason: MailReason;
}

/** What an e-mail shows of an advert; of an expired one, what the last e-mail before showed. */
interface NotifiedAdvert {
  readonly price: number | null;
  readonly surface: number | null;
  readonly isExpired: boolean;
}

/** What the recipient was last notified of about a property, by advert. */
export type Notified = Readonly<Record<Uuid, NotifiedAdvert>>;

export interface MailEntry {
  readonly property: MailProperty;
  /** The other live adverts that have another price, the cheapest first. */
  readonly others: readonly MailAdvert[];
  /** Empty for an expired property. */
  readonly causes: readonly MailCause[];
  readonly notified: Notified;
}

/** A search that found the property, and the facts of which it is notified: the match first, each fact once. */
export interface MailCause {
  readonly searchTitle: string;
  readonly facts: readonly MailFact[];
  /** Sentences about the criteria that the property has ceased to satisfy. */
  readonly misses: readonly string[];
}

export interface MailFact {
  readonly type: 'match' | 'event';
  readonly kind: EventKind;
  /** Of an advert that is live again, the days that it was away. */
  readonly before: number | null;
  readonly now: number | null;
  /** An expired advert that is live again. */
  readonly isBack: boolean;
  /** Why the match has ended. */
  readonly why: string | null;
  /** Null for the one that the entry shows. */
  readonly advert: MailAdvert | null;
}

export interface MailSources {
  readonly held: HeldProperty;
  readonly resolvePlace: ResolvePlace;
  /** By the last e-mail with the property to the recipient; null without one. */
  readonly notified: Notified | null;
  /** An e-mail announced the property, even if that is no longer kept. */
  readonly isAnnounced: boolean;
  readonly searches: ReadonlyMap<SearchNumber, SearchMembers>;
  readonly language: MailLanguage;
}

/**
 * The items of a property that an e-mail may speak of: of those about a match with one search, which says that it began,
 * ended or returned, the last state. One that ended and returned needs no words.
 */
export function news<Item extends MailItem>(items: readonly Item[]): readonly Item[] {
  const isEnd = ({ reason }: MailItem): boolean => reason.kind === 'property.match.end';
  const unsaid = new Set<Item>();
  for (const number of new Set(items.map(({ searchNumber }) => searchNumber))) {
    const standing = items.filter(
      (item) => item.searchNumber === number && (item.reason.type === 'match' || item.reason.kind in MATCH_STATES),
    );
    const [first, last] = [standing[0], standing.at(-1)];
    if (first === undefined || last === undefined) continue;
    const isOutAndBack = isEnd(first) && last.reason.kind === 'property.match.resume';
    const began = isEnd(last) ? undefined : standing.find(({ reason }) => reason.type === 'match');
    for (const item of standing) if (isOutAndBack || item !== (began ?? last)) unsaid.add(item);
  }
  return items.filter((item) => !unsaid.has(item));
}

const MATCH_STATES: Partial<Readonly<Record<EventKind, true>>> = {
  'property.match.end': true,
  'property.match.resume': true,
};

/** `all`: all items of one property, the oldest first. Null when they say nothing that the recipient does not know. */
export function mailEntry(all: readonly MailItem[], sources: MailSources): MailEntry | null {
  const items = news(all);
  const { held, resolvePlace, notified, isAnnounced, searches, language } = sources;
  const { state, crawls } = held;
  const document = {
    ...propertyDocument(state, crawls, resolvePlace, { withContacts: false }),
    floor: homeOf(state, crawls).floor,
  } as unknown as MailDocument;
  const lead = leadOf(items, state.adverts, document.lastCrawledAdvert);
  const reasons = items.map(({ reason }) => reason);
  const isNews = !isAnnounced && reasons.some(({ type }) => type === 'match');
  const property = mailProperty(document, state.adverts, lead, isNews ? null : priceBefore(lead, notified, reasons));
  const notifiedNow = notifiedOf(state.adverts, notified);
  if (document.expired) {
    const isNew = isAnnounced && (notified === null || Object.values(notified).some(({ isExpired }) => !isExpired));
    return isNew ? { property, others: [], causes: [], notified: notifiedNow } : null;
  }
  const causes = [...new Set(items.map(({ searchNumber }) => searchNumber))].flatMap((number): MailCause[] => {
    const ofSearch = items.filter(({ searchNumber }) => searchNumber === number);
    const facts = factsOf(ofSearch, lead, sources).filter(({ type }) => !isNews || type === 'match');
    const members = searches.get(number);
    const isEnded = facts.some(({ why }) => why !== null);
    const misses = members === undefined || isEnded ? [] : missesOf(members, document, language);
    return facts.length === 0 ? [] : [{ searchTitle: members?.title ?? '', facts, misses }];
  });
  causes.sort((a, b) => Number(hasMatch(b)) - Number(hasMatch(a)));
  return causes.length === 0
    ? null
    : { property, others: othersOf(state.adverts, lead), causes, notified: notifiedNow };
}

function hasMatch({ facts }: MailCause): boolean {
  return facts[0]?.type === 'match';
}

/** The live advert of the last reason, otherwise the one that stands for the property. */
function leadOf(items: readonly MailItem[], adverts: readonly HeldAdvert[], last: Uuid): HeldAdvert {
  const live = new Map(adverts.filter(isLive).map((advert) => [advert.uuid, advert]));
  const found = items.findLast(({ reason }) => reason.advertUuid !== undefined && live.has(reason.advertUuid));
  const uuid = found?.reason.advertUuid ?? last;
  return (live.get(uuid) ?? adverts.find((advert) => advert.uuid === uuid)) as HeldAdvert;
}

function priceOf({ content, property }: HeldAdvert): number | null {
  return content.price ?? property.price;
}

function shownOf(advert: HeldAdvert): MailAdvert {
  const { publisher } = advert.content;
  return { price: priceOf(advert), publisher: cut(publisher?.name ?? publisher?.category ?? null, NAME_LENGTH_MAX) };
}

/** As the last e-mail showed it, or else as it was before the first of the reasons. */
function priceBefore(advert: HeldAdvert, notified: Notified | null, reasons: readonly MailReason[]): number | null {
  const last = notified?.[advert.uuid];
  if (last !== undefined) return last.price;
  const first = reasons.find(({ kind, advertUuid }) => kind === 'ad.update.price' && advertUuid === advert.uuid);
  return first === undefined ? null : numberOf(first.oldValue);
}

function notifiedOf(adverts: readonly HeldAdvert[], notified: Notified | null): Notified {
  const now: Record<Uuid, NotifiedAdvert> = {};
  for (const advert of adverts) {
    const last = notified?.[advert.uuid];
    if (isLive(advert)) {
      now[advert.uuid] = { price: priceOf(advert), surface: advert.content.surface, isExpired: false };
    } else if (last !== undefined) now[advert.uuid] = { ...last, isExpired: true };
  }
  return now;
}

function othersOf(adverts: readonly HeldAdvert[], lead: HeldAdvert): readonly MailAdvert[] {
  return adverts
    .filter((advert) => isLive(advert) && priceOf(advert) !== null && priceOf(advert) !== priceOf(lead))
    .map(shownOf)
    .sort((a, b) => Number(a.price) - Number(b.price));
}

/** Changes of one kind in one advert are one fact, from before the first to now; one that ends where it began is none. */
function factsOf(items: readonly MailItem[], lead: HeldAdvert, sources: MailSources): readonly MailFact[] {
  const facts = new Map<string, MailFact>();
  for (const { reason } of items) {
    const { type, kind, advertUuid } = reason;
    const fact = factOf(reason, lead, sources);
    const key = type === 'match' ? type : `${fact?.isBack ? 'back' : kind} ${advertUuid}`;
    const earlier = facts.get(key);
    if (fact !== null) facts.set(key, earlier === undefined ? fact : { ...fact, before: earlier.before });
  }
  return [...facts.values()]
    .filter(({ kind, before, now }) => !(kind in COMPARED) || before !== now)
    .sort((a, b) => Number(b.type === 'match') - Number(a.type === 'match'));
}

/** What of an advert a change is compared by. */
const COMPARED: Partial<Readonly<Record<EventKind, 'price' | 'surface'>>> = {
  'ad.update.price': 'price',
  'ad.update.surface': 'surface',
};

/** Null when the recipient knows it, it no longer holds, or another item says it. */
function factOf(reason: MailReason, lead: HeldAdvert, sources: MailSources): MailFact | null {
  const { held, notified, isAnnounced, language } = sources;
  const { type, kind, oldValue, newValue, advertUuid } = reason;
  const fact: MailFact = {
    type,
    kind,
    before: null,
    now: null,
    isBack: false,
    why: reason.why?.[language] ?? null,
    advert: null,
  };
  if (type === 'match' || kind in MATCH_STATES) return fact;
  const advert = held.state.adverts.find(({ uuid }) => uuid === advertUuid);
  if (advert === undefined) return null;
  const last = notified?.[advert.uuid];
  const shown = advert === lead ? null : shownOf(advert);
  if (kind === 'ad.update.expired') {
    const isKnown = isAnnounced && (notified === null || last?.isExpired === false);
    return isLive(advert) || !isKnown ? null : { ...fact, advert: shown };
  }
  if (!isLive(advert)) return null;
  if (kind === 'ad.update.reactivated') {
    const before = reason.daysAway ?? null;
    return last?.isExpired === false ? null : { ...fact, before, isBack: true, advert: shown };
  }
  const isBack = last?.isExpired === true;
  if (kind === 'property.ad.update' && isBack) return { ...fact, isBack, advert: shown };
  if (reason.isCovered === true || (kind === 'property.ad.create' && last !== undefined)) return null;
  const compared = COMPARED[kind];
  if (compared === undefined) return { ...fact, before: numberOf(oldValue), now: numberOf(newValue), advert: shown };
  const before = last === undefined ? numberOf(oldValue) : last[compared];
  return { ...fact, before, now: compared === 'price' ? priceOf(advert) : advert.content.surface, advert: shown };
}

/** Only bounds of the property's own values: they are what an e-mail shows. */
function missesOf(members: SearchMembers, document: MailDocument, language: MailLanguage): readonly string[] {
  return plainCriteria('range')
    .filter(isOfProperty)
    .flatMap((row) => {
      const expected = rangeAsked(row, members);
      const actual = document[row.source.fact];
      return isInRange(expected, actual) ? [] : [row.reason({ holds: false, expected, actual: [actual] }, language)];
    });
}

function mailProperty(
  document: MailDocument,
  adverts: readonly HeldAdvert[],
  lead: HeldAdvert,
  before: number | null,
): MailProperty {
  const { publisher, price: own } = shownOf(lead);
  const price = own ?? document.price;
  // The link of an expired advert is dead.
  const linked = [lead, ...adverts].filter(isLive);
  return {
    ...document,
    title: cut(document.title, TITLE_LENGTH_MAX),
    price,
    priceBefore: before === price ? null : before,
    pricePerMeter: pricePerMeterOf(price, document.surface),
    hasCharges: chargesOf(lead.content),
    energyClass: lead.content.energy?.category ?? null,
    publisher,
    picture: firstOf(document.pictures.map(webUrl)),
    link: firstOf(linked.map(({ content }) => webUrl(content.url))),
  };
}

function numberOf(value: string | null): number | null {
  return value === null || !Number.isFinite(Number(value)) ? null : Number(value);
}

function webUrl(text: string | null): string | null {
  if (text === null || text.length > URL_LENGTH_MAX || !URL.canParse(text)) return null;
  const { protocol, href } = new URL(text);
  return (protocol === 'https:' || protocol === 'http:') && href.length <= URL_LENGTH_MAX ? href : null;
}

function firstOf(found: readonly (string | null)[]): string | null {
  return found.find((each) => each !== null) ?? null;
}

/** The items of each property, the oldest first; the property that changed last comes first. */
export function itemsByProperty<Item extends MailItem>(items: readonly Item[]): ReadonlyMap<Uuid, readonly Item[]> {
  const byProperty = new Map<Uuid, Item[]>();
  for (const item of [...items].sort((a, b) => (a.id < b.id ? 1 : -1))) {
    const known = byProperty.get(item.propertyUuid);
    if (known === undefined) byProperty.set(item.propertyUuid, [item]);
    else known.unshift(item);
  }
  return byProperty;
}
