/** A client moves from one cell to another and back: what it has stays, and everything is told once, in its order. */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import type pg from 'pg';
import { connectBroker } from '../../src/engine/broker/connection.ts';
import { publish } from '../../src/engine/broker/publish.ts';
import { advertSubject } from '../../src/engine/broker/topology.ts';
import { type CellName, openTwoCells, type TwoCells } from '../support/cells.ts';
import type { Daemon, Settings } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { type RestClient, restClient } from '../support/rest-client.ts';
import { startSmtpReceiver } from '../support/smtp-receiver.ts';
import { until } from '../support/until.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts';

interface Scene {
  readonly cells: TwoCells;
  readonly daemons: Readonly<Record<CellName, Daemon>>;
  readonly receiver: WebhookReceiver;
  readonly key: string;
  in(cell: CellName): RestClient;
  /** A property in Toulon at a price. */
  publish(property: string, price: number): Promise<void>;
  move(...args: readonly string[]): Promise<string>;
}

interface Listed {
  readonly 'hydra:member': readonly Record<string, unknown>[];
  readonly 'hydra:totalItems': number;
}

async function openScene(t: TestContext, more: Settings = {}): Promise<Scene> {
  const cells = await openTwoCells(t);
  const receiver = await startWebhookReceiver(t);
  const settings = { VIGIE_RETRY_DELAY_MS: '4000', ...more };
  const daemons = { default: await cells.start('default', settings), west: await cells.start('west', settings) };
  const key = await cells.keyOf('default', 'acme');
  const broker = await connectBroker({ url: cells.nats.url, name: 'test', onStatus: () => undefined });
  t.after(() => broker.close());
  const advertOf = new Map<string, string>();
  return {
    cells,
    daemons,
    receiver,
    key,
    in: (cell) => restClient(daemons[cell], key),
    async publish(property, price) {
      const uuid = advertOf.get(property) ?? randomUUID();
      advertOf.set(property, uuid);
      const message = {
        kind: 'upsert',
        crawledAt: new Date().toISOString(),
        property: { uuid: property, transactionType: 0, propertyType: 0, city: { insee: '83137' } },
        advert: { uuid, title: 'Appartement', price, surface: 60 },
      };
      const bytes = Buffer.from(JSON.stringify(message));
      await publish(broker, { subject: advertSubject(property), messageId: randomUUID(), bytes });
    },
    async move(...args) {
      const { code, stdout, stderr } = await cells.cells('move', 'acme', ...args);
      assert.equal(code, 0, stderr);
      return stdout;
    },
  };
}

/** What a client can read of itself, but for times that go on. */
async function readAll(client: RestClient): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {};
  for (const path of ['/searches', '/matches', '/deliveries', '/webhook-secrets', '/recoveries', '/users']) {
    const { status, body } = await client.request<Listed>('GET', path);
    assert.equal(status, 200, path);
    answers[path] = [body['hydra:totalItems'], body['hydra:member']];
  }
  return answers;
}

async function readFeed(client: RestClient): Promise<readonly { id: string; body: unknown }[]> {
  const items: { id: string; body: unknown }[] = [];
  for (let after = ''; ; ) {
    const { status, body } = await client.request<{ items: { id: string; body: unknown }[]; next: string }>(
      'GET',
      `/feed?limit=7${after === '' ? '' : `&after=${after}`}`,
    );
    assert.equal(status, 200, JSON.stringify(body));
    if (body.items.length === 0) return items;
    items.push(...body.items);
    after = body.next;
  }
}

const numbersOf = (receiver: WebhookReceiver, property: string): readonly string[] =>
  receiver.posts.filter(({ body }) => body.includes(property)).map(({ headers }) => headers['vigie-sequence'] ?? '');

