/**
 * `vigie doctor` on real servers reports each wrong setting in a line that says what to do, and each correct one as
 * fine.
 */

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { availableParallelism, totalmem } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { DiscardPolicy } from 'nats';
import { generate } from 'selfsigned';
import { checkProgram, examine as findingsOf } from '../../src/cli/doctor/doctor.ts';
import type { Finding } from '../../src/cli/doctor/finding.ts';
import { readConfig } from '../../src/config.ts';
import { publishAll } from '../../src/engine/broker/publish.ts';
import { ensureIntake } from '../../src/engine/broker/topology.ts';
import { connectTestBroker } from '../support/broker.ts';
import { environmentOf, runVigie, type ServerUrls, type Settings, startDaemon } from '../support/daemon.ts';
import { queryOnce } from '../support/database.ts';
import { assertNone } from '../support/lists.ts';
import { fetchPgbouncer, startPgbouncer } from '../support/pgbouncer.ts';
import { emptyDirectory, startTestNats, startTestPostgres, startTestServers } from '../support/servers.ts';
import { startSmtpReceiver } from '../support/smtp-receiver.ts';

/** No server listens at these addresses. */
const NOWHERE = { postgres: { url: 'postgres://127.0.0.1:1/none' }, nats: { url: 'nats://127.0.0.1:1' } };
const DAY_MS = 86_400_000;

/** Runs the command in its own process. */
async function runDoctor(servers: ServerUrls, settings: Settings = {}) {
  const { code, stdout, stderr } = await runVigie(['doctor', '--json'], servers, { settings });
  assert.equal(stderr, '');
  const findings = JSON.parse(stdout) as readonly Finding[];
  assert.equal(code, findings.some(({ level }) => level === 'wrong') ? 1 : 0);
  return answerOf(findings);
}

async function examine(servers: ServerUrls, settings: Settings = {}) {
  return answerOf(await findingsOf(readConfig(environmentOf(servers, settings)), new Date()));
}

function answerOf(findings: readonly Finding[]) {
  /** The lines about one subject, as `level: text`. */
  const of = (about: string) =>
    findings.filter((each) => each.about === about).map(({ level, text }) => `${level}: ${text}`);
  return { findings, of };
}

function assertSaid(lines: readonly string[], ...wanted: readonly RegExp[]): void {
  for (const each of wanted)
    assert.ok(
      lines.some((line) => each.test(line)),
      `${each} in\n${lines.join('\n')}`,
    );
}

test('unsuitable PostgreSQL settings are reported, each with the value to set', async (t) => {
  const postgres = await startTestPostgres(t, {
    ...{ max_wal_size: '1GB', wal_compression: 'pglz', max_connections: '20' },
    ...{ full_page_writes: 'off', autovacuum: 'off', shared_buffers: '64MB' },
  });
  const { findings, of } = await runDoctor({ ...NOWHERE, postgres });
  assertSaid(
    of('PostgreSQL'),
    /^fine: Version 17/,
    /^wrong: fsync is off/,
    /^wrong: full_page_writes is off/,
    /^wrong: autovacuum is off/,
    /^look at: max_wal_size is 1.1 GB/,
    /^look at: wal_compression is pglz/,
    /^look at: shared_buffers is 67 MB/,
    /^look at: 1 instance may open 30 connections, but PostgreSQL allows 17/,
    /^fine: The database is empty/,
  );
  for (const { level, about, remedy } of findings)
    if (about === 'PostgreSQL' && level !== 'fine') assert.match(remedy, /^(?:Set|Raise) /);
  assertSaid(of('NATS'), /^wrong: NATS at 127\.0\.0\.1:1 cannot be used \(connection refused\)/);

  const good = await startTestPostgres(t, {
    ...{ fsync: 'on', full_page_writes: 'on', max_wal_size: '4GB', wal_compression: 'off', shared_buffers: '512MB' },
  });
  const { of: ofGood } = await examine({ ...NOWHERE, postgres: good });
  assertSaid(ofGood('PostgreSQL'), /^fine: The settings meet the requirements of the manual\.$/);
  assertNone(ofGood('PostgreSQL').filter((line) => !line.startsWith('fine')));
  assertNone(await queryOnce(good.url, `select from pg_class where relname = 'clients'`), 'it changed nothing');
});

