/**
 * The median prices of markets (decisions, section 3), for `withCoherentPrice` and for `marketDifference`. PostgreSQL
 * computes them from the summaries of properties. The processes that use medians keep the few thousand rows in memory.
 */

import { LAND } from '../domain/codes.ts';
import { type MarketPrice, type Medians, marketKey, NO_MEDIANS } from '../domain/market-prices.ts';
import { MARKET_SIZE_MIN, type Market } from '../domain/price-coherence.ts';
import { type Database, type Queryable, transaction } from './database.ts';
import { TIMELINE } from './intake-leader.ts';

const COMPARED_SURFACE = `case when property_type = ${LAND} then land_surface else surface end`;

/** The whole city of an arrondissement of Paris, Lyon or Marseille; null for other communes. */
const WHOLE_CITY = `case
  when insee_code between '75101' and '75120' then '75056'
  when insee_code between '69381' and '69389' then '69123'
  when insee_code between '13201' and '13216' then '13055' end`;

/** A live property counts in a market for each of its codes. A join with an array would take twice as long. */
const PLACED = ['insee_code', WHOLE_CITY, 'department_code']
  .map((code) => `select ${code} as code, transaction_type, property_type, price from priced where is_live`)
  .join(' union all ');

/**
 * A market without a median keeps its row, because explanations show since when it has none. The statement scans all
 * summaries once, which takes a second for 200,000. An index on prices would cost more, because every change would
 * update it.
 */
const COMPUTE = `
  with priced as materialized (
    select department_code, insee_code, transaction_type, property_type, is_live, price / ${COMPARED_SURFACE} as price
    from property_summaries
    where price is not null and ${COMPARED_SURFACE} > 0
      and department_code is not null and transaction_type is not null
  ), computed as (
    select department_code, transaction_type, coalesce(property_type = ${LAND}, false) as is_land,
      percentile_cont(0.5) within group (order by price) as median
    from priced group by 1, 2, 3 having count(*) >= ${MARKET_SIZE_MIN}
  ), written as (
    insert into market_medians (department_code, transaction_type, is_land, median, changed_at, revision)
    select department_code, transaction_type, is_land, computed.median, clock_timestamp(),
      (select coalesce(max(revision), 0) + 1 from market_medians)
    from computed full join market_medians as stored using (department_code, transaction_type, is_land)
    where computed.median is distinct from stored.median
    on conflict (department_code, transaction_type, is_land) do update
    set median = excluded.median, changed_at = excluded.changed_at, revision = excluded.revision
    returning 1
  ), compared as (
    select code, transaction_type, property_type, count(*)::integer as property_count,
      percentile_cont(0.5) within group (order by price) as median
    from (${PLACED}) as placed where code is not null and property_type is not null
    group by 1, 2, 3 having count(*) >= ${MARKET_SIZE_MIN}
  ), compared_written as (
    insert into market_prices as stored (code, transaction_type, property_type, median, property_count, changed_at, revision)
    select code, transaction_type, property_type, compared.median, compared.property_count, clock_timestamp(),
      (select coalesce(max(revision), 0) + 1 from market_prices)
    from compared full join market_prices as known using (code, transaction_type, property_type)
    where (compared.median, compared.property_count) is distinct from (known.median, known.property_count)
    on conflict (code, transaction_type, property_type) do update
    set median = excluded.median, property_count = excluded.property_count, revision = excluded.revision,
      changed_at = case when excluded.median is distinct from stored.median then excluded.changed_at
        else stored.changed_at end
    returning 1
  )
  select extract(epoch from clock_timestamp() - statement_timestamp())::float8 * 1000 as "tookMs"
  from (select count(*) from written) as ended, (select count(*) from compared_written) as compared_ended`;

/** Computes all medians and stores those that have changed. Resolves with the time of the statement in milliseconds. */
export async function computeMedians(database: Database): Promise<number> {
  return transaction(database, async (client) => {
    // The lock makes computations run one after the other, so that each has its own revision. Readers do not wait.
    await client.query('lock table market_medians in share row exclusive mode');
    const { rows } = await client.query<{ tookMs: number }>(COMPUTE);
    return (rows[0] as { tookMs: number }).tookMs;
  });
}

/** If both tables are empty, every member but `newest` is null. */
interface MarketRow extends Omit<MarketPrice, 'name'> {
  /** The revisions of both tables, and the timeline, because a promoted standby may use revisions again. */
  readonly newest: string;
  /** Null in rows of market_prices. */
  readonly isLand: boolean | null;
}

/** Returns no row if nothing has changed since the revisions $1. Reads two small tables by sequential scans. */
const READ_CHANGED = `
  select newest, stored.* from (
    select concat_ws('/', ${TIMELINE}, (select max(revision) from market_medians),
      (select max(revision) from market_prices)) as newest
  ) as revisions left join (
    select department_code as code, transaction_type as "transactionType", is_land as "isLand",
      null as "propertyType", median, null as count, changed_at as "changedAt"
    from market_medians
    union all
    select code, transaction_type, null, property_type, median, property_count, changed_at from market_prices
  ) as stored on true
  where newest is distinct from $1::text`;

/** Creates a cached reader, which all users in a process may share. `nameOf`: the names of places, for explanations. */
export function followMedians(database: Queryable, nameOf: (code: string) => string | null = () => null) {
  let known: { readonly revision: string | null; readonly medians: Medians } = { revision: null, medians: NO_MEDIANS };
  return {
    /** The medians at the last `renew`. Before the first `renew`, no market has a median. */
    get current() {
      return known.medians;
    },
    /** Reads the tables if they have changed since the last call. */
    async renew() {
      const { revision, medians } = known;
      const { rows } = await database.query<MarketRow>(READ_CHANGED, [revision]);
      const [first] = rows;
      if (first === undefined) return medians;
      known = { revision: first.newest, medians: mediansOf(rows, nameOf) };
      return known.medians;
    },
  };
}

function mediansOf(rows: readonly MarketRow[], nameOf: (code: string) => string | null): Medians {
  const markets = new Map<string, MarketPrice>();
  for (const { newest: _, isLand, ...row } of rows) {
    const key = marketKey(row.code, row.transactionType, isLand ?? row.propertyType);
    markets.set(key, { ...row, name: nameOf(row.code ?? '') ?? row.code });
  }
  const coherenceOf = ({ departmentCode, transactionType, isLand }: Market): MarketPrice | undefined =>
    markets.get(marketKey(departmentCode, transactionType, isLand));
  return {
    median: (market) => coherenceOf(market)?.median ?? null,
    changedAt: (market) => coherenceOf(market)?.changedAt ?? null,
    markets,
  };
}
