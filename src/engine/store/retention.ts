/**
 * Removes expired data (defined in domain/retention.ts) in small batches.
 *
 * Dropping partitions by day would be cheaper and leave no dead rows. But an old row may still be needed. Examples are
 * a delivery that waits for a paused endpoint, its snapshot, or a match of a property that is still for sale. One such
 * row would keep a day's partition for months, and the couriers' indexes of open deliveries would have one part per
 * day. Therefore rows are deleted, at the cost of a second write per row, and vacuum cleans the pages (the schema makes
 * it run early). The primary keys of recorded rows are in time order, so a batch is a range of keys and needs no other
 * index.
 *
 * Each batch is one statement in its own short transaction. Two concurrent runs do no harm.
 */

import { createdAtOf, firstUuidAt } from '../domain/ids.ts';
import type { RetainedTable } from '../domain/retention.ts';
import type { Queryable } from './database.ts';
import { isInAnyLane } from './delivery-states.ts';
import { forgetFeed, readForgetfulClients, removeFeedItems } from './feed-batches.ts';

/** Number of rows that a batch has removed from each table. */
export type Removed = Partial<Readonly<Record<RetainedTable, number>>>;
/** Each step removes one batch. The generator ends when no expired rows are left. */
export type Batches = AsyncGenerator<Removed, void, void>;

const ROWS_PER_BATCH = 2_000;
/** Smaller than `ROWS_PER_BATCH`, because a property has about ten matches. */
const PROPERTIES_PER_BATCH = 200;
const SEARCHES_PER_BATCH = 100;

/** PostgreSQL's current time. */
export async function readClock(client: Queryable): Promise<Date> {
  const { rows } = await client.query<{ now: Date }>('select clock_timestamp() as now');
  return (rows[0] as { now: Date }).now;
}

const RECORDED_AT = { events: 'recorded_at', search_changes: 'changed_at' } as const;

/** Removes rows that were recorded before `before`, the oldest first. No row refers to rows of these tables. */
export async function* removeRecorded(client: Queryable, table: keyof typeof RECORDED_AT, before: Date): Batches {
  for await (const { after, last } of ranges<string>(client, table, '0', null)) {
    const count = await countOf(
      client,
      `delete from ${table} where id > $1 and id <= $2 and ${RECORDED_AT[table]} < $3`,
      [after, last, before],
    );
    if (count === 0) return;
    yield { [table]: count };
  }
}

/**
 * Removes deliveries that became final before `before`, with their attempts. Skips open deliveries, and those for which
 * a concurrent resend has incremented `replay_count`.
 */
export async function* removeDeliveries(client: Queryable, before: Date): Batches {
  for await (const { after, last } of ranges(client, 'deliveries', firstUuidAt(new Date(0)), firstUuidAt(before))) {
    const { rows } = await client.query<{ deliveries: number; attempts: number }>(
      `with final as materialized (
         select id, replay_count from delivery_states where id > $1 and id <= $2 and finished_at < $3
       ), gone as (
         delete from deliveries d using final
         where d.id > $1 and d.id <= $2 and d.id = final.id and d.replay_count = final.replay_count returning d.id
       ), ended as (
         delete from final_outcomes where delivery_id in (select id from gone)
       ), logged as (
         delete from attempts
         where delivery_id > $1 and delivery_id <= $2 and delivery_id in (select id from gone) returning 1
       )
       select (select count(*) from gone)::integer as deliveries, (select count(*) from logged)::integer as attempts`,
      [after, last, before],
    );
    yield rows[0] as Removed;
  }
}

/** Maximum time between the ids of a snapshot and its deliveries. One transaction creates both, the snapshot first. */
const SNAPSHOT_TO_DELIVERY_MAX_MS = 60_000;

/** Removes the feed of each client up to `before`, in order. */
export async function* removeFeed(client: Queryable, before: Date): Batches {
  for (const clientId of await readForgetfulClients(client, before)) {
    yield* fullBatches('feed_batches', (limit) => forgetFeed(client, clientId, before, limit));
  }
  const below = firstUuidAt(before);
  yield* fullBatches('feed_items', (limit) => removeFeedItems(client, { below, before, limit }));
}

/** Removes snapshots older than `before` to which nothing refers. Deliveries and feed items must be removed first. */
export async function* removeSnapshots(client: Queryable, before: Date): Batches {
  for await (const { after, last } of ranges(client, 'snapshots', firstUuidAt(new Date(0)), firstUuidAt(before))) {
    const snapshots = await countOf(
      client,
      // Served by the primary keys. Rows that refer to a snapshot were created with it, so only a range is searched.
      `delete from snapshots
       where id > $1 and id <= $2 and not exists (
         select from deliveries where deliveries.id between $3 and $4 and snapshot_id = snapshots.id)
       and not exists (
         select from feed_items where feed_items.id between $3 and $4 and snapshot_id = snapshots.id)`,
      [
        after,
        last,
        firstUuidAt(createdAtOf(after)),
        firstUuidAt(new Date(createdAtOf(last).getTime() + SNAPSHOT_TO_DELIVERY_MAX_MS)),
      ],
    );
    yield { snapshots };
  }
}

