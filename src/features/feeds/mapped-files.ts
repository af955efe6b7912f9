/** CSV, NDJSON, JSON and XML, one advert at a time, in bounded memory. */

import { pipeline, Readable } from 'node:stream';
import { JSONParser, TokenType } from '@streamparser/json';
import { parse as parseCsv } from 'csv-parse';
import { SaxesParser } from 'saxes';
import { z } from 'zod';
import { nearestName } from '../../engine/domain/nearest-name.ts';
import {
  type FeedContent,
  type FeedRow,
  linesOf,
  numberIn,
  plainLine,
  plainText,
  referenceFault,
  SnapshotRefusedError,
} from './feed-row.ts';
import type { MappedMember, Mapping } from './mapping.ts';

type Chunks = AsyncIterable<Buffer>;
type Tree = { [name: string]: unknown };

const RECORD_LENGTH_MAX = 4 * 1_024 * 1_024;
const DEPTH_MAX = 64;

/** Throws `SnapshotRefusedError`, also for a path that occurs in no advert: usually an error of the mapping. */
export async function* readMapped(bytes: Chunks, mapping: Mapping): AsyncGenerator<FeedRow> {
  const missing = new Set(mapping.paths);
  const names = new Set<string>();
  for await (const record of READERS[mapping.format](bytes, mapping)) {
    if ('kind' in record) {
      yield record;
      continue;
    }
    for (const path of missing) if (record.at(path) !== undefined) missing.delete(path);
    if (missing.size > 0) for (const name of record.names) names.add(name);
    yield mappedRow(record, mapping);
  }
  if (missing.size > 0 && names.size > 0) throw wrongPaths(missing, names);
}

function wrongPaths(missing: Iterable<string>, names: Iterable<string>): SnapshotRefusedError {
  const known = [...names];
  const faults = [...missing].map((path) => {
    const nearest = nearestName(path, known);
    return nearest === null ? path : `${path} (the nearest one is ${nearest})`;
  });
  return new SnapshotRefusedError(
    `no advert has ${faults.slice(0, 5).join(', ')}: correct the mapping, or say "optional": true beside the path`,
  );
}

interface NamedRecord extends FileRecord {
  /** Every path that occurred. */
  readonly names: Iterable<string>;
}

type Complaint = Extract<FeedRow, { kind: 'complaint' }>;
type Read = (bytes: Chunks, mapping: Mapping) => AsyncGenerator<NamedRecord | Complaint>;

const READERS: Readonly<Record<Mapping['format'], Read>> = {
  csv: readCsv,
  ndjson: readNdjson,
  json: readJson,
  xml: readXml,
};

/** Throws `SnapshotRefusedError` at the first byte that is invalid in the encoding, also at the end of the file. */
async function* decoded(bytes: Chunks, encoding = 'utf-8'): AsyncGenerator<string> {
  const decoder = new TextDecoder(encoding, { fatal: true });
  try {
    for await (const chunk of bytes) yield decoder.decode(chunk, { stream: true });
    yield decoder.decode();
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    throw new SnapshotRefusedError(
      `it is not ${encoding} throughout: it is cut off, or the mapping's "encoding" is wrong`,
    );
  }
}

async function* readCsv(bytes: Chunks, { delimiter, encoding, paths }: Mapping): ReturnType<Read> {
  const parser = parseCsv({
    bom: true,
    delimiter: delimiter ?? ',',
    info: true,
    max_record_size: RECORD_LENGTH_MAX,
    relax_column_count: true,
    skip_empty_lines: true,
  });
  let columns: readonly string[] = [];
  let short: Complaint | null = null;
  try {
    for await (const row of pipeline(Readable.from(decoded(bytes, encoding)), parser, () => undefined)) {
      const { record: values, info } = row as { record: readonly string[]; info: { lines: number } };
      if (columns.length === 0) {
        columns = values;
        const missing = paths.filter((path) => !values.includes(path));
        if (missing.length > 0) throw wrongPaths(missing, values);
        continue;
      }
      if (short !== null) yield short;
      short = null;
      const reason = `it has ${values.length} values for ${columns.length} columns`;
      const complaint: Complaint = { kind: 'complaint', line: info.lines, reference: null, reason };
      if (values.length < columns.length) short = complaint;
      // A separator at the end of each line is harmless; one within a value shifts all that follow.
      else if (values.slice(columns.length).some((value) => value !== '')) yield complaint;
      else yield { line: info.lines, at: (path) => values[columns.indexOf(path)], names: columns };
    }
    if (short !== null) throw new SnapshotRefusedError(`it is cut off: of the last row, ${short.reason}`);
  } catch (error) {
    throw asRefused(error, 'CSV');
  }
}

