/**
 * The steps of recoveries. A step is one transaction that locks its recovery, so that one process at a time works on
 * it. The state is stored in rows, so any process can continue where the last step ended.
 *
 * After counting, each step makes fitting deliveries due, oldest first. A delivery waits if an earlier delivery of its
 * match is due for the recovery, or waits. The next step begins with the oldest delivery that waits, so the deliveries
 * of a match are sent in their order.
 */

import type { DueDelivery } from '../../engine/domain/delivery.ts';
import { endpointKeyOf } from '../../engine/domain/endpoint.ts';
import { firstUuidAt, type Uuid } from '../../engine/domain/ids.ts';
import { IS_CANCELLED, IS_WANTED } from '../../engine/store/cancellations.ts';
import type { Queryable } from '../../engine/store/database.ts';
import { LANE } from '../../engine/store/delivery-states.ts';
import { lockForResending, resend } from '../../engine/store/resends.ts';
import { CLOCKS_APART_MS, type NewRecovery, type RecoveryState, startOf } from './recovery-rows.ts';

export interface OpenRecovery extends NewRecovery {
  readonly state: RecoveryState;
  /** The next step reads the deliveries after this id. Those up to it need no further step. */
  readonly position: Uuid;
  /** The number of recoveries in state `running`, of all clients. */
  readonly runningCount: number;
}

/** Maximum number of deliveries that are due for one recovery at a time, however many slots a process has. */
const DUE_MAX = 1_000;
/** Deliveries of all clients that one step reads, in about ten milliseconds. */
const PAGE_ROWS = 10_000;

/** Locks the oldest open recovery after `id` that no other process has locked; null after the last one. */
export async function lockNextRecovery(connection: Queryable, id: Uuid | null): Promise<OpenRecovery | null> {
  // Served by recoveries_open.
  const { rows } = await connection.query<OpenRecovery>(
    `select id, client_id as "clientId", state, position,
       search_number as "searchNumber", endpoint, since, until, includes_delivered as "includesDelivered",
       (select count(*) from recoveries where state = 'running')::integer as "runningCount"
     from recoveries where state in ('counting', 'running') and ($1::uuid is null or id > $1)
     order by id limit 1 for update skip locked`,
    [id],
  );
  return rows[0] ?? null;
}

const UNDELIVERED = ['failed', 'retry_wait'] as const;
/**
 * For a delivery `d` and its search `s`. A delivery that waits for its first attempt needs no recovery. `recovery_id`
 * excludes the deliveries that the recovery has resent or skipped; times of attempts could not, because they are from
 * the clocks of couriers. Clients see times in milliseconds, but rows have microseconds, so `until` is rounded up.
 */
const FITS = `s.client_id = $3 and d.created_at >= $4 and d.created_at < $5::timestamptz + interval '1 millisecond'
  and ($6::integer is null or d.search_number = $6) and ($7::text is null or d.endpoint_key = $7)
  and (d.state in (${UNDELIVERED.map((state) => `'${state}'`).join()}) or d.state = 'delivered' and $8) and not ${IS_CANCELLED}
  and ${IS_WANTED} and d.recovery_id is distinct from $9`;

interface RecoveryPage {
  /** The last delivery of the page, fitting or not; null without one. */
  readonly last: Uuid | null;
  /**
   * True if the page is not full. Deliveries added later need no recovery, even if they seem as old, because their
   * first attempts have not begun.
   */
  readonly isLastPage: boolean;
  /**
   * The fitting deliveries, oldest first, and the match of each. A delivery is left out if the recovery has already
   * resent a later one of its match.
   */
  readonly ids: readonly Uuid[];
  readonly matchIds: readonly Uuid[];
}

/** The next page of deliveries after `position`. Served by the primary keys. */
async function readRecoveryPage(connection: Queryable, recovery: NewRecovery, position: Uuid): Promise<RecoveryPage> {
  const { id, clientId, since, until, searchNumber, includesDelivered } = recovery;
  const endpointKey = recovery.endpoint === null ? null : endpointKeyOf(clientId, recovery.endpoint);
  const beyond = firstUuidAt(new Date(until.getTime() + CLOCKS_APART_MS));
  const { rows } = await connection.query<RecoveryPage>(
    `with page as materialized (
       select id, search_number, match_id, endpoint_key, created_at, state, generation, recovery_id from delivery_states
       where id > $1 and id < $2 order by id limit ${PAGE_ROWS}
     ), sent as materialized (
       select distinct on (match_id) match_id, id from page where recovery_id = $9 order by match_id, id desc
     ), fitting as materialized (
       select d.id, d.match_id from page d join searches s on s.number = d.search_number
       where ${FITS} and not exists (select from sent where sent.match_id = d.match_id and sent.id > d.id)
     )
     select (select id from page order by id desc limit 1) as last,
       (select count(*) from page) < ${PAGE_ROWS} as "isLastPage",
       array(select id from fitting order by id) as ids, array(select match_id from fitting order by id) as "matchIds"`,
    [position, beyond, clientId, since, until, searchNumber, endpointKey, includesDelivered, id],
  );
  return rows[0] as RecoveryPage;
}

