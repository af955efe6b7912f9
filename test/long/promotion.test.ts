/**
 * PostgreSQL as a primary with a streaming standby. The primary is killed and the standby promoted while prices change.
 * Every instance finds the new primary without an operator.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AckPolicy, DeliverPolicy } from 'nats';
import { ADVERTS_STREAM } from '../../src/engine/broker/topology.ts';
import { NOTE_PAUSES, registerCourier, writeHeartbeat } from '../../src/engine/store/couriers.ts';
import { migrate, type Queryable } from '../../src/engine/store/database.ts';
import { followMedians } from '../../src/engine/store/market-medians.ts';
import { connectTestBroker } from '../support/broker.ts';
import { createApiKey, startDaemon } from '../support/daemon.ts';
import { connectDatabase, openTestDatabase } from '../support/database.ts';
import { auditNumbers } from '../support/order-auditor.ts';
import { startPostgresPair } from '../support/postgres-pair.ts';
import { openPriceStory, STORY_SETTINGS } from '../support/price-story.ts';
import { restClient } from '../support/rest-client.ts';
import { lastFirst, startTestNats } from '../support/servers.ts';
import { until, untilIs } from '../support/until.ts';

test('a standby is promoted after its primary was killed, and the deliveries continue', async (t) => {
  const cleanup = lastFirst(t);
  const pair = await startPostgresPair(cleanup);
  const nats = await startTestNats(cleanup);
  const servers = { postgres: pair, nats };
  const daemons = [
    await startDaemon(cleanup, servers, STORY_SETTINGS),
    await startDaemon(cleanup, servers, STORY_SETTINGS),
  ];
  const [daemon] = daemons as [(typeof daemons)[number]];
  const story = await openPriceStory(cleanup, [nats.url]);
  const key = await createApiKey(servers);
  await story.begin(daemon, key);
  const tookMs: Record<string, number> = { undisturbed: await story.tell(3) };
  const whileDown = story.publishRound();
  await pair.kill();
  await whileDown;
  await pair.promote();
  tookMs['promoted'] = await story.tell(2);
  await untilIs(async () => (await fetch(`${daemon.operationsUrl}/readyz`)).status, 200);
  assert.equal((await restClient(daemon, key).request('GET', '/searches')).status, 200);
  // A standby is skipped, whether it is the first or the second host of the URL.
  const database = connectDatabase(cleanup, pair.urls[0]);
  await untilIs(() => isLosable(database), true);
  await pair.rejoin();
  // Commits wait for a standby again. The service notices this without a new message, and before any is redelivered.
  await untilIs(() => isLosable(database), false, 30_000);
  const late = await startDaemon(cleanup, servers, STORY_SETTINGS);
  tookMs['the former primary is a standby'] = await story.tell(1);
  t.diagnostic(`milliseconds: ${JSON.stringify(tookMs)}`);
  await story.audit(pair.urls[0]);
  for (const each of [...daemons, late]) assert.equal(await each.end('SIGTERM'), 0);
});

test('webhook numbers of a lost primary are not used again, even if their messages were not acknowledged', async (t) => {
  const cleanup = lastFirst(t);
  const pair = await startPostgresPair(cleanup);
  const nats = await startTestNats(cleanup);
  const servers = { postgres: pair, nats };
  const first = await startDaemon(cleanup, servers, STORY_SETTINGS);
  const story = await openPriceStory(cleanup, [nats.url]);
  await story.begin(first, await createApiKey(servers));
  await pair.loosen();
  await story.tell(2);
  const primary = connectDatabase(cleanup, pair.urls[0]);
  await untilIs(() => isLosable(primary), true);
  await pair.detach();
  const broker = await connectTestBroker(cleanup, nats.url);
  const { last_seq: before } = (await broker.manager.streams.info(ADVERTS_STREAM)).state;
  await story.tell(1);
  const told = story.receiver.posts.length;
  assert.equal(await first.end('SIGTERM'), 0);
  // Simulates a leader that died between its commit and the acknowledgement.
  await broker.manager.consumers.delete(ADVERTS_STREAM, broker.names.intakeConsumer);
  await broker.manager.consumers.add(ADVERTS_STREAM, {
    durable_name: broker.names.intakeConsumer,
    ack_policy: AckPolicy.Explicit,
    deliver_policy: DeliverPolicy.StartSequence,
    opt_start_seq: before + 1,
  });
  const handedOut = broker.jetStream.fetch(ADVERTS_STREAM, broker.names.intakeConsumer, {
    batch: told,
    expires: 1_000,
  });
  for await (const _ of handedOut);
  await pair.kill();
  await pair.promote();
  const second = await startDaemon(cleanup, servers, STORY_SETTINGS);
  const database = connectDatabase(cleanup, pair.urls[0]);
  await until(
    async () => (await database.query('select sequence_floor from intake_leader')).rows[0].sequence_floor,
    (floor) => floor > 0,
  );
  await story.tell(1);
  assert.deepEqual(auditNumbers(story.receiver.posts), []);
  assert.equal(await second.end('SIGTERM'), 0);
});

test('after a promotion, pauses and medians are read again, even if their counters have the same values', async (t) => {
  const cleanup = lastFirst(t);
  const pair = await startPostgresPair(cleanup);
  await migrate(pair.urls[0]);
  const database = openTestDatabase(cleanup, pair.url, 2);
  await pair.loosen();
  const courier = await registerCourier(database);
  const medians = followMedians(database);
  await pair.detach();
  const change = async (median: number) => {
    await database.query(NOTE_PAUSES);
    await database.query(`insert into market_medians values ('34', 1, false, ${median}, now(), 1)`);
    const [heartbeat] = await writeHeartbeat(database, courier);
    return [heartbeat?.pauses, [...(await medians.renew()).markets.values()].map((market) => market.median)] as const;
  };
  const [lostPauses, lostMedians] = await change(2_000);
  await pair.kill();
  await pair.promote();
  const isAnswering = async () => (await database.query('select').catch(() => null)) !== null;
  await untilIs(isAnswering, true);
  const [pauses, prices] = await change(3_000);
  assert.deepEqual([lostMedians, prices], [[2_000], [3_000]]);
  assert.notEqual(pauses, lostPauses);
});

/** True if a promotion may lose commits, according to the database. */
async function isLosable(database: Queryable): Promise<boolean> {
  return (await database.query('select timeline is not null as losable from intake_position')).rows[0].losable;
}
