/**
 * The servers of a delivering daemon go away and come back under load, with or without what they held. The auditor must
 * find every delivery ended by the rules.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { COURIER_SETTINGS, openCourierScene } from '../support/courier-scene.ts';
import { startDaemon } from '../support/daemon.ts';
import { until } from '../support/until.ts';

test('kill -9 of nats-server, twice', async (t) => {
  const { cleanup, servers, receiver, load, audit, untilReceived } = await openCourierScene(t);
  const daemon = await startDaemon(cleanup, servers, COURIER_SETTINGS);
  for (let kill = 0; kill < 2; kill++) {
    await load(400);
    await untilReceived(receiver.posts.length + 100);
    await servers.nats.kill();
    await servers.nats.restart();
  }
  await audit();
  assert.equal(await daemon.end('SIGTERM'), 0);
});

test('the stream is deleted while retries wait in it', async (t) => {
  const { cleanup, servers, receiver, broker, load, audit, untilReceived } = await openCourierScene(t);
  const daemon = await startDaemon(cleanup, servers, COURIER_SETTINGS);
  await load(600);
  await untilReceived(receiver.posts.length + 50);
  await broker.manager.streams.delete(broker.names.retriesStream);
  await audit();
  assert.equal(await daemon.end('SIGTERM'), 0);
});

test('PostgreSQL is restarted, once gracefully and once not', async (t) => {
  const { cleanup, servers, receiver, load, audit, untilReceived } = await openCourierScene(t);
  const daemon = await startDaemon(cleanup, servers, COURIER_SETTINGS);
  await load(400);
  await untilReceived(receiver.posts.length + 100);
  await servers.postgres.stop();
  await servers.postgres.restart();
  await until(() => canConnect(servers.postgres.url), Boolean);
  await load(400);
  await untilReceived(receiver.posts.length + 100);
  await servers.postgres.kill();
  await servers.postgres.restart();
  await audit();
  assert.equal(await daemon.end('SIGTERM'), 0);
});

async function canConnect(url: string): Promise<boolean> {
  const client = new pg.Client(url);
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}
