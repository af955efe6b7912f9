/** The stored state of properties. Rows are locked while a change is recorded: a property has one writer at a time. */

import type { HeldProperty } from '../domain/change.ts';
import type { Uuid } from '../domain/ids.ts';
import { changedAtOf } from '../domain/property.ts';
import { readState, stateText } from '../domain/stored-property.ts';
import { arrayLiteral, joinedJson, jsonTexts } from './array-literal.ts';
import { cutOfListed, LISTED_MATCHES, LISTED_MAX, type ListedPage, listedOfClient } from './client-listings.ts';
import type { Queryable, Statement } from './database.ts';
import { statementShares } from './statement-share.ts';

export interface PropertyWrite {
  readonly held: HeldProperty;
  /** When the last advert expired; null while one is live. */
  readonly expiredAt: string | null;
}

export interface LockedProperty {
  /** Null when its state is too large to be read along with the lock. */
  readonly held: HeldProperty | null;
  /** The size of its state as stored. */
  readonly bytes: number;
}

/** A batch reads states up to this size with the lock, and a few larger ones afterwards. */
const READ_AT_ONCE_BYTES = 128 * 1_024;

/** A row of the table. */
export interface HeldRow {
  readonly state: string;
  readonly crawls: HeldProperty['crawls'];
}

export function heldOf({ state, crawls }: HeldRow): HeldProperty {
  return { state: readState(state), crawls };
}

type KeyedRow = HeldRow & { readonly uuid: Uuid };

/** Locks and reads the known `uuids`, in key order, so that batches do not deadlock. Served by the primary key. */
export async function lockProperties(client: Queryable, uuids: readonly Uuid[]): Promise<Map<Uuid, LockedProperty>> {
  const { rows } = await client.query<Omit<KeyedRow, 'state'> & { state: string | null; bytes: number }>({
    name: 'lock-properties',
    text: `
      select uuid, bytes, case when bytes <= $2 then state end as state, crawls from (
        select uuid, state_bytes as bytes, state, crawls
        from properties where uuid = any($1::uuid[]) order by uuid for update
      ) locked`,
    values: [uuids, READ_AT_ONCE_BYTES],
  });
  return new Map(
    rows.map(({ uuid, bytes, state, crawls }) => [
      uuid,
      { bytes, held: state === null ? null : heldOf({ state, crawls }) },
    ]),
  );
}

/** The states that `lockProperties` left out. Served by the primary key. */
export async function readLocked(client: Queryable, uuids: readonly Uuid[]): Promise<ReadonlyMap<Uuid, HeldProperty>> {
  const { rows } = await client.query<KeyedRow>({
    name: 'read-locked',
    text: 'select uuid, state, crawls from properties where uuid = any($1::uuid[])',
    values: [uuids],
  });
  return new Map(rows.map((row) => [row.uuid, heldOf(row)]));
}

/** Served by the primary key. */
export async function readProperty(database: Queryable, uuid: Uuid): Promise<HeldProperty | null> {
  const { rows } = await database.query<HeldRow>('select state, crawls from properties where uuid = $1', [uuid]);
  return rows[0] === undefined ? null : heldOf(rows[0]);
}

/** Rows of the parameters that `columnsOf` creates. */
const WRITTEN = `
  unnest($1::uuid[], ${jsonTexts('$2')}, ${jsonTexts('$3')}, $4::timestamptz[], $5::integer[], $6::timestamptz[])
  as written(uuid, state, crawls, expired_at, state_bytes, changed_at)`;

type Row = PropertyWrite & { readonly state: string };

/** The rows, divided by statement. */
function rowsOf(writes: readonly PropertyWrite[]): readonly (readonly Row[])[] {
  const rows = writes.map((write) => ({ ...write, state: stateText(write.held.state) }));
  return statementShares(rows, ({ state }) => state.length);
}

function columnsOf(rows: readonly Row[]): readonly string[] {
  return [
    arrayLiteral(rows.map(({ held }) => held.state.uuid)),
    joinedJson(rows.map(({ state }) => state)),
    joinedJson(rows.map(({ held }) => JSON.stringify(held.crawls))),
    arrayLiteral(rows.map(({ expiredAt }) => expiredAt)),
    arrayLiteral(rows.map(({ state }) => Buffer.byteLength(state))),
    arrayLiteral(rows.map(({ held }) => changedAtOf(held.state))),
  ];
}

