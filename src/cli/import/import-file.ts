/**
 * A file to import, gzipped or not, as a stream of bytes that can be opened several times, as rows of CSV, or as values of
 * JSON. What is wrong with a file becomes an `ImportFileError` whose message an operator can act on.
 */

import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
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
  readonly path: string;
  readonly sizeBytes: number;
  /** The first bytes, decompressed: at most 64 KiB. */
  readonly head: Buffer;
  /** The decompressed bytes from the beginning. `onBytes` is called with the bytes read from the disk, before decompression. */
  open(onBytes?: (count: number) => void): AsyncIterable<Buffer>;
}

const CHUNK_BYTES = 256 * 1024;
const HEAD_BYTES = 64 * 1024;

/** Throws `ImportFileError` when the file is missing, empty, unreadable or no file. */
export async function openImportFile(path: string): Promise<ImportFile> {
  try {
    const stats = await stat(path);
    if (!stats.isFile()) throw new ImportFileError(`${path} is not a file`);
    if (stats.size === 0) throw new ImportFileError(`${path} is empty`);
    const isGzip = await startsLikeGzip(path);
    const read = (onBytes: (count: number) => void = () => undefined) => readChunks(path, isGzip, onBytes);
    return { path, sizeBytes: stats.size, head: await readHead(read()), open: read };
  } catch (error) {
    throw asImportFileError(path, error);
  }
}

/** `error` itself when it is one, else an `ImportFileError` that names the file and keeps the cause. */
export function asImportFileError(path: string, error: unknown): ImportFileError {
  if (error instanceof ImportFileError) return error;
  return new ImportFileError(`${path}: ${error instanceof Error ? reasonOf(error) : String(error)}`, { cause: error });
}

/** RFC 1952, section 2.3.1. */
async function startsLikeGzip(path: string): Promise<boolean> {
  const handle = await open(path);
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(2), 0, 2, 0);
    return bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b;
  } finally {
    await handle.close();
  }
}

async function* readChunks(path: string, isGzip: boolean, onBytes: (count: number) => void): AsyncGenerator<Buffer> {
  const counted = Readable.from(countChunks(createReadStream(path, { highWaterMark: CHUNK_BYTES }), onBytes));
  // A broken disk or archive ends the last stream with its error, which the loop below throws.
  const chunks = isGzip ? pipeline(counted, createGunzip({ chunkSize: CHUNK_BYTES }), () => undefined) : counted;
  try {
    for await (const chunk of chunks) yield chunk as Buffer;
  } catch (error) {
    throw asImportFileError(path, error);
  }
}

async function* countChunks(chunks: AsyncIterable<Buffer>, onBytes: (count: number) => void): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    onBytes(chunk.length);
    yield chunk;
  }
}

async function readHead(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    parts.push(chunk);
    length += chunk.length;
    if (length >= HEAD_BYTES) break;
  }
  return Buffer.concat(parts).subarray(0, HEAD_BYTES);
}

/** Values by column name in lower case. */
export type CsvRow = Readonly<Record<string, string | undefined>>;

const ROW_LENGTH_MAX = 1_000_000;

/**
 * Rows of a CSV file with a header (RFC 4180), commas or semicolons, one at a time. Throws `ImportFileError` when the file lacks one of `columns` (lower case), or at a row that has more or fewer
 * values than the header.
 */
export async function* readCsvRows(
  file: ImportFile,
  columns: readonly string[],
  onBytes: (count: number) => void,
): AsyncGenerator<CsvRow> {
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
    for await (const row of pipeline(Readable.from(file.open(onBytes)), parser, () => undefined)) yield row as CsvRow;
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

/**
 * Calls `onValue` for every value at `path` (`$.features.*`) while it reads, so that the file may be larger than memory. What
 * no map has is refused meanwhile: the parser's work grows with the depth, its memory with the length of a value. Throws `ImportFileError` when the file is no
 * JSON, nests too deep, has a value that is too long, or ends early.
 */
export async function* readJsonValues(
  file: ImportFile,
  path: string,
  onValue: (value: unknown) => void,
  onBytes: (count: number) => void,
): AsyncGenerator<void> {
  const parser = new JSONParser({ paths: [path], keepStack: false });
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
    for await (const chunk of file.open(onBytes)) {
      valueBytes += chunk.length;
      if (valueBytes > VALUE_BYTES_MAX) throw new Error(`an entry of more than ${VALUE_BYTES_MAX} bytes`);
      parser.write(isFirst ? withoutByteOrderMark(chunk) : chunk);
      isFirst = false;
      yield;
    }
    if (!parser.isEnded) parser.end();
  } catch (error) {
    throw asImportFileError(file.path, error);
  }
}

function withoutByteOrderMark(chunk: Buffer): Buffer {
  return chunk[0] === 0xef && chunk[1] === 0xbb && chunk[2] === 0xbf ? chunk.subarray(3) : chunk;
}
