/**
 * How one member of a body is read, with the numbers and IRIs that clients write, and how a body of a few members is. `zod`
 * says what is accepted, for OpenAPI and for single values; lists are read item by item here: zod looks at the items before
 * the length, and builds an error of each.
 */

import type { Context } from 'koa';
import { z } from 'zod';
import { departmentIdOf } from '../engine/reference/commune-records.ts';
import { codeOf, type Path, type ViolationCode, Violations } from './problem.ts';
import { FAULTS, OF_OBJECT, type Sentence, sentenceOfZod } from './sentences.ts';

/** The context of a member's reader. Paths begin within the member. */
export interface Reading {
  /** The public URL of this service. */
  readonly baseUrl: string;
  refuse(message: Sentence, code?: ViolationCode, path?: Path): void;
  /** `more`: the number of further errors at the same place. */
  refuseUnknown(path: Path, what: Sentence, known: readonly string[], more: number): void;
}

/** Returned instead of a value; the reason was reported. */
export const REFUSED = Symbol('refused');

export interface MemberRule<Value> {
  /** The published description. */
  readonly schema: z.ZodType;
  /** In the form it is stored. */
  readonly read: (value: unknown, reading: Reading) => Value | typeof REFUSED;
}

export function readingOf(name: string, baseUrl: string, violations: Violations): Reading {
  return {
    baseUrl,
    refuse: (message, code = 'invalid_value', path = []) => violations.add([name, ...path], message, code),
    refuseUnknown(path, what, known, more) {
      violations.addUnknown([name, ...path], what, known);
      violations.addMore(more);
    },
  };
}

/** A single value, read by zod. Where it has several forms, `published` is the described one. */
export function single<Schema extends z.ZodType>(
  accepted: Schema,
  published: z.ZodType = accepted,
): MemberRule<z.output<Schema>> {
  return {
    schema: published,
    read(value, { refuse, refuseUnknown }) {
      const result = accepted.safeParse(value);
      if (result.success) return result.data;
      for (const issue of result.error.issues) {
        const { path } = issue;
        if (issue.code !== 'unrecognized_keys') refuse(sentenceOfZod(issue.message), codeOf(issue), path);
        else for (const key of issue.keys) refuseUnknown([...path, key], OF_OBJECT, membersAt(accepted, path), 0);
      }
      return REFUSED;
    },
  };
}

/** The members of the object at `path` in a value of this schema. */
function membersAt(schema: z.core.$ZodType, path: Path): readonly string[] {
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional) return membersAt(schema.unwrap(), path);
  if (!(schema instanceof z.ZodObject)) return [];
  const [step, ...rest] = path;
  return step === undefined ? Object.keys(schema.shape) : membersAt(schema.shape[String(step)], rest);
}

export interface ItemRule<Item> {
  /** JSON Schema, for OpenAPI. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** The text of a violation for an invalid value. */
  readonly read: (value: unknown, reading: Reading) => Item | Refusal;
}

export class Refusal {
  readonly message: Sentence;
  readonly code: ViolationCode;
  constructor(message: Sentence, code: ViolationCode = 'invalid_format') {
    this.message = message;
    this.code = code;
  }
}

/** `null` is the empty list. The length is checked before any item. */
export function list<Item>(item: ItemRule<Item>, lengthMax: number, description: string): MemberRule<readonly Item[]> {
  return {
    schema: z.unknown().meta({ type: ['array', 'null'], items: item.schema, maxItems: lengthMax, description }),
    read(value, reading) {
      if (value === null) return [];
      if (!Array.isArray(value)) reading.refuse(FAULTS.array, 'invalid_type');
      else if (value.length > lengthMax) reading.refuse(FAULTS.items(lengthMax), 'too_long');
      else return itemsOf(value, item, reading);
      return REFUSED;
    },
  };
}

function itemsOf<Item>(
  values: readonly unknown[],
  item: ItemRule<Item>,
  reading: Reading,
): readonly Item[] | typeof REFUSED {
  const items: Item[] = [];
  for (let index = 0; index < values.length; index++) {
    const read = item.read(values[index], reading);
    if (read instanceof Refusal) reading.refuse(read.message, read.code, [index]);
    else items.push(read);
  }
  return items.length === values.length ? items : REFUSED;
}

export function textItem(pattern: RegExp, rule: Sentence): ItemRule<string> {
  return {
    schema: { type: 'string', pattern: pattern.source },
    read: (value) => (typeof value === 'string' && pattern.test(value) ? value : new Refusal(rule)),
  };
}

