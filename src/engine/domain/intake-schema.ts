/**
 * The intake contract (decisions, section 8) as JSON Schema, compiled because every message is validated. Validation
 * sets absent members to null. `/schemas/intake.json` publishes the schema with other keywords instead of formats. The
 * types in advert.ts and property.ts are derived from it. Units are euros and m², and null is unknown.
 */

import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { z } from 'zod';
import {
  ENERGY_CATEGORIES,
  FEES_RESPONSIBILITIES,
  PROPERTY_TYPES,
  PUBLISHER_TYPES,
  TRANSACTION_TYPES,
} from './codes.ts';
import { eachFlag } from './property-flags.ts';
import { isStorable } from './text.ts';

/** Higher than the price of any building in euros and the surface of any estate in m². */
const AMOUNT_MAX = 1e11;
/** Lower than any price or surface except 0. The two limits keep every quotient finite. */
const AMOUNT_MIN = 1e-4;
const TEXT_LENGTH_MAX = 100_000;
export const LIST_LENGTH_MAX = 1_000;
const YEAR_MAX = 9_999;

const DATE_TIME = z.regexes.datetime({ offset: true });

declare const accepted: unique symbol;
/** A JSON Schema. `Value` is the type of the values that it accepts, after absent members were set to null. */
type Schema<Value = unknown> = Readonly<Record<string, unknown>> & { readonly [accepted]?: Value };
type Members = Readonly<Record<string, Schema>>;
type Accepted<M extends Members> = { readonly [Name in keyof M]: M[Name] extends Schema<infer Value> ? Value : never };

interface Format<Value> {
  readonly isMet: (value: Value) => boolean;
  readonly demand: string;
  /** The part that JSON Schema can express, with patterns that every language supports: no `\d`, no `\u`, no `\p`. */
  readonly published: Schema;
}

/** These formats exclude values that PostgreSQL refuses (text, json, timestamptz), which would fail a whole batch. */
export const TEXT_FORMATS: Readonly<Record<string, Format<string>>> = {
  uuid: {
    isMet: (value) => z.regexes.guid.test(value),
    demand: 'must be a UUID',
    published: { pattern: z.regexes.guid.source },
  },
  instant: {
    isMet(value) {
      if (!DATE_TIME.test(value)) return false;
      const written = Number.parseInt(value, 10);
      // An offset changes the year only around the new year.
      if (written > 1 && written < YEAR_MAX) return true;
      const year = new Date(value).getUTCFullYear();
      return year >= 1 && year <= YEAR_MAX;
    },
    demand: `must be a date and time such as 2026-03-10T08:15:00+01:00 or 2026-03-10T07:15:00Z, in the years 1 to ${YEAR_MAX}`,
    published: { pattern: DATE_TIME.source.replaceAll('\\d', '[0-9]') },
  },
  text: {
    isMet: (value) => isShort(value) && isStorable(value),
    demand: `must have at most ${TEXT_LENGTH_MAX} characters, without U+0000 or half a surrogate pair`,
    published: { maxLength: TEXT_LENGTH_MAX, pattern: '^[^\\x00]*$' },
  },
};
export const NUMBER_FORMATS: Readonly<Record<string, Format<number>>> = {
  amount: {
    isMet: (value) => value === 0 || (value >= AMOUNT_MIN && value <= AMOUNT_MAX),
    demand: `must be 0, or between ${AMOUNT_MIN} and ${AMOUNT_MAX}`,
    published: { anyOf: [{ const: 0 }, { minimum: AMOUNT_MIN, maximum: AMOUNT_MAX }] },
  },
};

/** Counts characters as JSON Schema does (RFC 8259): a pair of surrogates is one character. */
function isShort(text: string): boolean {
  if (text.length <= TEXT_LENGTH_MAX) return true;
  return text.length <= 2 * TEXT_LENGTH_MAX && Array.from(text).length <= TEXT_LENGTH_MAX;
}

const unknownAsNull = { default: null };
const uuid: Schema<string> = { type: 'string', format: 'uuid' };
const text: Schema<string | null> = { type: ['string', 'null'], format: 'text', ...unknownAsNull };
const flag: Schema<boolean | null> = { type: ['boolean', 'null'], ...unknownAsNull };
const amount: Schema<number | null> = { type: ['number', 'null'], format: 'amount', ...unknownAsNull };
const integer = (minimum: number, maximum: number): Schema<number | null> => ({
  type: ['integer', 'null'],
  minimum,
  maximum,
  ...unknownAsNull,
});
const count = integer(0, 100_000);
const floor = integer(-100, 1_000);
/** An identifier in the crawler's source. */
const sourceId = integer(0, Number.MAX_SAFE_INTEGER);
const degrees = (max: number): Schema<number | null> => ({ type: ['number', 'null'], minimum: -max, maximum: max });
const instant: Schema<string> = { type: 'string', format: 'instant' };
const unknownInstant: Schema<string | null> = { type: ['string', 'null'], format: 'instant', ...unknownAsNull };
const code = <Code extends number | string>(codes: readonly Code[]): Schema<Code | null> => ({
  enum: [...codes, null],
  ...unknownAsNull,
});
/** A list that is too long causes one error. Its items are not checked. */
const list = <Item>(items: Schema<Item>): Schema<readonly Item[] | null> => ({
  type: ['array', 'null'],
  maxItems: LIST_LENGTH_MAX,
  if: { minItems: LIST_LENGTH_MAX + 1 },
  else: { items },
  ...unknownAsNull,
});
const texts = list<string>({ type: 'string', format: 'text' });
const record = <M extends Members>(properties: M, required: readonly string[] = []): Schema<Accepted<M>> => ({
  type: 'object',
  properties,
  required,
});
const unknownRecord = <M extends Members>(
  properties: M,
  required: readonly string[] = [],
): Schema<Accepted<M> | null> => ({
  ...record(properties, required),
  type: ['object', 'null'],
  ...unknownAsNull,
});

