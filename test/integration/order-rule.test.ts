/**
 * The statement that claims deliveries agrees with the rule of the decisions (section 6, "Order") in random situations
 * of a match, on real PostgreSQL.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { DELIVERY_STATES, type DeliveryState, HELD_BACK_MAX_MS } from '../../src/engine/domain/delivery.ts';
import { endpointKeyOf } from '../../src/engine/domain/endpoint.ts';
import type { Uuid } from '../../src/engine/domain/ids.ts';
import { claimDeliveries } from '../../src/engine/store/delivery-claims.ts';
import { openTestDatabase } from '../support/database.ts';
import { ownDatabase } from '../support/own-database.ts';
import { putInState, registerHolder, seedDeliveries, seedSearch } from '../support/seeded-deliveries.ts';
import type { Cleanup } from '../support/servers.ts';

const URLS = ['https://a.test/', 'https://b.test/'] as const;
const HOLDER = 1;

interface Delivery {
  readonly state: DeliveryState;
  readonly attemptCount: number;
  readonly url: string;
}

interface Situation {
  readonly earlier: readonly Delivery[];
  readonly later: Delivery;
  readonly isYoung: boolean;
  /** One value for each of the two endpoints. */
  readonly isPaused: readonly boolean[];
}

const url = fc.constantFrom(...URLS);
const attemptCount = fc.constantFrom(0, 0, 1, 2);
const situation: fc.Arbitrary<Situation> = fc.record({
  earlier: fc.array(fc.record({ state: fc.constantFrom(...DELIVERY_STATES), attemptCount, url }), { maxLength: 4 }),
  later: fc.record({ state: fc.constant('queued' as const), attemptCount, url }),
  isYoung: fc.boolean(),
  isPaused: fc.array(
    fc.nat({ max: 3 }).map((n) => n === 0),
    { minLength: 2, maxLength: 2 },
  ),
});

async function openScene(t: Cleanup) {
  const database = openTestDatabase(t, await ownDatabase(t), 2);
  await registerHolder(database, HOLDER);
  return { database, search: await seedSearch(database) };
}

test('the statement and the rule agree on which delivery is next', async (t) => {
  const { database, search } = await openScene(t);

  /** Claims the last delivery of the match, and resolves with the result. */
  async function claimLast({ earlier, later, isYoung, isPaused }: Situation): Promise<string> {
    await database.query('truncate deliveries, open_deliveries, final_outcomes, endpoints');
    for (const [at, each] of URLS.entries()) {
      await database.query(
        'insert into endpoints (key, url, operator_paused_at) values ($1, $2, case when $3 then now() end)',
        [endpointKeyOf(search.clientId, each), each, isPaused[at]],
      );
    }
    const told = [...earlier, later];
    const due = await seedDeliveries(
      database,
      search,
      told.map((each) => each.url),
      'one match',
      new Date(Date.now() - (isYoung ? 0 : HELD_BACK_MAX_MS + 1_000)),
    );
    for (const [position, { state, attemptCount: count }] of told.entries()) {
      const attempts = state === 'sending' || state === 'retry_wait' ? Math.max(1, count) : count;
      await putInState(database, [due[position]?.id as Uuid], state, attempts);
    }
    const last = due.at(-1)?.id as Uuid;
    const { claimed, refused } = await claimDeliveries(database, HOLDER, [last], new Date());
    const { rows } = await database.query('select lane from open_deliveries where id = $1', [last]);
    assert.equal(rows[0].lane === 0, refused.get(last) === 'held', 'a held delivery has a lane of its own');
    return claimed.length === 1 ? 'claimed' : (refused.get(last) ?? 'nothing');
  }

  function expected({ earlier, later, isYoung, isPaused }: Situation): string {
    const pausedAt = (each: Delivery): boolean => isPaused[URLS.indexOf(each.url as (typeof URLS)[number])] === true;
    if (pausedAt(later)) return 'paused';
    if (later.attemptCount > 0) return 'claimed';
    const holds = earlier.some((each) => {
      const isUndecided =
        (each.state === 'queued' && each.attemptCount === 0) || (each.state === 'sending' && each.attemptCount <= 1);
      return isUndecided && !pausedAt(each) && (isYoung || each.url === later.url);
    });
    return holds ? 'held' : 'claimed';
  }

  await fc.assert(
    fc.asyncProperty(situation, async (each) => {
      assert.equal(await claimLast(each), expected(each), JSON.stringify(each));
    }),
    { numRuns: 300, seed: 20_261_122 },
  );
});

test('a cancelled delivery holds nothing back, even before its row is updated', async (t) => {
  const { database, search } = await openScene(t);
  const [first] = await seedDeliveries(database, search, [URLS[0], URLS[0]], 'one match');
  await database.query('update searches set generation = 1');
  const { rows } = await database.query('select match_id, id from deliveries order by id');
  await database.query('update open_deliveries set generation = 1 where id = $1', [rows[1].id]);
  const { claimed, refused } = await claimDeliveries(database, HOLDER, [rows[1].id], new Date());
  assert.deepEqual([claimed.length, refused.size], [1, 0], `${first?.id} holds nothing`);
});
