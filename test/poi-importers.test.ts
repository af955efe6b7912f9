/** How each format of points of interest is read, from real and from generated files. */

import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gunzipSync, gzipSync } from 'node:zlib';
import { createRandom } from '../bench/adverts/seeded-random.ts';
import { ImportFileError } from '../src/cli/import/import-file.ts';
import { createTally, type ImportTally, readPoints } from '../src/cli/import/point-formats.ts';
import type { PointOfInterest } from '../src/engine/domain/point-of-interest.ts';
import { SHARED_DATA } from './support/checkout.ts';
import { tuplesOf, valuesOf } from './support/lists.ts';
import { emptyDirectory } from './support/servers.ts';

const REAL = fileURLToPath(new URL('poi/', SHARED_DATA));
const real = (name: string) => join(REAL, name);
const unlessReal = { skip: existsSync(REAL) ? false : 'the real files are not at ../shared/data/poi' };

const run = promisify(execFile);
const HAS_OSMIUM = spawnSync('osmium', ['--version']).status === 0;
const unlessOsmium = { skip: !HAS_OSMIUM && 'osmium is not installed (Debian: osmium-tool)' };

const directory = await emptyDirectory({ after }, 'import');

interface Imported extends ImportTally {
  readonly points: readonly PointOfInterest[];
}

/** Imports into a list, which is discarded if the file fails, as the transaction would be. */
async function importFile(path: string, onProgress = (_tally: ImportTally): void => undefined): Promise<Imported> {
  const tally = createTally('');
  const points: PointOfInterest[] = [];
  for await (const batch of readPoints(path, tally, () => onProgress(tally))) points.push(...batch);
  return { ...tally, points };
}

async function importText(name: string, content: string | Buffer): Promise<Imported> {
  const path = join(directory, name);
  await writeFile(path, content);
  return importFile(path);
}

const NONE = { kindergarten: 0, school: 0, restaurant: 0, hospital: 0, parking: 0 };

