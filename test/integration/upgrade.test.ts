/**
 * An upgrade under load, as the former version leaves its database and its streams: its deliveries in every state, its
 * messages, its pause, its lead, and its last acts while the present daemon walks the schema up and begins.
 */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import type pg from 'pg';
import { Webhook } from 'standardwebhooks';
import { connectBroker } from '../../src/broker/connection.ts';
import { ensureDeliveries, ensureIntake } from '../../src/broker/topology.ts';
import { randomUuid, type SearchNumber, type Uuid } from '../../src/domain/ids.ts';
import type { SearchRoute } from '../../src/domain/routing.ts';
import { loadReference } from '../../src/reference/communes.ts';
import { migrate } from '../../src/store/database.ts';
import { countOpen } from '../support/courier.ts';
import { type Daemon, runVigie, startDaemon } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { auditDeliveries } from '../support/delivery-auditor.ts';
import { FORMER_SCHEMA, startFormerWriter } from '../support/former-writer.ts';
import { connectCrawler, numberedUuid, upsert } from '../support/intake.ts';
import { auditRecords, deliveryKeyOf, type OracleSearch, replay } from '../support/replay-oracle.ts';
import { startTestServers } from '../support/servers.ts';
import { until } from '../support/until.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts';

const PROPERTIES = 12;
const RETRY_DELAY_MS = 1_000;
const SETTINGS = { VIGIE_RETRY_DELAY_MS: String(RETRY_DELAY_MS), VIGIE_ATTEMPT_TIMEOUT_MS: '20000' };

async function openScene(t: TestContext) {
  const closers: (() => Promise<unknown>)[] = [];
  t.after(async () => {
    for (const close of closers.reverse()) await close();
  });
  const cleanup = { after: (work: () => Promise<unknown>) => void closers.push(work) };
  const servers = await startTestServers(cleanup);
  const receiver = await startWebhookReceiver(cleanup);
  await migrate(servers.postgres.url, { newest: FORMER_SCHEMA });
  const database = connectDatabase(cleanup, servers.postgres.url);
  const broker = await connectBroker({ url: servers.nats.url, name: 'former', onStatus: () => undefined });
  await ensureIntake(broker);
  await ensureDeliveries(broker);
  await broker.close();
  const { resolvePlace } = await loadReference();
  const { route, search, token } = await saveAsFormer(database, receiver);
  const writer = await startFormerWriter(cleanup, servers, route, resolvePlace);
  const crawler = await connectCrawler(cleanup, servers.nats.url);
  const messages: ReturnType<typeof upsert>[] = [];

  /** Every property changes its price. */
  async function publishRound(): Promise<void> {
    const round = messages.length / PROPERTIES;
    const crawledAt = new Date(Date.UTC(2026, 2, 10, 8, 0, round)).toISOString();
    const batch = Array.from({ length: PROPERTIES }, (_, number) => {
      const [property, advert] = [numberedUuid('property', number), numberedUuid('advert', number)];
      return upsert({ property, advert, crawledAt, price: 100_000 + round });
    });
    await crawler.publish(...batch);
    messages.push(...batch);
  }

  return { cleanup, servers, receiver, database, resolvePlace, search, token, writer, messages, publishRound };
}

type Scene = Awaited<ReturnType<typeof openScene>>;

/** One search that wants everything. */
async function saveAsFormer(database: pg.Pool, receiver: WebhookReceiver) {
  const clientId = randomUuid();
  const token = `whsec_${randomBytes(32).toString('base64')}`;
  await database.query('insert into clients (id, name) values ($1, $2)', [clientId, 'of before']);
  const members = {
    endpointRecipient: receiver.urlOf('/matches'),
    eventEndpoint: receiver.urlOf('/events'),
    subscribedEvents: ['ad.update.price' as const],
  };
  const stored = { title: 'of before', notificationEnabled: true, withCoherentPrice: null, ...members } as const;
  const id = await insertSearch(database, clientId, token, stored);
  const { rows } = await database.query<{ number: SearchNumber }>('select number from searches where id = $1', [id]);
  const { number } = rows[0] as { number: SearchNumber };
  const route: SearchRoute = { number, id, clientId, ...members, hidePropertyContact: false, mail: null };
  return { route, search: { id, members: stored } satisfies OracleSearch, token };
}

