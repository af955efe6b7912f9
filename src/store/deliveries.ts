/**
 * Deliveries: recorded, dispatched, and taken for an attempt (domain/delivery.ts has the states; attempts.ts records how
 * they ended). An attempt is counted when it is claimed, before any byte is sent, and every time is PostgreSQL's, so
 * instances with different clocks agree on what is due. Rows are locked in key order everywhere, so that batches never
 * lock each other out.
 */

import { type DeliveryState, isFinal, type NewDelivery } from '../domain/delivery.ts';
import type { SearchNumber, Uuid } from '../domain/ids.ts';
import type { Queryable, Statement } from './database.ts';
import { statementShares } from './statement-share.ts';

/** Of a written delivery, but for its longest members. */
const ROW_LENGTH = 512;

export function insertDeliveries(
  deliveries: readonly (NewDelivery & { readonly endpointKey: string })[],
): readonly Statement[] {
  const rows = deliveries.map((delivery) => ({
    id: delivery.id,
    search_number: delivery.searchNumber,
    match_id: delivery.matchId,
    channel: delivery.channel,
    kind: delivery.kind,
    endpoint: delivery.endpoint,
    endpoint_key: delivery.endpointKey,
    head: delivery.head,
    snapshot_id: delivery.snapshotId,
    traceparent: delivery.traceparent,
  }));
  return statementShares(rows, ({ head, endpoint }) => head.length + endpoint.length + ROW_LENGTH).map((share) => ({
    name: 'insert-deliveries',
    text: `
      insert into deliveries (id, search_number, match_id, channel, kind, endpoint, endpoint_key, head, snapshot_id,
        traceparent)
      select * from json_to_recordset($1) as written(id uuid, search_number integer, match_id uuid, channel text,
        kind text, endpoint text, endpoint_key text, head text, snapshot_id uuid, traceparent text)`,
    values: [JSON.stringify(share)],
  }));
}

export interface ClaimedDelivery {
  readonly id: Uuid;
  readonly searchNumber: SearchNumber;
  readonly endpoint: string;
  readonly endpointKey: string;
  readonly head: string;
  readonly snapshotId: Uuid;
  readonly token: string;
  /** This attempt's number, from 1; counts on over replays. */
  readonly attemptCount: number;
  /** Attempts made before the last replay: they do not count against the retries. */
  readonly attemptsSpent: number;
  readonly startedAt: Date;
  readonly traceparent: string | null;
}

/** Why a delivery was not claimed, and when to look again: null when its message has nothing more to do. */
export interface RefusedClaim {
  readonly id: Uuid;
  readonly state: DeliveryState;
  readonly dueInMs: number | null;
}

/** Takes the rows of `due (id, next_state)`. */
const TAKE_DUE = `
  taken as (
    update deliveries
    set state = next_state,
      attempt_count = attempt_count + (next_state = 'sending')::integer,
      attempt_started_at = case when next_state = 'sending' then clock_timestamp() end,
      due_at = case when next_state = 'sending' then clock_timestamp() + $1 * interval '1 millisecond' else due_at end,
      finished_at = case when next_state = 'cancelled' then clock_timestamp() end
    from due where deliveries.id = due.id
    returning deliveries.*
  )
  select taken.id, search_number as "searchNumber", endpoint, endpoint_key as "endpointKey", head,
    snapshot_id as "snapshotId", token, attempt_count as "attemptCount", attempts_spent as "attemptsSpent",
    attempt_started_at as "startedAt", traceparent
  from taken join searches on searches.number = search_number
  where state = 'sending'`;

/**
 * Takes the rows of `locked`. One whose search is gone, silent, or was so since it was recorded, is cancelled instead of
 * sent; the search is locked against that meanwhile, so when it has been answered, no attempt begins. One whose endpoint,
 * or its URL for every client, is paused is parked: from the end of a pause's transaction on, no attempt starts.
 */
