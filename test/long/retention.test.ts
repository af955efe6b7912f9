/**
 * More than a month of simulated days, sent through the recorder to a PostgreSQL whose clock runs ahead. The tables
 * stop growing, and rows that are still needed stay.
 */

import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import type { Uuid } from '../../src/engine/domain/ids.ts';
import { RETAINED_TABLES, type RetainedTable, type RetentionDays } from '../../src/engine/domain/retention.ts';
import { sweep } from '../../src/engine/maintenance/retention.ts';
import { createApiKey, createClient } from '../../src/engine/store/clients.ts';
import { type Database, migrate, transaction } from '../../src/engine/store/database.ts';
import { FEATURES } from '../../src/features.ts';
import { startDaemon } from '../support/daemon.ts';
import { openTestDatabase } from '../support/database.ts';
import { restClient } from '../support/rest-client.ts';
import { lastFirst, startTestNats, startTestPostgres, type TestServer } from '../support/servers.ts';
import { type SimulatedClock, simulateClock } from '../support/simulated-clock.ts';
import { type SimulatedMarket, startSimulatedMarket } from '../support/simulated-market.ts';
import { RECOVERY_MAX_MS } from '../support/until.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

/** Shortened in proportion to the days that adverts are listed here. */
const DAYS: RetentionDays = { events: 6, deliveries: 4, expired: 5 };
const LISTED_DAYS = 4;
const PROPERTIES_PER_DAY = 12;
const BACKLOGGED = 30;
/** A delivery that fails every day is final on the sixth, and is removed four days later, after all other rows. */
const STEADY_FROM_DAY = 12;
const LAST_DAY = 36;

interface Stage {
  readonly postgres: TestServer;
  readonly database: Database;
  readonly clock: SimulatedClock;
  readonly clientId: Uuid;
  readonly market: SimulatedMarket;
}

async function openStage(t: TestContext, endpoint = 'https://hooks.example'): Promise<Stage> {
  const cleanup = lastFirst(t);
  const postgres = await startTestPostgres(cleanup);
  const clock = await simulateClock(postgres.url);
  await migrate(postgres.url);
  const database = openTestDatabase(cleanup, postgres.url, 4);
  const { id: clientId } = await createClient(database, { name: 'simulated' });
  const market = await startSimulatedMarket({
    database,
    clock,
    clientId,
    propertiesPerDay: PROPERTIES_PER_DAY,
    listedDays: LISTED_DAYS,
    searches: 20,
    endpoint,
    backloggedOnFirstDay: BACKLOGGED,
  });
  cleanup.after(() => market.stop());
  return { postgres, database, clock, clientId, market };
}

function sweepNow(database: Database, days: RetentionDays) {
  return sweep({ database, days, features: FEATURES }, { restFactor: 0 });
}

async function rowCounts(database: Database): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {};
  for (const table of [...RETAINED_TABLES, 'open_deliveries', 'final_outcomes']) {
    counts[table] = (await database.query(`select count(*)::integer as count from ${table}`)).rows[0].count;
  }
  return counts;
}

async function vacuumedBytes(database: Database): Promise<Readonly<Record<string, number>>> {
  const bytes: Record<string, number> = {};
  for (const table of RETAINED_TABLES) {
    await database.query(`vacuum ${table}`);
    const { rows } = await database.query(`select pg_total_relation_size('${table}')::float8 as bytes`);
    bytes[table] = rows[0].bytes;
  }
  return bytes;
}

const OPEN = `state in ('queued', 'sending', 'retry_wait')`;
const since = (days: number): string => `now() - ${days} * interval '1 day'`;
const STAYING_DELIVERIES = `select id, snapshot_id, search_number from delivery_states
  where ${OPEN} or finished_at >= ${since(DAYS.deliveries)}`;
