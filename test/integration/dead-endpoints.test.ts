/** A dead endpoint is paused, and resumes with one attempt at a time (decisions, section 6, "Dead endpoints"). */

import assert from 'node:assert/strict';
import { after, describe, it, test } from 'node:test';
import fc from 'fast-check';
import { EndpointQueue } from '../../src/engine/delivery/endpoint-queue.ts';
import { endpointKeyOf, urlKeyOf } from '../../src/engine/domain/endpoint.ts';
import { randomUuid } from '../../src/engine/domain/ids.ts';
import type { Database } from '../../src/engine/store/database.ts';
import {
  pauseDeadEndpoints,
  pauseEndpoint,
  pauseOwnEndpoint,
  recordObservations,
  resumeEndpoint,
} from '../../src/engine/store/endpoints.ts';
import { readPausedBacklog } from '../../src/engine/store/endpoints-admin.ts';
import { startTestApi } from '../support/api.ts';
import { openDeliveryStage } from '../support/courier.ts';
import { connectDatabase } from '../support/database.ts';
import { createGate } from '../support/gate.ts';
import { ownDatabase } from '../support/own-database.ts';
import { seedDeliveries, seedSearch } from '../support/seeded-deliveries.ts';
import { until, untilIs } from '../support/until.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const HOUR_MS = 3_600_000;
const DAYS = 3;
const NAMES = ['a', 'b', 'c'] as const;

type Outcome = 'ok' | 'gone' | 'status' | 'aborted';

interface Attempt {
  readonly name: (typeof NAMES)[number];
  readonly outcome: Outcome;
  readonly atMs: number;
}

/** The rule of the decisions, evaluated over the whole history of attempts. */
function deadOf(attempts: readonly Attempt[], name: string): boolean {
  const own = attempts.filter((one) => one.name === name && one.outcome !== 'aborted');
  const others = attempts.filter((one) => one.name !== name && one.outcome !== 'aborted');
  const series = own.slice(own.findLastIndex(({ outcome }) => outcome === 'ok') + 1);
  const [first, last] = [series[0], series.at(-1)];
  if (first === undefined || last === undefined) return false;
  const spans = series.length >= 20 && last.atMs - first.atMs >= DAYS * 24 * HOUR_MS;
  const three = own.slice(-3);
  const isGone = three.length === 3 && three.every(({ outcome }) => outcome === 'gone');
  const hasGone = isGone && (three[2]?.atMs ?? 0) - (three[0]?.atMs ?? 0) >= HOUR_MS;
  const isOurs =
    !others.some(({ outcome, atMs }) => outcome === 'ok' && atMs >= first.atMs) &&
    others.some(({ atMs }) => atMs >= first.atMs);
  return (spans || hasGone) && !isOurs;
}

function isFailing(attempts: readonly Attempt[], name: string): boolean {
  const last = attempts.findLast((one) => one.name === name && one.outcome !== 'aborted');
  return last !== undefined && last.outcome !== 'ok';
}

const attemptsOf = (...outcomes: readonly Outcome[]) =>
  fc.array(
    fc.record({
      name: fc.constantFrom(...NAMES, 'a' as const, 'a' as const),
      outcome: fc.constantFrom(...outcomes),
      passMs: fc.constantFrom(1_000, 0.4 * HOUR_MS, HOUR_MS, 5 * HOUR_MS),
    }),
    { minLength: 20, maxLength: 90, size: 'max' },
  );
const FAILURES = Array.from({ length: 20 }, () => 'status' as const);
const histories = fc.oneof(
  attemptsOf('ok', 'aborted', 'gone', ...FAILURES),
  attemptsOf('ok', 'aborted', 'gone', 'gone', 'gone', 'status'),
);

