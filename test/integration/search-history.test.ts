/** The history of a search: only its state before each change of its criteria or its notifications. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { sweep } from '../../src/engine/maintenance/retention.ts';
import { startTestApi } from '../support/api.ts';
import { lastFirst } from '../support/servers.ts';

const cleanup = lastFirst({ after });
const api = await startTestApi(cleanup);

async function create(members: object = {}): Promise<string> {
  return (await api.call('POST', '/searches', { title: 'x', ...members })).body['@id'];
}

async function change(search: string, members: object): Promise<void> {
  assert.equal((await api.call('PUT', search, members)).status, 200);
}

interface Change {
  readonly former: Readonly<Record<string, unknown>>;
  readonly isPresent: boolean;
}

/** Changes, oldest first. `isPresent`: the search still has the version that the change made. */
async function historyOf(search: string): Promise<readonly Change[]> {
  const { rows } = await api.database.query<Change>(
    `select former, c.version = s.version as "isPresent" from search_changes c join searches s on number = search_number
     where s.id = $1 order by c.id`,
    [search.split('/').at(-1)],
  );
  return rows;
}

test('criteria, endpoints and notifications are recorded as they were, with the next version', async () => {
  const search = await create({ budgetMax: 200_000, includedCities: ['/cities/83137'] });
  assert.deepEqual(await historyOf(search), []);
  await change(search, { budgetMax: 300_000, includedCities: [] });
  await change(search, { title: 'y', context: { mine: 1 } });
  await change(search, { budgetMax: 300_000 });
  await change(search, { endpointRecipient: 'https://example.com/a', notificationEnabled: true });
  await change(search, { notificationRecipient: 'buyer@example.com', subscribedEvents: ['ad.update.price'] });
  assert.deepEqual(await historyOf(search), [
    { former: { budgetMax: 200_000, includedCities: ['83137'] }, isPresent: false },
    { former: { notificationEnabled: false, endpointRecipient: null }, isPresent: false },
    { former: { subscribedEvents: [], hasNotificationRecipient: false }, isPresent: true },
  ]);
});

test('a version stays correct after other writes, and in a cluster whose transaction ids restart', async () => {
  const search = await create({ budgetMax: 1 });
  await change(search, { budgetMax: 2 });
  await change(search, { title: 'y' });
  await api.database.query(`update searches set revision = '1' where id = $1`, [search.split('/').at(-1)]);
  assert.deepEqual(await historyOf(search), [{ former: { budgetMax: 1 }, isPresent: true }]);
});

test('a change that is refused leaves no trace', async () => {
  const search = await create({ budgetMax: 200_000 });
  assert.equal((await api.call('PUT', search, { budgetMin: 300_000 })).status, 422);
  const stale = { headers: { 'If-Match': '"another"' } };
  assert.equal((await api.call('PUT', search, { budgetMax: 1 }, stale)).status, 412);
  assert.deepEqual(await historyOf(search), []);
});

test('the newest changes of a search that is changed many times are kept', async () => {
  const search = await create({ budgetMax: 1 });
  for (let budgetMax = 2; budgetMax <= 203; budgetMax++) await change(search, { budgetMax });
  const formers = (await historyOf(search)).map(({ former }) => former.budgetMax);
  assert.deepEqual(
    formers,
    Array.from({ length: 200 }, (_, i) => i + 3),
  );
});

test('a change is kept as long as events, and removed with its search', async () => {
  const [old, deleted] = [await create({ budgetMax: 1 }), await create({ budgetMax: 1 })];
  for (const search of [old, deleted]) await change(search, { budgetMax: 2 });
  await api.database.query(
    `update search_changes set changed_at = now() - interval '91 days'
     where search_number = (select number from searches where id = $1)`,
    [old.split('/').at(-1)],
  );
  await change(old, { budgetMax: 3 });
  await api.call('DELETE', deleted);
  await api.database.query(`update searches set deleted_at = now() - interval '31 days' where deleted_at is not null`);
  const days = { events: 90, deliveries: 30, expired: 90 };
  await sweep({ database: api.database, days }, { restFactor: 0 });
  assert.deepEqual(await historyOf(old), [{ former: { budgetMax: 2 }, isPresent: true }]);
  const { rows } = await api.database.query(
    'select from search_changes where not exists (select from searches where number = search_number)',
  );
  assert.equal(rows.length, 0);
});
