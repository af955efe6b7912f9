/**
 * Deliveries that are committed and not yet known to be published. One row per recorded batch, deleted once JetStream
 * has acknowledged every message of it; what a crash leaves behind is published again.
 */

import type { QueryResult } from 'pg';
import type { Uuid } from '../domain/ids.ts';
import { arrayLiteral } from './array-literal.ts';
import type { Queryable, Statement } from './database.ts';

export interface OutboxEntry {
  readonly id: string;
  readonly deliveryIds: readonly Uuid[];
}

/** Answers with the `id` of the entry. */
export function insertOutboxEntry(deliveryIds: readonly Uuid[]): Statement {
  return {
    name: 'insert-outbox',
    text: 'insert into outbox (delivery_ids) values ($1::uuid[]) returning id',
    values: [arrayLiteral(deliveryIds)],
  };
}

/**
 * Does not wait for the disk: an entry that a crash of PostgreSQL brings back is published again, which does no harm.
 * Served by the primary key.
 */
export async function deleteOutboxEntries(client: Queryable, entries: readonly OutboxEntry[]): Promise<void> {
  await client.query({
    name: 'delete-outbox',
    text: `
      with unhurried as (select set_config('synchronous_commit', 'off', true))
      delete from outbox using unhurried where id = any($1::bigint[])`,
    values: [entries.map(({ id }) => id)],
  });
}

/** `answer`: to `insertOutboxEntry`. */
export function outboxEntryOf({ rows }: QueryResult, deliveryIds: readonly Uuid[]): OutboxEntry {
  return { id: (rows[0] as { id: string }).id, deliveryIds };
}

/** Entries written more than `ageMs` ago, oldest first: their publisher has died. The table holds a few rows at most. */
export async function readAbandonedEntries(client: Queryable, ageMs: number): Promise<readonly OutboxEntry[]> {
  const { rows } = await client.query<{ id: string; delivery_ids: Uuid[] }>(
    `select id, delivery_ids from outbox
     where created_at <= now() - $1 * interval '1 millisecond' order by id limit 100`,
    [ageMs],
  );
  return rows.map(({ id, delivery_ids }) => ({ id, deliveryIds: delivery_ids }));
}
