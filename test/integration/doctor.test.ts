/** `vigie doctor` on real servers: what is set badly is a line with what to do, what is in order is fine. */

import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { availableParallelism, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { DiscardPolicy } from 'nats';
import { generate } from 'selfsigned';
import { checkProgram, examine as findingsOf } from '../../src/cli/doctor/doctor.ts';
import type { Finding } from '../../src/cli/doctor/finding.ts';
import type { MailCheckOptions } from '../../src/cli/doctor/mail-checks.ts';
import { readConfig } from '../../src/config.ts';
import { connectBroker } from '../../src/engine/broker/connection.ts';
import { giveDirectory, serverUser } from '../../src/local/ownership.ts';
import { startConfiguredNats } from '../support/configured-nats.ts';
import { environmentOf, runVigie, type ServerUrls, type Settings, startDaemon } from '../support/daemon.ts';
import { queryOnce } from '../support/database.ts';
import { fetchPgbouncer, startPgbouncer } from '../support/pgbouncer.ts';
import { startTestNats, startTestPostgres, startTestServers, temporaryDirectory } from '../support/servers.ts';
import { startSmtpReceiver } from '../support/smtp-receiver.ts';

/** Nothing listens there. */
const NOWHERE = { postgres: { url: 'postgres://127.0.0.1:1/none' }, nats: { url: 'nats://127.0.0.1:1' } };
const NO_DNS = '127.0.0.1:1';
const DAY_MS = 86_400_000;

/** By the command, in a process of its own. */
async function runDoctor(servers: ServerUrls, settings: Settings = {}, args: readonly string[] = ['--dns', NO_DNS]) {
  const { code, stdout, stderr } = await runVigie(['doctor', '--json', ...args], servers, { settings });
  assert.equal(stderr, '');
  const findings = JSON.parse(stdout) as readonly Finding[];
  assert.equal(code, findings.some(({ level }) => level === 'wrong') ? 1 : 0);
  return answerOf(findings);
}

async function examine(servers: ServerUrls, settings: Settings = {}, options: Partial<MailCheckOptions> = {}) {
  const asking = { dkimSelector: '', dnsServer: NO_DNS, ...options };
  return answerOf(await findingsOf(readConfig(environmentOf(servers, settings)), asking, new Date()));
}

function answerOf(findings: readonly Finding[]) {
  /** `level about text` of those about one thing. */
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

test('what PostgreSQL is set to badly is told, each with what to set', async (t) => {
  const postgres = await startTestPostgres(t, {
    ...{ max_wal_size: '1GB', wal_compression: 'pglz', max_connections: '20' },
    ...{ full_page_writes: 'off', autovacuum: 'off', shared_buffers: '64MB' },
  });
  const { findings, of } = await runDoctor({ ...NOWHERE, postgres });
  assertSaid(
    of('PostgreSQL'),
    /^fine: version 17/,
    /^wrong: fsync is off/,
    /^wrong: full_page_writes is off/,
    /^wrong: autovacuum is off/,
    /^look at: max_wal_size is 1.1 GB/,
    /^look at: wal_compression is pglz/,
    /^look at: shared_buffers is 67 MB/,
    /^look at: 1 instance may open 30 connections, and it takes 17/,
    /^fine: the database is empty/,
  );
  for (const { level, about, remedy } of findings)
    if (about === 'PostgreSQL' && level !== 'fine') assert.match(remedy, /^(?:set|raise) /);
  assertSaid(of('NATS'), /^wrong: NATS at 127\.0\.0\.1:1 cannot be used \(connection refused\)/);

  const good = await startTestPostgres(t, {
    ...{ fsync: 'on', full_page_writes: 'on', max_wal_size: '4GB', wal_compression: 'off', shared_buffers: '512MB' },
  });
  const { of: ofGood } = await examine({ ...NOWHERE, postgres: good });
  assertSaid(ofGood('PostgreSQL'), /^fine: its settings are as the manual asks$/);
  assert.deepEqual(
    ofGood('PostgreSQL').filter((line) => !line.startsWith('fine')),
    [],
  );
  assert.deepEqual(
    await queryOnce(good.url, `select from pg_class where relname = 'clients'`),
    [],
    'it changed nothing',
  );
});

test('a pooler in transaction mode and a server that is away are wrong', async (t) => {
  const unpacked = await fetchPgbouncer().catch(() => null);
  if (unpacked === null) return t.skip('no pgbouncer to be had');
  const postgres = await startTestPostgres(t);
  const url = await startPgbouncer(t, unpacked, postgres.url, { pool_mode: 'transaction', default_pool_size: '1' });
  const { of } = await examine({ ...NOWHERE, postgres: { url } });
  assertSaid(of('PostgreSQL'), /^wrong: DATABASE_URL leads through a pooler in transaction mode/);
  await postgres.stop();
  assertSaid((await examine({ ...NOWHERE, postgres })).of('PostgreSQL'), /^wrong: PostgreSQL at .* cannot be used/);
});

test('a service in order, then with a failing actor, another version, and ten days of events', async (t) => {
  const servers = { postgres: await startTestPostgres(t), nats: await startTestNats(t) };
  const daemon = await startDaemon(t, servers);
  const starting = daemon.log.find(({ message }) => message === 'starting') ?? {};
  assert.equal(starting.cores, availableParallelism(), 'a start says what there is, and what it takes');
  assert.ok(Number(starting.memoryMb) <= totalmem() / 1_048_576 + 1);
  assert.equal(starting.takesMb, 320, 'without servers of its own');
  const running = { VIGIE_OPERATIONS_ADDRESS: new URL(daemon.operationsUrl).host };
  const { of } = await examine(servers, running);
  assertSaid(of('settings'), /^fine/);
  assertSaid(of('service'), /^fine: http.*\/readyz: ready$/);
  assertSaid(of('PostgreSQL'), /^unknown: the database has [\d.]+ MB, and how fast it grows shows after a day$/);
  assertSaid(of('NATS'), /^fine: streams and consumers are in order/, /^unknown: its disk cannot be seen from here$/);

  await queryOnce(
    servers.postgres.url,
    `insert into events (property_uuid, advert_uuid, kind, created_at, recorded_at)
     values (gen_random_uuid(), gen_random_uuid(), 'ad.create', now(), now() - interval '10 days');
     insert into instances (id, host, process_id, roles, version, started_at, stages, search_index, failing, newest_migration)
     select gen_random_uuid(), 'elsewhere', 7, roles, '0.0.1', started_at, stages, null,
       '[{"actor": "recorder", "reason": "disk full", "failingForMs": 60000}]', newest_migration from instances limit 1;
     update instances set seen_at = now() + interval '3 hours' where host = 'elsewhere'`,
  );
  const bad = await examine(servers, { ...running, VIGIE_RETENTION_HISTORY_DAYS: '120' });
  assertSaid(bad.of('PostgreSQL'), /^unknown: the database has .* a day, kept for up to 120 days: \d/);
  assertSaid(
    bad.of('service'),
    /^wrong: elsewhere:7 fails at recorder: disk full$/,
    /^look at: elsewhere:7 has version 0\.0\.1/,
  );

  // The same for people: a line each, in columns.
  const shown = await runVigie(['doctor'], servers, { settings: running });
  assert.equal(shown.code, 1);
  for (const line of shown.stdout.trimEnd().split('\n')) assert.match(line, /^(?:fine|look at|wrong|unknown) +\w+ +\S/);
  assert.match(shown.stdout, /\nlook at {2}service +elsewhere:7 has version 0\.0\.1.*: restart it with this one\n/);

  await daemon.end('SIGKILL');
  assertSaid(
    (await examine(servers, running)).of('service'),
    /^unknown: no daemon answers at http.*connection refused/,
  );
});

test('a stream that loses adverts is told', async (t) => {
  const servers = await startTestServers(t);
  const broker = await connectBroker({ url: servers.nats.url, name: 'test', onStatus: () => undefined });
  t.after(() => broker.close());
  await broker.manager.streams.add({
    ...{ name: 'ADVERTS', subjects: ['adverts.>'], max_bytes: 100_000, discard: DiscardPolicy.Old },
  });
  assertSaid((await examine(servers)).of('NATS'), /^wrong: stream ADVERTS discard is old with max_bytes 100000/);
});

function certificate(fromDays: number, toDays: number) {
  const [notBeforeDate, notAfterDate] = [fromDays, toDays].map((days) => new Date(Date.now() + days * DAY_MS));
  const altNames = [
    { type: 7, ip: '127.0.0.1' },
    { type: 2, value: 'localhost' },
  ] as const;
  return generate([{ name: 'commonName', value: '127.0.0.1' }], {
    ...{ notBeforeDate: notBeforeDate as Date, notAfterDate: notAfterDate as Date },
    extensions: [{ name: 'subjectAltName', altNames: [...altNames] }],
  });
}

test('certificates: expired, about to expire, refused by clients, in order', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'vigie-doctor-'));
  t.after(() => rm(folder, { recursive: true }));
  for (const [fromDays, toDays, words] of [
    [-20, -10, /^wrong: .* expired on \d{4}-\d\d-\d\d$/],
    [-20, 5.5, /^look at: .* expires on .*, in 5 days$/],
    [-20, 90, /^fine: .* is valid until /],
    [5, 90, /^wrong: .* is not valid yet$/],
  ] as const) {
    const { cert, private: key } = await certificate(fromDays, toDays);
    const files = { VIGIE_ADMIN_TLS_CERT: join(folder, 'cert.pem'), VIGIE_ADMIN_TLS_KEY: join(folder, 'key.pem') };
    await Promise.all([writeFile(files.VIGIE_ADMIN_TLS_CERT, cert), writeFile(files.VIGIE_ADMIN_TLS_KEY, key)]);
    const server = createServer({ cert, key }).listen(0, '127.0.0.1');
    t.after(() => server.close());
    await once(server, 'listening');
    const VIGIE_PUBLIC_URL = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { of } = await examine(NOWHERE, { ...files, VIGIE_PUBLIC_URL });
    const [ofFile = '', ofServer = ''] = of('TLS');
    assert.match(ofFile, words);
    // Nobody knows its authority, which matters only while it would do otherwise.
    assert.match(
      ofServer,
      toDays < 0 || fromDays > 0 ? words : /^wrong: .* is refused \(DEPTH_ZERO_SELF_SIGNED_CERT\)$/,
    );
    const trusting = { ...files, VIGIE_PUBLIC_URL, NODE_EXTRA_CA_CERTS: files.VIGIE_ADMIN_TLS_CERT };
    assert.match((await runDoctor(NOWHERE, trusting)).of('TLS')[1] ?? '', words);
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
    assertSaid((await examine(NOWHERE, { VIGIE_PUBLIC_URL })).of('TLS'), /^unknown: .* does not answer from here/);
  }
  assertSaid(
    (await examine(NOWHERE, { VIGIE_PUBLIC_URL: 'http://vigie.example' })).of('TLS'),
    /^look at: .* in clear$/,
  );
});

