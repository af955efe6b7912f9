/**
 * The totals of each client's searches, and the check of limits. Triggers update the totals in the transaction that
 * writes a search. So the check counts no searches, and only the matches are estimates.
 */

import { pause } from '../actor/waiting.ts';
import type { CriterionMembers } from '../domain/criterion-table.ts';
import type { SearchNumber, Uuid } from '../domain/ids.ts';
import { COMBINATIONS_MAX } from '../domain/points-criterion.ts';
import { combinationPaths, type SearchLimits } from '../domain/search-limits.ts';
import type { Queryable } from './database.ts';

/** Creating or changing a search would exceed a limit. Nothing was written. */
export class SearchLimitError extends Error {
  readonly code = 'SEARCH_LIMIT_REACHED';
  readonly limit: keyof SearchLimits;
  readonly maximum: number;
  readonly used: number;
  readonly added: number;

  constructor(limit: keyof SearchLimits, { maximum, used, added }: Record<'maximum' | 'used' | 'added', number>) {
    super(`${limit}: ${used} of ${maximum} are used`);
    this.limit = limit;
    this.maximum = maximum;
    this.used = used;
    this.added = added;
  }
}

/** The searches of a client would name more than `COMBINATIONS_MAX` combinations. Nothing was written. */
export class CombinationLimitError extends Error {
  /** The path of the first term of the search that exceeds the limit. */
  readonly path: readonly PropertyKey[];

  constructor(path: readonly PropertyKey[]) {
    super(`more than ${COMBINATIONS_MAX} combinations of points of interest`);
    this.path = path;
  }
}

/** The first key of an advisory lock, which lasts until the transaction ends. The second key is the client's. */
const LOCK_CLASS = 0x5ea7;

/**
 * Throws `SearchLimitError` if `added` would exceed a limit. Totals to which nothing is added are not checked. Until
 * the transaction ends, every other call for this client throws `LockTakenError`, so two writers cannot both use the
 * last free capacity.
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
  for (const limit of ['searches', 'polygonCorners', 'excludedWords', 'matchesPerAdvert'] as const) {
    if (added[limit] <= 0 || totals[limit] + added[limit] <= limits[limit]) continue;
    throw new SearchLimitError(limit, { maximum: limits[limit], used: totals[limit], added: added[limit] });
  }
}

/**
 * Throws `CombinationLimitError` if the searches of the client would name too many combinations. `number`: the search
 * to change; null for a new search. The caller must hold the lock of `requireRoom`. Served by searches_points.
 */
export async function requireCombinations(
  connection: Queryable,
  clientId: Uuid,
  members: CriterionMembers,
  number: SearchNumber | null,
): Promise<void> {
  const { rows } = await connection.query<{ combination: string }>(
    `select distinct unnest(point_combinations) as combination from searches
     where client_id = $1 and number is distinct from $2 and point_combinations is not null and deleted_at is null`,
    [clientId, number],
  );
  const named = new Set(rows.map(({ combination }) => combination));
  for (const { key, path } of combinationPaths(members)) {
    if (named.add(key).size > COMBINATIONS_MAX) throw new CombinationLimitError(path);
  }
}

/** At most 1,000 per search: it matches an advert at most once, but the corrections could add up to more. */
const MATCHES_PER_MILLE = 'coalesce(least(1000 * sum(searches), greatest(sum(matches_per_mille), 0)), 0)';
const SUMS = `coalesce(sum(searches), 0)::integer as searches,
  coalesce(sum(polygon_corners), 0)::integer as "polygonCorners",
  coalesce(sum(excluded_words), 0)::integer as "excludedWords",
  (${MATCHES_PER_MILLE} / 1000.0)::float8 as "matchesPerAdvert"`;

/** Served by the primary key. */
export async function readSearchTotals(database: Queryable, clientId: Uuid): Promise<SearchLimits> {
  const { rows } = await database.query<SearchLimits>(`select ${SUMS} from search_totals where client_id = $1`, [
    clientId,
  ]);
  return rows[0] as SearchLimits;
}

