/** A delivering daemon under load, on servers of its own: what it is put through is the test's, the verdict the auditor's. */

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { connectBroker } from '../../src/engine/broker/connection.ts';
import { ensureRetries } from '../../src/engine/broker/topology.ts';
import { migrate, openDatabase } from '../../src/engine/store/database.ts';
import { countOpen } from './courier.ts';
import { auditDeliveries } from './delivery-auditor.ts';
import { seedDeliveries, seedSearch } from './seeded-deliveries.ts';
import { type Cleanup, startTestServers } from './servers.ts';
import { RECOVERY_MAX_MS, until } from './until.ts';
import { startWebhookReceiver } from './webhook-receiver.ts';

const RETRY_DELAY_MS = 1_000;
export const COURIER_SETTINGS = {
  VIGIE_ROLES: 'deliver',
  VIGIE_RETRY_DELAY_MS: String(RETRY_DELAY_MS),
  VIGIE_ATTEMPT_TIMEOUT_MS: '1000',
};

/** Servers, rows and a receiver with every kind of endpoint; `load` adds deliveries in the background. */
export async function openCourierScene(t: TestContext) {
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
  await ensureRetries(broker);
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
    // Announced to nobody, as where the recorder's process dies after its commit.
    await seedDeliveries(database, search, endpoints);
    expected.push(...endpoints);
  }

  /** A message whose handing-back was lost comes again after JetStream's `ack_wait` of 90 s. */
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

  const untilReceived = (count: number) => receiver.until((posts) => posts.length >= count, RECOVERY_MAX_MS);
  return { cleanup, servers, receiver, broker, load, audit, untilReceived };
}
