/**
 * Resends deliveries at the request of a client or an operator (decisions, section 11). A delivery keeps its id, bytes
 * and sequence, but is sent to the current endpoint of its search. A final delivery begins a new series of attempts. If
 * a delivery is being sent, the new series begins after its attempt. A waiting delivery makes its next attempt now. The
 * numbers of attempts continue in the log.
 */

import {
  type DeliveryState,
  type DueDelivery,
  isFinal,
  type NewDelivery,
  type ResendRefusal,
} from '../domain/delivery.ts';
import { endpointKeyOf } from '../domain/endpoint.ts';
import type { Uuid } from '../domain/ids.ts';
import { hasContacts } from '../domain/routing.ts';
import { releaseHeld } from './attempts.ts';
import { IS_WANTED, STATE } from './cancellations.ts';
import { type Database, type Queryable, transaction } from './database.ts';
import { laneOf } from './deliveries.ts';
import { LANE } from './delivery-states.ts';

/** The result of a request to send an item of an e-mail again. */
export interface Requeued {
  /** The state before the request. */
  readonly state: DeliveryState;
  readonly isChanged: boolean;
}

export interface ResendCandidate extends Pick<NewDelivery, 'id' | 'channel' | 'searchNumber' | 'matchId'> {
  readonly state: DeliveryState;
  readonly attemptCount: number;
  /** The current endpoint of the search; null if it has none. */
  readonly endpoint: string | null;
  readonly endpointKey: string;
  /** Null if the delivery may be sent again. */
  readonly refusal: ResendRefusal | null;
}

/** The column counts the attempts of all series and has only sixteen bits. */
const ATTEMPT_COUNT_MAX = 30_000;

interface CandidateRow extends Omit<ResendCandidate, 'refusal' | 'endpointKey'> {
  readonly clientId: Uuid;
  readonly isWanted: boolean;
  /** The document, to be checked for contacts if the search hides them; otherwise null. */
  readonly document: string | null;
}

/**
 * Locks the deliveries `ids` in key order until the transaction ends, so that none is claimed or settled in that time.
 * Resolves with those of the client, oldest first. There are three statements, because each must see the changes for
 * which the previous one has waited. Served by the primary keys.
 */
export async function lockForResending(
  connection: Queryable,
  clientId: Uuid,
  ids: readonly Uuid[],
): Promise<readonly ResendCandidate[]> {
  await connection.query('select from deliveries where id = any($1::uuid[]) order by id for update', [ids]);
  await connection.query(
    `with open as materialized (
       select from open_deliveries where id = any($1::uuid[]) order by id for update
     ), ended as materialized (
       select from final_outcomes where delivery_id = any($1::uuid[]) order by delivery_id for update
     )
     select (select count(*) from open), (select count(*) from ended)`,
    [ids],
  );
  const { rows } = await connection.query<CandidateRow>(
    `select d.id, ${STATE} as state, d.channel, d.search_number as "searchNumber", d.match_id as "matchId",
       d.attempt_count as "attemptCount",
       case d.channel when 'match' then s.endpoint_recipient else s.event_endpoint end as endpoint,
       s.client_id as "clientId",
       ${IS_WANTED} and (d.channel = 'match' or d.kind = any(s.subscribed_events)) as "isWanted",
       case when s.hide_property_contact then (select document from snapshots where id = d.snapshot_id) end as document
     from delivery_states d join searches s on s.number = d.search_number
     where d.id = any($2::uuid[]) and s.client_id = $1 and s.deleted_at is null order by d.id`,
    [clientId, ids],
  );
  return rows.map(({ isWanted, document, clientId: client, ...row }) => ({
    ...row,
    endpointKey: row.endpoint === null ? '' : endpointKeyOf(client, row.endpoint),
    refusal: refusalOf(row, isWanted, document),
  }));
}

function refusalOf(
  { endpoint, attemptCount }: Pick<CandidateRow, 'endpoint' | 'attemptCount'>,
  isWanted: boolean,
  document: string | null,
): ResendRefusal | null {
  if (!isWanted) return 'unwanted';
  if (endpoint === null) return 'no endpoint';
  if (document !== null && hasContacts(document)) return 'withheld';
  return attemptCount >= ATTEMPT_COUNT_MAX ? 'attempts_exhausted' : null;
}

