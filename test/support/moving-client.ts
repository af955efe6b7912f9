/**
 * A client with ten thousand searches in one of two cells, adverts that go on changing, and what the rules say it must be
 * told of them, wherever it lives: the oracle knows no cells.
 */

import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { type Broker, connectBroker } from '../../src/engine/broker/connection.ts';
import { publish } from '../../src/engine/broker/publish.ts';
import { advertSubject } from '../../src/engine/broker/topology.ts';
import { type Uuid, uuidOf } from '../../src/engine/domain/ids.ts';
import { SEARCH_DEFAULTS } from '../../src/engine/domain/search.ts';
import { createSearch } from '../../src/engine/store/searches.ts';
import type { AuditedDelivery } from './delivery-auditor.ts';
import type { Cleanup } from './servers.ts';
import type { WebhookReceiver } from './webhook-receiver.ts';

const CITIES = [
  ...['83137', '06088', '34172', '31555', '33063', '44109', '35238', '59350', '67482', '38185'],
  ...['21231', '49007', '76540', '14118', '45234', '37261', '63113', '87085', '86194', '17300'],
];
const PROPERTIES = 80;
/** Of a city's searches. */
const NOTIFYING_EVERY = 20;
const PUBLISH_EVERY_MS = 200;

interface NotifyingSearch {
  readonly id: Uuid;
  readonly city: string;
  readonly budgetMax: number;
}

/** As the auditor compares: what is told of a property to a search. */
export const keyOf = ({ searchId, propertyUuid, channel, kind }: AuditedDelivery): string =>
  [searchId, propertyUuid, channel, kind].join(' ');

/** Creates the searches by the client of the database that has been created last. */
export async function saveSearches(
  database: pg.Pool,
  count: number,
  receiver: WebhookReceiver,
): Promise<readonly NotifyingSearch[]> {
  const { rows } = await database.query<{ id: string }>('select id from clients order by created_at desc limit 1');
  const clientId = uuidOf(rows[0]?.id ?? '');
  const notifying: NotifyingSearch[] = [];
  let next = 0;
  async function saveSome(): Promise<void> {
    for (let number = next++; number < count; number = next++) {
      const city = CITIES[number % CITIES.length] as string;
      const rank = Math.floor(number / CITIES.length);
      const isNotifying = rank % NOTIFYING_EVERY === 0;
      const budgetMax = 150_000 + ((rank * 7_919) % 200) * 1_000;
      const endpoint = receiver.urlOf(rank % 100 === 0 ? '/flaky' : `/hook-${rank % 7}`);
      const { id } = await createSearch(database, clientId, {
        ...SEARCH_DEFAULTS,
        ...{ title: `search ${number}`, budgetMax, includedInseeCodes: [city], withCoherentPrice: null },
        ...{ notificationEnabled: isNotifying, subscribedEvents: ['ad.update.price'] },
        ...(isNotifying ? { endpointRecipient: endpoint, eventEndpoint: endpoint } : {}),
      });
      if (isNotifying) notifying.push({ id, city, budgetMax });
    }
  }
  await Promise.all(Array.from({ length: 4 }, saveSome));
  return notifying;
}

export interface MovingMarket {
  readonly published: number;
  /** Ends the changes; resolves with what is to be told of them. */
  stop(): Promise<readonly string[]>;
}

/** Changes a price after the other until it is stopped; some properties are new. */
export async function startMarket(
  cleanup: Cleanup,
  natsUrl: string,
  searches: readonly NotifyingSearch[],
): Promise<MovingMarket> {
  const broker = await connectBroker({ url: natsUrl, name: 'market', onStatus: () => undefined });
  cleanup.after(() => broker.close());
  const properties: Property[] = [];
  const expected: string[] = [];
  let published = 0;
  let isStopping = false;
  async function changeOn(): Promise<void> {
    while (!isStopping) {
      const isNew = properties.length < PROPERTIES && published % 5 === 0;
      const property = isNew ? newProperty(properties) : (properties[(published * 13) % properties.length] as Property);
      const price = 140_000 + ((published * 104_729) % 230) * 1_000;
      expected.push(...toldOf(property, price, searches));
      await publishPrice(broker, property, price);
      published += 1;
      await wait(PUBLISH_EVERY_MS);
    }
  }
  const changing = changeOn();
  return {
    get published() {
      return published;
    },
    async stop() {
      isStopping = true;
      await changing;
      return expected;
    },
  };
}

interface Property {
  readonly uuid: string;
  readonly advert: string;
  readonly city: string;
  price: number | null;
  readonly begun: Set<Uuid>;
}

function newProperty(properties: Property[]): Property {
  const city = CITIES[properties.length % CITIES.length] as string;
  const property = { uuid: randomUUID(), advert: randomUUID(), city, price: null, begun: new Set<Uuid>() };
  properties.push(property);
  return property;
}

/** Decisions, sections 3 and 4, for a price alone. */
function toldOf(property: Property, price: number, searches: readonly NotifyingSearch[]): readonly string[] {
  const { uuid, city, price: former, begun } = property;
  property.price = price;
  return searches.flatMap(({ id, city: wanted, budgetMax }) => {
    if (wanted !== city) return [];
    const [before, after] = [former !== null && former <= budgetMax, price <= budgetMax];
    const told: string[] = [];
    if (after && !before && !begun.has(id)) {
      begun.add(id);
      told.push(`${id} ${uuid} match ${former === null ? 'property.ad.create' : 'property.ad.update'}`);
    }
    if (former !== null && former !== price && (before || after)) told.push(`${id} ${uuid} event ad.update.price`);
    return told;
  });
}

async function publishPrice(broker: Broker, { uuid, advert, city }: Property, price: number): Promise<void> {
  const message = {
    kind: 'upsert',
    crawledAt: new Date().toISOString(),
    property: { uuid, transactionType: 0, propertyType: 0, city: { insee: city } },
    advert: { uuid: advert, title: 'Appartement', price, surface: 60 },
  };
  const bytes = Buffer.from(JSON.stringify(message));
  await publish(broker, { subject: advertSubject(uuid), messageId: randomUUID(), bytes });
}
