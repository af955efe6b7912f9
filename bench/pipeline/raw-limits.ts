/**
 * The limits of each part alone, in the same run. PostgreSQL inserts the rows that the pipeline wrote, JetStream stores
 * messages of the crawler, and a bare HTTP client posts a body.
 */

import { request } from 'undici';
import type { Broker } from '../../src/engine/broker/connection.ts';
import { type Publication, publishAll } from '../../src/engine/broker/publish.ts';
import { type Database, type Queryable, transaction } from '../../src/engine/store/database.ts';

/** Tables that recording and delivering write. */
const TABLES = [
  'properties',
  'property_summaries',
  'events',
  'matches',
  'snapshots',
  'deliveries',
  'attempts',
  'feed_items',
  'feed_batches',
] as const;
/** Changes whose rows are read into memory at once. */
const CHANGES_AT_ONCE = 10_000;
const POSTS = 2_000;
const POSTS_IN_FLIGHT = 64;

/**
 * Changes per second if the rows of `changes` changes are only inserted, with those of `batch` changes in each
 * transaction. The targets are copies of the tables with their indexes and storage parameters. Reading the rows is not
 * counted.
 */
export async function bulkInsertRate(database: Database, changes: number, batch: number): Promise<number> {
  for (const table of TABLES) {
    await copyTable(database, table);
  }
  const chunks = Math.ceil(changes / CHANGES_AT_ONCE);
  const transactions = Math.max(1, Math.ceil(changes / chunks / batch));
  let insertingMs = 0;
  await transaction(database, async (reader) => {
    // The reading transaction is idle while a chunk is inserted.
    await reader.query('set local idle_in_transaction_session_timeout = 0');
    const readers = await Promise.all(TABLES.map((table) => openReader(reader, table, chunks)));
    for (let chunk = 0; chunk < chunks; chunk++) {
      const slices: { readonly table: string; readonly rows: readonly string[] }[] = [];
      for (const { table, next } of readers) slices.push({ table, rows: await next() });
      const startedAt = performance.now();
      for (let position = 0; position < transactions; position++) {
        await insertSlices(database, slices, position / transactions, (position + 1) / transactions);
      }
      insertingMs += performance.now() - startedAt;
    }
  });
  for (const table of TABLES) await database.query(`drop table raw_${table}`);
  return (changes * 1_000) / insertingMs;
}

/** `like` does not copy storage parameters, so this copies those of the table and of its TOAST table. */
async function copyTable(database: Database, table: string): Promise<void> {
  await database.query(`create table raw_${table} (like ${table} including all excluding identity)`);
  const { rows } = await database.query<{ options: string | null }>(
    `select string_agg(option, ', ') as options from pg_class main left join pg_class toast on toast.oid = main.reltoastrelid
     cross join lateral (
       select unnest(main.reloptions) as option union all select 'toast.' || unnest(toast.reloptions)
     ) given where main.oid = $1::regclass`,
    [table],
  );
  const options = rows[0]?.options ?? null;
  if (options !== null) await database.query(`alter table raw_${table} set (${options})`);
}

interface RowReader {
  readonly table: string;
  /** The next of `chunks` equal parts of the table's rows, each as JSON text. */
  readonly next: () => Promise<readonly string[]>;
}

async function openReader(client: Queryable, table: string, chunks: number): Promise<RowReader> {
  await client.query(`declare raw_${table}_rows cursor for select row_to_json(${table})::text as row from ${table}`);
  const { rows } = await client.query<{ count: string }>(`select count(*) from ${table}`);
  const size = Math.ceil(Number(rows[0]?.count) / chunks);
  return {
    table,
    async next() {
      const { rows: part } = await client.query<{ row: string }>(`fetch ${size} from raw_${table}_rows`);
      return part.map(({ row }) => row);
    },
  };
}

/** Inserts, in one transaction, the rows from share `from` to share `to` of each slice. */
async function insertSlices(
  database: Database,
  slices: readonly { readonly table: string; readonly rows: readonly string[] }[],
  from: number,
  to: number,
): Promise<void> {
  await transaction(database, async (client) => {
    const inserts = slices.map(async ({ table, rows }) => {
      const part = rows.slice(Math.floor(from * rows.length), Math.floor(to * rows.length));
      if (part.length === 0) return;
      await client.query({
        name: `raw-${table}`,
        text: `insert into raw_${table} select * from json_populate_recordset(null::raw_${table}, $1)`,
        values: [`[${part.join(',')}]`],
      });
    });
    await Promise.all(inserts);
  });
}

/** Messages per second that a stream stores. */
export async function publishRate(broker: Broker, publications: readonly Publication[]): Promise<number> {
  const startedAt = performance.now();
  await publishAll(broker, publications);
  return publications.length / ((performance.now() - startedAt) / 1_000);
}

/** POSTs per second of a keep-alive client that does nothing else. */
export async function postRate(url: string, body: string): Promise<number> {
  let sent = 0;
  const startedAt = performance.now();
  const sendAll = async (): Promise<void> => {
    while (sent++ < POSTS) {
      const answer = await request(url, { method: 'POST', body, headers: { 'webhook-id': `raw-${sent}` } });
      await answer.body.dump();
    }
  };
  await Promise.all(Array.from({ length: POSTS_IN_FLIGHT }, sendAll));
  return POSTS / ((performance.now() - startedAt) / 1_000);
}
