/** Reads CSV, NDJSON, JSON and XML one advert at a time, in limited memory. */

import { pipeline, Readable } from 'node:stream';
import { JSONParser, TokenType } from '@streamparser/json';
import { type CsvError, parse as parseCsv } from 'csv-parse';
import { Parser } from 'htmlparser2';
import { nearestName } from '../../engine/domain/nearest-name.ts';
import { type ComplaintRow, type FeedRow, linesOf, NAMES_COLUMNS, SnapshotRefusedError } from './feed-row.ts';
import { type FileRecord, mappedRow, type Tree, valueAt } from './mapped-values.ts';
import type { Mapping } from './mapping.ts';
import { createNumberReader, type NumberReader } from './numbers.ts';
import {
  DAMAGED_REASON,
  decoded,
  refuseWrongEncoding,
  textFault,
  UTF8,
  utf8Text,
  wholeTags,
  withoutUtf8,
  xmlText,
} from './readable-text.ts';

type Chunks = AsyncIterable<Buffer>;

const RECORD_LENGTH_MAX = 4 * 1_024 * 1_024;
const DEPTH_MAX = 64;
/** Maximum number of paths kept for suggestions. Keys of a file, such as ids, may differ in each advert. */
const NAMES_MAX = 10_000;
/** Limit of stray quotation marks in one line, because each costs time in proportion to the value before it. */
const STRAY_QUOTES_MAX = 200;

/** Throws `SnapshotRefusedError`, also if a required path occurs in no advert, usually a mistake in the mapping. */
export async function* readMapped(
  bytes: Chunks,
  mapping: Mapping,
  numbers: NumberReader = createNumberReader({}, mapping.decimal),
): AsyncGenerator<FeedRow> {
  const missing = new Set(mapping.paths);
  const names = new Set<string>();
  let count = 0;
  let damaged = 0;
  const { encoding = UTF8 } = mapping;
  const readable = encoding === UTF8 ? bytes : withoutUtf8(bytes, encoding);
  for await (const record of READERS[mapping.format](readable, mapping)) {
    if ('kind' in record) {
      yield record;
      continue;
    }
    for (const path of missing) if (record.at(path) !== undefined) missing.delete(path);
    if (missing.size > 0 && names.size < NAMES_MAX) for (const name of record.names) names.add(name);
    count += 1;
    if (record.fault === DAMAGED_REASON) damaged += 1;
    yield mappedRow(record, mapping, numbers);
  }
  if (missing.size > 0 && names.size > 0) throw wrongPaths(missing, names);
  if (damaged > 0) refuseWrongEncoding(damaged, count, encoding);
}

function wrongPaths(missing: Iterable<string>, names: Iterable<string>): SnapshotRefusedError {
  const known = [...names];
  const faults = [...missing].map((path) => {
    const nearest = nearestName(path, known);
    return nearest === null ? path : `${path} (the nearest one is ${nearest})`;
  });
  return new SnapshotRefusedError(
    `No advert has ${faults.slice(0, 5).join(', ')}. Correct the path in the mapping, or add "optional": true to it.`,
  );
}

interface NamedRecord extends FileRecord {
  /** The paths that occur in the record, or the columns of the file, for suggestions. */
  readonly names: Iterable<string>;
}

type Read = (bytes: Chunks, mapping: Mapping) => AsyncGenerator<NamedRecord | Exclude<FeedRow, { kind: 'advert' }>>;

const READERS: Readonly<Record<Mapping['format'], Read>> = {
  csv: readCsv,
  ndjson: readNdjson,
  json: readJson,
  xml: readXml,
};

