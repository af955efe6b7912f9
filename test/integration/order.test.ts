/**
 * Webhooks of a match in the order in which things happened, through the running daemon: what is published together, in
 * a row, in a flood or while a daemon dies is received in the order of `Vigie-Sequence`, each after the one before it was
 * answered.
 */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { countOpen } from '../support/courier.ts';
import { createApiKey, type Daemon, type Settings, startDaemon } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { auditDeliveries } from '../support/delivery-auditor.ts';
import { connectCrawler, numberedUuid, upsert } from '../support/intake.ts';
import { noteParkings, readParkings } from '../support/order-auditor.ts';
import { restClient } from '../support/rest-client.ts';
import { startTestServers } from '../support/servers.ts';
import { until } from '../support/until.ts';
import { type ReceivedPost, startWebhookReceiver } from '../support/webhook-receiver.ts';

const PROPERTIES = 100;
const CUTS = 5;

async function openScene(t: TestContext) {
  const closers: (() => Promise<unknown>)[] = [];
  t.after(async () => {
    for (const close of closers.reverse()) await close();
  });
  const cleanup = { after: (work: () => Promise<unknown>) => void closers.push(work) };
  const servers = await startTestServers(cleanup);
  const receiver = await startWebhookReceiver(cleanup);
  const database = connectDatabase(cleanup, servers.postgres.url);
  // No attempt may run out of time on a busy machine: the next one would go, and rightly so.
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

  /** Each property with `cuts` price cuts, as fast as the stream takes them. */
  async function publish(properties: number, cuts: number): Promise<void> {
    const crawlers = await Promise.all(Array.from({ length: 8 }, () => connectCrawler(cleanup, servers.nats.url)));
    const shares = crawlers.map(async (crawler, share) => {
      for (let number = share; number < properties; number += crawlers.length) {
        const ids = { property: numberedUuid('property', number), advert: numberedUuid('advert', number) };
        for (let cut = 0; cut <= cuts; cut++) {
          const crawledAt = new Date(Date.UTC(2026, 2, 10, 8, 0, cut)).toISOString();
          await crawler.publish(upsert({ ...ids, crawledAt, price: 300_000 - 1_000 * cut }));
        }
      }
    });
    await Promise.all(shares);
  }

  const untilAllDelivered = async (count: number): Promise<void> => {
    await until(
      async () => (await database.query(`select count(*)::integer as count from deliveries`)).rows[0].count,
      (recorded) => recorded >= count,
    );
    await until(
      () => countOpen(database),
      (open) => open === 0,
    );
  };
  return { servers, receiver, database, start, save, publish, untilAllDelivered };
}

/** First posts of each match by their arrival. */
function firstPosts(posts: readonly ReceivedPost[]): Map<string, ReceivedPost[]> {
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

function assertOrdered(posts: readonly ReceivedPost[], perMatch: number): void {
  const numbers = Array.from({ length: perMatch }, (_, position) => position + 1);
  for (const [match, told] of firstPosts(posts)) {
    assert.deepEqual(told.map(sequenceOf), numbers, match);
    assert.deepEqual(
      told.map(({ id }) => id).toSorted(),
      told.map(({ id }) => id),
      'webhook-ids ascend',
    );
    for (const [position, post] of told.entries()) {
      const before = told[position - 1];
      if (before !== undefined) assert.ok(post.receivedAt > (before.answeredAt ?? Number.POSITIVE_INFINITY), match);
    }
  }
}

for (const [endpoints, paths] of [
  ['one endpoint', { matches: '/all', events: '/all' }],
  ['two endpoints', { matches: '/matches', events: '/events' }],
] as const) {
  test(`a match and price cuts that are published together arrive in their order, at ${endpoints}`, async (t) => {
    const { receiver, start, save, publish, untilAllDelivered } = await openScene(t);
    const daemon = await start();
    await save([daemon], paths);
    await publish(PROPERTIES, CUTS);
    await untilAllDelivered(PROPERTIES * (CUTS + 1));
    assert.equal(receiver.posts.length, PROPERTIES * (CUTS + 1));
    assert.equal(firstPosts(receiver.posts).size, PROPERTIES);
    assertOrdered(receiver.posts, CUTS + 1);
    assert.equal(await daemon.end('SIGTERM'), 0);
  });
}

test('a daemon that is killed again and again keeps the order', async (t) => {
  const { receiver, database, start, save, publish, untilAllDelivered } = await openScene(t);
  const dying = { VIGIE_ATTEMPT_TIMEOUT_MS: '1000', VIGIE_RETRY_DELAY_MS: '1000' };
  let daemon = await start(dying);
  await save([daemon], { matches: '/matches', events: '/events' });
  await noteParkings(database);
  const published = publish(PROPERTIES, CUTS);
  for (const share of [1 / 6, 1 / 3, 1 / 2]) {
    await receiver.until((posts) => posts.length > share * PROPERTIES * CUTS);
    await daemon.end('SIGKILL');
    daemon = await start(dying);
  }
  await published;
  await untilAllDelivered(PROPERTIES * (CUTS + 1));
  assert.equal(await daemon.end('SIGTERM'), 0);
  const faults = await auditDeliveries({
    database,
    posts: receiver.posts,
    retryDelayMs: 1_000,
    expected: Array.from(firstPosts(receiver.posts).values()).flatMap((told) => told.map(({ path }) => path)),
    keyOf: ({ endpoint }) => new URL(endpoint).pathname,
    order: { parkedIds: await readParkings(database) },
  });
  assert.deepEqual(faults, []);
});

test('two instances share the deliveries of a match and keep its order', async (t) => {
  const { receiver, start, save, publish, untilAllDelivered } = await openScene(t);
  const daemons = [await start(), await start()];
  await save(daemons, { matches: '/matches', events: '/events' });
  await publish(PROPERTIES, CUTS);
  await untilAllDelivered(PROPERTIES * (CUTS + 1));
  assertOrdered(receiver.posts, CUTS + 1);
  for (const daemon of daemons) assert.equal(await daemon.end('SIGTERM'), 0);
});
