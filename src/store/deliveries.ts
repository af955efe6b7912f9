/**
 * Deliveries: recorded, dispatched and set aside (domain/delivery.ts has the states; delivery-claims.ts takes them for an
 * attempt, and attempts.ts records how that ended). Rows are locked in key order everywhere, so that batches never lock
 * each other out.
 */

import { type DeliveryState, isFinal, type NewDelivery } from '../domain/delivery.ts';
import type { Uuid } from '../domain/ids.ts';
import type { Queryable, Statement } from './database.ts';
import { WAITING } from './delivery-states.ts';
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
    sequence: delivery.sequence,
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
      insert into deliveries (id, search_number, match_id, sequence, channel, kind, endpoint, endpoint_key, head,
        snapshot_id, traceparent)
      select * from json_to_recordset($1) as written(id uuid, search_number integer, match_id uuid, sequence integer,
        channel text, kind text, endpoint text, endpoint_key text, head text, snapshot_id uuid, traceparent text)`,
    values: [JSON.stringify(share)],
  }));
}

/** Why a delivery was not claimed, and when to look again: null when its message has nothing more to do. */
export interface RefusedClaim {
  readonly id: Uuid;
  readonly state: DeliveryState;
  readonly dueInMs: number | null;
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
      from locked where deliveries.id = locked.id and locked.state in ${WAITING}`,
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
    `select id, endpoint_key from deliveries where id = any($1::uuid[]) and state in ${WAITING}`,
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
     where state in ${WAITING} and due_at <= clock_timestamp() - $1 * interval '1 millisecond'
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
     where state in ${WAITING} and due_at <= clock_timestamp() - $1 * interval '1 millisecond'
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