const STAYING_PROPERTIES = `select uuid from properties where expired_at is null or expired_at >= ${since(DAYS.expired)}`;
/** The rows that must survive a sweep, by table, as plain queries. */
const STAYING: Readonly<Record<string, string>> = {
  events: `select id from events where recorded_at >= ${since(DAYS.events)}`,
  // Only operators remove them.
  dead_letters: 'select id from dead_letters',
  deliveries: `select id from (${STAYING_DELIVERIES}) as staying`,
  attempts: `select delivery_id as id, number from attempts
    where delivery_id in (select id from (${STAYING_DELIVERIES}) as staying)`,
  snapshots: `select id from snapshots where created_at >= ${since(DAYS.deliveries)}
    or id in (select snapshot_id from (${STAYING_DELIVERIES}) as staying)`,
  properties: STAYING_PROPERTIES,
  matches: `select matches.id from matches left join searches on number = search_number
    where property_uuid in (${STAYING_PROPERTIES})
      and (number is not null and deleted_at is null or deleted_at >= ${since(DAYS.deliveries)}
        or number in (select search_number from (${STAYING_DELIVERIES}) as staying))`,
  searches: `select number from searches where deleted_at is null or deleted_at >= ${since(DAYS.deliveries)}
    or number in (select search_number from (${STAYING_DELIVERIES}) as staying)`,
};

async function digests(database: Database, queries: Readonly<Record<string, string>>) {
  const digests: Record<string, string> = {};
  for (const [table, query] of Object.entries(queries)) {
    const { rows } = await database.query(
      `select count(*) || ' ' || md5(coalesce(string_agg(row::text, ',' order by row::text), '')) as digest
       from (${query}) as row`,
    );
    digests[table] = rows[0].digest;
  }
  return digests;
}

const KEYS: Readonly<Record<string, string>> = {
  events: 'select id from events',
  dead_letters: 'select id from dead_letters',
  deliveries: 'select id from delivery_states',
  attempts: 'select delivery_id as id, number from attempts',
  snapshots: 'select id from snapshots',
  properties: 'select uuid from properties',
  matches: 'select id from matches',
  searches: 'select number from searches',
};

/** Compared by hash, so that a difference does not print megabytes. */
async function bodiesOf(database: Database, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const { rows } = await database.query(
    `select d.id, encode(sha256(convert_to(head || document || '}}', 'UTF8')), 'hex') as body from delivery_states d join snapshots s on s.id = snapshot_id
     where d.id = any($1::uuid[])`,
    [ids],
  );
  return new Map(rows.map(({ id, body }) => [id, body]));
}

