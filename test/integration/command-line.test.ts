/** The command line with mistakes in its arguments, with a file that does not exist, and interrupted. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { migrate } from '../../src/engine/store/database.ts';
import { connectTestBroker } from '../support/broker.ts';
import { runVigie, spawnVigie } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { numberedFlat } from '../support/intake.ts';
import { emptyDirectory, startTestServers } from '../support/servers.ts';
import { until, untilIs } from '../support/until.ts';

/** No server listens at these addresses. */
const NOWHERE = { postgres: { url: 'postgres://127.0.0.1:1/none' }, nats: { url: 'nats://127.0.0.1:1' } };

test('unknown commands and options exit with 2 and name the nearest one', async () => {
  for (const [line, words] of [
    ['amdin status', /^vigie: Unknown command amdin; the nearest one is admin\.\nvigie --help .*\n$/],
    ['keys craete', /^vigie: Unknown command craete; the nearest one is create\.\nvigie keys --help .*\n$/],
    [
      'admin deliveries shw',
      /^vigie: Unknown command shw; the nearest one is show\.\nvigie admin deliveries --help .*\n$/,
    ],
    ['publish --strikt x', /^vigie: Unknown option '--strikt'; the nearest one is --strict\.\nvigie publish --help /],
    ['admin status --jsn', /^vigie: Unknown option '--jsn'; the nearest one is --json\.\nvigie admin status --help /],
    ['demo --seconds', /^vigie: Option '--seconds <value>' argument missing\nvigie demo --help /],
    ['demo --seconds soon', /^vigie: --seconds takes a whole number\.\nvigie demo --help /],
    ['admin status --timeout 0', /^vigie: --timeout takes a whole number from 1\.\n/],
    ['publish a b', /^vigie: publish takes \[FILE\]\.\n/],
    ['keys create', /^vigie: keys create needs --client NAME\.\n/],
  ] as const) {
    const { code, stdout, stderr } = await runVigie(line.split(' '), NOWHERE);
    assert.match(stderr, words);
    assert.deepEqual([code, stdout], [2, ''], line);
  }
});

test('an unreadable file is reported in one sentence, even if other arguments are wrong too', async (t) => {
  const folder = await emptyDirectory(t);
  const missing = join(folder, 'missing');
  for (const [args, words] of [
    [['publish', missing], `Cannot read ${missing}: no such file or directory.`],
    [['publish', folder], `Cannot read ${folder}: it is a directory. Name a file.`],
  ] as const) {
    const told = await runVigie(args, NOWHERE);
    assert.deepEqual(told, { code: 1, stdout: '', stderr: `vigie: ${words}\n` });
  }
  const servers = await startTestServers(t);
  const imported = await runVigie(['import', 'points-of-interest', missing], servers);
  const stderr = `vigie: Cannot read ${missing}: no such file or directory.\n`;
  assert.deepEqual(imported, { code: 1, stdout: '', stderr });
});

test('interrupted publishing reports the number of stored messages and exits with 130', async (t) => {
  const servers = await startTestServers(t);
  const broker = await connectTestBroker(t, servers.nats.url);
  const command = spawnVigie(['publish'], servers);
  t.after(() => command.kill('SIGKILL'));
  const [stdout, stderr, exit] = [text(command.stdout), text(command.stderr), once(command, 'exit')];
  for (const number of [1, 2, 3]) command.stdin.write(`${JSON.stringify(numberedFlat(number, 1))}\n`);
  await untilIs(async () => (await broker.manager.streams.info('ADVERTS').catch(() => null))?.state.messages, 3);
  command.kill('SIGINT');
  assert.deepEqual(await exit, [130, null]);
  assert.equal(await stdout, '3 published, 0 already in the stream, 0 refused.\n');
  assert.match(await stderr, /^vigie: Interrupted. Publish the same lines again/);
});

test('an interrupted import leaves the source unchanged and exits with 130', async (t) => {
  const servers = await startTestServers(t);
  await migrate(servers.postgres.url);
  const file = join(await emptyDirectory(t), 'points.geojson');
  const geometry = { type: 'Point', coordinates: [5.93, 43.12] };
  const features = [{ type: 'Feature', geometry, properties: { amenity: 'school' } }];
  await writeFile(file, JSON.stringify({ type: 'FeatureCollection', features }));
  const database = connectDatabase(t, servers.postgres.url);
  const client = await database.connect();
  await client.query('begin; lock table points_of_interest_sources in exclusive mode');
  const command = spawnVigie(['import', 'points-of-interest', file], servers);
  t.after(() => command.kill('SIGKILL'));
  const [stdout, stderr, exit] = [text(command.stdout), text(command.stderr), once(command, 'exit')];
  await until(
    async () => (await database.query(`select from pg_locks where not granted`)).rowCount,
    (waiting) => waiting !== 0,
  );
  command.kill('SIGINT');
  await client.query('commit');
  client.release();
  assert.deepEqual(await exit, [130, null], await stderr);
  assert.equal(await stdout, '');
  assert.match(await stderr, /^vigie: Interrupted. \d+ objects were read, and nothing was imported\.\n$/);
  assert.equal((await database.query('select from points_of_interest_sources')).rowCount, 0);
});
