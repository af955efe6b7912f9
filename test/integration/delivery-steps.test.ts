/**
 * From every state, the statements of the queue make only the transitions of domain/delivery.ts, on real PostgreSQL.
 * Each except a resend is executed twice, as after a commit whose answer was lost.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { afterAttempt, DELIVERY_STATES, type DeliveryState, STEPS } from '../../src/engine/domain/delivery.ts';
import type { Uuid } from '../../src/engine/domain/ids.ts';
import { readAbandoned, recordAttempts, type SettledAttempt } from '../../src/engine/store/attempts.ts';
import { cancelPage } from '../../src/engine/store/cancellations.ts';
import { type Database, migrate, transaction } from '../../src/engine/store/database.ts';
import { claimDeliveries, giveBack } from '../../src/engine/store/delivery-claims.ts';
import { lockForResending, resend, resendDelivery } from '../../src/engine/store/resends.ts';
import { removeDeliveries } from '../../src/engine/store/retention.ts';
import { releaseRetries } from '../../src/engine/store/retries.ts';
import { openTestDatabase } from '../support/database.ts';
import { tuplesOf } from '../support/lists.ts';
import { ownDatabase } from '../support/own-database.ts';
import {
  putInState,
  registerHolder,
  type SeededSearch,
  seedDeliveries,
  seedSearch,
} from '../support/seeded-deliveries.ts';
import { type Cleanup, startTestPostgres } from '../support/servers.ts';
import { simulateClock } from '../support/simulated-clock.ts';
import { untilLocked } from '../support/statements.ts';

const URL = 'https://e.test/';
/** The courier for which `putInState` claims. */
const HOLDER = -1;

type Step = keyof typeof STEPS;

async function openScene(t: Cleanup, over?: string) {
  if (over !== undefined) await migrate(over);
  const database = openTestDatabase(t, over ?? (await ownDatabase(t)), 6, 'pipeline');
  await registerHolder(database, HOLDER);
  const search = await seedSearch(database);
  await database.query('update searches set endpoint_recipient = $1', [URL]);
  return { database, search };
}

interface Row {
  readonly state: DeliveryState;
  readonly attemptCount: number;
  readonly matchId: Uuid;
  /** Null if the delivery is not open, or was never claimed. */
  readonly startedAt: Date | null;
}

async function readRow(database: Database, id: Uuid): Promise<Row> {
  const { rows } = await database.query<Row>(
    `select state, attempt_count as "attemptCount", match_id as "matchId",
       (select claimed_at from open_deliveries o where o.id = d.id) as "startedAt"
     from delivery_states d where id = $1`,
    [id],
  );
  return rows[0] as Row;
}

function settled(search: SeededSearch, id: Uuid, matchId: Uuid, number: number, isFine: boolean): SettledAttempt {
  const outcome = {
    startedAt: new Date(),
    durationMs: 1,
    statusCode: isFine ? 200 : 500,
    error: isFine ? null : ('status' as const),
    reason: isFine ? null : 'HTTP 500',
    responseHead: 'a "quoted" head',
  };
  return {
    ...{ id, searchNumber: search.number, matchId, endpointKey: 'k', lane: 'first', holder: HOLDER },
    ...{ attemptCount: number, outcome, after: afterAttempt(number, outcome, 3_600_000), retryInMs: 3_600_000 },
  };
}

/** The statement that executes each step. */
function statementsOf(
  database: Database,
  search: SeededSearch,
): Record<Step, (id: Uuid, row: Row) => Promise<unknown>> {
  const present = ({ attemptCount }: Row): number => Math.max(1, attemptCount);
  return {
    claim: (id) => claimDeliveries(database, HOLDER, [id], new Date()),
    giveBack: (id) => giveBack(database, HOLDER, [id]),
    deliver: (id, row) => recordAttempts(database, [settled(search, id, row.matchId, present(row), true)]),
    retry: (id, row) => recordAttempts(database, [settled(search, id, row.matchId, present(row), false)]),
    exhaust: (id, row) =>
      recordAttempts(database, [
        { ...settled(search, id, row.matchId, present(row), false), after: { state: 'failed', dueAt: null } },
      ]),
    release: (id, { attemptCount, startedAt }) =>
      releaseRetries(database, [{ id, endpointKey: 'k', attemptCount, startedAt: startedAt ?? new Date() }]),
    resend: (id) => resendDelivery(database, search.clientId, id),
    cancel: (id) => cancelOne(database, search, id),
  };
}

/** Cancels one delivery as silencing its search would, so that runs can share a search. */
async function cancelOne(database: Database, { number }: SeededSearch, id: Uuid): Promise<void> {
  await database.query('update open_deliveries set generation = -1 where id = $1', [id]);
  await cancelPage(database, { number, generation: 0, markedAgoMs: 0 }, null, 1_000);
}

