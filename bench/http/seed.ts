/**
 * Fills the table of searches by SQL, as it may be in production. One client has a tenth of all searches, one a
 * thousandth, and 899 other clients have about equal parts of the rest.
 */

import type { Database } from '../../src/engine/store/database.ts';

export const CLIENTS = 1_000;

/** `largeId` gets a tenth of the rows, `smallId` a thousandth. */
export async function seedSearches(database: Database, smallId: string, largeId: string, count: number): Promise<void> {
  await database.query(
    `insert into clients (id, name) select gen_random_uuid(), 'client ' || n from generate_series(1, $1::integer) n`,
    [CLIENTS],
  );
  await database.query(
    `with others as (select array_agg(id) as ids from clients where name like 'client %')
     insert into searches (id, client_id, title, title_folded, members, notification_enabled, endpoint_recipient,
       subscribed_events, hide_property_contact, token)
     select gen_random_uuid(), case when n % 10 = 0 then $1::uuid when n % 1000 = 1 then $4::uuid else ids[1 + n % $3::integer] end,
       'Recherche ' || key, 'recherche ' || key,
       jsonb_build_object('title', 'Recherche ' || key, 'transactionType', n % 2, 'propertyTypes', '[0, 1]'::jsonb,
         'budgetMax', 100000 + n % 400000, 'surfaceMin', n % 120, 'roomMin', n % 5,
         'includedCities', '["83137", "75056"]'::jsonb, 'notificationEnabled', true,
         'endpointRecipient', 'https://hooks.example.com/' || n % 1000, 'subscribedEvents', '["ad.update.price"]'::jsonb),
       true, 'https://hooks.example.com/' || n % 1000, '{ad.update.price}', false, 'whsec_' || md5(n::text)
     from others, generate_series(1, $2::integer) n, lateral (select n::bigint * 7919 % 1000003 as key) k`,
    [largeId, count, CLIENTS, smallId],
  );
  await database.query('vacuum analyze searches');
}
