/** What a courier has in memory, and what it is told meanwhile. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DueQueue } from '../../src/engine/delivery/due-queue.ts';
import { FairScheduler } from '../../src/engine/delivery/fair-scheduler.ts';
import type { DueDelivery } from '../../src/engine/domain/delivery.ts';
import { randomUuid } from '../../src/engine/domain/ids.ts';
import { migrate, openDatabase } from '../../src/engine/store/database.ts';
import { startTestPostgres } from '../support/servers.ts';

test('what is announced once more while it is being sent waits again when that has ended', async (t) => {
  const { url } = await startTestPostgres(t);
  await migrate(url);
  const database = openDatabase({ url, connectionsMax: 2, plans: 'pipeline', onConnectionLost: () => undefined });
  t.after(() => database.end());
  const round = new FairScheduler<DueDelivery>({ slots: 4, concurrencyMax: 1, tooLongMs: 1_000, waitingMax: 10 });
  const onTransientError = (_: string, error: Error): void => assert.fail(error);
  const store = new DueQueue({ database, clock: () => new Date(), onTransientError }, round, () => undefined);
  // Its looks at the queue, which is empty.
  await store.stop();
  const due: DueDelivery = { id: randomUuid(), endpointKey: 'k', lane: 'first' };
  assert.deepEqual(store.admit([due, due]), []);
  assert.equal(round.waiting, 1, 'told twice, it waits once');
  const [turn] = round.take(1, 0);
  assert.ok(turn);
  store.take(due.id);
  assert.deepEqual(store.admit([{ ...due, lane: 'again' }]), []);
  assert.equal(round.waiting, 0);
  round.withdraw(turn);
  store.forget(due.id);
  assert.equal(round.waiting, 1);
  const [again] = round.take(1, 0);
  assert.equal(again?.isRetry, true);
});
