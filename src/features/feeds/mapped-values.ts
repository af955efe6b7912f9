/** Converts values of a file to members of the intake contract according to its mapping. */

import { instantOf } from './dates.ts';
import {
  type ComplaintRow,
  type FeedContent,
  type FeedRow,
  LOST_LENGTH_MAX,
  type Loss,
  NOTHING_UNDERSTOOD,
  plainLine,
  plainText,
  referenceFault,
  webAddress,
} from './feed-row.ts';
import { floorsIn } from './floors.ts';
import type { MappedMember, MappedPath, Mapping } from './mapping.ts';
import { currencyFault, NO_NUMBER, type NumberReader } from './numbers.ts';
import { textFault } from './readable-text.ts';

export type Tree = { [name: string]: unknown };

/** One advert as read from its file. */
export interface FileRecord {
  readonly line: number;
  /** The value at a path; undefined if the path does not occur. */
  readonly at: (path: string) => unknown;
  /** Null if the text is readable. */
  readonly fault: string | null;
}

const UNKNOWN = null;
const TRUE = /^(?:true|1|yes|y|oui|o|ja|si|sí|sim)$/i;
const FALSE = /^(?:false|0|no|n|non|nein|não|nao)$/i;

/** Converts one advert of a file that has a mapping. */
export function mappedRow(record: FileRecord, mapping: Mapping, numbers: NumberReader): FeedRow {
  const { line } = record;
  for (const [path, accepted] of mapping.only)
    if (!accepted.has(textOf(textOfElement(record.at(path))).trim()))
      return { kind: 'left out', line, reference: null, reason: `the value of ${path} is not in the list of "only"` };
  const reference = plainLine(textOf(textOfElement(record.at(mapping.reference))));
  const fault = referenceFault(reference) ?? textFault(reference);
  if (fault !== null) return { kind: 'complaint', line, reference: null, reason: fault };
  const complaint = (reason: string): ComplaintRow => ({ kind: 'complaint', line, reference, reason, losses });
  const losses: Loss[] = [];
  if (record.fault !== null) return complaint(record.fault);
  const content: { readonly [half in keyof FeedContent]: Record<string, unknown> } = { property: {}, advert: {} };
  let isUnderstood = false;
  for (const member of mapping.members) {
    const value = valueOf(member, record, losses, numbers);
    if (value === UNKNOWN) continue;
    isUnderstood ||= 'path' in member.from;
    const [name = '', part] = member.name.split('.');
    const half = content[member.half];
    if (part === undefined) half[name] = value;
    else half[name] = { ...(half[name] as object | undefined), [part]: value };
    if (name === 'floor' && 'path' in member.from) {
      const written = textOf(chosen(record.at(member.from.path), member.from));
      content.advert.floorQuantity ??= floorsIn(written).floorQuantity;
    }
  }
  if (!isUnderstood && losses.length > 0) return complaint(NOTHING_UNDERSTOOD);
  return { kind: 'advert', line, reference, content, losses };
}

function valueOf(
  { name, schema, from, dates }: MappedMember,
  record: FileRecord,
  losses: Loss[],
  numbers: NumberReader,
): unknown {
  if ('value' in from) return from.value;
  const found = chosen(record.at(from.path), from);
  if (found === undefined || found === null || found === '') return UNKNOWN;
  if (from.values !== undefined && typeof found !== 'object') {
    const key = textOf(found).trim();
    if (Object.hasOwn(from.values, key)) return from.values[key];
  }
  const lose = (fault: string, value: unknown = found): void =>
    void losses.push({ member: name, fault, value: (JSON.stringify(value) ?? '').slice(0, LOST_LENGTH_MAX) });
  const currencies = from.currency === undefined ? [] : [textOfElement(record.at(from.currency))].flat().map(textOf);
  for (const currency of currencies.map((each) => each.trim())) {
    const fault = currencyFault(currency);
    if (fault === null) continue;
    lose(fault, `${textOf(found)} ${currency}`);
    return UNKNOWN;
  }
  const value = asMember(found, { name, schema, dates }, from.split, numbers);
  if (isFault(value)) {
    lose(value.fault);
    return UNKNOWN;
  }
  if (!ADDRESSES.has(name)) return value;
  for (const each of [value].flat()) if (webAddress(textOf(each)) === null) lose('not a web address', each);
  if (!Array.isArray(value)) return webAddress(textOf(value));
  return value.filter((each) => webAddress(textOf(each)) !== null);
}

