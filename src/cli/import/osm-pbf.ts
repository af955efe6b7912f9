/**
 * OpenStreetMap PBF (`.osm.pbf`; format: wiki.openstreetmap.org/wiki/PBF_Format): a run of blobs, each a header and a
 * deflated block. Blobs are read one at a time and their sizes checked against the format's bounds, so a damaged file
 * is an error and never an allocation. The blocks themselves are decoded below.
 */

import { promisify } from 'node:util';
import { inflate } from 'node:zlib';
import { PbfReader } from 'pbf';
import { asImportFileError, type ImportFile, ImportFileError } from './import-file.ts';
import type { OsmMember, OsmVisitor, Tags } from './osm-points.ts';

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

interface Block {
  readonly strings: Uint8Array[];
  /** Those that were asked for: many objects may name one long string. */
  readonly decoded: Map<number, string>;
  /** Nanodegrees. */
  granularity: number;
  latOffset: number;
  lonOffset: number;
  /** Number of the string `amenity`, or -1. */
  amenity: number;
}

const AMENITY = Buffer.from('amenity');
const MEMBER_TYPES = ['node', 'way', 'relation'] as const;

/** A thirtieth of what fits in a block; writers put 8,000 objects in one. */
const STRINGS_MAX = 500_000;
/** OpenStreetMap itself allows 2,000 nodes in a way and 32,000 members in a relation. */
const REFERENCES_MAX = 100_000;

/**
 * Reads one block (osmformat.proto, messages PrimitiveBlock to Relation; field numbers stand beside the names). Tags
 * are read only in blocks whose string table holds the key `amenity`. Throws on content that no block of a map has: its
 * size is bounded, but not the memory that it would expand to.
 */
function readPrimitiveBlock(bytes: Uint8Array, visitor: OsmVisitor): void {
  const block: Block = {
    strings: [],
    decoded: new Map(),
    granularity: 100,
    latOffset: 0,
    lonOffset: 0,
    amenity: -1,
  };
  // Granularity and offsets come after the groups they apply to.
  new PbfReader(bytes).readFields((tag, read, reader) => {
    if (tag === 1) readStringTable(reader.readBytes(), read.strings);
    else if (tag === 17) read.granularity = reader.readVarint();
    else if (tag === 19) read.latOffset = reader.readVarint(true);
    else if (tag === 20) read.lonOffset = reader.readVarint(true);
  }, block);
  block.amenity = block.strings.findIndex((string) => AMENITY.equals(string));
  new PbfReader(bytes).readFields((tag, read, reader) => {
    if (tag === 2) readGroup(reader.readBytes(), read, visitor);
  }, block);
}

function readStringTable(bytes: Uint8Array, strings: Uint8Array[]): void {
  new PbfReader(bytes).readFields((tag, list: Uint8Array[], reader) => {
    if (tag === 1) list.push(reader.readBytes());
    if (list.length > STRINGS_MAX) throw new Error(`a block of more than ${STRINGS_MAX} strings`);
  }, strings);
}

/** Parts without a visitor member are skipped undecoded. */
function readGroup(bytes: Uint8Array, block: Block, visitor: OsmVisitor): void {
  const isTagged = block.amenity !== -1;
  const wantsNodes = visitor.anyNode !== undefined || (isTagged && visitor.node !== undefined);
  const wantsWays = visitor.anyWay !== undefined || (isTagged && visitor.way !== undefined);
  const wantsRelations = isTagged && visitor.relation !== undefined;
  new PbfReader(bytes).readFields((tag, _result, reader) => {
    if (tag === 1 && wantsNodes) readNode(reader.readBytes(), block, visitor);
    else if (tag === 2 && wantsNodes) readDenseNodes(reader.readBytes(), block, visitor);
    else if (tag === 3 && wantsWays) readWay(reader.readBytes(), block, visitor);
    else if (tag === 4 && wantsRelations) readRelation(reader.readBytes(), block, visitor);
  }, null);
}

function degrees(units: number, offset: number, block: Block): number {
  return (offset + block.granularity * units) / 1e9;
}

/** The tags of an object whose keys and values are numbers of strings; null without an `amenity`. */
function tagsOf(keys: readonly number[], values: readonly number[], block: Block): Tags | null {
  if (block.amenity === -1 || !keys.includes(block.amenity)) return null;
  const tags: Record<string, string> = Object.create(null);
  keys.forEach((key, i) => {
    tags[stringOf(key, block)] = stringOf(values[i], block);
  });
  return tags;
}

function stringOf(number: number | undefined, block: Block): string {
  const bytes = number === undefined ? undefined : block.strings[number];
  if (number === undefined || bytes === undefined) throw new Error('a tag names a string that is not in its block');
  const known = block.decoded.get(number);
  if (known !== undefined) return known;
  const string = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  block.decoded.set(number, string);
  return string;
}

interface RawObject {
  id: number;
  readonly keys: number[];
  readonly values: number[];
}

