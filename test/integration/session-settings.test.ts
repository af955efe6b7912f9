/** Settings of a role or a database, made by installers and administrators, do not change the service's behaviour. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { migrate, openDatabase } from '../../src/engine/store/database.ts';
import { holdTerm, openLeaderSession } from '../../src/engine/store/intake-leader.ts';
import { MIGRATION_LOCK } from '../../src/engine/store/schema.ts';
import { PLANS, SESSION_SETTINGS } from '../../src/engine/store/session-settings.ts';
import { connectDatabase, openTestDatabase, queryOnce } from '../support/database.ts';
import { assertNone } from '../support/lists.ts';
import { type Cleanup, startTestPostgres, type TestPostgres } from '../support/servers.ts';
import { until } from '../support/until.ts';

/** Legal values that differ from those the program relies on. */
const FOREIGN = {
  DateStyle: 'German, DMY',
  IntervalStyle: 'sql_standard',
  TimeZone: 'America/Chicago',
  bytea_output: 'escape',
  extra_float_digits: '-15',
  standard_conforming_strings: 'off',
  array_nulls: 'off',
  default_transaction_isolation: 'serializable',
  exit_on_error: 'on',
  statement_timeout: '3s',
  lock_timeout: '1ms',
  transaction_timeout: '3s',
  idle_session_timeout: '1s',
  idle_in_transaction_session_timeout: '1s',
  tcp_keepalives_idle: '1',
  tcp_keepalives_interval: '1',
  tcp_keepalives_count: '1',
  tcp_user_timeout: '1s',
  client_connection_check_interval: '1s',
  jit: 'on',
  random_page_cost: '100',
  work_mem: '64kB',
  max_parallel_workers_per_gather: '8',
  from_collapse_limit: '1',
  join_collapse_limit: '1',
  // These are not in `SESSION_SETTINGS`.
  plan_cache_mode: 'auto',
  synchronous_commit: 'off',
  enable_seqscan: 'off',
  enable_indexscan: 'off',
  enable_nestloop: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_bitmapscan: 'off',
  enable_sort: 'off',
} as const;

const PLACES = ['role', 'database'] as const;

async function startForeign(t: Cleanup, place: (typeof PLACES)[number]): Promise<TestPostgres> {
  const postgres = await startTestPostgres(t);
  for (const [name, value] of Object.entries(FOREIGN)) {
    await alter(postgres, place, `set ${name} = ${value.includes(',') ? value : `'${value}'`}`);
  }
  return postgres;
}

async function alter({ url, superuserUrl }: TestPostgres, place: (typeof PLACES)[number], how: string): Promise<void> {
  const { username, pathname } = new URL(url);
  await queryOnce(superuserUrl, `alter ${place} "${place === 'role' ? username : pathname.slice(1)}" ${how}`);
}

test('every setting that the program relies on is tested', () => {
  assertNone(Object.keys(SESSION_SETTINGS).filter((name) => !(name in FOREIGN)));
});

for (const place of PLACES) {
  test(`sessions with other settings of the ${place} have the same values as unchanged ones`, async (t) => {
    const [foreign, usual] = [await startForeign(t, place), await startTestPostgres(t)];
    for (const plans of Object.keys(PLANS) as (keyof typeof PLANS)[]) {
      const [seen, expected] = await Promise.all(
        [foreign, usual].map(async ({ url }) => {
          const database = openDatabase({ url, connectionsMax: 1, plans, onConnectionLost: () => undefined });
          t.after(() => database.end());
          const { rows } = await database.query(
            'select name, setting from pg_settings where name = any($1) order by 1',
            [Object.keys(FOREIGN)],
          );
          return rows;
        }),
      );
      assert.deepEqual(seen, expected, plans);
      assert.equal(seen?.length, Object.keys(FOREIGN).length, 'this version has them all');
    }
  });
}

test('the sessions that migrate and that lead wait for a lock, regardless of the role’s settings', async (t) => {
  const postgres = await startForeign(t, 'role');
  const { url } = postgres;
  const look = connectDatabase(t, databaseOf(postgres));
  const untilWaiting = () =>
    until(
      async () => (await look.query("select from pg_stat_activity where wait_event_type = 'Lock'")).rowCount,
      (count) => count === 1,
    );
  const holder = await look.connect();
  await holder.query(`select pg_advisory_lock(${MIGRATION_LOCK})`);
  const migrated = migrate(url);
  await untilWaiting();
  await holder.query(`select pg_advisory_unlock(${MIGRATION_LOCK})`);
  holder.release();
  assert.deepEqual((await migrated).unknown, []);

  const former = await openLeaderSession(url);
  assert.equal(await former.campaign(), '1/00000001');
  const database = openTestDatabase(t, url, 1);
  const recording = await database.connect();
  await recording.query('begin');
  await holdTerm(recording, '1/00000001');
  await former.close();
  const next = await openLeaderSession(url);
  t.after(() => next.close());
  const campaign = next.campaign();
  await untilWaiting();
  await recording.query('commit');
  recording.release();
  assert.equal(await campaign, '2/00000001');
});

/** The URL of the superuser, which the settings of the role do not affect. */
function databaseOf({ url, superuserUrl }: TestPostgres): string {
  return new URL(new URL(url).pathname, superuserUrl).href;
}
