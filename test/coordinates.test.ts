/** The centres of communes, read from the files that operators download. */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type ImportedCentre, importCoordinates } from '../src/cli/import/import.ts';
import { ImportFileError } from '../src/cli/import/import-file.ts';
import { distanceKm } from '../src/engine/domain/geo.ts';
import { loadReference, type Reference } from '../src/engine/reference/communes.ts';
import { SHARED_DATA } from './support/checkout.ts';

const REAL = fileURLToPath(new URL('reference/', SHARED_DATA));
const unlessReal = { skip: existsSync(REAL) ? false : 'the real files are not at ../shared/data/reference' };

let directory: string;
let reference: Reference;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'vigie-coordinates-'));
  reference = await loadReference();
});
after(() => rm(directory, { recursive: true }));

async function importFile(path: string) {
  let imported: ReadonlyMap<string, ImportedCentre> = new Map();
  const result = await importCoordinates(path, {
    isCommune: (insee) => reference.city(insee)?.insee === insee,
    replaceCoordinates: async (coordinates) => {
      imported = coordinates;
    },
  });
  assert.equal(result.imported, imported.size);
  return { ...result, imported };
}

const realFiles = new Map<string, ReturnType<typeof importFile>>();

/** Read once: each takes seconds. */
function importReal(name: string) {
  const imported = realFiles.get(name) ?? importFile(join(REAL, name));
  realFiles.set(name, imported);
  return imported;
}

async function importText(name: string, content: string) {
  const path = join(directory, name);
  await writeFile(path, content);
  return importFile(path);
}

describe('real files of commune centres', unlessReal, () => {
  it('La Poste: nearly every commune, and the arrondissements', async () => {
    const { read, imported } = await importReal('laposte_hexasmal_2022.csv.gz');
    assert.equal(read, 39_192);
    assert.ok(imported.size > 34_000, String(imported.size));
    assert.deepEqual(imported.get('13208')?.lat.toFixed(1), '43.2');
    assert.ok(imported.has('75115'));
  });

  it('the commune file of 2024: nearly every commune, near where La Poste has it', async () => {
    const { read, imported } = await importReal('communes_fr_cog2024.csv.gz');
    assert.equal(read, 36_208);
    assert.ok(imported.size > 34_800, String(imported.size));
    const post = (await importReal('laposte_hexasmal_2022.csv.gz')).imported;
    const apart = [...imported].flatMap(([insee, { lat, lon }]) => {
      const other = post.get(insee);
      return other === undefined ? [] : [distanceKm(lat, lon, other.lat, other.lon)];
    });
    assert.ok(apart.filter((km) => km < 5).length / apart.length > 0.98);
  });

  it('give the reference the centres of small communes and arrondissements', async () => {
    const coordinates = (await importReal('communes_fr_cog2024.csv.gz')).imported;
    const located = await loadReference({ coordinates });
    assert.ok([...located.cities()].filter(({ location }) => location === null).length < 150);
    const nowhere = { insee: null, zipcode: null, name: null };
    assert.equal(located.resolvePlace({ ...nowhere, lat: 48.8402, lon: 2.2935 })?.city.insee, '75115');
  });
});

describe('a fresh installation', unlessReal, () => {
  it('finds the arrondissements by the centres that real files give them', async () => {
    const fresh = await loadReference();
    const isArrondissement = (insee: string) => (fresh.city(insee)?.cityParentId ?? null) !== null;
    for (const [file, count] of [
      ['communes_fr_cog2024.csv.gz', 45],
      ['laposte_hexasmal_2022.csv.gz', 45],
    ] as const) {
      const { imported } = await importReal(file);
      const centres = [...imported].filter(([insee]) => isArrondissement(insee));
      const missed = centres.filter(([insee, centre]) => {
        const place = fresh.resolvePlace({ insee: null, zipcode: null, name: null, ...centre });
        return place?.city.insee !== insee;
      });
      // The middle of the 12th arrondissement and its wood lies in Saint-Mandé.
      assert.deepEqual(
        missed.map(([insee]) => insee).filter((insee) => insee !== '75112'),
        [],
      );
      assert.equal(centres.length, count);
    }
  });
});

describe('layouts of commune centres', () => {
  it('La Poste, old and new: the row of the whole commune goes before those of its parts', async () => {
    const old = await importText(
      'old.csv',
      `Code_commune_INSEE;Nom_commune;Code_postal;Ligne_5;Libelle;coordonnees_gps
13208;MARSEILLE 08;13008;LES GOUDES;MARSEILLE;43.24,5.37
13208;MARSEILLE 08;13008;;MARSEILLE;43.26,5.38
1001;L ABERGEMENT;01400;;L ABERGEMENT;46.15,4.93
99138;MONACO;98000;;MONACO;43.73,7.42
83137;TOULON;83000;;TOULON;
`,
    );
    assert.deepEqual(
      [...old.imported],
      [
        ['13208', { lat: 43.26, lon: 5.38 }],
        ['01001', { lat: 46.15, lon: 4.93 }],
      ],
    );
    assert.deepEqual(old.skipped, { 'no commune of today': 1, 'no coordinates': 1 });
    const recent = await importText('new.csv', `#Code_commune_INSEE;Nom;_geopoint\n83137;TOULON;"43.12, 5.93"\n`);
    assert.deepEqual([...recent.imported], [['83137', { lat: 43.12, lon: 5.93 }]]);
  });

  it('geo.api.gouv.fr: JSON, GeoJSON and CSV', async () => {
    const centre = { type: 'Point', coordinates: [5.93, 43.12] };
    const toulon = [['83137', { lat: 43.12, lon: 5.93 }]];
    const json = await importText('geo.json', JSON.stringify([{ nom: 'Toulon', code: '83137', centre }]));
    assert.deepEqual([...json.imported], toulon);
    const feature = { type: 'Feature', geometry: centre, properties: { nom: 'Toulon', code: '83137' } };
    const geojson = await importText('geo.geojson', JSON.stringify({ type: 'FeatureCollection', features: [feature] }));
    assert.deepEqual([...geojson.imported], toulon);
    const csv = await importText('geo.csv', 'nom,code,lon,lat\nToulon,83137,5.93,43.12\n');
    assert.deepEqual([...csv.imported], toulon);
  });

  it('of another kind are refused with a word of what is missing', async () => {
    await assert.rejects(importText('a.csv', 'a,b\n1,2\n'), /no column of INSEE codes/);
    await assert.rejects(importText('b.csv', 'code,b\n1,2\n'), /no columns of coordinates/);
    await assert.rejects(importText('c.json', '[{"code": "83137", "centre": '), ImportFileError);
    await assert.rejects(importText('d.json', '[]'), /holds no coordinates/);
    await assert.rejects(importText('e.csv', 'code,lat,lon\n83137,91,5\n'), /holds no coordinates/);
  });
});
