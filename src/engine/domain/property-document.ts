/**
 * The property document that clients read and receive (specification, sections 2.6 and 2.7), derived from the stored
 * state by the rules of decisions, section 5. Matching uses the same values (`readingOf`, `propertyFacts`), except for
 * floor and elevator (home-facts.ts).
 */

import Big from 'big.js';
import type { AdvertEvent } from './advert.ts';
import type { City, ResolvedPlace, ResolvePlace } from './city.ts';
import { featuresOf } from './features.ts';
import { type HomeFacts, homeOf } from './home-facts.ts';
import type { Medians } from './market-prices.ts';
import { type NearestPoints, NO_COMBINATIONS } from './point-distances.ts';
import { isPriceCoherent, marketOf, type PricedProperty } from './price-coherence.ts';
import {
  type Crawls,
  changedAtOf,
  creationOf,
  isLive,
  lastLiveCrawl,
  type PropertyState,
  representativeAdvert,
  type StatedProperty,
  type StoredAdvert,
} from './property.ts';
import type { AdvertFacts, PropertyFacts } from './property-facts.ts';
import { eachFlag } from './property-flags.ts';
import { publisherNameIn } from './publisher-criteria.ts';

/** Can be serialised as JSON. */
export type PropertyDocument = Readonly<Record<string, unknown>>;

export interface DocumentOptions {
  /** False omits `contact` from every advert (a search's `hidePropertyContact`). */
  readonly withContacts: boolean;
}

export function propertyIri(uuid: string): string {
  return `/documents/properties/${uuid}`;
}

export function propertyDocument(
  state: PropertyState,
  crawls: Crawls,
  resolvePlace: ResolvePlace,
  options: DocumentOptions,
): PropertyDocument {
  const values = propertyValues(state, crawls);
  const last = representativeAdvert(state, crawls);
  const expiries = state.adverts.flatMap((advert) => advert.expiredAt ?? []);
  const isExpired = expiries.length === state.adverts.length;
  return {
    '@context': '/contexts/PropertyDocument',
    '@id': propertyIri(state.uuid),
    '@type': 'PropertyDocument',
    uuid: state.uuid,
    property: propertyIri(state.uuid),
    title: values.title,
    description: values.description,
    transactionType: values.transactionType,
    propertyType: values.propertyType,
    publisherTypes: publisherTypes(state),
    price: values.price,
    pricePerMeter: values.pricePerMeter,
    surface: values.surface,
    landSurface: values.landSurface,
    room: values.room,
    bedroom: values.bedroom,
    floor: values.floor,
    ...eachFlag((name) => values[name]),
    expired: isExpired,
    expiredAt: isExpired ? (expiries.sort().at(-1) ?? null) : null,
    createdAt: state.adverts.map(creationOf).sort()[0] ?? null,
    updatedAt: changedAtOf(state),
    lastCrawledAt: lastLiveCrawl(last, crawls),
    lastCrawledAdvert: last.uuid,
    locations: values.locations,
    pictures: values.pictures,
    city: documentCity(resolvePlace(statedPlace(values))),
    stations: values.stations ?? [],
    adverts: state.adverts.map((advert) => advertDocument(advert, crawls, options)),
  };
}

/** Values derived from the stored state of a property, computed once for all uses. */
export interface PropertyReading {
  readonly state: PropertyState;
  readonly values: PropertyValues;
  readonly place: ResolvedPlace | null;
  /** The values that decide whether the price is coherent, and that count in the property's market. */
  readonly priced: PricedProperty;
  readonly home: HomeFacts;
}

export function readingOf(state: PropertyState, crawls: Crawls, resolvePlace: ResolvePlace): PropertyReading {
  const values = propertyValues(state, crawls);
  const place = resolvePlace(statedPlace(values));
  return { state, values, place, priced: pricedProperty(values, place), home: homeOf(state, crawls) };
}

/** The stored medians and points of interest with which properties are compared. */
export type Compared = Pick<Medians, 'median' | 'markets'> & {
  /** The points for distances that are not stored with the property; none by default. */
  readonly nearest?: NearestPoints;
};

export function propertyFacts(
  { state, values, place, priced, home }: PropertyReading,
  { median, markets, nearest = NO_COMBINATIONS }: Compared,
): PropertyFacts {
  const market = marketOf(priced);
  const { locations } = values;
  return {
    transactionType: values.transactionType,
    propertyType: values.propertyType,
    price: values.price,
    pricePerMeter: values.pricePerMeter,
    surface: values.surface,
    landSurface: values.landSurface,
    room: values.room,
    bedroom: values.bedroom,
    ...eachFlag((name) => values[name]),
    elevator: home.elevator,
    floor: home.floor,
    isOnLastFloor: home.isOnLastFloor,
    lat: locations?.lat ?? null,
    lon: locations?.lon ?? null,
    inseeCodes: place?.inseeCodes ?? [],
    departmentCode: priced.departmentCode,
    zipcodes: place?.zipcodes ?? (values.city?.zipcode ? [values.city.zipcode] : []),
    texts: texts(values),
    adverts: state.adverts.filter(isLive).map(advertFacts),
    isPriceCoherent: isPriceCoherent(priced, market === null ? null : median(market)),
    markets,
    distances: locations && nearest.complete(state.distances ?? null, locations.lat, locations.lon),
  };
}