/** Counts the deliveries that a recovery would resend now, page by page. */
export async function countFitting(database: Queryable, recovery: NewRecovery): Promise<number> {
  for (let count = 0, position = startOf(recovery); ; ) {
    const { last, isLastPage, ids } = await readRecoveryPage(database, recovery, position);
    count += ids.length;
    if (isLastPage || last === null) return count;
    position = last;
  }
}

/** Counts another page, and begins to send if it was the last one. */
export async function countPage(connection: Queryable, recovery: OpenRecovery): Promise<void> {
  const { last, isLastPage, ids } = await readRecoveryPage(connection, recovery, recovery.position);
  await connection.query('update recoveries set matched = matched + $2, position = $3, state = $4 where id = $1', [
    recovery.id,
    ids.length,
    isLastPage ? startOf(recovery) : last,
    isLastPage ? 'running' : 'counting',
  ]);
}

/**
 * Counts the outcomes of deliveries that are no longer due for the recovery. A delivery that is neither open nor in
 * `final_outcomes` was delivered. Rows that are locked now are counted by the next step. Resolves with the matches of
 * the deliveries that are still due. Served by open_recovered, final_outcomes_recovered and the primary keys.
 */
async function countOutcomes(connection: Queryable, { id }: OpenRecovery): Promise<readonly (Uuid | null)[]> {
  const { rows } = await connection.query<{ due: readonly (Uuid | null)[] }>(
    `with attempted as materialized (
       select id from open_deliveries where recovery_id = $1 and lane <> ${LANE.due_recovered} order by id for update skip locked
     ), final as materialized (
       select delivery_id from final_outcomes where recovery_id = $1 order by delivery_id for update skip locked
     ), failing as (
       update open_deliveries set recovery_id = null where id = any(array(select id from attempted)) returning id
     ), ended as (
       update final_outcomes set recovery_id = null where delivery_id = any(array(select delivery_id from final))
       returning state
     ), due as materialized (
       select match_id from open_deliveries where recovery_id = $1 and id not in (select id from attempted)
       union all select null from final_outcomes
       where recovery_id = $1 and delivery_id not in (select delivery_id from final)
     ), counts as (
       select count(*) filter (where state = 'failed') + (select count(*) from failing) as failed,
         count(*) filter (where state = 'cancelled') as cancelled, (select count(*) from due) as due
       from ended
     ), noted as (
       update recoveries r set begun = begun - cancelled, skipped = skipped + cancelled, failed = r.failed + counts.failed,
         delivered = begun - cancelled - due - r.failed - counts.failed
       from counts where id = $1
     )
     select array(select match_id from due) as due`,
    [id],
  );
  return rows[0]?.due ?? [];
}

/**
 * Makes more deliveries due, in the order of ids, and resolves with them. The recovery is finished when no delivery
 * is left or due.
 */
export async function sendNext(
  connection: Queryable,
  recovery: OpenRecovery,
  slots: number,
): Promise<readonly DueDelivery[]> {
  const { id, clientId, position, includesDelivered, runningCount } = recovery;
  const dueMax = Math.min(DUE_MAX, Math.max(1, Math.floor(slots / Math.max(1, runningCount))));
  const due = await countOutcomes(connection, recovery);
  if (due.length >= dueMax) return [];
  const { last, isLastPage, ids, matchIds } = await readRecoveryPage(connection, recovery, position);
  if (isLastPage && ids.length === 0) {
    const finish = `update recoveries set state = 'finished', finished_at = clock_timestamp() where id = $1`;
    if (due.length === 0) await connection.query(finish, [id]);
    return [];
  }
  const chosen: Uuid[] = [];
  const busy = new Set(due);
  let examined = 0;
  let waitsAfter: Uuid | null = null;
  for (; examined < ids.length && due.length + chosen.length < dueMax; examined++) {
    const matchId = matchIds[examined] as Uuid;
    if (busy.has(matchId)) waitsAfter ??= ids[examined - 1] ?? position;
    else chosen.push(ids[examined] as Uuid);
    busy.add(matchId);
  }
  const candidates = await lockForResending(connection, clientId, chosen);
  // Checked again under the lock, because some may have been delivered or cancelled since they were read.
  const fitting: readonly string[] = includesDelivered ? [...UNDELIVERED, 'delivered'] : UNDELIVERED;
  const sent = candidates.filter(({ refusal, state }) => refusal === null && fitting.includes(state));
  const refused = chosen.filter((each) => !sent.some((one) => one.id === each));
  await connection.query(
    `with passed_over as (update deliveries set recovery_id = $1 where id = any($4::uuid[]))
     update recoveries set position = $2, begun = begun + $3, skipped = skipped + $5 where id = $1`,
    [id, waitsAfter ?? (examined < ids.length ? ids[examined - 1] : last), sent.length, refused, refused.length],
  );
  return resend(connection, sent, id);
}
