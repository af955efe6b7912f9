/** Reads searches of any client. */

import type { SearchNumber, Uuid } from '../domain/ids.ts';
import type { Search, SearchMembers } from '../domain/search.ts';
import type { Queryable } from './database.ts';
import { membersOfStored, type StoredMembers } from './searches.ts';

export interface AdminSearch extends Pick<Search, 'id' | 'number' | 'clientId' | 'members' | 'createdAt'> {
  readonly deletedAt: Date | null;
}

/** Also finds a deleted search until its row is removed. Null if there is none. Served by the unique index on id. */
export async function readAnySearch(database: Queryable, id: Uuid): Promise<AdminSearch | null> {
  const { rows } = await database.query<Omit<AdminSearch, 'members'> & { members: StoredMembers }>(
    `select id, number, client_id as "clientId", members, created_at as "createdAt", deleted_at as "deletedAt"
     from searches where id = $1`,
    [id],
  );
  const [row] = rows;
  return row === undefined ? null : { ...row, members: membersOfStored(row.members) };
}

/** Counts all clients' searches, by an index-only scan of searches_client. */
export async function countSearches(database: Queryable): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    'select count(*)::integer as count from searches where deleted_at is null',
  );
  return rows[0]?.count ?? 0;
}

/** The public ids of searches, by number. Served by the primary key. */
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

/** The members of searches, by number. Served by the primary key. */
export async function readMembers(
  database: Queryable,
  numbers: readonly SearchNumber[],
): Promise<ReadonlyMap<SearchNumber, SearchMembers>> {
  const { rows } = await database.query<{ number: SearchNumber; members: StoredMembers }>({
    name: 'read-members',
    text: 'select number, members from searches where number = any($1::integer[])',
    values: [numbers],
  });
  return new Map(rows.map(({ number, members }) => [number, membersOfStored(members)]));
}
