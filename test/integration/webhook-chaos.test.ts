/**
 * The delivering daemon and its servers are killed and restarted under load. Whatever was lost on the way, the auditor
 * must find every delivery ended by the rules.
 */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import pg from 'pg';
import { connectBroker } from '../../src/broker/connection.ts';
import { DELIVERIES_STREAM, ensureDeliveries } from '../../src/broker/topology.ts';
import { migrate, openDatabase } from '../../src/store/database.ts';
import { countOpen } from '../support/courier.ts';
import { startDaemon } from '../support/daemon.ts';
import { auditDeliveries } from '../support/delivery-auditor.ts';
import { publishSeeded, seedDeliveries, seedSearch } from '../support/seeded-deliveries.ts';
import { type Cleanup, startTestServers } from '../support/servers.ts';
import { until } from '../support/until.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const RETRY_DELAY_MS = 1_000;
const SETTINGS = {
  VIGIE_ROLES: 'deliver',
  VIGIE_RETRY_DELAY_MS: String(RETRY_DELAY_MS),
  VIGIE_ATTEMPT_TIMEOUT_MS: '1000',
};
/** A message whose handing-back was lost comes again after JetStream's `ack_wait` of 90 s; the sweeper acts after 150 s. */
const RECOVERY_MAX_MS = 240_000;

/** Servers, rows and a receiver with every kind of endpoint; `load` adds deliveries in the background. */
async function openScene(t: TestContext) {
  const closers: (() => Promise<unknown>)[] = [];
  t.after(async () => {
    for (const close of closers.reverse()) await close();
  });
  const cleanup: Cleanup = { after: (work) => closers.push(work) };
  const servers = await startTestServers(cleanup);
  const receiver = await startWebhookReceiver(cleanup);
  await migrate(servers.postgres.url);
  const database = openDatabase({ url: servers.postgres.url, connectionsMax: 3, onConnectionLost: () => undefined });
  closers.push(() => database.end());
  const broker = await connectBroker({ url: servers.nats.url, name: 'chaos', onStatus: () => undefined });
  closers.push(() => broker.close());
  await ensureDeliveries(broker);
  receiver.script('/silent', { type: 'hang' });
  receiver.script('/reset', { type: 'reset' }, { type: 'reset' }, { type: 'answer', status: 200 });
  receiver.script('/broken', { type: 'answer', status: 500 });
  const search = await seedSearch(database);
  const expected: string[] = [];

  async function load(count: number): Promise<void> {
    const endpoints = Array.from({ length: count }, (_, position) => {
      const bad = ['/silent', '/reset', '/broken'][Math.floor(position / 50)];
      return receiver.urlOf(position % 50 === 0 && bad !== undefined ? bad : `/ok/${position % 20}`);
    });
    const addresses = await seedDeliveries(database, search, endpoints);
    expected.push(...endpoints);
    // Published again and again until the server holds them, as the dispatcher does.
    await until(
      () =>
        publishSeeded(broker, addresses).then(
          () => true,
          () => false,
        ),
      Boolean,
    );
  }

  async function audit(): Promise<void> {
    await until(
      () => countOpen(database).catch(() => -1),
      (open) => open === 0,
      RECOVERY_MAX_MS,
    );
    const keyOf = ({ endpoint }: { endpoint: string }) => endpoint;
    const { posts } = receiver;
    assert.deepEqual(await auditDeliveries({ database, posts, retryDelayMs: RETRY_DELAY_MS, expected, keyOf }), []);
  }

  const untilReceived = (count: number) => receiver.until((posts) => posts.length >= count);
  return { cleanup, servers, receiver, database, broker, load, audit, untilReceived };
}

test('kill -9 of the daemon, again and again', async (t) => {
  const { cleanup, servers, receiver, load, audit, untilReceived } = await openScene(t);
  let daemon = await startDaemon(cleanup, servers, SETTINGS);
  for (let kill = 0; kill < 5; kill++) {
    await load(400);
    await untilReceived(receiver.posts.length + 150);
    await daemon.end('SIGKILL');
    daemon = await startDaemon(cleanup, servers, SETTINGS);
  }
  await audit();
  assert.equal(await daemon.end('SIGTERM'), 0);
});

test('kill -9 of nats-server, twice', async (t) => {
  const { cleanup, servers, receiver, load, audit, untilReceived } = await openScene(t);
  const daemon = await startDaemon(cleanup, servers, SETTINGS);
  for (let kill = 0; kill < 2; kill++) {
    await load(400);
    await untilReceived(receiver.posts.length + 100);
    await servers.nats.kill();
    await servers.nats.restart();
  }
  await audit();
  assert.equal(await daemon.end('SIGTERM'), 0);
});

test('the stream is deleted while deliveries wait in it', async (t) => {
  const { cleanup, servers, receiver, broker, load, audit, untilReceived } = await openScene(t);
  const daemon = await startDaemon(cleanup, servers, SETTINGS);
  await load(600);
  await untilReceived(receiver.posts.length + 50);
  await broker.manager.streams.delete(DELIVERIES_STREAM);
  await audit();
  assert.equal(await daemon.end('SIGTERM'), 0);
});

test('PostgreSQL is restarted, once gracefully and once not', async (t) => {
  const { cleanup, servers, receiver, load, audit, untilReceived } = await openScene(t);
  const daemon = await startDaemon(cleanup, servers, SETTINGS);
  await load(400);
  await untilReceived(receiver.posts.length + 100);
  await servers.postgres.stop();
  await servers.postgres.restart();
  await until(() => canConnect(servers.postgres.url), Boolean);
  await load(400);
  await untilReceived(receiver.posts.length + 100);
  await servers.postgres.kill();
  await servers.postgres.restart();
  await audit();
  assert.equal(await daemon.end('SIGTERM'), 0);
});

test('SIGTERM with a full queue: what was sent is recorded, and nothing is sent twice', async (t) => {
  const { cleanup, servers, receiver, load, audit, untilReceived } = await openScene(t);
  const first = await startDaemon(cleanup, servers, SETTINGS);
  await load(3_000);
  await untilReceived(500);
  assert.equal(await first.end('SIGTERM'), 0);
  assert.ok(receiver.posts.length < 3_000, 'the queue was still full');
  const second = await startDaemon(cleanup, servers, SETTINGS);
  await audit();
  const sentTwice = receiver.posts.filter(({ id, path }) => path.startsWith('/ok') && receiver.postsOf(id).length > 1);
  assert.deepEqual(sentTwice, []);
  assert.equal(await second.end('SIGTERM'), 0);
});

async function canConnect(url: string): Promise<boolean> {
  const client = new pg.Client(url);
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}