export function insertProperties(writes: readonly PropertyWrite[]): readonly Statement[] {
  return rowsOf(writes).map((rows) => ({
    name: 'insert-properties',
    text: `
      insert into properties (uuid, state, crawls, expired_at, state_bytes, changed_at)
      select uuid, state, crawls::json, expired_at, state_bytes, changed_at
      from ${WRITTEN}`,
    values: columnsOf(rows),
  }));
}

/** The rows are locked by `lockProperties`. Served by the primary key. */
export function updateProperties(writes: readonly PropertyWrite[]): readonly Statement[] {
  return rowsOf(writes).map((rows) => ({
    name: 'update-properties',
    text: `
      update properties
      set state = written.state, crawls = written.crawls::json, expired_at = written.expired_at,
        state_bytes = written.state_bytes, changed_at = written.changed_at, updated_at = now()
      from ${WRITTEN}
      where properties.uuid = any($1::uuid[]) and properties.uuid = written.uuid`,
    values: columnsOf(rows),
  }));
}

/** For crawls without a change: leaves the state unchanged. Served by the primary key. */
export function updateCrawls(held: readonly HeldProperty[]): readonly Statement[] {
  if (held.length === 0) return [];
  return [
    {
      name: 'update-crawls',
      text: `
      update properties set crawls = written.crawls
      from unnest($1::uuid[], ${jsonTexts('$2')}::json[]) as written(uuid, crawls)
      where properties.uuid = any($1::uuid[]) and properties.uuid = written.uuid`,
      values: [
        arrayLiteral(held.map(({ state }) => state.uuid)),
        joinedJson(held.map(({ crawls }) => JSON.stringify(crawls))),
      ],
    },
  ];
}

/** The known ones among `uuids`, in their order. Served by the primary key. */
export async function readHeldProperties(
  database: Queryable,
  uuids: readonly Uuid[],
): Promise<readonly HeldProperty[]> {
  const { rows } = await database.query<HeldRow>(
    `select state, crawls from unnest($1::uuid[]) with ordinality as wanted(uuid, position)
     join properties using (uuid) order by position`,
    [uuids],
  );
  return rows.map(heldOf);
}

/** `updatedAt` of their documents, in milliseconds since 1970. Served by the primary key. */
export async function readChangeTimes(
  database: Queryable,
  uuids: readonly Uuid[],
): Promise<readonly (readonly [Uuid, number])[]> {
  const { rows } = await database.query<{ uuid: Uuid; atMs: number }>(
    `select uuid, extract(epoch from changed_at)::double precision * 1000 as "atMs" from properties
     where uuid = any($1::uuid[])`,
    [arrayLiteral(uuids)],
  );
  return rows.map(({ uuid, atMs }) => [uuid, atMs]);
}

export interface PropertyPage {
  readonly uuids: readonly Uuid[];
  readonly total: number;
  /** True if there may be more properties than were read. */
  readonly isCut: boolean;
}

export type PropertyOrder = 'uuid' | 'matched';

/**
 * The properties of the newest `LISTED_MAX` matches of a client, by UUID or by the newest match of each. Served as
 * `listedOfClient` says, then by the primary key of matches.
 */
export async function listMatchedProperties(
  database: Queryable,
  clientId: Uuid,
  { by, direction, offset, limit }: ListedPage & { readonly by: PropertyOrder },
): Promise<PropertyPage> {
  const order = by === 'uuid' ? `uuid ${direction}` : `at ${direction}, uuid ${direction}`;
  const { rows } = await database.query<PropertyPage>(
    `${listedOfClient(LISTED_MATCHES, 'desc')}, matched as materialized (
       select m.property_uuid as uuid, max(cut.at) as at from ${cutOfListed('desc')} cut
       join matches m using (id) group by m.property_uuid
     )
     select array(select uuid from matched order by ${order} limit $3 offset $4) as uuids,
       (select count(*)::integer from matched) as total,
       (select count(*) = $2::bigint from ${cutOfListed('desc')} cut) as "isCut"`,
    [clientId, LISTED_MAX, limit, offset],
  );
  return rows[0] as PropertyPage;
}
