/**
 * A file to import, or standard input, gzipped or not, as a stream of bytes, as rows of CSV, or as values of JSON. What is
 * wrong with a file becomes an `ImportFileError` whose message an operator can act on.
 */

import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { JSONParser, TokenType } from '@streamparser/json';
import { parse } from 'csv-parse';
import { reasonOf } from '../terminal.ts';

/** Parsers quote what they did not understand, possibly the whole file. */
const MESSAGE_LENGTH_MAX = 500;

/** The file cannot be read or has the wrong content. Nothing has been imported. */
export class ImportFileError extends Error {
  readonly code = 'IMPORT_FILE';

  constructor(message: string, options?: ErrorOptions) {
    super(message.length > MESSAGE_LENGTH_MAX ? `${message.slice(0, MESSAGE_LENGTH_MAX)}…` : message, options);
  }
}

export interface ImportFile {
  /** `STANDARD_INPUT`, or the file's. */
  readonly path: string;
  /** The first bytes, decompressed: at most 64 KiB. */
  readonly head: Buffer;
  /** The decompressed bytes from the beginning, once. */
  readonly chunks: AsyncIterable<Buffer>;
}

const CHUNK_BYTES = 256 * 1024;
const HEAD_BYTES = 64 * 1024;
const HEAD_BYTES_MIN = 4 * 1024;

export const STANDARD_INPUT = '-';

/** Called with the share of the file that is read; null of standard input. */
export type OnShare = (share: number | null) => void;

/** Throws `ImportFileError` when the file is missing, empty, unreadable or no file. */
export async function openImportFile(path: string, onShare: OnShare): Promise<ImportFile> {
  try {
    const sizeBytes = path === STANDARD_INPUT ? null : await sizeOf(path);
    const stream = path === STANDARD_INPUT ? process.stdin : createReadStream(path, { highWaterMark: CHUNK_BYTES });
    const chunks = readChunks(path, stream, countShare(stream, sizeBytes, onShare));
    const first = await readHead(chunks);
    if (first.length === 0) throw new ImportFileError(`${path} is empty`);
    return { path, head: Buffer.concat(first).subarray(0, HEAD_BYTES), chunks: joined(first, chunks) };
  } catch (error) {
    throw asImportFileError(path, error);
  }
}

async function sizeOf(path: string): Promise<number> {
  const stats = await stat(path);
  if (!stats.isFile()) throw new ImportFileError(`${path} is not a file`);
  return stats.size;
}

/** `error` itself when it is one, else an `ImportFileError` that names the file and keeps the cause. */
export function asImportFileError(path: string, error: unknown): ImportFileError {
  if (error instanceof ImportFileError) return error;
  return new ImportFileError(`${path}: ${error instanceof Error ? reasonOf(error) : String(error)}`, { cause: error });
}

/** Decompressed. `stored`: what `stream` yields. */
async function* readChunks(path: string, stream: Readable, stored: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  try {
    const first = await stored.next();
    if (first.done === true) return;
    const whole = Readable.from(joined([first.value], stored));
    // A broken disk or archive ends the last stream with its error, which the loop below throws.
    const chunks = isGzip(first.value)
      ? pipeline(whole, createGunzip({ chunkSize: CHUNK_BYTES }), () => undefined)
      : whole;
    for await (const chunk of chunks) yield chunk as Buffer;
  } catch (error) {
    throw asImportFileError(path, error);
  } finally {
    stream.destroy();
  }
}

/** RFC 1952, section 2.3.1. */
function isGzip(bytes: Buffer): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b;
}

async function* joined(first: readonly Buffer[], rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield* first;
  yield* rest;
}

async function* countShare(stream: Readable, sizeBytes: number | null, onShare: OnShare): AsyncGenerator<Buffer> {
  let readBytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    readBytes += chunk.length;
    onShare(sizeBytes === null ? null : readBytes / sizeBytes);
    yield chunk;
  }
}

/** Until a line has ended, or there is enough of it: what comes through a pipe may come in small pieces. */
async function readHead(chunks: AsyncGenerator<Buffer>): Promise<readonly Buffer[]> {
  const parts: Buffer[] = [];
  for (let length = 0; length < HEAD_BYTES; ) {
    const next = await chunks.next();
    if (next.done === true) break;
    parts.push(next.value);
    length += next.value.length;
    if (length >= HEAD_BYTES_MIN && next.value.includes('\n')) break;
  }
  return parts;
}

/** Values by column name in lower case. */
export type CsvRow = Readonly<Record<string, string | undefined>>;

