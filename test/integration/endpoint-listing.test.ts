/**
 * Operators can list every endpoint that was attempted or paused, and show an endpoint without attempts by its name.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endpointKeyOf, urlKeyOf } from '../../src/engine/domain/endpoint.ts';
import { listAdminEndpoints, readAdminEndpoint } from '../../src/engine/store/endpoints-admin.ts';
import { connectDatabase } from '../support/database.ts';
import { ownDatabase } from '../support/own-database.ts';
import { seedDeliveries, seedSearch } from '../support/seeded-deliveries.ts';

const [HANGING, KNOWN, PAUSED] = ['https://a.example/hangs', 'https://b.example/known', 'https://c.example/paused'];

test('an endpoint is listed from its first attempt on, and can be shown by name before that', async (t) => {
  const database = connectDatabase(t, await ownDatabase(t));
  const search = await seedSearch(database);
  await seedDeliveries(database, search, [HANGING, HANGING, KNOWN]);
  const keyOf = (endpoint: string): string => endpointKeyOf(search.clientId, endpoint);
  await database.query(
    `insert into endpoints (key, url, failure_streak, operator_paused_at) values ($1, $2, 3, null), ($3, $4, 0, now())`,
    [keyOf(KNOWN), KNOWN, urlKeyOf(PAUSED), PAUSED],
  );
  const page = { pausedOnly: false, offset: 0, limit: 10 };
  const seen = (await listAdminEndpoints(database, page)).map((each) => [each.url, each.openCount, each.failureStreak]);
  assert.deepEqual(seen, [
    [KNOWN, 1, 3],
    [PAUSED, 0, 0],
  ]);
  assert.equal((await listAdminEndpoints(database, { ...page, pausedOnly: true })).length, 1);
  for (const key of [keyOf(HANGING), urlKeyOf(HANGING)]) {
    const shown = await readAdminEndpoint(database, key);
    assert.deepEqual([shown?.url, shown?.openCount, shown?.pausedAt], [HANGING, 2, null]);
  }
  assert.equal(await readAdminEndpoint(database, urlKeyOf('https://d.example/')), null);
});

test('the list and the single endpoints show the same for a paused URL and its clients', async (t) => {
  const database = connectDatabase(t, await ownDatabase(t));
  const search = await seedSearch(database);
  await seedDeliveries(database, search, [HANGING, KNOWN]);
  const [client, everyone] = [endpointKeyOf(search.clientId, KNOWN), urlKeyOf(KNOWN)];
  await database.query(
    `insert into endpoints (key, url, failure_streak, last_failure_at, last_error, operator_paused_at, pause_reason)
     values ($1, $3, 3, now(), 'status', null, null), ($2, $3, 0, null, null, now(), 'theirs')`,
    [client, everyone, KNOWN],
  );
  const listed = await listAdminEndpoints(database, { pausedOnly: false, offset: 0, limit: 10 });
  for (const endpoint of listed) assert.deepEqual(endpoint, await readAdminEndpoint(database, endpoint.key));
  const ofKnown = listed.filter((endpoint) => endpoint.url === KNOWN);
  assert.deepEqual(ofKnown.map(({ key }) => key).sort(), [everyone, client]);
  for (const { pauseReason, failureStreak } of ofKnown) assert.deepEqual([pauseReason, failureStreak], ['theirs', 3]);
});