function readNode(bytes: Uint8Array, block: Block, visitor: OsmVisitor): void {
  const empty: RawObject & { lat: number; lon: number } = { id: 0, keys: [], values: [], lat: 0, lon: 0 };
  const node = new PbfReader(bytes).readFields((tag, read, reader) => {
    if (tag === 1) read.id = reader.readSVarint();
    else if (tag === 2) reader.readPackedVarint(read.keys);
    else if (tag === 3) reader.readPackedVarint(read.values);
    else if (tag === 8) read.lat = reader.readSVarint();
    else if (tag === 9) read.lon = reader.readSVarint();
  }, empty);
  const lat = degrees(node.lat, block.latOffset, block);
  const lon = degrees(node.lon, block.lonOffset, block);
  visitor.anyNode?.(node.id, lat, lon);
  const tags = tagsOf(node.keys, node.values, block);
  if (tags !== null) visitor.node?.({ lat, lon }, tags);
}

/** Columns of differences; `keysValues` holds the pairs of all nodes, each node's ended by a 0. */
function readDenseNodes(bytes: Uint8Array, block: Block, visitor: OsmVisitor): void {
  const columns = { ids: [] as number[], lats: [] as number[], lons: [] as number[], keysValues: [] as number[] };
  new PbfReader(bytes).readFields((tag, read, reader) => {
    if (tag === 1) reader.readPackedSVarint(read.ids);
    else if (tag === 8) reader.readPackedSVarint(read.lats);
    else if (tag === 9) reader.readPackedSVarint(read.lons);
    else if (tag === 10) reader.readPackedVarint(read.keysValues);
  }, columns);
  const { ids, lats, lons, keysValues } = columns;
  if (ids.length !== lats.length || ids.length !== lons.length) throw new Error('dense nodes of unequal columns');
  let id = 0;
  let latUnits = 0;
  let lonUnits = 0;
  let at = 0;
  for (let i = 0; i < ids.length; i++) {
    id += ids[i] as number;
    latUnits += lats[i] as number;
    lonUnits += lons[i] as number;
    const lat = degrees(latUnits, block.latOffset, block);
    const lon = degrees(lonUnits, block.lonOffset, block);
    visitor.anyNode?.(id, lat, lon);
    const start = at;
    while (at < keysValues.length && keysValues[at] !== 0) at += 2;
    const tags = at === start || visitor.node === undefined ? null : denseTags(keysValues, start, at, block);
    if (tags !== null) visitor.node?.({ lat, lon }, tags);
    at++;
  }
}

function denseTags(keysValues: readonly number[], start: number, end: number, block: Block): Tags | null {
  const keys: number[] = [];
  const values: number[] = [];
  for (let i = start; i < end; i += 2) {
    keys.push(keysValues[i] as number);
    values.push(keysValues[i + 1] as number);
  }
  return tagsOf(keys, values, block);
}

const NOTHING = new Uint8Array();

function readWay(bytes: Uint8Array, block: Block, visitor: OsmVisitor): void {
  const empty: RawObject & { refs: Uint8Array } = { id: 0, keys: [], values: [], refs: NOTHING };
  const way = new PbfReader(bytes).readFields((tag, read, reader) => {
    if (tag === 1) read.id = reader.readVarint();
    else if (tag === 2) reader.readPackedVarint(read.keys);
    else if (tag === 3) reader.readPackedVarint(read.values);
    else if (tag === 8) read.refs = reader.readBytes();
  }, empty);
  visitor.anyWay?.(way.id, () => idsOf(way.refs));
  if (visitor.way === undefined) return;
  const tags = tagsOf(way.keys, way.values, block);
  if (tags !== null) visitor.way(idsOf(way.refs), tags);
}

/** Packed differences. Throws on more than any way or relation has. */
function idsOf(packed: Uint8Array): readonly number[] {
  const reader = new PbfReader(packed);
  const ids: number[] = [];
  let id = 0;
  while (reader.pos < reader.length) {
    id += reader.readSVarint();
    ids.push(id);
    if (ids.length > REFERENCES_MAX) throw new Error(`a way or relation of more than ${REFERENCES_MAX} members`);
  }
  return ids;
}

function readRelation(bytes: Uint8Array, block: Block, visitor: OsmVisitor): void {
  const empty: RawObject & { ids: Uint8Array; types: number[] } = {
    id: 0,
    keys: [],
    values: [],
    ids: NOTHING,
    types: [],
  };
  const relation = new PbfReader(bytes).readFields((tag, read, reader) => {
    if (tag === 2) reader.readPackedVarint(read.keys);
    else if (tag === 3) reader.readPackedVarint(read.values);
    else if (tag === 9) read.ids = reader.readBytes();
    else if (tag === 10) reader.readPackedVarint(read.types);
  }, empty);
  const tags = tagsOf(relation.keys, relation.values, block);
  if (tags === null) return;
  const members = idsOf(relation.ids).map((id, i): OsmMember => {
    return { id, type: MEMBER_TYPES[relation.types[i] ?? 2] ?? 'relation' };
  });
  visitor.relation?.(members, tags);
}
