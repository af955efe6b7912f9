/** Crawlers are notified of rejected messages, with the reason. A failed notification delays no others. */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { connect, headers, type NatsConnection } from 'nats';
import { readConfig } from '../../src/config.ts';
import { intakeSchema } from '../../src/rest/description/message-schemas.ts';
import { PRICE_HELD } from '../support/adverts.ts';
import { tuned } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { numberedFlat, numberedUuid } from '../support/intake.ts';
import { metricOf, readinessOf } from '../support/operator-scene.ts';
import { type Cleanup, lastFirst, startTestServers, type TestServers } from '../support/servers.ts';
import { startHere } from '../support/service.ts';
import { until, untilIs } from '../support/until.ts';

const property = numberedUuid('property', 1);
const goodOf = (number: number) => numberedFlat(number, 250_000, '2026-03-10T08:10:00Z');
const good = goodOf(1);

interface Told {
  readonly on: string;
  readonly reason: string;
  readonly violations: readonly { readonly propertyPath: string; readonly message: string; readonly code: string }[];
  readonly subject: string;
  readonly sequence: number;
  readonly messageId: string | null;
  readonly receivedAt: string;
}

async function connectNats(t: Cleanup, { nats }: TestServers): Promise<NatsConnection> {
  const { host, username: user, password: pass } = new URL(nats.url);
  const connection = await connect({ servers: host, user, pass, maxReconnectAttempts: -1 });
  t.after(() => connection.close());
  return connection;
}

/** The notifications that an ordinary subscription receives. */
function listen(connection: NatsConnection, of = '>'): readonly Told[] {
  const heard: Told[] = [];
  connection.subscribe(`adverts-rejected.${of}`, {
    callback: (_error, message) => heard.push({ on: message.subject, ...message.json<Omit<Told, 'on'>>() }),
  });
  return heard;
}

async function send(connection: NatsConnection, message: unknown, subject = `adverts.${property}`, id?: string) {
  const bytes = typeof message === 'string' ? message : JSON.stringify(message);
  const named = headers();
  if (id !== undefined) named.set('Nats-Msg-Id', id);
  return connection.jetstream({ timeout: 60_000 }).publish(subject, bytes, { headers: named });
}

/** One daemon for all tests that do not change each other's state: each test has its own properties. */
const cleanup = lastFirst({ after });
const servers = await startTestServers(cleanup);
const { recordBounds } = readConfig({});
// Retries after a bug take less than a second instead of half a minute.
const bounds = tuned({ recordBounds: { ...recordBounds, advertsMax: 1 }, retryPausesMs: [100, 200, 300] });
const daemon = await startHere(cleanup, servers, bounds);
const connection = await connectNats(cleanup, servers);
const database = connectDatabase(cleanup, servers.postgres.url);

test('a rejection is published with its reason, violations, subject, sequence and message id', async () => {
  const heard = listen(connection);
  const wrong = { ...good, advert: { ...good.advert, price: -1, pictures: ['a', 1] } };
  const second = { ...good, advert: { ...good.advert, uuid: numberedUuid('advert', 2) } };
  const nowhere = 'adverts.somewhere.else';
  const { seq } = await send(connection, wrong, undefined, 'message-1');
  await send(connection, 'nonsense', `adverts.${property.toUpperCase()}`);
  await send(connection, '{}', nowhere);
  await send(connection, good);
  await send(connection, second);
  await untilIs(() => heard.length, 4);
  const ajv = addFormats.default(new Ajv2020({ strict: false }));
  const accepts = ajv.compile({ ...intakeSchema(''), $ref: '#/$defs/Rejection', oneOf: undefined });
  for (const { on: _subject, ...sent } of heard) assert.ok(accepts(sent), ajv.errorsText(accepts.errors));
  const byReason = (words: RegExp) => heard.find(({ reason }) => words.test(reason)) as Told;
  const { receivedAt, ...told } = byReason(/price/);
  assert.deepEqual(told, {
    on: `adverts-rejected.${property}`,
    reason: 'advert.price: must be 0, or between 0.0001 and 100000000000; advert.pictures.1: must be string',
    violations: [
      { propertyPath: 'advert.price', message: 'must be 0, or between 0.0001 and 100000000000', code: 'format' },
      { propertyPath: 'advert.pictures.1', message: 'must be string', code: 'type' },
    ],
    subject: `adverts.${property}`,
    sequence: seq,
    messageId: 'message-1',
  });
  assert.ok(Math.abs(Date.now() - Date.parse(receivedAt)) < 600_000);
  assert.deepEqual([byReason(/not JSON/).on, byReason(/not JSON/).violations], [`adverts-rejected.${property}`, []]);
  assert.deepEqual([byReason(/^kind/).on, byReason(/^kind/).subject], ['adverts-rejected.unknown', nowhere]);
  assert.deepEqual(
    [byReason(/would have 2 adverts/).on, byReason(/would have 2 adverts/).messageId],
    [`adverts-rejected.${property}`, null],
  );
  await untilIs(() => metricOf(daemon, 'vigie_rejections_total{result="published"}'), 4);
  const { config, state } = await (await connection.jetstreamManager()).streams.info('REJECTED');
  assert.equal(state.messages, 4);
  const week = 7 * 24 * 3_600 * 1e9;
  assert.deepEqual([config.max_age, config.max_bytes, config.discard], [week, 256 * 1024 ** 2, 'old']);
});

