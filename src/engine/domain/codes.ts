/**
 * The codes of the interface (decisions, section 1) and the kinds of event (specification, section 6.1; decisions,
 * section 16). In each list of names, the index of a name is its code.
 */

export const TRANSACTION_TYPE_NAMES = ['sale', 'rent'] as const;
export const TRANSACTION_TYPES = codesOf(TRANSACTION_TYPE_NAMES);
export const SALE = 0;
export const RENT = 1;

export const PROPERTY_TYPE_NAMES = ['apartment', 'house', 'building', 'parking', 'office', 'land', 'shop'] as const;
export const PROPERTY_TYPES = codesOf(PROPERTY_TYPE_NAMES);
export const LAND = 5;

export const PUBLISHER_TYPE_NAMES = ['individual', 'professional'] as const;
export const PUBLISHER_TYPES = codesOf(PUBLISHER_TYPE_NAMES);
export const INDIVIDUAL = 0;
export const PROFESSIONAL = 1;

export const FEES_RESPONSIBILITIES = [0, 1] as const;
export const ENERGY_CATEGORIES = ['A', 'B', 'C', 'D', 'E', 'F', 'G'] as const;

/** Events of an advert. Searches may subscribe to them, and property documents show them. */
export const ADVERT_EVENT_KINDS = [
  'ad.update.price',
  'ad.update.surface',
  'ad.update.pictures',
  'ad.update.expired',
  'ad.update.reactivated',
  'property.ad.create',
  'property.ad.update',
] as const;
/** The events of adverts, and those of matches (decisions, section 16), which documents do not show. */
export const EVENT_KINDS = [...ADVERT_EVENT_KINDS, 'property.match.end', 'property.match.resume'] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

function codesOf(names: readonly string[]): readonly number[] {
  return names.map((_, code) => code);
}
