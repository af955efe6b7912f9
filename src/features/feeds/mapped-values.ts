/** Values of a file of some other format as the members of the intake contract that a mapping makes of them. */

import { type FeedContent, type FeedRow, referenceFault } from './feed-row.ts';
import type { MappedMember, Mapping } from './mapping.ts';
import { numberIn, plainLine, plainText } from './plain-text.ts';

/** One advert as its file has it. */
export interface FileRecord {
  readonly line: number;
  /** What a path leads to; undefined when there is nothing. */
  readonly at: (path: string) => unknown;
}

const UNKNOWN = null;
const TRUE = /^(?:true|1|yes|y|oui|o|ja|si|sí|sim)$/i;
const FALSE = /^(?:false|0|no|n|non|nein|não|nao)$/i;

export function mappedRow(record: FileRecord, { reference: path, members }: Mapping): FeedRow {
  const { line } = record;
  const reference = plainLine(textOf(record.at(path)));
  const fault = referenceFault(reference);
  if (fault !== null) return { kind: 'complaint', line, reference: null, reason: fault };
  const notices: string[] = [];
  const content: { readonly [half in keyof FeedContent]: Record<string, unknown> } = { property: {}, advert: {} };
  for (const member of members) {
    const value = valueOf(member, record, notices);
    if (value === UNKNOWN) continue;
    const [name = '', part] = member.name.split('.');
    const half = content[member.half];
    if (part === undefined) half[name] = value;
    else half[name] = { ...(half[name] as object | undefined), [part]: value };
  }
  return { kind: 'advert', line, reference, content, notices };
}

function valueOf({ name, schema, from }: MappedMember, record: FileRecord, notices: string[]): unknown {
  if ('value' in from) return from.value;
  const found = record.at(from.path);
  if (found === undefined || found === null || found === '') return UNKNOWN;
  if (from.values !== undefined && typeof found !== 'object') {
    const key = textOf(found).trim();
    if (Object.hasOwn(from.values, key)) return from.values[key];
  }
  const value = asMember(found, schema, from.split);
  if (value === undefined) {
    notices.push(`${name}: ${(JSON.stringify(found) ?? '').slice(0, 60)} is ${demandOf(schema)}`);
    return UNKNOWN;
  }
  return value;
}

type Schema = MappedMember['schema'];

/** Undefined: it cannot be one. */
function asMember(found: unknown, schema: Schema, split: string | undefined): unknown {
  const types = [schema.type ?? []].flat();
  const isObject = typeof found === 'object';
  if (types.includes('array')) return listOf(found, split);
  if (isObject && !Array.isArray(found)) return undefined;
  // Of an element or a member that is there several times, as a language each, the first counts.
  const text = textOf(Array.isArray(found) ? found[0] : found).trim();
  if (schema.enum !== undefined) return schema.enum.find((code) => textOf(code) === text);
  if (types.includes('boolean')) return TRUE.test(text) ? true : FALSE.test(text) ? false : undefined;
  if (types.includes('number') || types.includes('integer'))
    return text === '' ? UNKNOWN : (numberIn(text) ?? undefined);
  if (schema.format === 'instant') return instantOf(text);
  return schema.format === 'text' ? plainText(text) : text;
}

function demandOf({ enum: codes, type, format }: Schema): string {
  if (codes !== undefined) return 'none of its codes: say in `values` what it stands for';
  if (format === 'instant') return 'no date';
  return `no ${[type ?? []].flat()[0] ?? 'value'}`;
}

function listOf(found: unknown, split: string | undefined): readonly unknown[] | undefined {
  if (Array.isArray(found)) return found.map((item) => (typeof item === 'object' ? item : textOf(item).trim()));
  const text = textOf(found).trim();
  if (text.startsWith('[')) {
    try {
      const parsed: unknown = JSON.parse(text);
      if (Array.isArray(parsed)) return parsed;
    } catch {
      // A text that begins like a list, and is none.
    }
  }
  return (split === undefined ? [text] : text.split(split)).map((item) => item.trim()).filter((item) => item !== '');
}

/** A date alone is midnight in UTC, and so is a time without an offset. */
function instantOf(text: string): string | undefined {
  const [, date, time = '00:00:00', offset = 'Z'] =
    /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?))?(Z|[+-]\d\d:\d\d)?$/.exec(text) ?? [];
  const instant = new Date(`${date}T${time}${offset}`);
  return date === undefined || Number.isNaN(instant.getTime()) ? undefined : instant.toISOString();
}

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}
