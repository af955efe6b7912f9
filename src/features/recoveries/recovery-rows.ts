/**
 * The rows of recoveries, as clients and operators request and read them (decisions, section 11). Each client has at
 * most one unfinished recovery. recovery-steps.ts processes the rows.
 */

import { firstUuidAt, type SearchNumber, type Uuid } from '../../engine/domain/ids.ts';
import type { ListedPage } from '../../engine/store/client-listings.ts';
import type { Queryable } from '../../engine/store/database.ts';
import { isInAnyLane } from '../../engine/store/delivery-states.ts';
import { Problem } from '../../rest/problem.ts';
import { REFUSALS } from '../../rest/sentences.ts';

/** `counting` → `running` → `finished`, or `stopped` by its client or an operator. Clients also see if it is paused. */
export const RECOVERY_STATES = ['counting', 'running', 'finished', 'stopped'] as const;
export type RecoveryState = (typeof RECOVERY_STATES)[number];

const DAY_MS = 86_400_000;

/** True if rows created at `since` are still kept. Rows are kept for `keptDays` days; 0 keeps them for ever. */
export function isWithinKept(since: Date, now: Date, keptDays: number): boolean {
  return keptDays === 0 || now.getTime() - since.getTime() <= keptDays * DAY_MS;
}

export interface NewRecovery {
  readonly id: Uuid;
  readonly clientId: Uuid;
  /** Null for all searches. */
  readonly searchNumber: SearchNumber | null;
  /** Null for all endpoints. */
  readonly endpoint: string | null;
  readonly since: Date;
  readonly until: Date;
  readonly includesDelivered: boolean;
}

export interface Recovery extends Omit<NewRecovery, 'searchNumber'> {
  readonly searchId: Uuid | null;
  readonly state: RecoveryState;
  /** The number of fitting deliveries; grows while they are counted. */
  readonly matched: number;
  /** The number of fitting deliveries that were attempted for the recovery, in total and by outcome. */
  readonly sent: number;
  readonly delivered: number;
  readonly failed: number;
  /** The number of deliveries that no longer fitted at their turn, and are not sent. */
  readonly skipped: number;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
  /** True if all deliveries that are due for the recovery wait for a paused endpoint. */
  readonly isPaused: boolean;
}

/** How many deliveries are still to be attempted; skipped ones do not count. */
export function remainingOf({ state, matched, sent, skipped }: Recovery): number {
  return state === 'finished' ? 0 : Math.max(0, matched - sent - skipped);
}

/** An id has the time of a process, and `created_at` that of PostgreSQL. These clocks differ by less than this. */
export const CLOCKS_APART_MS = 3_600_000;

/**
 * `fitting`: a condition, for lists with an order. Served by the primary keys, open_recovered and one for `fitting`.
 */
async function readRecoveries(
  database: Queryable,
  fitting: string,
  values: readonly unknown[],
): Promise<readonly Recovery[]> {
  const { rows } = await database.query<Recovery>(
    `select r.id, r.client_id as "clientId", s.id as "searchId", r.endpoint, r.since, r.until,
       r.includes_delivered as "includesDelivered", r.state, r.matched, r.delivered + r.failed as sent, r.delivered,
       r.failed, r.skipped, r.created_at as "createdAt", r.finished_at as "finishedAt", coalesce((
         select bool_and(p.key is not null) from open_deliveries o
         left join endpoints p on p.key in (o.endpoint_key, left(o.endpoint_key, 16)) and p.paused_at is not null
         where o.recovery_id = r.id and r.state in ('counting', 'running')), false) as "isPaused"
     from recoveries r left join searches s on s.number = r.search_number where ${fitting}`,
    [...values],
  );
  return rows;
}

/** The id after which the deliveries of a recovery begin. */
export function startOf({ since }: Pick<NewRecovery, 'since'>): Uuid {
  return firstUuidAt(new Date(Math.max(0, since.getTime() - CLOCKS_APART_MS)));
}

/** Throws a 409 `Problem` if the client has an unfinished recovery. Served by recoveries_open. */
export async function createRecovery(database: Queryable, recovery: NewRecovery): Promise<Recovery> {
  const { id, clientId, searchNumber, endpoint, since, until, includesDelivered } = recovery;
  const { rowCount } = await database.query(
    `insert into recoveries (id, client_id, search_number, endpoint, since, until, includes_delivered, position)
     values ($1, $2, $3, $4, $5, $6, $7, $8)
     on conflict (client_id) where state in ('counting', 'running') do nothing`,
    [id, clientId, searchNumber, endpoint, since, until, includesDelivered, startOf(recovery)],
  );
  if (rowCount === 0) throw new Problem(409, REFUSALS.recoveryOpen);
  return (await readRecovery(database, clientId, id)) as Recovery;
}

/** True if the endpoint was used or paused, or a delivery waits for it. Served by the primary key and open_endpoint. */
export async function isEndpointKnown(database: Queryable, key: string): Promise<boolean> {
  const { rows } = await database.query<{ isKnown: boolean }>(
    `select exists (select from endpoints where key = $1)
       or exists (select from open_deliveries where endpoint_key = $1 and ${isInAnyLane()}) as "isKnown"`,
    [key],
  );
  return rows[0]?.isKnown === true;
}

/** `clientId`: null for operators. Null if the client has no such recovery. Served by the primary key. */
export async function readRecovery(database: Queryable, clientId: Uuid | null, id: Uuid): Promise<Recovery | null> {
  const fitting = 'r.id = $1 and ($2::uuid is null or r.client_id = $2)';
  const [recovery = null] = await readRecoveries(database, fitting, [id, clientId]);
  return recovery;
}

/** A page of the client's recoveries, in the order of creation or newest first. Served by recoveries_client. */
export async function listRecoveries(
  database: Queryable,
  clientId: Uuid,
  { direction, offset, limit }: ListedPage,
): Promise<{ readonly recoveries: readonly Recovery[]; readonly total: number }> {
  const fitting = `r.client_id = $1 order by r.id ${direction} limit $2 offset $3`;
  const recoveries = await readRecoveries(database, fitting, [clientId, limit, offset]);
  const { rows: counted } = await database.query<{ total: number }>(
    'select count(*)::integer as total from recoveries where client_id = $1',
    [clientId],
  );
  return { recoveries, total: counted[0]?.total ?? 0 };
}

/** For operators; `clientId`: null for all clients. Newest first. Served by recoveries_client or the primary key. */
export function listAnyRecoveries(
  database: Queryable,
  clientId: Uuid | null,
  belowId: Uuid | null,
  limit: number,
): Promise<readonly Recovery[]> {
  const fitting = `($1::uuid is null or r.client_id = $1) and ($2::uuid is null or r.id < $2)
    order by r.id desc limit $3`;
  return readRecoveries(database, fitting, [clientId, belowId, limit]);
}

/** `clientId`: null for operators. False if the client has no such recovery. Served by the primary key. */
export async function stopRecovery(database: Queryable, clientId: Uuid | null, id: Uuid): Promise<boolean> {
  const { rowCount } = await database.query(
    `update recoveries set state = case when finished_at is null then 'stopped' else state end,
       finished_at = coalesce(finished_at, now())
     where id = $1 and ($2::uuid is null or client_id = $2)`,
    [id, clientId],
  );
  return rowCount === 1;
}

/** Removes recoveries that finished before `before`. Reads all rows: clients request few, and one at a time. */
export async function removeRecoveries(client: Queryable, before: Date): Promise<number> {
  const { rowCount } = await client.query('delete from recoveries where finished_at < $1', [before]);
  return rowCount ?? 0;
}