const ADDRESSES: ReadonlySet<string> = new Set(['url', 'virtualTour', 'pictures', 'picturesRemote']);

/** Applies `where` and `take`: selects items and the part of each that is read. */
function chosen(found: unknown, { where, take }: MappedPath): unknown {
  if (where === undefined && take === undefined) return textOfElement(found);
  const items = [found].flat().filter((item) => where === undefined || isMeant(item, where));
  const taken = take === undefined ? items : items.flatMap((item) => valueAt(item, take.split('/')) ?? []);
  const values = taken.map(textOfElement);
  return values.length < 2 ? values[0] : values;
}

function isMeant(item: unknown, where: NonNullable<MappedPath['where']>): boolean {
  return Object.entries(where).every(([path, accepted]) => {
    const texts = [textOfElement(valueAt(item, path.split('/')))].flat().map(textOf);
    return [accepted].flat().some((each) => texts.includes(textOf(each)));
  });
}

/** Why a value cannot be converted. A converted value is a text, a number, a flag or a list, so it has no `fault`. */
interface Fault {
  readonly fault: string;
}

function isFault(value: unknown): value is Fault {
  return typeof value === 'object' && value !== null && 'fault' in value;
}

type Schema = MappedMember['schema'];

function asMember(
  found: unknown,
  { name, schema, dates }: Pick<MappedMember, 'name' | 'schema' | 'dates'>,
  split: string | undefined,
  numbers: NumberReader,
): unknown {
  const types = [schema.type ?? []].flat();
  const isObject = typeof found === 'object';
  const orFault = (value: unknown): unknown => value ?? { fault: faultOf(schema) };
  if (types.includes('array')) return orFault(listOf(found, split));
  if (isObject && !Array.isArray(found)) return orFault(undefined);
  // If an element or member occurs several times, for example once per language, the first one counts.
  const first: unknown = Array.isArray(found) ? found[0] : found;
  const text = textOf(first).trim();
  if (text === '') return UNKNOWN;
  if (schema.enum !== undefined) return orFault(schema.enum.find((code) => textOf(code) === text));
  if (types.includes('boolean')) return orFault(TRUE.test(text) ? true : FALSE.test(text) ? false : undefined);
  if (types.includes('number') || types.includes('integer')) {
    // A JSON number is unambiguous.
    const number = typeof first === 'number' ? first : numbers.read(text, name);
    return typeof number === 'number' ? number : { fault: number };
  }
  if (schema.format === 'instant') return orFault(instantOf(text, dates));
  // HTML accepts entities without a semicolon, such as &copy, which would change the parameters of an address.
  if (ADDRESSES.has(name)) return text.replaceAll('&amp;', '&');
  return schema.format === 'text' ? plainText(text) : text;
}

function faultOf({ enum: codes, type, format }: Schema): string {
  if (codes !== undefined) return 'not a valid code: add it to `values` of the mapping';
  if (format === 'instant') return 'not a date';
  const [kind = 'value'] = [type ?? []].flat();
  return kind === 'number' || kind === 'integer' ? NO_NUMBER : `not a ${kind}`;
}

function listOf(found: unknown, split: string | undefined): readonly unknown[] | undefined {
  if (Array.isArray(found)) {
    const items: readonly unknown[] = found.map((item) => (typeof item === 'object' ? item : textOf(item).trim()));
    return items.filter((item) => item !== null && item !== '');
  }
  const text = textOf(found).trim();
  if (text.startsWith('[')) {
    try {
      const parsed: unknown = JSON.parse(text);
      if (Array.isArray(parsed)) return listOf(parsed, undefined);
    } catch {
      // The text starts like a JSON list but is not one.
    }
  }
  return (split === undefined ? [text] : text.split(split)).map((item) => item.trim()).filter((item) => item !== '');
}

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

/** A list on the path yields the values of all its items. */
export function valueAt(tree: unknown, [step, ...rest]: readonly string[]): unknown {
  if (step === undefined) return tree;
  if (Array.isArray(tree)) {
    const values = tree.flatMap((item) => valueAt(item, [step, ...rest]) ?? []);
    return values.length === 0 ? undefined : values;
  }
  if (typeof tree !== 'object' || tree === null || !Object.hasOwn(tree, step)) return undefined;
  return valueAt((tree as Tree)[step], rest);
}

/** The text of an XML element that has attributes; any other value unchanged. */
function textOfElement(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(textOfElement);
  const isElement = typeof value === 'object' && value !== null && '#text' in value;
  return isElement ? (value as Tree)['#text'] : value;
}
