/**
 * The median prices of markets (decisions, section 3, `withCoherentPrice`). PostgreSQL computes them from the summaries
 * of properties. Alerts, explanations and previews keep the few hundred rows in memory.
 */

import { LAND } from '../domain/codes.ts';
import { MARKET_SIZE_MIN, type Market } from '../domain/price-coherence.ts';
import type { MedianOf } from '../domain/property-summary.ts';
import { type Database, type Queryable, transaction } from './database.ts';

/** The stored medians at one time. */
export interface Medians {
  readonly median: MedianOf;
  /** When the market's median last changed; null if the market never had one. */
  readonly changedAt: (market: Market) => Date | null;
}

export interface StoredMedians {
  /** The medians at the last `renew`. Before the first `renew`, no market has a median. */
  readonly current: Medians;
  /** Reads the table if it has changed since the last call. */
  renew(): Promise<Medians>;
}

const COMPARED_SURFACE = `case when property_type = ${LAND} then land_surface else surface end`;

/**
 * A market that no longer has a median keeps its row, because explanations show since when. Scans all summaries, which
 * takes a second per million. An index on prices would cost more, because every change would update it.
 */
const COMPUTE = `
  with computed as (
    select department_code, transaction_type, coalesce(property_type = ${LAND}, false) as is_land,
      percentile_cont(0.5) within group (order by price / ${COMPARED_SURFACE}) as median
    from property_summaries
    where price is not null and ${COMPARED_SURFACE} > 0
      and department_code is not null and transaction_type is not null
    group by 1, 2, 3 having count(*) >= ${MARKET_SIZE_MIN}
  ), written as (
    insert into market_medians (department_code, transaction_type, is_land, median, changed_at, revision)
    select department_code, transaction_type, is_land, computed.median, clock_timestamp(),
      (select coalesce(max(revision), 0) + 1 from market_medians)
    from computed full join market_medians as stored using (department_code, transaction_type, is_land)
    where computed.median is distinct from stored.median
    on conflict (department_code, transaction_type, is_land) do update
    set median = excluded.median, changed_at = excluded.changed_at, revision = excluded.revision
    returning 1
  )
  select extract(epoch from clock_timestamp() - statement_timestamp())::float8 * 1000 as "tookMs"
  from (select count(*) from written) as ended`;

/** Computes all medians and stores those that have changed. Resolves with the time of the statement in milliseconds. */
export async function computeMedians(database: Database): Promise<number> {
  return transaction(database, async (client) => {
    // The lock makes computations run one after the other, so that each has its own revision. Readers do not wait.
    await client.query('lock table market_medians in share row exclusive mode');
    const { rows } = await client.query<{ tookMs: number }>(COMPUTE);
    return (rows[0] as { tookMs: number }).tookMs;
  });
}

/** The row of a market; a single row of nulls if the table is empty. */
interface MedianRow {
  readonly newest: string | null;
  readonly departmentCode: string | null;
  readonly transactionType: number;
  readonly isLand: boolean;
  readonly median: number | null;
  readonly changedAt: Date;
}

/** Returns no row if nothing has changed since revision $1. A sequential scan of the few rows. */
const READ_CHANGED = `
  select newest, department_code as "departmentCode", transaction_type as "transactionType", is_land as "isLand", median,
    changed_at as "changedAt"
  from (select max(revision) as newest from market_medians) as stored left join market_medians on true
  where newest is distinct from $1::bigint`;

/** Creates a reader with a cache, which all users in a process may share. */
export function followMedians(database: Queryable): StoredMedians {
  let known: { readonly revision: string | null; readonly medians: Medians } = {
    revision: null,
    medians: mediansOf([]),
  };
  return {
    get current() {
      return known.medians;
    },
    async renew() {
      const { revision, medians } = known;
      const { rows } = await database.query<MedianRow>(READ_CHANGED, [revision]);
      const [first] = rows;
      if (first === undefined) return medians;
      known = { revision: first.newest, medians: mediansOf(rows) };
      return known.medians;
    },
  };
}

function mediansOf(rows: readonly MedianRow[]): Medians {
  const markets = new Map(rows.map((row) => [keyOf(row), row]));
  return {
    median: (market) => markets.get(keyOf(market))?.median ?? null,
    changedAt: (market) => markets.get(keyOf(market))?.changedAt ?? null,
  };
}

function keyOf({
  departmentCode,
  transactionType,
  isLand,
}: Omit<MedianRow, 'newest' | 'median' | 'changedAt'>): string {
  return `${departmentCode}/${transactionType}/${isLand}`;
}
