/**
 * Deliveries of all clients, for operators, with the data that a resend needs. Ids are UUIDs of version 7, so the order
 * of the primary key is the order of creation.
 */

import { type DeliveryState, isFinal, STEPS } from '../domain/delivery.ts';
import type { Uuid } from '../domain/ids.ts';
import { IS_WANTED, isInState } from './cancellations.ts';
import type { Queryable } from './database.ts';
import {
  type DeliveryFilter,
  type DeliveryTarget,
  deliveriesOfTargets,
  readAnyTargets,
  type SentMatch,
  targetColumns,
  targetOfMatch,
  type WantedSearches,
} from './delivery-filters.ts';
import { DELIVERY_COLUMNS, type DeliveryRow } from './delivery-reads.ts';
import { ALL_DELIVERIES, LANE } from './delivery-states.ts';

export interface AdminDelivery extends DeliveryRow {
  readonly clientId: Uuid;
  readonly clientName: string;
  readonly searchTitle: string;
  /** The error of the last attempt; null if it succeeded, or if there was no attempt. */
  readonly lastError: string | null;
  readonly propertyUuid: Uuid | null;
  /** Number of attempts in the current series. */
  readonly attemptCount: number;
  readonly replayCount: number;
  /** False if the search is deleted or silenced, so that the delivery would be cancelled instead of sent. */
  readonly isWanted: boolean;
}

/** A delivery must satisfy all conditions that are not null. The key of a URL selects that URL for all clients. */
export interface AdminFilter extends WantedSearches, DeliveryFilter {
  readonly from: Date | null;
  readonly before: Date | null;
}

/** Computed only for the returned rows. Served by the primary keys. */
const COLUMNS = `${DELIVERY_COLUMNS}, s.client_id as "clientId", s.title as "searchTitle",
  (select name from clients where clients.id = s.client_id) as "clientName",
  (select case when error is not null then coalesce(reason, error) end from attempts where delivery_id = d.id order by number desc limit 1) as "lastError",
  m.property_uuid as "propertyUuid", d.attempt_count - d.attempts_spent as "attemptCount",
  d.replay_count as "replayCount", ${IS_WANTED} as "isWanted"`;
const FROM = `${ALL_DELIVERIES} d join searches s on s.number = d.search_number left join matches m on m.id = d.match_id`;

/** The parameters of the condition begin with `$first`. */
function conditionsOf(
  { endpointKey = null, state = null, kind = null, channel = null, from = null, before = null }: Partial<AdminFilter>,
  first: number,
): { readonly condition: string; readonly values: readonly unknown[] } {
  const [key, inState, ofKind, byChannel, since, until] = Array.from({ length: 6 }, (_, i) => `$${first + i}`);
  const condition = `(${key}::text is null or d.endpoint_key >= ${key} and d.endpoint_key < ${key} || 'g')
    and (${inState}::text is null or ${isInState(`${inState}::text`)})
    and (${ofKind}::text is null or d.kind = ${ofKind}) and (${byChannel}::text is null or d.channel = ${byChannel})
    and (${since}::timestamptz is null or d.created_at >= ${since})
    and (${until}::timestamptz is null or d.created_at < ${until})`;
  return { condition, values: [endpointKey, state, kind, channel, from, before] };
}

/** Deliveries that were created before the delivery `belowId`, newest first. */
export async function listAdminDeliveries(
  database: Queryable,
  filter: AdminFilter,
  belowId: Uuid | null,
  limit: number,
): Promise<readonly AdminDelivery[]> {
  const targets = await readAnyTargets(database, filter);
  return targets === null
    ? listEverywhere(database, filter, belowId, limit)
    : listAt(database, targets, filter, belowId, limit);
}

/** SQL for the ids of a superset of the deliveries in a state; null if such a selection would not be small. */
function amongOf(state: DeliveryState | null): string | null {
  if (state === 'failed') {
    return `select delivery_id from final_outcomes where state = 'failed' union all select id from mail_items where state = 'failed'`;
  }
  if (state === null || isFinal(state)) return null;
  return `select id from open_deliveries union all select id from mail_items where state = '${state}'`;
}