/** As the former version's API did. */
async function insertSearch(
  database: pg.Pool,
  clientId: string,
  token: string,
  members: {
    title: string;
    notificationEnabled: boolean;
    endpointRecipient?: string;
    eventEndpoint?: string;
    subscribedEvents?: readonly string[];
  },
): Promise<Uuid> {
  const id = randomUuid();
  await database.query(
    `insert into searches (id, client_id, token, title, title_folded, members, notification_enabled,
       endpoint_recipient, event_endpoint, subscribed_events, hide_property_contact)
     values ($1, $2, $3, $4, $4, $5, $6, $7, $8, $9, false)`,
    [
      id,
      clientId,
      token,
      members.title,
      members,
      members.notificationEnabled,
      members.endpointRecipient,
      members.eventEndpoint,
      members.subscribedEvents ?? [],
    ],
  );
  return id;
}

test('what the former version leaves and goes on writing comes to its end in this one: nothing lost, nothing told twice', async (t) => {
  const scene = await openScene(t);
  const { servers, receiver, database, writer, messages, publishRound } = scene;
  await publishRound();
  await writer.takeIn(PROPERTIES);
  const alive = await leaveEveryState(scene);
  await publishRound();
  await writer.takeIn(PROPERTIES);
  await leavePaused(scene);

  let isStarted = false;
  const started = startDaemon(scene.cleanup, servers, SETTINGS).finally(() => {
    isStarted = true;
  });
  for (let round = 0; round < 3 || !isStarted; round++) {
    await publishRound();
    await writer.takeIn(PROPERTIES);
  }
  const daemon = await started;
  await sendAsFormer(scene, alive);
  await searchesStayCounted(scene, daemon);
  await publishRound();
  await writer.dieTakingIn(PROPERTIES);
  await publishRound();

  await until(
    () => countParked(database, receiver.urlOf('/events')),
    (count) => count === messages.length - PROPERTIES,
  );
  assert.ok(!receiver.posts.some(({ path }) => path === '/events'), 'the pause held');
  const resume = ['admin', 'endpoints', 'resume', receiver.urlOf('/events'), '--address', daemon.adminAddress];
  assert.equal((await runVigie(resume, servers)).code, 0);
  await audit(scene);
  assert.equal(await daemon.end('SIGTERM'), 0);
});

/** Of the first round's deliveries, all of them published: one in each state. Resolves with the one being sent. */
async function leaveEveryState(scene: Scene): Promise<string> {
  const { database, receiver, writer } = scene;
  const { rows } = await database.query<{ id: string }>('select id from deliveries order by id');
  const [died, alive, waiting, parked, cancelled, failed, delivered] = rows.map(({ id }) => id) as [
    ...[string, string, string, string, string, string, string],
  ];
  for (const id of [died, alive, delivered]) await claimAsFormer(database, id);
  await database.query("update deliveries set due_at = now() - interval '1 second' where id = $1", [died]);
  await logFailures(database, waiting, 1);
  const retryAt = Date.now() + RETRY_DELAY_MS;
  await database.query("update deliveries set state = 'retry_wait', due_at = $2 where id = $1", [
    waiting,
    new Date(retryAt),
  ]);
  await writer.publish(waiting, receiver.urlOf('/matches'), retryAt);
  await database.query("update deliveries set state = 'parked' where id = $1", [parked]);
  await database.query("update deliveries set state = 'cancelled', finished_at = now() where id = $1", [cancelled]);
  await logFailures(database, failed, 6);
  await database.query("update deliveries set state = 'failed', finished_at = now() where id = $1", [failed]);
  await sendAsFormer(scene, delivered);
  return alive;
}

/** A URL was paused for all who name it, under its key alone. */
async function leavePaused({ database, receiver }: Scene): Promise<void> {
  await database.query(
    `with parked as (
       update deliveries set state = 'parked' where endpoint = $1 returning endpoint_key
     )
     insert into endpoints (key, url, paused_at, pause_reason) select distinct endpoint_key, $1, now(), 'repair' from parked`,
    [receiver.urlOf('/events')],
  );
}