function advertFacts({ content }: StoredAdvert): AdvertFacts {
  const { named, denied } = featuresOf(content.features);
  const publisherName = publisherNameIn(content.publisher?.name);
  const agency = publisherNameIn(content.contact?.agency);
  return {
    siteCategory: content.publisher?.category ?? null,
    publisherType: content.publisher?.type ?? null,
    publisherName,
    agency: agency === publisherName ? null : agency,
    price: content.price,
    hasVirtualTour: Boolean(content.virtualTour),
    constructionYear: content.constructionYear,
    condominiumFees: content.condominiumFees,
    rentalCharges: content.rentalCharges,
    energy: content.energy?.category ?? null,
    greenHouseGas: content.greenHouseGas?.category ?? null,
    features: named,
    deniedFeatures: denied,
    texts: texts(content),
  };
}

type PropertyValues = Omit<StatedProperty, 'pictures'> & {
  readonly pricePerMeter: number | null;
  readonly pictures: readonly string[];
};

/** The values stated for the property or, failing that, for the representative advert (decisions, section 5). */
function propertyValues(state: PropertyState, crawls: Crawls): PropertyValues {
  const { property, content } = representativeAdvert(state, crawls);
  const price = property.price ?? content.price;
  const surface = property.surface ?? content.surface;
  // Lists every member, because copying objects from the database, which have many shapes, costs ten times as much.
  return {
    title: property.title ?? content.title,
    description: property.description ?? content.description,
    transactionType: property.transactionType,
    propertyType: property.propertyType,
    price,
    pricePerMeter: pricePerMeterOf(price, surface),
    surface,
    landSurface: property.landSurface ?? content.landSurface,
    room: property.room,
    bedroom: property.bedroom,
    floor: property.floor ?? content.floor,
    ...eachFlag((name) => property[name] ?? content[name]),
    createdAt: property.createdAt,
    pictures: property.pictures ?? content.pictures,
    stations: property.stations,
    locations: property.locations,
    city: property.city,
  };
}

/** Euros per m², two decimals, halves rounded up (decisions, section 5). Null if unknown, or if the surface is 0. */
export function pricePerMeterOf(price: number | null, surface: number | null): number | null {
  if (price === null || surface === null || surface === 0) return null;
  const cents = (price * 100) / surface;
  const rounded = Math.round(cents);
  const isNearHalf = Math.abs(Math.abs(cents - rounded) - 0.5) <= cents * 4 * Number.EPSILON;
  return (isNearHalf ? new Big(price).times(100).div(surface).round().toNumber() : rounded) / 100;
}

function statedPlace(values: PropertyValues): Parameters<ResolvePlace>[0] {
  return {
    insee: values.city?.insee ?? null,
    zipcode: values.city?.zipcode ?? null,
    name: values.city?.name ?? null,
    lat: values.locations?.lat ?? null,
    lon: values.locations?.lon ?? null,
  };
}

function pricedProperty(values: PropertyValues, place: ResolvedPlace | null): PricedProperty {
  return {
    transactionType: values.transactionType,
    propertyType: values.propertyType,
    departmentCode: place?.departmentCode ?? null,
    price: values.price,
    surface: values.surface,
    landSurface: values.landSurface,
  };
}

type DocumentCity = Omit<City, 'zipcode'> & Pick<ResolvedPlace, 'zipcode'>;

function documentCity(place: ResolvedPlace | null): DocumentCity | null {
  return place?.city ? { ...place.city, zipcode: place.zipcode } : null;
}

function publisherTypes(state: PropertyState): number[] {
  const types = state.adverts.filter(isLive).flatMap((advert) => advert.content.publisher?.type ?? []);
  return [...new Set(types)].sort((a, b) => a - b);
}

function texts(source: { readonly title: string | null; readonly description: string | null }): string[] {
  return [source.title, source.description].filter((text) => text !== null);
}

function advertDocument(advert: StoredAdvert, crawls: Crawls, options: DocumentOptions): Record<string, unknown> {
  const { contact, ...content } = advert.content;
  return {
    uuid: advert.uuid,
    ...content,
    ...(options.withContacts ? { contact } : {}),
    createdAt: content.createdAt ?? advert.firstCrawledAt,
    updatedAt: content.updatedAt ?? advert.changedAt,
    lastCrawledAt: lastLiveCrawl(advert, crawls),
    events: advert.events.map(eventDocument),
  };
}

function eventDocument(event: AdvertEvent): Record<string, unknown> {
  return {
    event: event.kind,
    createdAt: event.createdAt,
    fieldName: event.field?.fieldName ?? null,
    fieldOldValue: event.field?.fieldOldValue ?? null,
    fieldNewValue: event.field?.fieldNewValue ?? null,
    percentVariation: event.field?.percentVariation ?? null,
  };
}
