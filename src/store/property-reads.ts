/** Held properties for readers: no locks. */

import type { HeldProperty } from '../domain/change.ts';
import type { Uuid } from '../domain/ids.ts';
import { cutOfListed, LISTED_MATCHES, LISTED_MAX, type ListedPage, listedOfClient } from './client-listings.ts';
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

export interface PropertyPage {
  readonly uuids: readonly Uuid[];
  readonly total: number;
}

export type PropertyOrder = 'uuid' | 'matched';

/**
 * The properties of the newest `LISTED_MAX` matches of a client, by UUID or by the newest match of each. Served as
 * `listedOfClient` says, then by the primary key of matches.
 */
export async function listMatchedProperties(
  database: Queryable,
  clientId: Uuid,
  { by, direction, offset, limit }: ListedPage & { readonly by: PropertyOrder },
): Promise<PropertyPage> {
  const order = by === 'uuid' ? `uuid ${direction}` : `at ${direction}, uuid ${direction}`;
  const { rows } = await database.query<PropertyPage>(
    `${listedOfClient(LISTED_MATCHES, 'desc')}, matched as materialized (
       select m.property_uuid as uuid, max(cut.at) as at from ${cutOfListed('desc')} cut
       join matches m using (id) group by m.property_uuid
     )
     select array(select uuid from matched order by ${order} limit $3 offset $4) as uuids,
       (select count(*)::integer from matched) as total`,
    [clientId, LISTED_MAX, limit, offset],
  );
  return rows[0] as PropertyPage;
}
