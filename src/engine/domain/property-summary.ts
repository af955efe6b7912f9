/**
 * The stored summary of a property, for queries over many properties. It contains the facts that a search compares,
 * except texts and market prices, in a few hundred bytes of JSON. Its changes of price and surface show since when the
 * property has satisfied a search. `summaryOf` and `factsOf` convert between summaries and the facts used for matching.
 */

import { isNowhere, NOWHERE_CODE, type Place } from './areas.ts';
import type { Uuid } from './ids.ts';
import { NO_MEDIANS } from './market-prices.ts';
import { NO_COMBINATIONS } from './point-distances.ts';
import { isPriceCoherent, marketOf } from './price-coherence.ts';
import { type Crawls, creationOf, isLive, type PropertyState, representativeAdvert } from './property.ts';
import { type Compared, type PropertyReading, pricePerMeterOf, propertyFacts } from './property-document.ts';
import { type AdvertFacts, NOTHING_KNOWN, NOTHING_KNOWN_OF_ADVERT, type PropertyFacts } from './property-facts.ts';
import { eachFlag } from './property-flags.ts';
import { pack, shapeOf, unpack } from './stored-property.ts';

type SummarizedAdvert = Omit<AdvertFacts, 'texts'> & { readonly uuid: Uuid };

/** A recorded change of an advert's price or surface. */
export interface SummarizedChange {
  readonly at: string;
  readonly advert: Uuid;
  readonly field: 'price' | 'surface';
  readonly was: number | null;
  readonly is: number | null;
}

export interface PropertySummary {
  readonly facts: Omit<PropertyFacts, 'texts' | 'adverts' | 'isPriceCoherent' | 'markets'>;
  /** The live adverts. */
  readonly adverts: readonly SummarizedAdvert[];
  /** The advert that represents the property (`representativeAdvert`). */
  readonly representative: Uuid;
  /** Earliest known creation time, ISO 8601. */
  readonly createdAt: string;
  /** The newest `CHANGES_KEPT`, oldest first. */
  readonly changes: readonly SummarizedChange[];
}

/** Few properties have more changes. */
const CHANGES_KEPT = 50;

export function summaryOf(reading: PropertyReading, crawls: Crawls): PropertySummary {
  const { state } = reading;
  const { texts: _, adverts, isPriceCoherent: __, markets: ___, ...facts } = propertyFacts(reading, NO_MEDIANS);
  const live = state.adverts.filter(isLive);
  return {
    facts,
    adverts: adverts.map(({ texts: _texts, ...advert }, position) => ({
      uuid: (live[position] as { uuid: Uuid }).uuid,
      ...advert,
    })),
    representative: representativeAdvert(state, crawls).uuid,
    createdAt: state.adverts.map(creationOf).reduce((earliest, at) => (at < earliest ? at : earliest)),
    changes: changesOf(reading),
  };
}

function changesOf({ state }: PropertyReading): readonly SummarizedChange[] {
  const changes: SummarizedChange[] = [];
  for (const { uuid, events } of state.adverts) {
    for (const { createdAt, field } of events) {
      if (field === null || (field.fieldName !== 'price' && field.fieldName !== 'surface')) continue;
      const { fieldName, fieldOldValue, fieldNewValue } = field;
      const values = { was: numberOf(fieldOldValue), is: numberOf(fieldNewValue) };
      changes.push({ at: createdAt, advert: uuid, field: fieldName, ...values });
    }
  }
  // The sort is stable, so that changes from the same message keep their order.
  changes.sort((a, b) => (a.at < b.at ? -1 : Number(a.at > b.at)));
  return changes.slice(-CHANGES_KEPT);
}

function numberOf(text: string | null): number | null {
  return text === null ? null : Number(text);
}

/** Titles and descriptions as written: those of the property and, by UUID, those of its live adverts. */
export interface PropertyTexts {
  readonly own: readonly string[];
  readonly byAdvert: ReadonlyMap<Uuid, readonly string[]>;
}

export const NO_TEXTS: PropertyTexts = { own: [], byAdvert: new Map() };

/** The facts for matching, with the given medians and points. Facts that an older summary lacks are unknown. */
export function factsOf(
  { facts, adverts }: PropertySummary,
  { median, markets, nearest = NO_COMBINATIONS }: Compared,
  { own, byAdvert }: PropertyTexts = NO_TEXTS,
): PropertyFacts {
  const market = marketOf(facts);
  const { lat, lon, distances } = facts;
  return {
    ...NOTHING_KNOWN,
    ...facts,
    texts: own,
    // Keeps the UUID, because removing it costs more than evaluating the property.
    adverts: adverts.map((advert) => ({
      ...NOTHING_KNOWN_OF_ADVERT,
      ...advert,
      texts: byAdvert.get(advert.uuid) ?? [],
    })),
    isPriceCoherent: isPriceCoherent(facts, market === null ? null : median(market)),
    markets,
    distances: lat === null || lon === null ? null : nearest.complete(distances, lat, lon),
  };
}

