/** Held properties for readers: no locks. */

import type { HeldProperty } from '../domain/change.ts';
import type { Uuid } from '../domain/ids.ts';
import type { Queryable } from './database.ts';

/** The known ones among `uuids`, in their order. Served by the primary key. */
export async function readHeldProperties(
  database: Queryable,
  uuids: readonly Uuid[],
): Promise<readonly HeldProperty[]> {
  const { rows } = await database.query<HeldProperty>(
    `select state, crawls from unnest($1::uuid[]) with ordinality as wanted(uuid, position)
     join properties using (uuid) order by position`,
    [uuids],
  );
  return rows;
}
