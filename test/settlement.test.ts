/** The end of every attempt is recorded, whatever PostgreSQL answers at first. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Broker } from '../src/engine/broker/connection.ts';
import type { CourierDependencies } from '../src/engine/delivery/settle.ts';
import { startSettlement } from '../src/engine/delivery/settle.ts';
import { abortedOutcome } from '../src/engine/domain/delivery.ts';
import { searchNumberOf, timeOrderedUuid } from '../src/engine/domain/ids.ts';
import type { Database } from '../src/engine/store/database.ts';
import { quietSupervisor } from './support/supervisor.ts';

type OnAnswer = (error: null, result: { readonly rows: readonly unknown[] }) => void;

test('an attempt whose outcome cannot be recorded counts as aborted, also when PostgreSQL is then unavailable', async () => {
  const failures = [
    Object.assign(new Error('the relation is damaged'), { code: '42P01' }),
    Object.assign(new Error('the server is shutting down'), { code: '57P01' }),
  ];
  let commits = 0;
  const client = {
    on: () => undefined,
    off: () => undefined,
    release: () => undefined,
    query(statement: unknown, onAnswer?: OnAnswer) {
      if (onAnswer !== undefined) return onAnswer(null, { rows: [] });
      if (statement === 'commit') commits += 1;
      return Promise.resolve({ rows: [], command: 'COMMIT' });
    },
  };
  const database = {
    async connect() {
      const failure = failures.shift();
      if (failure !== undefined) throw failure;
      return client;
    },
  } as unknown as Database;
  const supervisor = { ...quietSupervisor(), retryPausesMs: [] };
  const errors: (string | null)[] = [];
  const dependencies = {
    broker: {} as Broker,
    database,
    retryDelayMs: 3_600_000,
    clock: () => new Date(),
    onAttempt: ({ outcome }) => errors.push(outcome.error),
    supervisor: { ...supervisor, watch: (name: string) => ({ ...supervisor.watch(name), retryPausesMs: [] }) },
    onTransientError: () => undefined,
  } as Partial<CourierDependencies> as CourierDependencies;
  const settlement = startSettlement(dependencies, () => undefined);
  const id = timeOrderedUuid(new Date());
  const startedAt = new Date();
  const recorded = new Promise<void>((onRecorded) => {
    void settlement.tell({
      delivery: {
        ...{
          id,
          matchId: id,
          clientId: id,
          snapshotId: id,
          searchNumber: searchNumberOf(1),
          endpointKey: '0'.repeat(32),
        },
        ...{ lane: 'first', endpoint: 'https://example.com/', sequence: 1, head: '', traceparent: null, context: null },
        ...{ token: '', attemptCount: 1, attemptsSpent: 0, startedAt },
      },
      holder: 1,
      outcome: { ...abortedOutcome(startedAt, ''), statusCode: 500, error: 'status' },
      endedAt: performance.now(),
      onRecorded,
    });
  });
  await recorded;
  assert.deepEqual([commits, errors, settlement.unrecorded], [1, ['aborted'], 0]);
});
