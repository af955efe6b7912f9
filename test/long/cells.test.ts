/** Growth by cells: a new one is filled from another, goes on in the stream behind it, and tells its own clients alone. */

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import { type Broker, connectBroker } from '../../src/engine/broker/connection.ts';
import { readConsumerPosition } from '../../src/engine/broker/stream-position.ts';
import { ADVERTS_STREAM } from '../../src/engine/broker/topology.ts';
import { migrate } from '../../src/engine/store/database.ts';
import { movedTables } from '../../src/features/cells/client-copy.ts';
import { FILLED_TABLES } from '../../src/features/cells/fill.ts';
import { openTwoCells, type TwoCells } from '../support/cells.ts';
import type { Daemon } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { publishAdverts } from '../support/operator-scene.ts';
import { restClient } from '../support/rest-client.ts';
import { startTestPostgres } from '../support/servers.ts';
import { until } from '../support/until.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const connect = async (t: TestContext, { nats }: TwoCells, cell: string | null): Promise<Broker> => {
  const broker = await connectBroker({ url: nats.url, cell, name: 'test', onStatus: () => undefined });
  t.after(() => broker.close());
  return broker;
};

/** Every property with all that is held of it, as the database writes it. */
async function propertiesOf(t: TestContext, url: string): Promise<readonly string[]> {
  const database = connectDatabase(t, url);
  const { rows } = await database.query<{ row: string }>(
    `select jsonb_build_array(uuid, state, crawls, keys, facts, (
         select jsonb_agg(jsonb_build_array(kind, field_name, events.created_at, recorded_at) order by id)
         from events where events.property_uuid = uuid))::text as row
     from properties left join property_summaries on property_uuid = uuid order by uuid`,
  );
  return rows.map(({ row }) => row);
}

async function untilTaken(broker: Broker): Promise<void> {
  const { last_seq } = (await broker.manager.streams.info(ADVERTS_STREAM)).state;
  await until(
    () => readConsumerPosition(broker, ADVERTS_STREAM, broker.names.intakeConsumer),
    ({ acknowledgedUpTo }) => acknowledgedUpTo === last_seq,
  );
}

const searchFor = (daemon: Daemon, key: string, endpointRecipient: string) =>
  restClient(daemon, key).createSearch({
    title: 'Toulon',
    budgetMax: 300_000,
    notificationEnabled: true,
    endpointRecipient,
  });

test('a new cell is filled by one command, goes on behind the copy, and each cell tells its own clients', async (t) => {
  const scene = await openTwoCells(t);
  const receiver = await startWebhookReceiver(t);
  const first = await scene.start('default');
  const [broker, west] = await Promise.all([connect(t, scene, null), connect(t, scene, 'west')]);
  await searchFor(first, await scene.keyOf('default', 'acme'), receiver.urlOf('/acme'));
  await publishAdverts(broker, 30);
  await receiver.until((posts) => posts.length === 30);
  await untilTaken(broker);
  // The position is written once a second.
  await until(
    () => scene.cells('fill', 'west', '--from', 'default'),
    ({ stdout, stderr }) => {
      assert.ok(stdout !== '' || stderr.includes('it has not recorded any advert'), stderr);
      return stdout !== '';
    },
  );
  const copied = await propertiesOf(t, scene.servers.west.postgres.url);
  assert.ok(copied.length > 0);
  const again = await scene.cells('fill', 'west', '--from', 'default');
  assert.match(again.stdout, /^west had been filled already, with \d+ properties up to message \d+\n$/);
  const begun = await readConsumerPosition(west, ADVERTS_STREAM, west.names.intakeConsumer);
  assert.ok(begun.acknowledgedUpTo > 0, 'what is in the copy is not taken in again');

  const second = await scene.start('west');
  await searchFor(second, await scene.keyOf('west', 'breizh'), receiver.urlOf('/breizh'));
  await publishAdverts(broker, 20);
  await receiver.until((posts) => posts.length === 30 + 20 + 20);
  await Promise.all([broker, west].map(untilTaken));
  const pathsOf = () => receiver.posts.map(({ path }) => path);
  assert.equal(pathsOf().filter((path) => path === '/breizh').length, 20);
  assert.equal(new Set(receiver.posts.map(({ id }) => id)).size, 70, 'nothing is told twice');
  const [ofFirst, ofSecond] = await Promise.all([
    propertiesOf(t, scene.servers.default.postgres.url),
    propertiesOf(t, scene.servers.west.postgres.url),
  ]);
  assert.equal(ofFirst.length, 50);
  assert.deepEqual(
    ofSecond.map((row) => JSON.parse(row)[0]),
    ofFirst.map((row) => JSON.parse(row)[0]),
    'both hold every property',
  );
  const held = new Set([...ofFirst]);
  for (const row of copied) assert.ok(held.has(row), 'a property is copied as it was');
  assert.equal(second.log.filter(({ message }) => String(message).includes('restored')).length, 0);

  await second.end('SIGTERM');
  const refused = await scene.cells('fill', 'west', '--from', 'default');
  assert.deepEqual(refused, {
    code: 1,
    stdout: '',
    stderr: 'vigie: west: it has taken adverts in by itself: only a new cell can be filled\n',
  });
});