const DUE = `
  telling as materialized (
    select number, cancelled_before from searches
    where number = any(array(select search_number from locked)) and deleted_at is null and notification_enabled
    order by number for key share
  ), silenced as materialized (
    select * from telling where cancelled_before is not null
  ), due as (
    select id, case
      when search_number not in (select number from telling) then 'cancelled'
      when exists (select from silenced where number = search_number and created_at < cancelled_before) then 'cancelled'
      when exists (
        select from endpoints where key in (endpoint_key, left(endpoint_key, 16)) and paused_at is not null) then 'parked'
      else 'sending' end as next_state
    from locked
  )`;

/**
 * Takes the due ones among `ids` for one attempt each, for at most `leaseMs`. Served by the primary key: states are
 * looked at once the rows are locked. In one condition with the keys they make PostgreSQL read all of an index of states,
 * where every delivery of the last minutes has left dead entries.
 */
export async function claimDeliveries(
  client: Queryable,
  ids: readonly Uuid[],
  leaseMs: number,
): Promise<readonly ClaimedDelivery[]> {
  const { rows } = await client.query<ClaimedDelivery>({
    name: 'claim-deliveries',
    text: `
      with named as materialized (
        select id, search_number, endpoint_key, created_at, state, due_at from deliveries
        where id = any($2::uuid[]) order by id for update
      ), locked as materialized (
        select * from named where state in ('queued', 'retry_wait') and due_at <= clock_timestamp()
      ), ${DUE}, ${TAKE_DUE}`,
    values: [leaseMs, ids],
  });
  return rows;
}

/** What may be drawn from the parked deliveries of one endpoint. */
export interface Draw {
  readonly endpointKey: string;
  readonly count: number;
}

/**
 * Takes up to `count` parked deliveries of each endpoint, oldest first; those that another instance is taking are
 * passed over. Served by index `deliveries_parked`.
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
        select parked.*
        from unnest($2::text[], $3::integer[]) as draw(key, count), lateral (
          select id, search_number, endpoint_key, created_at from deliveries
          where endpoint_key = draw.key and state = 'parked' and due_at <= clock_timestamp()
          order by due_at limit draw.count for update skip locked
        ) parked
      ), ${DUE}, ${TAKE_DUE}`,
    values: [leaseMs, draws.map(({ endpointKey }) => endpointKey), draws.map(({ count }) => count)],
  });
  return rows;
}

/** Sets deliveries aside without using an attempt. Served by the primary key. */
export async function parkDeliveries(client: Queryable, ids: readonly Uuid[]): Promise<void> {
  await client.query({
    name: 'park-deliveries',
    text: `
      with locked as (
        select id, state from deliveries where id = any($1::uuid[]) order by id for update
      )
      update deliveries set state = 'parked'
      from locked where deliveries.id = locked.id and locked.state in ('queued', 'retry_wait')`,
    values: [ids],
  });
}

/** Endpoints that have parked deliveries, by a loose scan of index `deliveries_parked`: its cost is their number. */
export async function readParkedEndpoints(client: Queryable): Promise<readonly string[]> {
  const { rows } = await client.query<{ endpoint_key: string }>(`
    with recursive parked as (
      (select endpoint_key from deliveries where state = 'parked' order by endpoint_key limit 1)
      union all
      select (
        select endpoint_key from deliveries
        where state = 'parked' and endpoint_key > parked.endpoint_key order by endpoint_key limit 1)
      from parked where parked.endpoint_key is not null
    )
    select endpoint_key from parked where endpoint_key is not null`);
  return rows.map(({ endpoint_key }) => endpoint_key);
}

/** What to do with the messages of deliveries that could not be claimed. Served by the primary key. */
export async function readRefusals(client: Queryable, ids: readonly Uuid[]): Promise<readonly RefusedClaim[]> {
  const { rows } = await client.query<{ id: Uuid; state: DeliveryState; due_in_ms: number }>({
    name: 'read-refusals',
    text: `
      select id, state, ceil(extract(epoch from due_at - clock_timestamp()) * 1000)::float8 as due_in_ms
      from deliveries where id = any($1::uuid[])`,
    values: [ids],
  });
  // Parked ones need no message: they are drawn from the table.
  return rows.map(({ id, state, due_in_ms }) => ({
    id,
    state,
    dueInMs: isFinal(state) || state === 'parked' ? null : Math.max(0, due_in_ms),
  }));
}

