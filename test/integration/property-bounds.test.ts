/**
 * Properties, batches and statements have maximum sizes. A crawler that uses one property for everything affects only
 * that property, not others or the service.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type pg from 'pg';
import { readConfig } from '../../src/config.ts';
import { readState } from '../../src/engine/domain/stored-property.ts';
import { createApiKey, tuned } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { connectCrawler, numberedUuid, upsert } from '../support/intake.ts';
import { everythingTo, restClient } from '../support/rest-client.ts';
import { startTestServers } from '../support/servers.ts';
import { startHere } from '../support/service.ts';
import { until, untilIs } from '../support/until.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const KILOBYTE = 1_024;
const at = (second: number): string => new Date(Date.parse('2026-03-10T08:00:00Z') + second * 1_000).toISOString();

function large(property: number, advert: number, second: number, bytes: number) {
  const ids = { property: numberedUuid('property', property), advert: numberedUuid('advert', advert) };
  const message = upsert({ ...ids, crawledAt: at(second), price: 200_000 });
  return { ...message, advert: { ...message.advert, description: 'rade '.repeat(Math.ceil(bytes / 5)) } };
}

/** Recording a large property takes time that grows with the square of its size, so its bound is lower here. */
const boundedTo = (bytesMax: number) => tuned({ recordBounds: { ...readConfig({}).recordBounds, bytesMax } });

const statesOf = async (database: pg.Pool) => {
  const { rows } = await database.query<{ uuid: string; adverts: number; bytes: number; noted: number }>(
    `select uuid, json_array_length(state::json -> 1) as adverts, octet_length(state) as bytes,
       state_bytes as noted from properties order by uuid`,
  );
  return new Map(rows.map((row) => [row.uuid, row]));
};

const lettersOf = async (database: pg.Pool) =>
  (await database.query<{ reason: string; subject: string }>('select reason, subject from dead_letters order by id'))
    .rows;

test('adverts beyond the limits become dead letters that name the limit, and adverts of other properties are recorded', async (t) => {
  const servers = await startTestServers(t);
  const receiver = await startWebhookReceiver(t);
  const daemon = await startHere(t, servers, boundedTo(2_048 * KILOBYTE));
  const rest = restClient(daemon, await createApiKey(servers));
  await rest.createSearch({ ...everythingTo(receiver), subscribedEvents: ['property.ad.create'] });
  const crawler = await connectCrawler(t, servers.nats.url);
  const database = connectDatabase(t, servers.postgres.url);
  const heavy = numberedUuid('property', 1);
  const busy = numberedUuid('property', 2);
  const sent: unknown[] = [];
  for (let advert = 0; advert < 256; advert++) {
    sent.push(large(1, advert, advert, 12.5 * KILOBYTE), large(2, 1_000 + advert, advert, 100));
    sent.push(large(100 + advert, 2_000 + advert, advert, 100));
  }
  await crawler.publish(...sent);
  await untilIs(async () => (await statesOf(database)).size, 258);
  const letters = await until(
    () => lettersOf(database),
    (found) => found.filter(({ subject }) => subject === `adverts.${busy}`).length >= 56,
  );
  assert.match(
    letters.find(({ subject }) => subject.endsWith(busy))?.reason ?? '',
    /201 adverts, more than the limit \(200\)/,
  );
  // Every message is settled: acknowledged as recorded, or kept as a dead letter.
  await until(
    async () => (await fetch(`${daemon.operationsUrl}/metrics`)).text(),
    (metrics) =>
      /vigie_consumer_ack_pending\{stream="ADVERTS"\} 0\n/.test(metrics) &&
      /vigie_stage_in_flight\{stage="intake"\} 0\n/.test(metrics),
    240_000,
  );
  const after = await statesOf(database);
  assert.equal(after.get(busy)?.adverts, 200);
  const stored = after.get(heavy);
  assert.ok(stored !== undefined && stored.bytes <= 2 * KILOBYTE * KILOBYTE && stored.bytes === stored.noted);
  const refused = (await lettersOf(database)).filter(({ subject }) => subject.endsWith(heavy));
  assert.equal(refused.length + stored.adverts, 256);
  for (const { reason } of refused) assert.match(reason, /more than the limit|more than 64 of its messages wait/);
  const orphans = await database.query(
    'select from delivery_states where not exists (select from snapshots where snapshots.id = snapshot_id)',
  );
  assert.equal(orphans.rowCount, 0);
  // Messages that do not enlarge the property are recorded: an expiry, and an advert that shrinks.
  const expired = { property: { uuid: heavy }, advert: { uuid: numberedUuid('advert', 0) } };
  await crawler.publish({ kind: 'expire', crawledAt: at(900), ...expired }, large(1, 1, 900, 100));
  await until(
    async () => (await database.query(`select state from properties where uuid = $1`, [heavy])).rows[0].state as string,
    (state) =>
      readState(state).adverts.some(({ expiredAt }) => expiredAt === at(900)) &&
      Buffer.byteLength(state) < stored.bytes - 10 * KILOBYTE,
  );
  assert.equal(await daemon.end('SIGTERM'), 0);
});

test('a property that exceeds limits that were lowered later does not stop intake', async (t) => {
  const servers = await startTestServers(t);
  const daemon = await startHere(t, servers, boundedTo(1_024 * KILOBYTE));
  const crawler = await connectCrawler(t, servers.nats.url);
  const database = connectDatabase(t, servers.postgres.url);
  await crawler.publish(large(1, 1, 1, 100), large(2, 2, 1, 100));
  await untilIs(async () => (await statesOf(database)).size, 2);
  // Makes the properties as large as a former, higher bound allowed. They can only shrink.
  for (const [number, bytes] of [
    [1, 8_192 * KILOBYTE],
    [2, 2_048 * KILOBYTE],
  ] as const) {
    await database.query(
      `update properties set state = grown, state_bytes = octet_length(grown)
       from (
         select jsonb_set(state::jsonb, '{1,0,1,1}', to_jsonb(repeat('x', $2)))::text as grown
         from properties where uuid = $1
       ) larger where uuid = $1`,
      [numberedUuid('property', number), bytes],
    );
  }
  await crawler.publish(large(1, 1, 2, 200), large(2, 3, 2, 200), large(3, 4, 2, 200), large(2, 2, 3, 300));
  await until(
    () => statesOf(database),
    (found) =>
      found.has(numberedUuid('property', 3)) && (found.get(numberedUuid('property', 2))?.bytes ?? 0) < 8 * KILOBYTE,
  );
  const letters = await until(
    () => lettersOf(database),
    (found) => found.length === 1,
  );
  for (const { reason } of letters) assert.match(reason, /more than the limit \(1048576\)/);
  assert.equal(await daemon.end('SIGTERM'), 0);
});