test('a client keeps all that it has, and is told everything once, wherever it lives', async (t) => {
  const scene = await openScene(t);
  const { receiver } = scene;
  const ready = { notificationEnabled: true, budgetMax: 300_000 };
  const told = await scene.in('default').createSearch({
    ...{ title: 'told', ...ready, context: { a: 1 }, subscribedEvents: ['ad.update.price'] },
    ...{ endpointRecipient: receiver.urlOf('/told'), eventEndpoint: receiver.urlOf('/told') },
  });
  await scene.in('default').createSearch({ title: 'fed', ...ready });
  const gone = await scene.in('default').createSearch({ title: 'gone', ...ready });
  receiver.script('/failing', { type: 'answer', status: 500 });
  await scene.in('default').createSearch({ title: 'failing', ...ready, endpointRecipient: receiver.urlOf('/failing') });
  await scene.in('default').request('POST', '/webhook-secrets', {});
  const properties = Array.from({ length: 8 }, () => randomUUID());
  for (const property of properties) await scene.publish(property, 250_000);
  await receiver.until((posts) => posts.filter(({ path }) => path === '/told').length === 8);
  await receiver.until((posts) => posts.filter(({ path }) => path === '/failing').length === 8);
  await scene.in('default').request('DELETE', gone.iri);
  await until(
    () => readFeed(scene.in('default')),
    (items) => items.length === 32,
  );
  const settled = (body: Listed): boolean => body['hydra:member'].every(({ status }) => status !== 'sending');
  await until(async () => (await scene.in('default').request<Listed>('GET', '/deliveries')).body, settled);
  // Attempts are still made at what fails: they have six in all.
  const [before, fedBefore] = [await readAll(scene.in('default')), await readFeed(scene.in('default'))];
  const cursor = (await scene.in('default').request<{ next: string }>('GET', '/feed?limit=3')).body.next;

  assert.equal(await scene.move('--to', 'west'), 'acme is in west\n');
  const after = await readAll(scene.in('west'));
  for (const path of ['/searches', '/matches', '/webhook-secrets', '/users'])
    assert.deepEqual(after[path], before[path]);
  const idsOf = (answers: Record<string, unknown>) =>
    (answers['/deliveries'] as [number, { '@id': string }[]])[1].map((delivery) => delivery['@id']);
  assert.deepEqual(idsOf(after), idsOf(before));
  // Of one match ids ascend; those of different ones were recorded in any order.
  assert.deepEqual(
    (await readFeed(scene.in('west'))).map(({ id }) => id),
    fedBefore.map(({ id }) => id).sort(),
  );
  const outdated = await scene.in('west').request('GET', `/feed?after=${cursor}`);
  assert.equal(outdated.status, 410);
  assert.match(String(outdated.body.detail), /from before the client was moved/);
  const misdirected = await scene.in('default').request('GET', '/searches');
  assert.deepEqual([misdirected.status, misdirected.headers.get('Vigie-Cell')], [421, 'west']);

  for (const [position, property] of properties.entries()) await scene.publish(property, 240_000 - position);
  const fresh = randomUUID();
  await scene.publish(fresh, 200_000);
  await receiver.until((posts) => posts.filter(({ path }) => path === '/told').length === 17);
  for (const property of properties) {
    assert.deepEqual(
      numbersOf(receiver, property).filter((_, i, all) => all.indexOf(all[i] as string) === i),
      ['1', '2'],
    );
  }
  receiver.script('/failing', { type: 'answer', status: 200 });
  const delivered = (body: Listed): boolean => body['hydra:member'].every(({ status }) => status === 'delivered');
  const ofFailing = (iri: string) =>
    scene.in('west').request<Listed>('GET', `/deliveries?search=${iri}&itemsPerPage=100`);
  const searches = (await scene.in('west').request<Listed>('GET', '/searches?title=failing')).body['hydra:member'];
  const failing = String(searches[0]?.['@id']);
  await until(async () => (await ofFailing(failing)).body, delivered);

  const [home, west] = (['default', 'west'] as const).map((cell) =>
    connectDatabase(t, scene.cells.servers[cell].postgres.url),
  ) as [pg.Pool, pg.Pool];
  await west.query('update searches set matches_per_mille = 500 where deleted_at is null');
  assert.equal(await scene.move('--to', 'default'), 'acme is in default\n');
  assert.equal((await scene.in('west').request('GET', '/searches')).headers.get('Vigie-Cell'), 'default');
  assert.equal((await scene.in('default').request('GET', `/feed?after=${cursor}`)).status, 410, 'of another stay');
  await scene.publish(fresh, 190_000);
  await receiver.until((posts) => posts.filter(({ path }) => path === '/told').length === 18);
  assert.deepEqual(numbersOf(receiver, fresh).filter((number) => number === '2').length, 1);
  const successes = receiver.posts.filter(({ status }) => status === 200).map(({ id }) => id);
  assert.equal(new Set(successes).size, successes.length, 'what was answered with 200 is never sent again');
  assert.equal((await scene.in('default').request('GET', told.iri)).body.title, 'told');
  const totals =
    'select coalesce(sum(searches), 0)::integer as searches, coalesce(sum(matches_per_mille), 0)::integer as matches from search_totals';
  assert.deepEqual((await home.query(totals)).rows, [{ searches: 3, matches: 1_500 }], 'limits count what is there');
  assert.deepEqual((await west.query(totals)).rows, [{ searches: 0, matches: 0 }]);
  for (const table of ['matches', 'deliveries', 'attempts', 'feed_batches', 'feed_items', 'webhook_secrets']) {
    assert.equal((await west.query(`select from ${table}`)).rowCount, 0, `${table} of a client that has left`);
  }
});

