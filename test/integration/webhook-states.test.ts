/**
 * The SQL that carries deliveries through their states does what the pure steps of domain/delivery.ts say: random
 * histories are played on both, on real PostgreSQL, and compared after every step.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type AttemptError,
  abort,
  afterAttempt,
  cancel,
  claim,
  type DeliveryProgress,
  end,
  NEW_DELIVERY,
  park,
  replay,
} from '../../src/domain/delivery.ts';
import { lockAbandonedAttempts, recordAttempts } from '../../src/store/attempts.ts';
import { type Database, migrate, openDatabase, transaction } from '../../src/store/database.ts';
import { type DeliveryAddress, parkDeliveries } from '../../src/store/deliveries.ts';
import { claimDeliveries, claimParked } from '../../src/store/delivery-claims.ts';
import { requeueOne } from '../../src/store/replays.ts';
import { type SeededSearch, seedDeliveries, seedSearch } from '../support/seeded-deliveries.ts';
import { startTestServers } from '../support/servers.ts';

/** Either over at once or not within the test, so that the model needs no clock. */
const SOON_MS = 0;
const LATER_MS = 3_600_000;
const NOW = 1_000;

type Step =
  | { readonly type: 'claim' | 'draw'; readonly leaseMs: number }
  | { readonly type: 'end'; readonly error: AttemptError | null; readonly delayMs: number; readonly behind: number }
  | { readonly type: 'abort'; readonly delayMs: number }
  | { readonly type: 'park' | 'cancel' | 'replay' };

const ms = fc.constantFrom(SOON_MS, LATER_MS);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constantFrom('claim', 'draw'), leaseMs: ms }) },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('end' as const),
      error: fc.constantFrom<AttemptError | null>(null, 'status', 'status', 'status', 'timeout', 'reset'),
      delayMs: fc.constantFrom(SOON_MS, SOON_MS, SOON_MS, LATER_MS),
      behind: fc.constantFrom(0, 0, 0, 1),
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('abort' as const), delayMs: ms }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constantFrom('park', 'park', 'park', 'cancel', 'replay') }) },
);

/** Times on the model's clock: what is due stays due, what is not never will be. */
function stepModel(row: DeliveryProgress, played: Step): DeliveryProgress {
  switch (played.type) {
    case 'claim':
      return claim(row, 'message', NOW, played.leaseMs) ?? row;
    case 'draw':
      return claim(row, 'parked', NOW, played.leaseMs) ?? row;
    case 'end': {
      const outcome = { startedAt: new Date(NOW), durationMs: 0, error: played.error };
      return end(row, row.attemptCount - played.behind, outcome, played.delayMs) ?? row;
    }
    case 'abort':
      return abort(row, NOW, played.delayMs) ?? row;
    case 'park':
      return park(row) ?? row;
    case 'cancel':
      return cancel(row) ?? row;
    case 'replay':
      // An operator's "retry now" also hastens what waits.
      return replay(row, NOW) ?? (row.state === 'queued' || row.state === 'retry_wait' ? { ...row, dueAt: NOW } : row);
  }
}

async function stepRow(database: Database, search: SeededSearch, at: DeliveryAddress, played: Step): Promise<void> {
  const { attemptCount, attemptsSpent } = await readRow(database, at.id);
  const settle = (number: number, error: AttemptError | null, delayMs: number) => ({
    id: at.id,
    endpointKey: at.endpointKey,
    searchNumber: search.number,
    attemptCount: number,
    outcome: { startedAt: new Date(), durationMs: 0, statusCode: null, error, reason: null, responseHead: null },
    after: afterAttempt(number - attemptsSpent, { startedAt: new Date(), durationMs: 0, error }, delayMs),
    retryInMs: delayMs,
  });
  switch (played.type) {
    case 'claim':
      return void (await claimDeliveries(database, [at.id], played.leaseMs));
    case 'draw':
      return void (await claimParked(database, [{ endpointKey: at.endpointKey, count: 3 }], played.leaseMs));
    case 'end':
      return transaction(database, (client) =>
        recordAttempts(client, [settle(attemptCount - played.behind, played.error, played.delayMs)]),
      );
    case 'abort':
      return transaction(database, async (client) => {
        const abandoned = await lockAbandonedAttempts(client, 10);
        const settled = abandoned.map((each) => settle(each.attemptCount, 'aborted', played.delayMs));
        if (settled.length > 0) await recordAttempts(client, settled);
      });
    case 'park':
      return parkDeliveries(database, [at.id]);
    case 'cancel':
      // As store/searches.ts does it, without a search of its own for every run.
      return void (await database.query(
        `update deliveries set state = 'cancelled', finished_at = now()
         where id = $1 and state in ('queued', 'sending', 'retry_wait', 'parked')`,
        [at.id],
      ));
    case 'replay':
      return void (await requeueOne(database, at.id));
  }
}

interface Row {
  readonly state: string;
  readonly attemptCount: number;
  readonly attemptsSpent: number;
  readonly isDue: boolean;
  readonly isFinished: boolean;
}

async function readRow(database: Database, id: string): Promise<Row> {
  const { rows } = await database.query<Row>(
    `select state, attempt_count as "attemptCount", attempts_spent as "attemptsSpent",
       due_at <= clock_timestamp() as "isDue", finished_at is not null as "isFinished"
     from deliveries where id = $1`,
    [id],
  );
  return rows[0] as Row;
}

test('the statements and the pure steps agree on every history', async (t) => {
  const { postgres } = await startTestServers(t);
  await migrate(postgres.url);
  const database = openDatabase({ url: postgres.url, connectionsMax: 2, onConnectionLost: () => undefined });
  const search = await seedSearch(database);
  let run = 0;
  try {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        run += 1;
        const [at] = await seedDeliveries(database, search, [`https://e.test/${run}`]);
        let model: DeliveryProgress = { ...NEW_DELIVERY, dueAt: NOW };
        for (const [position, played] of steps.entries()) {
          // Only attempts that were claimed can end.
          if (played.type === 'end' && model.attemptCount - played.behind < 1) continue;
          model = stepModel(model, played);
          await stepRow(database, search, at as DeliveryAddress, played);
          const { state, attemptCount, attemptsSpent, isDue, isFinished } = await readRow(
            database,
            (at as DeliveryAddress).id,
          );
          const isFinal = ['delivered', 'failed', 'cancelled'].includes(model.state);
          const seen = { state, attemptCount, attemptsSpent, isFinished, ...(isFinal ? {} : { isDue }) };
          const expected = {
            state: model.state,
            attemptCount: model.attemptCount,
            attemptsSpent: model.attemptsSpent,
            isFinished: isFinal,
            ...(isFinal ? {} : { isDue: model.dueAt <= NOW }),
          };
          assert.deepEqual(seen, expected, `after step ${position}: ${JSON.stringify(steps.slice(0, position + 1))}`);
        }
        await database.query(`delete from deliveries where id = $1`, [(at as DeliveryAddress).id]);
      }),
      { numRuns: 150, seed: 20_261_121 },
    );
  } finally {
    await database.end();
  }
});