/**
 * Served by final_outcomes_failed and mail_items_failed for failed deliveries. For open deliveries, reads all open
 * rows. For others, scans the primary keys backwards.
 */
async function listEverywhere(database: Queryable, filter: AdminFilter, belowId: Uuid | null, limit: number) {
  const { condition, values } = conditionsOf(filter, 3);
  const among = amongOf(filter.state);
  const isAmong = among === null ? '' : `d.id in (${among}) and `;
  const { rows } = await database.query<AdminDelivery>(
    `select ${COLUMNS} from ${FROM} where ${isAmong}${condition} and ($1::uuid is null or d.id < $1) order by d.id desc limit $2`,
    [belowId, limit, ...values],
  );
  return rows;
}

/** Served by deliveries_search and mail_items_search for each target, and by the primary keys. */
async function listAt(
  database: Queryable,
  targets: readonly DeliveryTarget[],
  filter: Partial<AdminFilter>,
  belowId: Uuid | null,
  limit: number,
): Promise<readonly AdminDelivery[]> {
  const { condition, values } = conditionsOf(filter, 7);
  const order = 'order by d.created_at desc, d.id desc limit $6';
  const isBelow = `($5::uuid is null or
    (d.created_at, d.id) < ((select one.created_at from ${ALL_DELIVERIES} one where one.id = $5), $5))`;
  const { rows } = await database.query<AdminDelivery>(
    `select ${COLUMNS} from ${deliveriesOfTargets(`${isBelow} and ${condition} ${order}`)}
     left join matches m on m.id = d.match_id ${order}`,
    [...targetColumns(targets), belowId, limit, ...values],
  );
  return rows;
}

/** Null if there is no such delivery. Served by the primary keys. */
export async function readAdminDelivery(database: Queryable, id: Uuid): Promise<AdminDelivery | null> {
  const { rows } = await database.query<AdminDelivery>(`select ${COLUMNS} from ${FROM} where d.id = $1`, [id]);
  return rows[0] ?? null;
}

/** Maximum number of deliveries in an explanation. The list of deliveries shows more. */
const PAIR_DELIVERIES_MAX = 1_000;

/** The deliveries of a (search, property) pair, newest first. Served by deliveries_search and mail_items_search. */
export function listPairDeliveries(database: Queryable, match: SentMatch): Promise<readonly AdminDelivery[]> {
  return listAt(database, [targetOfMatch(match)], {}, null, PAIR_DELIVERIES_MAX);
}

/**
 * Counts webhooks in each open state. Also resolves with the earliest due time of the unclaimed deliveries to endpoints
 * that are not paused. Reads every open row.
 */
export async function countOpenDeliveries(database: Queryable) {
  const { rows } = await database.query<{ state: DeliveryState; count: number; oldest: Date | null }>(
    `select case when claimed_by is not null then 'sending' when lane = ${LANE.waiting_retry} then 'retry_wait' else 'queued' end as state,
       count(*)::integer as count, min(due_at) filter (where claimed_by is null
         and endpoint_key not in (select key from endpoints where paused_at is not null)
         and left(endpoint_key, 16) not in (select key from endpoints where paused_at is not null)) as oldest
     from open_deliveries group by 1`,
  );
  const due = rows.flatMap(({ oldest }) => oldest ?? []).sort((a, b) => a.getTime() - b.getTime());
  const counts = new Map<DeliveryState, number>(STEPS.cancel.from.map((state) => [state, 0]));
  for (const { state, count } of rows) counts.set(state, count);
  return { counts, oldestDueAt: due[0] ?? null };
}

/** Served by final_outcomes_failed. */
export async function countFailedDeliveries(database: Queryable): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    `select count(*)::integer as count from final_outcomes where state = 'failed'`,
  );
  return rows[0]?.count ?? 0;
}
