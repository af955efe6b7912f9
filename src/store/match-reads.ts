/** Matches as the owner of their search reads them, with the held state of the property. Read side only. */

import type { HeldProperty } from '../domain/change.ts';
import type { SearchNumber, Uuid } from '../domain/ids.ts';
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

/** One page of the matches of a search, newest first, and how many there are. Served by matches_search. */
export async function listMatches(
  database: Queryable,
  searchNumber: SearchNumber,
  page: { readonly offset: number; readonly limit: number },
): Promise<{ readonly matches: readonly MatchRead[]; readonly total: number }> {
  // The page is cut before the join: states are read for its rows only, whatever the offset.
  const listed = database.query<MatchRow>(
    `select ${COLUMNS} from (
       select id, search_number, property_uuid, began_at, updated_at from matches
       where search_number = $1 and began_at is not null
       order by began_at desc, id limit $2 offset $3
     ) m
     join searches s on s.number = m.search_number
     left join properties p on p.uuid = m.property_uuid
     order by m.began_at desc, m.id`,
    [searchNumber, page.limit, page.offset],
  );
  const counted = database.query<{ total: number }>(
    'select count(*)::integer as total from matches where search_number = $1 and began_at is not null',
    [searchNumber],
  );
  const [{ rows }, { rows: counts }] = await Promise.all([listed, counted]);
  return { matches: rows.map(matchOfRow), total: counts[0]?.total ?? 0 };
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