/** Collects complaints about lines with a quotation mark inside a value, whose rows the parser skips. */
function createStrayQuotes() {
  const rows = new Map<number, ComplaintRow>();
  let [line, count] = [0, 0];
  const reason = 'a quotation mark within a value is not doubled';
  return {
    /** The complaints since the last call. */
    *take() {
      yield* rows.values();
      rows.clear();
    },
    /** Rethrows errors of the header and of other kinds. Throws `SnapshotRefusedError` for too many marks in a line. */
    skip(error: CsvError | undefined): undefined {
      const isStray = error?.code === 'INVALID_OPENING_QUOTE' || error?.code === 'CSV_INVALID_CLOSING_QUOTE';
      if (!isStray || error.records === 0) throw error;
      count = error.lines === line ? count + 1 : 1;
      line = Number(error.lines);
      if (count > STRAY_QUOTES_MAX) {
        const many = `Line ${line} has more than ${STRAY_QUOTES_MAX} quotation marks within values. Double each of them.`;
        throw new SnapshotRefusedError(many);
      }
      rows.set(line, { kind: 'complaint', line, reference: null, reason });
    },
  };
}

async function* readCsv(bytes: Chunks, { delimiter, encoding, paths }: Mapping): ReturnType<Read> {
  const strayQuotes = createStrayQuotes();
  const parser = parseCsv({
    bom: true,
    delimiter: delimiter ?? ',',
    info: true,
    max_record_size: RECORD_LENGTH_MAX,
    on_skip: strayQuotes.skip,
    relax_column_count: true,
    skip_empty_lines: true,
    skip_records_with_error: true,
  });
  let columns: readonly string[] = [];
  let short: ComplaintRow | null = null;
  try {
    for await (const row of pipeline(Readable.from(decoded(bytes, encoding)), parser, () => undefined)) {
      const { record: values, info } = row as { record: readonly string[]; info: { lines: number } };
      if (columns.length === 0) {
        columns = values;
        const missing = paths.filter((path) => !values.includes(path));
        if (missing.length > 0) throw wrongPaths(missing, values);
        continue;
      }
      yield* strayQuotes.take();
      if (short !== null) yield short;
      short = null;
      const reason = `the row has ${values.length} values for ${columns.length} columns`;
      const complaint: ComplaintRow = { kind: 'complaint', line: info.lines, reference: null, reason };
      if (values.length < columns.length) short = complaint;
      // A separator at the end of a line adds an empty value. Any other extra value shows that columns have shifted.
      else if (values.slice(columns.length).some((value) => value !== '')) yield complaint;
      else if (values.every((value, at) => value === (columns[at] ?? '')))
        yield { kind: 'left out', line: info.lines, reference: null, reason: NAMES_COLUMNS };
      else {
        const fault = faultOf(values);
        yield { line: info.lines, at: (path) => values[columns.indexOf(path)], names: columns, fault };
      }
    }
    yield* strayQuotes.take();
    if (short !== null) throw new SnapshotRefusedError(`The file is cut off. Line ${short.line}: ${short.reason}.`);
  } catch (error) {
    throw asRefused(error, 'CSV');
  }
}