test('what cannot be moved is told, and left as it is', async (t) => {
  const scene = await openScene(t);
  const told = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await scene.cells.cells('move', ...args);
    assert.notEqual(code, 0);
    assert.equal(stdout, '');
    return stderr;
  };
  assert.match(await told('acme'), /cells move needs --to CELL, or --back/);
  assert.match(await told('acme', '--to', 'west', '--back'), /cells move needs --to CELL, or --back/);
  assert.match(await told('acme', '--to', 'east'), /unknown cell east; known are default, west/);
  assert.match(await told('nobody', '--to', 'west'), /no cell has a client nobody/);

  const home = connectDatabase(t, scene.cells.servers.default.postgres.url);
  const away = connectDatabase(t, scene.cells.servers.west.postgres.url);
  await home.query(`insert into site_categories (name) values ('Ailleurs')`);
  assert.match(await told('acme', '--to', 'west'), /acme cannot be moved: the target has no site category Ailleurs/);
  await home.query(`delete from site_categories where name = 'Ailleurs'`);

  await scene.cells.keyOf('west', 'acme');
  assert.match(await told('acme', '--to', 'west'), /several clients are called acme: say which by its id/);
  const id = String(
    (await scene.in('default').request<Listed>('GET', '/users')).body['hydra:member'][0]?.['@id'],
  ).slice(7);
  assert.match(await told(id, '--to', 'west'), /cannot be moved: another client of the target is called acme/);
  await away.query(`update clients set name = 'other'`);

  // Another command is at it.
  const other = await home.connect();
  await other.query(`select pg_advisory_lock(hashtextextended('vigie move ' || $1, 0))`, [id]);
  assert.match(await told('acme', '--to', 'west'), /acme is being moved by another command/);
  other.release(true);

  await away.query(`update schema_migrations set name = '9999_later' where name like '0001_schema%'`);
  assert.match(await told('acme', '--to', 'west'), /the cell west is of a newer version/);
  await away.query(`delete from schema_migrations where name = '9999_later'`);
  assert.match(await told('acme', '--to', 'west'), /the cell west has never been started/);
  await away.query(`insert into schema_migrations (name, run_on) values ('0001_schema', now())`);

  assert.equal(await scene.daemons.west.end('SIGKILL'), null);
  await until(
    () => away.query(`select from intake_leads where seen_at < clock_timestamp() - interval '10 seconds'`),
    ({ rowCount }) => rowCount === 1,
  );
  assert.match(await told('acme', '--to', 'west'), /nobody takes adverts in at west: start its daemons/);
  assert.equal((await scene.in('default').request('GET', '/searches')).status, 200);
  assert.equal(await scene.move('--to', 'default'), 'acme was in default already\n');
  assert.equal(await scene.move('--back'), 'acme is in default\n');
});

