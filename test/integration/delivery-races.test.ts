/** Races between the steps of a delivery: one transaction changes rows that another has read, on real PostgreSQL. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { pause } from '../../src/engine/actor/waiting.ts';
import { afterAttempt, HELD_BACK_MAX_MS } from '../../src/engine/domain/delivery.ts';
import { endpointKeyOf } from '../../src/engine/domain/endpoint.ts';
import { firstUuidAt, timeOrderedUuid, type Uuid } from '../../src/engine/domain/ids.ts';
import { readAbandoned, recordAttempts } from '../../src/engine/store/attempts.ts';
import { CLAIM_USED_WITHIN_MS } from '../../src/engine/store/claim-fence.ts';
import { declareDead, PROCESS } from '../../src/engine/store/couriers.ts';
import { type Database, transaction } from '../../src/engine/store/database.ts';
import { releaseExpiredHolds } from '../../src/engine/store/deliveries.ts';
import { type ClaimedDelivery, claimDeliveries, giveBack } from '../../src/engine/store/delivery-claims.ts';
import { pauseEndpoint, pauseOwnEndpoint, resumeEndpoint } from '../../src/engine/store/endpoints.ts';
import { lockForResending, resend, resendDelivery } from '../../src/engine/store/resends.ts';
import { releaseRetries } from '../../src/engine/store/retries.ts';
import { startRecoveries } from '../../src/features/recoveries/recoveries.ts';
import { createRecovery, readRecovery } from '../../src/features/recoveries/recovery-rows.ts';
import { openTestDatabase } from '../support/database.ts';
import { createGate } from '../support/gate.ts';
import { valuesOf } from '../support/lists.ts';
import { ownDatabase } from '../support/own-database.ts';
import { putInState, registerHolder, seedDeliveries, seedSearch } from '../support/seeded-deliveries.ts';
import { type Cleanup } from '../support/servers.ts';
import { untilLocked } from '../support/statements.ts';
import { until, untilIs } from '../support/until.ts';

const OLD = 'https://old.test/';
const NEW = 'https://new.test/';
const THIRD = 'https://third.test/';
const HOLDER = 1;
const LATER_MS = 3_600_000;
/** Older than the time that a delivery may wait for another endpoint. */
const LONG_AGO_MS = HELD_BACK_MAX_MS + 60_000;

async function openScene(t: Cleanup, connectionsMax = 6) {
  const database = openTestDatabase(t, await ownDatabase(t), connectionsMax, 'pipeline');
  await registerHolder(database, HOLDER);
  const search = await seedSearch(database);
  const pointTo = (endpoint: string) => database.query('update searches set endpoint_recipient = $1', [endpoint]);
  await pointTo(OLD);

  async function claim(id: Uuid): Promise<ClaimedDelivery | undefined> {
    return (await claimDeliveries(database, HOLDER, [id], new Date())).claimed[0];
  }

  function settle(delivery: ClaimedDelivery, isFine = false) {
    const error = isFine ? null : ('status' as const);
    const answer = { startedAt: delivery.startedAt, durationMs: 1, statusCode: isFine ? 200 : 500, error };
    const outcome = { ...answer, reason: null, responseHead: null };
    const after = afterAttempt(delivery.attemptCount - delivery.attemptsSpent, outcome, LATER_MS);
    return recordAttempts(database, [{ ...delivery, holder: HOLDER, outcome, after, retryInMs: LATER_MS }]);
  }

  /** Makes attempts until the delivery has finally failed. Resolves with their number. */
  async function exhaust(id: Uuid): Promise<number> {
    for (let attempts = 0; ; attempts++) {
      const delivery = await claim(id);
      if (delivery === undefined) return attempts;
      await settle(delivery);
      await releaseRetries(database, [{ ...delivery }]);
    }
  }

  /** Seeds deliveries of one match in this order, recorded long ago. */
  async function seedOld(...endpoints: readonly string[]): Promise<readonly Uuid[]> {
    const at = new Date(Date.now() - LONG_AGO_MS);
    return (await seedDeliveries(database, search, endpoints, 'one match', at)).map(({ id }) => id);
  }

  const keyOf = (endpoint: string) => endpointKeyOf(search.clientId, endpoint);
  const resendOne = (id: Uuid) => resendDelivery(database, search.clientId, id);
  return { database, search, pointTo, claim, settle, exhaust, seedOld, keyOf, resendOne };
}