async function* readNdjson(bytes: Chunks, { encoding }: Mapping): ReturnType<Read> {
  const decoder = new TextDecoder(encoding ?? 'utf-8', { fatal: true });
  // Node.js 20 takes Windows-1252 for Latin-1 otherwise; of UTF-8 every line is whole.
  const stream = decoder.encoding !== 'utf-8';
  for await (const { number: line, bytes: written, isEnded } of linesOf(bytes)) {
    let value: unknown;
    try {
      const text = decoder.decode(written, { stream }).trim();
      if (text === '') continue;
      value = JSON.parse(text);
    } catch (cause) {
      if (!isEnded) throw new SnapshotRefusedError(`it is cut off: line ${line}, the last one, is no JSON`, { cause });
      yield { kind: 'complaint', line, reference: null, reason: `it is no JSON: ${(cause as Error).message}` };
      continue;
    }
    yield treeRecord(line, value);
  }
}

async function* readJson(bytes: Chunks, { adverts = '', encoding }: Mapping): ReturnType<Read> {
  const steps = adverts.split('/').filter((step) => step !== '');
  const parser = new JSONParser({ paths: [['$', ...steps, '*'].join('.')], keepStack: false });
  const found: unknown[] = [];
  let count = 0;
  let open = 0;
  let sinceAdvert = 0;
  parser.onToken = ({ token }) => {
    if (token === TokenType.LEFT_BRACE || token === TokenType.LEFT_BRACKET) open += 1;
    else if (token === TokenType.RIGHT_BRACE || token === TokenType.RIGHT_BRACKET) open -= 1;
    if (open > DEPTH_MAX) throw new SnapshotRefusedError(`it nests deeper than ${DEPTH_MAX} levels`);
  };
  parser.onValue = ({ value }) => {
    found.push(value);
    sinceAdvert = 0;
  };
  try {
    for await (const text of decoded(bytes, encoding)) {
      sinceAdvert += text.length;
      if (sinceAdvert > RECORD_LENGTH_MAX)
        throw new SnapshotRefusedError(`advert ${count + 1} has no end, or "adverts" leads nowhere`);
      parser.write(count === 0 ? text.replace(/^\uFEFF/, '') : text);
      for (const value of found.splice(0)) yield treeRecord(++count, value);
    }
    if (!parser.isEnded) parser.end();
  } catch (error) {
    throw asRefused(error, 'JSON');
  }
}

/** Entities of a file's own are not expanded: one that names them is refused. */
async function* readXml(bytes: Chunks, { adverts = '', encoding }: Mapping): ReturnType<Read> {
  const element = adverts.replaceAll(/^\/|\/$/g, '');
  const parser = new SaxesParser({ position: true });
  const path: string[] = [];
  const found: NamedRecord[] = [];
  const nodes: Tree[] = [];
  let length = 0;
  parser.on('opentag', ({ name, attributes }) => {
    path.push(name);
    if (path.length > DEPTH_MAX) throw new SnapshotRefusedError(`it nests deeper than ${DEPTH_MAX} levels`);
    if (nodes.length === 0) length = 0;
    if (nodes.length === 0 && path.join('/') !== element) return;
    const entries = Object.entries(attributes).map(([attribute, value]) => [`@${attribute}`, value]);
    nodes.push(Object.assign(Object.create(null), Object.fromEntries(entries)));
  });
  const onText = (text: string): void => {
    const node = nodes.at(-1);
    if (node !== undefined) node['#text'] = `${(node['#text'] as string | undefined) ?? ''}${text}`;
  };
  parser.on('text', onText);
  parser.on('cdata', onText);
  parser.on('closetag', ({ name }) => {
    path.pop();
    const node = nodes.pop();
    const above = nodes.at(-1);
    if (above === undefined) length = 0;
    if (node === undefined) return;
    if (above === undefined) found.push(treeRecord(parser.line, node));
    else addChild(above, name, withoutWrapping(node));
  });
  try {
    for await (const text of decoded(bytes, encoding)) {
      length += text.length;
      if (length > RECORD_LENGTH_MAX) throw new SnapshotRefusedError(`what begins at line ${parser.line} has no end`);
      parser.write(text);
      yield* found.splice(0);
    }
    parser.close();
  } catch (error) {
    throw asRefused(error, 'XML');
  }
  yield* found.splice(0);
}

