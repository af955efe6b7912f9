/** Deliveries to misbehaving endpoints, through real JetStream and PostgreSQL, audited on the receiver's side. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endpointKeyOf } from '../../src/engine/domain/endpoint.ts';
import { transaction } from '../../src/engine/store/database.ts';
import { readEndpointHealth } from '../../src/engine/store/endpoints.ts';
import { openDeliveryStage } from '../support/courier.ts';
import { auditDeliveries } from '../support/delivery-auditor.ts';
import { createGate } from '../support/gate.ts';
import { seedDeliveries, seedSearch } from '../support/seeded-deliveries.ts';
import { until, untilIs } from '../support/until.ts';
import { type Behaviour, startWebhookReceiver } from '../support/webhook-receiver.ts';

const RETRY_DELAY_MS = 250;
const RESET: Behaviour = { type: 'reset' };

type Endpoints = Readonly<Record<string, { readonly behaviours: [Behaviour, ...Behaviour[]]; readonly ends: string }>>;

/** The behaviour of each endpoint, and the state in which its deliveries must end; `test/sender.test.ts` has more. */
const ENDPOINTS: Endpoints = {
  ok: { behaviours: [{ type: 'answer', status: 200 }], ends: 'delivered' },
  gone: { behaviours: [{ type: 'answer', status: 410 }], ends: 'failed' },
  broken: { behaviours: [{ type: 'answer', status: 500, body: '\0' }], ends: 'failed' },
  verbose: { behaviours: [{ type: 'endless', status: 200 }], ends: 'delivered' },
  resetting: { behaviours: [{ type: 'reset' }], ends: 'failed' },
  recovering: {
    behaviours: [RESET, RESET, RESET, RESET, RESET, { type: 'answer', status: 200 }],
    ends: 'delivered',
  },
};

/** Only the time limit ends these attempts. Other endpoints get a longer one, to succeed on a busy machine too. */
const MUTE_ENDPOINTS: Endpoints = {
  silent: { behaviours: [{ type: 'hang' }], ends: 'failed' },
};

for (const [what, endpoints, deadline] of [
  ['misbehave', ENDPOINTS, {}],
  ['never answer', MUTE_ENDPOINTS, { attemptTimeoutMs: 400 }],
] as const) {
  test(`if endpoints ${what}, every delivery ends according to the rules`, async (t) => {
    const receiver = await startWebhookReceiver(t);
    const untrusted = await startWebhookReceiver(t, { tls: 'valid' });
    const stage = await openDeliveryStage(t, { retryDelayMs: RETRY_DELAY_MS, ...deadline });
    const endsOf = new Map<string, string>([
      [untrusted.urlOf('/bad-tls'), 'failed'],
      ['http://127.0.0.1:1/closed', 'failed'],
    ]);
    for (const [name, { behaviours, ends }] of Object.entries(endpoints)) {
      receiver.script(`/${name}`, ...behaviours);
      endsOf.set(receiver.urlOf(`/${name}`), ends);
    }
    const search = await seedSearch(stage.database);
    // The recovering endpoint counts its posts, and mute ones take long: they get one delivery. The others get three.
    const isAlone = (url: string): boolean => endpoints === MUTE_ENDPOINTS || url.endsWith('/recovering');
    const expected = [...endsOf.keys()].flatMap((url) => Array<string>(isAlone(url) ? 1 : 3).fill(url));
    stage.announcer.announce(await seedDeliveries(stage.database, search, expected));
    await stage.start();
    await stage.untilAllEnded();

    const faults = await auditDeliveries({
      database: stage.database,
      posts: [...receiver.posts, ...untrusted.posts],
      retryDelayMs: RETRY_DELAY_MS,
      expected,
      keyOf: ({ endpoint }) => endpoint,
    });
    assert.deepEqual(faults, []);
    const { rows } = await stage.database.query('select distinct endpoint, state from delivery_states');
    assert.deepEqual(new Map(rows.map(({ endpoint, state }) => [endpoint, state])), endsOf);
    assert.deepEqual(stage.repairs, { missing: [], aborted: [] }, 'nothing was lost on the way');
    const isLastSuccess = async () => {
      const { rows: alerts } = await stage.database.query(`
        select last_alert_at = (select max(finished_at) from delivery_states where state = 'delivered') as is from searches`);
      return alerts[0].is;
    };
    // Endpoint statistics are written once a second.
    await untilIs(isLastSuccess, endpoints === ENDPOINTS ? true : null);
    assert.equal(untrusted.posts.length, 0);
  });
}