/** Resolves with the endpoint of the delivery, its key in `deliveries`, and its key in `open_deliveries`. */
async function readEndpoints(database: Database, id: Uuid): Promise<readonly string[]> {
  const { rows } = await database.query(
    `select d.endpoint, d.endpoint_key as "factKey", o.endpoint_key as "rowKey"
     from deliveries d join open_deliveries o using (id) where id = $1`,
    [id],
  );
  return [rows[0].endpoint, rows[0].factKey, rows[0].rowKey];
}

/** The next transaction of this database waits before its commit until `commit` is called. */
function committingLate(database: Database) {
  const { gate: moment, open: commit } = createGate();
  let isThere = false;
  async function connect(): ReturnType<Database['connect']> {
    const client = await database.connect();
    const query = client.query.bind(client) as (...statement: readonly unknown[]) => Promise<unknown>;
    const waiting = async (...statement: readonly unknown[]): Promise<unknown> => {
      if (statement[0] !== 'commit') return query(...statement);
      Reflect.deleteProperty(client, 'query');
      isThere = true;
      await moment;
      return query(...statement);
    };
    return Object.assign(client, { query: waiting as typeof client.query });
  }
  const untilThere = () => untilIs(() => isThere, true);
  return { database: { query: database.query.bind(database), connect }, untilThere, commit: () => commit() };
}

const HELD_UP = `select from pg_stat_activity
  where state = 'idle in transaction' and datname = current_database() and clock_timestamp() > xact_start + $1 * interval '1 millisecond'`;

for (const made of [0, 2, 5]) {
  test(`a resend during attempt ${made + 1} grants six more, even if that attempt is returned`, async (t) => {
    const { database, search, claim, exhaust, resendOne } = await openScene(t);
    const [due] = await seedDeliveries(database, search, [OLD]);
    const id = due?.id as Uuid;
    await putInState(database, [id], 'queued', made);
    assert.equal((await claim(id))?.attemptCount, made + 1);
    assert.deepEqual(await resendOne(id), { type: 'sent', due: [] });
    await giveBack(database, HOLDER, [id]);
    assert.equal(await exhaust(id), 6);
  });
}

test('a delivery that is resent during its claim is sent to the endpoint at which its row is queued', async (t) => {
  const { database, search, pointTo, claim, keyOf } = await openScene(t);
  const [due] = await seedDeliveries(database, search, [OLD]);
  const id = due?.id as Uuid;
  await pointTo(NEW);
  await transaction(database, async (connection) => {
    const candidates = await lockForResending(connection, search.clientId, [id]);
    assert.equal(await claim(id), undefined);
    await resend(connection, candidates);
  });
  assert.deepEqual(await readEndpoints(database, id), [NEW, keyOf(NEW), keyOf(NEW)]);
  assert.equal((await claim(id))?.endpoint, NEW);
});

test('two simultaneous resends begin one series, and no attempt number is used twice', async (t) => {
  const { database, search, claim, settle } = await openScene(t);
  const [due] = await seedDeliveries(database, search, [OLD]);
  const id = due?.id as Uuid;
  await putInState(database, [id], 'failed', 6);
  const lock = (connection: Parameters<typeof resend>[0]) => lockForResending(connection, search.clientId, [id]);
  let second: Promise<void> = Promise.resolve();
  await transaction(database, async (connection) => {
    const candidates = await lock(connection);
    second = transaction(database, async (other) => {
      const late = await lock(other);
      const between = await claim(id);
      if (between !== undefined) await settle(between, true);
      await resend(other, late);
    });
    await untilLocked(database);
    await resend(connection, candidates);
  });
  await second;
  const delivery = (await claim(id)) as ClaimedDelivery;
  const { rows } = await database.query('select number from attempts where number >= $1', [delivery.attemptCount]);
  assert.deepEqual(rows, []);
  assert.equal(delivery.attemptCount - delivery.attemptsSpent, 1);
});