const energy = unknownRecord({ category: code<string>(ENERGY_CATEGORIES), value: amount });

const ADVERT = {
  uuid,
  title: text,
  description: text,
  url: text,
  virtualTour: text,
  contact: unknownRecord({ agency: text, email: text, fax: text, name: text, phone: text, reference: text }),
  /** The category is the name of a site category. */
  publisher: unknownRecord({ category: text, name: text, type: code(PUBLISHER_TYPES) }),
  createdAt: unknownInstant,
  updatedAt: unknownInstant,
  features: texts,
  energy,
  greenHouseGas: energy,
  constructionYear: integer(0, YEAR_MAX),
  floorQuantity: count,
  floor,
  lotCount: count,
  price: amount,
  priceExcludingFees: amount,
  renterFees: amount,
  rentalPledge: amount,
  inventoryPrice: amount,
  rentalCharges: amount,
  feesPercentage: amount,
  condominiumFees: amount,
  feesResponsibility: code<number>(FEES_RESPONSIBILITIES),
  surface: amount,
  landSurface: amount,
  ...eachFlag(() => flag),
  pictures: texts,
  picturesRemote: texts,
};

const LINE = { id: sourceId, name: text, number: text, color: text, routeName: text };
const STATION = { id: sourceId, name: text, lines: list(record(LINE)) };

const PROPERTY = {
  uuid,
  title: text,
  description: text,
  transactionType: code(TRANSACTION_TYPES),
  propertyType: code(PROPERTY_TYPES),
  price: amount,
  surface: amount,
  landSurface: amount,
  room: count,
  bedroom: count,
  floor,
  ...eachFlag(() => flag),
  createdAt: unknownInstant,
  pictures: texts,
  stations: list(record(STATION)),
  locations: unknownRecord({ lat: degrees(90), lon: degrees(180) }, ['lat', 'lon']),
  city: unknownRecord({ insee: text, zipcode: text, name: text }),
};

/** A message after validation. UUIDs may have upper case, times may have any offset, and absent members are null. */
export interface SentUpsert {
  readonly kind: 'upsert';
  readonly crawledAt: string;
  readonly property: Accepted<typeof PROPERTY>;
  readonly advert: Accepted<typeof ADVERT>;
}

export interface SentExpire {
  readonly kind: 'expire';
  readonly crawledAt: string;
  readonly property: { readonly uuid: string };
  readonly advert: { readonly uuid: string };
  readonly expiredAt: string | null;
}

export type SentMessage = SentUpsert | SentExpire;

const compiler = new Ajv({ allErrors: true, allowUnionTypes: true, useDefaults: true });
for (const [name, { isMet }] of Object.entries(TEXT_FORMATS)) compiler.addFormat(name, { validate: isMet });
for (const [name, { isMet }] of Object.entries(NUMBER_FORMATS)) {
  compiler.addFormat(name, { type: 'number', validate: isMet });
}

const identified = record({ uuid }, ['uuid']);
const message = (kind: string, members: Members): Schema =>
  record({ kind: { const: kind }, crawledAt: instant, ...members }, ['kind', 'crawledAt', 'property', 'advert']);

/** Schemas by kind of message. `format` is the name of one of `TEXT_FORMATS` or `NUMBER_FORMATS`. */
export const MESSAGE_SCHEMAS: Readonly<Record<SentMessage['kind'], Schema>> = {
  upsert: message('upsert', { property: record(PROPERTY, ['uuid']), advert: record(ADVERT, ['uuid']) }),
  expire: message('expire', { property: identified, advert: identified, expiredAt: unknownInstant }),
};

/** Validators by kind of message. They also set absent members to null. */
export const VALIDATORS: Readonly<Record<SentMessage['kind'], ValidateFunction<SentMessage>>> = {
  upsert: compiler.compile<SentMessage>(MESSAGE_SCHEMAS.upsert),
  expire: compiler.compile<SentMessage>(MESSAGE_SCHEMAS.expire),
};

export interface IntakeViolation {
  /** For example `advert.pictures.0`; empty for the whole message. */
  readonly propertyPath: string;
  readonly message: string;
  /** A stable code for programs; usually the violated keyword of JSON Schema. */
  readonly code: string;
}

export function violationsOf(errors: readonly ErrorObject[]): readonly IntakeViolation[] {
  // Errors of items are reported for the items, so the error of the list's `if` adds nothing.
  return errors.filter(({ keyword }) => keyword !== 'if').map(violationOf);
}

function violationOf({ instancePath, keyword, params, message = '' }: ErrorObject): IntakeViolation {
  const path = instancePath.split('/').slice(1);
  if (keyword === 'required') {
    return { propertyPath: [...path, params.missingProperty].join('.'), message: 'is missing', code: keyword };
  }
  return { propertyPath: path.join('.'), message: demandOf(keyword, params) ?? message, code: keyword };
}

function demandOf(keyword: string, params: ErrorObject['params']): string | undefined {
  if (keyword === 'type') return `must be ${[params.type].flat().join(' or ')}`;
  if (keyword === 'enum') return `must be one of ${params.allowedValues.map(String).join(', ')}`;
  if (keyword === 'format') return (TEXT_FORMATS[params.format] ?? NUMBER_FORMATS[params.format])?.demand;
  return undefined;
}
