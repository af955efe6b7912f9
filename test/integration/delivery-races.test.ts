/** Steps of a delivery that meet: what one transaction has read while another one changes it, on real PostgreSQL. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { afterAttempt } from '../../src/engine/domain/delivery.ts';
import { endpointKeyOf } from '../../src/engine/domain/endpoint.ts';
import type { Uuid } from '../../src/engine/domain/ids.ts';
import { recordAttempts } from '../../src/engine/store/attempts.ts';
import { type Database, migrate, openDatabase, transaction } from '../../src/engine/store/database.ts';
import { type ClaimedDelivery, claimDeliveries, giveBack } from '../../src/engine/store/delivery-claims.ts';
import { lockForResending, resend, resendDelivery } from '../../src/engine/store/resends.ts';
import { releaseRetries } from '../../src/engine/store/retries.ts';
import { putInState, seedDeliveries, seedSearch } from '../support/seeded-deliveries.ts';
import { type Cleanup, startTestPostgres } from '../support/servers.ts';
import { until } from '../support/until.ts';

const OLD = 'https://old.test/';
const NEW = 'https://new.test/';
const HOLDER = 1;
const LATER_MS = 3_600_000;

async function openScene(t: Cleanup) {
  const { url } = await startTestPostgres(t);
  await migrate(url);
  const database = openDatabase({ url, connectionsMax: 6, plans: 'pipeline', onConnectionLost: () => undefined });
  t.after(() => database.end());
  const search = await seedSearch(database);
  const pointTo = (endpoint: string) => database.query('update searches set endpoint_recipient = $1', [endpoint]);
  await pointTo(OLD);

  async function claim(id: Uuid): Promise<ClaimedDelivery | undefined> {
    return (await claimDeliveries(database, HOLDER, [id], new Date())).claimed[0];
  }

  function settle(delivery: ClaimedDelivery, isFine = false) {
    const error = isFine ? null : ('status' as const);
    const answer = { startedAt: delivery.startedAt, durationMs: 1, statusCode: isFine ? 200 : 500, error };
    const outcome = { ...answer, reason: null, responseHead: null };
    const after = afterAttempt(delivery.attemptCount - delivery.attemptsSpent, outcome, LATER_MS);
    return recordAttempts(database, [{ ...delivery, holder: HOLDER, outcome, after, retryInMs: LATER_MS }]);
  }

  /** Until it has failed for good; resolves with the number of attempts. */
  async function exhaust(id: Uuid): Promise<number> {
    for (let attempts = 0; ; attempts++) {
      const delivery = await claim(id);
      if (delivery === undefined) return attempts;
      await settle(delivery);
      await releaseRetries(database, [{ ...delivery }]);
    }
  }

  const resendOne = (id: Uuid) => resendDelivery(database, search.clientId, id);
  return { database, search, pointTo, claim, settle, exhaust, resendOne };
}

/** Of the facts, and of the open row. */
async function readEndpoints(database: Database, id: Uuid): Promise<readonly string[]> {
  const { rows } = await database.query(
    `select d.endpoint, d.endpoint_key as "factKey", o.endpoint_key as "rowKey"
     from deliveries d join open_deliveries o using (id) where id = $1`,
    [id],
  );
  return [rows[0].endpoint, rows[0].factKey, rows[0].rowKey];
}

const untilSomebodyWaits = (database: Database, count = 1) =>
  until(
    async () => (await database.query(`select from pg_stat_activity where wait_event_type = 'Lock'`)).rowCount,
    (waiting) => waiting === count,
  );

for (const made of [0, 2, 5]) {
  test(`a resend during attempt ${made + 1} grants six more, also when that one is given back`, async (t) => {
    const { database, search, claim, exhaust, resendOne } = await openScene(t);
    const [due] = await seedDeliveries(database, search, [OLD]);
    const id = due?.id as Uuid;
    await putInState(database, [id], 'queued', made);
    assert.equal((await claim(id))?.attemptCount, made + 1);
    assert.deepEqual(await resendOne(id), { type: 'sent', due: [] });
    await giveBack(database, HOLDER, [id]);
    assert.equal(await exhaust(id), 6);
  });
}