test('during a resend of a first attempt no later delivery overtakes it, and the later one is sent once it has moved', async (t) => {
  for (const end of ['settled', 'given back'] as const) {
    const { database, pointTo, claim, settle, seedOld, keyOf, resendOne } = await openScene(t);
    const [first, next] = (await seedOld(OLD, OLD)) as [Uuid, Uuid];
    const delivery = (await claim(first)) as ClaimedDelivery;
    await pointTo(NEW);
    await resendOne(first);
    assert.equal(await claim(next), undefined, 'the first is being sent');
    if (end === 'settled') await settle(delivery);
    else await giveBack(database, HOLDER, [first]);
    assert.deepEqual(await readEndpoints(database, first), [NEW, keyOf(NEW), keyOf(NEW)], end);
    assert.equal((await claim(next))?.endpoint, OLD, end);
  }
});

test('a first attempt that moves to another endpoint neither blocks others nor is blocked', async (t) => {
  const { database, pointTo, claim, seedOld, keyOf, resendOne } = await openScene(t);
  const [first, second, third] = (await seedOld(OLD, OLD, OLD)) as [Uuid, Uuid, Uuid];
  for (const id of [third, second]) assert.equal(await claim(id), undefined);
  await pointTo(NEW);
  const moved = await resendOne(second);
  assert.ok(moved?.type === 'sent');
  assert.deepEqual(valuesOf(moved.due, 'id'), [second, third]);
  assert.equal((await claim(second))?.endpoint, NEW, 'another endpoint holds it back no longer');
  await pauseEndpoint(database, keyOf(NEW), NEW);
  assert.equal(await claim(third), undefined, 'the first holds it back');
  await resendOne(first);
  assert.equal((await claim(third))?.endpoint, OLD);
});

test('a delivery held back by its own endpoint is released, however many others wait for another endpoint', async (t) => {
  const { claim, settle, seedOld } = await openScene(t);
  const others = Array<string>(40).fill(OLD);
  const ids = await seedOld(...others, NEW, NEW);
  const [first, next] = ids.slice(-2) as [Uuid, Uuid];
  await claim(ids[0] as Uuid);
  for (const id of ids.slice(1, -2)) assert.equal(await claim(id), undefined);
  const delivery = (await claim(first)) as ClaimedDelivery;
  assert.equal(await claim(next), undefined);
  const due = await settle(delivery);
  assert.ok(due.some(({ id }) => id === next));
});

test('a second resend to a third endpoint, while the attempt ends, moves the row there too', async (t) => {
  for (const isFine of [true, false]) {
    const { database, search, pointTo, claim, settle, seedOld, keyOf, resendOne } = await openScene(t);
    const [id] = (await seedOld(OLD)) as [Uuid];
    const delivery = (await claim(id)) as ClaimedDelivery;
    await pointTo(NEW);
    await resendOne(id);
    await pointTo(THIRD);
    const late = committingLate(database);
    const second = resendDelivery(late.database, search.clientId, id);
    await late.untilThere();
    const settled = settle(delivery, isFine);
    await untilLocked(database);
    late.commit();
    await Promise.all([second, settled]);
    assert.deepEqual(await readEndpoints(database, id), [THIRD, keyOf(THIRD), keyOf(THIRD)]);
    assert.equal((await claim(id))?.endpoint, THIRD);
  }
});