async function claimAsFormer(database: pg.Pool, id: string): Promise<void> {
  await database.query(
    `update deliveries set state = 'sending', attempt_count = attempt_count + 1,
       attempt_started_at = clock_timestamp(), due_at = clock_timestamp() + interval '10 minutes' where id = $1`,
    [id],
  );
}

/** The attempt that was claimed: posts it, and records the answer. */
async function sendAsFormer({ database, token }: Scene, id: string): Promise<void> {
  const { rows } = await database.query<{ endpoint: string; body: string; startedAt: Date }>(
    `select endpoint, head || document || '}}' as body, attempt_started_at as "startedAt"
     from deliveries join snapshots on snapshots.id = snapshot_id where deliveries.id = $1`,
    [id],
  );
  const { endpoint, body, startedAt } = rows[0] as (typeof rows)[number];
  const signature = new Webhook(token).sign(id, startedAt, body);
  const timestamp = String(Math.floor(startedAt.getTime() / 1_000));
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature };
  assert.equal((await fetch(endpoint, { method: 'POST', body, headers })).status, 200);
  await database.query(
    `with logged as (
       insert into attempts (delivery_id, number, started_at, duration_ms, status_code, response_head)
       select id, attempt_count, attempt_started_at, 2000, 200, '' from deliveries where id = $1
     )
     update deliveries set state = 'delivered', finished_at = clock_timestamp()
     where id = $1 and state in ('sending', 'queued', 'retry_wait', 'parked', 'failed')`,
    [id],
  );
}

async function logFailures(database: pg.Pool, id: string, count: number): Promise<void> {
  await database.query(
    `with logged as (
       insert into attempts (delivery_id, number, started_at, duration_ms, status_code, error, reason, response_head)
       select $1, number, now() - (7 - number) * interval '1 hour', 20, 500, 'status', 'HTTP 500', '' from generate_series(1, $2::integer) number
     )
     update deliveries set attempt_count = $2 where id = $1`,
    [id, count],
  );
}

/** What the former version's API writes of searches reaches the index and the sums of this one. */
async function searchesStayCounted({ database, token, search }: Scene, { operationsUrl }: Daemon): Promise<void> {
  const { rows } = await database.query<{ id: string }>('select client_id as id from searches where id = $1', [
    search.id,
  ]);
  const [client] = rows as [{ id: string }];
  const untilKnown = async (count: number): Promise<void> => {
    await until(
      async () => (await fetch(`${operationsUrl}/metrics`)).text(),
      (metrics) => metrics.includes(`\nvigie_searches ${count}\n`),
    );
    const totals = await database.query('select sum(searches)::integer as count from search_totals');
    assert.equal(totals.rows[0].count, count);
  };
  const id = await insertSearch(database, client.id, token, { title: 'beside', notificationEnabled: false });
  await untilKnown(2);
  await database.query(
    `update searches set deleted_at = now(), notification_enabled = false, revision = pg_current_xact_id()
     where id = $1`,
    [id],
  );
  await untilKnown(1);
}

async function countParked(database: pg.Pool, endpoint: string): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    "select count(*)::integer as count from deliveries where endpoint = $1 and state = 'parked'",
    [endpoint],
  );
  return rows[0]?.count ?? 0;
}

async function audit({ database, receiver, messages, search, resolvePlace }: Scene): Promise<void> {
  const expected = replay(messages, [search], resolvePlace);
  await until(
    () => countOpen(database),
    (open) => open === 0,
  );
  const audited = {
    database,
    posts: receiver.posts,
    retryDelayMs: RETRY_DELAY_MS,
    expected: expected.deliveries,
    keyOf: deliveryKeyOf,
    mayBeCancelled: true,
  };
  assert.deepEqual(await auditDeliveries(audited), []);
  assert.deepEqual(await auditRecords(database, expected), []);
  const ends = await database.query("select count(*)::integer as count from deliveries where state <> 'delivered'");
  assert.equal(ends.rows[0].count, 2, 'one had failed, one was cancelled');
}
