/** A match has a row once it has been notified (decisions, section 3). Other pairs have none. */

import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { randomUuid, type Uuid } from '../../src/engine/domain/ids.ts';
import { upsertAt } from '../support/adverts.ts';
import { valuesOf } from '../support/lists.ts';
import { startRecordedApi } from '../support/recorded-api.ts';

let minutes = 0;
const { api, scene, createSearch } = await startRecordedApi({ after });
const search = (members: object) => createSearch({ withCoherentPrice: null, ...members });

const priced = (property: Uuid, price: number) =>
  upsertAt((minutes += 1), { propertyUuid: property, advertUuid: property, advert: { price, surface: 50 } });

/** Records one price of the property after the other. */
async function price(property: Uuid, ...prices: readonly number[]): Promise<void> {
  for (const each of prices) await scene.record([priced(property, each)]);
}

async function matchesOf(property: Uuid): Promise<readonly Record<string, unknown>[]> {
  const { rows } = await api.database.query(
    `select '/searches/' || s.id as search, has_begun, channel, cause, last_sequence, search_version = version as is_present
     from matches join searches s on s.number = search_number where property_uuid = $1 order by s.number`,
    [property],
  );
  return rows;
}

const EVENTS = { notificationEnabled: true, subscribedEvents: ['ad.update.price'] };

it('nothing is stored for a pair without notifications', async () => {
  const property = randomUuid();
  await search({ budgetMax: 150_000 });
  await search({ budgetMax: 150_000, ...EVENTS, notificationEnabled: false });
  await price(property, 200_000, 100_000, 120_000, 200_000, 100_000);
  assert.deepEqual(await matchesOf(property), []);
});

it('a match keeps its cause, and not its later notifications', async () => {
  const property = randomUuid();
  const notified = await search({ budgetMax: 150_000, ...EVENTS });
  await price(property, 200_000, 100_000, 120_000);
  const [match, ...others] = await matchesOf(property);
  const update = { kind: 'property.ad.update', advert: property };
  const fell = { kind: 'ad.update.price', advert: property, field: 'price', was: '200000', is: '100000' };
  assert.deepEqual(
    [match, others],
    [
      {
        search: notified,
        ...{ has_begun: true, channel: 'match', last_sequence: 3, is_present: true },
        cause: [fell, update],
      },
      [],
    ],
  );
});

it('if notifications changed since the matcher read the search, a match is recorded only if they are on', async () => {
  const property = randomUuid();
  const [on, off] = [await search({ ...EVENTS, notificationEnabled: false }), await search(EVENTS)];
  await scene.matcher.refresh();
  await api.call('PUT', on, { notificationEnabled: true });
  await api.call('PUT', off, { notificationEnabled: false });
  await scene.recordForKnown([priced(property, 100_000)]);
  const notified = (await matchesOf(property)).map(({ search }) => search);
  assert.deepEqual([notified.includes(on), notified.includes(off)], [true, false]);
  // Otherwise these searches would receive all later notifications.
  for (const each of [on, off]) await api.call('DELETE', each);
});

it('the match of a property that satisfied the search when notifications were switched on starts only when the property satisfies it again', async () => {
  const property = randomUuid();
  const silent = await search({ budgetMax: 150_000, ...EVENTS, notificationEnabled: false });
  await price(property, 100_000);
  assert.equal((await api.call('PUT', silent, { notificationEnabled: true })).status, 200);
  const own = async () => (await matchesOf(property)).filter(({ search }) => search === silent);
  await price(property, 110_000);
  const [standing] = await own();
  assert.deepEqual([standing?.has_begun, standing?.channel, standing?.last_sequence], [false, 'event', 1]);
  const listed = async () => (await api.call('GET', `${silent}/matches`)).body['hydra:member'];
  const [first] = await listed();
  await price(property, 200_000, 90_000);
  const [begun, ...others] = await own();
  assert.deepEqual([begun?.has_begun, begun?.channel, others], [true, 'match', []]);
  assert.deepEqual((begun?.cause as object[] | undefined)?.[0], {
    ...{ kind: 'ad.update.price', advert: property, field: 'price', was: '200000', is: '90000' },
  });
  const [again, ...more] = await listed();
  assert.deepEqual([again['@id'], more], [first['@id'], []], 'it is the same match');
  assert.ok(again.createdAt > first.createdAt);
  await price(property, 200_000, 80_000);
  assert.equal((await listed())[0].createdAt, again.createdAt, 'only the first start is recorded');
  const items = await api.database.query(
    `select channel from feed_items join searches on number = search_number where searches.id = $1 order by feed_items.id`,
    [silent.slice('/searches/'.length)],
  );
  const channels = ['event', 'event', 'match', 'event', 'event', 'event'];
  assert.deepEqual(valuesOf(items.rows, 'channel'), channels);
});
