/**
 * The content of an e-mail about a property: its state when the e-mail is written, and the changes since the last
 * e-mail to this recipient. For this comparison, the price, surface and expiry of each advert are stored with the last
 * e-mail; an advert is compared only with itself. Of the URLs in adverts, only http and https ones are used.
 */

import type { StoredProperty } from '../../engine/domain/change.ts';
import type { ResolvePlace } from '../../engine/domain/city.ts';
import type { EventKind } from '../../engine/domain/codes.ts';
import { isInRange } from '../../engine/domain/criterion-kinds.ts';
import {
  isOfProperty,
  type OfProperty,
  plainCriteria,
  type RowOf,
  requestedRange,
} from '../../engine/domain/criterion-table.ts';
import { homeOf } from '../../engine/domain/home-facts.ts';
import type { SearchNumber, Uuid } from '../../engine/domain/ids.ts';
import type { MailLanguage } from '../../engine/domain/mail.ts';
import { isLive, type StoredAdvert } from '../../engine/domain/property.ts';
import { pricePerMeterOf, propertyDocument } from '../../engine/domain/property-document.ts';
import type { SearchMembers } from '../../engine/domain/search.ts';
import { cut } from '../../engine/domain/text.ts';
import { type MailReason, NAME_LENGTH_MAX } from './mail-items.ts';
import { cleanText } from './mail-words.ts';
import { type FitSources, type PresentFit, presentFit } from './present-fit.ts';
import { chargesOf } from './rental-charges.ts';

/** An advert of a property, as an e-mail shows it. */
export interface MailAdvert {
  /** Euros. */
  readonly price: number | null;
  /** The agency or portal. */
  readonly publisher: string | null;
}

/** The members of a property document that an e-mail reads. Euros, m². */
type MailDocument = Readonly<
  Record<Exclude<OfProperty<RowOf<'range'>>['source']['fact'], 'markets'>, number | null>
> & {
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
  /** The price in the last e-mail, or else before the first reported change; null if the same, or for a new match. */
  readonly priceBefore: number | null;
  /** True if the rent includes the charges; null when that is unknown. */
  readonly hasCharges: boolean | null;
  /** A to G. */
  readonly energyClass: string | null;
  readonly picture: string | null;
  readonly link: string | null;
  /** Null if the property has a link, or if a search that found it hides contacts. */
  readonly contact: MailContact | null;
}

/** From the shown advert. Each member may be empty. */
export interface MailContact {
  /** The agency, or else the person. */
  readonly name: string;
  readonly phone: string;
  readonly email: string;
  readonly reference: string;
}

/** A search as its recipient sees it. */
export interface MailSearch {
  readonly name: string;
  /** Its criteria in words, unless the name already gives them. */
  readonly criteria: string | null;
}

const TITLE_LENGTH_MAX = 200;
const URL_LENGTH_MAX = 2_048;

export interface MailItem {
  readonly id: Uuid;
  readonly searchNumber: SearchNumber;
  readonly propertyUuid: Uuid;
  readonly reason: MailReason;
}

/** The values of an advert that an e-mail reports. An expired advert keeps those of the previous e-mail. */
interface NotifiedAdvert {
  readonly price: number | null;
  readonly surface: number | null;
  readonly isExpired: boolean;
}

/** The adverts of a property as the recipient was last notified of them. */
export type Notified = Readonly<Record<Uuid, NotifiedAdvert>>;

export interface MailEntry {
  readonly property: MailProperty;
  /** The other live adverts whose price differs, the cheapest first. */
  readonly others: readonly MailAdvert[];
  /** Empty for an expired property, and on the recipient's page. */
  readonly causes: readonly MailCause[];
  readonly notified: Notified;
}

/** A search that found the property, and the facts to report: the match first, each fact once. */
export interface MailCause extends PresentFit {
  readonly searchName: string;
  readonly facts: readonly MailFact[];
  /** Sentences about the criteria that the property has ceased to satisfy. */
  readonly misses: readonly string[];
}

export interface MailFact {
  readonly type: 'match' | 'event';
  readonly kind: EventKind;
  /** The former value. For an advert that is live again: the number of days it was expired. */
  readonly before: number | null;
  readonly now: number | null;
  /** True if the advert had expired and is live again. */
  readonly isBack: boolean;
  /** Why the match has ended. */
  readonly why: string | null;
  /** The changed advert; null for the one that the entry shows. */
  readonly advert: MailAdvert | null;
}

