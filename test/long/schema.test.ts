/** The versions that may work on a database, and upgrades of its schema while other versions work on it. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { migrate } from '../../src/engine/store/database.ts';
import { NEWEST_MIGRATION } from '../../src/engine/store/schema.ts';
import { runVigie, startDaemon } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { migrateOf, NEXT, NEXT_NAME, nextVersion } from '../support/next-version.ts';
import { startTestPostgres, startTestServers } from '../support/servers.ts';
import { until } from '../support/until.ts';

test('daemons that start together on an empty database create the schema once', async (t) => {
  const { url } = await startTestPostgres(t);
  const states = await Promise.all([migrate(url), migrate(url), migrate(url)]);
  assert.deepEqual(states.map(({ migrated }) => migrated.length).toSorted(), [0, 0, NEWEST_MIGRATION]);
});

test('an upgrade that waits for a dump to end blocks nothing, and the earlier version keeps working', async (t) => {
  const { url } = await startTestPostgres(t);
  await migrate(url);
  const migrateToNext = await migrateOf(await nextVersion(t));
  const database = connectDatabase(t, url);
  const dump = await database.connect();
  await dump.query('begin; select count(*) from searches, deliveries');
  const reasons: string[] = [];
  const upgraded = migrateToNext(url, { onWaiting: (reason) => reasons.push(reason) });
  await until(
    async () => reasons.length,
    (count) => count > 0,
  );
  // Each query waits behind the upgrade at most until the upgrade gives up its lock request.
  for (let look = 0; look < 20; look++) await database.query('select from searches for update');
  await dump.query('commit');
  dump.release();
  assert.deepEqual(await upgraded, { migrated: [NEXT_NAME], unknown: [] });
  assert.match(reasons.join(), /lock timeout/);
  assert.deepEqual(await migrate(url), { migrated: [], unknown: [NEXT_NAME] });
});

test('a database older than this schema is refused with its state and the three remedies', async (t) => {
  const servers = await startTestServers(t);
  const database = connectDatabase(t, servers.postgres.url);
  // The table of the library that formerly ran migrations.
  await database.query(`
    create table schema_migrations (id serial primary key, name varchar(255) not null, run_on timestamp not null);
    insert into schema_migrations (name, run_on) values ('0001_schema', now()), ('0019_client-moves', now())`);
  for (const command of [['serve'], ['keys', 'list'], ['doctor', '--json']]) {
    const { code, stdout, stderr } = await runVigie(command, servers);
    assert.equal(code, 1);
    assert.match(
      stdout + stderr,
      /has a schema from before 0\.1\.0 \(0001_schema instead of 0001_schema_[0-9a-f]{8}\), which cannot be upgraded\. .*DATABASE_URL .*VIGIE_DATA_DIR.*, continue with the program that created it\./,
    );
  }
  const { rows } = await database.query("select from pg_tables where schemaname = 'public'");
  assert.equal(rows.length, 1, 'nothing was changed');
});

test('before the first release an edited schema has another name, but comments and later migrations do not matter', async (t) => {
  const { url } = await startTestPostgres(t);
  const {
    migrated: [name],
  } = await migrate(url);
  const edit = async (before: string, after: string) => {
    const root = await nextVersion(t);
    const file = join(root, 'src/engine/store/migrations/0001_schema.sql');
    const text = await readFile(file, 'utf8');
    assert.ok(text.includes(before));
    await writeFile(file, text.replace(before, after));
    return migrateOf(root);
  };
  const edited = await edit('create table clients (', 'create table clients (edited text,');
  await assert.rejects(edited(url), ({ code, message }: Error & { readonly code: string }) => {
    return code === 'SCHEMA_REFUSED' && message.includes(`(${name} instead of 0001_schema_`);
  });
  const commented = await edit('-- Clients.', '-- Those who ask.');
  assert.deepEqual(await commented(url), { migrated: [NEXT_NAME], unknown: [] });
});

test('a database from which a newer version has removed something is refused with a remedy', async (t) => {
  const servers = await startTestServers(t);
  await migrate(servers.postgres.url);
  await connectDatabase(t, servers.postgres.url).query(`select require_migration(${NEXT})`);
  for (const command of [['serve'], ['keys', 'list']]) {
    const { code, stderr } = await runVigie(command, servers);
    assert.equal(code, 1);
    assert.equal(
      stderr,
      `vigie: A newer version has upgraded the database: it requires migration ${NEXT}, and this version knows migrations ` +
        `up to ${NEWEST_MIGRATION}. Start the newer version again, or restore a backup from before the upgrade.\n`,
    );
  }
});

test('nothing is removed while an older version works, and an older version that was frozen meanwhile ends', async (t) => {
  const servers = await startTestServers(t);
  const daemon = await startDaemon(t, servers);
  const database = connectDatabase(t, servers.postgres.url);
  const raise = (to: number) => database.query(`select require_migration(${to})`);
  await raise(NEWEST_MIGRATION);
  const words = /while an older version works on it \([^;]+, process \d+ on [^;]+\)\. Stop that one, and start again/;
  // On a busy machine the last heartbeat may be older than ten seconds, as if the daemon had stopped.
  await database.query('update instances set seen_at = clock_timestamp()');
  await assert.rejects(raise(NEXT), words);
  // Raises the version as if the daemon had been frozen during an upgrade.
  await database.query('update schema_compatibility set compatible_from = $1', [NEXT]);
  const [code] = await once(daemon.process, 'exit');
  assert.equal(code, 1);
  const last = daemon.log.find(({ message }) => message === 'The daemon cannot continue.');
  assert.match(String(last?.failure), /^A newer version has upgraded the database: /);
});
