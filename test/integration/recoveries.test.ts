/** Recoveries: one call sends waiting and failed deliveries, oldest first, even if a process dies. */

import assert from 'node:assert/strict';
import { after, describe, it, type TestContext } from 'node:test';
import type { DeliveryState } from '../../src/engine/domain/delivery.ts';
import { endpointKeyOf } from '../../src/engine/domain/endpoint.ts';
import { timeOrderedUuid, type Uuid } from '../../src/engine/domain/ids.ts';
import { SILENCE } from '../../src/engine/store/cancellations.ts';
import { transaction } from '../../src/engine/store/database.ts';
import { pauseEndpoint, resumeEndpoint } from '../../src/engine/store/endpoints.ts';
import { startRecoveries } from '../../src/features/recoveries/recoveries.ts';
import { recoveryDocument } from '../../src/features/recoveries/recovery-routes.ts';
import { createRecovery, readRecovery, stopRecovery } from '../../src/features/recoveries/recovery-rows.ts';
import { countPage, lockNextRecovery, sendNext } from '../../src/features/recoveries/recovery-steps.ts';
import { startTestApi } from '../support/api.ts';
import { openDeliveryStage } from '../support/courier.ts';
import { assertNone, valuesOf } from '../support/lists.ts';
import { putInState, type SeededSearch, seedDeliveries, seedSearch } from '../support/seeded-deliveries.ts';
import { lastFirst } from '../support/servers.ts';
import { until } from '../support/until.ts';
import { type Behaviour, startWebhookReceiver } from '../support/webhook-receiver.ts';

const SLOTS = 32;
/** Every third post fails. */
const ANSWERS = Array.from({ length: 12 }, (_, n) => ({ type: 'answer', status: n % 3 === 0 ? 500 : 200 })) as [
  Behaviour,
  ...Behaviour[],
];
const api = await startTestApi({ after });

async function openScene(t: TestContext, count: number) {
  const cleanup = lastFirst(t);
  const receiver = await startWebhookReceiver(cleanup);
  const stage = await openDeliveryStage(cleanup, { retryDelayMs: 3_600_000, attemptsInFlightMax: SLOTS });
  const { database, announcer } = stage;
  const search = await seedSearch(database);
  const pointTo = ({ id }: SeededSearch, path: string) =>
    database.query('update searches set endpoint_recipient = $2 where id = $1', [id, receiver.urlOf(path)]);
  await pointTo(search, '/hook');
  const key = endpointKeyOf(search.clientId, receiver.urlOf('/hook'));
  const pause = () => pauseEndpoint(database, key, receiver.urlOf('/hook'));
  const resume = () => resumeEndpoint(database, key, 'operator');
  const seed = async (path: string, of: SeededSearch, states: readonly DeliveryState[]) => {
    const addresses = await seedDeliveries(database, of, Array<string>(states.length).fill(receiver.urlOf(path)));
    for (const state of new Set(states)) {
      const those = addresses.filter((_, at) => states[at] === state).map(({ id }) => id);
      await putInState(database, those, state);
    }
    return addresses.map(({ id }) => id);
  };
  const seedMatch = async (path: string, count: number) => {
    const due = await seedDeliveries(database, search, Array<string>(count).fill(receiver.urlOf(path)), 'one match');
    const ids = due.map(({ id }) => id);
    await putInState(database, ids, 'failed');
    return ids;
  };
  const states = Array.from(
    { length: count },
    (_, n) => (['retry_wait', 'failed', 'delivered', 'cancelled'] as const)[n % 4] as DeliveryState,
  );
  const ids = await seed('/hook', search, states);
  await stage.start();
  /** Starts the work of a process. It stops at the end of the test at the latest. */
  const work = (over = database, onTransientError: (what: string) => void = () => undefined) => {
    const worker = startRecoveries({ database: over, announcer, attemptsInFlightMax: SLOTS, onTransientError });
    cleanup.after(() => worker.stop());
    return worker;
  };
  const ask = (includesDelivered = false, of: SeededSearch = search) =>
    createRecovery(database, {
      ...{ id: timeOrderedUuid(new Date()), clientId: of.clientId, searchNumber: null, endpoint: null },
      ...{ since: new Date(Date.now() - 600_000), until: new Date(Date.now() + 600_000), includesDelivered },
    });
  const untilState = (id: Uuid, state: string, of: SeededSearch = search) =>
    until(
      () => readRecovery(database, of.clientId, id),
      (recovery) => recovery?.state === state,
    );
  const untilDue = (wanted: number) =>
    until(
      () => database.query('select from open_deliveries where recovery_id is not null'),
      ({ rowCount }) => rowCount === wanted,
    );
  const seeds = { search, seed, seedMatch, ids, states, pointTo };
  return { receiver, database, announcer, ...seeds, untilDue, work, ask, untilState, pause, resume };
}

