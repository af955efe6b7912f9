/**
 * The stored state of a property: the last statements of its adverts. The property document is derived from this state
 * and from the crawls (property-document.ts).
 */

import type { AdvertContent, AdvertEvent } from './advert.ts';
import type { Uuid } from './ids.ts';
import type { SentUpsert } from './intake-schema.ts';
import type { PointDistances } from './point-distances.ts';

type SentProperty = SentUpsert['property'];

/** The property's values in an intake message. The advert's value replaces a null, if the advert has the member. */
export type StatedProperty = Omit<SentProperty, 'uuid' | 'locations' | 'stations'> & {
  readonly stations: readonly Station[] | null;
  readonly locations: { readonly lat: number; readonly lon: number } | null;
};

type SentStation = NonNullable<SentProperty['stations']>[number];
export type StationLine = NonNullable<SentStation['lines']>[number];
export type Station = Omit<SentStation, 'lines'> & { readonly lines: readonly StationLine[] };

export interface StoredAdvert {
  readonly uuid: Uuid;
  readonly content: AdvertContent;
  /** The `property` object of the message that stated `content`. */
  readonly property: StatedProperty;
  /** The earliest creation time known before the last update (see `creationOf`); null before the first update. */
  readonly createdBefore: string | null;
  /** Times of the first crawl and the last change, by the crawler's clock. */
  readonly firstCrawledAt: string;
  readonly changedAt: string;
  readonly expiredAt: string | null;
  /** For an expired advert, the last crawl that saw it live; null while the advert is live (see `Crawls`). */
  readonly lastLiveCrawledAt: string | null;
  /** Newest last, at most `EVENTS_KEPT`. */
  readonly events: readonly AdvertEvent[];
}

export interface PropertyState {
  readonly uuid: Uuid;
  /** In order of first appearance. Never empty. */
  readonly adverts: readonly StoredAdvert[];
  /** Distances to points of interest at the last change; absent if no search named any, or the location was unknown. */
  readonly distances?: PointDistances;
}

/**
 * The last crawl of an advert, and the position of its message: the number of the stream (store/intake-position.ts) and
 * the sequence in that stream. `digest` is the message's digest (domain/intake-message.ts). `superseded` are hashes of
 * earlier messages with the same `crawledAt` (domain/change.ts), newest last, at most `SUPERSEDED_KEPT`.
 */
export type Crawl = readonly [
  crawledAt: string,
  stream: number,
  sequence: number,
  digest: string,
  ...superseded: number[],
];

/** A crawler that sends whole minutes, or the start of its run, changes an advert a few times at one `crawledAt`. */
export const SUPERSEDED_KEPT = 32;

/** The last crawl of each advert of a property, by advert UUID. Stored separately, because each crawl changes it. */
export type Crawls = Readonly<Record<Uuid, Crawl>>;

/** Number of events kept per advert and shown in the property document (decisions, section 4). */
export const EVENTS_KEPT = 50;

export function isLive(advert: StoredAdvert): boolean {
  return advert.expiredAt === null;
}

/** Time of the property's last change, by the crawlers' clocks. */
export function changedAtOf({ adverts }: PropertyState): string {
  return adverts.map(({ changedAt }) => changedAt).reduce((latest, at) => (at > latest ? at : latest));
}

/**
 * Creation time of the property according to this advert: the earliest of its first crawl and all times that its
 * messages have stated. Portals state a new date when they publish an advert again.
 */
export function creationOf({ property, content, createdBefore, firstCrawledAt }: StoredAdvert): string {
  const stated = [property.createdAt ?? content.createdAt, createdBefore];
  return stated.reduce<string>((best, instant) => (instant && instant < best ? instant : best), firstCrawledAt);
}

/** The last crawl that saw the advert live, as written by `toISOString`, so that text order is time order. */
export function lastLiveCrawl(advert: StoredAdvert, crawls: Crawls): string {
  return advert.lastLiveCrawledAt ?? crawls[advert.uuid]?.[0] ?? advert.changedAt;
}

/** The most recently crawled advert; of several crawled at the same time, the advert that appeared first. */
function lastCrawledAdvert(adverts: readonly StoredAdvert[], crawls: Crawls): StoredAdvert {
  const [first, ...rest] = adverts;
  if (first === undefined) throw new Error('the property has no advert');
  return rest.reduce(
    (last, advert) => (lastLiveCrawl(advert, crawls) > lastLiveCrawl(last, crawls) ? advert : last),
    first,
  );
}

/**
 * The advert that represents the property: the most recently crawled live advert or, if none is live, the most recently
 * crawled advert (decisions, section 5).
 */
export function representativeAdvert(state: PropertyState, crawls: Crawls): StoredAdvert {
  const live = state.adverts.filter(isLive);
  return lastCrawledAdvert(live.length > 0 ? live : state.adverts, crawls);
}

/** The adverts that may represent the property, the most recently crawled first. Ties keep the order of appearance. */
export function advertsByCrawl({ adverts }: PropertyState, crawls: Crawls): readonly StoredAdvert[] {
  const live = adverts.filter(isLive);
  const considered = live.length > 0 ? live : adverts;
  if (considered.length < 2) return considered;
  const crawled = considered.map((advert) => ({ advert, at: lastLiveCrawl(advert, crawls) }));
  crawled.sort((a, b) => (a.at === b.at ? 0 : a.at < b.at ? 1 : -1));
  return crawled.map(({ advert }) => advert);
}