/** The totals of every client that ever had a search. A sequential scan of some eight rows per client. */
export async function readAllSearchTotals(database: Queryable): Promise<ReadonlyMap<Uuid, SearchLimits>> {
  const { rows } = await database.query<SearchLimits & { clientId: Uuid }>(
    `select client_id as "clientId", ${SUMS} from search_totals group by client_id`,
  );
  return new Map(rows.map(({ clientId, ...totals }) => [clientId, totals]));
}

/** The result of matching a sample of adverts. */
export interface MatchSample {
  readonly adverts: number;
  /** For each search that has matched an advert, the number of these adverts. */
  readonly matched: ReadonlyMap<SearchNumber, number>;
}

/** Number of adverts in a sample that moves an estimate halfway to the sampled value. */
const ADVERTS_FOR_HALF = 200;
/** Smaller totals (matches per 1,000 adverts) are not corrected, because they are far below the default limit. */
const CORRECTED_MIN = 10_000;

/**
 * Moves the totals of clients towards those of the sample. Served by the primary key of searches. Scans all totals,
 * some eight rows for each client.
 */
export async function correctMatchTotals(database: Queryable, { adverts, matched }: MatchSample): Promise<void> {
  if (adverts === 0) return;
  await database.query(
    `with sampled as (
       select client_id, 1000.0 * sum(count) / $3 as sampled
       from unnest($1::integer[], $2::integer[]) as counted(number, count) join searches using (number)
       where deleted_at is null group by client_id
     ), estimated as (
       select client_id, ${MATCHES_PER_MILLE} as estimated, sum(matches_per_mille) as summed
       from search_totals group by client_id
     )
     insert into search_totals
     select client_id, -1, 0, 0, 0, round(estimated + (coalesce(sampled, 0) - estimated) * $4::float8 - summed)
     from estimated left join sampled using (client_id)
     where greatest(estimated, sampled, abs(summed)) >= ${CORRECTED_MIN}
     order by client_id
     on conflict (client_id, shard) do update set
       matches_per_mille = search_totals.matches_per_mille + excluded.matches_per_mille`,
    [[...matched.keys()], [...matched.values()], adverts, adverts / (adverts + ADVERTS_FOR_HALF)],
  );
}

/** PostgreSQL's SQLSTATE for a lock that is not available (`nowait`). */
const LOCK_NOT_AVAILABLE = '55P03';

/** Another transaction holds the lock. */
class LockTakenError extends Error {
  readonly code = LOCK_NOT_AVAILABLE;
}

const FIRST_PAUSE_MS = 5;
const PAUSE_MAX_MS = 100;
/** The pauses between the tries take about six seconds together. A writer usually holds the lock for milliseconds. */
const TRIES_MAX = 60;

const lastOf = new Map<Uuid, Promise<unknown>>();

/**
 * Runs `work` after all earlier writers of the client in this process. If another transaction has a lock that `work`
 * needs (SQLSTATE 55P03), `work` must roll back, and is then retried. Throws the last error.
 */
export async function withWriteLock<T>(clientId: Uuid, work: () => Promise<T>): Promise<T> {
  const before = lastOf.get(clientId);
  const own = (before ?? Promise.resolve()).then(() => untilUnlocked(work));
  const ended = own.catch(() => undefined);
  lastOf.set(clientId, ended);
  try {
    return await own;
  } finally {
    if (lastOf.get(clientId) === ended) lastOf.delete(clientId);
  }
}

async function untilUnlocked<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      const isTaken = error instanceof Error && (error as Error & { code?: unknown }).code === LOCK_NOT_AVAILABLE;
      if (!isTaken || tries === TRIES_MAX) throw error;
    }
    await pause(Math.min(PAUSE_MAX_MS, FIRST_PAUSE_MS * 2 ** tries) * (0.5 + Math.random()));
  }
}
