/** An import of points of interest replaces all points of its source, or changes nothing. */

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { importPointFile } from '../../src/cli/import/import.ts';
import { type PointOfInterest } from '../../src/engine/domain/point-of-interest.ts';
import { listPointSources, replacePointSource } from '../../src/engine/store/points-of-interest.ts';
import { runVigie } from '../support/daemon.ts';
import { openTestDatabase } from '../support/database.ts';
import { ownDatabase } from '../support/own-database.ts';
import { emptyDirectory } from '../support/servers.ts';

describe('an import through a pipe', async () => {
  const url = await ownDatabase({ after });
  const database = openTestDatabase({ after }, url, 3);

  it('opens its transaction with the first point, and closes its input when PostgreSQL cancels it', async () => {
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

  it('is read from standard input, with the given name', async () => {
    const feature = {
      type: 'Feature',
      properties: { amenity: 'school' },
      geometry: { type: 'Point', coordinates: [5, 43] },
    };
    const input = `\u001E${JSON.stringify(feature)}\n`.repeat(3);
    const servers = { postgres: { url }, nats: { url: 'nats://127.0.0.1:1' } };
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

describe('an import that PostgreSQL cancels', async () => {
  const database = openTestDatabase({ after }, await ownDatabase({ after }), 3);

  it('reports the state of the points, and what to do', async () => {
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
      message: `PostgreSQL did not complete the import of ${path} (terminating connection due to idle-in-transaction timeout). Nothing was imported, and the former points remain. Repeat the command when PostgreSQL is less busy.`,
    });
    const [town] = await listPointSources(database);
    assert.deepEqual([town?.name, town?.pointCount], ['town', 1]);
    await database.query('drop trigger busy on points_of_interest');
    await importTown();
  });
});
