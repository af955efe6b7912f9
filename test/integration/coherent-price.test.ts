/**
 * `withCoherentPrice`: alerts, previews, lists and explanations read the stored medians, which PostgreSQL computes, and
 * agree at the limit to the last digit.
 */

import assert from 'node:assert/strict';
import { after, describe, it, test } from 'node:test';
import { createRandom } from '../../bench/adverts/seeded-random.ts';
import { satisfies } from '../../src/engine/domain/criteria.ts';
import { randomUuid, type Uuid } from '../../src/engine/domain/ids.ts';
import type { IntakeMessage } from '../../src/engine/domain/intake-message.ts';
import { MARKET_SIZE_MIN, type Market } from '../../src/engine/domain/price-coherence.ts';
import { factsOf } from '../../src/engine/domain/property-summary.ts';
import { criteriaOf, SEARCH_DEFAULTS } from '../../src/engine/domain/search.ts';
import { followMedians } from '../../src/engine/store/market-medians.ts';
import { recentFlat } from '../support/adverts.ts';
import { createApiKey } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { connectCrawler, numberedFlat, numberedUuid } from '../support/intake.ts';
import { knownProperties } from '../support/question-scene.ts';
import { startRecordedApi } from '../support/recorded-api.ts';
import { restClient } from '../support/rest-client.ts';
import { startTestServers } from '../support/servers.ts';
import { startHere } from '../support/service.ts';
import { until, untilIs } from '../support/until.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const VAR: Market = { departmentCode: '83', transactionType: 0, isLand: false };
const NEAR_THE_BORDER = 20_000;

interface Home {
  readonly property: Uuid;
  readonly insee: string;
  readonly price: number;
  readonly surface: number;
}

const [TOULON, FREJUS] = ['83137', '83061'];

function messageOf({ property, insee, price, surface }: Home): IntakeMessage {
  return recentFlat(property, property, { price, surface }, insee);
}

const random = createRandom(20_261_127);

function homes(count: number, insee: string, priceOf: (surface: number) => number): readonly Home[] {
  return Array.from({ length: count }, () => {
    const surface = random.integer(200, 15_000) / 100;
    return { property: randomUuid(), insee, surface, price: priceOf(surface) };
  });
}

/** Computes the median by sorting, independently of PostgreSQL. */
function medianOf(prices: readonly number[]): number {
  const sorted = prices.toSorted((a, b) => a - b);
  const half = sorted.length / 2;
  return ((sorted[Math.ceil(half) - 1] as number) + (sorted[Math.floor(half)] as number)) / 2;
}

const quotient = ({ price, surface }: Home): number => price / surface;

const { api, scene, createSearch, matched: matchedBy } = await startRecordedApi({ after });

const SEARCH = { title: 'coherent', includedCities: ['/cities/83137'], withCoherentPrice: true };

async function explanationOf(search: string, { property }: Home) {
  const { body } = await api.call('GET', `${search}/explanation?property=${property}`);
  const { satisfied, matchReasons } = body as {
    readonly satisfied: boolean;
    readonly matchReasons: readonly { readonly code: string; readonly at: string | null }[];
  };
  const reasons = Object.fromEntries(matchReasons.map(({ code, at }) => [code, at]));
  return { satisfied, codes: matchReasons.map(({ code }) => code), movedAt: reasons['median-moved'] ?? null };
}

