/**
 * A search's needs, one bit each: the value that a flag or a single code requires. A property that lacks one of the
 * bits fails. The first bits, in the order of the table of criteria, are columns of the kernel; the others are left to
 * the exact check, and so are lists of several codes, which have no bit.
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

type NeedRow = RowOf<'flag' | 'requirement' | 'code' | 'codes'>;

/** The values of a criterion, each with a bit from `first` on: true and false, or codes. */
interface Needs {
  readonly row: NeedRow;
  readonly criterion: CriterionSet;
  readonly count: number;
  readonly first: number;
}

/** Bits in an integer. */
const BITS_MAX = 32;

/** Types of property have a column of their own; letters are left to the record. */
export function hasNeeds(row: PlainRow): row is NeedRow {
  return row.kind !== 'range' && row.kind !== 'letters' && row.name !== 'propertyTypes';
}

const NEEDS = layOut(PLAIN_CRITERIA.filter(hasNeeds));
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
  if (end > BITS_MAX) throw new RangeError(`${end} needs of searches, at most ${BITS_MAX}`);
  return needs;
}

/** Null with an unknown code. */
export function needsOf(criteria: Criteria): number | null {
  let all = 0;
  for (const needs of NEEDS) {
    const value = valueAsked(needs.row, criteria);
    if (value === null) continue;
    const bit = bitOf(needs, value);
    if (bit === 0) return null;
    all |= bit;
  }
  return all;
}

function valueAsked(row: NeedRow, criteria: Criteria): number | boolean | null {
  if (row.kind === 'requirement') return criteria[row.name] || null;
  if (row.kind !== 'codes') return criteria[row.name];
  const codes = criteria[row.name];
  return codes.length === 1 ? (codes[0] as number) : null;
}

/** `all` without what these criteria need. */
export function needsWithout(all: number, skipped: CriterionSet): number {
  if (skipped === 0) return all;
  let left = all;
  for (const { criterion, count, first } of NEEDS) {
    if ((skipped & criterion) !== 0) left &= ~((2 ** count - 1) << first);
  }
  return left;
}

/** 0 for a value that is unknown, or none of the criterion's. */
function bitOf({ count, first }: Pick<Needs, 'count' | 'first'>, value: number | boolean | null): number {
  if (value === null) return 0;
  const position = typeof value === 'number' ? value : value ? 0 : 1;
  return position >= 0 && position < count && Number.isInteger(position) ? 1 << (first + position) : 0;
}

/** The needs that all live adverts together provide: a search that considers fewer of them can only find less. */
export function needsProvidedBy(facts: PropertyFacts): number {
  let provided = needsProvidedByAdverts(facts.adverts);
  for (const needs of OF_PROPERTY) provided |= bitOf(needs, needs.row.source.read(facts));
  return provided;
}

function needsProvidedByAdverts(adverts: readonly AdvertFacts[]): number {
  let provided = 0;
  for (const needs of OF_ADVERTS) {
    for (const advert of adverts) provided |= bitOf(needs, needs.row.source.read(advert));
  }
  return provided;
}

/** Whether these adverts, some of the property's, provide what is needed of adverts. */
export function doAdvertsProvide(all: number, adverts: readonly AdvertFacts[]): boolean {
  return (all & ADVERT_NEEDS & ~needsProvidedByAdverts(adverts)) === 0;
}

const ADVERT_NEEDS = OF_ADVERTS.reduce((all, { count, first }) => all | ((2 ** count - 1) << first), 0);

/** Those of the kernel. */
export const COLUMN_NEEDS = 2 ** (8 * NEED_COLUMNS) - 1;

/** Trees of rows are cut by these. */
export const NEEDS_SALE = needFor('transactionType', SALE);
export const NEEDS_RENT = needFor('transactionType', RENT);
/** Nearly all properties provide it. */
export const NEEDS_COHERENT_PRICE = needFor('withCoherentPrice', true);

function needFor(name: NeedRow['name'], value: number | boolean): number {
  return NEEDS.reduce((bits, needs) => (needs.row.name === name ? bits | bitOf(needs, value) : bits), 0);
}