test('a pooler in transaction mode and an unreachable server are errors', async (t) => {
  const unpacked = await fetchPgbouncer().catch(() => null);
  if (unpacked === null) return t.skip('pgbouncer cannot be downloaded');
  const postgres = await startTestPostgres(t);
  const url = await startPgbouncer(t, unpacked, postgres.url, { pool_mode: 'transaction', default_pool_size: '1' });
  const { of } = await examine({ ...NOWHERE, postgres: { url } });
  assertSaid(of('PostgreSQL'), /^wrong: DATABASE_URL names a connection pooler in transaction mode/);
  await postgres.stop();
  assertSaid((await examine({ ...NOWHERE, postgres })).of('PostgreSQL'), /^wrong: PostgreSQL at .* cannot be used/);
});

test('a healthy service and an unreachable one are reported', async (t) => {
  const servers = { postgres: await startTestPostgres(t), nats: await startTestNats(t) };
  const daemon = await startDaemon(t, servers);
  const starting = daemon.log.find(({ message }) => message === 'starting') ?? {};
  assert.equal(starting.cores, availableParallelism(), 'the start is logged with the resources of the machine');
  assert.ok(Number(starting.memoryMb) <= totalmem() / 1_048_576 + 1);
  assert.equal(starting.takesMb, 320, 'the need without embedded servers');
  const running = { VIGIE_OPERATIONS_ADDRESS: new URL(daemon.operationsUrl).host };
  const { of } = await examine(servers, running);
  assertSaid(of('settings'), /^fine/);
  assertSaid(of('service'), /^fine: http.*\/readyz reports that the daemon is ready\.$/);
  assertSaid(of('NATS'), /^fine: Streams and consumers are in order/);

  // The same report for people has one line for each finding, in columns.
  const shown = await runVigie(['doctor'], servers, { settings: running });
  assert.equal(shown.code, 1, "the test's PostgreSQL does not sync");
  for (const line of shown.stdout.trimEnd().split('\n')) assert.match(line, /^(?:fine|look at|wrong|unknown) +\w+ +\S/);

  await daemon.end('SIGKILL');
  assertSaid(
    (await examine(servers, running)).of('service'),
    /^unknown: No daemon answers at http.*connection refused/,
  );
});

test('a stream that loses adverts is reported', async (t) => {
  const servers = await startTestServers(t);
  const broker = await connectTestBroker(t, servers.nats.url);
  await broker.manager.streams.add({
    ...{ name: 'ADVERTS', subjects: ['adverts.>'], max_bytes: 100_000, discard: DiscardPolicy.Old },
  });
  assertSaid((await examine(servers)).of('NATS'), /^wrong: Stream ADVERTS: discard is old with max_bytes 100000/);
});

test('waiting adverts are counted, with the age of the oldest and the remaining time', async (t) => {
  const servers = await startTestServers(t);
  const broker = await connectTestBroker(t, servers.nats.url);
  const said = async () => (await examine(servers)).of('NATS').filter((line) => /adverts wait/.test(line));
  assert.deepEqual(await said(), []);
  await ensureIntake(broker);
  assert.deepEqual(await said(), ['fine: 0 adverts wait to be recorded.']);
  const waiting = Array.from({ length: 20_000 }, (_, n) => ({
    ...{ subject: `adverts.${n}`, messageId: String(n), bytes: new Uint8Array(1) },
  }));
  await publishAll(broker, waiting);
  const [stopped = ''] = await said();
  assert.match(
    stopped,
    /^look at: 20,000 adverts wait to be recorded, the oldest for (?:\d+ s|\d+ min), and none is being recorded\.$/,
  );
  const consumer = await broker.jetStream.consumers.get('ADVERTS', broker.names.intakeConsumer);
  let isTaking = true;
  const taking = (async () => {
    while (isTaking) (await consumer.next())?.ack();
  })();
  const [moving = ''] = await said();
  isTaking = false;
  await taking;
  assert.match(moving, /^look at: [\d,]+ adverts .*\. At [\d,]+ per second, recording them takes (?:\d+ s|\d+ min)\.$/);
});