test('an endpoint is paused exactly according to the rule, and the beginning and end of its failures are reported', async (t) => {
  const database = connectDatabase(t, await ownDatabase(t));
  const seen = { paused: 0, gone: 0 };
  await fc.assert(
    fc.asyncProperty(histories, fc.integer({ min: 1, max: 7 }), async (steps, batch) => {
      await database.query('delete from endpoints');
      const queues = new Map(
        NAMES.map((name) => [name, new EndpointQueue<never>(name, { concurrencyMax: 8, tooLongMs: 9_000 }, () => 64)]),
      );
      const past: Attempt[] = [];
      const paused = new Set<string>();
      const failed = new Set<string>();
      let atMs = Date.UTC(2026, 2, 1);
      for (const [position, { passMs, ...step }] of steps.entries()) {
        atMs += passMs;
        const attempt = { ...step, atMs };
        past.push(attempt);
        const queue = queues.get(step.name) as EndpointQueue<never>;
        queue.answered(queue.start(0), `https://${step.name}.example/`, {
          startedAt: new Date(atMs - 10),
          durationMs: 10,
          statusCode: step.outcome === 'gone' ? 410 : step.outcome === 'ok' ? 200 : null,
          error: step.outcome === 'ok' ? null : step.outcome === 'aborted' ? 'aborted' : 'status',
          reason: null,
          responseHead: null,
        });
        if (position % batch !== 0) continue;
        const observed = [...queues.values()].flatMap((each) => each.nextObservation() ?? []);
        const failing = observed.filter(({ failuresSinceSuccess }) => failuresSinceSuccess > 0).map(({ key }) => key);
        const { dead, series } = await recordObservations(database, observed, DAYS);
        const changed = NAMES.filter((key) => isFailing(past, key) !== failed.has(key));
        assert.deepEqual(series.map(({ key }) => key).sort(), changed);
        for (const { key, endedAfter } of series) {
          assert.equal(endedAfter === null, isFailing(past, key));
          if (!failed.delete(key)) failed.add(key);
        }
        const expected = failing.filter((key) => !paused.has(key) && deadOf(past, key));
        assert.deepEqual(dead.map(({ key }) => key).sort(), expected.sort());
        for (const { key, failureCount } of dead) {
          paused.add(key);
          if (failureCount < 20) seen.gone += 1;
        }
        seen.paused += dead.length;
      }
    }),
    { numRuns: 50 },
  );
  assert.ok(seen.paused > 10 && seen.gone > 5, JSON.stringify(seen));
});

test('with 0 days, failures never pause an endpoint', async (t) => {
  const database = connectDatabase(t, await ownDatabase(t));
  await database.query(
    `insert into endpoints (key, url, failure_streak, failing_since, last_failure_at)
     values ('a', 'a', 20, now() - interval '4 days', now())`,
  );
  assert.equal((await pauseDeadEndpoints(database, ['a'], 0)).length, 0);
  assert.equal((await pauseDeadEndpoints(database, ['a'], DAYS)).length, 1);
  assert.deepEqual((await readPausedBacklog(database)).counts, { operator: 0, client: 0, failures: 1 });
});

