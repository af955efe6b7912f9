/**
 * A mapping is a small JSON file that locates the members of the intake contract in files of another format. An invalid
 * mapping is refused before any advert is read; for an unknown name, the message suggests the nearest one.
 */

import { z } from 'zod';
import { MESSAGE_SCHEMAS } from '../../engine/domain/intake-schema.ts';
import { nearestHint } from '../../engine/domain/nearest-name.ts';
import { dateForm } from './dates.ts';
import { SnapshotRefusedError } from './feed-row.ts';

interface MemberSchema {
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, MemberSchema>>;
}

const value = z.union([z.string(), z.number(), z.boolean(), z.null()]);
const accepted = z.union([value, z.array(value)]);
const placeSchema = z.strictObject({
  path: z.string().min(1),
  /** Replacements of values. If the member has codes, a value of the file that is neither listed nor a code is lost. */
  values: z.record(z.string(), value).optional(),
  /** Keeps only items that have one of these values at each path. */
  where: z.record(z.string(), accepted).optional(),
  /** Path of the value within an item. */
  take: z.string().min(1).optional(),
  /** Path of the number's currency. */
  currency: z.string().min(1).optional(),
  /** Separator of the list items in one text. */
  split: z.string().min(1).optional(),
  /** Order of the dates, such as `MM/dd/yyyy`. */
  dates: z.string().optional(),
  /** True if the member may be absent from every advert. */
  optional: z.boolean().optional(),
});
const constantSchema = z.strictObject({ value });
const mappingSchema = z.strictObject({
  format: z.enum(['csv', 'ndjson', 'json', 'xml']),
  /** Path of the list of adverts (JSON), or of the element that repeats (XML). */
  adverts: z.string().optional(),
  encoding: z.enum(['utf-8', 'windows-1252', 'iso-8859-15']).optional(),
  delimiter: z.string().length(1).optional(),
  /** Decimal sign of the numbers in the file. */
  decimal: z.enum(['.', ',']).optional(),
  /** Accepted values by path; other rows are left out. Null is the value of a row without the path. */
  only: z.record(z.string(), accepted).optional(),
  reference: z.string().min(1),
  members: z.record(z.string(), z.union([z.string().min(1), placeSchema, constantSchema])),
});

export type MappedPath = z.output<typeof placeSchema>;

export interface MappedMember {
  /** For example `contact.phone`. */
  readonly name: string;
  readonly half: 'property' | 'advert';
  readonly schema: MemberSchema;
  readonly from: MappedPath | z.output<typeof constantSchema>;
  /** Pattern of the dates, if the mapping gives their order. */
  readonly dates?: RegExp | undefined;
}

export interface Mapping extends Omit<z.output<typeof mappingSchema>, 'members' | 'only'> {
  readonly only: ReadonlyMap<string, ReadonlySet<string>>;
  readonly members: readonly MappedMember[];
  /** Paths that must occur in at least one advert; the path of the reference is first. */
  readonly paths: readonly string[];
}

/** Members by name. A name that both `property` and `advert` of a message accept means the member of `advert`. */
const KNOWN: ReadonlyMap<string, Pick<MappedMember, 'half' | 'schema'>> = new Map(
  (['property', 'advert'] as const).flatMap((half) => {
    const { properties } = MESSAGE_SCHEMAS.upsert as unknown as { properties: Record<string, MemberSchema> };
    return Object.entries(properties[half]?.properties ?? {}).flatMap(([name, schema]) => {
      if (name === 'uuid') return [];
      const below = Object.entries(schema.properties ?? {});
      if (below.length === 0) return [[name, { half, schema }] as const];
      return below.map(([part, inner]) => [`${name}.${part}`, { half, schema: inner }] as const);
    });
  }),
);

/** `path`: file name of the mapping, for error messages. Throws `SnapshotRefusedError`. */
export function parseMapping(text: string, path: string): Mapping {
  let sent: unknown;
  try {
    sent = JSON.parse(text);
  } catch (cause) {
    throw new SnapshotRefusedError(`${path} is not valid JSON: ${(cause as Error).message}.`, { cause });
  }
  const parsed = mappingSchema.safeParse(sent);
  if (!parsed.success) throw refused(path, parsed.error.issues.map(issueText));
  const { members, only = {}, ...rest } = parsed.data;
  const unknown = Object.keys(members).filter((name) => !KNOWN.has(name));
  if (unknown.length > 0)
    throw refused(
      path,
      unknown.map((name) => `${name} is not a member of an advert${nearestHint(name, [...KNOWN.keys()])}`),
    );
  if (rest.format === 'xml' && !rest.adverts) throw refused(path, ['`adverts` must name the element that repeats']);
  const mapped = Object.entries(members).map(([name, from]) => {
    const known = KNOWN.get(name) as Pick<MappedMember, 'half' | 'schema'>;
    const order = typeof from === 'object' && 'path' in from ? from.dates : undefined;
    const dates = order === undefined || known.schema.format !== 'instant' ? null : dateForm(order);
    if (order !== undefined && dates === null)
      throw refused(path, [`${name}: \`dates\` must be an order of yyyy, MM and dd, such as MM/dd/yyyy`]);
    return { ...known, name, from: typeof from === 'string' ? { path: from } : from, dates: dates ?? undefined };
  });
  const itemed = mapped.find(({ from }) => 'path' in from && (from.where ?? from.take) !== undefined);
  if (rest.format === 'csv' && itemed !== undefined)
    throw refused(path, [`${itemed.name}: \`where\` and \`take\` select items, and a CSV column has none`]);
  const needed = mapped.flatMap(({ from }) => ('path' in from && from.optional !== true ? pathsOf(from) : []));
  const accepting = Object.entries(only).map(
    ([at, values]) => [at, new Set([values].flat().map((each) => String(each ?? '')))] as const,
  );
  const decisive = accepting.flatMap(([at, values]) => (values.has('') ? [] : [at]));
  return { ...rest, only: new Map(accepting), members: mapped, paths: [rest.reference, ...decisive, ...needed] };
}

function pathsOf({ path, take, currency }: MappedPath): readonly string[] {
  const found = take === undefined ? path : `${path}/${take}`;
  return currency === undefined ? [found] : [found, currency];
}

function issueText({ path, message, ...issue }: z.core.$ZodIssue): string {
  const keys = 'keys' in issue ? (issue.keys as readonly string[]) : [];
  const hint = keys[0] === undefined ? '' : nearestHint(keys[0], Object.keys(mappingSchema.shape));
  return `${path.length === 0 ? '' : `${path.join('.')}: `}${message}${hint}`;
}

function refused(path: string, faults: readonly string[]): SnapshotRefusedError {
  return new SnapshotRefusedError(`The mapping ${path} is invalid: ${faults.slice(0, 5).join('; ')}.`);
}
