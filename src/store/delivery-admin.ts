/**
 * Deliveries as operators see them: of every client, with what a replay needs. Ids are UUIDs of version 7, so the order
 * of the primary key is the order of creation.
 */

import type { EventKind } from '../domain/codes.ts';
import type { DeliveryChannel, DeliveryState } from '../domain/delivery.ts';
import type { Uuid } from '../domain/ids.ts';
import { ALL_DELIVERIES } from './all-deliveries.ts';
import { FINISHED_AT, IS_WANTED, isInState, STATE } from './cancellations.ts';
import type { Queryable } from './database.ts';
import type { AttemptRead } from './delivery-reads.ts';

export interface AdminDelivery {
  readonly id: Uuid;
  readonly searchId: Uuid;
  readonly matchId: Uuid;
  readonly propertyUuid: Uuid | null;
  readonly channel: DeliveryChannel;
  readonly kind: EventKind;
  readonly endpoint: string;
  readonly endpointKey: string;
  readonly state: DeliveryState;
  /** Of the present series. */
  readonly attemptCount: number;
  readonly replayCount: number;
  readonly createdAt: Date;
  readonly dueAt: Date;
  readonly finishedAt: Date | null;
  /** False when its search is deleted or silent: it would be cancelled instead of sent. */
  readonly isWanted: boolean;
}

/** Every condition that is not null must hold. An `endpointKey` of a URL stands for those of all its clients. */
export interface DeliveryFilter {
  readonly searchId: Uuid | null;
  readonly endpointKey: string | null;
  readonly state: DeliveryState | null;
  readonly from: Date | null;
  readonly before: Date | null;
}

const COLUMNS = `d.id, s.id as "searchId", d.match_id as "matchId", m.property_uuid as "propertyUuid", d.channel, d.kind,
  d.endpoint, d.endpoint_key as "endpointKey", ${STATE} as state, d.attempt_count - d.attempts_spent as "attemptCount",
  d.replay_count as "replayCount", d.created_at as "createdAt", d.due_at as "dueAt", ${FINISHED_AT} as "finishedAt",
  ${IS_WANTED} as "isWanted"`;
const FROM = `${ALL_DELIVERIES} d join searches s on s.number = d.search_number left join matches m on m.id = d.match_id`;
const CONDITIONS = `($1::uuid is null or d.search_number = (select number from searches where id = $1))
  and ($2::text is null or d.endpoint_key >= $2 and d.endpoint_key < $2 || 'g')
  and ($3::text is null or ${isInState('$3::text')})
  and ($4::timestamptz is null or d.created_at >= $4) and ($5::timestamptz is null or d.created_at < $5)`;

function valuesOf({ searchId, endpointKey, state, from, before }: DeliveryFilter): unknown[] {
  return [searchId, endpointKey, state, from, before];
}

/**
 * Newest first, those below `belowId`. Failed ones are served by deliveries_failed and mail_items_failed, those of a search by
 * deliveries_search and mail_items_search; anything else walks the primary keys from their ends.
 */
export async function listAdminDeliveries(
  database: Queryable,
  filter: DeliveryFilter,
  belowId: Uuid | null,
  limit: number,
): Promise<readonly AdminDelivery[]> {
  const { rows } = await database.query<AdminDelivery>(
    `select ${COLUMNS} from ${FROM} where ${CONDITIONS} and ($6::uuid is null or d.id < $6)
     order by d.id desc limit $7`,
    [...valuesOf(filter), belowId, limit],
  );
  return rows;
}

/** Null when there is none. Served by the primary keys. */
export async function readAdminDelivery(database: Queryable, id: Uuid): Promise<AdminDelivery | null> {
  const { rows } = await database.query<AdminDelivery>(`select ${COLUMNS} from ${FROM} where d.id = $1`, [id]);
  return rows[0] ?? null;
}

/** Every delivery of a pair, oldest first. Served by deliveries_search and mail_items_search. */
export async function listPairDeliveries(
  database: Queryable,
  searchId: Uuid,
  matchId: Uuid,
): Promise<readonly AdminDelivery[]> {
  const { rows } = await database.query<AdminDelivery>(
    `select ${COLUMNS} from ${FROM}
     where d.search_number = (select number from searches where id = $1) and d.match_id = $2 order by d.id`,
    [searchId, matchId],
  );
  return rows;
}

/** Oldest first. Served by the primary key. */
export async function listAttempts(database: Queryable, deliveryId: Uuid): Promise<readonly AttemptRead[]> {
  const { rows } = await database.query<AttemptRead>(
    `select number, started_at as "startedAt", duration_ms as "durationMs", status_code as "statusCode", error, reason,
       response_head as "responseHead"
     from attempts where delivery_id = $1 order by number`,
    [deliveryId],
  );
  return rows;
}

/** The two parts of a webhook's body; null when there is no such delivery. Served by the primary keys. */
export async function readDeliveryBody(
  database: Queryable,
  id: Uuid,
): Promise<{ readonly head: string; readonly document: string } | null> {
  const { rows } = await database.query<{ head: string; document: string }>(
    'select head, document from deliveries d join snapshots on snapshots.id = d.snapshot_id where d.id = $1',
    [id],
  );
  return rows[0] ?? null;
}

/**
 * Webhooks that are not final, by state, and when the most overdue one was due. Served by deliveries_endpoint_open.
 */
export async function countOpenDeliveries(database: Queryable): Promise<{
  readonly counts: ReadonlyMap<string, number>;
  readonly oldestDueAt: Date | null;
}> {
  const { rows } = await database.query<{ state: string; count: number; oldest: Date }>(
    `select state, count(*)::integer as count,
       min(due_at) filter (where state in ('queued', 'retry_wait')) as oldest
     from deliveries where state in ('queued', 'sending', 'retry_wait', 'parked') group by state`,
  );
  const due = rows.flatMap(({ oldest }) => oldest ?? []).sort((a, b) => a.getTime() - b.getTime());
  return { counts: new Map(rows.map(({ state, count }) => [state, count])), oldestDueAt: due[0] ?? null };
}

/** Served by deliveries_failed. */
export async function countFailedDeliveries(database: Queryable): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    `select count(*)::integer as count from deliveries where state = 'failed'`,
  );
  return rows[0]?.count ?? 0;
}
