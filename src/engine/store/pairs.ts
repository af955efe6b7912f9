/** What explaining one (search, property) pair needs, whoever owns the search. */

import type { SearchNumber, Uuid } from '../domain/ids.ts';
import type { PairMatch } from '../domain/pair-history.ts';
import type { SearchMembers } from '../domain/search.ts';
import type { Queryable } from './database.ts';
import { membersOfStored, type StoredMembers } from './searches.ts';

export interface AdminSearch {
  readonly id: Uuid;
  readonly number: SearchNumber;
  readonly clientId: Uuid;
  readonly members: SearchMembers;
  readonly createdAt: Date;
  readonly deletedAt: Date | null;
}

/** Deleted ones included, as long as they have deliveries. Null when there is none. Served by the unique index on id. */
export async function readAnySearch(database: Queryable, id: Uuid): Promise<AdminSearch | null> {
  const { rows } = await database.query<Omit<AdminSearch, 'members'> & { members: StoredMembers }>(
    `select id, number, client_id as "clientId", members, created_at as "createdAt", deleted_at as "deletedAt"
     from searches where id = $1`,
    [id],
  );
  const [row] = rows;
  return row === undefined ? null : { ...row, members: membersOfStored(row.members) };
}

export interface PairRow extends PairMatch {
  readonly matchId: Uuid;
  readonly updatedAt: Date;
}

/** Null when nothing of it was notified. Served by the unique index of matches. */
export async function readPair(
  database: Queryable,
  searchNumber: SearchNumber,
  propertyUuid: Uuid,
): Promise<PairRow | null> {
  const { rows } = await database.query<PairRow>(
    `select id as "matchId", created_at as "createdAt", has_begun as "hasBegun", updated_at as "updatedAt", cause,
       channel, search_version as "searchVersion"
     from matches where property_uuid = $1 and search_number = $2`,
    [propertyUuid, searchNumber],
  );
  return rows[0] ?? null;
}

/** Of the pairs of a search that are matches, by property. Served by the unique index of matches. */
export async function readMatchIds(
  database: Queryable,
  searchNumber: SearchNumber,
  propertyUuids: readonly Uuid[],
): Promise<ReadonlyMap<Uuid, Uuid>> {
  const { rows } = await database.query<{ id: Uuid; uuid: Uuid }>(
    'select id, property_uuid as uuid from matches where property_uuid = any($1::uuid[]) and search_number = $2',
    [propertyUuids, searchNumber],
  );
  return new Map(rows.map(({ id, uuid }) => [uuid, id]));
}

/** Served by an index-only scan of searches_client. */
export async function countSearches(database: Queryable): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    'select count(*)::integer as count from searches where deleted_at is null',
  );
  return rows[0]?.count ?? 0;
}

/** Public ids by number. Served by the primary key. */
export async function readSearchIds(
  database: Queryable,
  numbers: readonly SearchNumber[],
): Promise<ReadonlyMap<SearchNumber, Uuid>> {
  if (numbers.length === 0) return new Map();
  const { rows } = await database.query<{ number: SearchNumber; id: Uuid }>(
    'select number, id from searches where number = any($1::integer[])',
    [numbers],
  );
  return new Map(rows.map(({ number, id }) => [number, id]));
}
