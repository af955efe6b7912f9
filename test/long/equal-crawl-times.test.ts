/**
 * Messages of one advert with one `crawledAt`, and a daemon that is killed as soon as they are recorded: the next term
 * takes them in once more, and nobody hears of it.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '../../bench/adverts/seeded-random.ts';
import { loadReference } from '../../src/engine/reference/communes.ts';
import { createApiKey, startDaemon } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { connectCrawler, numberedUuid, upsert } from '../support/intake.ts';
import { auditRecords, replay } from '../support/replay-oracle.ts';
import { restClient } from '../support/rest-client.ts';
import { startTestServers } from '../support/servers.ts';
import { RECOVERY_MAX_MS, until } from '../support/until.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const SEED = 20_261_124;
const KILLS = 6;
const PROPERTIES = 8;
const MESSAGES = 40;
const AT = '2026-03-10T08:15:00.000Z';

const expire = (property: string, advert: string) => ({
  kind: 'expire',
  crawledAt: AT,
  property: { uuid: property },
  advert: { uuid: advert },
});

test('prices and expiries of one minute are told once, however often the daemon is killed after them', async (t) => {
  const random = createRandom(SEED);
  const servers = await startTestServers(t);
  const receiver = await startWebhookReceiver(t);
  const { resolvePlace } = await loadReference();
  let daemon = await startDaemon(t, servers);
  const members = {
    notificationEnabled: true,
    withCoherentPrice: null,
    eventEndpoint: receiver.urlOf('/events'),
    subscribedEvents: ['ad.update.price' as const, 'ad.update.expired' as const],
  };
  const { id } = await restClient(daemon, await createApiKey(servers)).createSearch({ title: 'all', ...members });
  const crawler = await connectCrawler(t, servers.nats.url);
  const database = connectDatabase(t, servers.postgres.url);
  const messages: ReturnType<typeof upsert | typeof expire>[] = [];
  const expected = () => replay(messages, [{ id, members }], resolvePlace);
  const countEvents = async () => Number((await database.query('select count(*) from events')).rows[0].count);
  const untilRecorded = async () => {
    const { length } = [...expected().events.values()].flat();
    await until(countEvents, (count) => count >= length, RECOVERY_MAX_MS);
    assert.deepEqual(await auditRecords(database, expected()), []);
  };
  for (let kill = 0; kill < KILLS; kill++) {
    const batch = Array.from({ length: MESSAGES }, () => {
      const number = random.integer(1, PROPERTIES);
      const [property, advert] = [
        numberedUuid('property', number),
        numberedUuid('advert', 2 * number + random.integer(0, 1)),
      ];
      if (random.integer(0, 4) === 0) return expire(property, advert);
      return upsert({ property, advert, crawledAt: AT, price: 10_000 * random.integer(24, 25) });
    });
    messages.push(...batch);
    await crawler.publish(...batch);
    await untilRecorded();
    await daemon.end('SIGKILL');
    daemon = await startDaemon(t, servers);
    // What the new term takes in again comes before this one.
    messages.push(
      upsert({
        property: numberedUuid('property', 100 + kill),
        advert: numberedUuid('advert', 1_000 + kill),
        crawledAt: AT,
        price: 1,
      }),
    );
    await crawler.publish(messages.at(-1));
    await untilRecorded();
  }
  assert.equal(await daemon.end('SIGTERM'), 0);
  await untilRecorded();
  const { deliveries } = expected();
  const { rows } = await database.query(`select count(*)::integer as count from deliveries`);
  assert.equal(rows[0].count, deliveries.length);
  assert.ok(deliveries.length > 100, `${deliveries.length} deliveries`);
});
