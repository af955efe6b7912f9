/** Conflicts between settings are all reported at once, before a daemon opens anything. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { generate } from 'selfsigned';
import { ConfigError, readConfig } from '../src/config.ts';
import { assertServable } from '../src/config-conflicts.ts';
import { assertNone } from './support/lists.ts';

function problemsOf(environment: Readonly<Record<string, string>>): readonly string[] {
  try {
    assertServable(readConfig(environment));
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    const [title, ...problems] = error.message.split('\n');
    assert.equal(title, 'The configuration is invalid:');
    return problems.map((problem) => problem.trim());
  }
  return [];
}

test('the defaults are consistent, and several ports may be set to 0', () => {
  assert.deepEqual(problemsOf({}), []);
  assertNone(
    problemsOf({
      VIGIE_API_ADDRESS: '127.0.0.1:0',
      VIGIE_ADMIN_ADDRESS: '127.0.0.1:0',
      VIGIE_OPERATIONS_ADDRESS: '127.0.0.1:0',
    }),
  );
});

test('the admin interface uses plaintext only on the loopback', () => {
  for (const host of ['0.0.0.0', '[::]', 'vigie.example', '10.0.0.1']) {
    const [problem = '', ...others] = problemsOf({ VIGIE_ADMIN_ADDRESS: `${host}:9465` });
    assert.match(problem, /^VIGIE_ADMIN_ADDRESS has .* plaintext is allowed only on loopback/);
    assert.deepEqual(others, []);
    assertNone(problemsOf({ VIGIE_ADMIN_ADDRESS: `${host}:9465`, VIGIE_ROLES: 'intake,api' }), 'not opened');
  }
  for (const host of ['127.0.0.1', '127.9.9.9', '[::1]', 'localhost']) {
    assert.deepEqual(problemsOf({ VIGIE_ADMIN_ADDRESS: `${host}:9465` }), []);
  }
});

test('a certificate needs its key, and client authorities need both', () => {
  const together = 'VIGIE_ADMIN_TLS_CERT and VIGIE_ADMIN_TLS_KEY must be set together.';
  assert.deepEqual(problemsOf({ VIGIE_ADMIN_TLS_CERT: 'cert.pem' }), [together]);
  assert.deepEqual(problemsOf({ VIGIE_ADMIN_TLS_KEY: 'key.pem' }), [together]);
  assert.deepEqual(problemsOf({ VIGIE_ADMIN_CLIENT_CA: 'ca.pem', VIGIE_ADMIN_ADDRESS: '[::]:9465' }).length, 2);
});

test('certificate files exist, are complete, and match their keys', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'vigie-pem-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const write = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const [own, foreign] = await Promise.all([generate([], { keyType: 'ec' }), generate([], { keyType: 'ec' })]);
  const cert = write('cert.pem', own.cert);
  const settings = { VIGIE_ADMIN_ADDRESS: '0.0.0.0:9465', VIGIE_ADMIN_TLS_CERT: cert, VIGIE_ADMIN_CLIENT_CA: cert };
  assert.deepEqual(problemsOf({ ...settings, VIGIE_ADMIN_TLS_KEY: write('key.pem', own.private) }), []);
  const [missing = ''] = problemsOf({ ...settings, VIGIE_ADMIN_TLS_KEY: join(folder, 'none.pem') });
  assert.match(missing, /^VIGIE_ADMIN_TLS_KEY cannot be read \(ENOENT/);
  for (const key of [write('other.pem', foreign.private), write('broken.pem', 'nonsense')]) {
    const [unfit = ''] = problemsOf({ ...settings, VIGIE_ADMIN_TLS_KEY: key });
    assert.match(unfit, /^VIGIE_ADMIN_TLS_CERT, VIGIE_ADMIN_TLS_KEY and VIGIE_ADMIN_CLIENT_CA cannot be used \(/);
  }
});

test('a port that two settings share on one address is reported with both settings', () => {
  const both = { VIGIE_API_ADDRESS: '127.0.0.1:7000', VIGIE_OPERATIONS_ADDRESS: '127.0.0.1:7000' };
  const words = 'VIGIE_OPERATIONS_ADDRESS and VIGIE_API_ADDRESS both have port 7000. Give one of them another port.';
  assert.deepEqual(problemsOf(both), [words]);
  assert.deepEqual(problemsOf({ ...both, VIGIE_API_ADDRESS: '0.0.0.0:7000' }), [words]);
  assert.deepEqual(problemsOf({ ...both, VIGIE_API_ADDRESS: '127.0.0.2:7000' }), []);
  assert.deepEqual(problemsOf({ ...both, VIGIE_ROLES: 'intake' }), []);
  assert.equal(problemsOf({ VIGIE_API_ADDRESS: '127.0.0.1:9466' }).length, 1, 'the embedded NATS has one too');
  assert.deepEqual(problemsOf({ VIGIE_API_ADDRESS: '127.0.0.1:9466', NATS_URL: 'nats://n.example' }), []);
});

test('the embedded NATS server keeps one replica', () => {
  assert.match(problemsOf({ VIGIE_NATS_REPLICAS: '3' }).join(), /Set NATS_URL to a cluster/);
  assert.deepEqual(problemsOf({ VIGIE_NATS_REPLICAS: '3', NATS_URL: 'nats://n.example' }), []);
});

test('the announcement of a stop is shorter than the whole stop', () => {
  assert.match(problemsOf({ VIGIE_DRAIN_ANNOUNCE_MS: '30000' }).join(), /Set it below VIGIE_DRAIN_TIMEOUT_MS/);
});

test('the mail server’s authority is a readable PEM file', () => {
  const mail = {
    VIGIE_SMTP_URL: 'smtps://h',
    VIGIE_MAIL_FROM: 'a@b.example',
    VIGIE_PUBLIC_URL: 'https://vigie.example',
  };
  for (const path of ['/nowhere/ca.pem', fileURLToPath(import.meta.url)]) {
    assert.throws(
      () => assertServable(readConfig({ ...mail, VIGIE_SMTP_TLS_CA: path })),
      /VIGIE_SMTP_TLS_CA cannot be used .* Set it to a readable PEM file/,
    );
  }
});