test('every step leads from every state to the one in the table, and to the same one when repeated', async (t) => {
  const { database, search } = await openScene(t);
  const statements = statementsOf(database, search);
  for (const state of DELIVERY_STATES) {
    for (const [step, take] of Object.entries(statements) as [Step, (typeof statements)[Step]][]) {
      await database.query('truncate deliveries, open_deliveries, final_outcomes, attempts');
      const [due] = await seedDeliveries(database, search, [URL]);
      const id = due?.id as Uuid;
      await putInState(database, [id], state, state === 'queued' ? 0 : 1);
      const before = await readRow(database, id);
      await take(id, before);
      const after = await readRow(database, id);
      const { from, to } = STEPS[step];
      const expected = (from as readonly DeliveryState[]).includes(state) ? to : state;
      assert.equal(after.state, expected, `${step} from ${state}`);
      if (step === 'claim' || step === 'giveBack') {
        const counted = step === 'claim' ? 1 : -1;
        assert.equal(
          after.attemptCount,
          before.attemptCount + (expected === state ? 0 : counted),
          `${step} from ${state}`,
        );
      }
      // Repeats the outcome of the same attempt, the message of the same retry, or the claim of the same courier.
      if (step !== 'resend') await take(id, before);
      assert.deepEqual(await readRow(database, id), after, `${step} from ${state}, twice`);
    }
  }
});

test('an attempt starts by the clock of its courier, not of PostgreSQL', async (t) => {
  const { url } = await startTestPostgres(t);
  const clock = await simulateClock(url);
  const { database, search } = await openScene(t, url);
  for (const hours of [2, -4]) {
    await clock.advance(hours / 24);
    const [due] = await seedDeliveries(database, search, [URL]);
    const before = Date.now();
    const { claimed } = await claimDeliveries(database, HOLDER, [due?.id as Uuid], new Date());
    const after = Date.now() + 1;
    const startedAt = claimed[0]?.startedAt.getTime() ?? 0;
    assert.ok(before <= startedAt && startedAt <= after, 'a receiver accepts only a current time');
    const [abandoned] = await readAbandoned(database, [HOLDER], 1);
    assert.ok(abandoned && before <= abandoned.startedAt.getTime() && abandoned.startedAt.getTime() <= after);
    await database.query('truncate deliveries, open_deliveries, final_outcomes, attempts');
  }
});

test('a late failure has no effect, and a late success counts', async (t) => {
  const { database, search } = await openScene(t);
  for (const isFine of [false, true]) {
    for (const state of ['queued', 'sending', 'retry_wait', 'failed'] as const) {
      const [due] = await seedDeliveries(database, search, [URL]);
      const id = due?.id as Uuid;
      await putInState(database, [id], state, 2);
      await recordAttempts(database, [settled(search, id, (await readRow(database, id)).matchId, 1, isFine)]);
      assert.equal((await readRow(database, id)).state, isFine ? 'delivered' : state, `attempt 1 of 2, ${state}`);
      await database.query('truncate deliveries, open_deliveries, final_outcomes, attempts');
    }
  }
});

test('an attempt whose row is removed during it stays in the log, even if its courier never reports its end', async (t) => {
  const { database, search } = await openScene(t);
  const statements = statementsOf(database, search);
  const readLog = async (id: Uuid) => {
    const { rows } = await database.query(
      'select number, status_code, error from attempts where delivery_id = $1 order by 1',
      [id],
    );
    return rows;
  };
  const begun = { number: 2, status_code: null, error: 'aborted' };
  for (const cause of ['a late success', 'a cancellation']) {
    const [due] = await seedDeliveries(database, search, [URL]);
    const id = due?.id as Uuid;
    await statements.claim(id, await readRow(database, id));
    // Another courier considers the first one dead.
    await statements.retry(id, await readRow(database, id));
    await database.query(`update attempts set status_code = null, error = 'aborted' where delivery_id = $1`, [id]);
    await statements.release(id, await readRow(database, id));
    await statements.claim(id, await readRow(database, id));
    const { matchId } = await readRow(database, id);
    const isCancelled = cause === 'a cancellation';
    if (isCancelled) await cancelOne(database, search, id);
    else await recordAttempts(database, [settled(search, id, matchId, 1, true)]);
    assert.deepEqual((await readLog(id))[1], begun, cause);
    const { state, attemptCount } = await readRow(database, id);
    assert.deepEqual([state, attemptCount], [isCancelled ? 'cancelled' : 'delivered', 2], cause);
    // Then its outcome arrives.
    await recordAttempts(database, [settled(search, id, matchId, 2, false)]);
    assert.deepEqual((await readLog(id))[1], { number: 2, status_code: 500, error: 'status' }, cause);
  }
});

test('a delivery that is resent while retention removes it stays, and is due', async (t) => {
  const { database, search } = await openScene(t);
  const [resent, old] = await seedDeliveries(database, search, [URL, URL]);
  const ids = [resent?.id as Uuid, old?.id as Uuid];
  await putInState(database, ids, 'failed', 6);
  const readIds = async () => (await database.query('select id from deliveries')).rows.map(({ id }) => id);
  let removed: Promise<unknown> = Promise.resolve();
  await transaction(database, async (connection) => {
    await resend(connection, await lockForResending(connection, search.clientId, ids.slice(0, 1)));
    removed = removeDeliveries(database, new Date(Date.now() + 60_000)).next();
    await untilLocked(database);
  });
  await removed;
  assert.deepEqual(await readIds(), ids.slice(0, 1));
  const { claimed } = await claimDeliveries(database, HOLDER, ids, new Date());
  assert.deepEqual(tuplesOf(claimed, 'id', 'attemptCount'), [[ids[0], 7]]);
});
