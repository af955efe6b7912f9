/**
 * Gives stored properties their digests, a batch a time, beside everything else: all of them once, in the order of the
 * primary key, and again those that a version without digests has written since, which a trigger notes. A batch is one
 * transaction that holds the properties as a recorder would, and how far it came with it: whoever goes on, after a crash
 * or on another instance, begins where the last one ended.
 */

import type { HeldProperty } from '../domain/change.ts';
import type { ResolvePlace } from '../domain/city.ts';
import type { Uuid } from '../domain/ids.ts';
import { readingOf } from '../domain/property-document.ts';
import { type Database, type Queryable, transaction } from './database.ts';
import { type LockedProperty, lockProperties, readLocked } from './properties.ts';
import { insertDigests } from './property-digests.ts';

const PROPERTIES_PER_BATCH = 100;
/** Of the states that a batch reads; one in any case. */
const BYTES_PER_BATCH = 1_024 * 1_024;

/** True once every stored property has had its digest; those of an older version may lag behind by a few. */
export async function isFillEnded(database: Queryable): Promise<boolean> {
  const { rows } = await database.query<{ ended: boolean }>(
    'select ended_at is not null as ended from property_digest_fill',
  );
  return rows[0]?.ended === true;
}

/** Stored properties whose digest is still to be made, or made anew. Served by the primary keys alone. */
export async function countUndigested(database: Queryable): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    `select ((select count(*) from property_digest_backlog) + (
       select count(*) from property_digest_fill cross join properties
       where ended_at is null and (reached is null or uuid > reached)
     ))::integer as count`,
  );
  return rows[0]?.count ?? 0;
}

/** Resolves with how many properties a batch looked at: 0 when nothing is left to do. Two at a time do no harm. */
export async function fillDigests(database: Database, resolvePlace: ResolvePlace): Promise<number> {
  return transaction(database, async (client) => {
    // One row: whoever comes second goes on behind the first.
    const { rows } = await client.query<{ reached: Uuid | null; ended: boolean }>(
      'select reached, ended_at is not null as ended from property_digest_fill for update',
    );
    const [fill] = rows;
    if (fill === undefined) return 0;
    return fill.ended ? fillBacklog(client, resolvePlace) : fillOn(client, fill.reached, resolvePlace);
  });
}

/** Served by the primary key. */
async function fillOn(client: Queryable, reached: Uuid | null, resolvePlace: ResolvePlace): Promise<number> {
  const { rows } = await client.query<{ uuid: Uuid }>(
    'select uuid from properties where $1::uuid is null or uuid > $1 order by uuid limit $2',
    [reached, PROPERTIES_PER_BATCH],
  );
  const filled = await fill(
    client,
    rows.map(({ uuid }) => uuid),
    resolvePlace,
  );
  const last = filled.at(-1);
  if (last === undefined) await client.query('update property_digest_fill set ended_at = now()');
  else await client.query('update property_digest_fill set reached = $1', [last]);
  return Math.max(1, filled.length);
}

/**
 * Served by the primary key. Who writes a property again waits for this to end, and notes it again; who has written it
 * and not committed is waited for.
 */
async function fillBacklog(client: Queryable, resolvePlace: ResolvePlace): Promise<number> {
  const { rows } = await client.query<{ uuid: Uuid }>(
    'select property_uuid as uuid from property_digest_backlog order by property_uuid limit $1',
    [PROPERTIES_PER_BATCH],
  );
  const filled = await fill(
    client,
    rows.map(({ uuid }) => uuid),
    resolvePlace,
  );
  if (filled.length > 0) {
    await client.query('delete from property_digest_backlog where property_uuid = any($1::uuid[])', [filled]);
  }
  return filled.length;
}

/** In this order; resolves with those that were done, or have gone meanwhile. */
async function fill(client: Queryable, uuids: readonly Uuid[], resolvePlace: ResolvePlace): Promise<readonly Uuid[]> {
  if (uuids.length === 0) return [];
  const locked = await lockProperties(client, uuids);
  const chosen = firstOf(uuids, locked);
  const large = await readLocked(
    client,
    chosen.filter((uuid) => locked.get(uuid)?.held === null),
  );
  const properties = chosen.flatMap((uuid) => {
    const held: HeldProperty | null | undefined = locked.get(uuid)?.held ?? large.get(uuid);
    return held ? [{ reading: readingOf(held.state, held.crawls, resolvePlace), crawls: held.crawls }] : [];
  });
  for (const { name, text, values } of insertDigests(properties))
    await client.query({ name, text, values: [...values] });
  return chosen;
}

function firstOf(uuids: readonly Uuid[], locked: ReadonlyMap<Uuid, LockedProperty>): readonly Uuid[] {
  let bytes = 0;
  const end = uuids.findIndex((uuid, position) => {
    bytes += locked.get(uuid)?.bytes ?? 0;
    return position > 0 && bytes > BYTES_PER_BATCH;
  });
  return end === -1 ? uuids : uuids.slice(0, end);
}
