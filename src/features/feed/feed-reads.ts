/**
 * Reads of the feed. Transactions do not commit in the order of their numbers, so a read ends at the oldest running
 * transaction (`pg_snapshot_xmin`). No instance can then record anything before a returned position. All batches of an
 * earlier epoch are settled, because the epoch changes only after the transactions that record in it have ended.
 */

import { createHmac, timingSafeEqual } from 'node:crypto';
import type { WebhookChannel } from '../../engine/domain/delivery.ts';
import { type SearchNumber, type Uuid, uuidOf, uuidOfHex } from '../../engine/domain/ids.ts';
import type { Queryable } from '../../engine/store/database.ts';
import type { SentContent } from '../../engine/store/delivery-reads.ts';

export interface FeedQuery {
  readonly clientId: Uuid;
  readonly after: FeedPosition;
  /** Null for all searches. */
  readonly searchNumber: SearchNumber | null;
  readonly limit: number;
  /** Maximum bytes of bodies. The first item is returned regardless of its size. */
  readonly bytesMax: number;
}

/** The body is `head` followed by `document`. */
export interface FedDelivery extends SentContent {
  readonly position: FeedPosition;
  readonly id: Uuid;
  readonly searchId: Uuid;
  readonly channel: WebhookChannel;
  readonly createdAt: Date;
}

export interface FeedPage {
  readonly deliveries: readonly FedDelivery[];
  /** All items up to here were read. */
  readonly upTo: FeedPosition;
  /** True if there may be further items. */
  readonly isCut: boolean;
}

/** Maximum number of batches in one read. It is larger for one search, which may have few items in a batch. */
const BATCHES_MAX = 64;
const BATCHES_SEARCHED_MAX = 2_000;

/** The next part of the feed. If one search is selected, the page may be empty although more items follow. */
export async function readFeed(database: Queryable, query: FeedQuery): Promise<FeedPage> {
  const entries: FeedPosition[] = [];
  let upTo = query.after;
  let isCut = true;
  while (isCut && entries.length < query.limit) {
    const step = await readEntries(database, { ...query, after: upTo, limit: query.limit - entries.length });
    entries.push(...step.entries);
    ({ upTo, isCut } = step);
    if (query.searchNumber !== null) break;
  }
  if (entries.length === 0) return { deliveries: [], upTo, isCut };
  const read = await readBodies(database, entries, query.bytesMax);
  if (read.isCut) return { deliveries: read.deliveries, upTo: read.deliveries.at(-1)?.position ?? upTo, isCut: true };
  return { deliveries: read.deliveries, upTo, isCut };
}

interface EntryRow {
  readonly epoch: number;
  readonly transaction: string;
  /** Null for a batch without items to show. */
  readonly id: Uuid | null;
}

/** Served by the primary key of feed_batches; intake_leader has one row. */
async function readEntries(
  database: Queryable,
  { clientId, after, searchNumber, limit }: FeedQuery,
): Promise<{ readonly entries: readonly FeedPosition[]; readonly upTo: FeedPosition; readonly isCut: boolean }> {
  const batchesMax = searchNumber === null ? BATCHES_MAX : BATCHES_SEARCHED_MAX;
  const { rows } = await database.query<EntryRow & { readonly batch: number }>({
    name: 'read-feed-entries',
    text: `
      with batches as materialized (
        select batches.epoch, recorded_in, ids, search_numbers, row_number() over (order by batches.epoch, recorded_in) as batch
        from feed_batches batches, intake_leader
        where client_id = $1 and (batches.epoch, recorded_in) >= ($2, $3::xid8)
          and (batches.epoch < sequence_floor or recorded_in < pg_snapshot_xmin(pg_current_snapshot()))
        order by batches.epoch, recorded_in limit $6
      )
      select epoch, recorded_in::text as transaction, item.id, batch::integer from batches
      left join lateral (
        select id from unnest(ids, search_numbers) as entry(id, number)
        where ($5::integer is null or number = $5) and (epoch, recorded_in, id) > ($2, $3::xid8, $4::uuid)
      ) item on true
      where item.id is not null or batch = (select max(batch) from batches)
      order by epoch, recorded_in, item.id limit $7`,
    values: [clientId, after.epoch, String(after.transaction), after.id, searchNumber, batchesMax, limit],
  });
  const last = rows.at(-1);
  if (last === undefined) return { entries: [], upTo: after, isCut: false };
  const entries = rows.flatMap(({ epoch, transaction, id }) =>
    id === null ? [] : [{ epoch, transaction: BigInt(transaction), id }],
  );
  if (rows.length === limit && last.id !== null) {
    return { entries, upTo: entries.at(-1) as FeedPosition, isCut: true };
  }
  const upTo = endOfTransaction(last.epoch, BigInt(last.transaction));
  return { entries, upTo, isCut: last.batch === batchesMax };
}

