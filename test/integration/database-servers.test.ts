/** `DATABASE_URL` with several hosts, and through poolers: which server is used, and why others are refused. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { migrate, openDatabase } from '../../src/engine/store/database.ts';
import { openLeaderSession } from '../../src/engine/store/intake-leader.ts';
import { checkSessions } from '../../src/engine/store/session-check.ts';
import { openTestDatabase } from '../support/database.ts';
import { fetchPgbouncer, startPgbouncer } from '../support/pgbouncer.ts';
import { type Cleanup, lastFirst, startTestPostgres } from '../support/servers.ts';
import { until, untilIs } from '../support/until.ts';

function open(t: Cleanup, url: string) {
  const database = openTestDatabase(t, url, 2);
  return database;
}

function hostsOf(...urls: readonly string[]): string {
  return urls.map((url) => new URL(url).host).join(',');
}

async function beWritable(server: { readonly superuserUrl: string }, isWritable: boolean): Promise<void> {
  const one = open({ after: () => undefined }, server.superuserUrl);
  await one.query(`alter system set default_transaction_read_only = ${isWritable ? 'off' : 'on'}`);
  await one.query('select pg_reload_conf()');
  await one.end();
}

test('the primary is found among several hosts, in any position, and again after it has moved', async (t) => {
  const cleanup = lastFirst(t);
  const [first, second] = [await startTestPostgres(cleanup), await startTestPostgres(cleanup)];
  const { username, password, pathname } = new URL(first.url);
  // All test clusters are copies of one, so they have the same password.
  const urlOf = (hosts: string) => `postgres://${username}:${password}@${hosts}${pathname}`;
  await beWritable(first, false);
  const url = `${urlOf(`127.0.0.1:1,${hostsOf(first.url, second.url)}`)}?target_session_attrs=read-write`;
  await migrate(url);
  const database = open(cleanup, url);
  const portOf = async () =>
    (await database.query<{ port: string }>(`select current_setting('port') as port`)).rows[0]?.port;
  assert.equal(await portOf(), new URL(second.url).port);
  const session = await openLeaderSession(url);
  assert.equal(await session.campaign(), '1/00000001');
  await session.close();
  await second.kill();
  await assert.rejects(portOf);
  // The server's last message may be read before the connection closes. The next attempt then still uses that server.
  await until(
    () => portOf().catch(({ message }: Error) => message),
    (seen) => /no server of DATABASE_URL accepts writes: .*it is read-only/.test(seen ?? ''),
  );
  await second.restart();
  assert.equal(await portOf(), new URL(second.url).port);
});

test('a primary that moved while no connection was open is found at the first attempt', async (t) => {
  const cleanup = lastFirst(t);
  const [first, second] = [await startTestPostgres(cleanup), await startTestPostgres(cleanup)];
  await beWritable(second, false);
  const url = new URL(first.url);
  url.searchParams.set('target_session_attrs', 'read-write');
  const database = open(cleanup, url.href.replace(url.host, hostsOf(first.url, second.url)));
  const connection = await database.connect();
  connection.release(true);
  await untilIs(async () => database.totalCount, 0);
  await first.kill();
  await beWritable(second, true);
  const { rows } = await database.query<{ port: string }>(`select current_setting('port') as port`);
  assert.deepEqual(rows, [{ port: new URL(second.url).port }]);
});

test('a URL that asks for a standby or an unknown kind of server is refused', () => {
  for (const attributes of ['read-only', 'standby', 'prefer-standby', 'x']) {
    const url = `postgres://h/d?target_session_attrs=${attributes}`;
    assert.throws(() => openDatabase({ url, connectionsMax: 1, onConnectionLost: () => undefined }), {
      code: 'DATABASE_URL_UNUSABLE',
    });
  }
});

test('the query of the URL may contain hosts and ports', async (t) => {
  const { url } = await startTestPostgres(t);
  const { username, password, hostname, port, pathname } = new URL(url);
  const database = open(
    t,
    `postgres://${username}:${password}@${pathname}?host=${hostname},${hostname}&port=1,${port}`,
  );
  assert.deepEqual((await database.query('select 1 as one')).rows, [{ one: 1 }]);
});

test('PostgreSQL and pgbouncer in session mode pass the session check; pgbouncer in transaction mode is refused', async (t) => {
  const { url } = await startTestPostgres(t);
  await checkSessions(open(t, url));
  await open(t, url).query(`alter role current_user set DateStyle = German, DMY`);
  let unpacked: string;
  try {
    unpacked = await fetchPgbouncer();
  } catch (error) {
    return t.skip(`the distribution's pgbouncer cannot be downloaded: ${(error as Error).message}`);
  }
  const sessions = open(t, await startPgbouncer(t, unpacked, url, { pool_mode: 'session' }));
  await checkSessions(sessions);
  const { rows } = await sessions.query(
    `select current_setting('plan_cache_mode') as plans, current_setting('idle_in_transaction_session_timeout') as idle,
       current_setting('DateStyle') as dates`,
  );
  assert.deepEqual(
    rows,
    [{ plans: 'force_custom_plan', idle: '10s', dates: 'ISO, MDY' }],
    'each session has its own settings',
  );
  const shared = open(t, await startPgbouncer(t, unpacked, url, { pool_mode: 'transaction' }));
  await assert.rejects(checkSessions(shared), /a connection pooler in transaction mode. Set its pool_mode to session/);
});
