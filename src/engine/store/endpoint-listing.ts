/** The endpoints of a client: those that its searches name, those with open deliveries, and paused ones. */

import { endpointKeyOf } from '../domain/endpoint.ts';
import type { Uuid } from '../domain/ids.ts';
import type { ListedPage } from './client-listings.ts';
import type { Queryable } from './database.ts';
import { isInAnyLane } from './delivery-states.ts';

export interface OwnEndpoint {
  readonly key: string;
  readonly url: string;
  readonly hasMatches: boolean;
  readonly hasEvents: boolean;
  /** The number of searches that name it. */
  readonly searches: number;
}

type Row = Omit<OwnEndpoint, 'key'> & { readonly key: string | null };

/** The keys of a client's endpoints contain the last digits of its id (domain/endpoint.ts). */
const IS_OF_CLIENT = 'length(key) = 32 and substr(key, 17, 8) = right($1::text, 8)';

/**
 * Ordered by URL. Served by searches_client. Scans all endpoints, as there are thousands at most, and looks up their
 * open deliveries in open_endpoint.
 */
export async function listOwnEndpoints(
  database: Queryable,
  clientId: Uuid,
  { direction, offset, limit }: ListedPage,
): Promise<{ readonly endpoints: readonly OwnEndpoint[]; readonly total: number }> {
  const { rows } = await database.query<{ total: number; page: readonly Row[] | null }>(
    `with named as materialized (
       select url, bool_or(channel = 'match') as "hasMatches", bool_or(channel = 'event') as "hasEvents",
         count(distinct number)::integer as searches
       from searches, lateral (values (endpoint_recipient, 'match'), (event_endpoint, 'event')) as channels(url, channel)
       where client_id = $1 and deleted_at is null and url is not null group by url
     ), listed as materialized (
       select null as key, named.* from named
       union all
       select key, url, false, false, 0 from endpoints
       where ${IS_OF_CLIENT} and url not in (select url from named) and (paused_at is not null
         or exists (select from open_deliveries where endpoint_key = key and ${isInAnyLane()} offset 0))
     )
     select (select count(*)::integer from listed) as total, (
       select json_agg(page) from (select * from listed order by url collate "C" ${direction} offset $2 limit $3) page) as page`,
    [clientId, offset, limit],
  );
  const [{ total, page } = { total: 0, page: null }] = rows;
  const endpoints = (page ?? []).map((row) => ({ ...row, key: endpointKeyOf(clientId, row.url), stored: row.key }));
  // Keys contain only the last digits of a client's id, so some rows may be endpoints of another client.
  return { endpoints: endpoints.filter(({ key, stored }) => stored === null || stored === key), total };
}

/** Null if the endpoint is not the client's. Served by searches_client and the primary key of endpoints. */
export async function readOwnEndpoint(database: Queryable, clientId: Uuid, url: string): Promise<OwnEndpoint | null> {
  const key = endpointKeyOf(clientId, url);
  const { rows } = await database.query<Omit<OwnEndpoint, 'key' | 'url'> & { isKnown: boolean }>(
    `select coalesce(bool_or(endpoint_recipient = $2), false) as "hasMatches",
       coalesce(bool_or(event_endpoint = $2), false) as "hasEvents", count(*)::integer as searches,
       exists (select from endpoints where key = $3) as "isKnown"
     from searches
     where client_id = $1 and deleted_at is null and (endpoint_recipient = $2 or event_endpoint = $2)`,
    [clientId, url, key],
  );
  const [row] = rows;
  if (row === undefined || (row.searches === 0 && !row.isKnown)) return null;
  const { isKnown: _known, ...counts } = row;
  return { key, url, ...counts };
}

/** The number of pauses by the client itself, except that of `key`. Served by endpoints_paused. */
export async function countOwnPauses(database: Queryable, clientId: Uuid, key: string): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    `select count(*)::integer as count from endpoints
     where paused_at is not null and client_paused_at is not null and key <> $2 and ${IS_OF_CLIENT}`,
    [clientId, key],
  );
  return rows[0]?.count ?? 0;
}