/** The summary before the last change of price or surface; null if no change is recorded. */
export function beforeLastChange(summary: PropertySummary): PropertySummary | null {
  const last = summary.changes.at(-1);
  if (last === undefined) return null;
  const { advert, field, was, is } = last;
  const isRepresentative = advert === summary.representative && summary.facts[field] === is;
  const former = isRepresentative ? { ...summary.facts, [field]: was } : summary.facts;
  return {
    ...summary,
    facts: isRepresentative ? { ...former, pricePerMeter: pricePerMeterOf(former.price, former.surface) } : former,
    adverts:
      field === 'surface'
        ? summary.adverts
        : summary.adverts.map((one) => (one.uuid === advert ? { ...one, price: was } : one)),
    changes: summary.changes.slice(0, -1),
  };
}

/** Flags that are added later are stored after all other members. */
const { elevator, furnished, ...laterFlags } = eachFlag(() => 'value' as const);

/** Read `Shape` before you add a member. Rarely known members are last, because `pack` omits nulls at the end. */
const SUMMARY = shapeOf<PropertySummary>({
  facts: shapeOf<PropertySummary['facts']>({
    transactionType: 'value',
    propertyType: 'value',
    price: 'value',
    pricePerMeter: 'value',
    surface: 'value',
    lat: 'value',
    lon: 'value',
    inseeCodes: 'list',
    departmentCode: 'value',
    zipcodes: 'list',
    room: 'value',
    bedroom: 'value',
    furnished,
    landSurface: 'value',
    elevator,
    floor: 'value',
    isOnLastFloor: 'value',
    distances: 'value',
    ...laterFlags,
  }),
  adverts: [
    shapeOf<SummarizedAdvert>({
      uuid: 'value',
      price: 'value',
      hasVirtualTour: 'value',
      publisherType: 'value',
      siteCategory: 'value',
      constructionYear: 'value',
      condominiumFees: 'value',
      rentalCharges: 'value',
      energy: 'value',
      greenHouseGas: 'value',
      features: 'value',
      deniedFeatures: 'value',
      publisherName: 'value',
      agency: 'value',
    }),
  ],
  representative: 'value',
  createdAt: 'value',
  changes: [shapeOf<SummarizedChange>({ at: 'value', advert: 'value', field: 'value', was: 'value', is: 'value' })],
});

export function summaryText(summary: PropertySummary): string {
  return JSON.stringify(pack(summary, SUMMARY));
}

export function readSummary(text: string): PropertySummary {
  return unpack(JSON.parse(text), SUMMARY);
}

/**
 * A key to find properties by advert, URL or location. It is a safe integer: the code of a place, or a hash. So a long
 * URL takes no more space than a zip code. Hashes may collide, so readers also compare the values.
 */
export type LookupKey = number;

type LookupKind = 'advert' | 'url' | 'insee' | 'department' | 'zipcode';

/** Codes of places are converted from base 36, which is faster than hashing: a search may name all communes. */
const PLACES: readonly LookupKind[] = ['insee', 'department', 'zipcode'];
const CODE = /^[0-9A-Z]{1,6}$/;
const CODES = 36 ** 6;
/** A mask for the high bits of a hash. Together with the 32 low bits, they make a safe integer. */
const HIGH_BITS = 2 ** 20 - 1;

export function lookupKey(kind: LookupKind, value: string): LookupKey {
  const place = PLACES.indexOf(kind);
  if (place !== -1 && CODE.test(value)) return place * CODES + Number.parseInt(value, 36);
  const [high, low] = hashOf(`${kind}:${value}`);
  return (high & HIGH_BITS) * 2 ** 32 + (low >>> 0);
}

/** The keys of a property, without duplicates. */
export function lookupKeys({ adverts }: PropertyState, place: Omit<Place, 'lon'>): readonly LookupKey[] {
  const { inseeCodes, departmentCode, zipcodes } = place;
  const keys = new Set<LookupKey>();
  for (const { uuid, content } of adverts) {
    keys.add(lookupKey('advert', uuid));
    if (content.url !== null) keys.add(lookupKey('url', pageOf(content.url)));
  }
  for (const code of inseeCodes) keys.add(lookupKey('insee', code));
  if (departmentCode !== null) keys.add(lookupKey('department', departmentCode));
  for (const zipcode of zipcodes) keys.add(lookupKey('zipcode', zipcode));
  if (isNowhere(place)) keys.add(lookupKey('insee', NOWHERE_CODE));
  return [...keys];
}

/** A comparable form of a page's URL: without a fragment or trailing slash, with scheme and host in lower case. */
export function pageOf(url: string): string {
  const [address = ''] = url.split('#', 1);
  return address.replace(/^[a-z]+:\/\/[^/?]*/i, (origin) => origin.toLowerCase()).replace(/\/(?=\?|$)/, '');
}

/** If properties are ordered by this key, the first of them are a random sample, which is always the same. */
export function sampleKeyOf(property: Uuid): number {
  return hashOf(`sample:${property}`)[0];
}

/** Two 32-bit hashes as in cyrb53, which is fast: each change needs several. Collisions do not help attackers. */
function hashOf(text: string): readonly [high: number, low: number] {
  let [high, low] = [0xdeadbeef, 0x41c6ce57];
  for (let position = 0; position < text.length; position++) {
    const code = text.charCodeAt(position);
    high = Math.imul(high ^ code, 2_654_435_761);
    low = Math.imul(low ^ code, 1_597_334_677);
  }
  return [mixed(high, low), mixed(low, high)];
}

function mixed(one: number, other: number): number {
  return Math.imul(one ^ (one >>> 16), 2_246_822_507) ^ Math.imul(other ^ (other >>> 13), 3_266_489_909);
}
