/** A property, converted to the codes of the index. The kernel's query and the exact checks use this view. */

import { isNowhere, NOWHERE_CODE } from '../domain/areas.ts';
import { PROPERTY_TYPES, RENT, SALE } from '../domain/codes.ts';
import { EXPRESSIONS } from '../domain/expression-criterion.ts';
import { RADIANS } from '../domain/geo.ts';
import type { AdvertFacts, PropertyFacts } from '../domain/property-facts.ts';
import type { CategoryBits } from './category-bits.ts';
import type { CodeTable } from './code-table.ts';
import {
  MAYBE_BOUNDS,
  NEED_COLUMNS,
  QUERY_COSINES,
  QUERY_LACKING,
  QUERY_LATITUDE,
  QUERY_LONGITUDE,
  QUERY_TRIGGER,
  QUERY_TYPE,
  SURE_BOUNDS,
} from './kernel/layout.ts';
import { ACCEPTS_RENT, ACCEPTS_SALE, ACCEPTS_UNKNOWN_TRANSACTION } from './rows/kind-cut.ts';
import { CODE_MAX, CODE_MIN, codeOf, EDGES_OF_MEASURE, isGap, MEASURES } from './rows/quantiser.ts';
import {
  type GroupMemory,
  NEEDS_CONDITION_CHECK,
  NEEDS_EXACT_CHECK,
  NEEDS_SHAPE_CHECK,
  NEEDS_TEXT_CHECK,
  REPEATS,
  REPEATS_BY_INSEE,
  UNKNOWN_TYPE,
} from './rows/row-groups.ts';
import { StatedFacts } from './stated-facts.ts';
import type { ExpressionTable } from './text/expression-table.ts';

/** The tables of codes for the places that searches name. */
export interface Codes {
  readonly insee: CodeTable;
  readonly departments: CodeTable;
  readonly zipcodes: CodeTable;
}

export interface PropertyView {
  readonly facts: PropertyFacts;
  /** Values in the order of `MEASURES`; NaN if unknown. */
  readonly values: readonly number[];
  /** Codes of the places in `facts`; without a location, that of `NOWHERE_CODE`. 0 if no search names the place. */
  readonly inseeCodes: readonly number[];
  readonly departmentCode: number;
  readonly zipcodes: readonly number[];
  /** The facts of the property with those of all its adverts. */
  readonly stated: StatedFacts;
  /** The bits of the property's type and transaction. */
  readonly typeBit: number;
  readonly transactionBit: number;
  /** The `ATTENTION` bits of rows whose search may have several rows that this property passes. */
  readonly repeatBits: number;
  /** True after the expression table has read the texts of all adverts. */
  hasReadTexts: boolean;
}

export function viewOf(facts: PropertyFacts, codes: Codes, categories: CategoryBits): PropertyView {
  const { propertyType, transactionType } = facts;
  const known = propertyType !== null && propertyType >= 0 && propertyType < PROPERTY_TYPES.length;
  const inseeCodes = codesOf(isNowhere(facts) ? [NOWHERE_CODE] : facts.inseeCodes, codes.insee);
  return {
    facts,
    values: MEASURES.map(({ source }) => source.read(facts) ?? Number.NaN),
    inseeCodes,
    departmentCode: facts.departmentCode === null ? 0 : codes.departments.codeOf(facts.departmentCode),
    zipcodes: codesOf(facts.zipcodes, codes.zipcodes),
    stated: new StatedFacts(facts, facts.adverts, categories),
    typeBit: known ? 1 << propertyType : UNKNOWN_TYPE,
    transactionBit:
      transactionType === SALE ? ACCEPTS_SALE : transactionType === RENT ? ACCEPTS_RENT : ACCEPTS_UNKNOWN_TRANSACTION,
    repeatBits: REPEATS | (inseeCodes.length > 1 ? REPEATS_BY_INSEE : 0),
    hasReadTexts: false,
  };
}

/** Whether the property and one of its adverts have no text. A search that excludes all other adverts finds no text. */
export function mayLackText({ facts }: PropertyView): boolean {
  return facts.adverts.some((advert) => EXPRESSIONS.isUnknown({ facts, adverts: [advert] }));
}

/** Makes the expression table read the texts of all adverts, if it has not done so yet. */
export function readTexts(view: PropertyView, expressions: ExpressionTable): void {
  if (!view.hasReadTexts) expressions.read(textsOf(view.facts, view.facts.adverts));
  view.hasReadTexts = true;
}

/** The texts of the property, then other texts of the adverts. A property usually repeats the texts of an advert. */
export function textsOf(facts: PropertyFacts, adverts: readonly AdvertFacts[]): readonly string[] {
  const texts = [...facts.texts];
  for (const advert of adverts) for (const text of advert.texts) if (!texts.includes(text)) texts.push(text);
  return texts;
}

/** Writes the kernel's query without the location. */
export function writeQuery(view: PropertyView, { bytes, codes }: GroupMemory): void {
  for (let measure = 0; measure < EDGES_OF_MEASURE.length; measure++) {
    const value = view.values[measure] as number;
    const min = MAYBE_BOUNDS + 2 * measure;
    const sureMin = SURE_BOUNDS + 2 * measure;
    if (Number.isNaN(value)) {
      codes[min] = codes[sureMin] = CODE_MIN;
      codes[min + 1] = codes[sureMin + 1] = CODE_MAX;
      continue;
    }
    const code = codeOf(EDGES_OF_MEASURE[measure] as Float64Array, value);
    const doubt = isGap(code) ? 1 : 0;
    codes[min] = codes[min + 1] = code;
    codes[sureMin] = code - doubt;
    codes[sureMin + 1] = code + doubt;
  }
  bytes[QUERY_TYPE] = view.typeBit;
  for (let column = 0; column < NEED_COLUMNS; column++)
    bytes[QUERY_LACKING + column] = view.stated.lacking >> (8 * column);
  bytes[QUERY_TRIGGER] =
    NEEDS_EXACT_CHECK | NEEDS_TEXT_CHECK | NEEDS_SHAPE_CHECK | NEEDS_CONDITION_CHECK | view.repeatBits;
}

/** Writes the location. For comparisons across the date line, `lon` may be shifted by 360°. */
export function writePlace(lat: number, lon: number, { floats }: GroupMemory): void {
  const cosine = Math.cos(lat * RADIANS);
  const sine = Math.sin(lat * RADIANS);
  floats[QUERY_LATITUDE >> 2] = lat;
  floats[QUERY_LONGITUDE >> 2] = lon;
  floats[QUERY_COSINES >> 2] = cosine * cosine;
  floats[(QUERY_COSINES >> 2) + 1] = cosine * sine * RADIANS;
  floats[(QUERY_COSINES >> 2) + 2] = ((cosine * cosine) / 2) * RADIANS * RADIANS;
}

function codesOf(texts: readonly string[], table: CodeTable): readonly number[] {
  return texts.map((text) => table.codeOf(text));
}
