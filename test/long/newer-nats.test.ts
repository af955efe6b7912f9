/**
 * Behaviour that depends on the version of nats-server, tested with that of Debian 13: owners of streams, limits, unfit
 * streams, clusters.
 */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { LOADER, moduleUrl, ROOT } from '../support/checkout.ts';
import { findNewerNats } from '../support/newer-nats.ts';

const FILES = [
  ...['shared-nats', 'unfit-streams', 'store-full', 'stream-made-anew', 'webhook-courier'].map(
    (name) => `integration/${name}`,
  ),
  ...['full-nats-at-start', 'nats-cluster'].map((name) => `long/${name}`),
];

test('behaviour that depends on the version of nats-server is the same on a newer version', async () => {
  const files = FILES.map((name) => fileURLToPath(moduleUrl(`test/${name}.test`)));
  // With this variable a test runner that another runner starts would report to the outer runner.
  const { NODE_TEST_CONTEXT: _, ...environment } = process.env;
  const child = spawn(process.execPath, [...LOADER, '--test', '--test-concurrency=1', ...files], {
    cwd: ROOT,
    env: { ...environment, NATS_SERVER_BIN: await findNewerNats() },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  assert.deepEqual(await once(child, 'exit'), [0, null]);
});
