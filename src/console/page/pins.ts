/**
 * Matches and found properties as the map view needs them. Only the newest are kept. A property has a separate pin for
 * each of its searches, at the same position.
 */

import {
  type FoundPropertyDocument,
  idOf,
  type MatchDocument,
  type PropertyDocument,
  type PropertyMarkDocument,
} from './documents.ts';
import { folded } from './folded.ts';
import { worldX, worldY } from './map/projection.ts';

const SHOWN = [
  ...(['title', 'price', 'pricePerMeter', 'surface', 'room', 'floor'] as const),
  ...(['propertyType', 'transactionType'] as const),
];

export interface Pin extends Pick<PropertyDocument, (typeof SHOWN)[number]> {
  /** The IRI of the match, or of the property if nothing was notified. */
  readonly match: string;
  readonly search: string;
  readonly property: string;
  /** The price before its last change; null if it has not changed. */
  readonly priceBefore: number | null;
  /** The energy classes that its adverts state. */
  readonly energy: readonly string[];
  /** In the words of the adverts. */
  readonly features: readonly string[];
  readonly picture: string | null;
  readonly cityName: string | null;
  readonly isExpired: boolean;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** Null if nothing was notified. */
  readonly matchedAtMs: number | null;
  /** True if it appeared after the last visit to its search. */
  readonly isNew?: boolean;
  readonly mark: PropertyMarkDocument['state'];
  /** Position in the unit square of the world; null if unknown. */
  readonly x: number | null;
  readonly y: number | null;
}

export const PINS_MAX = 10_000;

export function createPinTable() {
  const byMatch = new Map<string, Pin>();
  let sorted: readonly Pin[] | null = null;
  const list = (): readonly Pin[] => {
    sorted ??= [...byMatch.values()].sort((a, b) => b.createdAtMs - a.createdAtMs);
    return sorted;
  };
  return {
    /** Newest first. */
    list,
    get: (match: string): Pin | null => byMatch.get(match) ?? null,
    /** Returns true if the match was new to the page. */
    put(match: Pinned): boolean {
      const isNew = !byMatch.has(match['@id']);
      byMatch.set(match['@id'], pinOf(match));
      sorted = null;
      // A tenth more than the maximum, so that not every new match sorts ten thousand.
      if (byMatch.size > PINS_MAX * 1.1) {
        for (const { match: oldest } of list().slice(PINS_MAX)) byMatch.delete(oldest);
        sorted = null;
      }
      return isNew;
    },
    /** `property`: only the pin of this property. */
    drop(search: string, property?: string): void {
      const isGone = (pin: Pin) => pin.search === search && (property === undefined || pin.property === property);
      for (const pin of byMatch.values()) if (isGone(pin)) byMatch.delete(pin.match);
      sorted = null;
    },
    get size(): number {
      return byMatch.size;
    },
  };
}

/** The id with which the map view opens the panel of a pin. */
export function panelIdOf({ match }: Pick<Pin, 'match'>): string {
  return match.startsWith('/matches/') ? idOf(match) : match;
}

/** A match, or a found property without one: their JSON-LD members differ. */
type Pinned = Omit<MatchDocument, '@context' | '@type' | 'propertyDocument'> & {
  readonly propertyDocument: Omit<PropertyDocument, '@context' | '@type'> | null;
} & Partial<Pick<FoundPropertyDocument, 'matchedAt' | 'mark'>>;

export function pinOf({
  '@id': match,
  search,
  property,
  createdAt,
  updatedAt,
  propertyDocument,
  ...found
}: Pinned): Pin {
  const { matchedAt = createdAt, mark = null } = found;
  const place = placeOf(propertyDocument);
  const shown = SHOWN.map((name) => [name, propertyDocument?.[name] ?? null]);
  return {
    ...(Object.fromEntries(shown) as Pick<Pin, (typeof SHOWN)[number]>),
    match,
    search,
    property,
    priceBefore: propertyDocument === null ? null : priceBefore(propertyDocument),
    ...homeOf(propertyDocument?.adverts ?? []),
    picture: propertyDocument?.pictures[0] ?? null,
    cityName: propertyDocument?.city?.name ?? null,
    isExpired: propertyDocument?.expired ?? false,
    createdAtMs: Date.parse(createdAt),
    updatedAtMs: Date.parse(updatedAt),
    matchedAtMs: matchedAt === null ? null : Date.parse(matchedAt),
    mark: mark?.state ?? null,
    x: place === null ? null : worldX(place.lon),
    y: place === null ? null : worldY(place.lat),
  };
}

const FEATURES_MAX = 12;
const BETWEEN = /,(?!\d)|[;/+&|\n•·]/;
/** Matches folded text that states, or may state, what the home lacks. */
const DENIAL = new RegExp(
  "(?:^| )(?:sans|ni)(?! vis)(?![a-z])|^(?:aucune?|pas d[e’']|non?|zero|depourvue?s? d[e’']|not|without)(?![a-z])" +
    '|^0+(?![\\d.,])|(?:^|[ :=(])(?:non?|false|aucune?|none|0+(?: ?m[2²])?)\\)?$',
);

/** The parts of an item that state what a home has; empty if a denial is a single word, such as "non". */
function presentParts(item: string): readonly string[] {
  const parts = item
    .split(BETWEEN)
    .map((part) => part.trim())
    .filter(Boolean);
  const denied = parts.filter((part) => DENIAL.test(folded(part)));
  return denied.some((part) => !part.trim().includes(' ')) ? [] : parts.filter((part) => !denied.includes(part));
}

/** What the home has according to its adverts, each fact once. */
export function homeOf(adverts: PropertyDocument['adverts']): Pick<Pin, 'energy' | 'features'> {
  return {
    energy: [...new Set(adverts.flatMap(({ energy }) => energy?.category ?? []))],
    features: [...new Set(adverts.flatMap(({ features }) => features.flatMap(presentParts)))].slice(0, FEATURES_MAX),
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
