/** Terms of the intake leader: the reported time without a leader, and when a leader keeps or loses its term. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type pg from 'pg';
import { migrate } from '../../src/engine/store/database.ts';
import {
  holdTerm,
  openLeaderSession,
  readIntakeLead,
  type Term,
  TermOverError,
} from '../../src/engine/store/intake-leader.ts';
import { readIntakePosition, recordStart, writeIntakePosition } from '../../src/engine/store/intake-position.ts';
import { startDaemon } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { ownDatabase } from '../support/own-database.ts';
import { startPostgresPair } from '../support/postgres-pair.ts';
import { lastFirst, startTestPostgres, startTestServers } from '../support/servers.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';
import { until, untilIs } from '../support/until.ts';

test('the time without a leader is shown at once and by the next leader, and counts only while an instance runs', async (t) => {
  const own = await ownDatabase(t);
  const database = connectDatabase(t, own);
  assert.deepEqual(await readIntakeLead(database), { beganAt: null, gapSeconds: 0, leaderlessSeconds: 0 });

  const runFor = (seconds: number) =>
    database.query(
      `insert into instances (id, host, process_id, roles, version, newest_migration, started_at, stages, failing)
       values (gen_random_uuid(), 'h', 1, '{intake}', '0', 1, clock_timestamp() - $1 * interval '1 second', '{}', '[]')`,
      [seconds],
    );
  await runFor(60);
  const first = await openLeaderSession(own);
  assert.equal(await first.campaign(), '1/00000001');
  await first.showLead();
  const led = await readIntakeLead(database);
  assert.ok(led.beganAt);
  assert.deepEqual([led.gapSeconds, led.leaderlessSeconds], [0, 0], 'there was no leader before it');
  await first.close();

  await database.query(`update intake_leads set seen_at = seen_at - interval '40 seconds'`);
  const orphaned = await readIntakeLead(database);
  assert.ok(orphaned.leaderlessSeconds >= 40);
  const second = await openLeaderSession(own);
  t.after(() => second.close());
  assert.equal(await second.campaign(), '2/00000001');
  assert.ok((await readIntakeLead(database)).leaderlessSeconds >= 40, 'a term without work does not count');
  await second.showLead();
  const { beganAt, gapSeconds, leaderlessSeconds } = await readIntakeLead(database);
  assert.ok(gapSeconds >= 40);
  assert.equal(leaderlessSeconds, 0);
  assert.ok(beganAt && beganAt > led.beganAt);
  await second.close();

  // The whole service was stopped for a while, and was started again five seconds ago.
  await database.query(`update intake_leads set seen_at = seen_at - interval '940 seconds'`);
  await database.query('delete from instances');
  await runFor(5);
  const third = await openLeaderSession(own);
  t.after(() => third.close());
  await third.campaign();
  await third.showLead();
  const restarted = await readIntakeLead(database);
  assert.ok(restarted.gapSeconds >= 5 && restarted.gapSeconds < 900, `${restarted.gapSeconds} s`);
});

/** Waits, by the clock of PostgreSQL, longer than a leader may be silent before another instance may take the lead. */
async function whileLongSilence(database: pg.Pool): Promise<void> {
  const { rows } = await database.query<{ end: Date }>(`select clock_timestamp() + interval '8 seconds' as end`);
  await until(
    async () => (await database.query<{ now: Date }>('select clock_timestamp() as now')).rows[0]?.now as Date,
    (now) => now > (rows[0] as { end: Date }).end,
  );
}

test('a single instance keeps the lead, however late PostgreSQL answers its heartbeat', async (t) => {
  const own = await ownDatabase(t);
  const database = connectDatabase(t, own);
  const session = await openLeaderSession(own);
  t.after(() => session.close());
  assert.equal(await session.campaign(), '1/00000001');
  await session.showLead();
  const { rows } = await database.query(`select pid from pg_stat_activity where application_name = 'vigie leader'`);
  process.kill(rows[0].pid, 'SIGSTOP');
  await whileLongSilence(database);
  process.kill(rows[0].pid, 'SIGCONT');
  await session.showLead();
  assert.equal(session.isLost, false);
  assert.equal((await readIntakeLead(database)).leaderlessSeconds, 0);
});