test('a retry is due an hour after the end of the attempt, however long that took', async (t) => {
  const receiver = await startWebhookReceiver(t);
  receiver.script('/hanging', { type: 'hang' });
  const stage = await openDeliveryStage(t, { retryDelayMs: 3_600_000, attemptTimeoutMs: 400 });
  const search = await seedSearch(stage.database);
  stage.announcer.announce(await seedDeliveries(stage.database, search, [receiver.urlOf('/hanging')]));
  await stage.start();
  const read = () =>
    stage.database.query(
      `select due_at >= started_at + duration_ms * interval '1 millisecond' + interval '1 hour' as "isLater",
         due_at <= clock_timestamp() + interval '1 hour' as "isNoLater"
       from delivery_states join attempts on delivery_id = id where state = 'retry_wait'`,
    );
  const { rows } = await until(read, ({ rowCount }) => rowCount === 1);
  assert.deepEqual(rows, [{ isLater: true, isNoLater: true }]);
});

test('outcomes that wait for PostgreSQL occupy no slot, and one client has at most seven eighths of 512', async (t) => {
  const receiver = await startWebhookReceiver(t);
  receiver.script('/ok', { type: 'answer', status: 200 });
  const attemptsInFlightMax = 16;
  const stage = await openDeliveryStage(t, { retryDelayMs: RETRY_DELAY_MS, attemptsInFlightMax });
  const search = await seedSearch(stage.database);
  const url = receiver.urlOf('/ok');
  await seedDeliveries(stage.database, search, [url]);
  await stage.start();
  await stage.untilAllEnded();
  const due = await seedDeliveries(stage.database, search, Array<string>(2_000).fill(url));
  await transaction(stage.database, async (connection) => {
    await connection.query('lock table attempts in exclusive mode');
    stage.announcer.announce(due);
    // The query keeps the transaction from being ended as idle by PostgreSQL.
    const count = async (): Promise<number> => {
      await connection.query('select 1');
      return receiver.posts.length;
    };
    await until(count, (posts) => posts >= 448);
    for (let turn = 0; turn < 200; turn++) await connection.query('select 1');
    assert.ok(receiver.posts.length <= 1 + 448 + attemptsInFlightMax, `${receiver.posts.length} posts`);
  });
  await stage.untilAllEnded();
  assert.equal(receiver.posts.length, 2_001);
});

test('a flood at an endpoint that hangs uses no attempts and delays no other endpoint, announced or not', async (t) => {
  const receiver = await startWebhookReceiver(t);
  receiver.script('/flooded', { type: 'hang' });
  const stage = await openDeliveryStage(t, { retryDelayMs: 60_000, attemptTimeoutMs: 60_000 });
  const search = await seedSearch(stage.database);
  const flood = await seedDeliveries(stage.database, search, Array<string>(3_000).fill(receiver.urlOf('/flooded')));
  stage.announcer.announce(flood);
  // These deliveries are not announced: the courier finds them by scanning the queue.
  const urls = ['/one', '/other', '/other'].map((path) => receiver.urlOf(path));
  const behind = await seedDeliveries(stage.database, search, urls);
  await stage.start();
  const delivered = async () => {
    const { rows } = await stage.database.query(
      `select count(*)::integer as count from delivery_states where state = 'delivered' and id = any($1::uuid[])`,
      [behind.map(({ id }) => id)],
    );
    return rows[0].count;
  };
  await untilIs(delivered, 3);
  const { rows } = await stage.database.query(
    `select count(*) > 2000 as "areMost", max(attempt_count) as attempts from delivery_states where state = 'queued'`,
  );
  assert.deepEqual(rows, [{ areMost: true, attempts: 0 }]);
  // Announcing them again, after they were delivered, sends nothing.
  stage.announcer.announce(behind);
  assert.equal(receiver.posts.filter(({ path }) => path !== '/flooded').length, 3);
});

test('health counts consecutive failures, and a success resets the count', async (t) => {
  const { gate, open: release } = createGate();
  const receiver = await startWebhookReceiver(t);
  const refusal: Behaviour = { type: 'answer', status: 500 };
  receiver.script('/hook', refusal, refusal, refusal, refusal, { type: 'gated', gate, status: 200 });
  const stage = await openDeliveryStage(t, { retryDelayMs: RETRY_DELAY_MS });
  const search = await seedSearch(stage.database);
  const key = endpointKeyOf(search.clientId, receiver.urlOf('/hook'));
  const health = async () => (await readEndpointHealth(stage.database, [key])).get(key);
  stage.announcer.announce(await seedDeliveries(stage.database, search, [receiver.urlOf('/hook')]));
  await stage.start();
  const failing = await until(health, (each) => each?.failureStreak === 4);
  assert.deepEqual([failing?.state, failing?.lastError, failing?.backlog], ['failing', 'status', 1]);
  release();
  const healthy = await until(health, (each) => each?.state === 'healthy');
  assert.deepEqual([healthy?.failureStreak, healthy?.backlog], [0, 0]);
  assert.ok(healthy?.lastSuccessAt);
});
