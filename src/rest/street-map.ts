/**
 * The operator's map of streets (`VIGIE_MAP_FILE`): a PMTiles file, version 3, inspected once at the start and then
 * served by ranges (RFC 9110, section 14). It may have many gigabytes: nothing of it is cached.
 */

import { hash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { Context } from 'koa';

/** The page's settings for drawing it. */
export interface StreetMapSettings {
  readonly schema: 'openmaptiles' | 'protomaps';
  /** The largest zoom of its tiles. */
  readonly maxZoom: number;
  /** West, south, east, north. */
  readonly bounds: readonly [number, number, number, number];
  /** Attribution, as text. */
  readonly attribution: string;
}

export interface StreetMap {
  readonly settings: StreetMapSettings;
  /** Changes with the file. */
  readonly name: string;
  answer(ctx: Context): void;
  close(): Promise<void>;
}

export class StreetMapError extends Error {
  readonly code = 'MAP_FILE_INVALID';
}

/** Rejects with a `StreetMapError` when the file is missing, cut short, or cannot be drawn by the page. */
export async function openStreetMap(path: string): Promise<StreetMap> {
  let file: FileHandle | null = null;
  try {
    file = await open(path);
    const { size, mtimeMs } = await file.stat();
    const settings = await readSettings(file, size);
    const tag = hash('sha256', `${size} ${mtimeMs}`, 'hex').slice(0, 12);
    return streetMap(file, size, settings, tag);
  } catch (cause) {
    await file?.close();
    throw new StreetMapError(`VIGIE_MAP_FILE: ${path}: ${(cause as Error).message}`, { cause });
  }
}

function streetMap(file: FileHandle, size: number, settings: StreetMapSettings, tag: string): StreetMap {
  return {
    settings,
    name: `streets-${tag}.pmtiles`,
    answer(ctx) {
      const part = rangeOf(ctx, size, `"${tag}"`);
      // Its tiles are compressed already, and a range is one of these bytes.
      ctx.compress = false;
      ctx.set({ 'Accept-Ranges': 'bytes', ETag: `"${tag}"`, 'Content-Type': 'application/vnd.pmtiles' });
      if (part === 'outside') {
        ctx.status = 416;
        ctx.set('Content-Range', `bytes */${size}`);
        return;
      }
      const { start, end } = part ?? { start: 0, end: size - 1 };
      ctx.status = part === null ? 200 : 206;
      if (part !== null) ctx.set('Content-Range', `bytes ${start}-${end}/${size}`);
      ctx.body = Readable.from(bytesBetween(file, start, end), { objectMode: false });
      ctx.length = end - start + 1;
    },
    close: () => file.close(),
  };
}

const CHUNK_BYTES = 65_536;

/** A read stream of Node.js would close the file with the answer. */
async function* bytesBetween(file: FileHandle, start: number, end: number): AsyncGenerator<Buffer> {
  for (let at = start; at <= end; ) {
    const { buffer, bytesRead } = await file.read({
      buffer: Buffer.alloc(Math.min(CHUNK_BYTES, end - at + 1)),
      position: at,
    });
    if (bytesRead === 0) throw new StreetMapError('VIGIE_MAP_FILE has become shorter: start again');
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

interface Part {
  readonly start: number;
  /** Included. */
  readonly end: number;
}

/** Null: the whole file, also for several ranges, or a range of another version. */
function rangeOf(ctx: Context, size: number, etag: string): Part | 'outside' | null {
  // Ranges are defined for GET only (RFC 9110, section 14.2).
  if (ctx.method !== 'GET') return null;
  const { range, 'if-range': known } = ctx.req.headers;
  const [, from = '', to = ''] = /^bytes=(\d*)-(\d*)$/.exec(range ?? '') ?? [];
  if ((from === '' && to === '') || (known !== undefined && known !== etag)) return null;
  const start = from === '' ? Math.max(0, size - Number(to)) : Number(from);
  const end = from === '' || to === '' ? size - 1 : Math.min(Number(to), size - 1);
  if (start >= size || (from === '' && Number(to) === 0)) return 'outside';
  return to !== '' && from !== '' && Number(to) < start ? null : { start, end };
}

const HEADER_BYTES = 127;
const METADATA_BYTES_MAX = 10_000_000;
/** Numbers of the PMTiles specification, version 3. */
const VECTOR_TILES = 1;
const GZIP = 2;
const READABLE_COMPRESSIONS = [1, GZIP];

async function readSettings(file: FileHandle, size: number): Promise<StreetMapSettings> {
  const header = await bytesOf(file, 0, HEADER_BYTES);
  if (header.toString('latin1', 0, 7) !== 'PMTiles' || header[7] !== 3) {
    throw new Error('is no PMTiles file of version 3 (pmtiles convert makes one)');
  }
  const long = (at: number): number => Number(header.readBigUInt64LE(at));
  if (Math.max(long(8) + long(16), long(24) + long(32), long(40) + long(48), long(56) + long(64)) > size) {
    throw new Error(`is cut short at ${size} bytes: copy it again`);
  }
  if (header[99] !== VECTOR_TILES) throw new Error('holds pictures: name a file of vector tiles');
  if (![header[97], header[98]].every((coding) => READABLE_COMPRESSIONS.includes(coding as number))) {
    throw new Error('is compressed in a way that browsers do not read: name one that is compressed with gzip');
  }
  if (long(32) > METADATA_BYTES_MAX) throw new Error('has metadata of more than 10 MB');
  const packed = await bytesOf(file, long(24), long(32));
  const metadata = JSON.parse(String(header[97] === GZIP ? await promisify(gunzip)(packed) : packed)) as Metadata;
  const degrees = (at: number): number => header.readInt32LE(at) / 1e7;
  return {
    schema: schemaOf(metadata),
    maxZoom: header[101] as number,
    bounds: [degrees(102), degrees(106), degrees(110), degrees(114)],
    attribution: plainText(metadata.attribution) || '© OpenStreetMap',
  };
}

async function bytesOf(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
  if (bytesRead < length) throw new Error('is no PMTiles file of version 3 (it is too short)');
  return buffer;
}

interface Metadata {
  readonly attribution?: unknown;
  readonly vector_layers?: readonly { readonly id: string }[];
  /** Layers in the schema of tilemaker. */
  readonly json?: string;
}

function schemaOf(metadata: Metadata): StreetMapSettings['schema'] {
  const layers = metadata.vector_layers ?? (JSON.parse(metadata.json ?? '{}') as Metadata).vector_layers ?? [];
  const names = layers.map(({ id }) => id);
  if (names.includes('transportation')) return 'openmaptiles';
  if (names.includes('roads')) return 'protomaps';
  throw new Error('has neither the layers of OpenMapTiles (transportation) nor those of Protomaps (roads)');
}

/** Attributions are HTML mostly. */
function plainText(html: unknown): string {
  return typeof html === 'string'
    ? html
        .replace(/<[^<>]*>/g, '')
        .replaceAll('&copy;', '©')
        .trim()
    : '';
}