describe('a recovery', () => {
  for (const includesDelivered of [false, true]) {
    it(`sends waiting, failed${includesDelivered ? ' and delivered' : ''} deliveries, oldest first`, async (t) => {
      const { receiver, search, seed, ids, states, work, ask, untilState, database } = await openScene(t, 400);
      const neighbour = await seedSearch(database);
      const others: readonly string[] = await seed('/neighbour', neighbour, ['failed', 'retry_wait']);
      const workers = [work(), work()];
      const { id } = await ask(includesDelivered);
      await assert.rejects(ask(), /in progress/);
      const done = await untilState(id, 'finished');
      await Promise.all(workers.map((worker) => worker.stop()));
      const wanted = ids.filter((_, at) =>
        ['retry_wait', 'failed', ...(includesDelivered ? ['delivered'] : [])].includes(String(states[at])),
      );
      assert.deepEqual(receiver.posts.map((post) => post.id).sort(), wanted.toSorted(), 'each once');
      assert.deepEqual(
        [done?.matched, done?.sent, done?.delivered, done?.failed, done?.skipped],
        [wanted.length, wanted.length, wanted.length, 0, 0],
      );
      const inOrder = [...wanted].sort();
      const rank = new Map<string, number>(inOrder.map((each, at) => [each, at]));
      for (const [at, post] of receiver.posts.entries()) {
        assert.ok(Math.abs((rank.get(post.id) ?? 0) - at) <= SLOTS, 'oldest first, except for concurrent attempts');
      }
      assertNone(receiver.posts.filter(({ id: sent }) => others.includes(sent)));
      assert.equal((await ask(false, search)).state, 'counting', 'another recovery may begin');
    });
  }

  it('continues in another process after its own has ended', async (t) => {
    const { receiver, work, ask, untilState, database, search } = await openScene(t, 400);
    const first = work();
    const { id } = await ask();
    await receiver.until((posts) => posts.length >= 20);
    await first.stop();
    work();
    const done = await untilState(id, 'finished');
    assert.deepEqual([done?.sent, done?.delivered, receiver.posts.length], [200, 200, 200]);
    assert.equal((await database.query('select from open_deliveries where recovery_id is not null')).rowCount, 0);
    assert.equal((await readRecovery(database, search.clientId, id))?.finishedAt === null, false);
  });

  it('includes deliveries that were created in the last millisecond of its period, as answers state it', async (t) => {
    const { receiver, work, untilState, database, search, ids } = await openScene(t, 4);
    await database.query(`update deliveries set created_at = date_trunc('second', created_at) + interval '123456 us'`);
    const { rows } = await database.query('select created_at as "createdAt" from deliveries where id = $1', [ids[1]]);
    const [{ createdAt }] = rows as [{ createdAt: Date }];
    const id = timeOrderedUuid(new Date());
    await createRecovery(database, {
      ...{ id, clientId: search.clientId, searchNumber: null, endpoint: null, includesDelivered: false },
      ...{ since: createdAt, until: createdAt },
    });
    work();
    const done = await untilState(id, 'finished');
    assert.deepEqual([done?.matched, done?.delivered, receiver.posts.length], [2, 2, 2]);
  });

  it('ends, although there are always new deliveries between two of its steps', async (t) => {
    const { receiver, database, search, seed, work, ask, untilState } = await openScene(t, 40);
    const busy = Object.create(database, {
      connect: {
        async value() {
          await seed('/fresh', search, ['delivered']);
          return database.connect();
        },
      },
    });
    const { id } = await ask();
    work(busy, assert.fail);
    const done = await untilState(id, 'finished');
    assert.deepEqual([done?.matched, done?.delivered, receiver.posts.length], [20, 20, 20]);
  });

  it('uses at most a quarter of the slots, and does not delay others if its endpoint hangs', async (t) => {
    const { receiver, database, work, ask, untilState, seed, pointTo, announcer } = await openScene(t, 80);
    receiver.script('/hanging', { type: 'hang' });
    const stuck = await seedSearch(database);
    await pointTo(stuck, '/hanging');
    await seed('/hanging', stuck, Array<DeliveryState>(40).fill('failed'));
    await ask(false, stuck);
    const { id } = await ask();
    work();
    const fresh = await seedSearch(database);
    const addresses = await seedDeliveries(database, fresh, Array<string>(20).fill(receiver.urlOf('/fresh')));
    announcer.announce(addresses);
    await untilState(id, 'finished');
    await receiver.until((posts) => posts.filter(({ path }) => path === '/fresh').length === 20);
    const { rows } = await database.query(
      `select count(*)::integer from open_deliveries where recovery_id is not null`,
    );
    assert.ok(rows[0].count <= SLOTS / 4, `${rows[0].count} due`);
  });

  it('sends the deliveries of a match one after the other, each once, even if some fail again', async (t) => {
    const { receiver, work, ask, untilState, seedMatch } = await openScene(t, 0);
    receiver.script('/hook', ...ANSWERS);
    const matches = [await seedMatch('/hook', 4), await seedMatch('/hook', 4), await seedMatch('/hook', 4)];
    const { id } = await ask();
    for (const _ of ['one process', 'another']) work();
    const done = await untilState(id, 'finished');
    for (const match of matches) {
      const posts = receiver.posts.filter((post) => match.some((one) => one === post.id));
      assert.deepEqual(valuesOf(posts, 'id'), match);
      for (const [at, { receivedAt }] of posts.slice(1).entries()) {
        assert.ok(receivedAt >= Number(posts[at]?.answeredAt), 'the earlier one was answered');
      }
    }
    assert.deepEqual([done?.matched, done?.sent, done?.delivered, done?.failed], [12, 12, 8, 4]);
  });

  it('keeps the order of a match whose deliveries are further apart than a step sends', async (t) => {
    const { receiver, database, search, work, ask, untilState, seed, seedMatch } = await openScene(t, 0);
    const match = await seedMatch('/hook', 2);
    const others = await seed('/hook', search, Array<DeliveryState>(SLOTS).fill('failed'));
    await database.query(
      'update deliveries set sequence = 3, match_id = (select match_id from deliveries where id = $1) where id = $2',
      [match[0], others.at(-1)],
    );
    const { id } = await ask();
    work();
    await untilState(id, 'finished');
    const ordered = [...match, others.at(-1)];
    assert.deepEqual(
      valuesOf(receiver.posts, 'id').filter((one) => ordered.includes(one as Uuid)),
      ordered,
    );
    assert.equal(receiver.posts.length, 2 + SLOTS);
  });

  it('makes no more deliveries due once it is stopped, and still sends those that are due', async (t) => {
    const { receiver, database, search, work, ask, untilDue, untilState, pause, resume, seedMatch } = await openScene(
      t,
      0,
    );
    await pause();
    const [first, ...others] = await seedMatch('/hook', 3);
    const { id } = await ask();
    work();
    await untilDue(1);
    assert.equal(await stopRecovery(database, search.clientId, id), true);
    await resume();
    await receiver.until((posts) => posts.length === 1);
    const { id: next } = await ask();
    await untilState(next, 'finished');
    assert.deepEqual(valuesOf(receiver.posts, 'id'), [first, ...others], 'the others are sent by another recovery');
  });

  it('ends after its last attempt, even if the process that records its end was frozen before that attempt', async (t) => {
    const { receiver, database, ask, untilDue, untilState, pause, resume } = await openScene(t, 8);
    await pause();
    const { id } = await ask();
    await transaction(database, async (connection) =>
      countPage(connection, (await lockNextRecovery(connection, null)) ?? assert.fail()),
    );
    const step = (meanwhile: () => Promise<unknown>) =>
      transaction(database, async (connection) => {
        const recovery = (await lockNextRecovery(connection, null)) ?? assert.fail();
        await meanwhile();
        await sendNext(connection, recovery, SLOTS);
      });
    await step(async () => undefined);
    await step(async () => {
      await untilDue(4);
      await resume();
      await receiver.until((posts) => posts.length === 4);
      await untilDue(0);
    });
    const done = await untilState(id, 'finished');
    const { rows } = await database.query<{ last: Date }>('select max(started_at) as last from attempts');
    assert.ok(
      Number(done?.finishedAt) >= Number(rows[0]?.last),
      `${String(done?.finishedAt)} is before ${String(rows[0]?.last)}`,
    );
  });

  it('does not count deliveries that are cancelled before their attempt as sent', async (t) => {
    const { receiver, database, search, work, ask, untilDue, untilState, pause, resume } = await openScene(t, 8);
    await pause();
    const { id } = await ask();
    work();
    await untilDue(4);
    await database.query(`update searches set ${SILENCE} where id = $1`, [search.id]);
    await resume();
    const done = await untilState(id, 'finished');
    assert.deepEqual([done?.sent, done?.skipped, receiver.posts.length], [0, 4, 0]);
  });

  it('is reported as paused while its endpoint is paused, and continues afterwards', async (t) => {
    const { receiver, database, search, work, ask, untilState, pause, resume } = await openScene(t, 8);
    await pause();
    work();
    const { id } = await ask();
    const paused = await until(
      () => readRecovery(database, search.clientId, id),
      (recovery) => recovery?.isPaused === true,
    );
    assert.equal(recoveryDocument(paused ?? assert.fail()).state, 'paused');
    assert.equal(receiver.posts.length, 0);
    await resume();
    const done = await untilState(id, 'finished');
    assert.deepEqual([done?.delivered, done?.isPaused], [4, false]);
  });
});

