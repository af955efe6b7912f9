/** The due deliveries in a courier's memory, and the announcements that it receives. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { DueQueue } from '../../src/engine/delivery/due-queue.ts';
import { FairScheduler } from '../../src/engine/delivery/fair-scheduler.ts';
import { type DueDelivery, HELD_BACK_MAX_MS } from '../../src/engine/domain/delivery.ts';
import { randomUuid } from '../../src/engine/domain/ids.ts';
import { openTestDatabase } from '../support/database.ts';
import { ownDatabase } from '../support/own-database.ts';
import { seedDeliveries, seedSearch } from '../support/seeded-deliveries.ts';
import { until, untilIs } from '../support/until.ts';

async function openScene(t: TestContext, clock: () => Date = () => new Date(), waitingMax = 10) {
  const database = openTestDatabase(t, await ownDatabase(t), 2, 'pipeline');
  const round = new FairScheduler<DueDelivery>({
    slots: 4,
    concurrencyMax: 1,
    tooLongMs: 1_000,
    waitingMax,
    unrecordedMax: 512,
  });
  const onTransientError = (_: string, error: Error): void => assert.fail(error);
  const store = new DueQueue({ database, clock, onTransientError }, round, () => undefined);
  return { database, round, store };
}

test('a delivery that is announced again during its attempt waits again after it', async (t) => {
  const { round, store } = await openScene(t);
  // Ends the scans of the queue, which is empty.
  await store.stop();
  const due: DueDelivery = { id: randomUuid(), endpointKey: 'k', lane: 'first' };
  assert.deepEqual(store.admit([due, due]), []);
  assert.equal(round.waiting, 1, 'announced twice, it waits once');
  const [turn] = round.nextTurns(1, 0);
  assert.ok(turn);
  store.begin(due.id);
  assert.deepEqual(store.admit([{ ...due, lane: 'retry' }]), []);
  assert.equal(round.waiting, 0);
  round.withdraw(turn);
  store.forget(due.id);
  assert.equal(round.waiting, 1);
  const [again] = round.nextTurns(1, 0);
  assert.equal(again?.isRetry, true);
});

test('a delivery that a resend moves to another endpoint no longer waits for a slot of the former one, which may hang', async (t) => {
  const { database, round, store } = await openScene(t);
  const search = await seedSearch(database);
  const [fetched, announced] = await seedDeliveries(database, search, ['https://new.test/', 'https://new.test/']);
  assert.ok(fetched && announced);
  for (const due of [fetched, announced]) store.admit([{ ...due, endpointKey: 'former' }]);
  assert.deepEqual(store.admit([announced]), []);
  await untilIs(() => round.queue(fetched.endpointKey).waiting, 2);
  assert.equal(round.waiting, 2);
  assert.equal(round.queue('former').hasWork(true), false);
  await store.stop();
});

test('a held delivery is released when it is old, even if a slow claim held it late or the clock was set back', async (t) => {
  let setBackMs = 0;
  const clock = (): Date => new Date(Date.now() - setBackMs);
  const { database, store } = await openScene(t, clock);
  const search = await seedSearch(database);
  /** Seeds a delivery that has exceeded the longest wait for another endpoint by `ms`. */
  const seedOld = async (ms: number): Promise<string> => {
    const recordedAt = new Date(clock().getTime() - HELD_BACK_MAX_MS - ms);
    const [due] = await seedDeliveries(database, search, ['https://e.test/'], 'one match', recordedAt);
    return due?.id as string;
  };
  const makeWait = (id: string) => database.query('update open_deliveries set lane = 0 where id = $1', [id]);
  const untilReleased = (id: string) =>
    until(
      async () => (await database.query('select lane from open_deliveries where id = $1', [id])).rows[0].lane,
      (lane) => lane === 1,
    );
  const [late, early] = [await seedOld(2_000), await seedOld(1_000)];
  await makeWait(early);
  await untilReleased(early);
  await makeWait(late);
  await untilReleased(late);
  setBackMs = 7_200_000;
  const next = await seedOld(1_000);
  await makeWait(next);
  await untilReleased(next);
  // Held only when it is already old, as by a claim whose commit waited for a standby.
  const old = await seedOld(60_000);
  await makeWait(old);
  await untilReleased(old);
  await store.stop();
});

test('after a start with 100 dead URLs of one client, another client’s delivery enters the in-memory queue at once', async (t) => {
  const { database, round, store } = await openScene(t, () => new Date(), 1_000);
  const [dead, healthy] = [await seedSearch(database), await seedSearch(database)];
  const urls = Array.from({ length: 100 }, (_, number) => `https://refused.test/${number}`);
  await seedDeliveries(database, dead, Array.from({ length: 20 }, () => urls).flat());
  await until(
    async () => [...round.queues()],
    (queues) => queues.length === 100 && queues.every(({ waiting }) => waiting > 0),
  );
  assert.ok(round.waiting <= 200, `${round.waiting} wait for one host that has never answered`);
  const announced = await seedDeliveries(database, healthy, ['https://healthy.test/']);
  assert.deepEqual(store.admit(announced), []);
  await store.stop();
});
