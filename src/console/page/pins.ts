/**
 * Matches as the map needs them: where, what, since when. At most so many are held, the newest; a property that several
 * searches match is one pin each, drawn over each other.
 */

import { idOf, type MatchDocument, type PropertyDocument } from './documents.ts';
import { latitudeOf, worldX, worldY } from './map/projection.ts';

export interface Pin {
  /** The match; the property where nothing was notified. */
  readonly match: string;
  readonly search: string;
  readonly property: string;
  readonly title: string | null;
  readonly price: number | null;
  /** Before its last change; null: it has not changed. */
  readonly priceBefore: number | null;
  readonly pricePerMeter: number | null;
  readonly surface: number | null;
  readonly room: number | null;
  readonly propertyType: number | null;
  readonly picture: string | null;
  readonly transactionType: number | null;
  readonly cityName: string | null;
  readonly isExpired: boolean;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** In the world's square from 0 to 1; null: nobody knows where it is. */
  readonly x: number | null;
  readonly y: number | null;
}

export const PINS_MAX = 10_000;

export interface PinTable {
  /** Newest first. */
  list(): readonly Pin[];
  get(match: string): Pin | null;
  /** Whether the match was unknown. */
  put(match: Pinned): boolean;
  dropSearch(search: string): void;
  readonly size: number;
}

export function createPinTable(): PinTable {
  const byMatch = new Map<string, Pin>();
  let sorted: readonly Pin[] | null = null;
  const list = (): readonly Pin[] => {
    sorted ??= [...byMatch.values()].sort((a, b) => b.createdAtMs - a.createdAtMs);
    return sorted;
  };
  return {
    list,
    get: (match) => byMatch.get(match) ?? null,
    put(match) {
      const isNew = !byMatch.has(match['@id']);
      byMatch.set(match['@id'], pinOf(match));
      sorted = null;
      // A tenth more than the maximum, so that not every match sorts ten thousand.
      if (byMatch.size > PINS_MAX * 1.1) {
        for (const { match: oldest } of list().slice(PINS_MAX)) byMatch.delete(oldest);
        sorted = null;
      }
      return isNew;
    },
    dropSearch(search) {
      for (const pin of byMatch.values()) if (pin.search === search) byMatch.delete(pin.match);
      sorted = null;
    },
    get size() {
      return byMatch.size;
    },
  };
}

/** What the panel of a pin is opened by. */
export function panelIdOf({ match }: Pick<Pin, 'match'>): string {
  return match.startsWith('/matches/') ? idOf(match) : match;
}

/** A match, or a property that is found without one: they differ in what JSON-LD adds. */
type Pinned = Omit<MatchDocument, '@context' | '@type' | 'propertyDocument'> & {
  readonly propertyDocument: Omit<PropertyDocument, '@context' | '@type'> | null;
};

export function pinOf({ '@id': match, search, property, createdAt, updatedAt, propertyDocument }: Pinned): Pin {
  const place = placeOf(propertyDocument);
  return {
    match,
    search,
    property,
    title: propertyDocument?.title ?? null,
    price: propertyDocument?.price ?? null,
    priceBefore: propertyDocument === null ? null : priceBefore(propertyDocument),
    pricePerMeter: propertyDocument?.pricePerMeter ?? null,
    surface: propertyDocument?.surface ?? null,
    room: propertyDocument?.room ?? null,
    propertyType: propertyDocument?.propertyType ?? null,
    picture: propertyDocument?.pictures[0] ?? null,
    transactionType: propertyDocument?.transactionType ?? null,
    cityName: propertyDocument?.city?.name ?? null,
    isExpired: propertyDocument?.expired ?? false,
    createdAtMs: Date.parse(createdAt),
    updatedAtMs: Date.parse(updatedAt),
    x: place === null ? null : worldX(place.lon),
    y: place === null ? null : worldY(latitudeOf(place.lat)),
  };
}

function priceBefore({ adverts }: Pick<PropertyDocument, 'adverts'>): number | null {
  const changes = adverts.flatMap(({ events }) => events).filter(({ fieldName }) => fieldName === 'price');
  const last = changes.reduce<(typeof changes)[number] | null>(
    (newest, one) => (newest === null || one.createdAt > newest.createdAt ? one : newest),
    null,
  );
  return last === null || last.fieldOldValue === null ? null : Number(last.fieldOldValue);
}

/** Its own coordinates, else its commune's. */
export function placeOf(document: Pinned['propertyDocument']): { readonly lat: number; readonly lon: number } | null {
  return document?.locations ?? document?.city?.location ?? null;
}
