/**
 * OpenStreetMap PBF (`.osm.pbf`; format: wiki.openstreetmap.org/wiki/PBF_Format): a run of blobs, each a header and a
 * deflated block. Blobs are read one at a time and their sizes checked against the format's bounds, so a damaged file
 * is an error and never an allocation. The blocks themselves are decoded in osm-pbf-block.ts.
 */

import { promisify } from 'node:util';
import { inflate } from 'node:zlib';
import { PbfReader } from 'pbf';
import { asImportFileError, type ImportFile, ImportFileError } from './import-file.ts';
import type { OsmVisitor } from './osm-elements.ts';
import { readPrimitiveBlock } from './osm-pbf-block.ts';

const inflateBytes = promisify(inflate);

/** Bounds of the format; a well-formed file stays below half of them. */
const HEADER_BYTES_MAX = 64 * 1024;
const BLOB_BYTES_MAX = 32 * 1024 * 1024;
const FEATURES_KNOWN: ReadonlySet<string> = new Set(['OsmSchema-V0.6', 'DenseNodes']);

export async function* readOsmPbf(
  file: ImportFile,
  visitor: OsmVisitor,
  onBytes: (count: number) => void,
): AsyncGenerator<void> {
  try {
    let hasHeader = false;
    for await (const { type, blob } of readBlobs(file.open(onBytes))) {
      if (type === 'OSMHeader') {
        checkFeatures(await unpack(blob));
        hasHeader = true;
      } else if (!hasHeader) {
        throw new ImportFileError(`${file.path}: data before the OSMHeader block`);
      } else if (type === 'OSMData') {
        readPrimitiveBlock(await unpack(blob), visitor);
        yield;
      }
    }
  } catch (error) {
    throw asImportFileError(file.path, error);
  }
}

interface TypedBlob {
  readonly type: string;
  readonly blob: Uint8Array;
}

async function* readBlobs(chunks: AsyncIterable<Buffer>): AsyncGenerator<TypedBlob> {
  const bytes = createByteReader(chunks);
  for (;;) {
    const length = await bytes.take(4);
    if (length === null) return;
    const headerBytes = await takeAll(bytes, bounded(length.readUInt32BE(), HEADER_BYTES_MAX, 'blob header'));
    const header = new PbfReader(headerBytes).readFields(
      (tag, read, reader) => {
        if (tag === 1) read.type = reader.readString();
        else if (tag === 3) read.blobBytes = reader.readVarint();
      },
      { type: '', blobBytes: -1 },
    );
    const blob = await takeAll(bytes, bounded(header.blobBytes, BLOB_BYTES_MAX, 'blob'));
    yield { type: header.type, blob };
  }
}

function bounded(size: number, max: number, what: string): number {
  if (size >= 0 && size <= max) return size;
  throw new Error(`not an OpenStreetMap PBF file, or damaged: a ${what} of ${size} bytes`);
}

interface ByteReader {
  /** The next `size` bytes; null at the end. Throws when the file ends among them. */
  take(size: number): Promise<Buffer | null>;
}

async function takeAll(bytes: ByteReader, size: number): Promise<Buffer> {
  const taken = await bytes.take(size);
  if (taken === null) throw new Error('the file ends in the middle of a block');
  return taken;
}

function createByteReader(chunks: AsyncIterable<Buffer>): ByteReader {
  const iterator = chunks[Symbol.asyncIterator]();
  let held: Buffer = Buffer.alloc(0);
  return {
    async take(size) {
      const parts = [held];
      let length = held.length;
      while (length < size) {
        const next = await iterator.next();
        if (next.done === true) break;
        parts.push(next.value);
        length += next.value.length;
      }
      if (length === 0 && size > 0) return null;
      if (length < size) throw new Error('the file ends in the middle of a block');
      const joined = parts.length === 1 ? held : Buffer.concat(parts, length);
      held = joined.subarray(size);
      return joined.subarray(0, size);
    },
  };
}

const COMPRESSIONS: Readonly<Record<number, string>> = { 4: 'LZMA', 5: 'bzip2', 6: 'LZ4', 7: 'Zstandard' };

/** The content of a blob, stored or deflated. Throws on the compressions that hardly any file has. */
async function unpack(blob: Uint8Array): Promise<Uint8Array> {
  const found = new PbfReader(blob).readFields<{ stored?: Uint8Array; deflated?: Uint8Array; other?: string }>(
    (tag, read, reader) => {
      if (tag === 1) read.stored = reader.readBytes();
      else if (tag === 3) read.deflated = reader.readBytes();
      else if (COMPRESSIONS[tag] !== undefined) read.other = COMPRESSIONS[tag];
    },
    {},
  );
  if (found.stored !== undefined) return found.stored;
  if (found.deflated !== undefined) return inflateBytes(found.deflated, { maxOutputLength: BLOB_BYTES_MAX });
  throw new Error(`compressed with ${found.other ?? 'nothing known'}; write it again with zlib compression`);
}

function checkFeatures(header: Uint8Array): void {
  const required: string[] = [];
  new PbfReader(header).readFields((tag, list: string[], reader) => {
    if (tag === 4) list.push(reader.readString());
  }, required);
  const unknown = required.filter((feature) => !FEATURES_KNOWN.has(feature));
  if (unknown.length > 0) throw new Error(`needs features that are not supported: ${unknown.join(', ')}`);
}
