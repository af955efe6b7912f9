/**
 * A bug that affects one message loses at most that message. A bug that affects many messages stops intake, and loses
 * nothing. The bug is mostly a row that no version has written: recording any change of its property throws.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type pg from 'pg';
import { PRICE_HELD } from '../support/adverts.ts';
import { runVigie, startDaemon, tuned } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { connectCrawler, numberedFlat, numberedUuid, type TestCrawler } from '../support/intake.ts';
import { valuesOf } from '../support/lists.ts';
import { readinessOf } from '../support/operator-scene.ts';
import { startTestServers, type TestServers } from '../support/servers.ts';
import { startHere } from '../support/service.ts';
import { until, untilIs } from '../support/until.ts';

const PROPERTIES = 24;
/** Just long enough to distinguish consecutive retries. */
const retryPausesMs = [100, 200, 300];
const WINDOW = { windowMs: 600_000, restMs: 30_000 };
const STRICT = tuned({ retryPausesMs, breaker: { ...WINDOW, propertiesMax: 3, restMs: 2_000 } });
const at = (minute: number): string => `2026-03-10T08:${String(minute).padStart(2, '0')}:00.000Z`;

const change = (number: number, minute: number) => numberedFlat(number, 200_000 + minute, at(minute));

const everyProperty = (minute: number) => Array.from({ length: PROPERTIES }, (_, number) => change(number, minute));

async function recordAll(crawler: TestCrawler, database: pg.Pool): Promise<void> {
  await crawler.publish(...everyProperty(1));
  await untilIs(
    async () => (await database.query<{ count: string }>('select count(*) from properties')).rows[0]?.count,
    String(PROPERTIES),
  );
}

/** Removes the contents of the adverts. Messages known as recorded are still skipped; any other message throws. */
async function breakProperties(database: pg.Pool, numbers: readonly number[]): Promise<void> {
  await database.query(
    `update properties set state = json_build_array(uuid, json_build_array(
       json_build_array(state::json #>> '{1,0,0}', null, null, null, null, json_build_array())))
     where uuid = any($1::uuid[])`,
    [numbers.map((number) => numberedUuid('property', number))],
  );
}

const readPrices = async (database: pg.Pool) =>
  (
    await database.query<{ uuid: string; price: number | null }>(
      `select uuid, ${PRICE_HELD} as price from properties order by uuid`,
    )
  ).rows.map(({ price }) => price);

const countLetters = async (database: pg.Pool) =>
  Number((await database.query('select count(*) from dead_letters')).rows[0].count);
/** Counts properties: a new term reads the last second of the former one again, and may keep a message twice. */
const countLetterProperties = async (database: pg.Pool) =>
  Number((await database.query('select count(distinct subject) from dead_letters')).rows[0].count);

test('a dead letter that is read again, and can now be stored, does not count as a sign of a restored database', async (t) => {
  const servers = await startTestServers(t);
  const settings = tuned({ retryPausesMs });
  const crawler = await connectCrawler(t, servers.nats.url);
  const database = connectDatabase(t, servers.postgres.url);
  const property = numberedUuid('property', 3);
  const readFloor = async () =>
    (await database.query('select sequence_floor from intake_leader')).rows[0].sequence_floor;
  const isKnown = async () => (await database.query('select from properties where uuid = $1', [property])).rowCount;
  let daemon = await startHere(t, servers, settings);
  /** Restarts as after a leader that was killed before it stored its position. */
  const startFromTheBeginning = async (): Promise<void> => {
    assert.equal(await daemon.end('SIGTERM'), 0);
    await database.query('update intake_position set sequence = 0, stored_at = null');
    daemon = await startHere(t, servers, settings);
  };

  await database.query(`
    create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
    create trigger refused before insert on properties for each row when (new.uuid = '${property}') execute function refuse()`);
  await crawler.publish(change(1, 1), change(3, 1), change(2, 1));
  await untilIs(() => countLetters(database), 1);
  await database.query('drop trigger refused on properties');
  await startFromTheBeginning();
  await untilIs(isKnown, 1);
  assert.equal(await readFloor(), 0);

  await database.query('delete from dead_letters');
  await database.query('delete from properties where uuid = $1', [property]);
  await startFromTheBeginning();
  await untilIs(isKnown, 1);
  assert.ok((await readFloor()) >= 1_000_000);
  assert.equal(await daemon.end('SIGTERM'), 0);
});

