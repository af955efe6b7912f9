/**
 * The held state of a property: the last statements of its adverts. Every representation for clients is derived from it
 * (property-document.ts), so there is one truth and nothing to synchronise.
 */

import type { AdvertContent, AdvertEvent } from './advert.ts';
import type { Uuid } from './ids.ts';
import type { StatedFlags } from './property-flags.ts';

/** Property-level values that an intake message may state; a null falls back to the advert where it has the member. */
export interface StatedProperty extends StatedFlags {
  readonly title: string | null;
  readonly description: string | null;
  readonly transactionType: number | null;
  readonly propertyType: number | null;
  readonly price: number | null;
  readonly surface: number | null;
  readonly landSurface: number | null;
  readonly room: number | null;
  readonly bedroom: number | null;
  readonly floor: number | null;
  readonly createdAt: string | null;
  readonly pictures: readonly string[] | null;
  readonly stations: readonly Station[] | null;
  readonly locations: { readonly lat: number; readonly lon: number } | null;
  readonly city: {
    readonly insee: string | null;
    readonly zipcode: string | null;
    readonly name: string | null;
  } | null;
}

export interface Station {
  readonly id: number | null;
  readonly name: string | null;
  readonly lines: readonly StationLine[];
}

export interface StationLine {
  readonly id: number | null;
  readonly name: string | null;
  readonly number: string | null;
  readonly color: string | null;
  readonly routeName: string | null;
}

export interface HeldAdvert {
  readonly uuid: Uuid;
  readonly content: AdvertContent;
  /** The `property` object of the message that stated `content`. */
  readonly property: StatedProperty;
  /** The earliest creation that was known before the last update, see `creationOf`; null before the first. */
  readonly createdBefore: string | null;
  /** First crawl and last change, by the crawler's clock. */
  readonly firstCrawledAt: string;
  readonly changedAt: string;
  readonly expiredAt: string | null;
  /** The last crawl that saw the advert live, once it has expired; null while it is live (`Crawls` has it then). */
  readonly lastLiveCrawledAt: string | null;
  /** Newest last, at most `EVENTS_KEPT`. */
  readonly events: readonly AdvertEvent[];
}

export interface PropertyState {
  readonly uuid: Uuid;
  /** In order of first appearance. Never empty. */
  readonly adverts: readonly HeldAdvert[];
}

/**
 * The last crawl of an advert, and the message that reported it: the number of its stream (store/intake-position.ts) and
 * its sequence there. `superseded`: what earlier messages with the same `crawledAt` said (domain/change.ts),
 * newest last, at most `SUPERSEDED_KEPT`.
 */
export type Crawl = readonly [crawledAt: string, stream: number, sequence: number, ...superseded: number[]];

/** Crawlers that state whole minutes, or the start of a run, change an advert a few times with the same `crawledAt`. */
export const SUPERSEDED_KEPT = 32;

/** The last crawl of each advert of a property, by advert UUID. Kept apart: it changes with every crawl. */
export type Crawls = Readonly<Record<Uuid, Crawl>>;

/** Events kept in `advert.events` of the property document (decisions, section 4). */
export const EVENTS_KEPT = 50;

export function isLive(advert: HeldAdvert): boolean {
  return advert.expiredAt === null;
}

/** The time of the property's last change, by the crawlers' clocks. */
export function changedAtOf({ adverts }: PropertyState): string {
  return adverts.map(({ changedAt }) => changedAt).reduce((latest, at) => (at > latest ? at : latest));
}

/**
 * The creation time of the property, as far as this advert knows: the earliest that any of its messages has stated, or
 * its first crawl. Portals state a new date for an advert that is published again.
 */
export function creationOf({ property, content, createdBefore, firstCrawledAt }: HeldAdvert): string {
  const stated = [property.createdAt ?? content.createdAt, createdBefore];
  return stated.reduce<string>((best, instant) => (instant && instant < best ? instant : best), firstCrawledAt);
}

/** The last crawl that saw the advert live. Instants are kept as `Date.prototype.toISOString` writes them, so text order is time order. */
export function lastLiveCrawl(advert: HeldAdvert, crawls: Crawls): string {
  return advert.lastLiveCrawledAt ?? crawls[advert.uuid]?.[0] ?? advert.changedAt;
}

/** The advert crawled last; ties go to the one that appeared first. */
function lastCrawledAdvert(adverts: readonly HeldAdvert[], crawls: Crawls): HeldAdvert {
  const [first, ...rest] = adverts;
  if (first === undefined) throw new Error('a property has at least one advert');
  return rest.reduce(
    (last, advert) => (lastLiveCrawl(advert, crawls) > lastLiveCrawl(last, crawls) ? advert : last),
    first,
  );
}

/**
 * The advert that represents the property: the most recently crawled live one, or the last crawled of all when none is
 * live (decisions, section 5).
 */
export function representativeAdvert(state: PropertyState, crawls: Crawls): HeldAdvert {
  const live = state.adverts.filter(isLive);
  return lastCrawledAdvert(live.length > 0 ? live : state.adverts, crawls);
}

/** The adverts that may represent the property, the one crawled last first: of equal crawls the one that appeared first. */
export function advertsByCrawl({ adverts }: PropertyState, crawls: Crawls): readonly HeldAdvert[] {
  const live = adverts.filter(isLive);
  const counted = live.length > 0 ? live : adverts;
  if (counted.length < 2) return counted;
  const crawled = counted.map((advert) => ({ advert, at: lastLiveCrawl(advert, crawls) }));
  crawled.sort((a, b) => (a.at === b.at ? 0 : a.at < b.at ? 1 : -1));
  return crawled.map(({ advert }) => advert);
}
