/** Files made to cost an importer memory and time are refused after little work, whatever they would go on with. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PbfWriter } from 'pbf';
import { readCoordinateRows } from '../src/cli/import/import.ts';
import { type ImportFile, ImportFileError } from '../src/cli/import/import-file.ts';
import { ImportTally } from '../src/cli/import/osm-points.ts';
import { type PointFormat, readPointFile } from '../src/cli/import/point-formats.ts';
import { blockOf, pbfFileBytes, type WriteFields, writeMessage } from './support/osm-pbf.ts';

const CHUNK_BYTES = 256 * 1_024;
const MEBIBYTE = 1_024 * 1_024;

/** A file that begins with `begin` and goes on with `again` for ever; `readBytes` tells how much of it was asked for. */
function endlessFile(begin: string, again: string, bytesMax = 64 * MEBIBYTE): ImportFile & { readBytes(): number } {
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
      for (; readBytes < bytesMax; readBytes += more.length) yield more;
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
  const bytesMax = 20 * MEBIBYTE;
  const file = endlessFile('{"features": [', '{"properties": {"amenity": "school"}},', bytesMax);
  await assert.rejects(readPoints(file, 'geojson'), { code: 'IMPORT_FILE' });
  assert.ok(file.readBytes() >= bytesMax);
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

function pbfFile(block: Uint8Array | WriteFields): ImportFile {
  const bytes = pbfFileBytes(block);
  return {
    path: 'bomb.osm.pbf',
    sizeBytes: bytes.length,
    head: bytes,
    async *open() {
      yield bytes;
    },
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
      writeMessage(group, tag, (area) => {
        area.writePackedVarint(2, [1]);
        area.writePackedVarint(3, [2]);
        area.writeBytesField(field, new Uint8Array(8 * MEBIBYTE));
      }),
    );
    await refuse(pbfFile(references), /of more than 100000 members/);
  }
});

test('a long string that every object names is read once', async () => {
  const nodes = 20_000;
  const long = 'é'.repeat(8 * MEBIBYTE);
  const file = pbfFile(
    blockOf(['', 'amenity', 'school', 'name', long, 'school:FR', 'operator:type'], (group) =>
      writeMessage(group, 2, (dense) => {
        const ones = Array.from({ length: nodes }, () => 1);
        dense.writePackedSVarint(1, ones);
        dense.writePackedSVarint(8, ones);
        dense.writePackedSVarint(9, ones);
        dense.writePackedVarint(
          10,
          ones.flatMap(() => [1, 2, 3, 4, 5, 4, 6, 4, 0]),
        );
      }),
    ),
  );
  // Read for each node, it would be 320 GB.
  assert.equal(await readPoints(file, 'osm-pbf'), nodes);
});
