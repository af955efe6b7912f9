/**
 * By what a property is found: its adverts, their URLs, its places. Each is a number of 64 bits, a hash of what is no code
 * of a place, so that a URL of any length takes as much room as a zip code. Two things may have one key: who finds a
 * property compares what was hashed.
 */

import { hash } from 'node:crypto';
import type { Uuid } from './ids.ts';
import type { PropertyState } from './property.ts';
import type { PropertyFacts } from './property-facts.ts';

/** A signed 64-bit integer in decimal digits, as PostgreSQL takes it. */
export type LookupKey = string;

export type LookupKind = 'advert' | 'url' | 'insee' | 'department' | 'zipcode';

/** Codes of places are numbers in base 36, and each kind has its range: a search may name all communes at once. */
const PLACES: readonly LookupKind[] = ['insee', 'department', 'zipcode'];
const CODE = /^[0-9A-Z]{1,6}$/;
const CODES = 36 ** 6;

export function lookupKey(kind: LookupKind, value: string): LookupKey {
  const place = PLACES.indexOf(kind);
  if (place !== -1 && CODE.test(value)) return String(place * CODES + Number.parseInt(value, 36));
  return hashOf(`${kind}:${value}`).readBigInt64BE().toString();
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

/** What tells one page of a portal from another. */
export function withoutFragment(url: string): string {
  const start = url.indexOf('#');
  return start === -1 ? url : url.slice(0, start);
}

/** In the order of it, the first properties are a sample of all: always the same one, and spread evenly. */
export function sampleKeyOf(property: Uuid): number {
  return hashOf(`sample:${property}`).readInt32BE();
}

/** In one call: it is made several times a change, and a hash object costs more than the hash. */
function hashOf(text: string): Buffer {
  return hash('sha1', text, 'buffer');
}