test('dates of the certificates of PostgreSQL, NATS and the mail server, while connections work', async (t) => {
  const user = await serverUser('vigie-postgres', () => undefined);
  const folder = await temporaryDirectory('certificates');
  await giveDirectory(folder, user);
  t.after(() => rm(folder, { recursive: true }));
  const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  const write = async (fromDays: number, toDays: number) => {
    const { cert, private: key } = await certificate(fromDays, toDays);
    await Promise.all([writeFile(certFile, cert), writeFile(keyFile, key, { mode: 0o600 })]);
    if (user !== null) await Promise.all([certFile, keyFile].map((file) => chown(file, user.userId, user.groupId)));
    return { cert, key };
  };
  await write(-20, 90);
  const clear = await startTestServers(t);
  const { of: inClear } = await examine(clear, { VIGIE_SMTP_URL: '' });
  assert.deepEqual(inClear('TLS'), []);
  const postgres = await startTestPostgres(t, { ssl: 'on', ssl_cert_file: certFile, ssl_key_file: keyFile });
  const secure = [`tls { cert_file: "${certFile}", key_file: "${keyFile}" }`];
  const nats = await startConfiguredNats(t, secure);
  const url = `${postgres.url}?sslmode=verify-full`;
  for (const [fromDays, toDays, words] of [
    [-20, 90, /^fine: certificate of (.*) is valid until \d{4}-\d\d-\d\d$/],
    [-355, 10.5, /^look at: certificate of (.*) expires on .*, in 10 days$/],
    [-20, -1, /^wrong: certificate of (.*) expired on \d{4}-\d\d-\d\d$/],
  ] as const) {
    const { cert, key } = await write(fromDays, toDays);
    await postgres.stop();
    await postgres.restart();
    await nats.configure(secure);
    // Both ways that mail servers begin.
    const isSecure = toDays === 10.5;
    const receiver = await startSmtpReceiver(t, { ...{ cert, key, disabledCommands: ['AUTH'] }, secure: isSecure });
    const settings = {
      ...{ NODE_EXTRA_CA_CERTS: certFile, VIGIE_SMTP_TLS_CA: certFile, VIGIE_MAIL_FROM: 'alerts@vigie.invalid' },
      VIGIE_SMTP_URL: `${isSecure ? 'smtps' : 'smtp'}://127.0.0.1:${receiver.port}`,
      VIGIE_PUBLIC_URL: 'http://127.0.0.1',
    };
    const isRefused = toDays < 0;
    const servers = { postgres: { url: isRefused ? url.replace('verify-full', 'no-verify') : url } };
    const ofNats = { url: `nats://localhost:${nats.port}` };
    const { of, findings } = await runDoctor({ ...servers, nats: ofNats }, settings);
    assert.deepEqual(
      of('TLS').flatMap((line) => words.exec(line)?.[1] ?? []),
      isRefused ? ['PostgreSQL', 'the mail server'] : ['PostgreSQL', 'NATS', 'the mail server'],
      JSON.stringify(findings),
    );
    assertSaid(of('mail'), isRefused ? /^wrong: .*CERT_HAS_EXPIRED/ : /^fine: .* takes connections$/);
    // Its client takes no certificate that has expired, and says so.
    if (isRefused) assertSaid(of('NATS'), /^wrong: .*certificate has expired/);
  }
  assertSaid((await examine({ ...NOWHERE, postgres: { url } })).of('PostgreSQL'), /^wrong: .*certificate has expired/);
});

