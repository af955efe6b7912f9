/**
 * Reads a file or standard input, compressed with gzip or not, as a stream of bytes, CSV rows or JSON values. For a
 * faulty file, throws an `ImportFileError` that names the file and the fault.
 */

import { createReadStream, type ReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { JSONParser, TokenType } from '@streamparser/json';
import { parse } from 'csv-parse';
import { reasonOf } from '../terminal.ts';

/** Limits messages of parsers, which may quote the whole file. */
const MESSAGE_LENGTH_MAX = 500;

/** The file cannot be read or has invalid content. Nothing was imported. */
export class ImportFileError extends Error {
  readonly code = 'IMPORT_FILE';

  constructor(message: string, options?: ErrorOptions) {
    super(message.length > MESSAGE_LENGTH_MAX ? `${message.slice(0, MESSAGE_LENGTH_MAX)}…` : message, options);
  }
}

export interface ImportFile {
  /** `STANDARD_INPUT`, or the path of the file. */
  readonly path: string;
  /** The first decompressed bytes, at most 64 KiB. */
  readonly head: Buffer;
  /** The decompressed bytes from the beginning. Can be iterated once. */
  readonly chunks: AsyncIterable<Buffer>;
}

const CHUNK_BYTES = 256 * 1024;
const HEAD_BYTES = 64 * 1024;
const HEAD_BYTES_MIN = 4 * 1024;

export const STANDARD_INPUT = '-';

/** Called with the share of the file that has been read; null for standard input. */
type OnShare = (share: number | null) => void;

/** Throws `ImportFileError` if the file is missing, empty, unreadable or not a regular file. */
export async function openImportFile(path: string, onShare: OnShare): Promise<ImportFile> {
  try {
    const sizeBytes = path === STANDARD_INPUT ? null : await sizeOf(path);
    const stream = path === STANDARD_INPUT ? process.stdin : createReadStream(path, { highWaterMark: CHUNK_BYTES });
    const shareRead = () => (sizeBytes === null ? null : (stream as ReadStream).bytesRead / sizeBytes);
    const chunks = readChunks(path, stream, () => onShare(shareRead()));
    const first = await readHead(chunks);
    if (first.length === 0) throw new ImportFileError(`${path} is empty. Name a file with points of interest.`);
    return { path, head: Buffer.concat(first).subarray(0, HEAD_BYTES), chunks: concatenate(first, chunks) };
  } catch (error) {
    throw asImportFileError(path, error);
  }
}

async function sizeOf(path: string): Promise<number> {
  const stats = await stat(path);
  if (!stats.isFile()) throw new ImportFileError(`${path} is not a file. Name a file, or - for standard input.`);
  return stats.size;
}

/** Returns an `ImportFileError` unchanged, and wraps any other error in one that names the file. */
export function asImportFileError(path: string, error: unknown): ImportFileError {
  if (error instanceof ImportFileError) return error;
  const reason = error instanceof Error ? reasonOf(error) : String(error);
  return new ImportFileError(`Cannot read ${path}: ${reason}.`, { cause: error });
}

/** Yields the decompressed bytes of `stream`. */
async function* readChunks(path: string, stream: Readable, onRead: () => void): AsyncGenerator<Buffer> {
  try {
    const stored = stream.iterator() as AsyncIterableIterator<Buffer>;
    const first = await stored.next();
    if (first.done === true) return;
    const whole = Readable.from(concatenate([first.value], stored));
    // The last stream emits errors of the disk and of gunzip, which the loop below throws.
    const chunks = isGzip(first.value)
      ? pipeline(whole, createGunzip({ chunkSize: CHUNK_BYTES }), () => undefined)
      : whole;
    for await (const chunk of chunks) {
      onRead();
      yield chunk as Buffer;
    }
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

async function* concatenate(first: readonly Buffer[], rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield* first;
  yield* rest;
}

/** Reads about 64 KiB. A pipe may deliver small pieces, so from 4 KiB on, a piece with the end of a line suffices. */
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
 * Yields the rows of a CSV file (RFC 4180) with a header and commas or semicolons. Throws `ImportFileError` if one of
 * `columns` (in lower case) is missing, and at a row that has more or fewer values than the header.
 */
export async function* readCsvRows(file: ImportFile, columns: readonly string[]): AsyncGenerator<CsvRow> {
  const parser = parse({
    bom: true,
    delimiter: delimiterOf(file),
    columns(names: readonly string[]) {
      const header = names.map((name) => name.trim().toLowerCase());
      const missing = columns.filter((column) => !header.includes(column));
      if (missing.length > 0) throw new ImportFileError(`${file.path} lacks columns: ${missing.join(', ')}. Add them.`);
      return header;
    },
    max_record_size: ROW_LENGTH_MAX,
    skip_empty_lines: true,
  });
  try {
    // A malformed file ends the parser with an error, which the loop throws.
    for await (const row of pipeline(Readable.from(file.chunks), parser, () => undefined)) yield row as CsvRow;
  } catch (error) {
    throw asImportFileError(file.path, error);
  }
}

/** The delimiter that occurs more often in the header. */
function delimiterOf(file: ImportFile): ',' | ';' {
  const header = headerOf(file);
  return header.split(';').length > header.split(',').length ? ';' : ',';
}

/** The first line. */
export function headerOf({ head }: ImportFile): string {
  const text = head.toString('utf8').replace(/^\uFEFF/, '');
  return text.slice(0, text.search(/\r|\n|$/));
}

/** Far above the ten levels of GeoJSON. */
const DEPTH_MAX = 64;
/** Far above the most detailed outline of a country, which has a few megabytes. */
const VALUE_BYTES_MAX = 16 * 1_024 * 1_024;

/** Precedes each text in a sequence (RFC 8142), but not in lines of JSON. */
export const RECORD_SEPARATOR = '\u001E';
/** The path that selects each text of a sequence. */
export const JSON_SEQUENCE = '$';

/**
 * Yields every value at `path` (`$.features.*`, or `JSON_SEQUENCE`) while reading, so that the file may be larger than
 * memory. The parser's work grows with the depth of values, and its memory with their length. Both have limits far
 * above any map. Throws `ImportFileError` if the file is not JSON, ends early or exceeds a limit.
 */
export async function* readJsonValues(file: ImportFile, path: string): AsyncGenerator {
  const isSequence = path === JSON_SEQUENCE;
  const parser = new JSONParser({ paths: [path], keepStack: false, ...(isSequence && { separator: '' }) });
  const depthBetweenValues = path.split('.').length - 1;
  const found: unknown[] = [];
  let depth = 0;
  let valueBytes = 0;
  parser.onToken = ({ token }) => {
    if (token === TokenType.LEFT_BRACE || token === TokenType.LEFT_BRACKET) depth += 1;
    else if (token === TokenType.RIGHT_BRACE || token === TokenType.RIGHT_BRACKET) depth -= 1;
    if (depth > DEPTH_MAX) throw new Error(`it is nested more than ${DEPTH_MAX} levels deep`);
    if (depth <= depthBetweenValues) valueBytes = 0;
  };
  parser.onValue = ({ value }) => void found.push(value);
  try {
    // Also removes a byte order mark.
    const decoder = new TextDecoder();
    for await (const chunk of file.chunks) {
      valueBytes += chunk.length;
      if (valueBytes > VALUE_BYTES_MAX) throw new Error(`an entry has more than ${VALUE_BYTES_MAX} bytes`);
      const text = decoder.decode(chunk, { stream: true });
      // In a JSON string, separators are always escaped (RFC 8259, section 7).
      parser.write(isSequence ? text.replaceAll(RECORD_SEPARATOR, ' ') : text);
      yield* found.splice(0);
    }
    if (!parser.isEnded) parser.end();
    yield* found;
  } catch (error) {
    throw asImportFileError(file.path, error);
  }
}