/**
 * Makes the next attempt of each delivery due now, and resolves with the due deliveries. The candidates must be locked
 * and not refused. A first attempt keeps its position. At a new endpoint other deliveries may hold it back, so the next
 * claim decides about it and about the deliveries that waited for it. If a delivery is being sent, the new series
 * begins after the current attempt, and the row keeps its endpoint until then. With `recoveryId`, the rows name that
 * recovery until it has counted the outcomes, and wait behind the endpoint's other retries. Served by the primary keys.
 */
export async function resend(
  connection: Queryable,
  candidates: readonly ResendCandidate[],
  recoveryId: Uuid | null = null,
): Promise<readonly DueDelivery[]> {
  if (candidates.length === 0) return [];
  const dueLane = recoveryId === null ? LANE.due_again : LANE.due_recovered;
  const { rows } = await connection.query<{ id: Uuid; endpointKey: string; lane: number }>(
    `with again as materialized (
       select *, is_final or is_sending as is_new_series
       from unnest($1::uuid[], $2::text[], $3::text[], $4::boolean[], $5::boolean[], $6::smallint[])
         as row(id, endpoint, key, is_final, is_sending, attempt_count)
     ), redirected as (
       update deliveries d set endpoint = again.endpoint, endpoint_key = again.key,
         attempts_spent = case when is_new_series then again.attempt_count else attempts_spent end,
         replay_count = replay_count + is_new_series::integer, recovery_id = coalesce($7::uuid, recovery_id)
       from again where d.id = again.id returning d.id, search_number, match_id, sequence
     ), forgotten as (
       delete from final_outcomes using again where delivery_id = again.id and again.is_final
     ), marked as (
       update open_deliveries o set is_resent = true from again where o.id = again.id and is_sending
     ), moved as (
       update open_deliveries o set endpoint_key = again.key, due_at = clock_timestamp(),
         recovery_id = coalesce($7::uuid, o.recovery_id),
         lane = case o.lane when ${LANE.waiting_retry} then ${dueLane} when ${LANE.held} then ${LANE.due} else o.lane end
       from again where o.id = again.id and not is_new_series returning o.id, o.endpoint_key, o.lane
     ), begun as (
       insert into open_deliveries (id, match_id, search_number, generation, lane, attempt_count, follows, endpoint_key,
         recovery_id)
       select again.id, match_id, search_number, searches.generation, ${dueLane}, again.attempt_count,
         coalesce(sequence > 1, false), again.key, $7::uuid
       from redirected join again using (id) join searches on searches.number = search_number
       where is_final returning id, endpoint_key, lane
     )
     select id, endpoint_key as "endpointKey", lane from moved union all select id, endpoint_key, lane from begun order by id`,
    [
      candidates.map(({ id }) => id),
      candidates.map(({ endpoint }) => endpoint),
      candidates.map(({ endpointKey }) => endpointKey),
      candidates.map(({ state }) => isFinal(state)),
      candidates.map(({ state }) => state === 'sending'),
      candidates.map(({ attemptCount }) => attemptCount),
      recoveryId,
    ],
  );
  const due = rows.map((row) => ({ ...row, lane: laneOf(row.lane) }));
  const firsts = new Set(due.flatMap(({ id, lane }) => (lane === 'first' ? [id] : [])));
  const moved = candidates.filter(({ id }) => firsts.has(id));
  return [...due, ...(await releaseHeld(connection, moved))];
}

export type ResendOutcome =
  | { readonly type: 'sent'; readonly due: readonly DueDelivery[] }
  | { readonly type: 'refused'; readonly refusal: ResendRefusal };

/** Null if there is no such delivery of the client or its search was deleted. Served by the primary keys. */
export async function resendDelivery(database: Database, clientId: Uuid, id: Uuid): Promise<ResendOutcome | null> {
  return transaction(database, async (connection) => {
    const [candidate] = await lockForResending(connection, clientId, [id]);
    if (candidate === undefined) {
      return (await isMailItem(connection, clientId, id)) ? { type: 'refused', refusal: 'e-mail' } : null;
    }
    const { refusal } = candidate;
    if (refusal !== null) return { type: 'refused', refusal };
    return { type: 'sent', due: await resend(connection, [candidate]) };
  });
}

/** Served by the primary keys. */
async function isMailItem(connection: Queryable, clientId: Uuid, id: Uuid): Promise<boolean> {
  const { rowCount } = await connection.query(
    `select from mail_items d join searches s on s.number = d.search_number
     where d.id = $2 and s.client_id = $1 and s.deleted_at is null`,
    [clientId, id],
  );
  return rowCount === 1;
}
