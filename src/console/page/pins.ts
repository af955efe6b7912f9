/**
 * Matches as the map needs them: position, kind, time. The newest ones are kept, up to a maximum; a property that several
 * searches match has a pin for each, drawn over each other.
 */

import { idOf, type MatchDocument, type PropertyDocument } from './documents.ts';
import { latitudeOf, worldX, worldY } from './map/projection.ts';

export interface Pin {
  /** Id of the match; of the property if nothing was notified. */
  readonly match: string;
  readonly search: string;
  readonly property: string;
  readonly title: string | null;
  readonly price: number | null;
  /** The price before its last change; null: it has not changed. */
  readonly priceBefore: number | null;
  readonly pricePerMeter: number | null;
  readonly surface: number | null;
  readonly room: number | null;
  readonly floor: number | null;
  /** The energy classes that its adverts state. */
  readonly energy: readonly string[];
  /** In the words of its adverts. */
  readonly features: readonly string[];
  readonly propertyType: number | null;
  readonly picture: string | null;
  readonly transactionType: number | null;
  readonly cityName: string | null;
  readonly isExpired: boolean;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** Position in the unit square of the world; null: unknown. */
  readonly x: number | null;
  readonly y: number | null;
}

export const PINS_MAX = 10_000;

export interface PinTable {
  /** Newest first. */
  list(): readonly Pin[];
  get(match: string): Pin | null;
  /** True: the match was new to the page. */
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

/** The address that opens the panel of a pin. */
export function panelIdOf({ match }: Pick<Pin, 'match'>): string {
  return match.startsWith('/matches/') ? idOf(match) : match;
}

/** A match, or a found property without one: their JSON-LD members differ. */
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
    floor: propertyDocument?.floor ?? null,
    ...homeOf(propertyDocument?.adverts ?? []),
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

const FEATURES_MAX = 12;

/** What its adverts state, each once. */
export function homeOf(adverts: PropertyDocument['adverts']): Pick<Pin, 'energy' | 'features'> {
  return {
    energy: [...new Set(adverts.flatMap(({ energy }) => energy?.category ?? []))],
    features: [...new Set(adverts.flatMap(({ features }) => features))].slice(0, FEATURES_MAX),
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

/** Coordinates of the property, otherwise of its commune. */
export function placeOf(document: Pinned['propertyDocument']): { readonly lat: number; readonly lon: number } | null {
  return document?.locations ?? document?.city?.location ?? null;
}