test('a message whose recording throws becomes a dead letter with its bytes and the reason, and all others are recorded in order', async (t) => {
  const servers = await startTestServers(t);
  const daemon = await startHere(t, servers, tuned({ retryPausesMs }));
  const crawler = await connectCrawler(t, servers.nats.url);
  const database = connectDatabase(t, servers.postgres.url);
  await recordAll(crawler, database);
  await breakProperties(database, [7]);
  const sent = [...everyProperty(2), ...everyProperty(3), ...everyProperty(4)];
  await crawler.publish(...sent);
  const expected = Array.from({ length: PROPERTIES }, (_, number) => (number === 7 ? null : 200_004));
  await untilIs(() => readPrices(database), expected);
  const { rows } = await until(
    () => database.query('select subject, body, reason, failed_key from dead_letters order by sequence'),
    (found) => found.rowCount === 3,
  );
  const property = numberedUuid('property', 7);
  assert.deepEqual(
    rows.map(({ body }) => body.toString()),
    [2, 3, 4].map((minute) => JSON.stringify(change(7, minute))),
  );
  for (const { subject, reason, failed_key } of rows) {
    assert.equal(subject, `adverts.${property}`);
    assert.match(reason, /^could not be recorded: TypeError: /);
    assert.equal(failed_key, property);
  }
  const events = await database.query<{ price: string }>(
    `select field_new_value as price from events where kind = 'ad.update.price' and property_uuid = $1 order by id`,
    [numberedUuid('property', 8)],
  );
  assert.deepEqual(valuesOf(events.rows, 'price'), ['200002', '200003', '200004']);
  // Other connections may see a commit before the daemon has its answer and counts.
  const metrics = await until(
    async () => (await fetch(`${daemon.operationsUrl}/metrics`)).text(),
    (text) => /vigie_dead_letters_total\{cause="bug"\} 3\n/.test(text),
  );
  assert.match(metrics, /vigie_dead_letters_total\{cause="rejected"\} 0\n/);
  assert.equal((await readinessOf(daemon)).status, 200);
  assert.equal(await daemon.end('SIGTERM'), 0);
});

/** Breaks twelve properties, and publishes a change of every property. */
async function meetBug(servers: TestServers, crawler: TestCrawler, database: pg.Pool): Promise<void> {
  await recordAll(crawler, database);
  await breakProperties(
    database,
    Array.from({ length: 12 }, (_, number) => number),
  );
  await crawler.publish(...everyProperty(2));
  assert.ok(servers.postgres.pid !== null);
}

test('a bug that affects many properties stops intake, is reported, ends the process, and loses nothing', async (t) => {
  const servers = await startTestServers(t);
  const daemon = await startDaemon(t, servers, STRICT);
  const exited = new Promise<number | null>((resolve) => daemon.process.once('exit', resolve));
  const crawler = await connectCrawler(t, servers.nats.url);
  const database = connectDatabase(t, servers.postgres.url);
  await meetBug(servers, crawler, database);
  const unready = await until(
    () => readinessOf(daemon),
    ({ status }) => status === 503,
  );
  assert.match(unready.text, /a bug affects messages of more than 3 properties: TypeError: /);
  assert.equal(await countLetters(database), 3);
  assert.equal(await exited, 1);
  assert.match(JSON.stringify(daemon.log), /a bug affects messages of more than 3 properties/);
  assert.equal(await countLetterProperties(database), 3, 'the second term knows the dead letters of the first');
  // The operator repairs the rows and requeues the dead letters.
  await database.query(`delete from properties where ${PRICE_HELD} is null`);
  const mended = await startHere(t, servers, STRICT);
  await until(
    async () => (await readPrices(database)).length,
    (count) => count >= PROPERTIES - 3,
  );
  const requeue = ['admin', 'dead-letters', 'requeue', '--reason', 'could not be recorded', '--address'];
  const { code, stderr } = await runVigie([...requeue, mended.adminAddress], servers);
  assert.equal(code, 0, stderr);
  await untilIs(() => readPrices(database), Array<number | null>(PROPERTIES).fill(200_002));
  assert.equal(await countLetters(database), 0);
});

test('a newer instance takes over intake from one that a bug has stopped, and the status shows the bug', async (t) => {
  const servers = await startTestServers(t);
  const strict = await startHere(
    t,
    servers,
    tuned({ retryPausesMs, breaker: { ...WINDOW, propertiesMax: 3, restMs: 3_600_000 } }),
  );
  const crawler = await connectCrawler(t, servers.nats.url);
  const database = connectDatabase(t, servers.postgres.url);
  // A fixed version would not have the bug. Here the newer instance only tolerates more affected properties.
  const patient = await startHere(t, servers, tuned({ retryPausesMs, breaker: { ...WINDOW, propertiesMax: 1_000 } }));
  await meetBug(servers, crawler, database);
  const recorded = Array.from({ length: PROPERTIES }, (_, number) => (number < 12 ? null : 200_002));
  await untilIs(() => readPrices(database), recorded);
  await untilIs(() => countLetterProperties(database), 12);
  assert.equal((await readinessOf(strict)).status, 503);
  await until(
    () => runVigie(['admin', 'status', '--json', '--address', patient.adminAddress], servers),
    ({ stdout }) => /"actor": ?"intake"[^}]*a bug affects messages of more than 3 properties/.test(stdout),
  );
  assert.equal((await readinessOf(patient)).status, 200);
  assert.equal(await strict.end('SIGTERM'), 0);
  assert.equal(await patient.end('SIGTERM'), 0);
});