const IRI_LENGTH_MAX = 2_048;

/**
 * The id at the end of `/cities/30953`, `cities/30953`, the same with our own host, or an object with it as `@id`. Only
 * the IRI is described: one form per member.
 */
export function referenceItem(collection: string): ItemRule<number> {
  // Departments go by their codes as well: `2A`.
  const idPattern = collection === 'departments' ? '\\d{1,9}|2[AaBb]' : '\\d{1,9}';
  const pattern = new RegExp(`^/?${collection}/(${idPattern})$`);
  const rule = FAULTS.reference(collection);
  const iri = { type: 'string', pattern: `(^|/)${collection}/(${idPattern})$`, maxLength: IRI_LENGTH_MAX };
  return {
    schema: iri,
    read(value, { baseUrl }) {
      const sent = typeof value === 'object' && value !== null && '@id' in value ? value['@id'] : value;
      if (typeof sent !== 'string' || sent.length > IRI_LENGTH_MAX) return new Refusal(rule);
      const path = ownPath(sent, baseUrl);
      if (path === null) return new Refusal(FAULTS.elsewhere);
      const id = pattern.exec(path)?.[1];
      return id === undefined ? new Refusal(rule) : departmentIdOf(id.toUpperCase());
    },
  };
}

/** With or without a sign and an exponent. An unencoded plus sign arrives as a space. */
export const NUMBER = /^[-+ ]?\d+(\.\d+)?(e[-+]?\d{1,3})?$/i;
/** Digits behind the point. */
const FRACTION_MAX = 20;
const DECIMAL = /^-?\d+(\.\d+)?$/;

/** Without plus sign and exponent; every digit that is written is kept, so 4.31e1 is 43.1. */
export function decimalOf(value: number | string): string {
  const text = String(value).replace(/^[+ ]/, '');
  if (DECIMAL.test(text)) return text;
  const [, sign = '', whole = '', decimals = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([-+]?\d+))?$/i.exec(text) ?? [];
  const digits = whole + decimals;
  const point = whole.length + Number(exponent);
  const shifted =
    point <= 0
      ? `0.${'0'.repeat(-point)}${digits}`
      : `${digits.padEnd(point, '0').slice(0, point)}.${digits.slice(point)}`;
  const [integer = '', fraction = ''] = shifted.split('.');
  // A tiny one is 0.
  const kept = fraction.slice(0, FRACTION_MAX).replace(/0{1,20}$/, '');
  return `${sign}${integer.replace(/^0+(?=\d)/, '')}${kept === '' ? '' : `.${kept}`}`;
}

const PROTOCOL = /^https?:\/\//i;

/**
 * The path of `iri`, null when it belongs to another service. `baseUrl` is the public URL of this one; the protocol is
 * not compared, because a proxy may have changed it.
 */
export function ownPath(iri: string, baseUrl: string): string | null {
  if (!PROTOCOL.test(iri)) return iri;
  const [address, base] = [iri.replace(PROTOCOL, ''), baseUrl.replace(PROTOCOL, '')];
  const isOurs = base !== '' && address.slice(0, base.length + 1).toLowerCase() === `${base.toLowerCase()}/`;
  return isOurs ? address.slice(base.length) : null;
}

/** Members of answers that are ignored in requests. */
export const READ_ONLY_MEMBERS: readonly string[] = [
  ...['@context', '@id', '@type', 'token', 'user', 'createdAt', 'updatedAt', 'lastAlertAt'],
  ...['emailStatus', 'id', 'originId'],
];

/** Those, and members that JSON-LD defines. */
export function isIgnored(name: string): boolean {
  return name.startsWith('@') || READ_ONLY_MEMBERS.includes(name);
}

/** Reads a body of a few members: every fault is a violation. `what` an unknown member is none of. Throws a 422 `Problem`. */
export function readBody<Schema extends z.ZodObject>(ctx: Context, schema: Schema, what: Sentence): z.output<Schema> {
  const violations = new Violations();
  const { body } = ctx.request;
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    violations.add([], FAULTS.objectBody, 'invalid_type');
    violations.throwAny();
  }
  const known = Object.keys(schema.shape);
  const members: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(body as object)) {
    if (known.includes(name)) members[name] = value;
    else if (!isIgnored(name)) violations.addUnknown([name], what, known);
  }
  const result = schema.safeParse(members);
  for (const issue of result.error?.issues ?? [])
    violations.add(issue.path, sentenceOfZod(issue.message), codeOf(issue));
  violations.throwAny();
  return result.data as z.output<Schema>;
}
