/**
 * What the parts reach alone, in the same run: PostgreSQL inserting the rows that the pipeline wrote, JetStream taking
 * the messages, a bare HTTP client posting the bodies.
 */

import { request } from 'undici';
import type { Broker } from '../../src/broker/connection.ts';
import { type Publication, publishAll } from '../../src/broker/publish.ts';
import { type Database, transaction } from '../../src/store/database.ts';

const TABLES = ['properties', 'events', 'matches', 'snapshots', 'deliveries', 'attempts'] as const;
/** Of all: enough to tell the rate, and to fit in memory. */
const CHANGES_MAX = 20_000;
const POSTS = 2_000;
const POSTS_IN_FLIGHT = 64;

/**
 * Changes per second when the rows of `changes` changes are only inserted, `batch` changes' worth of rows in each
 * transaction, into copies of the tables with the same indexes.
 */
export async function bulkInsertRate(database: Database, changes: number, batch: number): Promise<number> {
  const share = Math.min(1, CHANGES_MAX / changes);
  const inserted = changes * share;
  const transactions = Math.max(1, Math.ceil(inserted / batch));
  const slices: { readonly table: string; readonly rows: readonly string[] }[] = [];
  for (const table of TABLES) {
    await database.query(`create table raw_${table} (like ${table} including all excluding identity)`);
    const { rows } = await database.query<{ row: string }>(
      `select row_to_json(${table})::text as row from ${table}
       limit (select ceil($1::float8 * count(*)) from ${table})`,
      [share],
    );
    slices.push({ table, rows: rows.map(({ row }) => row) });
  }
  const startedAt = performance.now();
  for (let position = 0; position < transactions; position++) {
    await transaction(database, async (client) => {
      for (const { table, rows } of slices) {
        const [from, to] = [position, position + 1].map((edge) => Math.floor((edge * rows.length) / transactions));
        const part = rows.slice(from, to);
        if (part.length === 0) continue;
        await client.query({
          name: `raw-${table}`,
          text: `insert into raw_${table} select * from json_populate_recordset(null::raw_${table}, $1)`,
          values: [`[${part.join(',')}]`],
        });
      }
    });
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  for (const table of TABLES) await database.query(`drop table raw_${table}`);
  return inserted / seconds;
}

/** Messages per second that a stream takes, `publications` as they come. */
export async function publishRate(broker: Broker, publications: readonly Publication[]): Promise<number> {
  const startedAt = performance.now();
  await publishAll(broker, publications);
  return publications.length / ((performance.now() - startedAt) / 1_000);
}

/** POSTs per second of a keep-alive client without anything else to do. */
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
