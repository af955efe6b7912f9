/** `vigie backup` and `vigie restore` as operators use them, with refusals, interruptions and erased recipients. */

import assert from 'node:assert/strict';
import { access, lstat, readdir, readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import type pg from 'pg';
import { examine } from '../../src/cli/doctor/doctor.ts';
import { readConfig } from '../../src/config.ts';
import { environmentOf, runVigie, spawnVigie, startDaemon } from '../support/daemon.ts';
import { withClient } from '../support/database.ts';
import { copyTestCluster, emptyDirectory } from '../support/servers.ts';
import { until, untilIs } from '../support/until.ts';

/** Neither URL is set: both servers are embedded. */
const EMBEDDED = { postgres: { url: '' }, nats: { url: '' } };
const serverBin = process.env.NATS_SERVER_BIN || '';
const PATH = `${serverBin === '' ? '' : `${dirname(serverBin)}:`}${process.env.PATH}`;

type Scene = Awaited<ReturnType<typeof openScene>>;

async function openScene(t: Parameters<typeof emptyDirectory>[0]) {
  const dataDir = await emptyDirectory(t);
  const folder = await emptyDirectory(t);
  await copyTestCluster(dataDir);
  const settings = { VIGIE_DATA_DIR: dataDir, VIGIE_NATS_PORT: '0', PATH };
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await runVigie(args, EMBEDDED, { settings });
    return { code, said: `${stdout}${stderr}` };
  };
  return { dataDir, folder, file: join(folder, 'backup.tar.gz'), home: join(dataDir, 'postgres'), settings, run };
}

async function withSuperuser<T>({ dataDir, home }: Scene, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const { databaseUrl } = JSON.parse(await readFile(join(dataDir, 'running.json'), 'utf8')) as { databaseUrl: string };
  const password = (await readFile(join(home, 'superuser-password'), 'utf8')).trim();
  return withClient(Object.assign(new URL(databaseUrl), { username: 'vigie_superuser', password }).href, work);
}

async function slotsOf(client: pg.Client): Promise<readonly unknown[]> {
  return (await client.query('select slot_name from pg_replication_slots')).rows;
}

async function findingsOf({ settings }: Scene, now: Date): Promise<readonly string[]> {
  const config = readConfig(environmentOf(EMBEDDED, settings));
  const findings = await examine(config, now);
  return findings.flatMap(({ level, text }) => (text.includes('backup') ? [`${level}: ${text}`] : []));
}

test('a backup of a running service is private, complete or absent, and reported by the doctor', async (t) => {
  const scene = await openScene(t);
  const { dataDir, folder, file, run } = scene;
  const daemon = await startDaemon(t, EMBEDDED, scene.settings);
  assert.deepEqual(await findingsOf(scene, new Date()), ['look at: There is no backup.']);
  assert.equal((await run('backup', file)).code, 0);
  assert.deepEqual(await readdir(folder), ['backup.tar.gz']);
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  const at = Date.parse((await readFile(join(dataDir, 'last-backup'), 'utf8')).trim());
  assert.deepEqual(await findingsOf(scene, new Date(at + 19.9 * 3_600_000)), [
    'fine: The last backup is 19 hours old.',
  ]);
  assert.match(
    String(await findingsOf(scene, new Date(at + 20.1 * 3_600_000))),
    /^look at: The last backup is 20 hours/,
  );

  const unwritable = await run('backup', join(folder, 'nowhere', 'backup.tar.gz'));
  assert.equal(unwritable.code, 1);
  assert.match(unwritable.said, /^vigie: Cannot read .*nowhere: no such file or directory\.$/m);
  const link = join(folder, 'link.tar.gz');
  await symlink(file, link);
  for (const other of [link, folder]) {
    const replacing = await run('backup', other);
    assert.equal(replacing.code, 1);
    assert.match(replacing.said, /is not a regular file/);
  }
  assert.ok((await lstat(link)).isSymbolicLink());
  const refused = await run('restore', file);
  assert.equal(refused.code, 1);
  assert.match(refused.said, /in use by another Vigie daemon \(process \d+\)\. Stop that daemon/);
  await withSuperuser(scene, (client) =>
    until(
      () => slotsOf(client),
      (slots) => slots.length === 0,
    ),
  );
  assert.equal(await daemon.end('SIGTERM'), 0);
});

test('an interrupted backup leaves no file, no slot and no backup state', async (t) => {
  const scene = await openScene(t);
  const daemon = await startDaemon(t, EMBEDDED, scene.settings);
  await withSuperuser(scene, async (client) => {
    const command = spawnVigie(['backup', scene.file], EMBEDDED, { settings: scene.settings });
    const ended = new Promise<number | null>((resolve) => command.once('exit', resolve));
    await until(
      () => slotsOf(client),
      (slots) => slots.length > 0,
    );
    command.kill('SIGINT');
    assert.equal(await ended, 130);
    await untilIs(async () => (await slotsOf(client)).length, 0);
  });
  assert.deepEqual(await readdir(scene.folder), []);
  await assert.rejects(access(join(scene.dataDir, 'last-backup')));
  assert.equal(await daemon.end('SIGTERM'), 0);
});