/** An element that has a text alone is that text. */
function withoutWrapping(node: Tree): unknown {
  const names = Object.keys(node);
  if (names.length === 0) return '';
  return names.length === 1 && names[0] === '#text' ? node['#text'] : node;
}

function addChild(above: Tree, name: string, child: unknown): void {
  const before = above[name];
  if (before === undefined) above[name] = child;
  else if (Array.isArray(before)) before.push(child);
  else above[name] = [before, child];
}

function treeRecord(line: number, tree: unknown): NamedRecord {
  return { line, at: (path) => valueAt(tree, path.split('/')), names: namesOf(tree, '', 0) };
}

/** A list on the way gives what all its items have. */
function valueAt(tree: unknown, [step, ...rest]: readonly string[]): unknown {
  if (step === undefined) return textOfElement(tree);
  if (Array.isArray(tree)) {
    const values = tree.flatMap((item) => valueAt(item, [step, ...rest]) ?? []);
    return values.length === 0 ? undefined : values;
  }
  if (typeof tree !== 'object' || tree === null || !Object.hasOwn(tree, step)) return undefined;
  return valueAt((tree as Tree)[step], rest);
}

/** The text of an element with attributes. */
function textOfElement(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(textOfElement);
  const isElement = typeof value === 'object' && value !== null && '#text' in value;
  return isElement ? (value as Tree)['#text'] : value;
}

function* namesOf(tree: unknown, prefix: string, depth: number): Generator<string> {
  if (Array.isArray(tree)) yield* namesOf(tree[0], prefix, depth);
  else if (typeof tree === 'object' && tree !== null && depth < 5) {
    for (const [name, value] of Object.entries(tree)) {
      yield prefix + name;
      yield* namesOf(value, `${prefix}${name}/`, depth + 1);
    }
  }
}

function asRefused(error: unknown, format: string): unknown {
  if (error instanceof SnapshotRefusedError) return error;
  const isParsers = error instanceof Error && !('errno' in error) && !('syscall' in error);
  if (!isParsers) return error;
  return new SnapshotRefusedError(`it cannot be read as ${format}: ${error.message.split('\n')[0]}`, { cause: error });
}

/** One advert as its file has it. */
interface FileRecord {
  readonly line: number;
  /** The value at a path; undefined without one. */
  readonly at: (path: string) => unknown;
}

const UNKNOWN = null;
const TRUE = /^(?:true|1|yes|y|oui|o|ja|si|sí|sim)$/i;
const FALSE = /^(?:false|0|no|n|non|nein|não|nao)$/i;

/** Converts the values of a file of another format to members of the intake contract, according to its mapping. */
function mappedRow(record: FileRecord, { reference: path, members }: Mapping): FeedRow {
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

/** Undefined: the value cannot be converted. */
function asMember(found: unknown, schema: Schema, split: string | undefined): unknown {
  const types = [schema.type ?? []].flat();
  const isObject = typeof found === 'object';
  if (types.includes('array')) return listOf(found, split);
  if (isObject && !Array.isArray(found)) return undefined;
  // An element or a member may occur several times, for example per language: the first counts.
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
  // JavaScript takes the 30th of February for a day in March.
  const isDay = date !== undefined && z.regexes.date.test(date);
  return isDay && !Number.isNaN(instant.getTime()) ? instant.toISOString() : undefined;
}

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}