type BodyRow = Omit<FedDelivery, 'position'> & { readonly position: number };

/** Deliveries, and items without a delivery, as one table. */
const ITEMS = `(
  select id, search_number, sequence, channel, head, snapshot_id, created_at from deliveries
  union all
  select id, search_number, sequence, channel, head, snapshot_id, created_at from feed_items)`;

/** Reads the items still kept, up to the size limit. Served by the primary keys; sizes are taken from the rows. */
async function readBodies(
  database: Queryable,
  places: readonly FeedPosition[],
  bytesMax: number,
): Promise<{ readonly deliveries: readonly FedDelivery[]; readonly isCut: boolean }> {
  const { rows } = await database.query<BodyRow & { readonly hasMore: boolean }>({
    name: 'read-feed-bodies',
    text: `
      with sized as (
        select wanted.position, item.*, document,
          sum(octet_length(head) + octet_length(document)) over (order by wanted.position) as bytes,
          row_number() over (order by wanted.position) as rank
        from unnest($1::uuid[]) with ordinality as wanted(id, position)
        join ${ITEMS} item on item.id = wanted.id join snapshots on snapshots.id = snapshot_id
      )
      select (position - 1)::integer as position, sized.id, sequence, channel, sized.created_at as "createdAt", head,
        document, searches.id as "searchId", context, hide_property_contact as "hidesContacts",
        (select max(rank) from sized) > (select count(*) from sized where bytes <= $2 or rank = 1) as "hasMore"
      from sized join searches on number = search_number
      where bytes <= $2 or rank = 1 order by sized.position`,
    values: [places.map(({ id }) => id), bytesMax],
  });
  const deliveries = rows.map(({ position, hasMore: _more, ...row }) => {
    return { ...row, position: places[position] as FeedPosition };
  });
  return { deliveries, isCut: rows[0]?.hasMore ?? false };
}

/** The state against which cursors are validated. */
export interface FeedBounds {
  /** The current epoch. A cursor of another epoch was issued before a restore or for another stream. */
  readonly epoch: number;
  /** Position of the last removed item: kept items follow it. */
  readonly floor: FeedPosition;
}

/** Served by the primary key; intake_leader has one row. */
export async function readFeedBounds(database: Queryable, clientId: Uuid): Promise<FeedBounds> {
  const { rows } = await database.query<{
    epoch: number;
    floorEpoch: number | null;
    transaction: string | null;
    id: Uuid | null;
  }>({
    name: 'read-feed-bounds',
    text: `
      select sequence_floor as epoch, feed_floors.epoch as "floorEpoch", recorded_in::text as transaction, feed_floors.id
      from intake_leader left join feed_floors on client_id = $1`,
    values: [clientId],
  });
  const { epoch, floorEpoch, transaction, id } = rows[0] as (typeof rows)[number];
  const isWhole = floorEpoch === null || transaction === null || id === null;
  return {
    epoch,
    floor: isWhole ? FEED_START : { epoch: floorEpoch, transaction: BigInt(transaction), id },
  };
}

/** Position after all items that can be shown now; items still being recorded follow it. Reads one row. */
export async function readFeedEnd(database: Queryable): Promise<FeedPosition> {
  const { rows } = await database.query<{ epoch: number; begins: string }>({
    name: 'read-feed-end',
    text: `
      select sequence_floor as epoch, pg_snapshot_xmin(pg_current_snapshot())::text as begins from intake_leader`,
  });
  const { epoch, begins } = rows[0] as (typeof rows)[number];
  return endOfTransaction(epoch, BigInt(begins) - 1n);
}

/** Reads one row. */
export async function readFeedKey(database: Queryable): Promise<Buffer> {
  const { rows } = await database.query<{ key: Buffer }>('select key from feed_keys');
  return (rows[0] as { key: Buffer }).key;
}