test('a message whose subject names another property is refused, and the next one on its own subject is accepted', async () => {
  const [property, other] = [numberedUuid('property', 3), numberedUuid('property', 4)];
  const heard = listen(connection, property);
  const good = goodOf(3);
  await send(connection, { ...good, advert: { ...good.advert, price: 1 } }, `adverts.${other}`);
  await send(connection, good, `adverts.${property.toUpperCase()}`);
  const { rows } = await until(
    async () =>
      database.query<{ uuid: string; price: number }>(
        `select uuid, ${PRICE_HELD} as price from properties where uuid = any($1)`,
        [[property, other]],
      ),
    ({ rowCount }) => rowCount !== 0,
  );
  assert.deepEqual(rows, [{ uuid: property, price: 250_000 }]);
  await untilIs(() => heard.length, 1);
  const [told] = heard;
  const message = `is ${property}, but the subject names ${other}: publish it on adverts.${property}`;
  assert.deepEqual(
    [told?.on, told?.reason, told?.violations],
    [
      `adverts-rejected.${property}`,
      `property.uuid: ${message}`,
      [{ propertyPath: 'property.uuid', message, code: 'subject' }],
    ],
  );
});

test('a message that a bug prevents from being recorded is rejected, without the text of the bug', async () => {
  const property = numberedUuid('property', 5);
  const heard = listen(connection, property);
  const good = goodOf(5);
  await send(connection, good, `adverts.${property}`);
  await untilIs(
    async () => (await database.query(`update properties set state = '{}' where uuid = $1`, [property])).rowCount,
    1,
  );
  const cut = { ...good, crawledAt: '2026-03-10T09:10:00Z', advert: { ...good.advert, price: 240_000 } };
  await send(connection, cut, 'adverts.elsewhere');
  await untilIs(() => heard.length, 1);
  const [told] = heard;
  assert.equal(told?.on, `adverts-rejected.${property}`);
  assert.match(told?.reason ?? '', /^could not be recorded because of a bug in the service/);
});

test('an operator’s stream is left unchanged, and a deleted one is created again', async (t) => {
  const servers = await startTestServers(t);
  const connection = await connectNats(t, servers);
  const manager = await connection.jetstreamManager();
  await manager.streams.add({ name: 'REJECTED', subjects: ['adverts-rejected.>'], max_msgs: 3 });
  const daemon = await startHere(t, servers);
  await send(connection, 'nonsense');
  const stored = () => manager.streams.info('REJECTED').catch(() => null);
  const first = await until(stored, (info) => info?.state.messages === 1);
  assert.deepEqual([first?.config.max_msgs, first?.config.max_bytes], [3, -1]);
  await manager.streams.delete('REJECTED');
  await send(connection, 'more nonsense');
  const second = await until(stored, (info) => info?.state.messages === 1);
  assert.equal(second?.config.max_bytes, 256 * 1024 ** 2);
  assert.equal(await metricOf(daemon, 'vigie_rejections_total{result="unpublished"}'), 0);
});

