/** An import of points of interest replaces those of its source, or changes nothing. */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { importPointFile, importPointsOfInterest } from '../../src/cli/import/import.ts';
import { ImportFileError } from '../../src/cli/import/import-file.ts';
import { type PointOfInterest } from '../../src/engine/domain/point-of-interest.ts';
import { migrate, openDatabase } from '../../src/engine/store/database.ts';
import { listPointSources, replacePointSource } from '../../src/engine/store/points-of-interest.ts';
import { SHARED_DATA } from '../support/checkout.ts';
import { runVigie } from '../support/daemon.ts';
import { emptyDirectory, startTestPostgres } from '../support/servers.ts';

const REAL = fileURLToPath(new URL('poi/', SHARED_DATA));
const unlessReal = { skip: existsSync(REAL) ? false : 'the real files are not at ../shared/data/poi' };
const DIRECTORY = 'annuaire_education_35_2023.csv.gz';

describe('points of interest imported into PostgreSQL', unlessReal, async () => {
  const postgres = await startTestPostgres({ after });
  await migrate(postgres.url);
  const database = openDatabase({ url: postgres.url, connectionsMax: 3, onConnectionLost: () => undefined });
  after(() => database.end());
  const importFile = (path: string, source?: string) =>
    importPointsOfInterest(source === undefined ? { path } : { path, source }, {
      replaceSource: (name, batches) => replacePointSource(database, name, batches),
    });

  it('are replaced by the next file of the source, and kept when that file is broken', async () => {
    const before = await importFile(join(REAL, DIRECTORY), 'town');
    const directory = await emptyDirectory({ after });
    const broken = join(directory, 'broken.geojson');
    const school = '{"properties": {"amenity": "school"}, "geometry": {"type": "Point", "coordinates": [5, 43]}}';
    await writeFile(broken, `{"features": [${`${school},`.repeat(10_000)}{`);
    await assert.rejects(importFile(broken, 'town'), ImportFileError);
    const count = async () => (await listPointSources(database)).find(({ name }) => name === 'town')?.pointCount;
    assert.equal(await count(), before.imported);
    await writeFile(broken, `{"features": [${school}]}`);
    await importFile(broken, 'town');
    assert.equal(await count(), 1);
  });
});

describe('an import through a pipe', async () => {
  const postgres = await startTestPostgres({ after });
  await migrate(postgres.url);
  const database = openDatabase({ url: postgres.url, connectionsMax: 3, onConnectionLost: () => undefined });
  after(() => database.end());

  it('opens its transaction with the first point, and closes what it reads when PostgreSQL gives up', async () => {
    const school: PointOfInterest = { facility: 'school', lat: 43, lon: 5, name: null, attributes: {} };
    let hasEnded = false;
    async function* slowly(lat: number): AsyncGenerator<readonly PointOfInterest[]> {
      try {
        const { rows } = await database.query(
          `select from pg_stat_activity where datname = current_database() and state = 'idle in transaction'`,
        );
        assert.equal(rows.length, 0);
        yield [{ ...school, lat }];
        yield [school];
      } finally {
        hasEnded = true;
      }
    }
    assert.equal(await replacePointSource(database, 'town', slowly(43)), 2);
    hasEnded = false;
    await database.query('alter table points_of_interest add check (lat < 45)');
    await assert.rejects(replacePointSource(database, 'town', slowly(46)), /check constraint/);
    assert.ok(hasEnded);
    const [town] = await listPointSources(database);
    assert.deepEqual([town?.name, town?.pointCount], ['town', 2]);
  });

  it('is what vigie takes of standard input, under the name that it is given', async () => {
    const feature = {
      type: 'Feature',
      properties: { amenity: 'school' },
      geometry: { type: 'Point', coordinates: [5, 43] },
    };
    const input = `\u001E${JSON.stringify(feature)}\n`.repeat(3);
    const servers = { postgres, nats: { url: 'nats://127.0.0.1:1' } };
    const words = ['import', 'points-of-interest', '-'];
    const { code, stdout } = await runVigie([...words, '--source', 'france'], servers, { input });
    assert.equal(code, 0);
    assert.match(stdout, /source france \(geojson-seq\): 3 points of 3 objects/);
    const nameless = await runVigie(words, servers, { input });
    assert.notEqual(nameless.code, 0);
    assert.match(nameless.stderr, /needs --source NAME/);
    const cut = await runVigie([...words, '--source', 'france'], servers, { input: input.slice(0, -30) });
    assert.notEqual(cut.code, 0);
    const france = (await listPointSources(database)).find(({ name }) => name === 'france');
    assert.equal(france?.pointCount, 3);
  });
});

describe('an import that PostgreSQL gives up', async () => {
  const postgres = await startTestPostgres({ after });
  await migrate(postgres.url);
  const database = openDatabase({ url: postgres.url, connectionsMax: 3, onConnectionLost: () => undefined });
  after(() => database.end());

  it('says what has become of the points, and what to do', async () => {
    const directory = await emptyDirectory({ after });
    const path = join(directory, 'town.geojson');
    const school = '{"properties": {"amenity": "school"}, "geometry": {"type": "Point", "coordinates": [5, 43]}}';
    await writeFile(path, `{"features": [${school}]}`);
    const importTown = () => importPointFile(database, path, { source: '', format: '' }, new AbortController().signal);
    await importTown();
    await database.query(`
      create function give_up() returns trigger language plpgsql as $$
      begin raise 'terminating connection due to idle-in-transaction timeout' using errcode = '25P03'; end $$;
      create trigger busy before insert on points_of_interest execute function give_up();`);
    await assert.rejects(importTown(), {
      code: 'COMMAND_FAILED',
      message: `PostgreSQL gave the import of ${path} up (terminating connection due to idle-in-transaction timeout): nothing is imported, and what was there stays. Run the same command again when it is less busy`,
    });
    const [town] = await listPointSources(database);
    assert.deepEqual([town?.name, town?.pointCount], ['town', 1]);
    await database.query('drop trigger busy on points_of_interest');
    await importTown();
  });
});