describe('real files', unlessReal, () => {
  it('of Monaco, converted to GeoJSON by osmium, give points for nodes, ways and relations', unlessOsmium, async () => {
    const amenities = join(directory, 'amenities.osm.pbf');
    await run('osmium', ['tags-filter', '-o', amenities, real('monaco_2021-11.osm.pbf'), 'nwr/amenity']);
    const exported = ['export', '-f', 'geojsonseq', '--geometry-types=point,polygon', amenities];
    const { stdout } = await run('osmium', exported, { maxBuffer: 16 * 1_024 * 1_024 });
    const { kept, format, points } = await importText('monaco.geojsonseq', stdout);
    assert.equal(format, 'geojson-seq');
    assert.deepEqual(kept, {
      kindergarten: 1,
      school: 8 + 2 + 1,
      restaurant: 93 + 4,
      hospital: 2 + 4,
      // One of them is a parking with a second amenity.
      parking: 51 + 15 + 1,
    });
    for (const { lat, lon } of points) {
      assert.ok(lat > 43.7 && lat < 43.77 && lon > 7.38 && lon < 7.46, `${lat} ${lon}`);
    }
    const names = points.filter(({ facility }) => facility === 'hospital').map(({ name }) => name);
    assert.ok(
      names.includes('Centre hospitalier Princesse Grace') &&
        names.includes('Institut Monégasque de Médecine du Sport'),
    );
  });

  it('of the annuaire de l’éducation of Ille-et-Vilaine give all 996 schools', async () => {
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

  it('give the same points, compressed or not', async () => {
    const packed = await importFile(real('annuaire_education_35_2023.csv.gz'));
    const unpacked = gunzipSync(await readFile(real('annuaire_education_35_2023.csv.gz')));
    assert.deepEqual((await importText('annuaire.csv', unpacked)).points, packed.points);
  });

  it('report their progress', async () => {
    const shares: (number | null)[] = [];
    await importFile(real('annuaire_education_35_2023.csv.gz'), ({ share }) => shares.push(share));
    assert.equal(shares.at(-1), 1);
  });

  it('give points or an import error, and no other error, if they are truncated or have changed bytes', async () => {
    const random = createRandom(11);
    const packed = await readFile(real('annuaire_education_35_2023.csv.gz'));
    for (let i = 0; i < 30; i++) {
      const damaged = i % 2 === 0 ? Buffer.from(packed) : packed.subarray(0, random.integer(1, packed.length - 1));
      if (i % 2 === 0) damaged[random.integer(0, 3_000)] = random.integer(0, 255);
      await importText('annuaire.csv.gz', damaged).catch((error) => assert.ok(error instanceof ImportFileError, error));
    }
    await assert.rejects(importText('annuaire.csv.gz', packed.subarray(0, packed.length / 2)), ImportFileError);
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

describe('a GeoJSON sequence', () => {
  const school = (name: string) =>
    JSON.stringify({
      type: 'Feature',
      properties: { amenity: 'school', name },
      geometry: { type: 'Point', coordinates: [5.9, 43.1] },
    });
  const ends = { 'with separators': ['\u001E', '\n'], 'of lines': ['', '\n'], 'with Windows line ends': ['', '\r\n'] };
  for (const [name, [begin, end]] of Object.entries(ends)) {
    it(`is read ${name}`, async () => {
      const text = ['A', 'B', 'C'].map((each) => `${begin}${school(each)}${end}`).join('');
      const { points, format } = await importText('places.geojsonseq', text);
      assert.equal(format, 'geojson-seq');
      assert.deepEqual(valuesOf(points, 'name'), ['A', 'B', 'C']);
      await assert.rejects(importText('cut.geojsonseq', text.slice(0, -20)), ImportFileError);
    });
  }

  it('may spread a feature over lines, and end without a line end', async () => {
    const pretty = JSON.stringify(JSON.parse(school('A')), null, 2);
    const { points } = await importText('places.geojsonseq.gz', gzipSync(`\u001E${pretty}\u001E${pretty}`));
    assert.equal(points.length, 2);
  });

  it('has a point for each facility of a tag, and one for a facility named twice', async () => {
    const both = school('A').replace('"school"', '"school; kindergarten;fuel;school"');
    const { points, kept, read } = await importText('places.geojsonseq', `${both}\n`);
    assert.deepEqual(tuplesOf(points, 'facility', 'name', 'lat', 'lon'), [
      ['kindergarten', 'A', 43.1, 5.9],
      ['school', 'A', 43.1, 5.9],
    ]);
    assert.deepEqual(kept, { ...NONE, kindergarten: 1, school: 1 });
    assert.equal(read, 1);
  });
});

describe('an invalid file', () => {
  const cases: readonly (readonly [string, string | Buffer, RegExp])[] = [
    ['empty.osm', '', /empty/],
    ['text.txt', 'hello', /none of the formats geojson/],
    ['broken.json', '{"features": [{"type": "Feature", oops', /broken\.json/],
    ['other.json', '{"hello": 1}', /not GeoJSON/],
    ['map.osm', '<osm version="0.6"></osm>', /to GeoJSON with osmium-tool/],
    ['overpass.json', '{"osm3s": {}, "elements": []}', /osmtogeojson/],
    ['none.geojson', '{"features": []}', /contains no point/],
    ['rows.csv', 'nom_etablissement,type_etablissement,latitude,longitude\nA,Ecole,1\n', /Invalid Record Length/],
    ['map.osm.pbf', Buffer.from('\0\0\0\x0d\n\tOSMHeader\x18'), /to GeoJSON with osmium-tool/],
    ['no.gz', Buffer.concat([Buffer.from([0x1f, 0x8b]), Buffer.from('garbage')]), /no\.gz/],
  ];
  for (const [name, content, message] of cases) {
    it(`is reported: ${name}`, async () => {
      await assert.rejects(importText(name, content), (error) => {
        assert.ok(error instanceof ImportFileError, String(error));
        assert.match(error.message, message);
        assert.ok(error.message.includes(name));
        return true;
      });
    });
  }

  it('is reported when it is missing, or a directory', async () => {
    await assert.rejects(importFile(join(directory, 'missing.osm')), /no such file/);
    await assert.rejects(importFile(directory), /is not a file/);
  });
});
