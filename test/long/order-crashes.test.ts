/** The webhooks of a match stay in the order of the changes while two daemons share the deliveries, die and freeze. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createApiKey, type Daemon, startDaemon } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { auditDeliveries } from '../support/delivery-auditor.ts';
import { watchDeliveries } from '../support/delivery-watcher.ts';
import { connectCrawler, numberedFlat, numberedUuid } from '../support/intake.ts';
import { metricOf } from '../support/operator-scene.ts';
import type { AuditedDelivery } from '../support/order-auditor.ts';
import { readRecoveries } from '../support/order-auditor.ts';
import { everythingTo, restClient } from '../support/rest-client.ts';
import { lastFirst, startTestServers } from '../support/servers.ts';
import { RECOVERY_MAX_MS, untilIs } from '../support/until.ts';
import { type Behaviour, startWebhookReceiver } from '../support/webhook-receiver.ts';

const CUTS = 5;

const WAVES = ['kill', 'kill', 'freeze', 'freeze', 'kill', 'kill', 'freeze until it counts as dead', 'kill'] as const;
const WAVE_PROPERTIES = 125;
const ATTEMPT_TIMEOUT_MS = 3_000;
/** An attempt's time limit plus the courier's margin to record it, less 2 s, the possible age of its heartbeat. */
const LEASE_MS = ATTEMPT_TIMEOUT_MS + 15_000 - 2_000;
/** At most so many recoveries while every third post fails, so that nothing is sent more than six times. */
const RECOVERIES_MAX = 4;

async function openScene(t: TestContext) {
  const cleanup = lastFirst(t);
  const servers = await startTestServers(cleanup);
  const receiver = await startWebhookReceiver(cleanup);
  const database = connectDatabase(cleanup, servers.postgres.url);
  const settings = { VIGIE_ATTEMPT_TIMEOUT_MS: String(ATTEMPT_TIMEOUT_MS) };

  /** Publishes each property from `from` on, with its price cuts, as fast as the stream accepts them. */
  async function publish(properties: number, from: number): Promise<void> {
    const crawlers = await Promise.all(Array.from({ length: 8 }, () => connectCrawler(cleanup, servers.nats.url)));
    const shares = crawlers.map(async (crawler, share) => {
      for (let number = from + share; number < from + properties; number += crawlers.length) {
        for (let cut = 0; cut <= CUTS; cut++) {
          const crawledAt = new Date(Date.UTC(2026, 2, 10, 8, 0, cut)).toISOString();
          await crawler.publish(numberedFlat(number, 300_000 - 1_000 * cut, crawledAt));
        }
      }
    });
    await Promise.all(shares);
  }
  return { cleanup, servers, receiver, database, publish, start: () => startDaemon(cleanup, servers, settings) };
}

test('two instances that die and freeze keep the order, including that of recoveries, and lose and repeat nothing', async (t) => {
  const { cleanup, servers, receiver, database, publish, start } = await openScene(t);
  const daemons = [await start(), await start()] as [Daemon, Daemon];
  const key = await createApiKey(servers);
  await restClient(daemons[0], key).createSearch(everythingTo(receiver));
  for (const daemon of daemons) await untilIs(() => metricOf(daemon, 'vigie_searches'), 1);
  const watcher = watchDeliveries(cleanup, database);
  const properties = WAVES.length * WAVE_PROPERTIES;
  receiver.script('/matches', ...everyThirdFails(properties));
  receiver.script('/events', ...everyThirdFails(properties * CUTS));
  // Retries are due only in an hour, so only recoveries send again.
  const recover = openRecoveries(key);
  for (const [wave, fault] of WAVES.entries()) {
    const received = receiver.posts.length;
    const published = publish(WAVE_PROPERTIES, wave * WAVE_PROPERTIES);
    await receiver.until((posts) => posts.length > received + WAVE_PROPERTIES, RECOVERY_MAX_MS);
    const struck = wave % 2;
    await recover(daemons[1 - struck] as Daemon, RECOVERIES_MAX);
    await strike(fault, struck);
    await published;
  }
  async function strike(fault: (typeof WAVES)[number], struck: number): Promise<void> {
    const daemon = daemons[struck] as Daemon;
    if (fault === 'kill') {
      await daemon.end('SIGKILL');
      daemons[struck] = await start();
      return;
    }
    const received = receiver.posts.length;
    daemon.process.kill('SIGSTOP');
    if (fault === 'freeze') await receiver.until((posts) => posts.length > received + WAVE_PROPERTIES, RECOVERY_MAX_MS);
    else {
      await untilIs(async () => (await database.query('select from couriers')).rowCount, 1);
    }
    daemon.process.kill('SIGCONT');
  }

  await untilIs(
    async () => {
      await recover(daemons[0], Number.POSITIVE_INFINITY);
      const { rows } = await database.query<{ ended: number }>(
        `select count(*)::integer as ended from delivery_states where state not in ('queued', 'sending', 'retry_wait')`,
      );
      return rows[0]?.ended;
    },
    properties * (CUTS + 1),
    RECOVERY_MAX_MS,
  );
  for (const daemon of daemons) assert.equal(await daemon.end('SIGTERM'), 0);
  const keyOf = ({ propertyUuid, sequence }: Pick<AuditedDelivery, 'propertyUuid' | 'sequence'>): string =>
    `${propertyUuid} ${sequence}`;
  const faults = await auditDeliveries({
    database,
    posts: receiver.posts,
    retryDelayMs: 0,
    expected: Array.from({ length: properties * (CUTS + 1) }, (_, n) =>
      keyOf({ propertyUuid: numberedUuid('property', Math.floor(n / (CUTS + 1))), sequence: 1 + (n % (CUTS + 1)) }),
    ),
    keyOf,
    order: { isHeld: true, recoveries: await readRecoveries(database) },
    freezes: { seenDelivered: watcher.seenDelivered, leaseMs: LEASE_MS },
  });
  assert.deepEqual(faults, []);
  const { rows } = await database.query<{ count: number }>(
    'select count(distinct delivery_id)::integer as count from attempts where number > 1',
  );
  assert.ok(Number(rows[0]?.count) > properties, `recoveries sent ${rows[0]?.count}`);
});

function everyThirdFails(posts: number): [Behaviour, ...Behaviour[]] {
  const answers = Array.from({ length: posts }, (_, n) => (n % 3 === 0 ? 500 : 200)).concat(200);
  return answers.map((status) => ({ type: 'answer', status })) as [Behaviour, ...Behaviour[]];
}

/** Requests a recovery of everything, unless one is in progress or `max` have been made. */
function openRecoveries(key: string) {
  const since = new Date().toISOString();
  let made = 0;
  return async (daemon: Daemon, max: number): Promise<void> => {
    if (made >= max) return;
    const { status } = await restClient(daemon, key).request('POST', '/recoveries', { since });
    if (status === 202) made += 1;
    else assert.equal(status, 409);
  };
}
