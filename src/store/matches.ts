/**
 * (search, property) pairs. They are written only by the transaction that holds the property's row lock, so reading
 * a pair and then writing it cannot race with another writer.
 */

import type { SearchNumber, Uuid } from '../domain/ids.ts';
import type { Queryable } from './database.ts';

export interface Match {
  readonly id: Uuid;
  readonly searchNumber: SearchNumber;
  readonly propertyUuid: Uuid;
  /** Null while the pair only stands (see the schema). */
  readonly beganAt: Date | null;
  readonly updatedAt: Date;
}

interface MatchRow {
  readonly id: Uuid;
  readonly search_number: SearchNumber;
  readonly property_uuid: Uuid;
  readonly began_at: Date | null;
  readonly updated_at: Date;
}

/** The known ones among the pairs of `propertyUuids[i]` and `searchNumbers[i]`. Served by the unique index. */
export async function readMatches(
  client: Queryable,
  propertyUuids: readonly Uuid[],
  searchNumbers: readonly SearchNumber[],
): Promise<readonly Match[]> {
  if (propertyUuids.length === 0) return [];
  const { rows } = await client.query<MatchRow>({
    name: 'read-matches',
    text: `
      select id, search_number, property_uuid, began_at, updated_at
      from matches join unnest($1::uuid[], $2::integer[]) as pairs(property_uuid, search_number)
      using (property_uuid, search_number)`,
    values: [propertyUuids, searchNumbers],
  });
  return rows.map((row) => ({
    id: row.id,
    searchNumber: row.search_number,
    propertyUuid: row.property_uuid,
    beganAt: row.began_at,
    updatedAt: row.updated_at,
  }));
}

export async function insertMatches(client: Queryable, matches: readonly Match[]): Promise<void> {
  if (matches.length === 0) return;
  await client.query({
    name: 'insert-matches',
    text: `
      insert into matches (id, search_number, property_uuid, began_at, updated_at)
      select * from json_to_recordset($1) as written(
        id uuid, search_number integer, property_uuid uuid, began_at timestamptz, updated_at timestamptz)`,
    values: [JSON.stringify(matches.map(rowOf))],
  });
}

/** Served by the primary key. */
export async function updateMatches(client: Queryable, matches: readonly Match[]): Promise<void> {
  if (matches.length === 0) return;
  await client.query({
    name: 'update-matches',
    text: `
      update matches set began_at = written.began_at, updated_at = written.updated_at
      from json_to_recordset($1) as written(id uuid, began_at timestamptz, updated_at timestamptz)
      where matches.id = written.id`,
    values: [JSON.stringify(matches.map(rowOf))],
  });
}

function rowOf(match: Match): MatchRow {
  return {
    id: match.id,
    search_number: match.searchNumber,
    property_uuid: match.propertyUuid,
    began_at: match.beganAt,
    updated_at: match.updatedAt,
  };
}
