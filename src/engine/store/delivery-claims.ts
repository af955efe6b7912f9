/**
 * Claims deliveries by key, each for one attempt. A claim checks the state after it has locked the row, and skips rows
 * that another transaction has locked. It counts the attempt before any byte is sent. A first attempt waits for the
 * first attempts of earlier deliveries of its match (decisions, section 6, "Order"). Only rows decide whether it must
 * wait, so the order is the same across instances.
 */

import { type DueDelivery, HELD_BACK_MAX_MS, type NewDelivery } from '../domain/delivery.ts';
import { firstUuidAt, type Uuid } from '../domain/ids.ts';
import { arrayLiteral } from './array-literal.ts';
import { type Decided, releaseHeld } from './attempts.ts';
import { CLAIM_USED_WITHIN_MS, passFence } from './claim-fence.ts';
import { PROCESS } from './couriers.ts';
import { type Database, pipelinedTransaction, type Statement, transaction } from './database.ts';
import { laneOf } from './deliveries.ts';
import { isAtEndpoint, isPaused, isUndecidedOf, LANE, NEVER_DELIVERED } from './delivery-states.ts';

export interface ClaimedDelivery extends DueDelivery, Omit<NewDelivery, 'generation' | 'channel' | 'kind'> {
  readonly clientId: Uuid;
  readonly token: string;
  /** The current context of the search, as JSON; null if there is none. */
  readonly context: string | null;
  /** The number of this attempt, from 1. Resends continue the count. */
  readonly attemptCount: number;
  /** Number of attempts before the current series. They do not reduce the number of retries. */
  readonly attemptsSpent: number;
  readonly startedAt: Date;
}

/**
 * The reason why a row was not claimed. `held`: it waits until the first attempt of an earlier delivery of its match
 * has ended. `contended`: another transaction has locked that earlier delivery, so the claim should be retried soon.
 * `paused`: its endpoint is paused, or is resuming with another attempt. `cancelled`: its search or client was deleted
 * or the search was silenced, and the row has now been cancelled.
 */
export type Refusal = 'held' | 'contended' | 'paused' | 'cancelled';

export interface Claims {
  readonly claimed: readonly ClaimedDelivery[];
  /** Rows in neither collection are not due or are locked, or this courier may not claim any more (`CLAIM`). */
  readonly refused: ReadonlyMap<Uuid, Refusal>;
}

/**
 * A delivery that holds back a row of `due`: an earlier delivery of the same match whose first attempt has not ended.
 * At another endpoint, it does so only if the row is young (from id `$3` on) and that endpoint is not paused.
 * Deliveries of an earlier generation hold nothing back. Served by open_undecided, the only index with this order, and
 * endpoints_paused.
 */
const PREDECESSOR = `
  (select e.id from open_deliveries e where ${isEarlier()} and ${isAtEndpoint('e', 'due.endpoint_key')}
   order by e.lane, e.id limit 1)
  union all
  (select e.id from open_deliveries e where ${isEarlier()} and e.endpoint_key <> due.endpoint_key and due.id >= $3::uuid
    and not ${isPaused('e.endpoint_key')}
   order by hashtext(e.endpoint_key), e.lane, e.id limit 1)
  limit 1`;

/** Columns of the search and the client of a row of `due`. Served by the primary keys. */
const SUBSCRIPTION = `
  select s.generation, s.client_id, s.token, s.context,
    s.deleted_at is null and s.notification_enabled and c.deleted_at is null as is_wanted
  from searches s, lateral (select deleted_at from clients where id = s.client_id offset 0) c
  where s.number = due.search_number offset 0`;

/** Whether the endpoint of a row of `due` is paused or resuming. Served by endpoints_paused, which has few rows. */
const RESTRAINT = `
  select max(paused_at) is not null as is_paused, bool_or(is_resuming) as is_resuming from endpoints p
  where p.key in (due.endpoint_key, left(due.endpoint_key, 16)) and (p.paused_at is not null or p.is_resuming)`;

