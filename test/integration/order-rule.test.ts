/**
 * Whose turn it is: the statements that claim deliveries agree with `holdsBack` of domain/delivery.ts in every situation
 * of a match, on real PostgreSQL.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  DELIVERY_STATES,
  type DeliveryState,
  HELD_BACK_MAX_MS,
  holdsBack,
  type OrderedDelivery,
} from '../../src/domain/delivery.ts';
import { endpointKeyOf } from '../../src/domain/endpoint.ts';
import type { Uuid } from '../../src/domain/ids.ts';
import { migrate, openDatabase } from '../../src/store/database.ts';
import { claimDeliveries, claimParked } from '../../src/store/delivery-claims.ts';
import { seedDeliveries, seedSearch } from '../support/seeded-deliveries.ts';
import { startTestPostgres } from '../support/servers.ts';

const URLS = ['https://a.test/', 'https://b.test/'] as const;
const LEASE_MS = 60_000;

interface Situation {
  readonly earlier: readonly { readonly state: DeliveryState; readonly attemptCount: number; readonly url: string }[];
  readonly later: {
    readonly state: 'queued' | 'parked' | 'retry_wait';
    readonly url: string;
    readonly isYoung: boolean;
  };
  /** Of both endpoints. */
  readonly health: readonly { readonly isPaused: boolean; readonly isFailing: boolean }[];
}

const url = fc.constantFrom(...URLS);
const situation: fc.Arbitrary<Situation> = fc.record({
  earlier: fc.array(
    fc.record({ state: fc.constantFrom(...DELIVERY_STATES), attemptCount: fc.constantFrom(0, 0, 1, 2), url }),
    { maxLength: 4 },
  ),
  later: fc.record({ state: fc.constantFrom('queued', 'queued', 'parked', 'retry_wait'), url, isYoung: fc.boolean() }),
  health: fc.array(fc.record({ isPaused: fc.nat({ max: 3 }).map((n) => n === 0), isFailing: fc.boolean() }), {
    minLength: 2,
    maxLength: 2,
  }),
});

test('the statements and the rule agree on whose turn it is', async (t) => {
  const { url: databaseUrl } = await startTestPostgres(t);
  await migrate(databaseUrl);
  const database = openDatabase({ url: databaseUrl, connectionsMax: 2, onConnectionLost: () => undefined });
  t.after(() => database.end());
  const search = await seedSearch(database);
  const keys = new Map(URLS.map((each) => [each as string, endpointKeyOf(search.clientId, each)]));

  /** What the statements make of the last delivery of the match: its state, or that it is held. */
  async function claimLast({ earlier, later, health }: Situation): Promise<string> {
    await database.query('delete from deliveries');
    await database.query('delete from endpoints');
    for (const [at, { isPaused, isFailing }] of health.entries()) {
      await database.query(
        `insert into endpoints (key, url, paused_at, failure_streak) values ($1, $2, case when $3 then now() end, $4)`,
        [keys.get(URLS[at] as string), URLS[at], isPaused, isFailing ? 3 : 0],
      );
    }
    const told = [...earlier, { ...later, attemptCount: later.state === 'retry_wait' ? 1 : 0 }];
    const addresses = await seedDeliveries(
      database,
      search,
      told.map((each) => each.url),
      'one match',
    );
    for (const [position, { state, attemptCount }] of told.entries()) {
      await database.query('update deliveries set state = $2, attempt_count = $3 where id = $1', [
        addresses[position]?.id,
        state,
        attemptCount,
      ]);
    }
    const last = addresses.at(-1) as (typeof addresses)[number];
    const ageMs = later.isYoung ? 0 : HELD_BACK_MAX_MS + 1_000;
    await database.query(
      `update deliveries set created_at = created_at - $2 * interval '1 millisecond' where id = $1`,
      [last.id, ageMs],
    );
    if (later.state === 'parked') {
      const [claimed] = await claimParked(database, [{ endpointKey: last.endpointKey, count: 9 }], LEASE_MS).then(
        (all) => all.filter(({ id }) => id === last.id),
      );
      if (claimed !== undefined) return 'sending';
    } else {
      const { claimed, held } = await claimDeliveries(database, [last.id], LEASE_MS);
      assert.ok(claimed.length + held.length <= 1);
      if (held[0] !== undefined) {
        const leader = addresses.findIndex(({ id }) => id === held[0]?.leaderId);
        assert.ok(leader >= 0, 'a leader is of the match');
        return `held by ${leader}`;
      }
    }
    const { rows } = await database.query<{ state: string }>('select state from deliveries where id = $1', [last.id]);
    return (rows[0] as { state: string }).state;
  }

  function expected({ earlier, later, health }: Situation): string {
    const of = (each: { readonly url: string }) =>
      health[URLS.indexOf(each.url as (typeof URLS)[number])] as (typeof health)[number];
    const ordered = (
      each: { readonly state: DeliveryState; readonly attemptCount: number; readonly url: string },
      sequence: number,
    ): OrderedDelivery => ({ ...each, sequence, endpointKey: each.url });
    const last = ordered({ ...later, attemptCount: later.state === 'retry_wait' ? 1 : 0 }, earlier.length + 1);
    const ageMs = later.isYoung ? 0 : HELD_BACK_MAX_MS + 1_000;
    const leader = earlier.findLastIndex((each, position) =>
      holdsBack(ordered(each, position + 1), last, ageMs, of(each)),
    );
    if (of(later).isPaused) return 'parked';
    if (leader === -1) return 'sending';
    return later.state === 'parked' ? 'parked' : `held by ${leader}`;
  }

  await fc.assert(
    fc.asyncProperty(situation, async (each) => {
      assert.equal(await claimLast(each), expected(each), JSON.stringify(each));
    }),
    { numRuns: 300, seed: 20_261_122 },
  );
});

test('what is cancelled by a mark, though its row does not say so yet, holds nothing back', async (t) => {
  const { url: databaseUrl } = await startTestPostgres(t);
  await migrate(databaseUrl);
  const database = openDatabase({ url: databaseUrl, connectionsMax: 2, onConnectionLost: () => undefined });
  t.after(() => database.end());
  const search = await seedSearch(database);
  const [first, second] = await seedDeliveries(database, search, [URLS[0], URLS[0]], 'one match');
  await database.query(`update deliveries set created_at = created_at - interval '1 hour' where id = $1`, [first?.id]);
  assert.equal((await claimDeliveries(database, [second?.id as Uuid], LEASE_MS)).held[0]?.leaderId, first?.id);
  await database.query(`update searches set cancelled_before = now() - interval '1 minute'`);
  assert.equal((await claimDeliveries(database, [second?.id as Uuid], LEASE_MS)).claimed[0]?.id, second?.id);
});
