/** The medians of markets, as stored by the intake's leader. A few hundred rows. */

import type { Market } from '../domain/price-coherence.ts';
import type { MedianOf } from '../domain/property-summary.ts';
import { type Database, type Queryable, transaction } from './database.ts';

export interface MarketMedian {
  readonly market: Market;
  /** Euros per m². */
  readonly median: number;
}

/** Replaces the stored medians. */
export async function writeMedians(database: Database, medians: readonly MarketMedian[]): Promise<void> {
  await transaction(database, async (client) => {
    // Concurrent writers wait here for each other: the stored medians are those of one of them.
    await client.query('lock table market_medians in share row exclusive mode');
    await client.query('delete from market_medians');
    await client.query(
      `insert into market_medians (department_code, transaction_type, is_land, median)
       select * from unnest($1::text[], $2::smallint[], $3::boolean[], $4::float8[])`,
      [
        medians.map(({ market }) => market.departmentCode),
        medians.map(({ market }) => market.transactionType),
        medians.map(({ market }) => market.isLand),
        medians.map(({ median }) => median),
      ],
    );
  });
}

interface MedianRow extends Market {
  readonly median: number;
}

/** One sequential scan of the few rows. */
export async function readMedians(database: Queryable): Promise<MedianOf> {
  const { rows } = await database.query<MedianRow>(
    `select department_code as "departmentCode", transaction_type as "transactionType", is_land as "isLand", median
     from market_medians`,
  );
  const medians = new Map(rows.map((row) => [keyOf(row), row.median]));
  return (market) => medians.get(keyOf(market)) ?? null;
}

function keyOf({ departmentCode, transactionType, isLand }: Market): string {
  return `${departmentCode}/${transactionType}/${isLand}`;
}