test('if no rejection can be published intake continues, with a warning and a counter', async (t) => {
  const servers = await startTestServers(t);
  const connection = await connectNats(t, servers);
  const manager = await connection.jetstreamManager();
  // This stream has the subject, so REJECTED cannot be created, and it refuses every message.
  const refusing = { name: 'FOREIGN', subjects: ['adverts-rejected.>'], max_msg_size: 1 };
  await manager.streams.add(refusing);
  const daemon = await startHere(t, servers);
  const database = connectDatabase(t, servers.postgres.url);
  for (let number = 0; number < 20; number++) await send(connection, `nonsense ${number}`);
  await send(connection, good);
  await untilIs(async () => (await database.query('select 1 from properties')).rowCount, 1);
  await untilIs(() => metricOf(daemon, 'vigie_rejections_total{result="unpublished"}'), 20);
  assert.equal((await database.query('select 1 from dead_letters')).rowCount, 20, 'they are all kept');
  const warnings = daemon.log.filter(({ what }) => what === 'publish rejections');
  assert.equal(warnings.length, 1, 'one line, not twenty');
  await manager.streams.delete('FOREIGN');
  await until(
    async () => {
      await send(connection, `nonsense ${randomUUID()}`);
      return metricOf(daemon, 'vigie_rejections_total{result="published"}');
    },
    (count) => count > 0,
  );
  assert.equal(await daemon.end('SIGTERM'), 0);
});

test('a rejection that a NATS outage prevented is published afterwards', async (t) => {
  const servers = await startTestServers(t);
  const daemon = await startHere(t, servers);
  const connection = await connectNats(t, servers);
  const database = connectDatabase(t, servers.postgres.url);
  const blocker = await database.connect();
  await blocker.query('begin; lock table dead_letters');
  await send(connection, 'nonsense');
  const waiting = `select from pg_locks where relation = 'dead_letters'::regclass and not granted`;
  await untilIs(async () => (await database.query(waiting)).rowCount !== 0, true);
  await servers.nats.kill();
  await untilIs(async () => (await readinessOf(daemon)).checks.nats?.status, 'failed');
  await blocker.query('commit');
  blocker.release();
  // On a busy machine the leader may resign before that. The message is then redelivered after the outage.
  await until(async () => {
    const { rowCount } = await database.query('select 1 from dead_letters');
    return rowCount === 1 || (await readinessOf(daemon)).text.includes('leadership');
  }, Boolean);
  await servers.nats.restart();
  await until(
    () => metricOf(daemon, 'vigie_rejections_total{result="published"}'),
    (count) => count >= 1,
  );
  assert.equal(await metricOf(daemon, 'vigie_rejections_total{result="unpublished"}'), 0);
  const stored = await connection.jetstreamManager().then((manager) => manager.streams.info('REJECTED'));
  assert.equal(stored.state.messages, 1, 'the stream stores it once');
  assert.equal((await database.query('select 1 from dead_letters')).rowCount, 1, 'PostgreSQL stores it once');
});

test('unknown members are counted by name, for at most fifty names', async () => {
  const good = goodOf(6);
  const publish = (message: unknown) => send(connection, message, `adverts.${good.property.uuid}`);
  const misspelt = { ...good, advert: { ...good.advert, prise: 1, lastCrawledAt: 'x' }, stations: [] };
  await publish(misspelt);
  await publish({ ...misspelt, property: { ...misspelt.property, stations: [{ lines: [{ colour: '' }] }] } });
  for (let round = 0; round < 10; round++) {
    const invented = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`invented-${round}-${at}`, 0]));
    await publish({ ...good, advert: { ...good.advert, ...invented, '"}\n': 1 } });
  }
  // A message that is read again, for example by another term of the same leader, is counted again.
  const counts = async () => {
    const text = await (await fetch(`${daemon.operationsUrl}/metrics`)).text();
    const samples = text.matchAll(/^vigie_unknown_members_total\{member="(.+)"\} (\d+)$/gm);
    return new Map(Array.from(samples, ([, member, count]) => [member, Number(count)]));
  };
  const counted = await until(counts, (members) => (members.get('other') ?? 0) >= 153);
  assert.equal(counted.size, 51);
  for (const [member, count] of [
    ['advert.prise', 2],
    ['stations', 2],
    ['property.stations.lines.colour', 1],
  ] as const) {
    assert.ok((counted.get(member) ?? 0) >= count, `${member} ${counted.get(member)}`);
  }
  const [warned] = daemon.log.filter(({ member }) => member === 'advert.prise');
  assert.equal(warned?.nearest, 'price');
});
