/**
 * Several instances on one NATS and one PostgreSQL, with all roles or with separate roles. While instances start, stop,
 * freeze or are killed, the rows equal those of a single instance, and no delivery is lost.
 */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { parse } from 'yaml';
import { loadReference } from '../../src/engine/reference/communes.ts';
import { ROOT } from '../support/checkout.ts';
import { countOpen } from '../support/courier.ts';
import { createApiKey, type Daemon, type Settings, startDaemon } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { auditDeliveries } from '../support/delivery-auditor.ts';
import { connectCrawler, roundOf } from '../support/intake.ts';
import { assertNone } from '../support/lists.ts';
import { metricOf } from '../support/operator-scene.ts';
import { auditRecords, deliveryKeyOf, type OracleSearch, replay, untilRecorded } from '../support/replay-oracle.ts';
import { everythingTo, restClient } from '../support/rest-client.ts';
import { lastFirst, startTestServers } from '../support/servers.ts';
import { RECOVERY_MAX_MS, until, untilIs } from '../support/until.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const PROPERTIES = 40;
const LEAD_CHANGES = 4;
const RETRY_DELAY_MS = 1_000;
/** No attempt may exceed its time limit on a busy machine: it would rightly be repeated. */
const SETTINGS = { VIGIE_RETRY_DELAY_MS: String(RETRY_DELAY_MS), VIGIE_ATTEMPT_TIMEOUT_MS: '20000' };
/** Used only where no instance dies, because a test would wait long for the claims of a dead instance. */
const PATIENCE = { VIGIE_ATTEMPT_TIMEOUT_MS: '60000', VIGIE_CONNECT_TIMEOUT_MS: '60000' };

type Scene = Awaited<ReturnType<typeof openScene>>;

async function openScene(t: TestContext) {
  const cleanup = lastFirst(t);
  const servers = await startTestServers(cleanup);
  const receiver = await startWebhookReceiver(cleanup);
  const database = connectDatabase(cleanup, servers.postgres.url);
  const crawler = await connectCrawler(cleanup, servers.nats.url);
  const { resolvePlace } = await loadReference();
  const messages: ReturnType<typeof roundOf> = [];
  const searches: OracleSearch[] = [];
  const start = (settings = {}) => startDaemon(cleanup, servers, { ...SETTINGS, ...settings });

  async function save(daemon: Daemon, key: string): Promise<void> {
    const members = everythingTo(receiver);
    const { id } = await restClient(daemon, key).createSearch(members);
    searches.push({ id, members });
  }

  /**
   * Every property changes its price in each round: more rounds make it more likely that two readers mix up changes.
   */
  async function publishRounds(rounds: number): Promise<void> {
    const first = messages.length / PROPERTIES;
    for (let round = first; round < first + rounds; round++) {
      const batch = roundOf(PROPERTIES, round);
      await crawler.publish(...batch);
      messages.push(...batch);
    }
  }

  /**
   * Waits until everything published is settled, then compares with the rows of one instance. Messages that a frozen
   * instance had pulled are redelivered only after the consumer's `ack_wait`, at most 90 s.
   */
  async function audit(): Promise<void> {
    const expected = replay(messages, searches, resolvePlace);
    await untilRecorded(database, expected);
    assert.deepEqual(await auditRecords(database, expected), []);
    await untilIs(() => countOpen(database), 0, RECOVERY_MAX_MS);
    const { posts } = receiver;
    assertNone(
      await auditDeliveries({
        database,
        posts,
        retryDelayMs: RETRY_DELAY_MS,
        expected: expected.deliveries,
        keyOf: deliveryKeyOf,
        order: { isHeld: true },
      }),
    );
  }

  const untilReceived = (count: number) => receiver.until((posts) => posts.length >= count, RECOVERY_MAX_MS);
  return { database, servers, receiver, start, save, publishRounds, audit, untilReceived };
}

test('leadership passes from one instance to the other and back under load, and no log reports a bug', async (t) => {
  const { servers, receiver, start, save, publishRounds, audit, untilReceived } = await openScene(t);
  const instances = [await start(), await start()] as const;
  await save(instances[0], await createApiKey(servers));
  await publishRounds(1);
  await untilReceived(PROPERTIES);
  let isChanging = true;
  const published = (async () => {
    while (isChanging) {
      const received = receiver.posts.length;
      await publishRounds(1);
      await untilReceived(received + PROPERTIES / 2);
    }
  })();
  for (let change = 0; change < LEAD_CHANGES; change++) {
    const [leader, other] = change % 2 === 0 ? instances : instances.toReversed();
    leader?.process.kill('SIGSTOP');
    await untilIs(() => metricOf(other, 'vigie_intake_leads'), 1);
    leader?.process.kill('SIGCONT');
    await untilIs(() => metricOf(leader, 'vigie_intake_leads'), 0);
  }
  isChanging = false;
  await published;
  await audit();
  for (const { log } of instances) {
    assertNone(log.filter(({ isBug }) => isBug === true));
  }
  for (const instance of instances) assert.equal(await instance.end('SIGTERM'), 0);
});