const ROW_LENGTH_MAX = 1_000_000;

/**
 * Rows of a CSV file with a header (RFC 4180), commas or semicolons, one at a time. Throws `ImportFileError` when the file
 * lacks one of `columns` (lower case), or at a row that has more or fewer values than the header.
 */
export async function* readCsvRows(file: ImportFile, columns: readonly string[]): AsyncGenerator<CsvRow> {
  const header = csvColumns(file);
  const missing = columns.filter((column) => !header.includes(column));
  if (missing.length > 0) throw new ImportFileError(`${file.path}: no column ${missing.join(', ')}`);
  const parser = parse({
    bom: true,
    delimiter: delimiterOf(file),
    columns: (names: readonly string[]) => names.map((name) => name.trim().toLowerCase()),
    max_record_size: ROW_LENGTH_MAX,
    skip_empty_lines: true,
  });
  try {
    // A broken file ends the parser with its error, which the loop throws.
    for await (const row of pipeline(Readable.from(file.chunks), parser, () => undefined)) yield row as CsvRow;
  } catch (error) {
    throw asImportFileError(file.path, error);
  }
}

/** The names of the header in lower case. */
export function csvColumns(file: ImportFile): readonly string[] {
  return headerOf(file)
    .split(delimiterOf(file))
    .map((name) =>
      name
        .trim()
        .replace(/^"(.*)"$/, '$1')
        .toLowerCase(),
    );
}

/** Whichever occurs more often in the header. */
function delimiterOf(file: ImportFile): ',' | ';' {
  const header = headerOf(file);
  return header.split(';').length > header.split(',').length ? ';' : ',';
}

function headerOf({ head }: ImportFile): string {
  const text = head.toString('utf8').replace(/^\uFEFF/, '');
  return text.slice(0, text.search(/\r|\n|$/));
}

/** GeoJSON nests nine deep. */
const DEPTH_MAX = 64;
/** The outline of a country with every bend of its coast has a few. */
const VALUE_BYTES_MAX = 16 * 1_024 * 1_024;

/** RFC 8142 has one before each text; lines of JSON have none. */
export const RECORD_SEPARATOR = '\u001E';
/** As a path: each text of the sequence. */
export const JSON_SEQUENCE = '$';

/**
 * Calls `onValue` for every value at `path` (`$.features.*`, or `JSON_SEQUENCE`) while it reads, so that the file may be
 * larger than memory. What no map has is refused meanwhile: the parser's work grows with the depth, its memory with the
 * length of a value. Throws `ImportFileError` when the file is no JSON, nests too deep, has a value that is too long, or
 * ends early.
 */
export async function* readJsonValues(
  file: ImportFile,
  path: string,
  onValue: (value: unknown) => void,
): AsyncGenerator<void> {
  const isSequence = path === JSON_SEQUENCE;
  const parser = new JSONParser({ paths: [path], keepStack: false, ...(isSequence && { separator: '' }) });
  const depthBetweenValues = path.split('.').length - 1;
  let depth = 0;
  let valueBytes = 0;
  parser.onToken = ({ token }) => {
    if (token === TokenType.LEFT_BRACE || token === TokenType.LEFT_BRACKET) depth += 1;
    else if (token === TokenType.RIGHT_BRACE || token === TokenType.RIGHT_BRACKET) depth -= 1;
    if (depth > DEPTH_MAX) throw new Error(`nested more than ${DEPTH_MAX} deep`);
    if (depth <= depthBetweenValues) valueBytes = 0;
  };
  parser.onValue = ({ value }) => onValue(value);
  try {
    let isFirst = true;
    for await (const chunk of file.chunks) {
      valueBytes += chunk.length;
      if (valueBytes > VALUE_BYTES_MAX) throw new Error(`an entry of more than ${VALUE_BYTES_MAX} bytes`);
      const bytes = isFirst ? withoutByteOrderMark(chunk) : chunk;
      parser.write(isSequence ? withoutSeparators(bytes) : bytes);
      isFirst = false;
      yield;
    }
    if (!parser.isEnded) parser.end();
  } catch (error) {
    throw asImportFileError(file.path, error);
  }
}

/** Inside a text the separator is always escaped (RFC 8259, section 7). */
function withoutSeparators(chunk: Buffer): Buffer {
  return chunk.map((byte) => (byte === 0x1e ? 0x20 : byte)) as Buffer;
}

function withoutByteOrderMark(chunk: Buffer): Buffer {
  return chunk[0] === 0xef && chunk[1] === 0xbb && chunk[2] === 0xbf ? chunk.subarray(3) : chunk;
}