interface RemovedProperty {
  readonly expiredAt: Date;
  /** Number of matches that the whole batch has removed. */
  readonly matchCount: number;
}

/** Skips locked properties, because a change of them is being recorded. */
const REMOVE_EXPIRED = `
  with expired as materialized (
    select uuid from properties
    where expired_at < $1 and updated_at < $1 and ($2::timestamptz is null or expired_at >= $2)
    order by expired_at limit $3 for update skip locked
  ), pairs as (
    delete from matches where property_uuid = any(array(select uuid from expired)) returning 1
  )
  delete from properties where uuid = any(array(select uuid from expired))
  returning expired_at as "expiredAt", (select count(*) from pairs)::integer as "matchCount"`;

/**
 * Removes properties whose last advert expired before `before`, and which were not written since, with their matches.
 * Served by properties_expired, the primary key and the unique index of matches.
 */
export async function* removeExpiredProperties(client: Queryable, before: Date): Batches {
  for (let since: Date | null = null; ; ) {
    const { rows }: { rows: RemovedProperty[] } = await client.query(REMOVE_EXPIRED, [
      before,
      since,
      PROPERTIES_PER_BATCH,
    ]);
    if (rows[0] === undefined) return;
    yield { properties: rows.length, matches: rows[0].matchCount };
    since = rows.reduce((latest, { expiredAt }) => (expiredAt > latest ? expiredAt : latest), rows[0].expiredAt);
  }
}

/**
 * Removes searches that were deleted before `before` and have no deliveries, with their matches and changes. Served by
 * searches_deleted, deliveries_search, mail_items_search, matches_search and search_changes_search.
 */
export async function* removeDeletedSearches(client: Queryable, before: Date): Batches {
  for (;;) {
    const { rows } = await client.query<{ number: number }>(
      `select number from searches
       where deleted_at < $1 and not exists (select from deliveries where search_number = number)
         and not exists (select from mail_items where search_number = number)
       order by deleted_at limit $2`,
      [before, SEARCHES_PER_BATCH],
    );
    if (rows.length === 0) return;
    const numbers = rows.map(({ number }) => number);
    const removeMatches = `delete from matches where id in (
      select id from matches where search_number = any($1::integer[]) limit $2)`;
    yield* fullBatches('matches', (limit) => countOf(client, removeMatches, [numbers, limit]));
    const changes = 'delete from search_changes where search_number = any($1::integer[])';
    yield { search_changes: await countOf(client, changes, [numbers]) };
    yield { searches: await countOf(client, 'delete from searches where number = any($1::integer[])', [numbers]) };
  }
}

/**
 * Removes endpoints that were not used since `before`, unless they are paused or have deliveries that may still be
 * sent. Reads all endpoints, of which there are thousands. Deliveries are found by open_endpoint and
 * final_outcomes_failed.
 */
export async function* removeUnusedEndpoints(client: Queryable, before: Date): Batches {
  const endpoints = await countOf(
    client,
    `delete from endpoints
     where paused_at is null and greatest(last_success_at, last_failure_at) < $1
       and not exists (select from open_deliveries where endpoint_key = key and ${isInAnyLane()})
       and not exists (select from final_outcomes where endpoint_key = key and state = 'failed')`,
    [before],
  );
  yield { endpoints };
}

/** Repeats `remove` until it removes fewer rows than the limit. */
export async function* fullBatches(table: RetainedTable, remove: (limit: number) => Promise<number>): Batches {
  for (let count = ROWS_PER_BATCH; count === ROWS_PER_BATCH; ) {
    count = await remove(ROWS_PER_BATCH);
    yield { [table]: count };
  }
}

interface Range<Id extends string> {
  /** Exclusive. */
  readonly after: Id;
  /** Inclusive. */
  readonly last: Id;
}

/**
 * The keys of a table in ascending ranges of `ROWS_PER_BATCH` rows, up to `below` or, if that is null, to the end of
 * the table. A range starts where the last one ended, so recently deleted rows are not scanned. Served by the primary
 * key.
 */
export async function* ranges<Id extends string>(
  client: Queryable,
  table: 'events' | 'search_changes' | 'deliveries' | 'snapshots' | 'mail_items',
  lowest: Id,
  below: Id | null,
): AsyncGenerator<Range<Id>, void, void> {
  for (let after = lowest; ; ) {
    const { rows } = await client.query<{ last: Id }>(
      `select id::text as last from (
         select id from ${table} where id > $1 and ${below === null ? '$2::text is null' : 'id < $2'}
         order by id limit $3) as batch
       order by id desc limit 1`,
      [after, below, ROWS_PER_BATCH],
    );
    const [end] = rows;
    if (end === undefined) return;
    yield { after, last: end.last };
    after = end.last;
  }
}

async function countOf(client: Queryable, text: string, values: readonly unknown[]): Promise<number> {
  const { rowCount } = await client.query({ text, values: [...values] });
  return rowCount ?? 0;
}