/**
 * Selects one row for each resuming endpoint without an attempt in progress. Skips endpoints that another claim has
 * changed since the snapshot of this statement, because the snapshot does not show that claim.
 */
const RESUMING = `
  update endpoints e
  set resumed_with = (select id from decided where endpoint_key = e.key and decision = 'resuming' order by id limit 1)
  where e.key = any(array(
    select key from endpoints p
    where p.key = any(array(select endpoint_key from decided where decision = 'resuming'))
      and p.resumed_with is not distinct from (select resumed_with from endpoints q where q.key = p.key)
      and not exists (select from open_deliveries o where o.id = p.resumed_with and o.claimed_by is not null offset 0)
    order by key for update skip locked))
  returning resumed_with as id`;

function isEarlier(): string {
  return `due.lane = ${LANE.due} and due.follows and ${isUndecidedOf('e', 'due.match_id')} and e.id < due.id
    and e.generation >= due.generation`;
}

/**
 * A row that is held back moves to the lane of held rows, which no scan for due rows reads. Its predecessor is locked
 * for this. A transaction that settles the predecessor may wait for this statement, and then sees the held row. If that
 * transaction already has the lock, the row keeps its lane. Predecessors are locked before claims are written, because
 * a statement cannot lock rows that it has updated. If the courier was declared dead, or the network has delayed the
 * statement for longer than a courier uses a claim, no claim is written.
 */
const CLAIM = `
  with named as materialized (
    select id, search_number, endpoint_key, match_id, generation, lane, follows, claimed_by, attempt_count
    from open_deliveries where id = any($2::uuid[]) order by id for update skip locked
  ), due as materialized (
    select * from named where claimed_by is null and lane > ${LANE.held}
  ), decided as materialized (
    select due.id, due.lane, due.attempt_count, due.endpoint_key, predecessor.id as predecessor_id, client_id, token, context,
      case
        when is_wanted is not true or due.generation < subscription.generation then 'cancelled'
        when is_paused then 'paused'
        when predecessor.id is not null then 'held'
        when is_resuming then 'resuming'
        else 'claimed' end as decision
    from due
      left join lateral (${SUBSCRIPTION}) subscription on true
      left join lateral (${RESTRAINT}) restraint on true
      left join lateral (${PREDECESSOR}) predecessor on true
  ), predecessors as materialized (
    select p.id from open_deliveries p
    where p.id = any(array(select predecessor_id from decided where decision = 'held')) and p.lane in (${LANE.held}, ${LANE.due})
    order by p.id for share skip locked
  ), resuming as (${RESUMING}
  ), taken as materialized (
    select id from decided where decision = 'claimed' union all select id from resuming
  ), claimed as (
    update open_deliveries o set attempt_count = o.attempt_count + 1, claimed_by = $1, claimed_at = $4
    where o.id = any(array(select id from taken)) and (select count(*) from predecessors) >= 0
      and exists (select from couriers where number = $1 and process = $5)
      and statement_timestamp() < transaction_timestamp() + ${CLAIM_USED_WITHIN_MS} * interval '1 millisecond'
    returning o.id
  ), held as (
    update open_deliveries o set lane = ${LANE.held}
    where o.id = any(array(
      select id from decided where decision = 'held' and predecessor_id = any(array(select id from predecessors))))
    returning o.id
  ), ended as (
    delete from open_deliveries o
    where o.id = any(array(select id from decided where decision = 'cancelled'))
    returning o.id, o.endpoint_key, o.attempt_count, o.recovery_id
  ), recorded as (
    insert into final_outcomes (delivery_id, endpoint_key, state, attempt_count, recovery_id)
    select id, endpoint_key, 'cancelled', attempt_count, recovery_id from ended where ${NEVER_DELIVERED}
  )
  select d.id, 'claimed' as decision, lane, attempt_count + 1 as "attemptCount",
    client_id as "clientId", token, context, d.search_number as "searchNumber", d.match_id as "matchId", endpoint,
    d.endpoint_key as "endpointKey", head, snapshot_id as "snapshotId", sequence, attempts_spent as "attemptsSpent", traceparent
  from decided, lateral (select * from deliveries where id = decided.id offset 0) d
  where decided.id in (select id from taken) and exists (select from claimed)
  union all
  select id, case when decision = 'resuming' then 'paused'
    when decision = 'held' and id not in (select id from held) then 'contended' else decision end,
    null, null, null, null, null, null, null, null, null, null, null, null, null, null
  from decided where decision <> 'claimed' and id not in (select id from taken)`;

