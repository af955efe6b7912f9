/**
 * How one member of a body is read. `zod` says what is accepted, for OpenAPI and for single values; lists are read item
 * by item here: zod looks at the items before the length, and builds an error of each.
 */

import { z } from 'zod';
import { departmentIdOf } from '../engine/reference/reference-ids.ts';
import { codeOf, type ViolationCode } from './error-codes.ts';
import { ownPath } from './iri.ts';
import { FAULTS, type Sentence, sentenceOfZod } from './sentences.ts';
import type { Path, Violations } from './violations.ts';

/** What a reader of one member may ask and say. Paths begin within the member. */
export interface Reading {
  /** What clients reach this service under. */
  readonly baseUrl: string;
  refuse(message: Sentence, code?: ViolationCode, path?: Path): void;
  /** `more`: so many others at the same place. */
  refuseUnknown(path: Path, what: Sentence, known: readonly string[], more: number): void;
}

/** Instead of a value; the reason was reported. */
export const REFUSED = Symbol('refused');

export interface MemberRule<Value> {
  /** What is published of it. */
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

/** A single value: zod reads it. Where it takes several forms, `published` is the one that is described. */
export function single<Schema extends z.ZodType>(
  accepted: Schema,
  published: z.ZodType = accepted,
): MemberRule<z.output<Schema>> {
  return {
    schema: published,
    read(value, { refuse }) {
      const result = accepted.safeParse(value);
      if (result.success) return result.data;
      for (const { message, code, path } of result.error.issues) refuse(sentenceOfZod(message), codeOf(code), path);
      return REFUSED;
    },
  };
}

export interface ItemRule<Item> {
  /** JSON Schema, for OpenAPI. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** The words of a violation when it is none. */
  readonly read: (value: unknown, reading: Reading) => Item | Refusal;
}

export class Refusal {
  readonly message: Sentence;
  constructor(message: Sentence) {
    this.message = message;
  }
}

/** `null` is the empty list. The length is looked at before any item. */
export function list<Item>(item: ItemRule<Item>, lengthMax: number, description: string): MemberRule<readonly Item[]> {
  return {
    schema: z.unknown().meta({ type: ['array', 'null'], items: item.schema, maxItems: lengthMax, description }),
    read(value, reading) {
      if (value === null) return [];
      if (!Array.isArray(value)) reading.refuse(FAULTS.array, 'invalid_type');
      else if (value.length > lengthMax) reading.refuse(FAULTS.items(lengthMax), 'too_big');
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
    if (read instanceof Refusal) reading.refuse(read.message, 'invalid_format', [index]);
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
 * The id at the end of `/cities/30953`, `cities/30953`, the same with our own host, or an object with it as `@id`. The
 * IRI alone is described: one shape a member.
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
