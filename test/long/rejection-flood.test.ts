/**
 * A faulty crawler publishes thousands of invalid messages as fast as the stream accepts them. Adverts of
 * another crawler are recorded at the same time, all rejections are notified, and the daemon's memory stays limited.
 */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import { publishAll } from '../../src/engine/broker/publish.ts';
import { connectTestBroker } from '../support/broker.ts';
import { startDaemon } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { numberedUuid, upsert } from '../support/intake.ts';
import { startTestServers } from '../support/servers.ts';
import { until, untilIs } from '../support/until.ts';

const REFUSED = 20_000;
const GOOD = 400;
const PADDING = 'x'.repeat(8_000);
/** All messages are 160 MB, and twice as much once decoded. Growth below this limit is normal garbage. */
const GROWTH_MAX_KB = 200 * 1_024;

const flood = Array.from({ length: REFUSED }, (_, number) => ({
  subject: `adverts.${numberedUuid('property', number)}`,
  messageId: `mad-${number}`,
  bytes: Buffer.from(
    number % 2 === 0
      ? `{"nonsense": ${PADDING}`
      : JSON.stringify({ kind: 'upsert', crawledAt: 'now', [`invented-${number}`]: 1, padding: PADDING }),
  ),
}));
const good = Array.from({ length: GOOD }, (_, number) => {
  const property = numberedUuid('property', REFUSED + number);
  const message = upsert({
    property,
    advert: numberedUuid('advert', number),
    crawledAt: '2026-03-10T08:15:00Z',
    price: 1,
  });
  return { subject: `adverts.${property}`, messageId: `good-${number}`, bytes: Buffer.from(JSON.stringify(message)) };
});

async function openFlood(t: TestContext) {
  const servers = await startTestServers(t);
  const broker = await connectTestBroker(t, servers.nats.url, 'mad crawler');
  const daemon = await startDaemon(t, servers);
  const database = connectDatabase(t, servers.postgres.url);
  const samples = async (): Promise<ReadonlyMap<string, number>> => {
    const text = await (await fetch(`${daemon.operationsUrl}/metrics`)).text();
    return new Map(text.split('\n').map((line) => [line.split(' ')[0] ?? '', Number(line.split(' ')[1])]));
  };
  const residentKb = async () => {
    const status = await readFile(`/proc/${daemon.process.pid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]);
  };
  const count = async (table: string) => Number((await database.query(`select count(*) from ${table}`)).rows[0].count);
  return { broker, samples, residentKb, count };
}

test('a flood of rejected messages is stored and published, and does not delay other messages', async (t) => {
  const { broker, samples, residentKb, count } = await openFlood(t);
  const before = await residentKb();
  // Interleaved as from two crawlers: valid messages are spread over the whole flood.
  const every = REFUSED / GOOD;
  const mixed = good.flatMap((publication, number) => [
    ...flood.slice(number * every, (number + 1) * every),
    publication,
  ]);
  await publishAll(broker, mixed);
  let most = 0;
  let inFlight = 0;
  await until(
    async () => {
      most = Math.max(most, await residentKb());
      inFlight = Math.max(inFlight, (await samples()).get('vigie_stage_in_flight{stage="intake"}') ?? 0);
      return { recorded: await count('properties'), kept: await count('dead_letters') };
    },
    ({ recorded, kept }) => recorded === GOOD && kept === REFUSED,
  );
  // Messages that a busy machine makes intake read again may be notified again.
  await until(samples, (seen) => (seen.get('vigie_rejections_total{result="published"}') ?? 0) >= REFUSED);
  assert.equal((await samples()).get('vigie_rejections_total{result="unpublished"}'), 0);
  assert.equal((await broker.manager.streams.info('REJECTED')).state.messages, REFUSED);
  assert.ok(most - before < GROWTH_MAX_KB, `${before} KiB before, ${most} at most`);
  // The limit is `max_ack_pending` of the consumer.
  assert.ok(inFlight <= 2_048, `${inFlight} in flight`);
  t.diagnostic(`${before} KiB before, ${most} KiB at most, ${inFlight} messages in flight at most`);
});

test('a rejection stream that does not answer does not delay other messages either', async (t) => {
  const { broker, samples, count } = await openFlood(t);
  // A stream takes the messages without acknowledging them, so each batch would wait for its timeout.
  await broker.manager.streams.delete('REJECTED');
  await broker.manager.streams.add({ name: 'FOREIGN', subjects: ['adverts-rejected.>'], no_ack: true });
  await publishAll(broker, [...flood.slice(0, 5_000), ...good]);
  await untilIs(() => count('properties'), GOOD);
  const seen = await until(samples, (now) => (now.get('vigie_rejections_total{result="unpublished"}') ?? 0) >= 5_000);
  assert.equal(seen.get('vigie_rejections_total{result="published"}'), 0);
});