async function* readNdjson(bytes: Chunks, { encoding }: Mapping): ReturnType<Read> {
  const decoder = new TextDecoder(encoding ?? 'utf-8');
  // Without `stream`, Node.js 20 decodes Windows-1252 as Latin-1. In UTF-8, a line never splits a character.
  const textIn = (line: Buffer): string =>
    decoder.encoding === 'utf-8' ? utf8Text(line) : decoder.decode(line, { stream: true });
  for await (const { number: line, bytes: written, isEnded } of linesOf(bytes)) {
    let value: unknown;
    try {
      const text = textIn(written).trim();
      if (text === '') continue;
      value = JSON.parse(text);
    } catch (cause) {
      if (!isEnded) throw new SnapshotRefusedError(`The last line, ${line}, is cut off: it is not JSON.`, { cause });
      yield { kind: 'complaint', line, reference: null, reason: `the JSON is invalid: ${(cause as Error).message}` };
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
    if (open > DEPTH_MAX) throw new SnapshotRefusedError(`The file nests deeper than ${DEPTH_MAX} levels.`);
  };
  parser.onValue = ({ value }) => {
    found.push(value);
    sinceAdvert = 0;
  };
  try {
    for await (const text of decoded(bytes, encoding)) {
      sinceAdvert += text.length;
      if (sinceAdvert > RECORD_LENGTH_MAX)
        throw new SnapshotRefusedError(`Advert ${count + 1} has no end, or no list matches "adverts" of the mapping.`);
      parser.write(text);
      for (const value of found.splice(0)) yield treeRecord(++count, value);
    }
    if (!parser.isEnded) parser.end();
  } catch (error) {
    throw asRefused(error, 'JSON');
  }
}

/** Custom entities of a file are not expanded. An advert that uses one is reported. */
async function* readXml(bytes: Chunks, { adverts = '', encoding }: Mapping): ReturnType<Read> {
  const element = adverts.replaceAll(/^\/|\/$/g, '');
  const path: string[] = [];
  const found: NamedRecord[] = [];
  const nodes: Tree[] = [];
  let [length, line, openedAt, isLiteral, isEnding] = [0, 1, -1, false, false];
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        path.push(name);
        openedAt = parser.endIndex;
        if (path.length > DEPTH_MAX) throw new SnapshotRefusedError(`The file nests deeper than ${DEPTH_MAX} levels.`);
        if (nodes.length === 0) length = 0;
        if (nodes.length === 0 && path.join('/') !== element) return;
        const entries = Object.entries(attributes).map(([attribute, value]) => [`@${attribute}`, xmlText(value)]);
        nodes.push(Object.assign(Object.create(null), Object.fromEntries(entries)));
      },
      ontext(text) {
        const node = nodes.at(-1);
        if (node === undefined) return;
        const written = isLiteral ? text.replaceAll('&', '&amp;') : text;
        node['#text'] = `${(node['#text'] as string | undefined) ?? ''}${written}`;
      },
      oncdatastart: () => void (isLiteral = true),
      oncdataend: () => void (isLiteral = false),
      onclosetag(name, isImplied) {
        if (isEnding) throw new Error(`it is cut off within <${name}>`);
        // A missing end tag is an error, except for an element that is closed where it opens.
        if (isImplied && openedAt !== parser.endIndex) throw new Error(`<${name}> has no end before line ${line}`);
        path.pop();
        const node = nodes.pop();
        const above = nodes.at(-1);
        if (above === undefined) length = 0;
        if (node === undefined) return;
        if ('#text' in node) node['#text'] = xmlText(node['#text'] as string);
        if (above === undefined) found.push(treeRecord(line, node));
        else addChild(above, name, withoutWrapping(node));
      },
    },
    { xmlMode: true, decodeEntities: false },
  );
  try {
    for await (const text of wholeTags(decoded(bytes, encoding))) {
      length += text.length;
      if (length > RECORD_LENGTH_MAX) throw new SnapshotRefusedError(`The element at line ${line} has no end.`);
      for (const written of text.split(/(?<=\n)/)) {
        parser.write(written);
        if (written.endsWith('\n')) line += 1;
      }
      yield* found.splice(0);
    }
    isEnding = true;
    parser.end();
  } catch (error) {
    throw asRefused(error, 'XML');
  }
}

/** An element that contains only text becomes that text. */
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
  const at = (path: string): unknown => valueAt(tree, path.split('/'));
  return { line, at, names: namesOf(tree, '', 0), fault: faultOf(tree) };
}

function faultOf(value: unknown): string | null {
  if (typeof value === 'string') return textFault(value);
  if (typeof value !== 'object' || value === null) return null;
  for (const each of Object.values(value)) {
    const fault = faultOf(each);
    if (fault !== null) return fault;
  }
  return null;
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
  const [reason = ''] = error.message.split('\n');
  return new SnapshotRefusedError(`Cannot read the ${format}: ${reason.replace(/\.$/, '')}.`, { cause: error });
}
