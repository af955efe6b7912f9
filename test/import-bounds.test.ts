/** Files made to cost an importer memory and time are refused after little work, whatever they would go on with. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deflateSync } from 'node:zlib';
import { PbfWriter } from 'pbf';
import { readCoordinateRows } from '../src/cli/import/coordinate-rows.ts';
import { type ImportFile, ImportFileError } from '../src/cli/import/import-file.ts';
import { ImportTally } from '../src/cli/import/import-tally.ts';
import { type PointFormat, readPointFile } from '../src/cli/import/point-formats.ts';

const CHUNK_BYTES = 256 * 1_024;
const MEBIBYTE = 1_024 * 1_024;

/** A file that begins with `begin` and goes on with `again` for ever; `readBytes` tells how much of it was asked for. */
function endlessFile(begin: string, again: string): ImportFile & { readBytes(): number } {
  const more = Buffer.from(again.repeat(Math.ceil(CHUNK_BYTES / again.length)));
  let readBytes = 0;
  return {
    path: 'endless',
    sizeBytes: 1,
    head: Buffer.from(begin),
    readBytes: () => readBytes,
    async *open() {
      yield Buffer.from(begin);
      // More than any bound: a reader that goes on fails the test and not the machine.
      for (; readBytes < 64 * MEBIBYTE; readBytes += more.length) yield more;
    },
  };
}

async function readPoints(file: ImportFile, format: PointFormat): Promise<number> {
  let points = 0;
  const progress = { onPass: () => undefined, onBytes: () => undefined };
  for await (const batch of readPointFile(file, format, new ImportTally(), progress)) points += batch.length;
  return points;
}

const readCoordinates = (file: ImportFile) =>
  readCoordinateRows(
    file,
    () => undefined,
    () => undefined,
  );

const BRACKETS = [
  ['geojson', '{"type": "FeatureCollection", "features": ', '['],
  ['geojson', '{"features": [{"geometry": {"coordinates": ', '['],
  ['geojson', '{"features": [', '{"properties":'],
  ['geojson', '{"x": ', '['],
  ['overpass-json', '{"elements": ', '[{"tags":'],
  ['overpass-json', '{"osm3s": ', '[{"a":1},'],
  ['osm-xml', '<osm>', '<node>'],
  ['osm-xml', '<osm><way id="1">', '<tag k="a" v="b"><a/>'],
] as const;
for (const [format, begin, again] of BRACKETS) {
  test(`what nests for ever is no map: ${format}, ${begin}${again}${again}…`, async () => {
    const file = endlessFile(begin, again);
    const message = 'endless: nested more than 64 deep';
    await assert.rejects(readPoints(file, format), { code: 'IMPORT_FILE', message });
    assert.equal(file.readBytes(), 0, 'the first chunk is enough');
  });
}

for (const [begin, again] of [
  ['[', '['],
  ['{"features": ', '[{"a":'],
] as const) {
  test(`what nests for ever is no list of communes: ${begin}${again}${again}…`, async () => {
    const file = endlessFile(begin, again);
    await assert.rejects(readCoordinates(file), { code: 'IMPORT_FILE', message: 'endless: nested more than 64 deep' });
    assert.equal(file.readBytes(), 0);
  });
}

const ENDLESS_ENTRIES = [
  ['geojson', '{"features": [{"geometry": {"coordinates": [', '[5,43],'],
  ['geojson', '{"features": ["', 'a'],
  ['geojson', '{"features": [{"properties": {"', 'a'],
  ['geojson', '{"features": [1', '1'],
  ['geojson', '{"features": [', ' '],
  ['overpass-json', '{"elements": [{"nodes": [1', ',1'],
  ['osm-xml', '<osm><way id="1">', '<nd ref="1"/>'],
  ['osm-xml', '<osm>', 'a'],
  ['osm-xml', '<osm><node ', 'a'],
  ['osm-xml', '<osm><node a="', 'b'],
  ['osm-xml', '<!DOCTYPE osm [', ' '],
  ['osm-xml', '<osm><!--', ' '],
] as const;
for (const [format, begin, again] of ENDLESS_ENTRIES) {
  test(`one entry may be long, not endless: ${format}, ${begin}${again}${again}…`, async () => {
    const file = endlessFile(begin, again);
    const message = 'endless: an entry of more than 16777216 bytes';
    await assert.rejects(readPoints(file, format), { code: 'IMPORT_FILE', message });
    assert.ok(file.readBytes() <= 17 * MEBIBYTE, `${file.readBytes()} bytes`);
  });
}

test('many entries may be as long together as they like', async () => {
  const file = endlessFile('<osm>', '<node id="1" lat="43" lon="5"><tag k="amenity" v="school"/></node>');
  await assert.rejects(readPoints(file, 'osm-xml'), /unclosed tag/);
  assert.ok(file.readBytes() >= 64 * MEBIBYTE);
});

