/** Matches as the owner of their search reads them, with the held state of the property. Read side only. */

import type { HeldProperty } from '../domain/change.ts';
import type { SearchNumber, Uuid } from '../domain/ids.ts';
import { LISTED_MATCHES, type ListedPage, listOfClient } from './client-listings.ts';
import type { Queryable } from './database.ts';

export interface MatchRead {
  readonly id: Uuid;
  readonly searchId: Uuid;
  readonly propertyUuid: Uuid;
  /** Null while the pair only stands: it satisfied the search when the search was created (see the schema). */
  readonly beganAt: Date | null;
  readonly updatedAt: Date;
  readonly hidePropertyContact: boolean;
  /** Null only when an operator has removed the property. */
  readonly held: HeldProperty | null;
}

interface MatchRow extends Omit<MatchRead, 'held'>, Partial<HeldProperty> {}

const COLUMNS = `m.id, s.id as "searchId", m.property_uuid as "propertyUuid", m.began_at as "beganAt",
  m.updated_at as "updatedAt", s.hide_property_contact as "hidePropertyContact", p.state, p.crawls`;

export interface MatchPage {
  readonly matches: readonly MatchRead[];
  readonly total: number;
}

/** One page of the matches of a search, by time, and how many there are. Served by matches_search. */
export async function listMatches(
  database: Queryable,
  searchNumber: SearchNumber,
  { direction, offset, limit }: ListedPage,
): Promise<MatchPage> {
  const order = `began_at ${direction}, id ${direction}`;
  const listed = database.query<{ id: Uuid }>(
    `select id from matches where search_number = $1 and began_at is not null order by ${order} limit $2 offset $3`,
    [searchNumber, limit, offset],
  );
  const counted = database.query<{ total: number }>(
    'select count(*)::integer as total from matches where search_number = $1 and began_at is not null',
    [searchNumber],
  );
  const [{ rows }, { rows: counts }] = await Promise.all([listed, counted]);
  const matches = await readMatches(
    database,
    rows.map(({ id }) => id),
  );
  return { matches, total: counts[0]?.total ?? 0 };
}

/** The same of all searches of a client (client-listings.ts). */
export async function listMatchesOfClient(database: Queryable, clientId: Uuid, page: ListedPage): Promise<MatchPage> {
  const { ids, total } = await listOfClient(database, LISTED_MATCHES, clientId, page);
  return { matches: await readMatches(database, ids), total };
}

/** In this order; those that were removed meanwhile are left out. Served by the primary keys. */
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

/** Of either kind; null when it is another client's or its search was deleted. Served by the primary keys. */
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
  return { ...match, held: state && crawls ? { state, crawls } : null };
}
