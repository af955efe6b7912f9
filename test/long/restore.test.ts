/**
 * An operator's recovery after a disaster. PostgreSQL returns with older data, NATS with older data or none, or both.
 * The service continues at its first ordinary start. Messages that the database has not seen are recorded as far as the
 * stream still has them. Nothing is recorded twice, and every delivery in the restored rows ends.
 */

import assert from 'node:assert/strict';
import { cp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { loadReference } from '../../src/engine/reference/communes.ts';
import { openDatabase } from '../../src/engine/store/database.ts';
import { openPostgres } from '../../src/local/servers.ts';
import { countOpen } from '../support/courier.ts';
import { createApiKey, type Daemon, runVigie, startDaemon } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { copyDatabase, restoreDatabase } from '../support/database-copy.ts';
import { auditDeliveries } from '../support/delivery-auditor.ts';
import { connectCrawler, roundOf } from '../support/intake.ts';
import { metricOf } from '../support/operator-scene.ts';
import { auditNumbers } from '../support/order-auditor.ts';
import { auditRecords, deliveryKeyOf, type OracleSearch, replay, untilRecorded } from '../support/replay-oracle.ts';
import { everythingTo, restClient } from '../support/rest-client.ts';
import {
  copyTestCluster,
  lastFirst,
  startTestNats,
  startTestPostgres,
  type TestServers,
  temporaryDirectory,
} from '../support/servers.ts';
import { RECOVERY_MAX_MS, untilIs } from '../support/until.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const PROPERTIES = 40;
const RETRY_DELAY_MS = 1_000;
const SETTINGS = { VIGIE_RETRY_DELAY_MS: String(RETRY_DELAY_MS), VIGIE_ATTEMPT_TIMEOUT_MS: '20000' };

/** The state of a server after the disaster: unchanged, as of the copy, or new. */
type Fate = 'intact' | 'older' | 'empty';

async function openScene(t: TestContext) {
  const cleanup = lastFirst(t);
  const natsStore = await temporaryDirectory('drill');
  const servers = { postgres: await startTestPostgres(cleanup), nats: await startTestNats(cleanup, natsStore) };
  const receiver = await startWebhookReceiver(cleanup);
  const { resolvePlace } = await loadReference();
  const messages: ReturnType<typeof roundOf> = [];
  let rounds = 0;

  /** Every property changes its price in each round. */
  async function publishRounds({ nats }: TestServers, count: number): Promise<void> {
    const crawler = await connectCrawler(cleanup, nats.url);
    for (const last = rounds + count; rounds < last; rounds++) {
      const batch = roundOf(PROPERTIES, rounds);
      await crawler.publish(...batch);
      messages.push(...batch);
    }
  }

  async function save(daemon: Daemon, key: string): Promise<OracleSearch> {
    const members = everythingTo(receiver);
    const { id } = await restClient(daemon, key).createSearch(members);
    await untilIs(() => metricOf(daemon, 'vigie_searches'), 1);
    return { id, members };
  }

  const untilAllRecorded = ({ postgres }: TestServers, taken: readonly unknown[]) =>
    untilRecorded(connectDatabase(cleanup, postgres.url), replay(taken, [], resolvePlace));

  async function restoredNats(copy: string, fate: Fate) {
    if (fate === 'intact') return servers.nats;
    return startTestNats(cleanup, fate === 'older' ? copy : null);
  }

  /** Starts a daemon with its own embedded PostgreSQL, whose rows are read through `on`. */
  async function startEmbedded(dataDir: string) {
    const given = { postgres: { url: '' }, nats: servers.nats };
    const settings = { ...SETTINGS, VIGIE_DATA_DIR: dataDir };
    const daemon = await startDaemon(cleanup, given, settings);
    const { databaseUrl } = JSON.parse(await readFile(join(dataDir, 'running.json'), 'utf8')) as {
      databaseUrl: string;
    };
    const on: TestServers = { ...servers, postgres: { ...servers.postgres, url: databaseUrl } };
    return { daemon, on, runHere: (...args: string[]) => runVigie(args, given, { settings }) };
  }

  return {
    startEmbedded,
    ...{ cleanup, servers, natsStore, receiver, resolvePlace, messages },
    ...{ publishRounds, save, untilAllRecorded, restoredNats },
    start: (on: TestServers) => startDaemon(cleanup, on, SETTINGS),
  };
}

type Scene = Awaited<ReturnType<typeof openScene>>;

/** Checks that `on` has the rows of one instance that recorded `messages`. `isForgotten`: posts that it cannot know. */
async function audit(
  { cleanup, receiver, resolvePlace }: Scene,
  on: TestServers,
  search: OracleSearch,
  messages: readonly unknown[],
  isForgotten: (receivedAt: number, id: string) => boolean,
): Promise<void> {
  const database = connectDatabase(cleanup, on.postgres.url);
  const expected = replay(messages, [search], resolvePlace);
  await untilRecorded(database, expected).catch(() => undefined);
  assert.deepEqual(await auditRecords(database, expected), []);
  await untilIs(() => countOpen(database), 0, RECOVERY_MAX_MS);
  const known = new Set(
    (await database.query<{ id: string }>('select id from delivery_states')).rows.map(({ id }) => id),
  );
  const audited = {
    database,
    // Before the restore, some of the forgotten posts may have been sent under ids that the database does not know.
    posts: receiver.posts.filter(({ id, receivedAt }) => known.has(id) && !isForgotten(receivedAt, id)),
    retryDelayMs: RETRY_DELAY_MS,
    expected: expected.deliveries,
    keyOf: deliveryKeyOf,
    order: { mayJump: true },
  };
  assert.deepEqual(await auditDeliveries(audited), []);
  // Checks the sequences of all posts, including those that the database has forgotten.
  assert.deepEqual(auditNumbers(receiver.posts), []);
}

describe('a restored service continues like the original', { concurrency: true }, () => {
  const fates: readonly (readonly [Fate, Fate])[] = [
    ['older', 'intact'],
    ['intact', 'older'],
    ['intact', 'empty'],
    ['older', 'older'],
    ['older', 'empty'],
  ];
  for (const [postgresFate, natsFate] of fates) {
    test(`PostgreSQL ${postgresFate}, NATS ${natsFate}`, async (t) => {
      const scene = await openScene(t);
      const { servers, natsStore, cleanup, messages, publishRounds } = scene;
      const isLossy = natsFate === 'empty' || (natsFate === 'older' && postgresFate === 'older');
      const first = await scene.start(servers);
      const search = await scene.save(first, await createApiKey(servers));
      await publishRounds(servers, 4);
      const natsCopy = await temporaryDirectory('drill-copy');
      if (natsFate === 'older') {
        await servers.nats.stop();
        await cp(natsStore, natsCopy, { recursive: true });
        await servers.nats.restart();
      }
      const natsHolds = messages.length;
      // The copy is made under load, unless the test must know exactly which messages are lost.
      if (isLossy) await scene.untilAllRecorded(servers, messages);
      else await publishRounds(servers, 2);
      const copy = await copyDatabase(servers.postgres.url);
      const copied = messages.length;
      await publishRounds(servers, 4);
      await scene.untilAllRecorded(servers, messages);
      assert.equal(await first.end('SIGKILL'), null);

      const disasterAt = Date.now();
      const postgres = postgresFate === 'intact' ? servers.postgres : await startTestPostgres(cleanup);
      if (postgresFate === 'older') await restoreDatabase(postgres, copy);
      const restored = { postgres, nats: await scene.restoredNats(natsCopy, natsFate) };
      const lostFrom = natsFate === 'older' && postgresFate === 'older' ? Math.max(natsHolds, copied) : copied;
      const survived = isLossy && postgresFate === 'older' ? messages.slice(0, lostFrom) : [...messages];
      const second = await scene.start(restored);
      const before = messages.length;
      await publishRounds(restored, 3);
      survived.push(...messages.slice(before));

      const isForgotten = (at: number): boolean => postgresFate === 'older' && at > copy.takenAt && at < disasterAt;
      await audit(scene, restored, search, survived, isForgotten);
      assert.equal(await second.end('SIGTERM'), 0);
    });
  }

  test('PostgreSQL restored twice into another cluster, from a copy made before NATS was lost', async (t) => {
    const scene = await openScene(t);
    const { servers, cleanup, messages, publishRounds, untilAllRecorded } = scene;
    const first = await scene.start(servers);
    const search = await scene.save(first, await createApiKey(servers));
    await publishRounds(servers, 4);
    await untilAllRecorded(servers, messages);
    assert.equal(await first.end('SIGTERM'), 0);
    const copy = await copyDatabase(servers.postgres.url);

    // More rounds than before, so that the new stream reaches the sequence that the copy has stored.
    const emptied = { ...servers, nats: await startTestNats(cleanup) };
    const second = await scene.start(emptied);
    await publishRounds(emptied, 6);
    await untilAllRecorded(emptied, messages);
    assert.equal(await second.end('SIGKILL'), null);

    const postgres = await startTestPostgres(cleanup);
    const restored = { postgres, nats: emptied.nats };
    // The same copy is restored twice: the changes after the first restore are forgotten as well.
    for (const isLast of [false, true]) {
      const disasterAt = Date.now();
      await restoreDatabase(postgres, copy);
      // All test clusters are copies with the same identity. This change makes the rows those of another cluster.
      const database = connectDatabase(cleanup, postgres.url);
      await database.query(`update intake_position set database_identity = 'the first'`);
      const third = await scene.start(restored);
      await publishRounds(restored, 3);
      await untilAllRecorded(restored, messages);
      assert.ok(third.log.some(({ message }) => String(message).includes('continues far above')));
      if (isLast) await audit(scene, restored, search, messages, (at) => at > copy.takenAt && at < disasterAt);
      assert.equal(await third.end('SIGTERM'), 0);
    }
  });

  test('the embedded PostgreSQL from a backup made under load, in another directory, NATS intact', async (t) => {
    const scene = await openScene(t);
    const { messages, publishRounds, untilAllRecorded } = scene;
    const [formerDir, dataDir] = [await temporaryDirectory('drill-former'), await temporaryDirectory('drill-restored')];
    scene.cleanup.after(() => rm(formerDir, { recursive: true, force: true, maxRetries: 10 }));
    scene.cleanup.after(() => rm(dataDir, { recursive: true, force: true, maxRetries: 10 }));
    await copyTestCluster(formerDir);
    const first = await scene.startEmbedded(formerDir);
    const search = await scene.save(first.daemon, await createApiKey(first.on));
    await publishRounds(first.on, 4);
    const file = join(formerDir, 'backup.tar.gz');
    const [{ code, stderr }] = await Promise.all([first.runHere('backup', file), publishRounds(first.on, 4)]);
    assert.equal(code, 0, stderr);
    await publishRounds(first.on, 2);
    await untilAllRecorded(first.on, messages);
    assert.equal(await first.daemon.end('SIGKILL'), null);

    const disasterAt = Date.now();
    const settings = { VIGIE_DATA_DIR: dataDir };
    const restored = await runVigie(
      ['restore', file],
      { postgres: { url: '' }, nats: scene.servers.nats },
      { settings },
    );
    assert.equal(restored.code, 0, restored.stderr);
    const delivered = await deliveredIn(dataDir);
    assert.ok(delivered.size > 0, 'the backup has deliveries that ended');
    const second = await scene.startEmbedded(dataDir);
    await publishRounds(second.on, 3);
    await audit(scene, second.on, search, messages, (at, id) => !delivered.has(id) && at < disasterAt);
    assert.equal(await second.daemon.end('SIGTERM'), 0);
  });
});

/** The deliveries that the restored database has as delivered, before a daemon starts on it. */
async function deliveredIn(dataDir: string): Promise<ReadonlySet<string>> {
  const observer = { onLog: () => undefined, onWarning: () => undefined };
  const server = await openPostgres({ databaseUrl: null, natsUrl: null, natsPort: 0, dataDir }, observer);
  const database = openDatabase({ url: server.databaseUrl, connectionsMax: 1, onConnectionLost: () => undefined });
  const { rows } = await database.query<{ id: string }>("select id from delivery_states where state = 'delivered'");
  await database.end();
  await server.stop();
  return new Set(rows.map(({ id }) => id));
}
