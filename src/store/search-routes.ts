/** Where a search wants its matches and events; read in the transaction that records the change. */

import type { SearchNumber } from '../domain/ids.ts';
import type { SearchRoute } from '../domain/routing.ts';
import { arrayLiteral } from './array-literal.ts';
import type { Queryable } from './database.ts';

type RouteRow = SearchRoute | { readonly number: SearchNumber; readonly id: null };

/**
 * The searches among `numbers` that want to be told, and null for those that are gone; the rest is silent. Served by the
 * primary key.
 */
export async function readRoutes(
  client: Queryable,
  numbers: readonly SearchNumber[],
): Promise<Map<SearchNumber, SearchRoute | null>> {
  if (numbers.length === 0) return new Map();
  const { rows } = await client.query<RouteRow>({
    name: 'read-routes',
    text: `
      select asked.number, id, endpoint_recipient as "endpointRecipient", event_endpoint as "eventEndpoint",
        subscribed_events as "subscribedEvents", hide_property_contact as "hidePropertyContact"
      from unnest($1::integer[]) as asked(number)
      left join searches on searches.number = asked.number and deleted_at is null
      where id is null or notification_enabled`,
    values: [arrayLiteral(numbers)],
  });
  return new Map(rows.map((row) => [row.number, row.id === null ? null : row]));
}