type ClaimRow = { readonly id: Uuid } & (
  | (Omit<ClaimedDelivery, 'lane' | 'startedAt'> & { readonly decision: 'claimed'; readonly lane: number })
  | { readonly decision: Refusal }
);

/**
 * Claims the due deliveries among `ids` for one attempt each. Claims none if `holder` was declared dead, as another
 * courier would abort them (`readAbandoned`) during their attempts. `startedAt`, which `webhook-timestamp` shows, is
 * `now` plus the duration of the claim, by the clock of this process. PostgreSQL's clock may be hours off, and
 * receivers refuse webhooks whose time differs from theirs. Served by the primary keys.
 */
export async function claimDeliveries(
  database: Database,
  holder: number,
  ids: readonly Uuid[],
  now: Date,
): Promise<Claims> {
  const youngFrom = firstUuidAt(new Date(now.getTime() - HELD_BACK_MAX_MS));
  const claim: Statement = { name: 'claim', text: CLAIM, values: [holder, arrayLiteral(ids), youngFrom, now, PROCESS] };
  const requestedAt = performance.now();
  const { answers } = await pipelinedTransaction(database, async () => ({ last: [passFence, claim], result: null }));
  const startedAt = new Date(now.getTime() + performance.now() - requestedAt);
  const claimed: ClaimedDelivery[] = [];
  const refused = new Map<Uuid, Refusal>();
  for (const row of (answers[1]?.rows ?? []) as ClaimRow[]) {
    if (row.decision !== 'claimed') refused.set(row.id, row.decision);
    else claimed.push({ ...row, lane: laneOf(row.lane), startedAt });
  }
  return { claimed, refused };
}

/**
 * Gives back the deliveries among `ids` that `holder` has claimed but not sent, without counting the attempt. This
 * includes claims whose answer was lost while their commit was in progress. If a resend was requested during the
 * attempt, the attempt stays counted, because the new series begins after it. Deliveries that waited for it at the
 * former endpoint are then released. Served by the primary key.
 */
export async function giveBack(database: Database, holder: number, ids: readonly Uuid[]): Promise<void> {
  const values = [holder, arrayLiteral(ids)];
  await transaction(database, async (connection) => {
    const { rows } = await connection.query<Decided & { isMoving: boolean }>({ ...LOCK_CLAIMS, values });
    await connection.query({ ...GIVE_BACK, values });
    await releaseHeld(
      connection,
      rows.filter(({ isMoving }) => isMoving),
    );
  });
}

/** Locks the rows whether `holder` has claimed them or not, because a claim that is being committed is not visible. */
const LOCK_CLAIMS = {
  name: 'lock-claims',
  text: `
  select match_id as "matchId", endpoint_key as "endpointKey", claimed_by = $1 and is_resent as "isMoving"
  from open_deliveries where id = any($2::uuid[]) order by id for update`,
};

/** A separate statement after `LOCK_CLAIMS`, so that it sees the endpoint to which a resend has moved each row. */
const GIVE_BACK = {
  name: 'give-back',
  text: `
  update open_deliveries o
  set claimed_by = null, attempt_count = o.attempt_count - (not is_resent)::integer, is_resent = false,
    endpoint_key = d.endpoint_key
  from deliveries d
  where o.id = any($2::uuid[]) and claimed_by = $1 and d.id = any($2::uuid[]) and d.id = o.id`,
};
