/** Where a search wants its matches and events; read in the transaction that records the change. */

import type { SearchNumber } from '../domain/ids.ts';
import type { SearchRoute } from '../domain/routing.ts';
import { arrayLiteral } from './array-literal.ts';
import type { Queryable } from './database.ts';

type RouteRow = SearchRoute | { readonly number: SearchNumber; readonly id: null };

/** The searches among `numbers` that still exist; null for one that is silent. Served by the primary key. */
export async function readRoutes(
  client: Queryable,
  numbers: readonly SearchNumber[],
): Promise<Map<SearchNumber, SearchRoute | null>> {
  if (numbers.length === 0) return new Map();
  const { rows } = await client.query<RouteRow>({
    name: 'read-routes',
    text: `
      select number, route.*
      from searches left join lateral (
        select id, endpoint_recipient as "endpointRecipient", event_endpoint as "eventEndpoint",
          subscribed_events as "subscribedEvents", hide_property_contact as "hidePropertyContact"
        where notification_enabled
      ) route on true
      where number = any($1::integer[]) and deleted_at is null`,
    values: [arrayLiteral(numbers)],
  });
  return new Map(rows.map((row) => [row.number, row.id === null ? null : row]));
}
