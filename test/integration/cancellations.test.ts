/**
 * Deleting a search or a client, or silencing a search, takes effect immediately, however many deliveries are open.
 * Open deliveries count as cancelled from the answer on; their rows are updated afterwards.
 */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { randomUuid, type Uuid } from '../../src/engine/domain/ids.ts';
import { SEARCH_DEFAULTS } from '../../src/engine/domain/search.ts';
import { startCancellations } from '../../src/engine/maintenance/cancellations.ts';
import {
  ClientUnknownError,
  createApiKey,
  createClient,
  deleteClient,
  listClients,
} from '../../src/engine/store/clients.ts';
import { listAdminDeliveries } from '../../src/engine/store/delivery-admin.ts';
import { claimDeliveries } from '../../src/engine/store/delivery-claims.ts';
import { ANY_DELIVERY, ANY_TIME } from '../../src/engine/store/delivery-filters.ts';
import { listDeliveries } from '../../src/engine/store/delivery-reads.ts';
import { resendDelivery } from '../../src/engine/store/resends.ts';
import { listSearches } from '../../src/engine/store/search-listing.ts';
import { createSearch, deleteSearch, updateSearch } from '../../src/engine/store/searches.ts';
import { countFitting } from '../../src/features/recoveries/recovery-steps.ts';
import { openTestDatabase } from '../support/database.ts';
import { valuesOf } from '../support/lists.ts';
import { ownDatabase } from '../support/own-database.ts';
import { putInState, registerHolder, seedDeliveries, seedSearch } from '../support/seeded-deliveries.ts';
import { lastFirst } from '../support/servers.ts';
import { until, untilIs } from '../support/until.ts';

const ENDPOINT = 'https://endpoint.example/hook';
const HOLDER = 1;
const ANY = {
  ...{ clientId: null, searchId: null, propertyUuid: null, endpointKey: null, state: null, kind: null, channel: null },
  ...{ from: null, before: null },
};

async function openScene(t: TestContext) {
  const cleanup = lastFirst(t);
  const database = openTestDatabase(cleanup, await ownDatabase(cleanup), 4, 'pipeline');
  await registerHolder(database, HOLDER);
  const search = await seedSearch(database);
  const { rows } = await database.query('select client_id from searches');
  const clientId: Uuid = rows[0].client_id;
  const seed = async (count: number) => {
    const { rows: present } = await database.query('select generation from searches where id = $1', [search.id]);
    return seedDeliveries(database, { ...search, ...present[0] }, Array<string>(count).fill(ENDPOINT));
  };
  const tell = (notificationEnabled: boolean) =>
    updateSearch(database, clientId, search.id, {
      merge: ({ members }) => ({ ...members, title: 'seeded', notificationEnabled }),
    });
  const statesRead = async () =>
    (await listAdminDeliveries(database, ANY, null, 100)).map(({ state }) => state).toSorted();
  const statesHeld = async () =>
    (await database.query('select state from delivery_states order by state')).rows.map(({ state }) => state);
  const startWork = () => {
    const work = startCancellations({
      database,
      onTransientError(what, error) {
        throw new Error(what, { cause: error });
      },
    });
    cleanup.after(() => work.stop());
  };
  return { database, search, clientId, seed, tell, statesRead, statesHeld, startWork };
}

test('open deliveries of a deleted search count as cancelled and are never claimed, even before their rows are updated', async (t) => {
  const { database, search, clientId, seed, statesRead, statesHeld } = await openScene(t);
  const [queued, waiting] = await seed(2);
  assert.ok(queued && waiting);
  await putInState(database, [waiting.id], 'retry_wait');
  assert.equal(await deleteSearch(database, clientId, search.id), true);
  assert.deepEqual(await statesRead(), ['cancelled', 'cancelled']);
  assert.deepEqual(await statesHeld(), ['queued', 'retry_wait']);
  assert.equal(await resendDelivery(database, clientId, queued.id), null, 'its search is deleted');
  const { claimed, refused } = await claimDeliveries(database, HOLDER, [queued.id, waiting.id], new Date());
  assert.deepEqual([claimed, [...refused]], [[], [[queued.id, 'cancelled']]]);
  assert.deepEqual(await statesHeld(), ['cancelled', 'retry_wait']);
});

