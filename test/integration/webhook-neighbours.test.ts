/** Clients that name the same URL or host: no client delays another, sees its backlog, or is paused because of it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boundLookups } from '../../src/engine/delivery/name-lookups.ts';
import { endpointKeyOf, urlKeyOf } from '../../src/engine/domain/endpoint.ts';
import { createApiKey } from '../../src/engine/store/clients.ts';
import { pauseEndpoint, readEndpointHealth, resumeEndpoint } from '../../src/engine/store/endpoints.ts';
import { readAdminEndpoint } from '../../src/engine/store/endpoints-admin.ts';
import { startTestApi } from '../support/api.ts';
import { countOpen, openDeliveryStage } from '../support/courier.ts';
import { createGate } from '../support/gate.ts';
import { seedDeliveries, seedSearch } from '../support/seeded-deliveries.ts';
import { until, untilIs } from '../support/until.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const SLOTS = 16;

test('a client that uses the URL of another client does not delay it', async (t) => {
  const receiver = await startWebhookReceiver(t);
  const hook = receiver.urlOf('/hook');
  const stage = await openDeliveryStage(t, {
    retryDelayMs: 60_000,
    attemptTimeoutMs: 60_000,
    attemptsInFlightMax: SLOTS,
  });
  const { gate, open: release } = createGate();
  receiver.script('/hook', { type: 'gated', gate, status: 200 });
  const [flooding, neighbour] = [await seedSearch(stage.database), await seedSearch(stage.database)];
  const flood = await seedDeliveries(stage.database, flooding, Array<string>(400).fill(hook));
  const [own] = await seedDeliveries(stage.database, neighbour, [hook]);
  stage.announcer.announce([...flood, ...(own ? [own] : [])]);
  await stage.start();
  // The first posts of the flood have arrived.
  await receiver.until((posts) => posts.length > 0);
  release();
  await receiver.until((posts) => posts.some(({ id }) => id === own?.id));
  const before = receiver.posts.findIndex(({ id }) => id === own?.id);
  assert.ok(before <= 2 * SLOTS, `${before} of the other client's posts went before`);
  await stage.untilAllEnded();
});

test('health and backlog show only the client’s own deliveries', async (t) => {
  const api = await startTestApi(t);
  const hook = 'https://shared.example.com/hook';
  const [flooding, own] = [await seedSearch(api.database), await seedSearch(api.database)];
  const { key } = await createApiKey(api.database, own.clientId, 'own');
  await seedDeliveries(api.database, flooding, Array<string>(40).fill(hook));
  await seedDeliveries(api.database, own, [hook, hook]);
  const health = { failure_streak: 3, last_error: 'timeout', last_failure_at: new Date() };
  for (const endpointKey of [urlKeyOf(hook), endpointKeyOf(flooding.clientId, hook)]) {
    await api.database.query(
      'insert into endpoints (key, url, failure_streak, last_error, last_failure_at) values ($1, $2, $3, $4, $5)',
      [endpointKey, hook, ...Object.values(health)],
    );
  }
  const read = async () => {
    const { body } = await api.call('GET', `/searches/${own.id}/deliveries`, undefined, { key });
    return body['hydra:member'][0].endpointHealth;
  };
  assert.equal(await read(), null, 'nothing was ever sent there for this client');
  await api.database.query('insert into endpoints (key, url, last_success_at) values ($1, $2, now())', [
    endpointKeyOf(own.clientId, hook),
    hook,
  ]);
  const { state, failureStreak, backlog, lastError } = await read();
  assert.deepEqual(
    { state, failureStreak, backlog, lastError },
    {
      state: 'healthy',
      failureStreak: 0,
      backlog: 2,
      lastError: null,
    },
  );
});

test('an operator pauses a URL for every client, or only one client’s endpoint', async (t) => {
  const receiver = await startWebhookReceiver(t);
  const stage = await openDeliveryStage(t, { retryDelayMs: 60_000 });
  const hook = receiver.urlOf('/hook');
  const [one, other] = [await seedSearch(stage.database), await seedSearch(stage.database)];
  const send = async () => {
    for (const search of [one, other]) {
      stage.announcer.announce(await seedDeliveries(stage.database, search, [hook]));
    }
  };
  const open = (count: number) =>
    until(
      () => countOpen(stage.database),
      (left) => left === count,
    );
  await pauseEndpoint(stage.database, endpointKeyOf(one.clientId, hook), hook);
  await send();
  await stage.start();
  await open(1);
  assert.equal(receiver.posts.length, 1);
  await pauseEndpoint(stage.database, urlKeyOf(hook), hook);
  await send();
  await open(3);
  const keys = [one, other].map(({ clientId }) => endpointKeyOf(clientId, hook));
  const healths = [...(await readEndpointHealth(stage.database, keys)).values()];
  assert.deepEqual(healths.map(({ state, backlog }) => [state, backlog]).toSorted(), [
    ['paused', 1],
    ['paused', 2],
  ]);
  const shown = await readAdminEndpoint(stage.database, urlKeyOf(hook));
  assert.deepEqual([shown?.openCount, shown?.pausedAt === null], [3, false]);
  await resumeEndpoint(stage.database, urlKeyOf(hook), 'operator');
  await open(0);
  assert.equal(receiver.posts.length, 4);
});

test('posts that a client aims at the URL of another reach it at two per second', async (t) => {
  const receiver = await startWebhookReceiver(t);
  receiver.script('/stranger', { type: 'answer', status: 404 });
  const stage = await openDeliveryStage(t, { retryDelayMs: 3_600_000 });
  const search = await seedSearch(stage.database);
  const own = await seedDeliveries(stage.database, search, Array<string>(200).fill(receiver.urlOf('/own')));
  const aimed = await seedDeliveries(stage.database, search, Array<string>(200).fill(receiver.urlOf('/stranger')));
  stage.announcer.announce([...aimed, ...own]);
  const courier = await stage.start();
  const startsOf = async (path: string): Promise<number[]> => {
    const { rows } = await stage.database.query<{ at: Date }>(
      `select started_at as at from attempts join delivery_states on id = delivery_id where endpoint like $1 order by 1`,
      [`%${path}`],
    );
    return rows.map(({ at }) => at.getTime());
  };
  await until(
    () => startsOf('/stranger'),
    (starts) => starts.length >= 6,
  );
  const starts = await startsOf('/stranger');
  const sinceFirst = starts.map((at) => at - (starts[0] as number));
  // On a busy machine a claim may be late, even the first one.
  const early = sinceFirst.filter((ms, position) => ms < 1_000 * Math.floor(position / 2) - 400);
  assert.deepEqual(early, [], `attempts at ${sinceFirst.join()} ms`);
  const served = await until(
    () => startsOf('/own'),
    ({ length }) => length === 200,
  );
  const meanwhile = (await startsOf('/stranger')).filter((at) => at < Number(served.at(-1)));
  assert.ok(meanwhile.length < 100, 'the endpoint that answers does not wait for the other one');
  await courier.drain();
});

test('slow name lookups delay only their own client, and a lookup refused because of a limit is not an attempt', async (t) => {
  const receiver = await startWebhookReceiver(t);
  const { port } = new URL(receiver.url);
  const { gate: answered, open: answer } = createGate();
  let underWay = 0;
  const stage = await openDeliveryStage(t, {
    retryDelayMs: 60_000,
    resolveName: boundLookups(async (name) => {
      if (!name.startsWith('hanging')) return [{ address: '127.0.0.1', family: 4 }];
      underWay += 1;
      await answered;
      return [{ address: '127.0.0.1', family: 4 }];
    }, 5),
  });
  const [hanging, neighbour] = [await seedSearch(stage.database), await seedSearch(stage.database)];
  const hooksOf = (label: string, count: number) =>
    Array.from({ length: count }, (_, n) => `http://${label}-${n}.test:${port}/${label}`);
  stage.announcer.announce(await seedDeliveries(stage.database, hanging, hooksOf('hanging', 40)));
  await stage.start();
  await untilIs(() => underWay, 8);
  stage.announcer.announce(await seedDeliveries(stage.database, neighbour, hooksOf('healthy', 40)));
  await receiver.until((posts) => posts.length === 40);
  assert.ok(receiver.posts.every(({ path }) => path === '/healthy'));
  assert.equal(underWay, 8);
  answer();
  await stage.untilAllEnded();
  assert.equal(receiver.posts.length, 80);
  const attempts = await stage.database.query('select max(attempt_count)::integer as most from delivery_states');
  assert.equal(attempts.rows[0].most, 1);
});