test('a dead endpoint gets no attempts, loses no delivery, and resumes with one attempt at a time until a 200', async (t) => {
  const stage = await openDeliveryStage(t, { retryDelayMs: HOUR_MS, allowPrivateNetworks: true });
  const { database, announcer, dead } = stage;
  const receiver = await startWebhookReceiver(t);
  const search = await seedSearch(database);
  const url = receiver.urlOf('/dead');
  const key = endpointKeyOf(search.clientId, url);
  await database.query(
    `insert into endpoints (key, url, failure_streak, failing_since, last_failure_at, last_success_at, concurrency)
     values ($1, $2, 19, now() - interval '4 days', now(), now() - interval '5 days', 8), ('other', 'other', 0, null, null, now(), 1)`,
    [key, url],
  );
  const gates = [createGate(), createGate()];
  t.after(() => gates.forEach(({ open }) => open()));
  const [first, second] = gates.map(({ gate }, at) => ({ type: 'gated' as const, gate, status: at === 0 ? 500 : 200 }));
  assert.ok(first && second);
  receiver.script('/dead', { type: 'answer', status: 500 }, first, second);
  const posts = () => receiver.posts.filter(({ path }) => path === '/dead').length;
  await stage.start();
  await stage.start();
  announcer.announce(await seedDeliveries(database, search, [url]));
  await untilIs(() => dead.includes(key), true);
  const others = Array.from({ length: 20 }, () => url);
  announcer.announce([
    ...(await seedDeliveries(database, search, others)),
    ...(await seedDeliveries(database, search, [receiver.urlOf('/fine')])),
  ]);
  await receiver.until((all) => all.some(({ path }) => path === '/fine'));
  assert.equal(posts(), 1, 'nothing is sent to it');
  const { rows } = await database.query('select distinct state from delivery_states where endpoint = $1 order by 1', [
    url,
  ]);
  assert.deepEqual(rows, [{ state: 'queued' }, { state: 'retry_wait' }]);
  await resumeEndpoint(database, key, 'client');
  for (const [position, { open }] of gates.entries()) {
    await untilIs(() => posts(), position + 2);
    await untilAllHaveLooked(database);
    assert.equal(posts(), position + 2, 'one at a time for all couriers');
    open();
  }
  await untilIs(() => posts(), 21);
  await untilIs(async () => (await database.query('select from attempts where error is null')).rowCount, 20);
});

/** Waits until each courier has polled the pauses after this call, and sent the deliveries that it may send. */
async function untilAllHaveLooked(database: Database): Promise<void> {
  const read = async () => (await database.query('select beat::integer from couriers order by number')).rows;
  const before = await read();
  await until(read, (now) => now.every(({ beat }, at) => beat >= before[at].beat + 3));
}

test('couriers read the paused endpoints only after a change, not every second', async (t) => {
  const { database, start } = await openDeliveryStage(t, { retryDelayMs: HOUR_MS });
  await start();
  await start();
  await untilAllHaveLooked(database);
  const { query } = database;
  let reads = 0;
  const counting = (...statement: Parameters<typeof query>) => {
    const [text] = statement as readonly unknown[];
    if (String(text).startsWith('select key from endpoints')) reads += 1;
    return query.apply(database, statement);
  };
  Object.assign(database, { query: counting });
  const key = endpointKeyOf(randomUuid(), 'https://a.test/');
  const pause = () => pauseOwnEndpoint(database, key, 'https://a.test/');
  for (const change of [pause, () => resumeEndpoint(database, key, 'client')]) {
    await change();
    await untilAllHaveLooked(database);
    assert.equal(reads, 2, 'once a courier');
    await untilAllHaveLooked(database);
    assert.equal(reads, 2);
    reads = 0;
  }
});