test('a line without an end is no row, and its words stay short', async () => {
  const columns = 'nom_etablissement,type_etablissement,latitude,longitude\n';
  const rows = endlessFile(columns, 'a');
  await assert.rejects(readPoints(rows, 'annuaire-education'), ImportFileError);
  assert.ok(rows.readBytes() <= 2 * MEBIBYTE);
  const quoted = endlessFile(`${columns}"`, 'a\n');
  await assert.rejects(readPoints(quoted, 'annuaire-education'), (error) => {
    assert.ok(error instanceof ImportFileError);
    assert.ok(error.message.length <= 501, String(error.message.length));
    return true;
  });
  assert.ok(quoted.readBytes() <= 2 * MEBIBYTE);
});

/** An OpenStreetMap PBF file of one block. */
function pbfFile(block: Uint8Array | ((writer: PbfWriter) => void), deflated = true): ImportFile {
  const blob = (content: Uint8Array, type: string): Buffer => {
    const writer = new PbfWriter();
    writer.writeBytesField(deflated ? 3 : 1, deflated ? deflateSync(content) : content);
    const body = writer.finish();
    const header = new PbfWriter();
    header.writeStringField(1, type);
    header.writeVarintField(3, body.length);
    const headerBytes = header.finish();
    const length = Buffer.alloc(4);
    length.writeUInt32BE(headerBytes.length);
    return Buffer.concat([length, headerBytes, body]);
  };
  const bytes = Buffer.concat([blob(new Uint8Array(), 'OSMHeader'), blob(contentOf(block), 'OSMData')]);
  return {
    path: 'bomb.osm.pbf',
    sizeBytes: bytes.length,
    head: bytes,
    async *open() {
      yield bytes;
    },
  };
}

function contentOf(block: Uint8Array | ((writer: PbfWriter) => void)): Uint8Array {
  if (typeof block !== 'function') return block;
  const writer = new PbfWriter();
  block(writer);
  return writer.finish();
}

/** A block whose strings are `strings`, and whose one group `write` fills. */
function blockOf(strings: readonly string[], write: (group: PbfWriter | undefined) => void) {
  return (writer: PbfWriter): void => {
    writer.writeMessage(1, (_, table) => strings.forEach((each) => table?.writeStringField(1, each)), null);
    writer.writeMessage(2, (_, inner) => write(inner), null);
  };
}

test('a small PBF file that would become a large one in memory is refused', async () => {
  const refuse = (file: ImportFile, words: RegExp) => {
    assert.ok(file.sizeBytes < MEBIBYTE);
    return assert.rejects(readPoints(file, 'osm-pbf'), words);
  };
  await refuse(pbfFile(new Uint8Array(33 * MEBIBYTE)), /bomb\.osm\.pbf: .*larger than 33554432 bytes/);
  const table = (count: number) => (writer: PbfWriter) =>
    writer.writeBytesField(1, Buffer.alloc(2 * count, Buffer.from([0x0a, 0x00])));
  await refuse(pbfFile(table(15 * MEBIBYTE)), /a block of more than 500000 strings/);
  // Tag 1, wire type 2, a length of 2^62 bytes.
  const lying = Buffer.from([0x12, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40]);
  assert.equal(await readPoints(pbfFile(lying), 'osm-pbf'), 0);
  for (const [tag, field] of [
    [3, 8],
    [4, 9],
  ] as const) {
    const references = blockOf(['', 'amenity', 'school'], (group) =>
      group?.writeMessage(
        tag,
        (_way, writer) => {
          writer?.writePackedVarint(2, [1]);
          writer?.writePackedVarint(3, [2]);
          writer?.writeBytesField(field, new Uint8Array(8 * MEBIBYTE));
        },
        null,
      ),
    );
    await refuse(pbfFile(references), /of more than 100000 members/);
  }
});

test('a long string that every object names is read once', async () => {
  const nodes = 20_000;
  const long = 'é'.repeat(8 * MEBIBYTE);
  const file = pbfFile(
    blockOf(['', 'amenity', 'school', 'name', long, 'school:FR', 'operator:type'], (group) =>
      group?.writeMessage(
        2,
        (_dense, writer) => {
          const ones = Array.from({ length: nodes }, () => 1);
          writer?.writePackedSVarint(1, ones);
          writer?.writePackedSVarint(8, ones);
          writer?.writePackedSVarint(9, ones);
          writer?.writePackedVarint(
            10,
            ones.flatMap(() => [1, 2, 3, 4, 5, 4, 6, 4, 0]),
          );
        },
        null,
      ),
    ),
  );
  // Read for each node, it would be 320 GB.
  assert.equal(await readPoints(file, 'osm-pbf'), nodes);
});
