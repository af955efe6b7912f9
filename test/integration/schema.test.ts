/** Which versions may work on a database, and how a schema is walked up while others work on it. */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { migrate } from '../../src/store/database.ts';
import { NEWEST_MIGRATION } from '../../src/store/schema.ts';
import { runVigie, startDaemon } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { startTestPostgres, startTestServers } from '../support/servers.ts';
import { until } from '../support/until.ts';

/** A migration of a version that is yet to be written. */
const FUTURE = 9_000;

async function openMigrated(t: TestContext) {
  const { url } = await startTestPostgres(t);
  await migrate(url);
  return { url, database: connectDatabase(t, url) };
}

test('a database that a newer version has added to is worked on as before', async (t) => {
  const { url, database } = await openMigrated(t);
  await database.query(`insert into schema_migrations (name, run_on) values ('${FUTURE}_future', now())`);
  assert.deepEqual(await migrate(url), { migrated: [], unknown: [`${FUTURE}_future`] });
});

test('a database that a newer version has taken something away from is refused with what to do', async (t) => {
  const servers = await startTestServers(t);
  await migrate(servers.postgres.url);
  const database = connectDatabase(t, servers.postgres.url);
  await database.query(`select require_migration(${FUTURE})`);
  for (const command of [['serve'], ['keys', 'list']]) {
    const { code, stderr } = await runVigie(command, servers);
    assert.equal(code, 1);
    assert.equal(
      stderr,
      `vigie: The database was upgraded: it takes versions that know its migration ${FUTURE}, and this one knows those ` +
        `up to ${NEWEST_MIGRATION}. Start the newer version again, or restore a backup of before the upgrade.\n`,
    );
  }
});

test('nothing is taken away while an older version works; one that comes to light later ends by itself', async (t) => {
  const servers = await startTestServers(t);
  const daemon = await startDaemon(t, servers);
  const database = connectDatabase(t, servers.postgres.url);
  const raise = (to: number) => database.query(`select require_migration(${to})`);
  await raise(NEWEST_MIGRATION);
  const words = /while an older version works on it \([^;]+, process \d+ on [^;]+\)\. Stop that one, and start again/;
  await assert.rejects(raise(NEWEST_MIGRATION + 1), words);
  // A version from before there was a rule does not say what it knows.
  await database.query(
    `insert into instances (id, host, process_id, roles, version, started_at, stages) values ($1, 'a', 1, '{}', '0', now(), '{}')`,
    [randomUUID()],
  );
  await assert.rejects(raise(NEWEST_MIGRATION), words);
  await database.query("delete from instances where host = 'a'");
  // As if it had been frozen while that was done.
  await database.query('update schema_compatibility set compatible_from = $1', [FUTURE]);
  const [code] = await once(daemon.process, 'exit');
  assert.equal(code, 1);
  const last = daemon.log.find(({ message }) => message === 'cannot go on');
  assert.match(String(last?.failure), /^The database was upgraded: /);
});

test('a database of another line of versions is refused by the name of what it lacks', async (t) => {
  const { url, database } = await openMigrated(t);
  await database.query("delete from schema_migrations where name = '0002_told-searches'");
  await assert.rejects(migrate(url), { code: 'SCHEMA_REFUSED', message: /lacks 0002_told-searches: another line/ });
});

test('daemons that start together on an empty database bring it up once', async (t) => {
  const { url } = await startTestPostgres(t);
  const states = await Promise.all([migrate(url), migrate(url), migrate(url)]);
  assert.deepEqual(states.map(({ migrated }) => migrated.length > 0).toSorted(), [false, false, true]);
});

test('an upgrade that waits for a dump to end holds nobody up', async (t) => {
  const { url } = await startTestPostgres(t);
  await migrate(url, { newest: 3 });
  const database = connectDatabase(t, url);
  const dump = await database.connect();
  await dump.query('begin; select count(*) from searches, deliveries');
  const reasons: string[] = [];
  const upgraded = migrate(url, { onWaiting: (reason) => reasons.push(reason) });
  await until(
    async () => reasons.length,
    (count) => count > 0,
  );
  // Waits behind the upgrade at most until that gives way.
  for (let look = 0; look < 20; look++) await database.query('select from searches for update');
  await dump.query('commit');
  dump.release();
  assert.equal((await upgraded).migrated[0], '0004_search-limits');
  assert.match(reasons.join(), /lock timeout/);
});
