/**
 * What is stored of a property for queries over many of them: everything that a search compares except texts, in a few
 * hundred bytes of JSON, with the recorded changes of price and surface that show since when it has satisfied a search.
 * It is derived from the same reading as the facts of matching, and converts back to them.
 */

import type { Uuid } from './ids.ts';
import { pack, shapeOf, unpack } from './packed.ts';
import { isPriceCoherent, type Market, marketOf } from './price-coherence.ts';
import { type Crawls, creationOf, isLive, representativeAdvert } from './property.ts';
import { type PropertyReading, pricePerMeterOf, propertyFacts } from './property-document.ts';
import { type AdvertFacts, NOTHING_KNOWN, NOTHING_KNOWN_OF_ADVERT, type PropertyFacts } from './property-facts.ts';
import { eachComparedFlag } from './property-flags.ts';

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
  readonly facts: Omit<PropertyFacts, 'texts' | 'adverts' | 'isPriceCoherent'>;
  /** The live ones. */
  readonly adverts: readonly SummarizedAdvert[];
  /** The advert that represents the property (`representativeAdvert`). */
  readonly representative: Uuid;
  /** Earliest known, ISO 8601. */
  readonly createdAt: string;
  /** Oldest first, the newest `CHANGES_KEPT`. */
  readonly changes: readonly SummarizedChange[];
}

/** A property with more changes was repriced every other day for months. */
const CHANGES_KEPT = 50;

/** `median`: of the comparable prices known in a market, null while too few are known. */
export type MedianOf = (market: Market) => number | null;

export function summaryOf(reading: PropertyReading, crawls: Crawls): PropertySummary {
  const { state } = reading;
  const { texts: _, adverts, isPriceCoherent: __, ...facts } = propertyFacts(reading, () => null);
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
  // Stable: changes of one message keep their order.
  changes.sort((a, b) => (a.at < b.at ? -1 : Number(a.at > b.at)));
  return changes.slice(-CHANGES_KEPT);
}

function numberOf(text: string | null): number | null {
  return text === null ? null : Number(text);
}

/** Of the property and of each live advert, by its UUID. Title and description as written. */
export interface PropertyTexts {
  readonly own: readonly string[];
  readonly byAdvert: ReadonlyMap<Uuid, readonly string[]>;
}

export const NO_TEXTS: PropertyTexts = { own: [], byAdvert: new Map() };

/** The property as matching sees it with these medians. Facts that the writing version did not know are unknown. */
export function factsOf(
  { facts, adverts }: PropertySummary,
  median: MedianOf,
  { own, byAdvert }: PropertyTexts = NO_TEXTS,
): PropertyFacts {
  const market = marketOf(facts);
  return {
    ...NOTHING_KNOWN,
    ...facts,
    texts: own,
    // With its UUID: removing it costs more than evaluating the property.
    adverts: adverts.map((advert) => ({
      ...NOTHING_KNOWN_OF_ADVERT,
      ...advert,
      texts: byAdvert.get(advert.uuid) ?? [],
    })),
    isPriceCoherent: isPriceCoherent(facts, market === null ? null : median(market)),
  };
}

/** As the property was before its last change of price or surface; null when none is recorded. */
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

/** Flags that were added later are stored after all others. */
const { furnished, ...laterFlags } = eachComparedFlag(() => 'value' as const);

/** See packed.ts before adding a member. Members that are rarely known come last. */
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
    ...laterFlags,
  }),
  adverts: [
    shapeOf<SummarizedAdvert>({
      uuid: 'value',
      price: 'value',
      hasVirtualTour: 'value',
      publisherType: 'value',
      siteCategory: 'value',
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
