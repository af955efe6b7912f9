/**
 * Rules that read the members of bodies: single values by their rule (`values.ts`), lists and objects. zod only
 * describes objects for OpenAPI. It would check the items of a list before its length, and create an error for each.
 */

import type { Context } from 'koa';
import { z } from 'zod';
import { both, count, Fault, type JsonSchema, type ValueRule } from '../values.ts';
import { invalid, type Path, Violations } from './problem.ts';
import { FAULTS, OF_OBJECT, type Sentence } from './sentences.ts';

/** The context in which a value is read. */
export interface Reading {
  /** The URL of this service that the client uses. */
  readonly baseUrl: string;
  readonly violations: Violations;
  readonly path: Path;
}

/** Returned instead of a value whose fault has been reported. */
export const REFUSED = Symbol('refused');

export interface MemberRule<Value> {
  /** The published schema. */
  readonly schema: z.ZodType;
  readonly isOptional?: boolean;
  /** Returns the stored form. */
  readonly read: (value: unknown, reading: Reading) => Value | typeof REFUSED;
}

type Members = Readonly<Record<string, MemberRule<unknown>>>;
type ValuesOf<M extends Members> = {
  readonly [Name in keyof M]: Exclude<ReturnType<M[Name]['read']>, typeof REFUSED>;
};

export function refuse({ violations, path }: Reading, { message, code }: Fault): typeof REFUSED {
  violations.add(path, message, code);
  return REFUSED;
}

/** `published`: further keywords for OpenAPI. */
export function single<Value>(rule: ValueRule<Value>, published: JsonSchema = {}): MemberRule<Value> {
  return {
    schema: z.unknown().meta({ ...rule.schema, ...published }),
    read(value, reading) {
      const read = rule.read(value, reading.baseUrl);
      return read instanceof Fault ? refuse(reading, read) : read;
    },
  };
}

/** Reads null as `fallback`. */
export function nullable<Value, Fallback>(
  { schema, read }: MemberRule<Value>,
  description: string,
  fallback: Fallback,
): MemberRule<Value | Fallback> {
  return {
    schema: schema.nullable().meta({ description }),
    read: (value, reading) => (value === null ? fallback : read(value, reading)),
  };
}

export function optional<Value>(rule: MemberRule<Value>): MemberRule<Value | undefined> {
  return { ...rule, isOptional: true };
}

/** Reads null as the empty list. The length is checked before any item. */
export function list<Item>(item: MemberRule<Item>, lengthMax: number, description: string) {
  return {
    schema: z.array(item.schema).max(lengthMax).nullable().meta({ description }),
    read(value: unknown, reading: Reading): readonly Item[] | typeof REFUSED {
      if (value === null) return [];
      if (!Array.isArray(value)) return refuse(reading, new Fault(FAULTS.array, 'invalid_type'));
      if (value.length > lengthMax) {
        const message = both(`must have at most ${lengthMax} items`, `a au plus ${count(lengthMax)} éléments`);
        return refuse(reading, new Fault(message, 'too_long'));
      }
      const items = value.map((each, index) => item.read(each, within(reading, index)));
      return items.includes(REFUSED) ? REFUSED : (items as Item[]);
    },
  };
}

/** `message`: the fault of a value that is not an object, or of an object without any of the members `oneOf`. */
export function object<M extends Members>(
  members: M,
  message: Sentence,
  oneOf?: readonly (keyof M)[],
): MemberRule<ValuesOf<M>> {
  return {
    schema: bodySchema(members),
    read(value, reading) {
      if (!isRecord(value)) return refuse(reading, new Fault(message, 'invalid_type'));
      const values = readMembers(value, members, OF_OBJECT, reading);
      const isAllowed = oneOf?.some((name) => Object.hasOwn(value, name)) ?? true;
      return isAllowed ? values : refuse(reading, new Fault(message));
    },
  };
}

/** Absent optional members stay absent. `what`: the kind of member in the message about an unknown one. */
function readMembers<M extends Members>(
  sent: Readonly<Record<string, unknown>>,
  members: M,
  what: Sentence,
  reading: Reading,
): ValuesOf<M> | typeof REFUSED {
  const unknown = Object.keys(sent).filter((name) => !Object.hasOwn(members, name));
  for (const name of unknown) reading.violations.addUnknown([...reading.path, name], what, Object.keys(members));
  const stated = Object.entries(members).filter(([name, rule]) => !rule.isOptional || Object.hasOwn(sent, name));
  const read = stated.map(([name, rule]) => [name, rule.read(sent[name], within(reading, name))] as const);
  const isRefused = unknown.length > 0 || read.some(([, value]) => value === REFUSED);
  return isRefused ? REFUSED : (Object.fromEntries(read) as ValuesOf<M>);
}

function within(reading: Reading, step: PropertyKey): Reading {
  return { ...reading, path: [...reading.path, step] };
}

export function bodySchema(members: Members): z.ZodObject {
  const shape = Object.entries(members).map(([name, { schema, isOptional }]) => {
    return [name, isOptional ? schema.optional() : schema];
  });
  return z.strictObject(Object.fromEntries(shape));
}

/** Members without an effect in requests. Most are members of answers, which clients send back. */
export const READ_ONLY_MEMBERS: readonly string[] = [
  ...['@context', '@id', '@type', 'token', 'user', 'createdAt', 'updatedAt', 'lastAlertAt'],
  ...['emailStatus', 'emailFrequencyChosen', 'seenAt', 'newSinceSeen', 'matchedLast7Days', 'id', 'originId'],
];

/** True for read-only members, and for those that JSON-LD defines. */
export function isIgnored(name: string): boolean {
  return name.startsWith('@') || READ_ONLY_MEMBERS.includes(name);
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Reads a body. Throws a 422 `Problem` with its faults. `what`: see `readMembers`. */
export function readBody<M extends Members>(ctx: Context, members: M, what: Sentence): ValuesOf<M> {
  const violations = new Violations();
  const { body } = ctx.request;
  if (!isRecord(body)) throw invalid([], FAULTS.objectBody, 'invalid_type');
  const sent = Object.entries(body).filter(([name]) => Object.hasOwn(members, name) || !isIgnored(name));
  const reading = { baseUrl: String(ctx.state.baseUrl ?? ''), violations, path: [] };
  const values = readMembers(Object.fromEntries(sent), members, what, reading);
  violations.throwAny();
  return values as ValuesOf<M>;
}