test('a restore keeps the former database, creates new passwords, and changes nothing if the file is incomplete', async (t) => {
  const scene = await openScene(t);
  const { home, file, folder, run } = scene;
  assert.equal((await run('keys', 'create', '--client', 'before')).code, 0);
  assert.equal((await run('backup', file)).code, 0);
  assert.equal((await run('keys', 'create', '--client', 'after')).code, 0);
  const password = await readFile(join(home, 'password'), 'utf8');
  const before = await readdir(home);

  const halved = join(folder, 'half.tar.gz');
  await writeFile(halved, await readFile(file));
  await truncate(halved, Math.floor((await stat(file)).size / 2));
  await writeFile(join(folder, 'none.tar.gz'), 'no archive');
  for (const [name, reason] of [
    ['half.tar.gz', /Cannot unpack .*half\.tar\.gz: .*unexpected end of file/],
    ['none.tar.gz', /Cannot unpack .*none\.tar\.gz: .*not in gzip format/],
    ['missing.tar.gz', /Cannot unpack .*missing\.tar\.gz: .*No such file/],
  ] as const) {
    const { code, said } = await run('restore', join(folder, name));
    assert.equal(code, 1);
    assert.match(said, reason);
    assert.deepEqual(await readdir(home), before);
  }

  const { code, said } = await run('restore', file);
  assert.equal(code, 0, said);
  assert.match(said, /API keys .* are valid again/);
  const [, former = ''] = /The former database is kept in (.*)\. Remove it/.exec(said) ?? [];
  assert.equal(dirname(former), home);
  await access(join(former, 'PG_VERSION'));
  const listed = await run('keys', 'list');
  assert.match(listed.said, /before/);
  assert.doesNotMatch(listed.said, /after/);
  assert.notEqual(await readFile(join(home, 'password'), 'utf8'), password);
});

test('a recipient erased after a backup stays erased after its restore, even if a newer backup was restored first', async (t) => {
  const scene = await openScene(t);
  const { dataDir, folder, file, run } = scene;
  const searches = join(folder, 'searches.json');
  await writeFile(searches, JSON.stringify([{ title: 'T3', notificationRecipient: 'jo@example.org' }]));
  assert.equal((await run('keys', 'create', '--client', 'acme')).code, 0);
  const imported = await run('import', 'searches', '--client', 'acme', searches);
  assert.equal(imported.code, 0, imported.said);
  const shown = async () => (await run('recipients', 'show', 'JO@example.org')).said;
  assert.match(await shown(), /\n {2}name acme\n[^]*\n {4}title T3\n/);
  const { clients } = JSON.parse((await run('recipients', 'export', 'jo@example.org')).said);
  assert.equal(clients[0].searches[0].title, 'T3');
  assert.equal((await run('backup', file)).code, 0);
  assert.match((await run('recipients', 'erase', 'jo@example.org')).said, /^acme: erased from 1 searches/);
  const newer = join(folder, 'newer.tar.gz');
  assert.equal((await run('backup', newer)).code, 0);
  const isChoices = (name: string): boolean => name.startsWith('recipients.');
  const [name = ''] = (await readdir(dataDir)).filter(isChoices);
  await rm(join(dataDir, name));
  for (const each of [newer, file]) {
    const { code, said } = await run('restore', each);
    assert.equal(code, 0, said);
  }
  assert.deepEqual((await readdir(dataDir)).filter(isChoices), [name]);
  assert.match(await shown(), / {4}title T3\n/);
  const daemon = await startDaemon(t, EMBEDDED, scene.settings);
  assert.match(await shown(), /\n {2}erasedAt \S+\n(?! {2}searches)/);
  assert.equal(await daemon.end('SIGTERM'), 0);
});

test('for an external PostgreSQL both commands name its tools, and a directory without a database is not backed up', async (t) => {
  const { file, run, folder } = await openScene(t);
  for (const command of ['backup', 'restore']) {
    const { code, stderr } = await runVigie([command, file], { ...EMBEDDED, postgres: { url: 'postgres://a@b/c' } });
    assert.equal(code, 1);
    assert.match(stderr, /pg_dump --format=custom .*\n.*pg_restore /);
  }
  const settings = { VIGIE_DATA_DIR: join(folder, 'mistyped'), PATH };
  const { code, stderr } = await runVigie(['backup', file], EMBEDDED, { settings });
  assert.equal(code, 1);
  assert.match(stderr, /mistyped has no embedded PostgreSQL. Set VIGIE_DATA_DIR/);
  assert.deepEqual(await readdir(folder), []);
  assert.equal((await run('backup')).code, 2);
});
