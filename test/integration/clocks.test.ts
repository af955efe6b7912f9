/**
 * The clocks of the daemon, PostgreSQL, NATS and crawlers. A difference of more than five seconds is reported. It stops
 * only intake, and only while the clock of NATS is behind. Messages from the future are rejected.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startClockWatch } from '../../src/engine/maintenance/clock-watch.ts';
import type { Database } from '../../src/engine/store/database.ts';
import { connectTestBroker } from '../support/broker.ts';
import type { RunningService } from '../support/daemon.ts';
import { connectDatabase, queryOnce } from '../support/database.ts';
import { connectCrawler, numberedUuid, upsert } from '../support/intake.ts';
import { readinessOf } from '../support/operator-scene.ts';
import { type Cleanup, startTestNats, startTestPostgres, startTestServers } from '../support/servers.ts';
import { startHere } from '../support/service.ts';
import { startTurnedClock } from '../support/turned-clock.ts';
import { until, untilIs } from '../support/until.ts';

const HOUR_MS = 3_600_000;

/** An advert that was crawled now, or `aheadMs` in the future. */
function crawled(number: number, price: number, aheadMs = 0) {
  const [property, advert] = [numberedUuid('property', number), numberedUuid('advert', number)];
  return upsert({ property, advert, price, crawledAt: new Date(Date.now() + aheadMs).toISOString() });
}

async function pricesOf(database: Pick<ReturnType<typeof connectDatabase>, 'query'>): Promise<readonly unknown[]> {
  const { rows } = await database.query(
    `select field_new_value as price from events where kind = 'ad.update.price' order by id`,
  );
  return rows.map(({ price }) => Number(price));
}

const clocksOf = async (daemon: RunningService): Promise<string> =>
  (await readinessOf(daemon)).checks.clocks?.reason ?? '';

test('three clocks of one machine agree, and one that jumps is reported with those that differ from it', async (t) => {
  const [postgres, nats] = await Promise.all([startTestPostgres(t), startTestNats(t)]);
  const broker = await connectTestBroker(t, nats.url);
  const database = connectDatabase(t, postgres.url);
  const look = async (aheadMs: number) => {
    const told: (string | null)[] = [];
    const nowMs = () => Date.now() + aheadMs;
    const onChange = (difference: string | null) => told.push(difference);
    const watch = await startClockWatch({ broker, database, nowMs, onChange, onTransientError: assert.fail });
    await watch.stop();
    return { told, difference: watch.difference, ahead: watch.aheadSeconds };
  };
  const { ahead, ...agreeing } = await look(0);
  assert.deepEqual(agreeing, { told: [], difference: null });
  for (const clock of ['PostgreSQL', 'NATS']) assert.ok(Math.abs(ahead.get(clock) ?? 99) < 5, `${clock} is read`);
  for (const [aheadMs, words] of [
    [7_500, /^the clock of this daemon is 7\.\d s ahead of that of (?:NATS|PostgreSQL)/],
    [-86_400_000, /ahead of that of this daemon/],
  ] as const) {
    const { told, difference } = await look(aheadMs);
    assert.match(difference ?? '', words);
    assert.deepEqual(told, [difference]);
  }
});

test('if it cannot be recorded that NATS’s clock is behind, the next check records it', async (t) => {
  const broker = await connectTestBroker(t, (await startTestNats(t)).url);
  const nowMs = () => Date.now() + HOUR_MS;
  const database = { query: async () => ({ rows: [{ now: new Date(nowMs()) }] }) } as unknown as Database;
  const refused = new Error('PostgreSQL refuses statements');
  let calls = 0;
  const onTransientError = t.mock.fn();
  const watch = await startClockWatch({
    ...{ broker, database, nowMs, onTransientError, onChange: () => undefined },
    async onBrokerBehind(ms) {
      calls += 1;
      assert.ok(ms > HOUR_MS / 2, String(ms));
      if (calls < 3) throw refused;
    },
  });
  t.after(() => watch.stop());
  const now = performance.now.bind(performance);
  t.mock.method(performance, 'now', () => now() + 2_000 * calls);
  await assert.rejects(watch.check(), refused);
  await watch.check();
  assert.equal(calls, 3);
  assert.deepEqual(
    onTransientError.mock.calls.map(({ arguments: [, error] }) => error),
    [refused, refused],
  );
});

test('a PostgreSQL clock that is two hours ahead is reported in /readyz, which stays 200, and in the metrics', async (t) => {
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
  const { status, checks } = await readinessOf(daemon);
  assert.deepEqual([status, checks.clocks?.status], [200, 'caution']);
  assert.match(checks.clocks?.reason ?? '', /^the clock of PostgreSQL is 7\d\d\d\.\d s ahead/);
  const metrics = await (await fetch(`${daemon.operationsUrl}/metrics`)).text();
  assert.match(metrics, /^vigie_clock_ahead_seconds\{clock="PostgreSQL"\} 7\d\d\d(?:\.\d+)?$/m);
  assert.equal(daemon.log.filter(({ message }) => message === 'The clocks differ.').length, 1);
});

