/**
 * Deliveries are taken for an attempt, each when its turn has come. An attempt is counted when it is claimed, before any
 * byte is sent, and every time is PostgreSQL's, so instances with different clocks agree on what is due. A first attempt
 * waits for those of the deliveries that were recorded before it in its match (decisions, section 6, "Order"): the rows
 * alone decide that, whichever instance holds which message.
 */

import { HELD_BACK_MAX_MS } from '../domain/delivery.ts';
import type { SearchNumber, Uuid } from '../domain/ids.ts';
import type { Queryable } from './database.ts';
import { WAITING } from './delivery-states.ts';

export interface ClaimedDelivery {
  readonly id: Uuid;
  readonly searchNumber: SearchNumber;
  readonly clientId: Uuid;
  readonly endpoint: string;
  readonly endpointKey: string;
  readonly head: string;
  readonly snapshotId: Uuid;
  readonly token: string;
  /** Of its search as it is now, JSON; null when it has none. */
  readonly context: string | null;
  /** Its place among the webhooks of its match; null when it was recorded by a version without. */
  readonly sequence: number | null;
  /** This attempt's number, from 1; counts on over replays. */
  readonly attemptCount: number;
  /** Attempts made before the last replay: they do not count against the retries. */
  readonly attemptsSpent: number;
  readonly startedAt: Date;
  readonly traceparent: string | null;
}

/** A delivery whose turn has not come. */
export interface HeldDelivery {
  readonly id: Uuid;
  /** The last one before it whose first attempt has not ended. */
  readonly leaderId: Uuid;
  /** At most so long; null: until the leader's first attempt has ended. */
  readonly heldForMs: number | null;
}

export interface ClaimedDeliveries {
  readonly claimed: readonly ClaimedDelivery[];
  readonly held: readonly HeldDelivery[];
}

/**
 * What holds back the delivery `later` (domain/delivery.ts, `holdsBack`): the last one before it in its match that does.
 * Nothing is looked up for the first of a match and for retries. Served by index `deliveries_undecided`, which holds the
 * few first attempts of a match that have not ended; searches and endpoints by their primary keys.
 */
function leaderOf(later: string): string {
  return `
    select earlier.id, case when earlier.endpoint_key <> ${later}.endpoint_key or earlier.state = 'parked' then
        ${HELD_BACK_MAX_MS} - extract(epoch from clock_timestamp() - ${later}.created_at)::float8 * 1000
      end as held_for_ms
    from deliveries earlier
    where ${later}.sequence > 1 and ${later}.attempt_count = 0
      and earlier.match_id = ${later}.match_id and earlier.sequence < ${later}.sequence
      and earlier.sequence is not null and earlier.state in ('queued', 'sending', 'parked')
      and earlier.attempt_count = (earlier.state = 'sending')::integer
      and not exists (
        select from searches where number = ${later}.search_number and cancelled_before > earlier.created_at)
      and (
        earlier.endpoint_key = ${later}.endpoint_key and (earlier.state <> 'parked' or ${later}.state = 'parked')
        or ${later}.created_at > clock_timestamp() - ${HELD_BACK_MAX_MS} * interval '1 millisecond' and not exists (
          select from endpoints where key in (earlier.endpoint_key, left(earlier.endpoint_key, 16))
            and (paused_at is not null or earlier.state = 'parked' and failure_streak > 0)))
    order by earlier.sequence desc limit 1`;
}

/**
 * Decides about the rows of `locked`. One whose search is gone, silent, or was so since it was recorded, is cancelled
 * instead of sent; the search is locked against that meanwhile, so when it has been answered, no attempt begins. One whose
 * endpoint, or its URL for every client, is paused is parked: from the end of a pause's transaction on, no attempt starts.
 */
const DUE = `
  telling as materialized (
    select number, cancelled_before from searches
    where number = any(array(select search_number from locked)) and deleted_at is null and notification_enabled
    order by number for key share
  ), silenced as materialized (
    select * from telling where cancelled_before is not null
  ), due as materialized (
    select id, leader_id, held_for_ms, case
      when search_number not in (select number from telling) then 'cancelled'
      when exists (select from silenced where number = search_number and created_at < cancelled_before) then 'cancelled'
      when exists (
        select from endpoints where key in (endpoint_key, left(endpoint_key, 16)) and paused_at is not null) then 'parked'
      when leader_id is not null then 'held'
      else 'sending' end as next_state
    from locked
  )`;

