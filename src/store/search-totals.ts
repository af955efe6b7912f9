/**
 * What each client's searches add up to, and room for one more. Triggers keep the totals (migration 0004), in the
 * transaction that writes the search, so they are right at every moment, and nobody counts searches.
 */

import type { Uuid } from '../domain/ids.ts';
import type { SearchLimits } from '../domain/search-limits.ts';
import type { Queryable } from './database.ts';
import { LockTakenError } from './write-lock.ts';

/** Nothing was written. */
export class SearchLimitError extends Error {
  readonly code = 'SEARCH_LIMIT_REACHED';
  readonly limit: keyof SearchLimits;
  readonly maximum: number;
  readonly used: number;

  constructor(limit: keyof SearchLimits, maximum: number, used: number) {
    super(`${limit}: ${used} of ${maximum} are used`);
    this.limit = limit;
    this.maximum = maximum;
    this.used = used;
  }
}

/**
 * Writers that are not near a limit do not wait for each other: so many may be under way at once and unknown to each
 * other, far more than PostgreSQL has connections.
 */
export const UNLOCKED_MARGIN = 1_000;

/** Of locks that are held to the end of a transaction; the second key is the client's. */
const LOCK_CLASS = 0x5ea7;

/**
 * Throws `SearchLimitError` unless `added` stays within the limits; what is not added is not looked at. Until the
 * transaction ends nobody else of this client is let through, so two that ask at once do not both take the last place:
 * the other one meets `LockTakenError` (write-lock.ts).
 */
export async function requireRoom(
  connection: Queryable,
  clientId: Uuid,
  added: SearchLimits,
  limits: SearchLimits,
): Promise<void> {
  const { rows } = await connection.query<{ isTaken: boolean }>(
    'select not pg_try_advisory_xact_lock($1, hashtext($2)) as "isTaken"',
    [LOCK_CLASS, clientId],
  );
  if (rows[0]?.isTaken !== false) throw new LockTakenError('another search of this client is being saved');
  const totals = await readSearchTotals(connection, clientId);
  for (const limit of ['searches', 'polygonCorners', 'excludedWords'] as const) {
    if (added[limit] <= 0 || totals[limit] + added[limit] <= limits[limit]) continue;
    throw new SearchLimitError(limit, limits[limit], totals[limit]);
  }
}

const SUMS = `coalesce(sum(searches), 0)::integer as searches,
  coalesce(sum(polygon_corners), 0)::integer as "polygonCorners",
  coalesce(sum(excluded_words), 0)::integer as "excludedWords"`;

/** Served by the primary key. */
export async function readSearchTotals(database: Queryable, clientId: Uuid): Promise<SearchLimits> {
  const { rows } = await database.query<SearchLimits>(`select ${SUMS} from search_totals where client_id = $1`, [
    clientId,
  ]);
  return rows[0] as SearchLimits;
}

/** Of every client that ever had a search. A sequential scan: eight rows a client. */
export async function readAllSearchTotals(database: Queryable): Promise<ReadonlyMap<Uuid, SearchLimits>> {
  const { rows } = await database.query<SearchLimits & { clientId: Uuid }>(
    `select client_id as "clientId", ${SUMS} from search_totals group by client_id`,
  );
  return new Map(rows.map(({ clientId, ...totals }) => [clientId, totals]));
}