test('a claim whose answer was lost is returned, even if PostgreSQL commits it later', async (t) => {
  const { database, claim, seedOld } = await openScene(t);
  const [id] = (await seedOld(OLD)) as [Uuid];
  const late = committingLate(database);
  const lost = claimDeliveries(late.database, HOLDER, [id], new Date());
  await late.untilThere();
  const given = giveBack(database, HOLDER, [id]);
  await Promise.race([given, untilLocked(database)]);
  late.commit();
  assert.equal((await lost).claimed.length, 1);
  await given;
  assert.equal((await claim(id))?.attemptCount, 1);
});

test('a claim that the network delays beyond its courier’s wait claims nothing', async (t) => {
  const { database, claim, seedOld } = await openScene(t);
  const [id] = (await seedOld(OLD)) as [Uuid];
  const { gate: network, open: heal } = createGate();
  const connect = async (): ReturnType<Database['connect']> => {
    const client = await database.connect();
    const query = client.query.bind(client) as (...statement: readonly unknown[]) => Promise<unknown>;
    const begin = async (...statement: readonly unknown[]): Promise<unknown> => {
      Reflect.deleteProperty(client, 'query');
      const begun = await query(...statement);
      await network;
      return begun;
    };
    return Object.assign(client, { query: begin as typeof client.query });
  };
  const late = claimDeliveries({ query: database.query.bind(database), connect }, HOLDER, [id], new Date());
  await untilIs(async () => (await database.query(HELD_UP, [CLAIM_USED_WITHIN_MS])).rowCount, 1);
  heal();
  assert.deepEqual(await late, { claimed: [], refused: new Map() });
  assert.equal((await claim(id))?.attemptCount, 1);
});

test('a resuming endpoint has one attempt at a time, however many are claimed at once', async (t) => {
  const { database, settle, seedOld, keyOf } = await openScene(t);
  const key = keyOf(OLD);
  await pauseOwnEndpoint(database, key, OLD);
  await resumeEndpoint(database, key, 'client');
  const claimAll = async (ids: readonly Uuid[]): Promise<readonly ClaimedDelivery[]> => {
    const claims = ids.map((id) => claimDeliveries(database, HOLDER, [id], new Date()));
    return (await Promise.all(claims)).flatMap(({ claimed }) => claimed);
  };
  for (let round = 0; round < 100; round++) {
    const ids = (await Promise.all(Array.from({ length: 5 }, () => seedOld(OLD)))).flat();
    const begun = await claimAll(ids);
    assert.equal(begun.length, 1, `round ${round}`);
    const { claimed, refused } = await claimDeliveries(database, HOLDER, ids, new Date());
    assert.deepEqual([claimed.length, refused.size], [0, 4]);
    assert.deepEqual([...new Set(refused.values())], ['paused']);
    await settle(begun[0] as ClaimedDelivery);
  }
});

test('a claim made while its courier was declared dead is found among its abandoned deliveries', async (t) => {
  const { database, seedOld } = await openScene(t);
  const [id] = (await seedOld(OLD)) as [Uuid];
  const late = committingLate(database);
  const claiming = claimDeliveries(late.database, HOLDER, [id], new Date());
  await late.untilThere();
  const declaring = declareDead(database, [{ number: HOLDER, beat: '0' }]).then((dead) =>
    readAbandoned(database, dead, 2),
  );
  await Promise.race([declaring, pause(200)]);
  late.commit();
  await claiming;
  assert.deepEqual(valuesOf(await declaring, 'id'), [id]);
});

