/**
 * What a search needs of a property, a bit each: the value that a flag or a single code asks for. A property that lacks
 * one of the bits fails. The first bits, in the order of the table of criteria, are columns of the kernel; the others are
 * left to the exact check, and so are lists of several codes, which have no bit.
 */

import { RENT, SALE } from '../domain/codes.ts';
import { type Criteria, PLAIN_CRITERIA, type PlainRow, type RowOf } from '../domain/criterion-table.ts';
import type { AdvertFacts, PropertyFacts } from '../domain/property-facts.ts';
import { NEED_COLUMNS } from './kernel/layout.ts';

type NeedRow = RowOf<'flag' | 'requirement' | 'code' | 'codes'>;
type NeedValue = number | boolean;

/** The values of a criterion, each with a bit from `first` on. */
interface Needs {
  readonly row: NeedRow;
  readonly values: readonly NeedValue[];
  readonly first: number;
}

/** Of an integer. */
const BITS_MAX = 32;

/** Types of property have a column of their own. */
export function hasNeeds(row: PlainRow): row is NeedRow {
  return row.kind !== 'range' && row.name !== 'propertyTypes';
}

const NEEDS = layOut(PLAIN_CRITERIA.filter(hasNeeds));
const OF_PROPERTY = NEEDS.filter(({ row }) => row.source.of === 'property');
const OF_ADVERTS = NEEDS.filter(({ row }) => row.source.of === 'adverts');

function layOut(rows: readonly NeedRow[]): readonly Needs[] {
  let end = 0;
  const needs = rows.map((row): Needs => {
    const first = end;
    const values = valuesOf(row);
    end += values.length;
    return { row, values, first };
  });
  if (end > BITS_MAX) throw new RangeError(`${end} needs of searches, at most ${BITS_MAX}`);
  return needs;
}

function valuesOf(row: NeedRow): readonly NeedValue[] {
  if (row.kind === 'flag') return [true, false];
  return row.kind === 'requirement' ? [true] : row.names.map((_, code) => code);
}

/** Null with a code that nobody knows. */
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

function valueAsked(row: NeedRow, criteria: Criteria): NeedValue | null {
  switch (row.kind) {
    case 'requirement':
      return criteria[row.name] || null;
    case 'codes': {
      const codes = criteria[row.name];
      return codes.length === 1 ? (codes[0] as number) : null;
    }
    default:
      return criteria[row.name];
  }
}

/** The criteria that have no other record than their bit: undoes `needsOf`. */
export function criteriaOfNeeds(all: number): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    NEEDS.filter(({ row }) => row.kind !== 'codes').map(({ row, values, first }) => {
      const asked = values.find((_, position) => ((all >>> (first + position)) & 1) !== 0);
      return [row.key, asked ?? (row.kind === 'requirement' ? false : null)];
    }),
  );
}

/** What all live adverts together provide: a search that considers fewer of them can only find less. */
export function needsProvidedBy(facts: PropertyFacts): number {
  let provided = needsProvidedByAdverts(facts.adverts);
  for (const needs of OF_PROPERTY) {
    if (needs.row.source.of === 'property') provided |= bitOf(needs, needs.row.source.read(facts));
  }
  return provided;
}

function needsProvidedByAdverts(adverts: readonly AdvertFacts[]): number {
  let provided = 0;
  for (const needs of OF_ADVERTS) {
    const { source } = needs.row;
    if (source.of === 'adverts') for (const advert of adverts) provided |= bitOf(needs, source.read(advert));
  }
  return provided;
}

/** Whether these adverts, some of the property's, provide what is needed of adverts. */
export function doAdvertsProvide(all: number, adverts: readonly AdvertFacts[]): boolean {
  return (all & ADVERT_NEEDS & ~needsProvidedByAdverts(adverts)) === 0;
}

const ADVERT_NEEDS = OF_ADVERTS.reduce((all, { values, first }) => all | ((2 ** values.length - 1) << first), 0);

/** 0 for a value that is unknown, or none of the criterion's. */
function bitOf({ values, first }: Needs, value: NeedValue | null): number {
  const position = value === null ? -1 : values.indexOf(value);
  return position === -1 ? 0 : 1 << (first + position);
}

/** Those of the kernel. */
export const COLUMN_NEEDS = 2 ** (8 * NEED_COLUMNS) - 1;

/** Trees of rows are cut by these. */
export const NEEDS_SALE = needFor('transactionType', SALE);
export const NEEDS_RENT = needFor('transactionType', RENT);

function needFor(name: NeedRow['name'], value: NeedValue): number {
  return NEEDS.reduce((bits, needs) => (needs.row.name === name ? bits | bitOf(needs, value) : bits), 0);
}