test('the mail server: it takes us, refuses the login, is away', async (t) => {
  const receiver = await startSmtpReceiver(t, {
    allowInsecureAuth: true,
    onAuth: ({ password }, _session, reply) =>
      password === 'right' ? reply(null, { user: 'vigie' }) : reply(new Error('no')),
  });
  const dns = { VIGIE_MAIL_FROM: 'alerts@vigie.invalid', VIGIE_PUBLIC_URL: 'http://127.0.0.1' };
  const of = async (VIGIE_SMTP_URL: string) => (await examine(NOWHERE, { ...dns, VIGIE_SMTP_URL })).of('mail');
  const withPassword = (password: string) => `smtp://vigie:${password}@127.0.0.1:${receiver.port}`;
  assertSaid(await of(withPassword('right')), /^fine: 127\.0\.0\.1:\d+ takes connections and the login$/);
  assertSaid(await of(withPassword('wrong')), /^wrong: .*: the mail server answered 535 to AUTH/);
  assert.equal(receiver.messages.length, 0, 'nothing was sent');
  await receiver.close();
  assertSaid(
    await of(receiver.url),
    /^wrong: .*: the mail server could not be used: ECONNREFUSED$/,
    /^unknown: DNS does not answer for vigie\.invalid \(ECONNREFUSED\)$/,
  );
  assertSaid((await examine(NOWHERE)).of('mail'), /^fine: no e-mails are sent/);
});