test('a recovery counts its successes as delivered, even if a delivery is resent during its attempt', async (t) => {
  const { database, search, claim, settle, resendOne } = await openScene(t);
  const [due] = await seedDeliveries(database, search, [OLD]);
  const id = due?.id as Uuid;
  await putInState(database, [id], 'failed', 6);
  const announcer = { announce: () => undefined };
  const work = startRecoveries({ database, announcer, attemptsInFlightMax: 4, onTransientError: () => undefined });
  const { id: recoveryId } = await createRecovery(database, {
    ...{ id: timeOrderedUuid(new Date()), clientId: search.clientId, searchNumber: null, endpoint: null },
    ...{ since: new Date(Date.now() - LATER_MS), until: new Date(Date.now() + LATER_MS), includesDelivered: false },
  });
  const delivery = await until(
    () => claim(id),
    (claimed) => claimed !== undefined,
  );
  await resendOne(id);
  await settle(delivery as ClaimedDelivery, true);
  const done = await until(
    () => readRecovery(database, search.clientId, recoveryId),
    (recovery) => recovery?.sent === 1,
  );
  await work.stop();
  assert.deepEqual([done?.delivered, done?.failed], [1, 0]);
});

test('endpoints of one match whose keys share a hash do not wait for each other', async (t) => {
  const { database, claim, settle, seedOld, keyOf } = await openScene(t);
  const [first, second, third, fourth] = (await seedOld(OLD, OLD, NEW, NEW)) as [Uuid, Uuid, Uuid, Uuid];
  const { rows } = await database.query<{ keys: string[] }>(
    `select array_agg(key) as keys from (select md5(n::text) as key from generate_series(1, 400000) as n) as every_key
     group by hashtext(key) having count(*) = 2 limit 1`,
  );
  for (const [index, endpoint] of [OLD, NEW].entries()) {
    const values = [keyOf(endpoint), rows[0]?.keys[index]];
    for (const table of ['deliveries', 'open_deliveries']) {
      await database.query(`update ${table} set endpoint_key = $2 where endpoint_key = $1`, values);
    }
  }
  const idsOf = (due: readonly { readonly id: Uuid }[]) => due.map(({ id }) => id);
  assert.equal((await claim(first))?.id, first);
  assert.equal(await claim(second), undefined, 'the first holds it back');
  const delivery = (await claim(third)) as ClaimedDelivery;
  assert.equal(delivery.id, third);
  assert.equal(await claim(fourth), undefined, 'the third holds it back');
  assert.deepEqual(idsOf(await settle(delivery)), [fourth]);
  await database.query('update open_deliveries set lane = 0 where id = $1', [fourth]);
  const aged = await releaseExpiredHolds(database, first, firstUuidAt(new Date()), 10);
  assert.deepEqual(idsOf(aged.due), [fourth]);
});

test('a success is recorded even if its attempt, the last one, is declared aborted at that moment', async (t) => {
  const { database, claim, settle, seedOld } = await openScene(t);
  const [id, next] = (await seedOld(OLD, OLD)) as [Uuid, Uuid];
  const delivery = (await claim(id)) as ClaimedDelivery;
  assert.equal(await claim(next), undefined);
  const attempt = { startedAt: delivery.startedAt, durationMs: 0, statusCode: null, reason: null, responseHead: null };
  const aborted = {
    ...delivery,
    holder: HOLDER,
    retryInMs: LATER_MS,
    outcome: { ...attempt, error: 'aborted' as const },
  };
  let both: Promise<unknown> = Promise.resolve();
  // Waiting deliveries are released after the attempts are settled: the lock on `next` delays the abort's commit.
  await transaction(database, async (connection) => {
    await connection.query('select from open_deliveries where id = $1 for update', [next]);
    const abort = recordAttempts(database, [{ ...aborted, after: { state: 'failed', dueAt: null } }]);
    await untilLocked(database);
    both = Promise.all([abort, settle(delivery, true)]);
    await untilLocked(database, 2);
  });
  await both;
  const { rows } = await database.query('select state from delivery_states where id = $1', [id]);
  assert.equal(rows[0].state, 'delivered');
});

