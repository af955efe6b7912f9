/**
 * Numbers of webhooks after a disaster: a database that is an older state of itself numbers on far above what it may have
 * told and forgotten, wherever it lies; one that only crashed counts on by one.
 */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { countOpen } from '../support/courier.ts';
import { createApiKey, type Daemon, startDaemon } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { copyDatabase, restoreDatabase } from '../support/database-copy.ts';
import { connectCrawler, numberedUuid, upsert } from '../support/intake.ts';
import { auditNumbers } from '../support/order-auditor.ts';
import { restClient } from '../support/rest-client.ts';
import { lastFirst, startTestNats, startTestPostgres } from '../support/servers.ts';
import { RECOVERY_MAX_MS, until } from '../support/until.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const PROPERTIES = 5;
/** On a busy machine an attempt may fail: it comes again at once, and after those that were told meanwhile. */
const SETTINGS = { VIGIE_RETRY_DELAY_MS: '1000' };

async function openScene(t: TestContext) {
  const cleanup = lastFirst(t);
  const postgres = await startTestPostgres(cleanup);
  const nats = await startTestNats(cleanup);
  const receiver = await startWebhookReceiver(cleanup);
  const start = (on = postgres) => startDaemon(cleanup, { postgres: on, nats }, SETTINGS);
  let cuts = 0;

  async function save(daemon: Daemon): Promise<void> {
    await restClient(daemon, await createApiKey({ postgres, nats })).createSearch({
      title: 'Toulon',
      notificationEnabled: true,
      withCoherentPrice: null,
      eventEndpoint: receiver.urlOf('/events'),
      subscribedEvents: ['ad.update.price'],
    });
    await until(
      async () => await (await fetch(`${daemon.operationsUrl}/metrics`)).text(),
      (metrics) => metrics.includes('\nvigie_searches 1\n'),
    );
  }

  /** Resolves when all that `on` knows is told: `count` rounds, another price in each. */
  async function tell(count: number, on = postgres): Promise<void> {
    const crawler = await connectCrawler(cleanup, nats.url);
    for (let round = 0; round < count; round++, cuts++) {
      for (let number = 0; number < PROPERTIES; number++) {
        const ids = { property: numberedUuid('property', number), advert: numberedUuid('advert', number) };
        const crawledAt = new Date(Date.UTC(2026, 2, 10, 8, cuts)).toISOString();
        await crawler.publish(upsert({ ...ids, crawledAt, price: 300_000 - 1_000 * cuts }));
      }
    }
    const newest = `"${300_000 - 1_000 * (cuts - 1)}"`;
    // One may come twice, when its answer was not heard in time.
    await receiver.until((posts) => {
      const told = posts.filter(({ body }) => body.includes(newest)).map(({ headers }) => headers['webhook-id']);
      return new Set(told).size >= PROPERTIES;
    }, RECOVERY_MAX_MS);
    const database = connectDatabase(cleanup, on.url);
    await until(
      () => countOpen(database),
      (open) => open === 0,
      RECOVERY_MAX_MS,
    );
  }

  /** Numbers by match, without those of the first `skipped` posts. Number 1 is the match, which has no endpoint. */
  function numbersSince(skipped: number): readonly (readonly number[])[] {
    const byMatch = new Map<string, Set<number>>();
    for (const { headers, body } of receiver.posts.slice(skipped)) {
      const match = JSON.parse(body.toString()).match['@id'];
      byMatch.set(match, (byMatch.get(match) ?? new Set()).add(Number(headers['vigie-sequence'])));
    }
    return [...byMatch.values()].map((numbers) => [...numbers].sort((a, b) => a - b));
  }
  return { cleanup, postgres, receiver, start, save, tell, numbersSince };
}

for (const where of ['another cluster', 'its own place'] as const) {
  test(`a database restored to an older state, in ${where}, numbers on a million above`, async (t) => {
    const { cleanup, postgres, receiver, start, save, tell, numbersSince } = await openScene(t);
    const first = await start();
    await save(first);
    await tell(3);
    // The intake position is written once a second; a copy in its order is what an operator has.
    assert.equal(await first.end('SIGTERM'), 0);
    const copy = await copyDatabase(postgres.url);
    const second = await start();
    await tell(2);
    assert.deepEqual(
      numbersSince(0),
      Array.from({ length: PROPERTIES }, () => [2, 3, 4, 5]),
    );
    assert.equal(await second.end('SIGTERM'), 0);
    const toldBefore = receiver.posts.length;

    const target = where === 'its own place' ? postgres : await startTestPostgres(cleanup);
    const restore = async (): Promise<void> => {
      await restoreDatabase(target, copy);
      // All clusters of the tests are copies of one, and have its identity.
      if (target === postgres) return;
      const database = connectDatabase(cleanup, target.url);
      await database.query(`update intake_position set database_identity = 'the first'`);
    };
    await restore();
    const third = await start(target);
    await tell(1, target);
    assert.ok(third.log.some(({ message }) => String(message).includes('numbered on far above')));
    const numbers = numbersSince(toldBefore);
    assert.equal(numbers.length, PROPERTIES);
    for (const [firstNumber = 0, ...others] of numbers) {
      assert.ok(firstNumber > 1_000_000, `${firstNumber}`);
      assert.deepEqual(others, [firstNumber + 1, firstNumber + 2], 'forgotten ones are told again, and the new one');
    }
    assert.deepEqual(auditNumbers(receiver.posts), []);
    assert.equal(await third.end('SIGTERM'), 0);

    // The same copy once more: what was told after the first restoration is forgotten as well.
    await restore();
    const fourth = await start(target);
    await tell(1, target);
    assert.deepEqual(auditNumbers(receiver.posts), []);
    assert.equal(await fourth.end('SIGTERM'), 0);
  });
}
