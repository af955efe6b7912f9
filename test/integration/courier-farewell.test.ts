/** What a courier that ends leaves behind when PostgreSQL does not take its last words. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDueAnnouncer } from '../../src/engine/broker/announcements.ts';
import { startCourier } from '../../src/engine/delivery/courier.ts';
import type { Database } from '../../src/engine/store/database.ts';
import { openDeliveryStage } from '../support/courier.ts';
import { seedDeliveries, seedSearch } from '../support/seeded-deliveries.ts';
import { quietSupervisor } from '../support/supervisor.ts';
import { untilIs } from '../support/until.ts';

test('a claim that could not be given back at a farewell is found by the next courier', async (t) => {
  const stage = await openDeliveryStage(t, { retryDelayMs: 3_600_000, attemptTimeoutMs: 1_000, silentMarginMs: 500 });
  const { database, broker } = stage;
  let isDown = false;
  const down = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  const flaky: Database = {
    query: database.query.bind(database),
    connect: () => (isDown ? Promise.reject(down) : database.connect()),
  };
  const search = await seedSearch(database);
  await seedDeliveries(database, search, ['https://e.test/']);
  const courier = await startCourier({
    ...{
      broker,
      database: flaky,
      announcer: createDueAnnouncer(broker),
      retryDelayMs: 3_600_000,
      attemptTimeoutMs: 1_000,
    },
    // What cannot be read is given back.
    documents: { read: () => Promise.reject(new Error('a bug')) },
    secrets: { read: (ids) => Promise.resolve(ids.map((id) => [id, () => []])) },
    sender: { send: () => Promise.reject(new Error('nothing is sent')) },
    ...{ attemptsInFlightMax: 4, clock: () => new Date(), supervisor: quietSupervisor() },
    onClaimed() {
      isDown = true;
    },
    ...{ onAttempt: () => undefined, onMissing: () => undefined, onAborted: () => undefined },
    ...{ endpointPauseDays: 3, onEndpointDead: () => undefined },
    onTransientError: () => undefined,
  });
  await untilIs(() => isDown, true);
  await courier.drain();
  const stateOf = async () => (await database.query('select state from delivery_states')).rows[0].state;
  assert.equal(await stateOf(), 'sending');
  await stage.start();
  await untilIs(stateOf, 'retry_wait', 60_000);
});
