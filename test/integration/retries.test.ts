/** A failed delivery is attempted five more times, each after a delay from the end of the attempt before. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect, type NatsConnection } from 'nats';
import { createApiKey } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { connectCrawler, numberedFlat } from '../support/intake.ts';
import { restClient } from '../support/rest-client.ts';
import { type Cleanup, startTestServers, type TestServers } from '../support/servers.ts';
import { startHere } from '../support/service.ts';
import { until } from '../support/until.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const HOUR_MS = 3_600_000;
const failing = { type: 'answer', status: 500, body: 'not today' } as const;
const change = numberedFlat(1, 250_000, '2026-03-10T08:15:00+01:00');

test('with the defaults the second attempt is due one hour after the end of the first', async (t) => {
  const servers = await startTestServers(t);
  const receiver = await startWebhookReceiver(t);
  const daemon = await startHere(t, servers);
  const rest = restClient(daemon, await createApiKey(servers));
  receiver.script('/failing', failing);
  await rest.createSearch({ title: 'x', notificationEnabled: true, endpointRecipient: receiver.urlOf('/failing') });
  await (await connectCrawler(t, servers.nats.url)).publish(change);

  const database = connectDatabase(t, servers.postgres.url);
  const [row] = await until(
    async () =>
      (
        await database.query(`
          select extract(epoch from due_at - (started_at + duration_ms * interval '1 millisecond')) * 1000 as due_after_ms,
            extract(epoch from due_at - clock_timestamp()) * 1000 as due_in_ms
          from delivery_states join attempts on delivery_id = id where state = 'retry_wait'`)
      ).rows,
    (rows) => rows.length === 1,
  );
  assert.ok(Number(row.due_after_ms) >= HOUR_MS, `due ${row.due_after_ms} ms after the attempt`);
  assert.ok(
    Number(row.due_in_ms) <= HOUR_MS,
    `due in ${row.due_in_ms} ms: the hour counts from the recording at the latest`,
  );

  const connection = await connectNats(t, servers);
  const manager = await connection.jetstreamManager();
  const waiting = await until(
    async () => {
      const consumers = await manager.consumers.list('RETRIES').next();
      return consumers.reduce((sum, { num_ack_pending }) => sum + num_ack_pending, 0);
    },
    (count) => count === 1,
  );
  assert.equal(waiting, 1, 'the message waits in the consumer, handed back with a delay');
  assert.equal(receiver.posts.length, 1);
  assert.equal(await daemon.end('SIGTERM'), 0);
});

async function connectNats(cleanup: Cleanup, { nats }: TestServers): Promise<NatsConnection> {
  const { host, username, password } = new URL(nats.url);
  const connection = await connect({ servers: host, ...(username ? { user: username, pass: password } : {}) });
  cleanup.after(() => connection.close());
  return connection;
}