/**
 * Age in seconds of the oldest batch that cannot be shown yet because an earlier transaction is running; 0 if there is
 * none. Served by the primary key, once per client; intake_leader has one row.
 */
export async function readFeedDelay(database: Queryable): Promise<number> {
  const { rows } = await database.query<{ seconds: number }>({
    name: 'read-feed-delay',
    text: `
      select coalesce(extract(epoch from clock_timestamp() - min(held.created_at)), 0)::float8 as seconds
      from intake_leader cross join clients cross join lateral (
        select created_at from feed_batches batches
        where client_id = clients.id and batches.epoch = sequence_floor
          and recorded_in >= pg_snapshot_xmin(pg_current_snapshot())
        order by recorded_in limit 1
      ) held`,
    values: [],
  });
  return Math.max(0, rows[0]?.seconds ?? 0);
}

/**
 * Content of a feed cursor. The installation signs it for one client and filter, so a client can neither forge a cursor
 * nor use one issued for another scope. It is not encrypted.
 */
interface FeedCursor {
  /** Epoch in which the cursor was issued. */
  readonly givenIn: number;
  readonly position: FeedPosition;
}

export interface FeedScope {
  readonly clientId: Uuid;
  /** Null for all searches. */
  readonly searchId: Uuid | null;
}

const VERSION = 1;
const PLACE_BYTES = 1 + 4 + 4 + 8 + 16;
/** Length of the truncated HMAC-SHA256; 128 bits cannot be guessed. */
const SEAL_BYTES = 16;

export function writeCursor({ givenIn, position }: FeedCursor, scope: FeedScope, key: Buffer): string {
  const bytes = Buffer.alloc(PLACE_BYTES);
  bytes.writeUInt8(VERSION, 0);
  bytes.writeUInt32BE(givenIn, 1);
  bytes.writeUInt32BE(position.epoch, 5);
  bytes.writeBigUInt64BE(position.transaction, 9);
  bytes.write(position.id.replaceAll('-', ''), 17, 'hex');
  return Buffer.concat([bytes, sealOf(bytes, scope, key)]).toString('base64url');
}

/** Null if the cursor was not issued for this scope. */
export function readCursor(text: string, scope: FeedScope, key: Buffer): FeedCursor | null {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.length !== PLACE_BYTES + SEAL_BYTES || bytes.toString('base64url') !== text) return null;
  const content = bytes.subarray(0, PLACE_BYTES);
  if (!timingSafeEqual(bytes.subarray(PLACE_BYTES), sealOf(content, scope, key))) return null;
  const id = uuidOfHex(content.subarray(17).toString('hex'));
  const position = { epoch: content.readUInt32BE(5), transaction: content.readBigUInt64BE(9), id };
  return { givenIn: content.readUInt32BE(1), position };
}

function sealOf(content: Buffer, { clientId, searchId }: FeedScope, key: Buffer): Buffer {
  return createHmac('sha256', key)
    .update(content)
    .update(`${clientId}/${searchId ?? ''}`)
    .digest()
    .subarray(0, SEAL_BYTES);
}

/**
 * Orders a client's feed by epoch, transaction and delivery, which is the order of recording. The epoch grows with each
 * new stream of adverts and each restore of the database. After a restore, transaction numbers may repeat.
 */
export interface FeedPosition {
  readonly epoch: number;
  /** Number of the recording transaction. */
  readonly transaction: bigint;
  readonly id: Uuid;
}

const LOWEST_ID = uuidOf('00000000-0000-0000-0000-000000000000');
const HIGHEST_ID = uuidOf('ffffffff-ffff-ffff-ffff-ffffffffffff');

export const FEED_START: FeedPosition = { epoch: 0, transaction: 0n, id: LOWEST_ID };

/** Position after all items that the transaction has recorded. */
function endOfTransaction(epoch: number, transaction: bigint): FeedPosition {
  return { epoch, transaction, id: HIGHEST_ID };
}

export function isBefore(one: FeedPosition, other: FeedPosition): boolean {
  if (one.epoch !== other.epoch) return one.epoch < other.epoch;
  return one.transaction === other.transaction ? one.id < other.id : one.transaction < other.transaction;
}
