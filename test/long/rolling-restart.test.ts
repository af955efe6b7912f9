/** A rolling restart: three daemons behind a load balancer stop and start one after the other while adverts arrive. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countOpen } from '../support/courier.ts';
import { createApiKey, type Daemon, startDaemon } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { connectCrawler, roundOf } from '../support/intake.ts';
import { startLoadBalancer } from '../support/load-balancer.ts';
import { metricOf } from '../support/operator-scene.ts';
import { everythingTo, restClient } from '../support/rest-client.ts';
import { lastFirst, startTestServers } from '../support/servers.ts';
import { RECOVERY_MAX_MS, untilIs } from '../support/until.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const PROPERTIES = 40;

test('three daemons are restarted in turn under load, and nothing is aborted, doubled or refused', async (t) => {
  const cleanup = lastFirst(t);
  const servers = await startTestServers(cleanup);
  const receiver = await startWebhookReceiver(cleanup);
  const database = connectDatabase(cleanup, servers.postgres.url);
  const crawler = await connectCrawler(cleanup, servers.nats.url);
  const start = (): Promise<Daemon> =>
    startDaemon(cleanup, servers, {
      // The default of the product, because a check of the balancer may take a second on a busy machine.
      VIGIE_DRAIN_ANNOUNCE_MS: '3000',
      // No attempt may exceed its time limit on a busy machine.
      VIGIE_ATTEMPT_TIMEOUT_MS: '20000',
    });
  const instances = [await start(), await start(), await start()];
  const key = await createApiKey(servers);
  await restClient(instances[0] as Daemon, key).createSearch(everythingTo(receiver));
  for (const each of instances) await untilIs(() => metricOf(each, 'vigie_searches'), 1);
  const balancer = startLoadBalancer(key, { clients: 8, path: '/searches' });
  for (const each of instances) balancer.add(each);
  let isRolling = true;
  const published = (async () => {
    for (let round = 0; isRolling; round++) {
      await crawler.publish(...roundOf(PROPERTIES, round));
      await receiver.until((posts) => posts.length >= (round - 1) * PROPERTIES, RECOVERY_MAX_MS);
    }
  })();
  const codes: (number | null)[] = [];
  const tookMs: number[] = [];
  for (const each of instances) {
    await untilIs(() => balancer.readyCount, 3);
    const signalledAt = performance.now();
    codes.push(await each.end('SIGTERM'));
    tookMs.push(Math.round(performance.now() - signalledAt));
    balancer.add(await start());
  }
  isRolling = false;
  await published;
  await balancer.stop();
  await untilIs(() => countOpen(database), 0, RECOVERY_MAX_MS);
  const { rows } = await database.query("select count(*)::integer as aborted from attempts where error = 'aborted'");
  const doubled = receiver.posts.filter(({ id }) => receiver.postsOf(id).length > 1).length;
  t.diagnostic(`${receiver.posts.length} webhooks, ${balancer.answered} requests; ended in ${tookMs.join(', ')} ms`);
  assert.deepEqual(codes, [0, 0, 0]);
  assert.deepEqual({ ...rows[0], doubled, refused: balancer.refused }, { aborted: 0, doubled: 0, refused: [] });
});
