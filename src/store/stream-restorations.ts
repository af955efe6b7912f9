/** How far the open deliveries have been brought back after their stream was lost. One row a stream. */

import type { Uuid } from '../domain/ids.ts';
import type { Queryable } from './database.ts';

const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

export interface StreamIdentity {
  readonly name: string;
  /** As the NATS server tells it. */
  readonly createdAt: string;
}

/**
 * Begins a restoration when the stream is another one than last time; `isNew`: also when there was no last time. Served
 * by the primary key, as everything here.
 */
export async function noteStream(client: Queryable, stream: StreamIdentity, isNew: boolean): Promise<void> {
  await client.query(
    `insert into stream_restorations as known (stream, stream_created_at, through)
     values ($1, $2, case when $3 then '${BEFORE_ALL}'::uuid end)
     on conflict (stream) do update set stream_created_at = $2, through = '${BEFORE_ALL}'
     where known.stream_created_at <> $2`,
    [stream.name, stream.createdAt, isNew],
  );
}

/** The last delivery that was brought back; null when nothing is to be done. */
export async function readRestoration(client: Queryable, { name, createdAt }: StreamIdentity): Promise<Uuid | null> {
  const { rows } = await client.query<{ through: Uuid | null }>(
    'select through from stream_restorations where stream = $1 and stream_created_at = $2',
    [name, createdAt],
  );
  return rows[0]?.through ?? null;
}

/** From `after` to `through`, null at the end. Does nothing when another instance has gone on meanwhile. */
export async function advanceRestoration(
  client: Queryable,
  { name, createdAt }: StreamIdentity,
  after: Uuid,
  through: Uuid | null,
): Promise<void> {
  await client.query(
    `update stream_restorations set through = $4
     where stream = $1 and stream_created_at = $2 and through = $3`,
    [name, createdAt, after, through],
  );
}