describe('the interface of recoveries', () => {
  it('allows one at a time, shows its progress, and stops it', async () => {
    const since = new Date(Date.now() - 3_600_000).toISOString();
    const key = await api.newClient('recovering');
    const call = (method: string, path: string, body?: unknown, headers = {}) =>
      api.call(method, path, body, { key, headers });
    const made = await call('POST', '/recoveries', { since }, { 'Idempotency-Key': 'k' });
    assert.equal(made.status, 202, made.text);
    assert.equal(made.body.state, 'counting');
    const again = await call('POST', '/recoveries', { since }, { 'Idempotency-Key': 'k' });
    assert.deepEqual([again.status, again.body['@id']], [202, made.body['@id']]);
    assert.equal((await call('POST', '/recoveries', { since })).status, 409);
    assert.equal((await call('DELETE', made.body['@id'])).status, 204);
    assert.equal((await call('GET', made.body['@id'])).body.state, 'stopped');
    const next = await call('POST', '/recoveries', {
      since: '2026-01-01T00:00:00Z'.replace('2026', String(new Date().getUTCFullYear() + 1)),
    });
    assert.deepEqual([next.status, next.body.violations?.[0]?.code], [422, 'above_maximum'], 'it has not begun');
    for (const body of [
      {},
      { since: 'yesterday' },
      { since: '2020-01-01' },
      { since, until: '2020-01-01' },
      { since, until: '2999-02-30T00:00:00Z' },
      { since: '2999-01-01T00:00:00Z', until: '2999-01-02T00:00:00Z' },
      { since, search: 7 },
      { since, search: '/matches/x' },
      { since, includeDelivered: 'yes' },
      { since, endpoints: 'x' },
    ]) {
      assert.equal((await call('POST', '/recoveries', body)).status, 422, JSON.stringify(body));
    }
    const own = 'https://hooks.example.com/own?x=1';
    const unknown = await call('POST', '/recoveries', { since, endpoint: own });
    assert.deepEqual([unknown.status, unknown.body.violations?.[0]?.propertyPath], [422, 'endpoint']);
    const { body: users } = await call('GET', '/users');
    const clientId = users['hydra:member'][0]['@id'].slice('/users/'.length);
    await pauseEndpoint(api.database, endpointKeyOf(clientId, own), own);
    const known = await call('POST', '/recoveries', { since, endpoint: 'HTTPS://Hooks.example.com/own?x=1#part' });
    assert.equal(known.status, 202, known.text);
    const search = await api.call('POST', '/searches', { title: 'mine' });
    assert.equal((await call('POST', '/recoveries', { since, search: search.body['@id'] })).status, 404);
    assert.equal((await call('GET', '/recoveries')).body['hydra:totalItems'], 2);
    assert.equal((await api.call('GET', made.body['@id'])).status, 404);
    assert.equal((await api.call('DELETE', made.body['@id'])).status, 404);
  });
});
