/**
 * Deliveries as the recorder writes them, without adverts and matching: one search, one snapshot, and any number of
 * queued deliveries.
 */

import type { DeliveryState, DueDelivery } from '../../src/engine/domain/delivery.ts';
import { endpointKeyOf } from '../../src/engine/domain/endpoint.ts';
import { randomUuid, type SearchNumber, timeOrderedUuid, type Uuid, uuidAfter } from '../../src/engine/domain/ids.ts';
import { bodyHead } from '../../src/engine/domain/routing.ts';
import { PROCESS } from '../../src/engine/store/couriers.ts';
import type { Database } from '../../src/engine/store/database.ts';
import { insertDeliveries } from '../../src/engine/store/deliveries.ts';
import { insertSnapshots } from '../../src/engine/store/snapshots.ts';
import { runStatements } from './statements.ts';

export const SEEDED_TOKEN = `whsec_${Buffer.alloc(32, 5).toString('base64')}`;

export interface SeededSearch {
  readonly id: Uuid;
  readonly clientId: Uuid;
  readonly number: SearchNumber;
  readonly snapshotId: Uuid;
  /** Generation of the search with which its deliveries are recorded. */
  readonly generation: number;
}

/** About as long as the document of a real property. */
const DOCUMENT = JSON.stringify({ '@type': 'PropertyDocument', title: 'Appartement', description: 'é'.repeat(1_500) });

export async function seedSearch(database: Database): Promise<SeededSearch> {
  const id = randomUuid();
  const clientId = randomUuid();
  await database.query('insert into clients (id, name) values ($1, $2)', [clientId, `seeded ${clientId}`]);
  const { rows } = await database.query<{ number: SearchNumber }>(
    `insert into searches (id, client_id, title, title_folded, members, notification_enabled, subscribed_events,
       hide_property_contact, token)
     values ($1, $2, 'seeded', 'seeded', '{}', true, '{}', false, $3) returning number`,
    [id, clientId, SEEDED_TOKEN],
  );
  const snapshotId = timeOrderedUuid(new Date());
  await runStatements(database, insertSnapshots([{ id: snapshotId, document: DOCUMENT }]));
  return { id, clientId, number: (rows[0] as { number: SearchNumber }).number, snapshotId, generation: 0 };
}

/** Commits one delivery for each entry of `endpoints`, in that order, without announcing it. */
export async function seedDeliveries(
  database: Database,
  search: SeededSearch,
  endpoints: readonly string[],
  of: 'a match each' | 'one match' = 'a match each',
  now = new Date(),
): Promise<readonly DueDelivery[]> {
  const sharedId = timeOrderedUuid(now);
  let lastId: Uuid | null = null;
  const deliveries = endpoints.map((endpoint, position) => {
    const matchId = of === 'one match' ? sharedId : timeOrderedUuid(now);
    const id: Uuid = of === 'one match' ? uuidAfter(lastId, now) : timeOrderedUuid(now);
    lastId = id;
    const match = { id: matchId, createdAt: now.toISOString(), updatedAt: now.toISOString() };
    return {
      id,
      searchNumber: search.number,
      matchId,
      sequence: of === 'one match' ? position + 1 : 1,
      channel: 'match' as const,
      kind: 'property.ad.create' as const,
      endpoint,
      endpointKey: endpointKeyOf(search.clientId, endpoint),
      head: bodyHead({ kind: 'property.ad.create', field: null }, search.id, matchId, match),
      snapshotId: search.snapshotId,
      traceparent: null,
      generation: search.generation,
    };
  });
  for (let start = 0; start < deliveries.length; start += 1_000) {
    await runStatements(database, insertDeliveries(deliveries.slice(start, start + 1_000)));
  }
  return deliveries.map(({ id, endpointKey }) => ({ id, endpointKey, lane: 'first' }));
}

/** Start of the last attempt of seeded retries. */
export const SEEDED_ATTEMPT_AT = new Date('2026-01-01T00:00:00Z');

/** Puts deliveries into any state, with `attemptCount` attempts counted. Retries are due at `dueAt`. */
export async function putInState(
  database: Pick<Database, 'query'>,
  ids: readonly string[],
  state: DeliveryState,
  attemptCount = state === 'queued' || state === 'cancelled' ? 0 : 1,
  dueAt: Date = new Date(Date.now() + 3_600_000),
): Promise<void> {
  const lane = state === 'retry_wait' ? -1 : attemptCount > (state === 'sending' ? 1 : 0) ? 2 : 1;
  await database.query('delete from open_deliveries where id = any($1::uuid[])', [ids]);
  await database.query('delete from final_outcomes where delivery_id = any($1::uuid[])', [ids]);
  if (state === 'delivered') {
    await database.query(
      `insert into attempts (delivery_id, number, started_at, duration_ms, status_code)
       select id, $2::smallint, now(), 0, 200 from unnest($1::uuid[]) as id on conflict do nothing`,
      [ids, attemptCount],
    );
  } else if (state === 'failed' || state === 'cancelled') {
    await database.query(
      `insert into final_outcomes (delivery_id, endpoint_key, state, attempt_count)
       select id, endpoint_key, $2::text, $3::smallint from deliveries where id = any($1::uuid[])`,
      [ids, state, attemptCount],
    );
  } else {
    await database.query(
      `insert into open_deliveries (id, match_id, search_number, generation, follows, endpoint_key, lane, attempt_count,
         due_at, claimed_by, claimed_at)
       select d.id, match_id, search_number, generation, coalesce(sequence > 1, false), endpoint_key, $2::smallint, $3::smallint,
         case when $2 = -1 then $4::timestamptz else now() end, case when $5::boolean then -1 end,
         case when $5 then now() when $2 = -1 then $6::timestamptz end
       from deliveries d join searches s on s.number = search_number where d.id = any($1::uuid[])`,
      [ids, lane, attemptCount, dueAt, state === 'sending', SEEDED_ATTEMPT_AT],
    );
  }
}

/** Adds waiting retries of one endpoint to `open_deliveries` alone, and updates the planner's statistics. */
export async function seedWaitingRetries(
  database: Pick<Database, 'query'>,
  { number, generation }: Pick<SeededSearch, 'number' | 'generation'>,
  endpointKey: string,
  count: number,
  hours: number,
): Promise<void> {
  await database.query(
    `insert into open_deliveries (id, match_id, search_number, generation, lane, attempt_count, follows, endpoint_key, due_at, claimed_at)
     select gen_random_uuid(), gen_random_uuid(), $1, $2, -1, 1, false, $3, now() + $5 * interval '1 hour', $6
     from generate_series(1, $4)`,
    [number, generation, endpointKey, count, hours, SEEDED_ATTEMPT_AT],
  );
  await database.query('analyze open_deliveries');
}

/** Registers a courier number for claims that a test makes without a courier; later couriers get other numbers. */
export async function registerHolder(database: Pick<Database, 'query'>, number: number): Promise<void> {
  await database.query(
    `with registered as (
       insert into couriers (number, process) overriding system value values ($1, $2) returning number
     )
     select setval(pg_get_serial_sequence('couriers', 'number'), greatest(number, nextval(pg_get_serial_sequence('couriers', 'number'))))
     from registered`,
    [number, PROCESS],
  );
}