function certificate(fromDays: number, toDays: number) {
  const [notBeforeDate, notAfterDate] = [fromDays, toDays].map((days) => new Date(Date.now() + days * DAY_MS));
  return generate([{ name: 'commonName', value: '127.0.0.1' }], {
    notBeforeDate: notBeforeDate as Date,
    notAfterDate: notAfterDate as Date,
  });
}

test('certificate files are reported as expired, about to expire, not yet valid, or in order', async (t) => {
  const folder = await emptyDirectory(t);
  for (const [fromDays, toDays, words] of [
    [-20, -10, /^wrong: .* expired on \d{4}-\d\d-\d\d\.$/],
    [-20, 5.5, /^look at: .* expires on .*, in 5 days\.$/],
    [-20, 90, /^fine: .* is valid until /],
    [5, 90, /^wrong: .* is not valid yet\.$/],
  ] as const) {
    const { cert, private: key } = await certificate(fromDays, toDays);
    const files = { VIGIE_ADMIN_TLS_CERT: join(folder, 'cert.pem'), VIGIE_ADMIN_TLS_KEY: join(folder, 'key.pem') };
    await Promise.all([writeFile(files.VIGIE_ADMIN_TLS_CERT, cert), writeFile(files.VIGIE_ADMIN_TLS_KEY, key)]);
    assertSaid((await examine(NOWHERE, files)).of('TLS'), words);
  }
  assertSaid(
    (await examine(NOWHERE, { VIGIE_PUBLIC_URL: 'http://vigie.example' })).of('TLS'),
    /^look at: .* in plaintext\.$/,
  );
});

test('the mail server is reported as ready, refusing the login, or unreachable', async (t) => {
  const receiver = await startSmtpReceiver(t, {
    allowInsecureAuth: true,
    onAuth: ({ password }, _session, reply) =>
      password === 'right' ? reply(null, { user: 'vigie' }) : reply(new Error('no')),
  });
  const dns = { VIGIE_MAIL_FROM: 'alerts@vigie.invalid', VIGIE_PUBLIC_URL: 'http://127.0.0.1' };
  const ONE_CLICK = /^look at: VIGIE_PUBLIC_URL is http:.* have no one-click unsubscription, which needs https/;
  const of = async (VIGIE_SMTP_URL: string) => (await examine(NOWHERE, { ...dns, VIGIE_SMTP_URL })).of('mail');
  const withPassword = (password: string) => `smtp://vigie:${password}@127.0.0.1:${receiver.port}`;
  assertSaid(
    await of(withPassword('right')),
    /^fine: 127\.0\.0\.1:\d+ accepts connections and the login\.$/,
    ONE_CLICK,
  );
  assertSaid(await of(withPassword('wrong')), /^wrong: .*: the mail server answered 535 to AUTH/);
  assert.equal(receiver.messages.length, 0, 'nothing was sent');
  await receiver.close();
  assertSaid(await of(receiver.url), /^wrong: .*: the mail server could not be used: ECONNREFUSED\.$/);
  assertSaid((await examine(NOWHERE)).of('mail'), /^fine: No e-mails are sent/);
});

test('conflicting, unknown and unreadable settings and an unsupported Node are reported', async () => {
  const conflicting = await runDoctor(NOWHERE, {
    VIGIE_API_ADDRESS: '127.0.0.1:9464',
    VIGIE_OPERATIONS_ADDRESS: '127.0.0.1:9464',
    VIGIE_NOSUCH: '1',
  });
  assertSaid(
    conflicting.of('settings'),
    /^wrong: VIGIE_OPERATIONS_ADDRESS and VIGIE_API_ADDRESS both have port 9464/,
    /^look at: VIGIE_NOSUCH is not a setting\.$/,
  );
  const unreadable = await runDoctor(NOWHERE, { VIGIE_ROLES: 'nobody', VIGIE_NATS_PORT: 'x' });
  assert.equal(unreadable.findings.length, 2);
  assertSaid(
    unreadable.of('settings'),
    /^wrong: VIGIE_ROLES has unknown roles: "nobody"/,
    /^wrong: VIGIE_NATS_PORT must be/,
  );
  const version = (at: string) => checkProgram(readConfig({}), new Date(at))[0];
  assert.equal(version('2024-12-01T00:00:00Z')?.level, 'fine');
  assert.match(version('2040-01-01T00:00:00Z')?.text ?? '', /Node\.js .* has been out of support since/);
});
