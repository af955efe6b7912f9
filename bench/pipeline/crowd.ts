/** Notifying searches of several clients that all match the same single advert. */

import type { Publication } from '../../src/engine/broker/publish.ts';
import { advertSubject } from '../../src/engine/broker/topology.ts';
import { createClient } from '../../src/engine/store/clients.ts';
import type { Database } from '../../src/engine/store/database.ts';
import type { SampleCrawler } from '../adverts/sample-adverts.ts';

const CLIENTS = 20;
/** In euros, above the price of every other advert. */
const PRICE = 1e9;
const MEMBERS = JSON.stringify({ title: 'crowd', budgetMin: PRICE, withCoherentPrice: null });

export async function insertCrowd(database: Database, count: number, url: string): Promise<void> {
  for (let client = 0; client < CLIENTS; client++) {
    const { id } = await createClient(database, { name: `crowd ${client}` });
    await database.query(
      `insert into searches (id, client_id, title, title_folded, members, notification_enabled, endpoint_recipient,
         event_endpoint, subscribed_events, hide_property_contact, token)
       select gen_random_uuid(), $1, 'crowd', 'crowd', $2, true, $3, $3, '{}', false,
         'whsec_' || encode(convert_to(repeat('x', 32), 'UTF8'), 'base64')
       from generate_series(1, $4::integer)`,
      [id, MEMBERS, `${url}/${client}`, Math.ceil(count / CLIENTS)],
    );
  }
}

/** The advert that all these searches match. */
export function crowdPublication(crawler: SampleCrawler): Publication {
  const { property, advert, ...message } = crawler.newAdvert();
  const crowded = { ...message, crawledAt: new Date().toISOString(), property, advert: { ...advert, price: PRICE } };
  return {
    subject: advertSubject(property.uuid),
    messageId: `${advert.uuid}/crowd`,
    bytes: Buffer.from(JSON.stringify(crowded)),
  };
}
