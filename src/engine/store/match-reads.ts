/** Reads matches, with the stored state of the property, for the owner of their search. */

import type { StoredProperty } from '../domain/change.ts';
import type { SearchNumber, Uuid } from '../domain/ids.ts';
import { LISTED_MATCHES, type ListedPage, listOfClient } from './client-listings.ts';
import type { Queryable } from './database.ts';
import { type TimeRange, timeCondition } from './delivery-filters.ts';
import type { Match } from './matches.ts';
import { type StoredRow, storedPropertyOf } from './properties.ts';
import { isListed, type MarkState } from './search-marks.ts';

export interface MatchRead extends Pick<Match, 'id' | 'propertyUuid' | 'createdAt' | 'updatedAt'> {
  readonly searchId: Uuid;
  readonly hidePropertyContact: boolean;
  /** Null only if the property was removed by hand. */
  readonly stored: StoredProperty | null;
}

interface MatchRow extends Omit<MatchRead, 'stored'>, Partial<StoredRow> {}

const COLUMNS = `m.id, s.id as "searchId", m.property_uuid as "propertyUuid", m.created_at as "createdAt",
  m.updated_at as "updatedAt", s.hide_property_contact as "hidePropertyContact", p.state, p.crawls`;

export interface MatchListQuery extends ListedPage {
  /** Limits the time at which a match began or was first notified. */
  readonly range: TimeRange;
  /** Selects matches with this mark; null selects matches that are not hidden. */
  readonly mark: MarkState | null;
}

export interface MatchPage {
  readonly matches: readonly MatchRead[];
  readonly total: number;
  /** True if there may be more matches than were read. */
  readonly isCut: boolean;
}

/** One page of the matches of a search, by time, and their total number. Served by matches_search. */
export async function listMatches(
  database: Queryable,
  searchNumber: SearchNumber,
  { range, mark, ...page }: MatchListQuery,
): Promise<MatchPage> {
  const from = `matches m where search_number = $1 and ${timeCondition('created_at', range)} and ${isListed('m', mark)}`;
  return listFrom(database, from, [searchNumber], page);
}

/** The matches of a property with all searches of a client or with one of them. Served by the unique index. */
export async function listMatchesOfProperty(
  database: Queryable,
  clientId: Uuid,
  { propertyUuid, searchNumber }: { readonly propertyUuid: Uuid; readonly searchNumber: SearchNumber | null },
  { range, mark, ...page }: MatchListQuery,
): Promise<MatchPage> {
  const from = `matches m join searches s on s.number = m.search_number
    where m.property_uuid = $1 and s.client_id = $2 and s.deleted_at is null
      and ($3::integer is null or m.search_number = $3) and ${timeCondition('m.created_at', range)}
      and ${isListed('m', mark)}`;
  return listFrom(database, from, [propertyUuid, clientId, searchNumber], page);
}

async function listFrom(
  database: Queryable,
  from: string,
  values: readonly unknown[],
  { direction, offset, limit }: ListedPage,
): Promise<MatchPage> {
  const next = values.length + 1;
  const listed = database.query<{ id: Uuid }>(
    `select m.id from ${from} order by m.created_at ${direction}, m.id ${direction} limit $${next} offset $${next + 1}`,
    [...values, limit, offset],
  );
  const counting = database.query<{ total: number }>(`select count(*)::integer as total from ${from}`, [...values]);
  const [{ rows }, { rows: counts }] = await Promise.all([listed, counting]);
  const matches = await readMatches(
    database,
    rows.map(({ id }) => id),
  );
  return { matches, total: counts[0]?.total ?? 0, isCut: false };
}

/** Like `listMatches`, for all searches of a client (client-listings.ts). */
export async function listMatchesOfClient(
  database: Queryable,
  clientId: Uuid,
  { range, mark, ...page }: MatchListQuery,
): Promise<MatchPage> {
  const condition = `${timeCondition('one.created_at', range)} and ${isListed('one', mark)}`;
  const { ids, total, isCut } = await listOfClient(database, { ...LISTED_MATCHES, condition }, clientId, page);
  return { matches: await readMatches(database, ids), total, isCut };
}

/** Reads matches in the order of `ids`, and omits those that no longer exist. Served by the primary keys. */
async function readMatches(database: Queryable, ids: readonly Uuid[]): Promise<readonly MatchRead[]> {
  if (ids.length === 0) return [];
  const { rows } = await database.query<MatchRow>(
    `select ${COLUMNS} from unnest($1::uuid[]) with ordinality as wanted (id, position)
     join matches m using (id)
     join searches s on s.number = m.search_number
     left join properties p on p.uuid = m.property_uuid
     order by position`,
    [ids],
  );
  return rows.map(matchOfRow);
}

/** Null if the match belongs to another client or its search was deleted. Served by the primary keys. */
export async function readMatch(database: Queryable, clientId: Uuid, id: Uuid): Promise<MatchRead | null> {
  const { rows } = await database.query<MatchRow>(
    `select ${COLUMNS} from matches m
     join searches s on s.number = m.search_number
     left join properties p on p.uuid = m.property_uuid
     where m.id = $1 and s.client_id = $2 and s.deleted_at is null`,
    [id, clientId],
  );
  return rows[0] === undefined ? null : matchOfRow(rows[0]);
}

function matchOfRow({ state, crawls, ...match }: MatchRow): MatchRead {
  return { ...match, stored: state && crawls ? storedPropertyOf({ state, crawls }) : null };
}