export interface MailSources extends FitSources {
  /** From the last e-mail with the property to the recipient; null without one. */
  readonly notified: Notified | null;
  /** True if an e-mail has announced the property, even one that is no longer kept. */
  readonly isAnnounced: boolean;
  readonly searches: ReadonlyMap<SearchNumber, SearchMembers>;
  readonly names: ReadonlyMap<SearchNumber, MailSearch>;
}

/**
 * The items of a property that an e-mail may mention. For each match only one item about its state remains: its
 * beginning if the match continues, otherwise its last state. A match that ended and returned is not mentioned.
 */
export function news<Item extends MailItem>(items: readonly Item[]): readonly Item[] {
  const isEnd = ({ reason }: MailItem): boolean => reason.kind === 'property.match.end';
  const unsaid = new Set<Item>();
  for (const number of new Set(items.map(({ searchNumber }) => searchNumber))) {
    const states = items.filter(
      (item) => item.searchNumber === number && (item.reason.type === 'match' || item.reason.kind in MATCH_STATES),
    );
    const [first, last] = [states[0], states.at(-1)];
    if (first === undefined || last === undefined) continue;
    const isOutAndBack = isEnd(first) && last.reason.kind === 'property.match.resume';
    const began = isEnd(last) ? undefined : states.find(({ reason }) => reason.type === 'match');
    for (const item of states) if (isOutAndBack || item !== (began ?? last)) unsaid.add(item);
  }
  return items.filter((item) => !unsaid.has(item));
}

const MATCH_STATES: Partial<Readonly<Record<EventKind, true>>> = {
  'property.match.end': true,
  'property.match.resume': true,
};

/** `all`: all items of one property, the oldest first. Null if they contain no news for the recipient. */
export function mailEntry(all: readonly MailItem[], sources: MailSources): MailEntry | null {
  const items = news(all);
  const { stored, resolvePlace, notified, isAnnounced, searches, names, language } = sources;
  const { state } = stored;
  const document = documentOf(stored, resolvePlace);
  const lead = leadOf(items, state.adverts, document.lastCrawledAdvert);
  const reasons = items.map(({ reason }) => reason);
  const isNews = !isAnnounced && reasons.some(({ type }) => type === 'match');
  const before = isNews ? null : priceBefore(lead, notified, reasons);
  const property = mailProperty(document, state.adverts, lead, before, isContactHidden(all, searches));
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
    if (facts.length === 0) return [];
    const searchName = names.get(number)?.name ?? '';
    if (members === undefined || isEnded)
      return [{ searchName, facts, misses: [], marketPercent: null, nearby: [], alternative: null }];
    const { missed, ...fit } = presentFit(members, sources);
    return [{ searchName, facts, misses: [...missesOf(members, document, language), ...missed], ...fit }];
  });
  causes.sort((a, b) => Number(hasMatch(b)) - Number(hasMatch(a)));
  return causes.length === 0
    ? null
    : { property, others: othersOf(state.adverts, lead), causes, notified: notifiedNow };
}

/** The property as an e-mail with these items would show it now, without the news. */
export function homeEntry(
  items: readonly MailItem[],
  { stored, resolvePlace, searches }: Pick<MailSources, 'stored' | 'resolvePlace' | 'searches'>,
): MailEntry {
  const { adverts } = stored.state;
  const document = documentOf(stored, resolvePlace);
  const lead = leadOf(items, adverts, document.lastCrawledAdvert);
  const property = mailProperty(document, adverts, lead, null, isContactHidden(items, searches));
  return { property, others: othersOf(adverts, lead), causes: [], notified: {} };
}

function isContactHidden(items: readonly MailItem[], searches: MailSources['searches']): boolean {
  return items.some(({ searchNumber }) => searches.get(searchNumber)?.hidePropertyContact !== false);
}

function documentOf({ state, crawls }: StoredProperty, resolvePlace: ResolvePlace): MailDocument {
  return {
    ...propertyDocument(state, crawls, resolvePlace, { withContacts: false }),
    floor: homeOf(state, crawls).floor,
  } as unknown as MailDocument;
}

function hasMatch({ facts }: MailCause): boolean {
  return facts[0]?.type === 'match';
}

/** The advert of the last reason whose advert is live; otherwise `last`, the advert that represents the property. */
function leadOf(items: readonly MailItem[], adverts: readonly StoredAdvert[], last: Uuid): StoredAdvert {
  const live = new Map(adverts.filter(isLive).map((advert) => [advert.uuid, advert]));
  const found = items.findLast(({ reason }) => reason.advertUuid !== undefined && live.has(reason.advertUuid));
  const uuid = found?.reason.advertUuid ?? last;
  return (live.get(uuid) ?? adverts.find((advert) => advert.uuid === uuid)) as StoredAdvert;
}

