/** Matches and price cuts, published as fast as the stream accepts them, and checks of the order of their webhooks. */

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { countOpen } from './courier.ts';
import { createApiKey, type Daemon, type Settings, startDaemon } from './daemon.ts';
import { connectDatabase } from './database.ts';
import { connectCrawler, numberedFlat } from './intake.ts';
import { valuesOf } from './lists.ts';
import { restClient } from './rest-client.ts';
import { lastFirst, startTestServers } from './servers.ts';
import { RECOVERY_MAX_MS, until, untilIs } from './until.ts';
import { type ReceivedPost, startWebhookReceiver } from './webhook-receiver.ts';

/** A search that is notified of every match and price, and a receiver that notes when it has answered. */
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
    for (const { operationsUrl } of daemons) {
      await until(
        async () => await (await fetch(`${operationsUrl}/metrics`)).text(),
        (metrics) => metrics.includes('\nvigie_searches 1\n'),
      );
    }
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

  const untilAllDelivered = async (count: number): Promise<void> => {
    await until(
      async () => (await database.query(`select count(*)::integer as count from delivery_states`)).rows[0].count,
      (recorded) => recorded >= count,
      RECOVERY_MAX_MS,
    );
    await untilIs(() => countOpen(database), 0, RECOVERY_MAX_MS);
  };
  return { cleanup, servers, receiver, database, start, save, publish, untilAllDelivered };
}

/** The first post of each delivery, by match, in order of arrival. */
export function firstPosts(posts: readonly ReceivedPost[]): Map<string, ReceivedPost[]> {
  const seen = new Set<string>();
  const byMatch = new Map<string, ReceivedPost[]>();
  for (const post of posts) {
    if (seen.has(post.id)) continue;
    seen.add(post.id);
    const match = JSON.parse(post.body.toString()).match['@id'];
    byMatch.set(match, [...(byMatch.get(match) ?? []), post]);
  }
  return byMatch;
}

const sequenceOf = ({ headers }: ReceivedPost): number => Number(headers['vigie-sequence']);

/** Asserts `perMatch` posts for each match, numbered from 1, each received after the previous one was answered. */
export function assertOrdered(posts: readonly ReceivedPost[], perMatch: number): void {
  const numbers = Array.from({ length: perMatch }, (_, position) => position + 1);
  for (const [match, told] of firstPosts(posts)) {
    assert.deepEqual(told.map(sequenceOf), numbers, match);
    assert.deepEqual(told.map(({ id }) => id).toSorted(), valuesOf(told, 'id'), 'webhook-ids ascend');
    for (const [position, post] of told.entries()) {
      const before = told[position - 1];
      if (before !== undefined) assert.ok(post.receivedAt > (before.answeredAt ?? Number.POSITIVE_INFINITY), match);
    }
  }
}
