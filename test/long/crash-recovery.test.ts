/**
 * The daemon is killed without warning, ten times, while crawlers publish and endpoints receive. Nothing expected may be
 * missing in the end, and nothing that was recorded as delivered may come again.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '../../bench/adverts/seeded-random.ts';
import { createApiKey, type Daemon, startDaemon } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { connectCrawler, numberedUuid, upsert } from '../support/intake.ts';
import { restClient } from '../support/rest-client.ts';
import { startTestServers } from '../support/servers.ts';
import { RECOVERY_MAX_MS, until } from '../support/until.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const SEED = 20_261_121;
const KILLS = 10;
const PROPERTIES = 600;
const BUDGET_MAX = 300_000;
/** Short, so that what a crash interrupts is due again soon, and long enough that no attempt fails by itself six times. */
const SETTINGS = { VIGIE_RETRY_DELAY_MS: '1000', VIGIE_ATTEMPT_TIMEOUT_MS: '10000' };

test('after ten kills at random moments every match and event has arrived, none after it was recorded', async (t) => {
  const random = createRandom(SEED);
  const servers = await startTestServers(t);
  const receiver = await startWebhookReceiver(t);
  let daemon: Daemon = await startDaemon(t, servers, SETTINGS);
  const rest = restClient(daemon, await createApiKey(servers));
  const common = { notificationEnabled: true, withCoherentPrice: null };
  await rest.createSearch({ ...common, title: 'all', endpointRecipient: receiver.urlOf('/all') });
  await rest.createSearch({
    ...common,
    title: 'budget',
    budgetMax: BUDGET_MAX,
    endpointRecipient: receiver.urlOf('/budget'),
    eventEndpoint: receiver.urlOf('/price'),
    subscribedEvents: ['ad.update.price'],
  });

  const { messages, expected } = priceHistories(random);
  const crawler = await connectCrawler(t, servers.nats.url);
  const published = crawler.publish(...messages);
  let received = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    const enough = received + random.integer(1, Math.floor(expected.size / KILLS));
    await Promise.race([
      receiver.until((posts) => posts.length >= enough, RECOVERY_MAX_MS),
      published.then(() => undefined),
    ]);
    await daemon.end('SIGKILL');
    received = receiver.posts.length;
    daemon = await startDaemon(t, servers, SETTINGS);
  }
  await published;

  const database = connectDatabase(t, servers.postgres.url);
  const countOf = async (sql: string): Promise<number> => Number((await database.query(sql)).rows[0].count);
  await until(
    () => countOf('select count(*) from delivery_states'),
    (count) => count >= expected.size,
    RECOVERY_MAX_MS,
  );
  await until(
    () => countOf(`select count(*) from delivery_states where state not in ('delivered', 'failed')`),
    (open) => open === 0,
    RECOVERY_MAX_MS,
  );

  const deliveries = await database.query(`
    select id, state, (select coalesce(max(number), 0) from attempts where delivery_id = id and error is null) as success,
      (select count(*)::int from attempts where delivery_id = id) as attempts
    from delivery_states`);
  assert.equal(deliveries.rows.length, expected.size);
  for (const { id, state, success, attempts } of deliveries.rows) {
    assert.equal(state, 'delivered');
    assert.equal(success, attempts, `delivery ${id} was attempted again after it was recorded as delivered`);
    assert.ok(receiver.postsOf(id).length <= attempts, `delivery ${id} was sent more often than attempts were counted`);
  }
  const arrived = new Set(receiver.posts.map(({ path, body }) => describe(path, body)));
  assert.deepEqual([...arrived].sort(), [...expected].sort());
  assert.equal(await daemon.end('SIGTERM'), 0);
});

/** Each property appears and then changes its price three times; a naive reading says what must be heard of it. */
function priceHistories(random: ReturnType<typeof createRandom>) {
  const messages: unknown[] = [];
  const expected = new Set<string>();
  const prices = new Map<number, number>();
  const within = new Set<number>();
  for (let round = 0; round < 4; round++) {
    for (let number = 0; number < PROPERTIES; number++) {
      const property = numberedUuid('property', number);
      const price = 1_000 * random.integer(100, 500);
      const before = prices.get(number);
      const crawledAt = new Date(Date.UTC(2026, 2, 10, 8, round)).toISOString();
      messages.push(upsert({ property, advert: numberedUuid('advert', number), crawledAt, price }));
      prices.set(number, price);
      if (before === undefined) expected.add(`/all ${property}`);
      if (price <= BUDGET_MAX && !within.has(number)) {
        within.add(number);
        expected.add(`/budget ${property}`);
      }
      const isHeard = price <= BUDGET_MAX || (before ?? Number.POSITIVE_INFINITY) <= BUDGET_MAX;
      if (before !== undefined && before !== price && isHeard) {
        expected.add(`/price ${property} ${before} ${price} ${crawledAt}`);
      }
    }
  }
  return { messages, expected };
}

function describe(path: string, body: Buffer): string {
  const { adEvent, match } = JSON.parse(body.toString());
  const { uuid } = match.propertyDocument;
  if (path !== '/price') return `${path} ${uuid}`;
  return `${path} ${uuid} ${adEvent.fieldOldValue} ${adEvent.fieldNewValue} ${adEvent.createdAt}`;
}
