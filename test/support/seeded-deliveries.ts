/**
 * Deliveries as the recorder leaves them, without adverts and matching: one search, one snapshot, and as many queued
 * deliveries as asked for, published like the dispatcher publishes them.
 */

import type { Broker } from '../../src/broker/connection.ts';
import { publicationOf } from '../../src/broker/delivery-messages.ts';
import { publishAll } from '../../src/broker/publish.ts';
import { endpointKeyOf } from '../../src/domain/endpoint.ts';
import { randomUuid, type SearchNumber, timeOrderedUuid, type Uuid, uuidAfter } from '../../src/domain/ids.ts';
import { bodyHead } from '../../src/domain/routing.ts';
import type { Database } from '../../src/store/database.ts';
import { type DeliveryAddress, insertDeliveries } from '../../src/store/deliveries.ts';
import { insertSnapshots } from '../../src/store/snapshots.ts';
import { runStatements } from './statements.ts';

export const SEEDED_TOKEN = `whsec_${Buffer.alloc(32, 5).toString('base64')}`;

export interface SeededSearch {
  readonly id: Uuid;
  readonly clientId: Uuid;
  readonly number: SearchNumber;
  readonly snapshotId: Uuid;
}

/** About as long as the document of a real property. */
const DOCUMENT = JSON.stringify({ '@type': 'PropertyDocument', title: 'Appartement', description: 'é'.repeat(1_500) });

export async function seedSearch(database: Database): Promise<SeededSearch> {
  const id = randomUuid();
  const clientId = randomUuid();
  await database.query('insert into clients (id, name) values ($1, $2)', [clientId, `seeded ${clientId}`]);
  const { rows } = await database.query<{ number: SearchNumber }>(
    `insert into searches (id, client_id, title, title_folded, members, notification_enabled, subscribed_events,
       hide_property_contact, token)
     values ($1, $2, 'seeded', 'seeded', '{}', true, '{}', false, $3) returning number`,
    [id, clientId, SEEDED_TOKEN],
  );
  const snapshotId = timeOrderedUuid(new Date());
  await runStatements(database, insertSnapshots([{ id: snapshotId, document: DOCUMENT }]));
  return { id, clientId, number: (rows[0] as { number: SearchNumber }).number, snapshotId };
}

/** One delivery for each entry of `endpoints`, in that order; committed, not published. */
export async function seedDeliveries(
  database: Database,
  search: SeededSearch,
  endpoints: readonly string[],
  of: 'a match each' | 'one match' = 'a match each',
): Promise<readonly DeliveryAddress[]> {
  const now = new Date();
  const sharedId = timeOrderedUuid(now);
  let lastId: Uuid | null = null;
  const deliveries = endpoints.map((endpoint, position) => {
    const matchId = of === 'one match' ? sharedId : timeOrderedUuid(now);
    const id: Uuid = of === 'one match' ? uuidAfter(lastId, now) : timeOrderedUuid(now);
    lastId = id;
    const match = { id: matchId, createdAt: now.toISOString(), updatedAt: now.toISOString() };
    return {
      id,
      searchNumber: search.number,
      matchId,
      sequence: of === 'one match' ? position + 1 : 1,
      channel: 'match' as const,
      kind: 'property.ad.create' as const,
      endpoint,
      endpointKey: endpointKeyOf(search.clientId, endpoint),
      head: bodyHead({ kind: 'property.ad.create', field: null }, search.id, matchId, match),
      snapshotId: search.snapshotId,
      traceparent: null,
    };
  });
  for (let start = 0; start < deliveries.length; start += 1_000) {
    await runStatements(database, insertDeliveries(deliveries.slice(start, start + 1_000)));
  }
  return deliveries.map(({ id, endpointKey }) => ({ id, endpointKey }));
}

export async function publishSeeded(broker: Broker, addresses: readonly DeliveryAddress[]): Promise<void> {
  await publishAll(
    broker,
    addresses.map((address) => publicationOf(broker, address)),
  );
}