test('a single instance keeps the lead, however late its heartbeat is, but loses it to another one', async (t) => {
  const servers = await startTestServers(t);
  const daemon = await startDaemon(t, servers);
  const database = connectDatabase(t, servers.postgres.url);
  const termOf = async () => (await database.query<{ term: string }>('select term from intake_leader')).rows[0]?.term;
  assert.equal(await termOf(), '1');
  daemon.process.kill('SIGSTOP');
  await whileLongSilence(database);
  daemon.process.kill('SIGCONT');
  await untilIs(async () => (await readIntakeLead(database)).leaderlessSeconds, 0);
  const other = await openLeaderSession(servers.postgres.url);
  t.after(() => other.close());
  assert.equal(await other.campaign(), null);
  assert.equal(await termOf(), '1');
  daemon.process.kill('SIGSTOP');
  assert.equal(
    await until(
      () => other.campaign(),
      (term) => term !== null,
    ),
    '2/00000001',
  );
  daemon.process.kill('SIGCONT');
  await until(
    async () => daemon.log,
    (log) => log.some(({ message }) => message === 'This instance is a standby.'),
  );
});

test('a leader whose PostgreSQL does not answer for a while sends one query at a time', async (t) => {
  const own = await ownDatabase(t);
  const proxy = await startTcpProxy(t, Number(new URL(own).port));
  const url = Object.assign(new URL(own), { port: String(proxy.port) }).href;
  const warnings: string[] = [];
  const note = ({ name, message }: Error): void => {
    if (name === 'DeprecationWarning') warnings.push(message);
  };
  process.on('warning', note);
  t.after(() => void process.off('warning', note));
  t.mock.timers.enable({ apis: ['setInterval'] });
  const session = await openLeaderSession(url);
  t.after(() => session.close());
  assert.equal(await session.campaign(), '1/00000001');
  proxy.stall();
  for (let second = 0; second < 5; second++) t.mock.timers.tick(1_000);
  proxy.heal();
  await session.showLead();
  assert.equal(session.isLost, false);
  // Warnings are reported in a later turn of the event loop.
  await turn();
  assert.deepEqual(warnings, []);
});

test('a leader stores nothing in a promoted standby, which may lack messages that the leader has acknowledged', async (t) => {
  const cleanup = lastFirst(t);
  const pair = await startPostgresPair(cleanup);
  await migrate(pair.url);
  const session = await openLeaderSession(pair.url);
  cleanup.after(() => session.close());
  const term = (await session.campaign()) as Term;
  await pair.kill();
  await pair.promote();
  const database = connectDatabase(cleanup, pair.urls[0]);
  await writeIntakePosition(database, term, { sequence: 7, storedAt: new Date().toISOString(), isPast: true });
  assert.equal((await readIntakePosition(database)).recorded.sequence, 0);
  await assert.rejects(holdTerm(database, term), TermOverError);
});

test('two terms have different numbers, even if PostgreSQL crashes when the first one begins', async (t) => {
  const cleanup = lastFirst(t);
  const postgres = await startTestPostgres(cleanup);
  await migrate(postgres.url);
  for (const term of [1, 2, 3]) {
    const session = await openLeaderSession(postgres.url);
    cleanup.after(() => session.close());
    assert.equal(await session.campaign(), `${term}/00000001`);
    await postgres.kill();
    await postgres.restart();
  }
});

test('a term begins after a restore even if a clock is years ahead, or earlier restores raised the sequence numbers to the maximum', async (t) => {
  const own = await ownDatabase(t);
  const database = connectDatabase(t, own);
  const session = await openLeaderSession(own);
  t.after(() => session.close());
  const term = (await session.campaign()) as Term;
  const start = { stream: { number: 1, createdAt: null }, clockBehind: { ms: 0, upTo: 0 }, recordedUpTo: 0 };
  for (let restore = 0; restore < 2; restore++) {
    await recordStart(database, term, { ...start, isRestored: true, unledSeconds: 1e9 });
    assert.equal(await holdTerm(database, term), 2_000_000_000);
  }
});