/** Takes the rows of `due`, apart from those that are held. */
const TAKE_DUE = `
  taken as (
    update deliveries
    set state = next_state,
      attempt_count = attempt_count + (next_state = 'sending')::integer,
      attempt_started_at = case when next_state = 'sending' then clock_timestamp() end,
      due_at = case when next_state = 'sending' then clock_timestamp() + $1 * interval '1 millisecond' else due_at end,
      finished_at = case when next_state = 'cancelled' then clock_timestamp() end
    from due where deliveries.id = due.id and next_state <> 'held'
    returning deliveries.*
  )
  select taken.id, search_number as "searchNumber", endpoint, endpoint_key as "endpointKey", head,
    snapshot_id as "snapshotId", client_id as "clientId", token, context, sequence, attempt_count as "attemptCount", attempts_spent as "attemptsSpent",
    attempt_started_at as "startedAt", traceparent, null::uuid as "leaderId", null::float8 as "heldForMs"
  from taken join searches on searches.number = search_number
  where state = 'sending'`;

const TELL_HELD = `
  union all
  select id, null, null, null, null, null, null, null, null, null, null, null, null, null, leader_id, held_for_ms
  from due where next_state = 'held'`;

/**
 * Takes the due ones among `ids` for one attempt each, for at most `leaseMs`. Served by the primary key: states are
 * looked at once the rows are locked. In one condition with the keys they make PostgreSQL read all of an index of states,
 * where every delivery of the last minutes has left dead entries.
 */
export async function claimDeliveries(
  client: Queryable,
  ids: readonly Uuid[],
  leaseMs: number,
): Promise<ClaimedDeliveries> {
  const { rows } = await client.query<ClaimedDelivery | HeldDelivery>({
    name: 'claim-deliveries',
    text: `
      with named as materialized (
        select id, search_number, endpoint_key, created_at, state, due_at, match_id, sequence, attempt_count
        from deliveries where id = any($2::uuid[]) order by id for update
      ), locked as materialized (
        select named.*, leader.id as leader_id, held_for_ms
        from named left join lateral (${leaderOf('named')}) leader on true
        where state in ${WAITING} and due_at <= clock_timestamp()
      ), ${DUE}, ${TAKE_DUE} ${TELL_HELD}`,
    values: [leaseMs, ids],
  });
  const held = rows.filter(isHeld);
  return { claimed: rows.filter((row) => !isHeld(row)) as ClaimedDelivery[], held };
}

function isHeld(row: ClaimedDelivery | HeldDelivery): row is HeldDelivery {
  return (row as HeldDelivery).leaderId !== null;
}

/** What may be drawn from the parked deliveries of one endpoint. */
export interface Draw {
  readonly endpointKey: string;
  readonly count: number;
}

/**
 * Takes up to `count` parked deliveries of each endpoint, oldest first; those whose turn has not come, and those that
 * another instance is taking, are passed over. Served by index `deliveries_parked`.
 */
export async function claimParked(
  client: Queryable,
  draws: readonly Draw[],
  leaseMs: number,
): Promise<readonly ClaimedDelivery[]> {
  const { rows } = await client.query<ClaimedDelivery>({
    name: 'claim-parked',
    text: `
      with locked as materialized (
        select parked.*, null::uuid as leader_id, null::float8 as held_for_ms
        from unnest($2::text[], $3::integer[]) as draw(key, count), lateral (
          select id, search_number, endpoint_key, created_at from deliveries
          where endpoint_key = draw.key and state = 'parked' and due_at <= clock_timestamp()
            and (select id from (${leaderOf('deliveries')}) leader) is null
          order by due_at limit draw.count for update skip locked
        ) parked
      ), ${DUE}, ${TAKE_DUE}`,
    values: [leaseMs, draws.map(({ endpointKey }) => endpointKey), draws.map(({ count }) => count)],
  });
  return rows;
}