function priceOf({ content, property }: StoredAdvert): number | null {
  return content.price ?? property.price;
}

function shownOf(advert: StoredAdvert): MailAdvert {
  const { name = null, category = null } = advert.content.publisher ?? {};
  const publisher = name ?? category;
  return { price: priceOf(advert), publisher: publisher && cut(publisher, NAME_LENGTH_MAX) };
}

/** The price in the last e-mail, or else before the advert's first price change among the reasons. */
function priceBefore(advert: StoredAdvert, notified: Notified | null, reasons: readonly MailReason[]): number | null {
  const last = notified?.[advert.uuid];
  if (last !== undefined) return last.price;
  const first = reasons.find(({ kind, advertUuid }) => kind === 'ad.update.price' && advertUuid === advert.uuid);
  return first === undefined ? null : numberOf(first.oldValue);
}

function notifiedOf(adverts: readonly StoredAdvert[], notified: Notified | null): Notified {
  const now: Record<Uuid, NotifiedAdvert> = {};
  for (const advert of adverts) {
    const last = notified?.[advert.uuid];
    if (isLive(advert)) {
      now[advert.uuid] = { price: priceOf(advert), surface: advert.content.surface, isExpired: false };
    } else if (last !== undefined) now[advert.uuid] = { ...last, isExpired: true };
  }
  return now;
}

function othersOf(adverts: readonly StoredAdvert[], lead: StoredAdvert): readonly MailAdvert[] {
  return adverts
    .filter((advert) => isLive(advert) && priceOf(advert) !== null && priceOf(advert) !== priceOf(lead))
    .map(shownOf)
    .sort((a, b) => Number(a.price) - Number(b.price));
}

/** One fact for all changes of a kind in one advert, from first to last; none if the price or surface is unchanged. */
function factsOf(items: readonly MailItem[], lead: StoredAdvert, sources: MailSources): readonly MailFact[] {
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

/** The member of an advert that a change compares. */
const COMPARED: Partial<Readonly<Record<EventKind, 'price' | 'surface'>>> = {
  'ad.update.price': 'price',
  'ad.update.surface': 'surface',
};

/** Null if the fact is not new to the recipient, is no longer true, or is in another item. */
function factOf(reason: MailReason, lead: StoredAdvert, sources: MailSources): MailFact | null {
  const { stored, notified, isAnnounced, language } = sources;
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
  const advert = stored.state.adverts.find(({ uuid }) => uuid === advertUuid);
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

/** Sentences about missed limits, but only of the property's own values, because an e-mail shows these. */
function missesOf(members: SearchMembers, document: MailDocument, language: MailLanguage): readonly string[] {
  return SHOWN_RANGES.flatMap((row) => {
    const expected = requestedRange(row, members);
    const actual = document[row.source.fact];
    return isInRange(expected, actual) ? [] : [row.reason({ holds: false, expected, actual: [actual] }, language)];
  });
}

const SHOWN_RANGES = plainCriteria('range')
  .filter(isOfProperty)
  .filter((row) => row.name !== 'marketDifference');

function mailProperty(
  document: MailDocument,
  adverts: readonly StoredAdvert[],
  lead: StoredAdvert,
  before: number | null,
  isContactHidden: boolean,
): MailProperty {
  const { publisher, price: own } = shownOf(lead);
  const price = own ?? document.price;
  // The link of an expired advert is dead.
  const linked = [lead, ...adverts].filter(isLive);
  const link = firstOf(linked.map(({ content }) => webUrl(content.url)));
  return {
    ...document,
    title: document.title && cut(document.title, TITLE_LENGTH_MAX),
    price,
    priceBefore: before === price ? null : before,
    pricePerMeter: pricePerMeterOf(price, document.surface),
    hasCharges: chargesOf(lead.content),
    energyClass: lead.content.energy?.category ?? null,
    publisher,
    picture: firstOf(document.pictures.map(webUrl)),
    link,
    contact: link === null && !isContactHidden ? contactOf(lead) : null,
  };
}

function contactOf({ content: { contact } }: StoredAdvert): MailContact | null {
  if (contact === null) return null;
  const textOf = (text: string | null): string => cut(cleanText(text ?? ''), NAME_LENGTH_MAX);
  const shown = {
    name: textOf(contact.agency) || textOf(contact.name),
    phone: textOf(contact.phone),
    email: textOf(contact.email),
    reference: textOf(contact.reference),
  };
  return Object.values(shown).every((text) => text === '') ? null : shown;
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
