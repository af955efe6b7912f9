import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import { createRandom } from '../src/cli/demo/seeded-random.ts';
import { type ImportProgress, importPointsOfInterest, type PointImportResult } from '../src/cli/import/import.ts';
import { ImportFileError } from '../src/cli/import/import-file.ts';
import type { PointFormat } from '../src/cli/import/point-formats.ts';
import type { PointOfInterest } from '../src/engine/domain/point-of-interest.ts';
import { SHARED_DATA } from './support/checkout.ts';
import { blockOf, pbfFileBytes, type WriteFields, writeMessage } from './support/osm-pbf.ts';

const REAL = fileURLToPath(new URL('poi/', SHARED_DATA));
const real = (name: string) => join(REAL, name);
const unlessReal = { skip: existsSync(REAL) ? false : 'the real files are not at ../shared/data/poi' };

let directory: string;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'vigie-import-'));
});
after(() => rm(directory, { recursive: true }));

interface Imported extends PointImportResult {
  readonly points: readonly PointOfInterest[];
}

/** Imports into a list that is given up when the file fails, as the transaction is. */
async function importFile(
  path: string,
  format?: PointFormat,
  onProgress?: (progress: ImportProgress) => void,
): Promise<Imported> {
  const points: PointOfInterest[] = [];
  const replaceSource = async (_source: string, batches: AsyncIterable<readonly PointOfInterest[]>) => {
    for await (const batch of batches) points.push(...batch);
    return points.length;
  };
  const options = { path, ...(format === undefined ? {} : { format }) };
  const result = await importPointsOfInterest(options, { replaceSource, ...(onProgress ? { onProgress } : {}) });
  assert.equal(result.imported, points.length);
  return { ...result, points };
}

async function importText(name: string, content: string | Buffer): Promise<Imported> {
  const path = join(directory, name);
  await writeFile(path, content);
  return importFile(path);
}

const NONE = { kindergarten: 0, school: 0, restaurant: 0, hospital: 0, parking: 0 };

describe('real files', unlessReal, () => {
  it('Monaco, OpenStreetMap PBF: nodes, ways and relations', async () => {
    const { kept, format, points, source } = await importFile(real('monaco_2021-11.osm.pbf'));
    assert.equal(format, 'osm-pbf');
    assert.equal(source, 'monaco_2021-11');
    assert.deepEqual(kept, {
      kindergarten: 1,
      school: 8 + 2 + 1,
      restaurant: 93 + 4,
      hospital: 2 + 4,
      parking: 51 + 15,
    });
    for (const { lat, lon } of points) {
      assert.ok(lat > 43.7 && lat < 43.77 && lon > 7.38 && lon < 7.46, `${lat} ${lon}`);
    }
  });

  it('Ille-et-Vilaine, annuaire de l’éducation: all 996 rows', async () => {
    const { read, kept, skipped, points, format } = await importFile(real('annuaire_education_35_2023.csv.gz'));
    assert.equal(format, 'annuaire-education');
    assert.equal(read, 996);
    assert.deepEqual(kept, { ...NONE, school: 996 });
    assert.deepEqual(skipped, {});
    const count = (type: string) => points.filter(({ attributes }) => attributes.schoolType === type).length;
    assert.deepEqual(
      ['maternelle', 'élémentaire', 'primaire', 'collège', 'lycée', 'secondaire'].map(count),
      [112, 119, 454, 117, 86, 2],
    );
  });

  it('are the same places, packed or not', async () => {
    const packed = await importFile(real('annuaire_education_35_2023.csv.gz'));
    const unpacked = gunzipSync(await readFile(real('annuaire_education_35_2023.csv.gz')));
    assert.deepEqual((await importText('annuaire.csv', unpacked)).points, packed.points);
  });

  it('tell how far they are', async () => {
    const heard: ImportProgress[] = [];
    await importFile(real('monaco_2021-11.osm.pbf'), undefined, (progress) => heard.push(progress));
    const last = heard.at(-1);
    assert.ok(last);
    assert.equal(last.pass, 3);
    assert.equal(last.bytesRead, last.bytesTotal);
  });

  it('cut off anywhere or with bytes changed are an error or whole, never a crash', async () => {
    const random = createRandom(11);
    const monaco = await readFile(real('monaco_2021-11.osm.pbf'));
    for (let i = 0; i < 30; i++) {
      const damaged = i % 2 === 0 ? Buffer.from(monaco) : monaco.subarray(0, random.integer(1, monaco.length - 1));
      if (i % 2 === 0) damaged[random.integer(0, 3_000)] = random.integer(0, 255);
      await importText('damaged.osm.pbf', damaged).catch((error) => assert.ok(error instanceof ImportFileError, error));
    }
    const packed = await readFile(real('annuaire_education_35_2023.csv.gz'));
    await assert.rejects(importText('annuaire.csv.gz', packed.subarray(0, packed.length / 2)), ImportFileError);
  });
});

const STRINGS = ['', 'amenity', 'bar', 'school', 'parking', 'hospital', 'name', ' É & cie '];

/** One object of the group: its identity, the fields of its kind, and tags as indices of STRINGS. */
function object(kind: number, id: number, tags: Readonly<Record<number, number>>, rest: WriteFields): WriteFields {
  return (group) =>
    writeMessage(group, kind, (writer) => {
      if (kind === 1) writer.writeSVarintField(1, id);
      else writer.writeVarintField(1, id);
      writer.writePackedVarint(2, Object.keys(tags).map(Number));
      writer.writePackedVarint(3, Object.values(tags));
      rest(writer);
    });
}

/** Hundreds of nanodegrees. */
const node = (id: number, lat: number, lon: number, tags = {}) =>
  object(1, id, tags, (writer) => {
    writer.writeSVarintField(8, Math.round(lat * 1e7));
    writer.writeSVarintField(9, Math.round(lon * 1e7));
  });
