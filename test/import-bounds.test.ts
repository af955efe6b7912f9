/** Files that are built to use up memory and time are refused after little work, however they continue. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ImportFile, ImportFileError } from '../src/cli/import/import-file.ts';
import { createTally, type PointFormat, readPointFile } from '../src/cli/import/point-formats.ts';

const CHUNK_BYTES = 256 * 1_024;
const MEBIBYTE = 1_024 * 1_024;

/** A file of `begin` and endless repetitions of `again`; `readBytes` returns how many bytes of these were read. */
function endlessFile(begin: string, again: string, bytesMax = 64 * MEBIBYTE): ImportFile & { readBytes(): number } {
  const more = Buffer.from(again.repeat(Math.ceil(CHUNK_BYTES / again.length)));
  let readBytes = 0;
  return {
    path: 'endless',
    head: Buffer.from(begin),
    readBytes: () => readBytes,
    chunks: (async function* () {
      yield Buffer.from(begin);
      // More than any limit, so that a reader that does not stop fails the test without exhausting the machine.
      for (; readBytes < bytesMax; readBytes += more.length) yield more;
    })(),
  };
}

async function readPoints(file: ImportFile, format: PointFormat): Promise<number> {
  let points = 0;
  for await (const _ of readPointFile(file, format, createTally(format))) points += 1;
  return points;
}

const BRACKETS = [
  ['geojson', '{"type": "FeatureCollection", "features": ', '['],
  ['geojson', '{"features": [{"geometry": {"coordinates": ', '['],
  ['geojson', '{"features": [', '{"properties":'],
  ['geojson', '{"x": ', '['],
  ['geojson-seq', '\u001E{"geometry": {"coordinates": ', '['],
  ['geojson-seq', '', '{"a":'],
] as const;
for (const [format, begin, again] of BRACKETS) {
  test(`endless nesting is refused: ${format}, ${begin}${again}${again}…`, async () => {
    const file = endlessFile(begin, again);
    const message = 'Cannot read endless: it is nested more than 64 levels deep.';
    await assert.rejects(readPoints(file, format), { code: 'IMPORT_FILE', message });
    assert.equal(file.readBytes(), 0, 'the first chunk is enough');
  });
}

const ENDLESS_ENTRIES = [
  ['geojson', '{"features": [{"geometry": {"coordinates": [', '[5.930612345678901,43.12581234567891],'],
  ['geojson', '{"features": ["', 'a'],
  ['geojson', '{"features": [{"properties": {"', 'a'],
  ['geojson', '{"features": [1', '1'],
  ['geojson', '{"features": [', ' '],
  ['geojson-seq', '{"properties": {"', 'a'],
  ['geojson-seq', '{}', ' '],
] as const;
for (const [format, begin, again] of ENDLESS_ENTRIES) {
  test(`one entry may be long, but not endless: ${format}, ${begin}${again}${again}…`, async () => {
    const file = endlessFile(begin, again);
    const message = 'Cannot read endless: an entry has more than 16777216 bytes.';
    await assert.rejects(readPoints(file, format), { code: 'IMPORT_FILE', message });
    assert.ok(file.readBytes() <= 17 * MEBIBYTE, `${file.readBytes()} bytes`);
  });
}

/** Makes each entry long, so that fewer of them are needed. */
const NAME = `"name": "${'a'.repeat(500)}"`;

test('many entries together may be long', async () => {
  const bytesMax = 20 * MEBIBYTE;
  const file = endlessFile('{"features": [', `{"properties": {"amenity": "school", ${NAME}}},`, bytesMax);
  await assert.rejects(readPoints(file, 'geojson'), { code: 'IMPORT_FILE' });
  assert.ok(file.readBytes() >= bytesMax);
  const sequence = endlessFile('', `\u001E{"properties": {"amenity": "bench", ${NAME}}}\n`, bytesMax);
  assert.equal(await readPoints(sequence, 'geojson-seq'), 0);
});

test('a line without an end is not a row, and the message stays short', async () => {
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
