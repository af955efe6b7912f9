/**
 * The needs of a search: one bit for each value that a boolean criterion, or a criterion with one code, requires. A
 * property that lacks one of the bits fails. The kernel compares all needs, except those that an unknown value also
 * satisfies (`conditions`). A list of several codes is not a need. Spare bits hold approximate needs (`rough-needs`).
 */

import { RENT, SALE } from '../domain/codes.ts';
import {
  type Criteria,
  type CriterionSet,
  isOfAdverts,
  isOfProperty,
  PLAIN_CRITERIA,
  type PlainRow,
  type RowOf,
} from '../domain/criterion-table.ts';
import type { AdvertFacts, PropertyFacts } from '../domain/property-facts.ts';
import { bitOfCriterion } from '../domain/unknown-criteria.ts';
import { NEED_COLUMNS } from './kernel/layout.ts';
import { ROUGH_NEEDS } from './rough-needs.ts';

type NeedRow = RowOf<'flag' | 'requirement' | 'code' | 'codes'>;

/** The bits of a criterion: from bit `first` on, one for each value that a search can require. */
interface Needs {
  readonly row: NeedRow;
  readonly criterion: CriterionSet;
  readonly count: number;
  readonly first: number;
}

/** Number of bits in the need columns of the kernel. */
const BITS_MAX = 8 * NEED_COLUMNS;

/** Whether needs represent the criterion. All other criteria have other columns or are in `conditions`. */
export function hasNeeds(row: PlainRow): row is NeedRow {
  return row.kind !== 'range' && row.kind !== 'letters' && row.name !== 'propertyTypes';
}

const NEEDS = layOut(PLAIN_CRITERIA.filter(hasNeeds));
const ROUGH_FIRST = NEEDS.reduce((end, { count }) => end + count, 0);
const ROUGH = ROUGH_NEEDS.slice(0, BITS_MAX - ROUGH_FIRST).map((need, i) => ({
  ...need,
  count: 1,
  first: ROUGH_FIRST + i,
}));
const OF_PROPERTY = NEEDS.flatMap(({ row, ...needs }) => (isOfProperty(row) ? { row, ...needs } : []));
const OF_ADVERTS = NEEDS.flatMap(({ row, ...needs }) => (isOfAdverts(row) ? { row, ...needs } : []));

function layOut(rows: readonly NeedRow[]): readonly Needs[] {
  let end = 0;
  const needs = rows.map((row): Needs => {
    const first = end;
    const count = row.kind === 'requirement' ? 1 : row.kind === 'flag' ? 2 : row.names.length;
    end += count;
    return { row, criterion: bitOfCriterion(row.name), count, first };
  });
  if (end > BITS_MAX) throw new RangeError(`${end} needs do not fit in ${BITS_MAX} bits. Raise NEED_COLUMNS.`);
  return needs;
}

/** The needs of a search; null if it names an unknown code. */
export function needsOf(criteria: Criteria): number | null {
  let all = 0;
  for (const needs of NEEDS) {
    const value = requestedValue(needs.row, criteria);
    if (value === null) continue;
    const bit = bitOf(needs, value);
    if (bit === 0) return null;
    all |= bit;
  }
  for (const { asks, first } of ROUGH) if (asks(criteria)) all |= 1 << first;
  return all;
}

function requestedValue(row: NeedRow, criteria: Criteria): number | boolean | null {
  if (row.kind === 'requirement') return criteria[row.name] || null;
  if (row.kind !== 'codes') return criteria[row.name];
  const codes = criteria[row.name];
  return codes.length === 1 ? (codes[0] as number) : null;
}

/** Returns the bits of `all` that belong to these criteria. */
export function needsAmong(all: number, criteria: CriterionSet): number {
  let among = 0;
  if (criteria === 0) return 0;
  for (const needs of [...NEEDS, ...ROUGH]) if ((criteria & needs.criterion) !== 0) among |= all & bitsOf(needs);
  return among;
}

function bitsOf({ count, first }: Pick<Needs, 'count' | 'first'>): number {
  return (2 ** count - 1) << first;
}

/** The bit of a value; 0 if the value is unknown or is not one of the criterion's values. */
function bitOf({ count, first }: Pick<Needs, 'count' | 'first'>, value: number | boolean | null): number {
  if (value === null) return 0;
  const position = typeof value === 'number' ? value : value ? 0 : 1;
  return position >= 0 && position < count && Number.isInteger(position) ? 1 << (first + position) : 0;
}

/** The needs that a property with these adverts meets. */
export function needsMetBy(facts: PropertyFacts, adverts: readonly AdvertFacts[]): number {
  let met = 0;
  for (const needs of OF_PROPERTY) met |= bitOf(needs, needs.row.source.read(facts));
  for (const needs of OF_ADVERTS) {
    for (const advert of adverts) met |= bitOf(needs, needs.row.source.read(advert));
  }
  for (const { meets, first } of ROUGH) if (meets(facts, adverts)) met |= 1 << first;
  return met;
}

/** All needs, except rough ones, of the criteria for which the property or these adverts state a value. */
export function needsKnownBy(facts: PropertyFacts, adverts: readonly AdvertFacts[]): number {
  let known = 0;
  for (const needs of OF_PROPERTY) if (needs.row.source.read(facts) !== null) known |= bitsOf(needs);
  for (const needs of OF_ADVERTS) {
    for (const advert of adverts) if (needs.row.source.read(advert) !== null) known |= bitsOf(needs);
  }
  return known;
}

/** Needs that adverts meet. A search that excludes adverts compares these needs again, without those adverts. */
export const NEEDS_OF_ADVERTS = OF_ADVERTS.reduce((all, needs) => all | bitsOf(needs), 0);

/** The needs by which row trees can be split. */
export const NEEDS_SALE = needFor('transactionType', SALE);
export const NEEDS_RENT = needFor('transactionType', RENT);
function needFor(name: NeedRow['name'], value: number | boolean): number {
  return NEEDS.reduce((bits, needs) => (needs.row.name === name ? bits | bitOf(needs, value) : bits), 0);
}