test('a daemon of another cell is refused by the database, whatever it is called', async (t) => {
  const scene = await openTwoCells(t);
  const first = await scene.start('default');
  await assert.rejects(
    scene.start('default', { VIGIE_CELL: 'west' }),
    /VIGIE_CELL is west, and DATABASE_URL is the database of the cell default/,
  );
  await scene.start('west');
  await assert.rejects(
    scene.start('west', { VIGIE_CELL: '' }),
    /VIGIE_CELL is not set, and DATABASE_URL is the database of the cell west/,
  );
  assert.equal(await first.end('SIGTERM'), 0);
});

test('what is wrong with the cells is told before anything is done', async (t) => {
  const scene = await openTwoCells(t);
  const told = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await scene.cells(...args);
    assert.deepEqual([code === 0, stdout], [false, '']);
    return stderr;
  };
  assert.match(await told('map'), /^vigie: the cell default has never been started\n$/);
  assert.match(await told('fill', 'wset', '--from', 'default'), /unknown cell wset; known are default, west/);
  assert.match(await told('fill', 'west'), /cells fill needs --from CELL/);
  assert.match(await told('fill', 'west', '--from', 'west'), /a cell cannot be filled from itself/);
  const first = await scene.start('default');
  assert.match(await told('fill', 'west', '--from', 'default'), /^vigie: default: it has not recorded any advert\n$/);
  assert.match(await told('fill', 'default', '--from', 'west'), /default: a daemon takes adverts in there/);
  await first.end('SIGTERM');

  const file = scene.file;
  const { url } = scene.servers.default.postgres;
  for (const [text, words] of [
    ['', 'names no cell'],
    [`West ${url}`, 'line 1: a cell is called by 1 to 32 lower-case letters'],
    ['# first\n\nwest mysql://h/d', 'line 3: behind west stands the URL of its PostgreSQL'],
    [`west ${url}\nwest ${url}x`, 'line 2: west is named twice'],
    [`west ${url}\neast ${url}`, 'line 2: another cell has the same database'],
    [`west ${url} 5`, 'line 1: a line has a name and a URL'],
    [`east ${url}`, 'calls a database east that is of another cell, the one without a name (default)'],
    ['west postgres://127.0.0.1:1/none', 'the database of the cell west is not to be reached'],
  ] as const) {
    await writeFile(file, text);
    const said = await told('map');
    assert.ok(said.includes(words), said);
    assert.ok(!said.includes(url), 'no password is repeated');
  }
});

test('the map names each key and link once, and the client whose key begins like another one’s', async (t) => {
  const scene = await openTwoCells(t);
  const [first, second] = [await scene.start('default'), await scene.start('west')];
  const keys = [
    await scene.keyOf('default', 'acme'),
    await scene.keyOf('default', 'acme'),
    await scene.keyOf('west', 'breizh'),
  ];
  const { stdout } = await scene.cells('map');
  const [title, ...lines] = stdout.trim().split('\n');
  assert.match(title ?? '', /^# /);
  const cellOf = new Map(lines.map((line) => /^(\S+) (\S+);$/.exec(line)?.slice(1) as [string, string]));
  assert.deepEqual(
    keys.map((key) => cellOf.get(key.slice(0, 'vigie_'.length + 8))),
    ['default', 'default', 'west'],
  );
  const links = [...cellOf].filter(([mark]) => /^unsubscribe_[0-9a-f]{12}$/.test(mark)).map(([, cell]) => cell);
  assert.deepEqual(links.sort(), ['default', 'west']);
  assert.equal(lines.length, 5);

  const database = connectDatabase(t, scene.servers.west.postgres.url);
  await database.query('update api_keys set prefix = $1', [(keys[0] as string).slice(6, 14)]);
  const { code, stderr } = await scene.cells('map');
  assert.equal(code, 1);
  assert.match(stderr, /keys of acme \(default\) and breizh \(west\) begin alike, vigie_[0-9a-f]{8}: revoke one/);
  for (const daemon of [first, second]) await daemon.end('SIGTERM');
});

test('of every table it is said whether it is filled with a new cell, goes along with a client, or stays', async (t) => {
  const { url } = await startTestPostgres(t);
  await migrate(url);
  const { rows } = await connectDatabase(t, url).query<{ name: string }>(
    `select relname as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace order by relname`,
  );
  // Of one database and its servers, or made from others; feeds begin where a client has come from. Files are read for all
  // cells by one.
  const staying = [
    ...[
      'cell',
      'controls',
      'couriers',
      'dead_letters',
      'feed_floors',
      'feed_keys',
      'feed_publications',
      'instances',
      'intake_leader',
      'intake_leads',
    ],
    ...['intake_position', 'intake_reach', 'schema_compatibility', 'schema_migrations', 'search_totals'],
  ];
  assert.deepEqual(
    [...FILLED_TABLES, ...movedTables(), ...staying].sort(),
    rows.map(({ name }) => name),
  );
});
