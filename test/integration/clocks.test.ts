/** The clocks of the daemon, PostgreSQL and NATS: what differs by more than five seconds is named, and is no reason to rest. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectBroker } from '../../src/engine/broker/connection.ts';
import { startClockWatch } from '../../src/engine/maintenance/clock-watch.ts';
import { connectDatabase, queryOnce } from '../support/database.ts';
import { startTestNats, startTestPostgres } from '../support/servers.ts';
import { startHere } from '../support/service.ts';

test('three clocks of one machine agree, and one that jumps is named with those that do not', async (t) => {
  const [postgres, nats] = await Promise.all([startTestPostgres(t), startTestNats(t)]);
  const broker = await connectBroker({ url: nats.url, name: 'test', onStatus: () => undefined });
  t.after(() => broker.close());
  const database = connectDatabase(t, postgres.url);
  const look = async (aheadMs: number) => {
    const told: (string | null)[] = [];
    const nowMs = () => Date.now() + aheadMs;
    const watch = await startClockWatch({ broker, database, nowMs, onChange: (difference) => told.push(difference) });
    await watch.stop();
    return { told, difference: watch.difference, ahead: watch.aheadSeconds };
  };
  const { ahead, ...agreeing } = await look(0);
  assert.deepEqual(agreeing, { told: [], difference: null });
  for (const clock of ['PostgreSQL', 'NATS']) assert.ok(Math.abs(ahead.get(clock) ?? 99) < 2, `${clock} is read`);
  for (const [aheadMs, words] of [
    [7_000, /^the clock of this daemon is 7\.\d s ahead of that of (?:NATS|PostgreSQL)/],
    [-86_400_000, /ahead of that of this daemon/],
  ] as const) {
    const { told, difference } = await look(aheadMs);
    assert.match(difference ?? '', words);
    assert.deepEqual(told, [difference]);
  }
});

test('a PostgreSQL that is two hours ahead is named in /readyz, which stays 200, and in the metrics', async (t) => {
  const servers = { postgres: await startTestPostgres(t), nats: await startTestNats(t) };
  const { pathname, username } = new URL(servers.postgres.url);
  const asSuperuser = servers.postgres.superuserUrl.replace(/[^/]*$/, pathname.slice(1));
  await queryOnce(asSuperuser, 'create schema ahead');
  await queryOnce(
    asSuperuser,
    `create function ahead.clock_timestamp() returns timestamptz language sql
     as $$ select pg_catalog.clock_timestamp() + interval '2 hours' $$`,
  );
  await queryOnce(asSuperuser, `grant usage on schema ahead to "${username}"`);
  await queryOnce(asSuperuser, `alter role "${username}" set search_path = public, ahead, pg_catalog`);
  const daemon = await startHere(t, servers);
  const answer = await fetch(`${daemon.operationsUrl}/readyz`);
  const { checks } = (await answer.json()) as { checks: { clocks: { status: string; reason: string } } };
  assert.equal(answer.status, 200);
  assert.equal(checks.clocks.status, 'caution');
  assert.match(checks.clocks.reason, /^the clock of PostgreSQL is 7\d\d\d\.\d s ahead/);
  const metrics = await (await fetch(`${daemon.operationsUrl}/metrics`)).text();
  assert.match(metrics, /^vigie_clock_ahead_seconds\{clock="PostgreSQL"\} 7\d\d\d\./m);
  assert.equal(daemon.log.filter(({ message }) => message === 'the clocks differ').length, 1);
});
