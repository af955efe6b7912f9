/** Where a search wants its matches and events; read in the transaction that records the change. */

import type { SearchNumber } from '../domain/ids.ts';
import type { SearchRoute } from '../domain/routing.ts';
import type { Queryable } from './database.ts';

/** The searches among `numbers` that still exist. Served by the primary key. */
export async function readRoutes(
  client: Queryable,
  numbers: readonly SearchNumber[],
): Promise<Map<SearchNumber, SearchRoute>> {
  if (numbers.length === 0) return new Map();
  const { rows } = await client.query<SearchRoute>({
    name: 'read-routes',
    text: `
      select number, id, notification_enabled as "notificationEnabled", endpoint_recipient as "endpointRecipient",
        event_endpoint as "eventEndpoint", subscribed_events as "subscribedEvents",
        hide_property_contact as "hidePropertyContact"
      from searches where number = any($1::integer[]) and deleted_at is null`,
    values: [numbers],
  });
  return new Map(rows.map((route) => [route.number, route]));
}
