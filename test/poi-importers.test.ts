import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import { createRandom } from '../src/cli/demo/seeded-random.ts';
import { ImportFileError } from '../src/cli/import/import-file.ts';
import type { PointFormat } from '../src/cli/import/point-formats.ts';
import {
  importPointsOfInterest,
  type PointImportProgress,
  type PointImportResult,
} from '../src/cli/import/points-of-interest.ts';
import type { PointOfInterest } from '../src/domain/point-of-interest.ts';

const REAL = fileURLToPath(new URL('../../shared/data/poi/', import.meta.url));
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
  onProgress?: (progress: PointImportProgress) => void,
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

  it('Bondy, OpenStreetMap XML: school:FR and operator:type become the attributes', async () => {
    const { kept, format, points } = await importFile(real('bondy_93_osm_2022-04.osm.gz'));
    assert.equal(format, 'osm-xml');
    assert.deepEqual(kept, { ...NONE, kindergarten: 1, school: 12, hospital: 1, parking: 7 });
    assert.equal(points.filter(({ attributes }) => attributes.schoolType !== undefined).length, 8);
    // The file has a sixth `operator:type`, on a leisure centre.
    assert.equal(points.filter(({ attributes }) => attributes.operatorType !== undefined).length, 5);
    const college = points.find(({ name }) => name === 'Collège Jean Zay');
    assert.deepEqual(college?.attributes, { schoolType: 'collège', operatorType: 'public' });
  });

  it('Grenoble, Overpass JSON: ways with their centre', async () => {
    const restaurants = await importFile(real('grenoble_osm_2015_restaurants.overpass.json.gz'));
    assert.equal(restaurants.format, 'overpass-json');
    assert.deepEqual(restaurants.kept, { ...NONE, restaurant: 704 });
    const parkings = await importFile(real('grenoble_osm_2015_parkings.overpass.json.gz'));
    assert.deepEqual(parkings.kept, { ...NONE, parking: 1_764 });
    assert.ok(parkings.points.filter(({ name }) => name === null).length / 1_764 > 0.88);
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
    const packed = await importFile(real('bondy_93_osm_2022-04.osm.gz'));
    const plain = await importText('bondy.osm', gunzipSync(await readFile(real('bondy_93_osm_2022-04.osm.gz'))));
    assert.deepEqual(plain.points, packed.points);
  });

  it('tell how far they are', async () => {
    const heard: PointImportProgress[] = [];
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
    for (const name of ['bondy_93_osm_2022-04.osm.gz', 'annuaire_education_35_2023.csv.gz']) {
      const packed = await readFile(real(name));
      await assert.rejects(importText(name, packed.subarray(0, packed.length / 2)), ImportFileError);
    }
    const overpass = gunzipSync(await readFile(real('grenoble_osm_2015_restaurants.overpass.json.gz')));
    await assert.rejects(importText('cut.json', overpass.subarray(0, overpass.length / 2)), ImportFileError);
    const xml = gunzipSync(await readFile(real('bondy_93_osm_2022-04.osm.gz')));
    await assert.rejects(importText('cut.osm', xml.subarray(0, xml.length / 2)), ImportFileError);
  });
});

describe('OpenStreetMap areas', () => {
  const XML = `<?xml version="1.0"?><osm version="0.6">
    <node id="1" lat="43.0" lon="5.0"/><node id="2" lat="43.2" lon="5.0"/><node id="3" lat="43.2" lon="5.4"/>
    <node id="4" lat="44" lon="6"><tag k="amenity" v="bar"/></node>
    <way id="10"><nd ref="1"/><nd ref="2"/><nd ref="3"/><nd ref="1"/><tag k="amenity" v="school"/>
      <tag k="name" v=" É &amp; cie "/></way>
    <way id="11"><nd ref="2"/><nd ref="3"/></way>
    <way id="12"><nd ref="99"/><tag k="amenity" v="parking"/></way>
    <relation id="20"><member type="way" ref="11" role="outer"/><member type="node" ref="1" role="entrance"/>
      <tag k="amenity" v="hospital"/></relation>
    <relation id="21"><member type="way" ref="98" role=""/><tag k="amenity" v="hospital"/></relation></osm>`;

  it('become the centre of their bounding box; those without coordinates are left out', async () => {
    const { points, skipped, read } = await importText('areas.osm', XML);
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

  it('take their centre, bounds, geometry or nodes from Overpass', async () => {
    const tags = { amenity: 'parking' };
    const elements = [
      { type: 'way', id: 1, center: { lat: 43, lon: 5 }, nodes: [7], tags },
      { type: 'way', id: 2, bounds: { minlat: 43, minlon: 5, maxlat: 44, maxlon: 6 }, tags },
      { type: 'way', id: 3, geometry: [{ lat: 43, lon: 5 }, null, { lat: 43, lon: 6 }], tags },
      { type: 'way', id: 4, nodes: [7, 8], tags },
      { type: 'relation', id: 5, members: [{ type: 'way', ref: 4 }], tags },
      { type: 'node', id: 7, lat: 43, lon: 5 },
      { type: 'node', id: 8, lat: 45, lon: 5 },
    ];
    const { points } = await importText('overpass.json', JSON.stringify({ version: 0.6, elements }));
    assert.deepEqual(
      points.map(({ lat, lon }) => [lat, lon]),
      [
        [43, 5],
        [43.5, 5.5],
        [43, 5.5],
        [44, 5],
        [44, 5],
      ],
    );
  });
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
    ['page.html', '<html><body>No</body></html>', /root is <html>/],
    ['broken.osm', '<osm><node id="1" lat="1" lon="1">', /unclosed tag/],
    ['broken.json', '{"osm3s": {}, "elements": [{"type": "node", "id": 1, oops', /broken\.json/],
    ['other.json', '{"hello": 1}', /neither a GeoJSON/],
    ['late.json', '{"elements": [], "remark": "runtime error: Query timed out"}', /incomplete/],
    ['flat.json', '{"elements": [1]}', /element 1 is no object/],
    ['none.osm', '<osm version="0.6"></osm>', /holds no point/],
    ['rows.csv', 'nom_etablissement,type_etablissement,latitude,longitude\nA,Ecole,1\n', /Invalid Record Length/],
    [
      'latin.osm',
      Buffer.from('<osm><node id="1" lat="1" lon="1"><tag k="name" v="\xe9cole"/></node></osm>', 'latin1'),
      /not valid/,
    ],
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
