/**
 * Keys by which a property is found: its adverts, their URLs, its places. Each is a whole number; except for codes of
 * places it is a hash, so that a URL of any length takes as much space as a zip code. Keys may collide: the reader
 * compares the hashed values.
 */

import type { Uuid } from './ids.ts';
import type { PropertyState } from './property.ts';
import type { PropertyFacts } from './property-facts.ts';

/** A safe integer. */
export type LookupKey = number;

export type LookupKind = 'advert' | 'url' | 'insee' | 'department' | 'zipcode';

/** Codes of places are numbers in base 36, and each kind has its range: a search may name all communes at once. */
const PLACES: readonly LookupKind[] = ['insee', 'department', 'zipcode'];
const CODE = /^[0-9A-Z]{1,6}$/;
const CODES = 36 ** 6;
/** Of a hash: with the low 32 as many as a number has. */
const HIGH_BITS = 2 ** 20 - 1;

export function lookupKey(kind: LookupKind, value: string): LookupKey {
  const place = PLACES.indexOf(kind);
  if (place !== -1 && CODE.test(value)) return place * CODES + Number.parseInt(value, 36);
  const [high, low] = hashOf(`${kind}:${value}`);
  return (high & HIGH_BITS) * 2 ** 32 + (low >>> 0);
}

/** Of a property, each once. */
export function lookupKeys(
  { adverts }: PropertyState,
  { inseeCodes, departmentCode, zipcodes }: Pick<PropertyFacts, 'inseeCodes' | 'departmentCode' | 'zipcodes'>,
): readonly LookupKey[] {
  const keys = new Set<LookupKey>();
  for (const { uuid, content } of adverts) {
    keys.add(lookupKey('advert', uuid));
    if (content.url !== null) keys.add(lookupKey('url', withoutFragment(content.url)));
  }
  for (const code of inseeCodes) keys.add(lookupKey('insee', code));
  if (departmentCode !== null) keys.add(lookupKey('department', departmentCode));
  for (const zipcode of zipcodes) keys.add(lookupKey('zipcode', zipcode));
  return [...keys];
}

/** The part of a URL that identifies a page of a portal. */
export function withoutFragment(url: string): string {
  const start = url.indexOf('#');
  return start === -1 ? url : url.slice(0, start);
}

/** The first properties in this order are a sample of all: always the same one, and evenly spread. */
export function sampleKeyOf(property: Uuid): number {
  return hashOf(`sample:${property}`)[0];
}

/**
 * Two 32-bit numbers. A collision has no benefit for an attacker, and the hash is computed several times per change:
 * cyrb53's two lanes.
 */
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