test('over a month every table reaches a steady size, and older open deliveries are still sent unchanged', async (t) => {
  const receiver = await startWebhookReceiver(t);
  const { postgres, database, clientId, market } = await openStage(t, receiver.url);
  let backlog: ReadonlyMap<string, string> = new Map();
  let steadyRows: Readonly<Record<string, number>> = {};
  const steadyBytes: Readonly<Record<string, number>>[] = [];
  for (let day = 0; day <= LAST_DAY; day++) {
    await market.live();
    if (day === 0) backlog = await bodiesOf(database, market.backlogIds);
    const staying = await digests(database, STAYING);
    const swept = await sweepNow(database, DAYS);
    assert.deepEqual(await digests(database, KEYS), staying, `day ${day}: exactly the rows that are needed stay`);
    // Replaces the autovacuum of a real day.
    const bytes = await vacuumedBytes(database);
    if (day >= STEADY_FROM_DAY) steadyBytes.push(bytes);
    if (day === STEADY_FROM_DAY) steadyRows = await rowCounts(database);
    if (day > STEADY_FROM_DAY) assert.deepEqual(await rowCounts(database), steadyRows, `day ${day}`);
    if (day > STEADY_FROM_DAY) assert.equal(swept.removed.properties, PROPERTIES_PER_DAY, `day ${day}`);
  }
  const half = steadyBytes.length >> 1;
  for (const table of RETAINED_TABLES) {
    const bytes = steadyBytes.map((each) => each[table] as number);
    const [earlier, later] = [Math.max(...bytes.slice(0, half)), Math.max(...bytes.slice(half))];
    // Random keys may split index pages; real growth would add half.
    assert.ok(later <= 1.1 * earlier, `${table}: ${bytes.join(' ')} bytes`);
  }

  assert.equal(backlog.size, BACKLOGGED);
  assert.deepEqual(await bodiesOf(database, market.backlogIds), backlog, 'old open deliveries are unchanged');
  const nats = await startTestNats(t);
  const daemon = await startDaemon(t, { postgres, nats });
  await receiver.until(
    (posts) => market.backlogIds.every((id) => posts.some((post) => post.id === id)),
    RECOVERY_MAX_MS,
  );
  for (const [id, body] of backlog) assert.equal(hash('sha256', receiver.postsOf(id)[0]?.body ?? '', 'hex'), body);

  const rest = restClient(daemon, (await createApiKey(database, clientId, 'test')).key);
  const statusOf = async (path: string): Promise<number> => (await rest.request('GET', path)).status;
  assert.equal(await statusOf(`/documents/properties/${market.propertyOf(LAST_DAY, 0)}`), 200, 'live');
  assert.equal(await statusOf(`/documents/properties/${market.propertyOf(LAST_DAY - LISTED_DAYS, 0)}`), 200, 'expired');
  assert.equal(await statusOf(`/documents/properties/${market.propertyOf(0, 0)}`), 404, 'forgotten');
  const [searchId] = market.searchIds;
  for (const path of ['matches', 'deliveries']) {
    const { status, body } = await rest.request('GET', `/searches/${searchId}/${path}`);
    assert.equal(status, 200);
    assert.ok(Number(body['hydra:totalItems']) > 0, path);
  }
  const metrics = await (await fetch(`${daemon.operationsUrl}/metrics`)).text();
  assert.match(metrics, /vigie_rows_removed_total\{table="events"\} \d+\n/);
  assert.equal(await daemon.end('SIGTERM'), 0);
});

test('0 keeps rows without limit, and two simultaneous sweeps remove as much as one', async (t) => {
  const { database, clock, market } = await openStage(t);
  for (let day = 0; day < 2; day++) await market.live();
  const early = await rowCounts(database);
  await clock.advance(10_000);
  const swept = await sweepNow(database, { events: 0, deliveries: 0, expired: 0 });
  assert.deepEqual(swept.removed, {});
  assert.deepEqual(await rowCounts(database), early);
  await market.live();
  const staying = await digests(database, STAYING);
  const sweeps = await Promise.all([sweepNow(database, DAYS), sweepNow(database, DAYS)]);
  assert.deepEqual(await digests(database, KEYS), staying);
  const removed = (table: RetainedTable): number => sweeps.reduce((sum, each) => sum + (each.removed[table] ?? 0), 0);
  const late = await rowCounts(database);
  assert.equal(removed('events'), early.events);
  assert.ok((late.deliveries as number) > 0 && removed('deliveries') > 0);
});

test('a property that is recorded during its removal stays, with its matches', async (t) => {
  const { database, clock, market } = await openStage(t);
  for (let day = 0; day <= LISTED_DAYS; day++) await market.live();
  await clock.advance(DAYS.expired + 1);
  const returning = market.propertyOf(0, 0);
  const matchCount = async () =>
    (
      await database.query(
        `select count(*)::integer as count from matches join searches on number = search_number
         where property_uuid = $1 and deleted_at is null`,
        [returning],
      )
    ).rows[0].count as number;
  const matches = await matchCount();
  assert.ok(matches > 0);
  await transaction(database, async (recorder) => {
    await recorder.query('select from properties where uuid = $1 for update', [returning]);
    const swept = await sweepNow(database, DAYS);
    assert.equal(swept.removed.properties, PROPERTIES_PER_DAY - 1);
    await recorder.query('update properties set expired_at = null, updated_at = now() where uuid = $1', [returning]);
  });
  assert.equal((await sweepNow(database, DAYS)).removed.properties, undefined);
  assert.equal(await matchCount(), matches);
});
