/**
 * A file to import, gzipped or not, as a stream of bytes that can be opened several times. What is wrong with a file
 * becomes an `ImportFileError` whose message an operator can act on.
 */

import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { reasonOf } from '../terminal.ts';

/** Parsers repeat what they did not understand, which may be the whole file. */
const MESSAGE_LENGTH_MAX = 500;

/** The file cannot be read or is not what it should be. Nothing has been imported. */
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
