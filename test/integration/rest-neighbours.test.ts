/** Clients are served in turn: a burst of requests by one client does not delay the requests of another. */

import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { after, test } from 'node:test';
import { CONNECTIONS_MAX, startTestApi } from '../support/api.ts';
import { createGate } from '../support/gate.ts';
import { lastFirst } from '../support/servers.ts';
import { untilIs } from '../support/until.ts';

const AT_ONCE = 400;

const api = await startTestApi(lastFirst({ after }));

interface Sent {
  readonly key: string;
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends without the checks of `call`, which would take processor time of this process. */
function sender(t: { after: (work: () => void) => void }) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1_000 });
  t.after(() => agent.destroy());
  return ({ key, method, path, body, headers }: Sent, onSent: () => void = () => undefined): Promise<number> =>
    new Promise((resolve, reject) => {
      const text = body === undefined ? undefined : JSON.stringify(body);
      const type = text === undefined ? {} : { 'Content-Type': 'application/json' };
      const options = { method, agent, headers: { 'X-API-KEY': key, ...type, ...headers } };
      const outgoing = request(new URL(path, api.baseUrl), options, (response) => {
        response.resume().on('end', () => resolve(response.statusCode ?? 0));
      });
      outgoing.on('error', reject).once('finish', onSent).end(text);
    });
}

const CORNERS = Array.from({ length: 40 }, (_, n) => [
  2 + Math.cos((n * Math.PI) / 20) / 10,
  48 + Math.sin((n * Math.PI) / 20) / 10,
]);
/** This search counts towards a limit, so saving it locks its client's searches. */
const OUTLINED = { title: 'flood', geoShapes: [[...CORNERS, CORNERS[0]]] };

/** Kinds of requests, each with the statement whose lock makes them wait. */
const WAITING: readonly {
  readonly what: string;
  readonly lock: string;
  readonly sentOf: (n: number) => Partial<Sent>;
}[] = [
  {
    what: 'posts of searches',
    lock: 'select from search_totals where client_id = $1 for update',
    sentOf: () => ({ body: { title: 'flood' } }),
  },
  {
    what: 'posts under keys of idempotency',
    lock: 'select from search_totals where client_id = $1 for update',
    sentOf: (n) => ({ body: { title: 'flood' }, headers: { 'Idempotency-Key': `k${n}` } }),
  },
  {
    what: 'posts that a limit is looked up for',
    lock: "select pg_advisory_xact_lock(x'5ea7'::integer, hashtext($1::text))",
    sentOf: () => ({ body: OUTLINED }),
  },
  {
    what: 'changes of one search',
    lock: 'select from searches where client_id = $1 for update',
    sentOf: () => ({ method: 'PATCH', path: '/searches/{id}', body: { title: 'changed' } }),
  },
  {
    what: 'deletions of one search',
    lock: 'select from searches where client_id = $1 for update',
    sentOf: () => ({ method: 'DELETE', path: '/searches/{id}' }),
  },
];

for (const { what, lock, sentOf } of WAITING) {
  test(`four hundred simultaneous ${what} of one client delay no other client`, async (t) => {
    const send = sender(t);
    const neighbour = await api.newClient(`neighbour of ${what}`);
    const key = await api.newClient(what);
    // Enough searches for a row in every part of the client's totals.
    const made = await Promise.all(
      Array.from({ length: 60 }, () => api.call('POST', '/searches', { title: 'one' }, { key })),
    );
    const id = String(made[0]?.body['@id']).replace('/searches/', '');
    const holder = await api.database.connect();
    const { rows } = await holder.query('select id from clients where name = $1', [what]);
    // PostgreSQL must not end this transaction as idle, even if the requests take long on a busy machine.
    await holder.query('begin; set local idle_in_transaction_session_timeout = 0');
    await holder.query(lock, [rows[0].id]);
    let sent = 0;
    const flood = Array.from({ length: AT_ONCE }, (_, n) => {
      const { path = '/searches', method = 'POST', ...rest } = sentOf(n);
      return send({ key, method, path: path.replace('{id}', id), ...rest }, () => void sent++);
    });
    try {
      await untilIs(() => sent, AT_ONCE);
      for (const body of [{ title: 'own' }, OUTLINED]) {
        assert.equal(await send({ key: neighbour, method: 'POST', path: '/searches', body }), 201);
      }
      assert.equal(await send({ key: neighbour, method: 'GET', path: '/searches' }), 200);
    } finally {
      await holder.query('rollback');
      holder.release();
    }
    const statuses = new Set(await Promise.all(flood));
    const isExpected = (status: number): boolean => status < 300 || (what.startsWith('deletions') && status === 404);
    assert.ok([...statuses].every(isExpected), `answers: ${[...statuses].join()}`);
  });
}

test('writes that wait for a busy matcher delay no request of another client', async (t) => {
  const matcher = createGate();
  let waiting = 0;
  const searchChanged = (): Promise<void> => {
    waiting += 1;
    return matcher.gate;
  };
  const { call, newClient } = await startTestApi(lastFirst(t), { searchChanged });
  const names = Array.from({ length: CONNECTIONS_MAX }, (_, n) => `writer ${n}`);
  const writers = await Promise.all(names.map((name) => newClient(name)));
  const posts = writers.map((key) => call('POST', '/searches', { title: 'new' }, { key }));
  await untilIs(async () => waiting, CONNECTIONS_MAX, 30_000);
  assert.equal((await call('GET', '/searches')).status, 200);
  matcher.open();
  for (const { status } of await Promise.all(posts)) assert.equal(status, 201);
});
