/** Publishes matches and price cuts as fast as the stream accepts them, and checks the order of their webhooks. */

import type { TestContext } from 'node:test';
import { createApiKey, type Daemon, type Settings, startDaemon } from './daemon.ts';
import { connectDatabase } from './database.ts';
import { connectCrawler, numberedFlat } from './intake.ts';
import { metricOf } from './operator-scene.ts';
import { restClient } from './rest-client.ts';
import { lastFirst, startTestServers } from './servers.ts';
import { untilIs } from './until.ts';
import { startWebhookReceiver } from './webhook-receiver.ts';

/** A search that is notified of every match and price, and a receiver that records when it has answered. */
export async function openOrderScene(t: TestContext) {
  const cleanup = lastFirst(t);
  const servers = await startTestServers(cleanup);
  const receiver = await startWebhookReceiver(cleanup);
  const database = connectDatabase(cleanup, servers.postgres.url);
  // On a busy machine an attempt might time out, and the next delivery would then rightly be sent.
  const start = (settings: Settings = {}) =>
    startDaemon(cleanup, servers, { VIGIE_ATTEMPT_TIMEOUT_MS: '60000', ...settings });

  async function save(daemons: readonly Daemon[], paths: { readonly matches: string; readonly events: string }) {
    const search = await restClient(daemons[0] as Daemon, await createApiKey(servers)).createSearch({
      title: 'Toulon',
      notificationEnabled: true,
      withCoherentPrice: null,
      endpointRecipient: receiver.urlOf(paths.matches),
      eventEndpoint: receiver.urlOf(paths.events),
      subscribedEvents: ['ad.update.price'],
    });
    for (const daemon of daemons) await untilIs(() => metricOf(daemon, 'vigie_searches'), 1);
    return search;
  }

  /** Publishes each property from `from` on, with `cuts` price cuts, as fast as the stream accepts them. */
  async function publish(properties: number, cuts: number, from = 0): Promise<void> {
    const crawlers = await Promise.all(Array.from({ length: 8 }, () => connectCrawler(cleanup, servers.nats.url)));
    const shares = crawlers.map(async (crawler, share) => {
      for (let number = from + share; number < from + properties; number += crawlers.length) {
        for (let cut = 0; cut <= cuts; cut++) {
          const crawledAt = new Date(Date.UTC(2026, 2, 10, 8, 0, cut)).toISOString();
          await crawler.publish(numberedFlat(number, 300_000 - 1_000 * cut, crawledAt));
        }
      }
    });
    await Promise.all(shares);
  }
  return { cleanup, servers, receiver, database, start, save, publish };
}