/** Answers TXT records of a zone (RFC 1035, 4.1), NXDOMAIN for other names. */
async function startDnsServer(t: TestContext, zone: Readonly<Record<string, readonly string[]>>): Promise<string> {
  const socket = createSocket('udp4');
  socket.on('message', (query, from) => {
    const labels: string[] = [];
    let at = 12;
    for (let length = query[at] as number; length > 0; length = query[at] as number) {
      labels.push(query.toString('latin1', at + 1, at + 1 + length));
      at += 1 + length;
    }
    const question = query.subarray(12, at + 5);
    const texts = zone[labels.join('.').toLowerCase()] ?? [];
    const answers = texts.map((text) => {
      const parts = (text.match(/.{1,255}/gs) ?? ['']).map((part) =>
        Buffer.concat([Buffer.of(part.length), Buffer.from(part)]),
      );
      const data = Buffer.concat(parts);
      // A pointer to the name of the question, TXT, IN, no time to live.
      return Buffer.concat([Buffer.of(0xc0, 12, 0, 16, 0, 1, 0, 0, 0, 0, data.length >> 8, data.length & 255), data]);
    });
    const head = Buffer.of(
      query[0] as number,
      query[1] as number,
      0x81,
      texts.length === 0 ? 0x83 : 0x80,
      0,
      1,
      0,
      texts.length,
      0,
      0,
      0,
      0,
    );
    socket.send(Buffer.concat([head, question, ...answers]), from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  t.after(() => socket.close());
  return `127.0.0.1:${socket.address().port}`;
}

test('what DNS says of the sender: SPF, DMARC, DKIM', async (t) => {
  const receiver = await startSmtpReceiver(t);
  const key = `v=DKIM1; k=rsa; p=${'A'.repeat(392)}`;
  const dns = await startDnsServer(t, {
    'good.example': ['some-site-verification=1', 'v=spf1 mx -all'],
    '_dmarc.good.example': ['v=DMARC1; p=quarantine; rua=mailto:x@good.example'],
    'mail._domainkey.good.example': [key],
    'sub.good.example': ['v=spf1 redirect=good.example'],
    'mail._domainkey.sub.good.example': ['v=DKIM1; p='],
    'open.example': ['v=spf1 +all'],
    '_dmarc.open.example': ['v=DMARC1; sp=none'],
    'twice.example': ['v=spf1 mx -all', 'v=spf1 a -all'],
    '_dmarc.twice.example': ['v=DMARC1; p=none', 'v=DMARC1; p=reject'],
    'soft.example': ['v=spf1 mx ?all'],
  });
  const settingsOf = (domain: string) => ({
    ...{ VIGIE_MAIL_FROM: `Vigie <alerts@${domain}>`, VIGIE_PUBLIC_URL: 'http://127.0.0.1' },
    VIGIE_SMTP_URL: receiver.url,
  });
  const of = async (domain: string, dkimSelector: string) =>
    (await examine(NOWHERE, settingsOf(domain), { dkimSelector, dnsServer: dns })).of('mail').slice(1);
  const commanded = await runDoctor(NOWHERE, settingsOf('good.example'), ['--dns', dns, '--dkim-selector', 'mail']);
  assert.deepEqual(commanded.of('mail').slice(1), await of('good.example', 'mail'));
  for (const [domain, selector, ...wanted] of [
    ['good.example', 'mail', /^fine: SPF of/, /^fine: DMARC of/, /^fine: DKIM has a key at mail\._domainkey\.good/],
    ['good.example', '', /^fine: SPF of/, /^fine: DMARC of/, /^unknown: DKIM of .*: its selector is not known here$/],
    [
      'sub.good.example',
      'mail',
      /^fine: SPF of/,
      /^fine: DMARC of .* p=quarantine/,
      /^wrong: the DKIM key .* is revoked$/,
    ],
    [
      'open.example',
      'mail',
      /^wrong: SPF of .* lets everybody send/,
      /^wrong: DMARC of .* no policy/,
      /^wrong: there is no DKIM key/,
    ],
    ['twice.example', '', /^wrong: .* has 2 SPF records/, /^wrong: .* has 2 DMARC records/, /^unknown: DKIM/],
    [
      'soft.example',
      '',
      /^look at: SPF of .* refuses nobody/,
      /^look at: soft\.example has no DMARC record$/,
      /^unknown/,
    ],
    ['none.example', '', /^look at: none\.example has no SPF record$/, /^look at: .* no DMARC record$/, /^unknown/],
  ] as const) {
    const lines = await of(domain, selector);
    assert.equal(lines.length, 3, domain);
    for (const [at, words] of wanted.entries()) assert.match(lines[at] ?? '', words);
  }
});

test('settings that do not go together, that nobody knows, or cannot be read, and a Node that is out of support', async () => {
  const conflicting = await runDoctor(NOWHERE, {
    VIGIE_API_ADDRESS: '127.0.0.1:9464',
    VIGIE_OPERATIONS_ADDRESS: '127.0.0.1:9464',
    VIGIE_NOSUCH: '1',
  });
  assertSaid(
    conflicting.of('settings'),
    /^wrong: VIGIE_OPERATIONS_ADDRESS and VIGIE_API_ADDRESS both have port 9464/,
    /^look at: VIGIE_NOSUCH is no setting$/,
  );
  const unreadable = await runDoctor(NOWHERE, { VIGIE_ROLES: 'nobody', VIGIE_NATS_PORT: 'x' });
  assert.equal(unreadable.findings.length, 2);
  assertSaid(
    unreadable.of('settings'),
    /^wrong: VIGIE_ROLES has unknown roles nobody/,
    /^wrong: VIGIE_NATS_PORT must be/,
  );
  const version = (at: string) => checkProgram(readConfig({}), new Date(at))[0];
  assert.equal(version('2024-12-01T00:00:00Z')?.level, 'fine');
  assert.match(version('2040-01-01T00:00:00Z')?.text ?? '', /Node\.js .* has been out of support since/);
});
