/**
 * The recorder's rows for the feed (decisions, section 11). A batch has the ids of a client's notifications in one
 * transaction. A notification for which its search has no endpoint has no delivery, so it is stored as an item.
 */

import type { NewDelivery } from '../domain/delivery.ts';
import type { Uuid } from '../domain/ids.ts';
import { memberArrays } from './array-literal.ts';
import type { Queryable, Statement } from './database.ts';
import { statementShares } from './statement-share.ts';

/** The data of the webhook that would be sent if the search had an endpoint for it. */
export type FeedItem = Omit<NewDelivery, 'generation' | 'endpoint' | 'traceparent'>;

/** A delivery or an item of the feed, with its client. */
export interface FeedEntry extends Pick<FeedItem, 'id' | 'searchNumber'> {
  readonly clientId: Uuid;
}

/** Approximate size of an item in bytes, without its longest member. */
const ROW_LENGTH = 512;

export function insertFeedItems(items: readonly FeedItem[]): readonly Statement[] {
  return statementShares(items, ({ head }) => head.length + ROW_LENGTH).map((share) => ({
    name: 'insert-feed-items',
    text: `
      insert into feed_items (id, search_number, match_id, sequence, channel, kind, head, snapshot_id)
      select * from json_to_recordset($1) as written(id uuid, "searchNumber" integer, "matchId" uuid, sequence integer,
        channel text, kind text, head text, "snapshotId" uuid)`,
    values: [JSON.stringify(share)],
  }));
}

/** `epoch` is the sequence floor that the transaction has read. Within a match, ids ascend with the sequence. */
export function insertFeedBatches(entries: readonly FeedEntry[], epoch: number): readonly Statement[] {
  if (entries.length === 0) return [];
  return [
    {
      name: 'insert-feed-batches',
      text: `
      insert into feed_batches (client_id, epoch, recorded_in, ids, search_numbers)
      select client_id, $4, pg_current_xact_id(), array_agg(id order by id), array_agg(search_number order by id)
      from unnest($1::uuid[], $2::uuid[], $3::integer[]) as told(client_id, id, search_number) group by client_id`,
      values: [...memberArrays(entries, 'clientId', 'id', 'searchNumber'), epoch],
    },
  ];
}

/** Clients whose oldest batch is older than `before`. A loose scan of the primary key, with two descents per client. */
export async function readForgetfulClients(client: Queryable, before: Date): Promise<readonly Uuid[]> {
  const { rows } = await client.query<{ id: Uuid }>(
    `with recursive fed as (
       (select client_id from feed_batches order by client_id limit 1)
       union all
       select (select client_id from feed_batches where client_id > fed.client_id order by client_id limit 1)
       from fed where fed.client_id is not null
     )
     select client_id as id from fed, lateral (
       select created_at from feed_batches where client_id = fed.client_id order by epoch, recorded_in limit 1
     ) oldest
     where oldest.created_at < $1`,
    [before],
  );
  return rows.map(({ id }) => id);
}

/**
 * Removes batches older than `before` among the `limit` oldest ones of a client, and stores where the removed part
 * ends. Resolves with the number of removed batches. Served by the primary keys.
 */
export async function forgetFeed(client: Queryable, clientId: Uuid, before: Date, limit: number): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    `with oldest as materialized (
       select epoch, recorded_in, created_at, ids[cardinality(ids)] as id from feed_batches
       where client_id = $1 order by epoch, recorded_in limit $3
     ), last as materialized (
       select epoch, recorded_in, id from oldest where created_at < $2 order by epoch desc, recorded_in desc limit 1
     ), noted as (
       insert into feed_floors select $1, epoch, recorded_in, id from last
       on conflict (client_id) do update
       set epoch = excluded.epoch, recorded_in = excluded.recorded_in, id = excluded.id
     ), gone as (
       delete from feed_batches using last
       where client_id = $1 and (feed_batches.epoch, feed_batches.recorded_in) <= (last.epoch, last.recorded_in)
       returning 1
     )
     select count(*)::integer as count from gone`,
    [clientId, before, limit],
  );
  return rows[0]?.count ?? 0;
}

/** Removes items older than `before`, and resolves with their number. Served by the primary key. */
export async function removeFeedItems(
  client: Queryable,
  range: { readonly below: Uuid; readonly before: Date; readonly limit: number },
): Promise<number> {
  const { rowCount } = await client.query(
    `delete from feed_items where created_at < $2 and id in (
       select id from feed_items where id < $1 order by id limit $3)`,
    [range.below, range.before, range.limit],
  );
  return rowCount ?? 0;
}
