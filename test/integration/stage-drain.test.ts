/** Draining the delivery stage while more deliveries are due than are being sent. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runVigie } from '../support/daemon.ts';
import { createGate } from '../support/gate.ts';
import { metricOf, startScene } from '../support/operator-scene.ts';
import { untilIs } from '../support/until.ts';

const DUE = 40;

test('a drained stage waits for attempts in progress, and not for deliveries queued behind them', async (t) => {
  const { servers, daemon, receiver, publishAdverts } = await startScene(t);
  const { gate, open: answer } = createGate();
  receiver.script('/hook', { type: 'gated', gate, status: 200 });
  await publishAdverts(DUE);
  await untilIs(() => metricOf(daemon, 'vigie_deliveries_total'), DUE);
  await receiver.until((posts) => posts.length > 0);
  const admin = (...args: string[]) =>
    runVigie(['admin', ...args, '--address', daemon.adminAddress, '--json'], servers);

  const { stdout } = await admin('stages', 'pause', 'deliver');
  assert.equal(JSON.parse(stdout).state, 'pausing');
  answer();
  const drained = await admin('stages', 'drain', 'deliver', '--timeout', '15');
  assert.equal(drained.code, 0, drained.stderr);
  assert.equal(JSON.parse(drained.stdout).state, 'paused');
  assert.equal(JSON.parse(drained.stdout).inFlight, 0);
  assert.ok(receiver.posts.length < DUE, 'deliveries are due while nothing is under way');

  await admin('stages', 'resume', 'deliver');
  await receiver.until((posts) => posts.length === DUE);
});