test('an advert or expiry from the future is rejected with a message, and a present one is recorded', async (t) => {
  const servers = await startTestServers(t);
  await startHere(t, servers);
  const crawler = await connectCrawler(t, servers.nats.url);
  const database = connectDatabase(t, servers.postgres.url);
  const { property, advert } = crawled(1, 0);
  const future = '2099-01-01T00:00:00Z';
  await crawler.publish(
    ...[crawled(1, 300_000), { ...crawled(1, 250_000), crawledAt: future }, crawled(1, 250_000, 2 * HOUR_MS)],
    { kind: 'expire', crawledAt: future, property, advert },
    { kind: 'expire', crawledAt: new Date().toISOString(), property, advert, expiredAt: future },
    // Six minutes are accepted: a crawler's clock may be a little ahead.
    crawled(1, 200_000, HOUR_MS / 10),
  );
  await until(
    () => pricesOf(database),
    (prices) => prices.length > 0,
  );
  assert.deepEqual(await pricesOf(database), [200_000]);
  // The dead letters are written separately from the batch that records the price, and may be committed after it.
  const { rows } = await until(
    () => database.query<{ reason: string }>('select reason from dead_letters order by id'),
    ({ rowCount }) => rowCount === 4,
  );
  assert.deepEqual(
    rows.map(({ reason }) => reason.replaceAll(/\d{4}-[^ ,:]+(?::\d\d){1,2}\.\d{3}Z/g, 'T').split(':', 1)[0]),
    ['crawledAt', 'crawledAt', 'crawledAt', 'expiredAt'],
  );
  assert.match(
    rows[0]?.reason ?? '',
    /^crawledAt: is 2099-01-01T00:00:00\.000Z, more than ten minutes after NATS stored the message \(20/,
  );
});

async function startTurned(t: Cleanup) {
  const { postgres, nats } = await startTestServers(t);
  const clock = await startTurnedClock(t, nats.url);
  const crawler = await connectCrawler(t, nats.url);
  const database = connectDatabase(t, postgres.url);
  const start = () => startHere(t, { postgres, nats: { url: clock.url } });
  const daemon = await start();
  await crawler.publish(crawled(1, 100_000), crawled(1, 110_000));
  await untilIs(async () => (await pricesOf(database)).length, 1);
  return { clock, crawler, database, daemon, start };
}

test('while NATS’s clock is behind, intake pauses and reports it, and afterwards rejects no valid advert', async (t) => {
  const { clock, crawler, database, daemon, start } = await startTurned(t);
  clock.turnBack(2 * HOUR_MS);
  await crawler.publish(crawled(1, 120_000), crawled(1, 125_000, 24 * HOUR_MS), crawled(1, 130_000));
  await until(
    () => clocksOf(daemon),
    (reason) => reason.endsWith('ahead of that of NATS: synchronise both with NTP; intake is paused until they agree'),
  );
  const metrics = async () => (await fetch(`${daemon.operationsUrl}/metrics`)).text();
  await until(metrics, (text) => /^vigie_intake_leads 0$/m.test(text));
  assert.equal(await daemon.end('SIGTERM'), 0);
  const next = await start();
  assert.match(await clocksOf(next), /intake is paused/);
  await crawler.publish(crawled(1, 140_000));
  assert.deepEqual(await pricesOf(database), [110_000]);
  clock.putRight();
  await until(
    () => pricesOf(database),
    (prices) => prices.length > 3,
  );
  await crawler.publish(crawled(1, 150_000));
  await until(
    () => pricesOf(database),
    (prices) => prices.length > 4,
  );
  assert.deepEqual(await pricesOf(database), [110_000, 120_000, 130_000, 140_000, 150_000]);
  assert.equal((await database.query('select from dead_letters')).rowCount, 1, 'the advert from tomorrow');
});

test('a NATS clock that was behind while no daemon ran is recognised by the messages published then', async (t) => {
  const { clock, crawler, database, daemon, start } = await startTurned(t);
  assert.equal(await daemon.end('SIGTERM'), 0);
  clock.turnBack(2 * HOUR_MS);
  await crawler.publish(crawled(1, 120_000), crawled(1, 130_000));
  clock.putRight();
  await start();
  await until(
    () => pricesOf(database),
    (prices) => prices.length > 2,
  );
  assert.deepEqual(await pricesOf(database), [110_000, 120_000, 130_000]);
  assert.equal((await database.query('select from dead_letters')).rowCount, 0);
});