describe('GET and PATCH /endpoints', async () => {
  const api = await startTestApi({ after });
  const { database } = api;
  const { call } = api;
  const URLS = { both: 'https://hooks.example.com/both', event: 'https://hooks.example.com/event' };
  await call('POST', '/searches', { title: 'a', endpointRecipient: URLS.both, eventEndpoint: URLS.both });
  await call('POST', '/searches', { title: 'b', endpointRecipient: URLS.both, eventEndpoint: URLS.event });
  const { body: me } = await call('GET', '/users');
  const clientId = me['hydra:member'][0]['@id'].split('/').at(-1);
  const keyOf = (url: string): string => endpointKeyOf(clientId, url);
  const find = async (url: string) => {
    const { body } = await call('GET', '/endpoints');
    return body['hydra:member'].find((endpoint: { readonly url: string }) => endpoint.url === url);
  };

  it('list the endpoints that the searches of the client name', async () => {
    const { body } = await call('GET', '/endpoints?itemsPerPage=1&page=2');
    assert.equal(body['hydra:totalItems'], 2);
    assert.deepEqual(
      body['hydra:member'].map(({ url, channels, searches }: Record<string, unknown>) => ({ url, channels, searches })),
      [{ url: URLS.event, channels: ['event'], searches: 1 }],
    );
    const { '@id': id, ...both } = await find(URLS.both);
    assert.deepEqual(both, {
      '@context': '/contexts/Endpoint',
      '@type': 'Endpoint',
      url: URLS.both,
      channels: ['match', 'event'],
      state: 'healthy',
      pausedBy: null,
      since: null,
      failingSince: null,
      lastError: null,
      waiting: 0,
      searches: 2,
    });
    assert.deepEqual((await call('GET', id)).body, { '@id': id, ...both });
    for (const path of [`/endpoints/${randomUuid()}`, '/endpoints/%00', '/endpoints/*']) {
      assert.equal((await call('GET', path)).status, 404);
      assert.equal((await call('PATCH', path, { paused: true })).status, 404);
    }
  });

  it('report each cause, the operator’s first, and a client ends its own pauses and those after failures', async () => {
    const { '@id': id } = await find(URLS.both);
    await database.query(
      `insert into endpoints (key, url, failure_streak, failing_since, last_error, failures_paused_at)
       values ($1, $2, 25, '2026-03-01T00:00:00Z', 'status', '2026-03-04T00:00:00Z')`,
      [keyOf(URLS.both), URLS.both],
    );
    const failing = await find(URLS.both);
    assert.deepEqual(
      [failing.state, failing.pausedBy, failing.since, failing.failingSince],
      ['paused', 'failures', '2026-03-04T00:00:00.000Z', '2026-03-01T00:00:00.000Z'],
    );
    assert.equal((await call('PATCH', id, { paused: true })).body.pausedBy, 'client');
    await pauseEndpoint(database, urlKeyOf(URLS.both), URLS.both);
    await pauseEndpoint(database, keyOf(URLS.both), URLS.both);
    assert.equal((await call('GET', id)).body.pausedBy, 'operator');
    assert.equal((await call('PATCH', id, { paused: true })).status, 200);
    for (const key of [urlKeyOf(URLS.both), keyOf(URLS.both)]) {
      assert.equal((await call('PATCH', id, { paused: false })).status, 409);
      assert.equal((await call('GET', id)).body.pausedBy, 'operator');
      await database.query('update endpoints set operator_paused_at = null where key = $1', [key]);
    }
    const resumed = await call('PATCH', id, { paused: false });
    assert.deepEqual(
      [resumed.status, resumed.body.state, resumed.body.pausedBy, resumed.body.failingSince],
      [200, 'healthy', null, null],
    );
  });

  it('keep a client’s own pause when an operator resumes', async () => {
    const { '@id': id } = await find(URLS.event);
    await call('PATCH', id, { paused: true });
    await pauseEndpoint(database, urlKeyOf(URLS.event), URLS.event);
    await resumeEndpoint(database, urlKeyOf(URLS.event), 'operator');
    assert.equal((await call('GET', id)).body.pausedBy, 'client');
    const before = (await call('GET', id)).body.since;
    await call('PATCH', id, { paused: true });
    assert.equal((await call('GET', id)).body.since, before);
  });

  it('refuse a body without `paused`, and list a paused endpoint that no search names any longer', async () => {
    const { '@id': id } = await find(URLS.event);
    for (const body of [{}, { paused: 'no' }, { paused: true, url: 'x' }]) {
      assert.equal((await call('PATCH', id, body)).status, 422);
    }
    const { body } = await call('GET', '/searches');
    for (const search of body['hydra:member']) await call('PATCH', search['@id'], { eventEndpoint: null });
    const left = await find(URLS.event);
    assert.deepEqual([left.channels, left.searches, left.state], [[], 0, 'paused']);
    await call('PATCH', id, { paused: false });
    assert.equal(await find(URLS.event), undefined);
  });
});
