/** The held state of properties. Rows are locked while a change is recorded, so a property has one writer at a time. */

import type { HeldProperty } from '../domain/change.ts';
import type { Uuid } from '../domain/ids.ts';
import { comparablePrice, type Market, marketOf, type PricedProperty } from '../domain/price-coherence.ts';
import { arrayLiteral, joinedJson, jsonTexts } from './array-literal.ts';
import type { Database, Queryable, Statement } from './database.ts';

export interface PropertyWrite {
  readonly held: HeldProperty;
  readonly priced: PricedProperty;
  /** When the last advert expired; null while one is live. */
  readonly expiredAt: string | null;
}

/** Locks and reads the known ones among `uuids`; in key order, so that two batches cannot lock each other out. Served by the primary key. */
export async function lockProperties(client: Queryable, uuids: readonly Uuid[]): Promise<Map<Uuid, HeldProperty>> {
  const { rows } = await client.query<{ uuid: Uuid; state: HeldProperty['state']; crawls: HeldProperty['crawls'] }>({
    name: 'lock-properties',
    text: 'select uuid, state, crawls from properties where uuid = any($1::uuid[]) order by uuid for update',
    values: [uuids],
  });
  return new Map(rows.map(({ uuid, state, crawls }) => [uuid, { state, crawls }]));
}

/** Served by the primary key. */
export async function readProperty(database: Queryable, uuid: Uuid): Promise<HeldProperty | null> {
  const { rows } = await database.query<HeldProperty>('select state, crawls from properties where uuid = $1', [uuid]);
  return rows[0] ?? null;
}

/** Rows of the parameters that `columnsOf` makes. */
const WRITTEN = `
  unnest($1::uuid[], ${jsonTexts('$2')}, ${jsonTexts('$3')}, $4::text[], $5::smallint[], $6::boolean[],
    $7::double precision[], $8::timestamptz[])
  as written(uuid, state, crawls, department_code, transaction_type, is_land, comparable_price, expired_at)`;

function columnsOf(writes: readonly PropertyWrite[]): readonly string[] {
  const priced = writes.map((write) => write.priced);
  return [
    arrayLiteral(writes.map(({ held }) => held.state.uuid)),
    joinedJson(writes.map(({ held }) => JSON.stringify(held.state))),
    joinedJson(writes.map(({ held }) => JSON.stringify(held.crawls))),
    arrayLiteral(priced.map(({ departmentCode }) => departmentCode)),
    arrayLiteral(priced.map(({ transactionType }) => transactionType)),
    arrayLiteral(priced.map((each) => marketOf(each)?.isLand ?? false)),
    arrayLiteral(priced.map(comparablePrice)),
    arrayLiteral(writes.map(({ expiredAt }) => expiredAt)),
  ];
}

export function insertProperties(writes: readonly PropertyWrite[]): readonly Statement[] {
  if (writes.length === 0) return [];
  return [
    {
      name: 'insert-properties',
      text: `
      insert into properties (uuid, state, crawls, department_code, transaction_type, is_land, comparable_price, expired_at)
      select uuid, state::json, crawls::json, department_code, transaction_type, is_land, comparable_price, expired_at
      from ${WRITTEN}`,
      values: columnsOf(writes),
    },
  ];
}

/** The rows are locked by `lockProperties`. Served by the primary key. */
export function updateProperties(writes: readonly PropertyWrite[]): readonly Statement[] {
  if (writes.length === 0) return [];
  return [
    {
      name: 'update-properties',
      text: `
      update properties
      set state = written.state::json, crawls = written.crawls::json, department_code = written.department_code,
        transaction_type = written.transaction_type, is_land = written.is_land,
        comparable_price = written.comparable_price, expired_at = written.expired_at, updated_at = now()
      from ${WRITTEN}
      where properties.uuid = written.uuid`,
      values: columnsOf(writes),
    },
  ];
}

/** For re-crawls without change: leaves the state alone. Served by the primary key. */
export function updateCrawls(held: readonly HeldProperty[]): readonly Statement[] {
  if (held.length === 0) return [];
  return [
    {
      name: 'update-crawls',
      text: `
      update properties set crawls = written.crawls
      from json_to_recordset($1) as written(uuid uuid, crawls json)
      where properties.uuid = written.uuid`,
      values: [JSON.stringify(held.map(({ state, crawls }) => ({ uuid: state.uuid, crawls })))],
    },
  ];
}

/** Every comparable price known, for the medians at start-up: one sequential scan. */
export async function readMarketPrices(
  database: Database,
  onPrice: (market: Market, price: number) => void,
): Promise<void> {
  const { rows } = await database.query<{
    department_code: string;
    transaction_type: number;
    is_land: boolean;
    prices: number[];
  }>(`
    select department_code, transaction_type, is_land, array_agg(comparable_price) as prices
    from properties
    where comparable_price is not null and department_code is not null and transaction_type is not null
    group by department_code, transaction_type, is_land`);
  for (const row of rows) {
    const market = {
      departmentCode: row.department_code,
      transactionType: row.transaction_type,
      isLand: row.is_land,
    };
    for (const price of row.prices) onPrice(market, price);
  }
}
