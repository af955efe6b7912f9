/**
 * Points of interest by source. A transaction replaces all points of a source, so a reader sees either the old points
 * or the new points. A process compares `pointsRevision` to find out whether its copy in memory is outdated.
 */

import { FACILITIES, type Facility, type PointOfInterest } from '../domain/point-of-interest.ts';
import { type Database, type Queryable, transaction } from './database.ts';

export interface PointSource {
  readonly name: string;
  readonly pointCount: number;
  readonly importedAt: Date;
}

/** The sources, ordered by name. A sequential scan of about ten rows. */
export async function listPointSources(database: Queryable): Promise<readonly PointSource[]> {
  const { rows } = await database.query<PointSource>(
    `select name, point_count as "pointCount", imported_at as "importedAt"
     from points_of_interest_sources order by name`,
  );
  return rows;
}

/** A text that every committed import and removal changes. A sequential scan of about ten rows. */
export async function pointsRevision(database: Queryable): Promise<string> {
  const { rows } = await database.query<{ revision: string | null }>(
    `select string_agg(id || ':' || revision, ',' order by id) as revision from points_of_interest_sources`,
  );
  return rows[0]?.revision ?? '';
}

/** The longest time for which an import may read without writing: ten minutes. */
const BATCH_WAIT_MAX_MS = 600_000;

/**
 * Replaces the points of `source` with those in `batches`, and resolves with their number. If `batches` throws, the
 * source stays unchanged. A second import of the same source waits until the first has ended.
 */
export async function replacePointSource(
  database: Database,
  source: string,
  batches: AsyncIterable<readonly PointOfInterest[]>,
): Promise<number> {
  const remaining = batches[Symbol.asyncIterator]();
  // The first points may take a long time, so they are read before the transaction begins.
  const first = await remaining.next();
  try {
    return await transaction(database, async (client) => {
      // On a busy machine, the next batch may take long. Only writers of this source wait for it.
      await client.query(`set local idle_in_transaction_session_timeout = ${BATCH_WAIT_MAX_MS}`);
      const sourceId = await claimSource(client, source);
      // Served by points_of_interest_source.
      await client.query('delete from points_of_interest where source_id = $1', [sourceId]);
      let count = 0;
      for (let next = first; next.done !== true; next = await remaining.next()) {
        await insertPoints(client, sourceId, next.value);
        count += next.value.length;
      }
      await client.query('update points_of_interest_sources set point_count = $2 where id = $1', [sourceId, count]);
      return count;
    });
  } finally {
    await remaining.return?.();
  }
}

/** Removes a source and its points. False if there is no such source. Served by the unique index on `name`. */
export async function removePointSource(database: Queryable, source: string): Promise<boolean> {
  const { rowCount } = await database.query('delete from points_of_interest_sources where name = $1', [source]);
  return rowCount === 1;
}

/** Inserts or updates the source's row, which locks it for the transaction. Served by the unique index on `name`. */
async function claimSource(client: Queryable, source: string): Promise<number> {
  const { rows } = await client.query<{ id: number }>(
    `insert into points_of_interest_sources (name, point_count, imported_at, revision)
     values ($1, 0, now(), pg_current_xact_id())
     on conflict (name) do update set imported_at = excluded.imported_at, revision = excluded.revision
     returning id`,
    [source],
  );
  const [row] = rows;
  if (row === undefined) throw new Error(`PostgreSQL returned no row for the source ${source}`);
  return row.id;
}

async function insertPoints(client: Queryable, sourceId: number, points: readonly PointOfInterest[]): Promise<void> {
  await client.query(
    `insert into points_of_interest (source_id, facility, lat, lon, name, attributes)
     select $1, * from unnest($2::text[], $3::float8[], $4::float8[], $5::text[], $6::jsonb[])`,
    [
      sourceId,
      points.map(({ facility }) => facility),
      points.map(({ lat }) => lat),
      points.map(({ lon }) => lon),
      points.map(({ name }) => name),
      points.map(({ attributes }) => JSON.stringify(attributes)),
    ],
  );
}

/** This number of rows can be parsed and added within a few milliseconds. */
const ROWS_PER_FETCH = 1_000;

/**
 * Reads the points of all sources, or only of `facilities`, from one snapshot, with a cursor. Resolves with their
 * `pointsRevision`.
 */
export async function readPoints(
  database: Database,
  take: (points: readonly PointOfInterest[]) => Promise<void> | void,
  facilities: readonly Facility[] = FACILITIES,
): Promise<string> {
  return transaction(database, async (client) => {
    await client.query('set transaction isolation level repeatable read, read only');
    const revision = await pointsRevision(client);
    // A sequential scan, because no index contains the facility. DECLARE accepts no parameters.
    await client.query(
      `declare all_points cursor for select facility, lat, lon, name, attributes from points_of_interest
       where facility in (${[...new Set(facilities)].map((name) => `'${name}'`).join()})`,
    );
    for (;;) {
      const { rows } = await client.query<PointOfInterest>(`fetch ${ROWS_PER_FETCH} from all_points`);
      await take(rows);
      if (rows.length < ROWS_PER_FETCH) return revision;
    }
  });
}
