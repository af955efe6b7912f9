/** A median judges by what precedes a change in the stream, however batches fall: the fiftieth known price decides. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '../../src/cli/demo/seeded-random.ts';
import { isPriceCoherent, MARKET_SIZE_MIN } from '../../src/engine/domain/price-coherence.ts';
import { createApiKey } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { connectCrawler, numberedUuid, upsert } from '../support/intake.ts';
import { restClient } from '../support/rest-client.ts';
import { startTestServers } from '../support/servers.ts';
import { startHere } from '../support/service.ts';
import { until } from '../support/until.ts';

const SURFACE = 50;
const PER_MARKET = MARKET_SIZE_MIN + 10;
/** Markets that fill up together, and how often. */
const [TOGETHER, ROUNDS] = [6, 9];
const OUTLIERS = 0.3;

/** Of département `code`, which is a market of its own: prices of about 3,000 €/m², and some of twenty times that. */
function marketOf(code: string, random: ReturnType<typeof createRandom>) {
  return Array.from({ length: PER_MARKET }, () => {
    const price = random.integer(100_000, 200_000) * (random.chance(OUTLIERS) ? 20 : 1);
    return { code, price };
  });
}

function medianOf(prices: readonly number[]): number | null {
  if (prices.length < MARKET_SIZE_MIN) return null;
  const sorted = prices.toSorted((a, b) => a - b);
  const half = sorted.length / 2;
  return ((sorted[Math.floor(half - 0.5)] as number) + (sorted[Math.floor(half)] as number)) / 2;
}

test('the price that comes after the fiftieth is judged by fifty, in many markets at once', async (t) => {
  const servers = await startTestServers(t);
  const daemon = await startHere(t, servers);
  const database = connectDatabase(t, servers.postgres.url);
  const search = { title: 'coherent', notificationEnabled: true, endpointRecipient: 'https://hooks.example.com/' };
  await restClient(daemon, await createApiKey(servers)).createSearch({ ...search, withCoherentPrice: true });
  await until(
    async () => (await fetch(`${daemon.operationsUrl}/metrics`)).text(),
    (metrics) => metrics.includes('\nvigie_searches 1\n'),
  );

  const random = createRandom(20_261_124);
  const known = new Map<string, number[]>();
  const expected: string[] = [];
  const crawler = await connectCrawler(t, servers.nats.url);
  let number = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const codes = Array.from({ length: TOGETHER }, (_, at) => String(21 + round * TOGETHER + at));
    const messages = codes
      .flatMap((code) => marketOf(code, random))
      .map((each) => ({ each, order: random.uniform() }))
      .sort((a, b) => a.order - b.order)
      .map(({ each: { code, price } }) => {
        number += 1;
        const [property, advert] = [numberedUuid('property', number), numberedUuid('advert', number)];
        const prices = known.get(code) ?? [];
        const priced = { price, surface: SURFACE, departmentCode: code, transactionType: 0, propertyType: 0 };
        if (isPriceCoherent({ ...priced, landSurface: null }, medianOf(prices))) expected.push(property);
        known.set(code, [...prices, price / SURFACE]);
        const sent = upsert({ property, advert, crawledAt: '2026-03-10T08:00:00.000Z', price, surface: SURFACE });
        return { ...sent, property: { ...sent.property, city: { insee: `${code}001` } } };
      });
    await Promise.all(messages.map((message) => crawler.publish(message)));
  }
  await until(
    async () => (await database.query('select from properties')).rowCount,
    (count) => count === number,
  );
  const { rows } = await database.query<{ uuid: string }>('select property_uuid as uuid from matches');
  const [told, coherent] = [new Set(rows.map(({ uuid }) => uuid)), new Set(expected)];
  assert.ok(coherent.size < number);
  assert.deepEqual(
    {
      missing: expected.filter((uuid) => !told.has(uuid)),
      false: rows.filter(({ uuid }) => !coherent.has(uuid)),
    },
    { missing: [], false: [] },
  );
});