export interface DeliveryAddress {
  readonly id: Uuid;
  readonly endpointKey: string;
}

/** A delivery that a message should point at. */
export interface DueDelivery extends DeliveryAddress {
  readonly attemptCount: number;
  /** 0 when it is due. */
  readonly dueInMs: number;
}

const DUE_COLUMNS = `id, endpoint_key as "endpointKey", attempt_count as "attemptCount",
  greatest(0, ceil(extract(epoch from due_at - clock_timestamp()) * 1000))::float8 as "dueInMs"`;

/** The open ones among `ids`, to publish. Served by the primary key. */
export async function readOpenAddresses(client: Queryable, ids: readonly Uuid[]): Promise<readonly DeliveryAddress[]> {
  const { rows } = await client.query<{ id: Uuid; endpoint_key: string }>(
    `select id, endpoint_key from deliveries where id = any($1::uuid[]) and state in ('queued', 'retry_wait')`,
    [ids],
  );
  return rows.map(({ id, endpoint_key }) => ({ id, endpointKey: endpoint_key }));
}

/**
 * Deliveries that should have been attempted `overdueMs` ago, longest overdue first; `withFirst`: first attempts as well
 * as retries. Served by index `deliveries_dispatched`.
 */
export async function readOverdue(
  client: Queryable,
  overdueMs: number,
  limit: number,
  withFirst: boolean,
): Promise<readonly DueDelivery[]> {
  const { rows } = await client.query<DueDelivery>(
    `select ${DUE_COLUMNS} from deliveries
     where state in ('queued', 'retry_wait') and due_at <= clock_timestamp() - $1 * interval '1 millisecond'
       and ($3 or attempt_count > 0)
     order by due_at limit $2`,
    [overdueMs, limit, withFirst],
  );
  return rows;
}

/** Where a page of overdue deliveries ended; `dueAt` is PostgreSQL's text: a `Date` would lose the microseconds. */
export interface OverduePlace {
  readonly id: Uuid;
  readonly dueAt: string;
}

/**
 * The same, one page behind `after`: whole transactions fall due at one moment, so their ids go on. Served by index
 * `deliveries_dispatched`, sorted by id where times are equal.
 */
export async function readOverduePage(
  client: Queryable,
  overdueMs: number,
  after: OverduePlace | null,
  limit: number,
): Promise<readonly OverduePlace[]> {
  const { rows } = await client.query<OverduePlace>(
    `select id, due_at::text as "dueAt" from deliveries
     where state in ('queued', 'retry_wait') and due_at <= clock_timestamp() - $1 * interval '1 millisecond'
       and due_at >= $2 and (due_at, id) > ($2, $3)
     order by due_at, id limit $4`,
    [overdueMs, after?.dueAt ?? '-infinity', after?.id ?? '00000000-0000-0000-0000-000000000000', limit],
  );
  return rows;
}

/** First attempts that are due, the newest first. Served by index `deliveries_dispatched`, from its end. */
export async function readNewestQueued(client: Queryable, limit: number): Promise<readonly DeliveryAddress[]> {
  const { rows } = await client.query<DeliveryAddress>({
    name: 'read-newest-queued',
    text: `
      select id, endpoint_key as "endpointKey" from deliveries
      where state in ('queued', 'sending', 'retry_wait') and state = 'queued' and due_at <= now()
      order by due_at desc, id desc limit $1`,
    values: [limit],
  });
  return rows;
}

/**
 * Every delivery that a message should point at, one page in key order; `after`: the last one of the page before.
 * Served by the primary key.
 */
export async function readDispatched(client: Queryable, after: Uuid, limit: number): Promise<readonly DueDelivery[]> {
  const { rows } = await client.query<DueDelivery>(
    `select ${DUE_COLUMNS} from deliveries
     where id > $1 and state in ('queued', 'sending', 'retry_wait') order by id limit $2`,
    [after, limit],
  );
  return rows;
}
