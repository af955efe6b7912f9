/** An instance stays visible and controllable while it does long work that an operator has requested. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { Broker } from '../src/engine/broker/connection.ts';
import { createPauseGate } from '../src/engine/broker/pause-gate.ts';
import { startInstanceHeartbeat } from '../src/engine/maintenance/instance-heartbeat.ts';
import type { Database } from '../src/engine/store/database.ts';
import { createGate } from './support/gate.ts';
import { untilIs } from './support/until.ts';

test('an instance is shown, and can be paused, while it rebuilds its index', async (t) => {
  const controls = { intake: { name: 'intake', pausedAt: null as Date | null, generation: 0 } };
  const index = { name: 'index', pausedAt: null, generation: 0 };
  /** Generations of the index that the heartbeats show. */
  const shown: (number | undefined)[] = [];
  const database = {
    async query(statement: string | { readonly values: readonly unknown[] }) {
      if (typeof statement === 'string') return { rows: [controls.intake, index], rowCount: 2 };
      const figures = statement.values.map(String).find((value) => value.includes('"generation"'));
      shown.push(figures === undefined ? undefined : (JSON.parse(figures) as { generation: number }).generation);
      return { rows: [{ compatibleFrom: 0 }], rowCount: 1 };
    },
  } as unknown as Database;
  const broker = {
    names: { signals: 'signals' },
    connection: { subscribe: () => ({ unsubscribe: () => undefined }) },
  } as unknown as Broker;
  const heartbeat = await startInstanceHeartbeat({
    broker,
    database,
    roles: ['intake'],
    version: 'test',
    clock: () => new Date(),
    failing: () => [],
    isHeld: () => false,
    onTransientError: (_, error) => assert.fail(error),
    onOutdated: assert.fail,
  });
  t.after(() => heartbeat.stop());
  const gate = createPauseGate();
  await heartbeat.addStage({ name: 'intake', gate, inFlight: () => 0 });
  const rebuilding = createGate();
  let rebuilds = 0;
  heartbeat.setIndex({
    figures: () => ({ searches: 1, builtAt: '2026-03-10T08:00:00Z', figures: {} }),
    rebuild() {
      rebuilds += 1;
      return rebuilding.gate;
    },
  });

  index.generation = 1;
  const refreshed = heartbeat.refresh().then(() => true);
  assert.ok(await Promise.race([refreshed, wait(5_000, false)]));
  controls.intake.pausedAt = new Date();
  await heartbeat.refresh();
  assert.equal(gate.isOpen, false);
  assert.deepEqual([rebuilds, shown.at(-1)], [1, 0]);

  rebuilding.open();
  await untilIs(async () => shown.at(-1), 1);
  assert.equal(rebuilds, 1);
});