test('a cell that is held records up to the message, and goes on when the hold lapses', async (t) => {
  const scene = await openScene(t);
  const home = connectDatabase(t, scene.cells.servers.default.postgres.url);
  const recorded = async () => {
    const { rows } = await home.query<{ properties: number; position: string }>(
      'select (select count(*)::integer from properties) as properties, sequence as position from intake_position',
    );
    return [rows[0]?.properties, rows[0]?.position];
  };
  const publishNew = () => scene.publish(randomUUID(), 250_000);
  for (let count = 0; count < 3; count++) await publishNew();
  await until(recorded, (seen) => seen.join() === '3,3');
  await home.query(
    `update intake_leader set held_for = gen_random_uuid(), held_behind = 5, held_until = clock_timestamp() + interval '1 hour'`,
  );
  for (let count = 0; count < 6; count++) await publishNew();
  await until(recorded, (seen) => seen.join() === '5,5');
  const isTold = () => scene.daemons.default.log.some((line) => JSON.stringify(line).includes('held behind message 5'));
  await until(async () => isTold(), Boolean);
  assert.deepEqual(await recorded(), [5, '5']);
  await home.query('update intake_leader set held_until = clock_timestamp()');
  await until(recorded, (seen) => seen.join() === '9,9');
});

test('nothing is written of a client that is being moved, whichever instance knows of it', async (t) => {
  const scene = await openScene(t);
  const client = scene.in('default');
  const { iri } = await client.createSearch({ title: 'kept' });
  const home = connectDatabase(t, scene.cells.servers.default.postgres.url);
  // Nobody tells the daemon, which has just looked at the key.
  await home.query(`update clients set moving_until = clock_timestamp() + interval '1 hour'`);
  for (const [method, path, body] of [
    ['POST', '/searches', { title: 'lost' }],
    ['PUT', iri, { title: 'lost' }],
    ['DELETE', iri, undefined],
    ['POST', '/webhook-secrets', {}],
    ['POST', '/recoveries', { since: new Date(Date.now() - 60_000).toISOString() }],
  ] as const) {
    const { status, headers, body: told } = await client.request(method, path, body);
    assert.deepEqual([status, headers.get('Retry-After')], [503, '2'], `${method} ${path}: ${JSON.stringify(told)}`);
  }
  await home.query('update clients set moving_until = clock_timestamp()');
  await until(
    () => client.request('GET', iri),
    ({ status, body }) => status === 200 && body.title === 'kept',
  );
  assert.equal((await client.request<Listed>('GET', '/searches')).body['hydra:totalItems'], 1);
});

test('what waits to go by e-mail goes from where the client lives, and links of before lead there', async (t) => {
  const smtp = await startSmtpReceiver(t);
  const scene = await openScene(t, {
    VIGIE_SMTP_URL: smtp.url,
    VIGIE_MAIL_FROM: 'alerts@vigie.example',
    VIGIE_PUBLIC_URL: 'https://vigie.example',
    VIGIE_MAIL_GATHER_MS: '3600000',
  });
  const { iri } = await scene.in('default').createSearch({
    ...{ title: 'mailed', budgetMax: 300_000, notificationEnabled: true },
    ...{ notificationRecipient: 'someone@example.org' },
  });
  const sendNow = (cell: CellName) =>
    until(
      () =>
        connectDatabase(t, scene.cells.servers[cell].postgres.url).query(
          `update mail_items set due_at = clock_timestamp(), gathers_from = clock_timestamp() where state = 'queued'`,
        ),
      ({ rowCount }) => rowCount === 1,
    );
  await scene.publish(randomUUID(), 250_000);
  await sendNow('default');
  await until(
    async () => smtp.mails.length,
    (count) => count === 1,
  );
  await scene.publish(randomUUID(), 240_000);
  const byMail = (cell: CellName, status: string) =>
    until(
      () => scene.in(cell).request<Listed>('GET', `/deliveries?channel=email&status=${status}`),
      ({ body }) => body['hydra:totalItems'] === 1,
    );
  await byMail('default', 'queued');
  await scene.move('--to', 'west');
  await byMail('west', 'queued');
  await sendNow('west');
  await until(
    async () => smtp.mails.length,
    (count) => count === 2,
  );
  const link = /https:\/\/vigie\.example(\/unsubscribe\/[0-9a-f]{12}\.[\w-]{22})/.exec(
    smtp.mails[0]?.parsed.text ?? '',
  )?.[1];
  const click = (cell: CellName) => fetch(`${scene.daemons[cell].apiUrl}${link}`, { method: 'POST' });
  const misdirected = await click('default');
  assert.deepEqual([misdirected.status, misdirected.headers.get('Vigie-Cell')], [421, 'west']);
  assert.equal((await click('west')).status, 200);
  assert.equal((await scene.in('west').request('GET', iri)).body.emailStatus, 'unsubscribed');
});
