/** Settings come from config/default.env and the environment; all faults are reported at once, without secrets. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Config, ConfigError, readConfig } from '../src/config.ts';

function problemsOf(environment: Readonly<Record<string, string>>): readonly string[] {
  try {
    readConfig(environment);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    assert.equal(error.code, 'CONFIG_INVALID');
    return error.message.split('\n').slice(1);
  }
  return [];
}

test('an empty environment gives the defaults of the decisions', () => {
  const config = readConfig({});
  assert.equal(config.databaseUrl, null);
  assert.equal(config.natsUrl, null);
  assert.deepEqual(config.rateLimit, { perSecond: 1_000, burst: 2_000 });
  assert.deepEqual(config.writeLimit, { perSecond: 50, burst: 200 });
  assert.equal(config.allowPrivateEndpoints, false);
  assert.equal(config.retryDelayMs, 3_600_000);
  assert.deepEqual(config.retentionDays, { events: 90, deliveries: 30, expired: 90 });
  const { advertsMax, bytesMax, waitingMax } = config.recordBounds;
  assert.deepEqual([advertsMax, bytesMax, waitingMax], [200, 8 * 1_024 ** 2, 64]);
  assert.equal(config.connectTimeoutMs, 5_000);
  assert.equal(config.attemptTimeoutMs, 15_000);
  for (const role of ['intake', 'deliver', 'api'] as const) assert.ok(config.roles.includes(role));
});

test('the environment takes precedence, surrounding blanks are removed, and other variables are ignored', () => {
  const config = readConfig({
    VIGIE_API_ADDRESS: ' 127.0.0.1:0 ',
    VIGIE_ROLES: 'api, deliver',
    NATS_URL: 'tls://n.example',
    HOME: '/',
  });
  assert.equal(config.api.port, 0);
  assert.deepEqual(config.roles, ['api', 'deliver']);
  assert.equal(config.natsUrl, 'tls://n.example');
  assert.deepEqual(config.unknownNames, []);
});

test('the caller’s defaults take precedence over the file, and the environment over both', () => {
  const defaults = { VIGIE_LOG_LEVEL: 'warn', VIGIE_API_ADDRESS: '127.0.0.1:1' };
  const config = readConfig({ VIGIE_API_ADDRESS: '127.0.0.1:2' }, defaults);
  assert.deepEqual([config.logLevel, config.api.port, config.operations.port], ['warn', 2, 9464]);
});

test('an empty namespace and "default" mean no namespace, and other names are kept', () => {
  const namespaceOf = (name: string): string | null => readConfig({ VIGIE_NAMESPACE: name }).namespace;
  assert.deepEqual(['', 'default', 'ile-de-france-2', 'x'.repeat(32)].map(namespaceOf), [
    ...[null, null, 'ile-de-france-2', 'x'.repeat(32)],
  ]);
});

test('several servers of one service are separated by commas', () => {
  const database = 'postgresql://me:pass@a:5432,b,[::1]:5433/vigie?target_session_attrs=read-write';
  const config = readConfig({ DATABASE_URL: database, NATS_URL: 'nats://me:pass@a:4222, nats://b' });
  assert.deepEqual([config.databaseUrl, config.natsUrl], [database, 'nats://me:pass@a:4222, nats://b']);
});

test('an empty value unsets an optional setting, and an undefined one is ignored', () => {
  const config = readConfig({ DATABASE_URL: '', VIGIE_PUBLIC_URL: '', VIGIE_API_ADDRESS: undefined });
  assert.deepEqual([config.databaseUrl, config.api.publicUrl, config.api.port], [null, null, 8080]);
});

const FAULTS: readonly [name: string, values: readonly string[], problem: RegExp][] = [
  [
    'VIGIE_API_ADDRESS',
    ['', '8080', ':8080', 'h', 'h:', 'h:-1', 'h:65536', 'h:0x50', 'h:1e3', '::1:80', '[h]:80', 'h h:80'],
    /must be a host and a port/,
  ],
  ['VIGIE_RATE_LIMIT_PER_SECOND', ['0', '1000001'], /must be a whole number from 1 to 1000000/],
  ['VIGIE_WRITE_LIMIT_PER_SECOND', ['0', '1000001'], /must be a whole number from 1 to 1000000/],
  [
    'VIGIE_PROXY_ADDRESSES',
    ['localhost', '10.0.0.0/33', '::1/129', '10.0.0.0/x', '1.2.3'],
    /must be addresses and networks/,
  ],
  ['VIGIE_RETRY_DELAY_MS', ['0', '604800001'], /must be a whole number from 1 to 604800000/],
  ['VIGIE_RETENTION_HISTORY_DAYS', ['', '-1', '1.5', '36501', 'ever'], /must be a whole number from 0 to 36500/],
  ['VIGIE_ALLOW_PRIVATE_ENDPOINTS', ['', 'yes', 'TRUE', '1'], /must be true or false/],
  ['VIGIE_ROLES', ['', 'intake,', 'everything'], /has unknown roles: ".*"\. The roles are intake, deliver, api/],
  [
    'VIGIE_NAMESPACE',
    ['West', 'west.1', '-west', 'we--st', 'île', 'a b', '*', 'x'.repeat(33)],
    /must be 1 to 32 lower-case letters, digits and inner hyphens/,
  ],
  ['VIGIE_LOG_LEVEL', ['', 'verbose'], /must be fatal, error, warn/],
  [
    'DATABASE_URL',
    ['mysql://h/d', 'localhost', 'postgres:me:pass@h/d', 'postgres://h:1,h:x/d'],
    /must be a URL that starts with postgres:\/\/ or postgresql:\/\//,
  ],
  [
    'NATS_URL',
    ['http://h', 'h:4222', 'nats:me:pass@h', 'nats://h,', 'nats://h,x'],
    /must be URLs that start with nats:\/\//,
  ],
  ['NATS_URL', ['nats://a:b@h,nats://a:c@i'], /must name the same user for all servers/],
  ['NATS_URL', ['nats://h,tls://i'], /must not mix/],
  ['VIGIE_NATS_REPLICAS', ['', '0', '2', '4', '6'], /must be 1, 3 or 5, because an even number of copies tolerates/],
  ['VIGIE_PUBLIC_URL', ['ftp://h', '/api'], /must be a URL that starts with http:\/\/ or https:\/\//],
  [
    'VIGIE_MAIL_FROM',
    ['a', 'a@', 'x <a@b>', 'x\r\nBcc: y <a@b.example>', '<a@b.example>, c@d.example'],
    /e-mail address/,
  ],
  ['VIGIE_MAIL_LANGUAGE', ['', 'de'], /must be fr or en/],
];

for (const [name, values, problem] of FAULTS) {
  test(`${name} refuses ${values.map((value) => JSON.stringify(value)).join(', ')}`, () => {
    for (const value of values) {
      const problems = problemsOf({ [name]: value });
      assert.equal(problems.length, 1, `${value}: ${problems.join()}`);
      assert.match(problems[0] ?? '', problem);
      assert.ok(problems[0]?.trimStart().startsWith(`${name} `));
    }
  });
}

test('VIGIE_SMTP_URL contains only a server and credentials, and requires a sender and the public URL', () => {
  const rest = { VIGIE_MAIL_FROM: 'Vigie <a@b.example>', VIGIE_PUBLIC_URL: 'https://vigie.example' };
  for (const url of ['smtp://me:secret@h:587', 'smtps://h', 'smtp://h/', 'smtp://[::1]:25']) {
    assert.deepEqual(problemsOf({ ...rest, VIGIE_SMTP_URL: url }), []);
    assert.deepEqual(
      problemsOf({ VIGIE_SMTP_URL: url }).map((problem) => problem.trim().split(' ')[0]),
      ['VIGIE_MAIL_FROM', 'VIGIE_PUBLIC_URL'],
    );
  }
  for (const url of ['http://secret', 'smtp://', 'smtp://h/secret', 'smtp://h?tls=secret', 'smtp://secret@h', 'h:25']) {
    const problems = problemsOf({ ...rest, VIGIE_SMTP_URL: url });
    assert.equal(problems.length, 1, url);
    assert.match(problems[0] ?? '', /^ *VIGIE_SMTP_URL must be/);
    assert.doesNotMatch(problems.join(), /secret/);
  }
  const insecure = { ...rest, VIGIE_SMTP_TLS_CA: 'any' };
  assert.deepEqual(problemsOf({ ...insecure, VIGIE_SMTP_URL: 'smtp://h' }), []);
  const [problem] = problemsOf({ ...insecure, VIGIE_SMTP_URL: 'smtp://me:secret@h' });
  assert.match(problem ?? '', /VIGIE_SMTP_TLS_CA=any would expose the password/);
  const { mail } = readConfig({ ...rest, VIGIE_SMTP_URL: 'smtp://h' });
  assert.deepEqual(mail?.from, { name: 'Vigie', address: 'a@b.example' });
  assert.equal(readConfig({}).mail, null);
});

test('all problems are reported at once with their settings, and without secrets', () => {
  const problems = problemsOf({ DATABASE_URL: 'secret://me:pass@h', VIGIE_API_ADDRESS: 'x', VIGIE_LOG_LEVEL: 'loud' });
  assert.deepEqual(
    problems.map((problem) => problem.trim().split(' ')[0]),
    ['DATABASE_URL', 'VIGIE_API_ADDRESS', 'VIGIE_LOG_LEVEL'],
  );
  assert.doesNotMatch(problems.join(), /secret|pass/);
});

test('a misspelt setting of Vigie is reported, and other variables are not', () => {
  assert.deepEqual(readConfig({ VIGIE_API_PROT: '80', API_PROT: '80' }).unknownNames, ['VIGIE_API_PROT']);
});

test('the configuration is deeply frozen', () => {
  const config: Config = readConfig({});
  for (const part of [config, config.api, config.operations, config.rateLimit, config.retentionDays, config.roles]) {
    assert.ok(Object.isFrozen(part));
  }
});

test('the console is on by default, can be turned off, and accepts tiles of one server', () => {
  const tilesUrl = 'https://tiles.example.org/{z}/{x}/{y}.png';
  const shown = { showsPictures: false, tilesUrl: null, tilesAttribution: '' };
  assert.deepEqual(readConfig({}).console, shown);
  assert.equal(readConfig({ VIGIE_CONSOLE: 'false' }).console, null);
  assert.deepEqual(readConfig({ VIGIE_MAP_TILES_URL: tilesUrl, VIGIE_MAP_ATTRIBUTION: 'Us' }).console, {
    ...shown,
    tilesUrl,
    tilesAttribution: 'Us',
  });
  for (const wrong of [
    'https://tiles.example.org/',
    'https://{s}.tiles.example.org/{z}/{x}/{y}.png',
    'https://me:pass@tiles.example.org/{z}/{x}/{y}.png',
    'ftp://tiles.example.org/{z}/{x}/{y}.png',
    "https://tiles.example.org/{z}/{x}/{y}.png; script-src 'unsafe-inline'",
    '/{z}/{x}/{y}.png',
  ]) {
    assert.equal(problemsOf({ VIGIE_MAP_TILES_URL: wrong }).length, 1, wrong);
  }
});
