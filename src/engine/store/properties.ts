/** The stored states of properties. Recording a change locks the row, so a property has one writer at a time. */

import type { StoredProperty } from '../domain/change.ts';
import type { Uuid } from '../domain/ids.ts';
import type { IntakeMessage } from '../domain/intake-message.ts';
import { type Crawls, changedAtOf } from '../domain/property.ts';
import { readState, stateText } from '../domain/stored-property.ts';
import { arrayLiteral, joinedJson, jsonTexts } from './array-literal.ts';
import { cutOfListed, LISTED_MATCHES, LISTED_MAX, type ListedPage, listedOfClient } from './client-listings.ts';
import type { Queryable, Statement } from './database.ts';
import { statementShares } from './statement-share.ts';

export interface PropertyWrite {
  readonly stored: StoredProperty;
  /** When the last advert expired; null while one is live. */
  readonly expiredAt: string | null;
}

export interface LockedProperty {
  /** Null if the state was not read together with the lock. */
  readonly stored: StoredProperty | null;
  readonly crawls: Crawls;
  /** The size of the stored state. */
  readonly bytes: number;
}

/** States up to this size are read together with the locks of a batch. The few larger ones are read afterwards. */
export const READ_AT_ONCE_BYTES = 128 * 1_024;

/** The columns of a row that make a stored property. */
export interface StoredRow {
  readonly state: string;
  readonly crawls: StoredProperty['crawls'];
}

export function storedPropertyOf({ state, crawls }: StoredRow): StoredProperty {
  return { state: readState(state), crawls };
}

type KeyedRow = StoredRow & { readonly uuid: Uuid };

/** The part of a message that identifies its content. */
export type MessageDigest = Pick<IntakeMessage, 'propertyUuid' | 'advertUuid' | 'digest'>;

/**
 * Locks the known properties of `messages`, in key order so that batches do not deadlock. Reads their states, except
 * large ones and those of properties whose messages all repeat the last message of their advert. If an advert has
 * several messages, the last message is compared. Served by the primary key.
 */
export async function lockProperties(
  client: Queryable,
  messages: readonly MessageDigest[],
): Promise<Map<Uuid, LockedProperty>> {
  const digests = new Map<Uuid, string[]>();
  for (const { propertyUuid, advertUuid, digest } of messages) {
    const ofProperty = digests.get(propertyUuid);
    const ofAdvert = `"${advertUuid}":["${digest}"]`;
    if (ofProperty === undefined) digests.set(propertyUuid, [ofAdvert]);
    else ofProperty.push(ofAdvert);
  }
  const expected = [...digests].map(([uuid, ofProperty]) => `"${uuid}":{${ofProperty.join()}}`);
  const { rows } = await client.query<Omit<KeyedRow, 'state'> & { state: string | null; bytes: number }>({
    name: 'lock-properties',
    text: `
      select uuid, bytes, crawls,
        case when bytes <= $2 and not crawls::jsonb @> ($3::jsonb -> uuid::text) then state end as state
      from (
        select uuid, state_bytes as bytes, state, crawls
        from properties where uuid = any($1::uuid[]) order by uuid for update
      ) locked`,
    values: [arrayLiteral([...digests.keys()]), READ_AT_ONCE_BYTES, `{${expected.join()}}`],
  });
  return new Map(
    rows.map(({ uuid, bytes, state, crawls }) => [
      uuid,
      { bytes, crawls, stored: state === null ? null : storedPropertyOf({ state, crawls }) },
    ]),
  );
}

/** Reads states that `lockProperties` has not read. Served by the primary key. */
export async function readLocked(
  client: Queryable,
  uuids: readonly Uuid[],
): Promise<ReadonlyMap<Uuid, StoredProperty>> {
  const { rows } = await client.query<KeyedRow>({
    name: 'read-locked',
    text: 'select uuid, state, crawls from properties where uuid = any($1::uuid[])',
    values: [uuids],
  });
  return new Map(rows.map((row) => [row.uuid, storedPropertyOf(row)]));
}

/** Served by the primary key. */
export async function readProperty(database: Queryable, uuid: Uuid): Promise<StoredProperty | null> {
  const { rows } = await database.query<StoredRow>('select state, crawls from properties where uuid = $1', [uuid]);
  return rows[0] === undefined ? null : storedPropertyOf(rows[0]);
}

/** SQL that converts the parameters of `columnsOf` to rows. */
const WRITTEN = `
  unnest($1::uuid[], ${jsonTexts('$2')}, ${jsonTexts('$3')}, $4::timestamptz[], $5::integer[], $6::timestamptz[])
  as written(uuid, state, crawls, expired_at, state_bytes, changed_at)`;

type Row = PropertyWrite & { readonly state: string };

/** Divides the rows into shares, one for each statement. */
function rowsOf(writes: readonly PropertyWrite[]): readonly (readonly Row[])[] {
  const rows = writes.map((write) => ({ ...write, state: stateText(write.stored.state) }));
  return statementShares(rows, ({ state }) => state.length);
}

function columnsOf(rows: readonly Row[]): readonly string[] {
  return [
    arrayLiteral(rows.map(({ stored }) => stored.state.uuid)),
    joinedJson(rows.map(({ state }) => state)),
    joinedJson(rows.map(({ stored }) => JSON.stringify(stored.crawls))),
    arrayLiteral(rows.map(({ expiredAt }) => expiredAt)),
    arrayLiteral(rows.map(({ state }) => Buffer.byteLength(state))),
    arrayLiteral(rows.map(({ stored }) => changedAtOf(stored.state))),
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

/** `lockProperties` must have locked the rows. Served by the primary key. */
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

/** Writes only the crawls, for messages that do not change the state. Served by the primary key. */
export function updateCrawls(crawls: ReadonlyMap<Uuid, Crawls>): readonly Statement[] {
  if (crawls.size === 0) return [];
  return [
    {
      name: 'update-crawls',
      text: `
      update properties set crawls = written.crawls
      from unnest($1::uuid[], ${jsonTexts('$2')}::json[]) as written(uuid, crawls)
      where properties.uuid = any($1::uuid[]) and properties.uuid = written.uuid`,
      values: [arrayLiteral([...crawls.keys()]), joinedJson([...crawls.values()].map((each) => JSON.stringify(each)))],
    },
  ];
}

/** The known properties among `uuids`, in the same order. Served by the primary key. */
export async function readStoredProperties(
  database: Queryable,
  uuids: readonly Uuid[],
): Promise<readonly StoredProperty[]> {
  const { rows } = await database.query<StoredRow>(
    `select state, crawls from unnest($1::uuid[]) with ordinality as wanted(uuid, position)
     join properties using (uuid) order by position`,
    [uuids],
  );
  return rows.map(storedPropertyOf);
}

/** The properties that have expired or are no longer stored. Served by the primary key. */
export async function readGone(database: Queryable, uuids: readonly Uuid[]): Promise<readonly Uuid[]> {
  const { rows } = await database.query<{ uuid: Uuid }>(
    `select uuid from unnest($1::uuid[]) as wanted(uuid)
     where not exists (select from properties where properties.uuid = wanted.uuid and expired_at is null)`,
    [uuids],
  );
  return rows.map(({ uuid }) => uuid);
}

/** The `updatedAt` of the properties' documents, in milliseconds since the epoch. Served by the primary key. */
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
 * The properties of the newest `LISTED_MAX` matches of a client, ordered by UUID or by the time of their newest match.
 * Served by the indexes of `listedOfClient` and the primary key of matches.
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