describe('the median of a market', () => {
  let search = '';
  let median = 0;
  let near: readonly Home[] = [];
  let alerted: ReadonlySet<string> = new Set();
  const matched = () => matchedBy(search);

  it('is absent below fifty prices, and is otherwise the middle of all prices when it is computed', async () => {
    const prices = homes(MARKET_SIZE_MIN, FREJUS, (surface) => Math.round(surface * random.integer(2_000, 4_000)));
    await scene.record(prices.slice(1).map(messageOf));
    assert.equal((await scene.computeMedians()).median(VAR), null);
    const stored = followMedians(api.database);
    await scene.record(prices.slice(0, 1).map(messageOf));
    assert.equal((await stored.renew()).median(VAR), null);
    await scene.computeMedians();
    median = (await stored.renew()).median(VAR) ?? 0;
    const expected = medianOf(prices.map(quotient));
    assert.ok(Math.abs(median / expected - 1) < 1e-15, `${median} is not ${expected}`);
    for (const other of [{ transactionType: 1 }, { isLand: true }, { departmentCode: '13' }]) {
      assert.equal(stored.current.median({ ...VAR, ...other }), null);
    }
    // Properties recorded within seconds of the computation may have used the median before it.
    await api.database.query(
      `update market_medians set changed_at = changed_at - interval '1 minute', revision = revision + 1`,
    );
  });

  it('decides equally about twenty thousand prices near the limit in alerts, lists, previews and explanations', async () => {
    const endpointRecipient = 'https://hooks.example.com/';
    search = await createSearch({ ...SEARCH, notificationEnabled: true, endpointRecipient });
    near = homes(NEAR_THE_BORDER, TOULON, (surface) => {
      const border = median * surface * random.pick([5, 0.2]);
      return random.pick([border, Math.round(border * 100) / 100 + random.pick([-1, -0.01, 0, 0.01, 1])]);
    });
    await scene.record(near.map(messageOf));
    alerted = await matched();
    const isCoherent = (home: Home): boolean => Math.max(quotient(home) / median, median / quotient(home)) < 5 + 1e-11;
    const inside = near.filter(isCoherent);
    assert.ok(inside.length > NEAR_THE_BORDER / 2 && inside.length < (NEAR_THE_BORDER * 9) / 10, `${inside.length}`);
    const insideUuids = new Set<string>(inside.map(({ property }) => property));
    assert.deepEqual(alerted, insideUuids);

    const stored = await followMedians(api.database).renew();
    const criteria = criteriaOf({ ...SEARCH_DEFAULTS, title: '', includedInseeCodes: [TOULON] }, () => null);
    const known = await knownProperties(api.database, api.reference.resolvePlace, stored);
    const explained = known.filter(({ facts }) => satisfies(criteria, facts)).map(({ uuid }) => uuid);
    const listed = known.filter(({ summary }) => satisfies(criteria, factsOf(summary, stored))).map(({ uuid }) => uuid);
    assert.deepEqual(new Set(explained), alerted);
    assert.deepEqual(new Set(listed), alerted);
    const preview = await api.call('POST', '/searches/preview', SEARCH);
    assert.equal(preview.body.satisfiedNow, alerted.size);
    for (const home of near.slice(-200)) {
      const { satisfied, movedAt } = await explanationOf(search, home);
      assert.deepEqual([satisfied, movedAt], [alerted.has(home.property), null], home.property);
    }
  });

  it('changes when it is computed, and explanations state the time', async () => {
    const dear = near.filter((home) => quotient(home) > median);
    const left = dear.find(({ property }) => alerted.has(property)) as Home;
    const missed = near.find((home) => quotient(home) < median && !alerted.has(home.property)) as Home;
    const untouched = await explanationOf(search, left);
    assert.deepEqual([untouched.satisfied, untouched.movedAt], [true, null]);
    // More cheap properties lower the median: none of them is too cheap, but some expensive ones are now too expensive.
    await scene.record(homes(NEAR_THE_BORDER / 10, FREJUS, (surface) => surface * 150).map(messageOf));
    const since = Date.now();
    const moved = (await scene.computeMedians()).median(VAR) as number;
    assert.ok(moved < median);
    const [ofLeft, ofMissed] = [await explanationOf(search, left), await explanationOf(search, missed)];
    assert.deepEqual([ofLeft.satisfied, ofMissed.satisfied], [false, true]);
    assert.ok(ofLeft.codes.includes('price-incoherent') && ofMissed.codes.includes('not-notified'));
    for (const { movedAt } of [ofLeft, ofMissed]) {
      assert.ok(movedAt !== null && Math.abs(Date.parse(movedAt) - since) < 60_000, `${movedAt}`);
    }
  });

  it('is the same before and after a change, so a property that only a new median makes coherent starts no match', async () => {
    const before = await matched();
    const missed = near.find((home) => quotient(home) < median && !before.has(home.property)) as Home;
    await scene.record([messageOf({ ...missed, price: missed.price + 1 })]);
    assert.deepEqual(await matched(), before);
    await scene.record([messageOf({ ...missed, price: missed.surface * 99 })]);
    await scene.record([messageOf(missed)]);
    assert.deepEqual(await matched(), new Set([...before, missed.property]));
  });
});

test('the median of a new market is computed during intake, and the next leader starts with it', async (t) => {
  const servers = await startTestServers(t);
  const database = connectDatabase(t, servers.postgres.url);
  const crawler = await connectCrawler(t, servers.nats.url);
  const publish = (number: number, price: number) => crawler.publish(numberedFlat(number, price));
  const receiver = await startWebhookReceiver(t);
  const first = await startHere(t, servers);
  const client = restClient(first, await createApiKey(servers));
  const search = { title: 'coherent', notificationEnabled: true, endpointRecipient: receiver.urlOf('/matches') };
  await client.createSearch({ ...search, withCoherentPrice: true });
  await Promise.all(Array.from({ length: MARKET_SIZE_MIN }, (_, number) => publish(number, 150_000)));
  await untilIs(
    async () => (await database.query<{ median: number }>('select median from market_medians')).rows[0]?.median,
    3_000,
  );
  assert.equal(await first.end('SIGTERM'), 0);
  const [dear, fair] = [MARKET_SIZE_MIN, MARKET_SIZE_MIN + 1];
  await publish(dear, 750_001);
  await publish(fair, 750_000);
  await startHere(t, servers);
  const matches = () => database.query<{ uuid: string }>('select property_uuid as uuid from matches');
  const uuids = await until(
    async () => (await matches()).rows.map(({ uuid }) => uuid),
    (each) => each.includes(numberedUuid('property', fair)),
  );
  assert.ok(!uuids.includes(numberedUuid('property', dear)));
});