test('deliveries that were open when a search was silenced stay cancelled when it is notified again', async (t) => {
  const { database, search, seed, tell, statesHeld, startWork } = await openScene(t);
  const [early] = await seed(1);
  await tell(false);
  await tell(true);
  const [late] = await seed(1);
  assert.ok(early && late);
  const page = { filter: ANY_DELIVERY, range: ANY_TIME, direction: 'desc', offset: 0, limit: 10 } as const;
  const target = { searchNumber: search.number, matchId: null, from: null, to: null };
  const { deliveries } = await listDeliveries(database, [target], page);
  assert.deepEqual(
    deliveries.map(({ id, state, finishedAt }) => [id, state, finishedAt !== null]),
    [
      [late.id, 'queued', false],
      [early.id, 'cancelled', true],
    ],
  );
  for (const state of ['cancelled', 'queued'] as const) {
    assert.equal((await listDeliveries(database, [target], { ...page, filter: { ...ANY_DELIVERY, state } })).total, 1);
  }
  startWork();
  await until(statesHeld, ([state]) => state === 'cancelled');
  const { claimed } = await claimDeliveries(database, HOLDER, [early.id, late.id], new Date());
  assert.deepEqual(valuesOf(claimed, 'id'), [late.id]);
});

test('rows are cancelled page by page, including those that a slow recorder commits late; then the mark is removed', async (t) => {
  const { database, search, seed, tell, statesHeld, startWork } = await openScene(t);
  await seed(2_500);
  const { rows } = await database.query('select id from deliveries limit 1');
  await putInState(database, [rows[0].id], 'failed');
  await tell(false);
  startWork();
  const left = async () => (await statesHeld()).filter((state) => state === 'queued').length;
  await untilIs(left, 0);
  await tell(true);
  // Simulates a transaction that ends only now, although the search was silenced a minute ago.
  await seedDeliveries(database, { ...search, generation: 0 }, [ENDPOINT]);
  await database.query(`update searches set silenced_at = clock_timestamp() - interval '61 seconds'`);
  const mark = async () => (await database.query('select silenced_at from searches')).rows[0].silenced_at;
  await untilIs(mark, null);
  assert.equal(await left(), 0);
  assert.equal((await statesHeld()).filter((state) => state === 'failed').length, 1);
  const { id, clientId, number: searchNumber } = search;
  const all = { id, clientId, searchNumber, endpoint: null, includesDelivered: false };
  const count = await countFitting(database, { ...all, since: new Date(0), until: new Date() });
  assert.equal(count, 1, 'a delivery that had failed before may be sent again');
});

test('no delivery is claimed after its search was silenced, even if the claim was in progress', async (t) => {
  const { database, clientId, search, seed, tell } = await openScene(t);
  const countClaimed = async () =>
    (await database.query('select from open_deliveries where claimed_by is not null')).rowCount;
  for (let round = 0; round < 30; round++) {
    const addresses = await seed(20);
    const claims = addresses.map(({ id }) => claimDeliveries(database, HOLDER, [id], new Date()));
    await tell(false);
    const claimedThen = await countClaimed();
    await Promise.all(claims);
    assert.equal(await countClaimed(), claimedThen, 'none was claimed after the answer');
    await tell(true);
    await database.query('truncate deliveries, open_deliveries, final_outcomes');
  }
  assert.equal(await deleteSearch(database, clientId, search.id), true);
});

test('no delivery of a deleted client is claimed, even while its searches still exist', async (t) => {
  const { database, clientId, seed, statesHeld } = await openScene(t);
  const [first, second] = await seed(2);
  const claim = (id: Uuid | undefined) => claimDeliveries(database, HOLDER, [id as Uuid], new Date());
  assert.equal((await claim(first?.id)).claimed.length, 1);
  assert.equal(await deleteClient(database, clientId), true);
  const { claimed, refused } = await claim(second?.id);
  assert.deepEqual([claimed, [...refused.values()]], [[], ['cancelled']]);
  assert.deepEqual(await statesHeld(), ['cancelled', 'sending']);
});

test('a client is deleted with its keys, its name and all its searches', async (t) => {
  const { database, startWork } = await openScene(t);
  const { id } = await createClient(database, { name: 'acme' });
  await createApiKey(database, id, 'default');
  for (let count = 0; count < 600; count++) await createSearch(database, id, { ...SEARCH_DEFAULTS, title: `${count}` });
  startWork();
  assert.equal(await deleteClient(database, id), true);
  assert.equal(await deleteClient(database, id), false);
  assert.equal(await deleteClient(database, randomUuid()), false);
  await assert.rejects(createApiKey(database, id, 'again'), ClientUnknownError);
  assert.deepEqual((await database.query('select from api_keys where revoked_at is null')).rowCount, 0);
  assert.equal(
    (await listClients(database)).some((client) => client.id === id),
    false,
  );
  await createClient(database, { name: 'acme' });
  const query = {
    title: null,
    notificationEnabled: null,
    order: 'creation',
    direction: 'asc',
    offset: 0,
    limit: 1,
  } as const;
  const total = async () => (await listSearches(database, id, query)).total;
  await untilIs(total, 0);
});