test('the processes of compose.roles.yaml are restarted in turn under load, and nothing is sent twice', async (t) => {
  const { database, receiver, ...scene } = await openScene(t);
  await rollRoles(scene, 'SIGTERM', PATIENCE);
  const sentTwice = receiver.posts.flatMap(({ id }) => (receiver.postsOf(id).length > 1 ? [id] : []));
  const { rows: failures } = await database.query(
    'select error, reason, count(*)::integer from attempts where status_code is distinct from 200 group by 1, 2',
  );
  assert.deepEqual(sentTwice, [], JSON.stringify(failures));
});

test('the processes of compose.roles.yaml are killed in turn under load, and the others continue', async (t) => {
  const { database: _database, receiver: _receiver, ...scene } = await openScene(t);
  await rollRoles(scene, 'SIGKILL', { VIGIE_ATTEMPT_TIMEOUT_MS: '5000' });
});

/**
 * Ends each process of the compose file while prices change, and waits until another process of its role does its work.
 * Then starts the ended process again.
 */
async function rollRoles(
  scene: Omit<Scene, 'database' | 'receiver'>,
  signal: 'SIGTERM' | 'SIGKILL',
  settings: Settings,
) {
  const { servers, start, save, publishRounds, audit, untilReceived } = scene;
  const startAs = async (roles: string) => ({ roles, daemon: await start({ VIGIE_ROLES: roles, ...settings }) });
  const running = await Promise.all((await composedRoles()).map(startAs));
  const thoseOf = (roles: string): Daemon[] =>
    running.flatMap((process) => (process.roles === roles ? [process.daemon] : []));
  const key = await createApiKey(servers);
  await save(thoseOf('api')[0] as Daemon, key);
  for (const intake of thoseOf('intake,feeds')) {
    await untilIs(() => metricOf(intake, 'vigie_searches'), 1);
  }
  let received = 0;
  let isRolling = true;
  const published = (async () => {
    while (isRolling) {
      await publishRounds(1);
      received += PROPERTIES / 2;
      await untilReceived(received);
    }
  })();
  for (const [position, { roles, daemon }] of running.entries()) {
    assert.equal(await daemon.end(signal), signal === 'SIGTERM' ? 0 : null);
    const others = await Promise.all(
      thoseOf(roles)
        .filter((other) => other !== daemon)
        .map(async (other) => ({ other, delivered: await deliveredBy(other) })),
    );
    await until(
      () => Promise.all(others.map(({ other, delivered }) => doesItsWork(other, roles, key, delivered))),
      (working) => working.length === 0 || working.includes(true),
      RECOVERY_MAX_MS,
    );
    running[position] = await startAs(roles);
  }
  isRolling = false;
  await published;
  await audit();
  for (const { daemon } of running) assert.equal(await daemon.end('SIGTERM'), 0);
}

/** The `VIGIE_ROLES` of each process of the compose file. */
async function composedRoles(): Promise<readonly string[]> {
  const { services } = parse(await readFile(join(ROOT, 'config/compose.roles.yaml'), 'utf8'), { merge: true }) as {
    services: Record<string, { environment: { VIGIE_ROLES: string }; deploy?: { replicas: number } }>;
  };
  return Object.values(services).flatMap(({ environment: { VIGIE_ROLES: roles }, deploy }) =>
    Array.from({ length: deploy?.replicas ?? 1 }, () => roles),
  );
}

/** True if a process with this role works: it leads intake, answers, or has delivered more than `delivered`. */
async function doesItsWork(daemon: Daemon, roles: string, key: string, delivered: number): Promise<boolean> {
  if (roles === 'api') return (await restClient(daemon, key).request('GET', '/searches')).status === 200;
  if (roles === 'deliver') return (await deliveredBy(daemon)) > delivered;
  return (await metricOf(daemon, 'vigie_intake_leads')) === 1;
}

function deliveredBy(daemon: Daemon): Promise<number> {
  return metricOf(daemon, 'vigie_delivery_attempts_total{result="delivered"}');
}