const deltas = (ids: readonly number[]) => ids.map((id, at) => id - (ids[at - 1] ?? 0));
const way = (id: number, nodes: readonly number[], tags = {}) =>
  object(3, id, tags, (writer) => writer.writePackedSVarint(8, deltas(nodes)));
/** Of types 0 node, 1 way. */
const relation = (id: number, members: readonly number[], types: readonly number[], tags = {}) =>
  object(4, id, tags, (writer) => {
    writer.writePackedVarint(
      8,
      members.map(() => 0),
    );
    writer.writePackedSVarint(9, deltas(members));
    writer.writePackedVarint(10, [...types]);
  });

const AREAS = blockOf(STRINGS, (group) => {
  for (const write of [
    ...[node(1, 43, 5), node(2, 43.2, 5), node(3, 43.2, 5.4), node(4, 44, 6, { 1: 2 })],
    ...[way(10, [1, 2, 3, 1], { 1: 3, 6: 7 }), way(11, [2, 3]), way(12, [99], { 1: 4 })],
    ...[relation(20, [11, 1], [1, 0], { 1: 5 }), relation(21, [98], [1], { 1: 5 })],
  ]) {
    write(group);
  }
});

test('OpenStreetMap areas become the centre of their bounding box; those without coordinates are left out', async () => {
  const { points, skipped, read } = await importText('areas.osm.pbf', pbfFileBytes(AREAS));
  assert.deepEqual(
    points.map(({ facility, lat, lon, name }) => [facility, lat.toFixed(3), lon.toFixed(3), name]),
    [
      ['school', '43.100', '5.200', 'É & cie'],
      ['hospital', '43.100', '5.200', null],
    ],
  );
  assert.equal(read, 5);
  assert.deepEqual(skipped, { 'another kind of place': 1, 'an area without coordinates in the file': 2 });
});

describe('GeoJSON', () => {
  const feature = (properties: object, geometry: object | null) => ({ type: 'Feature', properties, geometry });

  it('is read with OpenStreetMap tags, nested ones, or the words of the interface', async () => {
    const point = { type: 'Point', coordinates: [5.9, 43.1] };
    const square = [
      [
        [5, 43],
        [6, 43],
        [6, 44],
        [5, 44],
        [5, 43],
      ],
    ];
    const features = [
      feature({ amenity: 'school', name: 'A', 'school:FR': 'college', 'operator:type': 'Public' }, point),
      feature({ tags: { amenity: 'hospital', name: 'B' } }, { type: 'Polygon', coordinates: square }),
      feature({ type: 'parking' }, { type: 'GeometryCollection', geometries: [point] }),
      feature({ facility: 'school', attributes: { schoolType: 'lycée', operatorType: 'private' } }, point),
      feature({ amenity: 'bench' }, point),
      feature({ amenity: 'school' }, null),
      feature({ amenity: 'school' }, { type: 'Point', coordinates: [200, 43] }),
      'no feature',
    ];
    const body = `\uFEFF${JSON.stringify({ type: 'FeatureCollection', features })}`;
    const { points, skipped, format } = await importText('places.geojson.gz', gzipSync(body));
    assert.equal(format, 'geojson');
    assert.deepEqual(points, [
      {
        facility: 'school',
        lat: 43.1,
        lon: 5.9,
        name: 'A',
        attributes: { schoolType: 'collège', operatorType: 'public' },
      },
      { facility: 'hospital', lat: 43.5, lon: 5.5, name: 'B', attributes: {} },
      { facility: 'parking', lat: 43.1, lon: 5.9, name: null, attributes: {} },
      {
        facility: 'school',
        lat: 43.1,
        lon: 5.9,
        name: null,
        attributes: { schoolType: 'lycée', operatorType: 'private' },
      },
    ]);
    assert.deepEqual(skipped, { 'another kind of place': 2, 'no coordinates': 1, 'coordinates out of range': 1 });
  });
});

describe('a file that is not what it should be', () => {
  const cases: readonly (readonly [string, string | Buffer, RegExp])[] = [
    ['empty.osm', '', /empty/],
    ['text.txt', 'hello', /none of osm-pbf/],
    ['broken.json', '{"features": [{"type": "Feature", oops', /broken\.json/],
    ['other.json', '{"hello": 1}', /no GeoJSON/],
    ['map.osm', '<osm version="0.6"></osm>', /osmium makes \.osm\.pbf/],
    ['overpass.json', '{"osm3s": {}, "elements": []}', /osmtogeojson/],
    ['none.geojson', '{"features": []}', /holds no point/],
    ['rows.csv', 'nom_etablissement,type_etablissement,latitude,longitude\nA,Ecole,1\n', /Invalid Record Length/],
    [
      'huge.osm.pbf',
      Buffer.concat([Buffer.from([0x7f, 0xff, 0xff, 0xff]), Buffer.from('\n\tOSMHeader')]),
      /blob header of/,
    ],
    ['no.gz', Buffer.concat([Buffer.from([0x1f, 0x8b]), Buffer.from('garbage')]), /no\.gz/],
  ];
  for (const [name, content, message] of cases) {
    it(`says so: ${name}`, async () => {
      await assert.rejects(importText(name, content), (error) => {
        assert.ok(error instanceof ImportFileError, String(error));
        assert.match(error.message, message);
        assert.ok(error.message.includes(name));
        return true;
      });
    });
  }

  it('says so when it is missing, or a directory', async () => {
    await assert.rejects(importFile(join(directory, 'missing.osm')), /no such file/);
    await assert.rejects(importFile(directory), /is not a file/);
  });
});