test('a delivery that waits only for its own endpoint is found in a few pages, behind 20,000 of another endpoint', async (t) => {
  const { database, claim, seedOld, keyOf } = await openScene(t, 1);
  const ids = await seedOld(...Array<string>(20_000).fill(OLD), NEW, NEW);
  const [first] = ids.slice(-2) as [Uuid, Uuid];
  const young = firstUuidAt(new Date(Date.now() - HELD_BACK_MAX_MS));
  // Prepares the statements on the only connection.
  await claim(ids[0] as Uuid);
  await recordAttempts(database, []);
  await releaseExpiredHolds(database, young, young, 1);
  const { rows } = await database.query('select match_id from deliveries limit 1');
  const matchId: string = rows[0].match_id;

  async function pagesOf(statement: string, ...values: readonly unknown[]): Promise<number> {
    const literals = values.map((value) => (typeof value === 'number' ? value : `'${String(value)}'`)).join();
    await database.query('begin');
    const explained = await database.query(
      `explain (analyze, buffers, format json) execute "${statement}"(${literals})`,
    );
    await database.query('rollback');
    const { Plan: plan } = explained.rows[0]['QUERY PLAN'][0];
    return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
  }
  const pages: Record<string, number> = {};
  pages.claim = await pagesOf('claim', HOLDER, `{${first}}`, young, new Date().toISOString(), PROCESS);
  await database.query('update open_deliveries set lane = 0 where endpoint_key = $1', [keyOf(NEW)]);
  pages.aged = await pagesOf('release-expired-holds', ids.at(-3), young, 1_000);
  // The other deliveries still wait for a claim.
  pages.releaseHeld = await pagesOf('release-held', `{${matchId}}`, `{${keyOf(NEW)}}`);
  t.diagnostic(JSON.stringify(pages));
  assert.ok(Math.max(...Object.values(pages)) < 400, JSON.stringify(pages));
});

test('after any steps, an open delivery is queued at its endpoint, has at most six attempts in its series, and ends', async (t) => {
  const { database, search, pointTo, claim, settle, resendOne } = await openScene(t);
  const step = fc.constantFrom('claim', 'claim', 'fail', 'deliver', 'give back', 'release', 'resend', 'resend', 'move');
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(fc.nat({ max: 5 }), step), { minLength: 60, maxLength: 120 }), async (steps) => {
      await database.query('truncate deliveries, open_deliveries, final_outcomes, attempts');
      const endpoints = Array<string>(6).fill(OLD);
      const due = await seedDeliveries(database, search, endpoints, 'one match');
      const claimed = new Map<Uuid, ClaimedDelivery>();
      const take = async (id: Uuid, name: string, to: string): Promise<void> => {
        const delivery = claimed.get(id);
        if (name === 'claim') {
          const taken = await claim(id);
          if (taken !== undefined) claimed.set(id, taken);
        } else if (name === 'resend') await resendOne(id);
        else if (name === 'move') await pointTo(to);
        else if (name === 'give back') {
          await giveBack(database, HOLDER, [id]);
        } else if (delivery !== undefined && name === 'release') await releaseRetries(database, [delivery]);
        else if (delivery !== undefined) await settle(delivery, name === 'deliver');
      };
      await Promise.all(steps.map(([at, name]) => take(due[at]?.id as Uuid, name, at % 2 === 0 ? OLD : NEW)));
      const { rows } = await database.query(
        `select * from open_deliveries o join deliveries d using (id)
         where (claimed_by is null or not is_resent) and o.endpoint_key <> d.endpoint_key
           or claimed_by is null and is_resent or attempt_count - attempts_spent not between 0 and 6`,
      );
      assert.deepEqual(rows, []);
      for (const { id } of due) {
        await giveBack(database, HOLDER, [id]);
        await database.query('update open_deliveries set lane = 2 where id = $1 and lane = -1', [id]);
        const delivery = await claim(id);
        if (delivery !== undefined) await settle(delivery, true);
      }
      const ended = await database.query(`select from delivery_states where state in ('delivered', 'failed')`);
      assert.equal(ended.rowCount, due.length, 'nothing is lost, and nothing stays open');
    }),
    { numRuns: 20, seed: 20_261_126 },
  );
});
