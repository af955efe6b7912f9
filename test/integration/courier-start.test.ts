/** A courier starts with queued deliveries, and with those of a courier that died or could not return them. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { publishRetries } from '../../src/engine/broker/retry-messages.ts';
import type { Uuid } from '../../src/engine/domain/ids.ts';
import { declareDead, registerCourier, removeCouriers, writeHeartbeat } from '../../src/engine/store/couriers.ts';
import type { Database } from '../../src/engine/store/database.ts';
import { claimDeliveries } from '../../src/engine/store/delivery-claims.ts';
import { type CourierSettings, countOpen, openDeliveryStage } from '../support/courier.ts';
import { valuesOf } from '../support/lists.ts';
import { putInState, SEEDED_ATTEMPT_AT, seedDeliveries, seedSearch } from '../support/seeded-deliveries.ts';
import { simulateClock } from '../support/simulated-clock.ts';
import { untilIs } from '../support/until.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const RETRY_DELAY_MS = 1_000;
const COUNT = 200;

async function openBacklog(t: TestContext, settings: Partial<CourierSettings> = {}) {
  const receiver = await startWebhookReceiver(t);
  const stage = await openDeliveryStage(t, { retryDelayMs: RETRY_DELAY_MS, ...settings });
  const endpoints = Array.from({ length: COUNT }, (_, position) => receiver.urlOf(`/${position}`));
  const due = await seedDeliveries(stage.database, await seedSearch(stage.database), endpoints);
  return { receiver, stage, due };
}

test('first attempts need no NATS, and no retry is lost while NATS is unavailable', async (t) => {
  const { receiver, stage } = await openBacklog(t);
  receiver.script('/0', { type: 'answer', status: 500 }, { type: 'answer', status: 200 });
  await stage.servers.nats.stop();
  await stage.start();
  await stage.untilAllEnded();
  assert.equal(receiver.posts.length, COUNT + 1);
  const [first, second] = receiver.posts.filter(({ path }) => path === '/0');
  const gapMs = (second?.receivedAt ?? 0) - (first?.receivedAt ?? 0);
  assert.ok(gapMs >= RETRY_DELAY_MS, `${gapMs} ms`);
  assert.deepEqual(stage.repairs.missing, [1]);
});

test('the same courier makes the retries of a stream that was deleted', async (t) => {
  const { receiver, stage } = await openBacklog(t);
  receiver.script('/0', { type: 'answer', status: 500 }, { type: 'answer', status: 200 });
  await stage.start();
  const { streams } = stage.broker.manager;
  await untilIs(async () => (await streams.info(stage.broker.names.retriesStream)).state.messages, 1);
  await streams.delete(stage.broker.names.retriesStream);
  await stage.untilAllEnded();
  assert.equal(receiver.posts.length, COUNT + 1);
});

test('overdue retries without a message are read page after page without a pause, and all are sent', async (t) => {
  const { receiver, stage } = await openBacklog(t);
  const pages = 50;
  const search = await seedSearch(stage.database);
  const due = await seedDeliveries(stage.database, search, Array(100 * pages).fill(receiver.urlOf('/late')));
  const ids = due.map(({ id }) => id);
  await putInState(stage.database, ids, 'retry_wait', 1, new Date(Date.now() - 60_000));
  const foundAt: number[] = [];
  await stage.start({ onMissing: () => void foundAt.push(performance.now()) });
  await stage.untilAllEnded();
  // The check runs twice a second, or at once after a full page. A busy machine may need as long for most pages.
  const gapsMs = foundAt.slice(1).map((at, before) => at - (foundAt[before] as number));
  assert.ok(gapsMs.filter((gapMs) => gapMs < 400).length >= pages / 10, gapsMs.join());
});

test('the row decides when a retry is due: a message that names a later time or an earlier attempt changes nothing', async (t) => {
  const { receiver, stage } = await openBacklog(t);
  const { database, broker } = stage;
  const search = await seedSearch(database);
  const due = await seedDeliveries(database, search, Array(5).fill(receiver.urlOf('/hook')));
  const [stored, missing, tried, later, overdue] = due.map((each) => ({
    ...each,
    attemptCount: 1,
    startedAt: SEEDED_ATTEMPT_AT,
    dueAtMs: Date.now(),
  }));
  assert.ok(stored && missing && tried && later && overdue);
  const dueAt = new Date(Date.now() - 7_200_000);
  await putInState(database, [missing.id, later.id], 'retry_wait', 1, dueAt);
  await putInState(database, [stored.id], 'retry_wait', 1, new Date(Date.now() + 3_600_000));
  await putInState(database, [tried.id], 'retry_wait', 2);
  await putInState(database, [overdue.id], 'retry_wait', 2, dueAt);
  // These messages look as if a process whose clock was two hours ahead had published them.
  await publishRetries(broker, [
    { ...stored, dueAtMs: Date.now() + 3_600_000 },
    { ...later, dueAtMs: Date.now() + 3_600_000 },
    tried,
    overdue,
  ]);
  await stage.start();
  await untilIs(() => countOpen(database), 2);
  assert.equal(
    stage.repairs.missing.reduce((sum, count) => sum + count, 0),
    3,
  );
  const { rows } = await database.query(`select id from delivery_states where state = 'retry_wait' order by id`);
  assert.deepEqual(valuesOf(rows, 'id'), [stored.id, tried.id].sort());
});

test('a message from before a restore of the database does not make the retry of a repeated attempt due', async (t) => {
  const { receiver, stage, due } = await openBacklog(t, { retryDelayMs: 3_600_000 });
  const { database, broker } = stage;
  const { retriesStream } = broker.names;
  const id = due[0]?.id as Uuid;
  const failing = { type: 'answer', status: 500 } as const;
  receiver.script('/0', failing, failing, { type: 'answer', status: 200 });
  const messages = async (): Promise<number> => (await broker.manager.streams.info(retriesStream)).state.messages;
  const courier = await stage.start();
  await untilIs(messages, 1);
  await untilIs(() => countOpen(database), 1);
  await courier.drain();
  const former = await broker.manager.streams.getMessage(retriesStream, {
    last_by_subj: `${broker.names.retries}.*.${id}`,
  });
  await putInState(database, [id], 'queued');
  await database.query('delete from attempts where delivery_id = $1', [id]);
  await stage.start();
  await untilIs(messages, 2);
  // Publishes the same message again with a due time that has passed.
  await broker.jetStream.publish(former.subject, former.string().replace(/\d+$/, String(Date.now())));
  await untilIs(messages, 2);
  assert.equal(
    (await database.query('select state from delivery_states where id = $1', [id])).rows[0].state,
    'retry_wait',
  );
  assert.equal(receiver.posts.filter(({ path }) => path === '/0').length, 2);
});

test('deliveries claimed by a courier that died count as aborted, and those it had not claimed are sent immediately', async (t) => {
  const { receiver, stage, due } = await openBacklog(t, { attemptTimeoutMs: 5_000, silentMarginMs: 3_000 });
  const [dead, frozen] = [await registerCourier(stage.database), await registerCourier(stage.database)];
  const claimed = due.slice(0, 2).map(({ id }) => id);
  await claimDeliveries(stage.database, dead, claimed.slice(0, 1), new Date());
  // This courier was removed while it claimed, and then died.
  await claimDeliveries(stage.database, frozen, claimed.slice(1), new Date());
  await removeCouriers(stage.database, [frozen]);
  const alerted = await seedSearch(stage.database);
  const [sent] = await seedDeliveries(stage.database, alerted, [receiver.urlOf('/sent')]);
  await putInState(stage.database, [sent?.id as string], 'delivered', 1);
  await stage.start();
  await untilIs(() => countOpen(stage.database), 2);
  await stage.untilAllEnded();
  assert.deepEqual(stage.repairs.aborted, [2]);
  assert.equal(receiver.posts.length, COUNT);
  for (const id of claimed) {
    const { rows } = await stage.database.query(
      'select number, error from attempts where delivery_id = $1 order by 1',
      [id],
    );
    assert.deepEqual(rows, [
      { number: 1, error: 'aborted' },
      { number: 2, error: null },
    ]);
  }
  assert.equal((await stage.database.query('select from couriers')).rowCount, 1);
  const { rows } = await stage.database.query(
    `select last_alert_at = (select finished_at from delivery_states where id = $1) as is from searches where number = $2`,
    [sent?.id, alerted.number],
  );
  assert.deepEqual(rows, [{ is: true }], 'the time of the last alert is recorded, although its courier died before');
});

test('a courier that was declared dead claims nothing more, because its attempts would be aborted', async (t) => {
  const { stage, due } = await openBacklog(t);
  const { database } = stage;
  const [frozen, busy] = [await registerCourier(database), await registerCourier(database)];
  const silent = await writeHeartbeat(database, busy);
  assert.equal((await writeHeartbeat(database, busy)).length, 2);
  assert.deepEqual(await declareDead(database, silent), [frozen], 'the other courier has written a heartbeat since');
  const claimBy = async (number: number) =>
    (await claimDeliveries(database, number, [due[0]?.id as Uuid], new Date())).claimed.length;
  assert.equal(await claimBy(frozen), 0);
  assert.deepEqual(
    valuesOf(await writeHeartbeat(database, frozen), 'number'),
    [busy],
    'it learns that it needs another number',
  );
  assert.equal(await claimBy(busy), 1);
});

test('a courier whose number another process has, as after a restore, takes a new number', async (t) => {
  const { stage } = await openBacklog(t);
  await stage.start();
  await stage.untilAllEnded();
  await stage.database.query('update couriers set process = gen_random_uuid()');
  await untilIs(async () => (await stage.database.query('select from couriers')).rowCount, 2);
});

test('a claim that could not be returned at shutdown is found by the next courier', async (t) => {
  const stage = await openDeliveryStage(t, { retryDelayMs: 3_600_000, attemptTimeoutMs: 1_000, silentMarginMs: 500 });
  const { database } = stage;
  let isDown = false;
  const down = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  const flaky: Database = {
    query: database.query.bind(database),
    connect: () => (isDown ? Promise.reject(down) : database.connect()),
  };
  const search = await seedSearch(database);
  await seedDeliveries(database, search, ['https://e.test/']);
  const courier = await stage.start({
    database: flaky,
    // A delivery whose document cannot be read is returned.
    documents: { read: () => Promise.reject(new Error('a bug')) },
    sender: { send: () => Promise.reject(new Error('nothing is sent')) },
    onClaimed() {
      isDown = true;
    },
  });
  await untilIs(() => isDown, true);
  await courier.drain();
  const stateOf = async () => (await database.query('select state from delivery_states')).rows[0].state;
  assert.equal(await stateOf(), 'sending');
  await stage.start();
  await untilIs(stateOf, 'retry_wait', 60_000);
});

test('a retry keeps its time even if the clock of its courier was two hours ahead when the attempt failed', async (t) => {
  let aheadMs = 7_200_000;
  const { receiver, stage } = await openBacklog(t, { clock: () => new Date(Date.now() + aheadMs) });
  receiver.script('/0', { type: 'answer', status: 500 }, { type: 'answer', status: 200 });
  await stage.start();
  const { streams } = stage.broker.manager;
  await untilIs(async () => (await streams.info(stage.broker.names.retriesStream)).state.messages, 1);
  aheadMs = 0;
  await stage.untilAllEnded();
  assert.deepEqual(stage.repairs.missing, [1]);
});

test('a retry follows after its delay even if PostgreSQL’s clock is set forward or back', async (t) => {
  for (const { hours, isLost } of [
    { hours: 2, isLost: false },
    { hours: -2, isLost: false },
    // NATS has lost the message, or a courier froze before publishing it.
    { hours: 2, isLost: true },
  ]) {
    const { receiver, stage } = await openBacklog(t, { retryDelayMs: 3_000 });
    const databaseUrl = stage.servers.postgres.url;
    const clock = await simulateClock(databaseUrl);
    receiver.script('/0', { type: 'answer', status: 500 }, { type: 'answer', status: 200 });
    await stage.start({ databaseUrl });
    const { streams } = stage.broker.manager;
    await untilIs(async () => (await streams.info(stage.broker.names.retriesStream)).state.messages, 1);
    if (isLost) await streams.purge(stage.broker.names.retriesStream);
    await clock.advance(hours / 24);
    await stage.untilAllEnded();
    const [first, second] = receiver.posts.filter(({ path }) => path === '/0');
    const gapMs = (second?.receivedAt ?? 0) - (first?.receivedAt ?? 0);
    assert.ok(gapMs >= 3_000, `${gapMs} ms, clock by ${hours} hours`);
    assert.deepEqual(stage.repairs.missing, isLost ? [1] : []);
  }
});
