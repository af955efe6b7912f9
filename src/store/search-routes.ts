/** Where a search wants its matches and events; read in the transaction that records the change. */

import type { SearchNumber } from '../domain/ids.ts';
import type { SearchRoute } from '../domain/routing.ts';
import { arrayLiteral } from './array-literal.ts';
import type { Queryable } from './database.ts';

type RouteRow = SearchRoute & { readonly isDeleted: boolean };

/**
 * The searches among `numbers` that want to be told, and null for those that were deleted; the rest is silent. Served by
 * index `searches_told`.
 */
export async function readRoutes(
  client: Queryable,
  numbers: readonly SearchNumber[],
): Promise<Map<SearchNumber, SearchRoute | null>> {
  if (numbers.length === 0) return new Map();
  const { rows } = await client.query<RouteRow>({
    name: 'read-routes',
    text: `
      select number, id, client_id as "clientId", endpoint_recipient as "endpointRecipient", event_endpoint as "eventEndpoint",
        subscribed_events as "subscribedEvents", hide_property_contact as "hidePropertyContact",
        deleted_at is not null as "isDeleted"
      from searches
      where number = any($1::integer[]) and (notification_enabled or deleted_at is not null)`,
    values: [arrayLiteral(numbers)],
  });
  return new Map(rows.map(({ isDeleted, ...route }) => [route.number, isDeleted ? null : route]));
}
