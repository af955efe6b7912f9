/** Crawlers for tests: builders of small intake messages, and a connection that publishes them. */

import { connect } from 'nats';
import { type Uuid, uuidOf } from '../../src/engine/domain/ids.ts';
import type { Cleanup } from './servers.ts';

export interface AdvertState {
  readonly property: string;
  readonly advert: string;
  readonly crawledAt: string;
  readonly price: number | null;
  readonly surface?: number;
}

/** A flat for sale in Toulon. */
export function upsert({ property, advert, crawledAt, price, surface = 50 }: AdvertState) {
  return {
    kind: 'upsert',
    crawledAt,
    property: { uuid: property, transactionType: 0, propertyType: 0, city: { insee: '83137' } },
    advert: { uuid: advert, title: 'Appartement', price, surface },
  };
}

/** A UUID that contains its number. */
export function numberedUuid(kind: 'property' | 'advert', number: number): Uuid {
  const tail = number.toString(16).padStart(12, '0');
  return uuidOf(`${kind === 'property' ? '11111111' : '22222222'}-0000-4000-8000-${tail}`);
}

/** A message about the only advert of the property with this number. */
export function numberedFlat(number: number, price: number, crawledAt = '2026-03-10T08:00:00.000Z') {
  return upsert({
    property: numberedUuid('property', number),
    advert: numberedUuid('advert', number),
    crawledAt,
    price,
  });
}

/** The only adverts of the first `count` properties, a second later and a euro dearer in each round. */
export function roundOf(count: number, round: number) {
  const crawledAt = new Date(Date.UTC(2026, 2, 10, 8, 0, round)).toISOString();
  return Array.from({ length: count }, (_, number) => numberedFlat(number, 100_000 + round, crawledAt));
}

export interface TestCrawler {
  /** Publishes in order; resolves when the stream has stored everything. Strings and bytes are sent unchanged. */
  publish(...messages: readonly unknown[]): Promise<void>;
}

/** The daemon must have created the stream before. */
export async function connectCrawler(cleanup: Cleanup, natsUrl: string): Promise<TestCrawler> {
  const { port, hostname, username, password } = new URL(natsUrl);
  const connection = await connect({
    servers: `${hostname}:${port}`,
    maxReconnectAttempts: -1,
    ...(username === '' ? {} : { user: username, pass: password }),
  });
  cleanup.after(() => connection.close());
  // The stream answers only after its write, which may take long on a busy disk.
  const jetStream = connection.jetstream({ timeout: 60_000 });
  return {
    async publish(...messages) {
      for (const message of messages) {
        const bytes = typeof message === 'string' || message instanceof Uint8Array ? message : JSON.stringify(message);
        await jetStream.publish(`adverts.${subjectOf(message)}`, bytes);
      }
    },
  };
}

function subjectOf(message: unknown): string {
  const property = (message as { property?: { uuid?: string } }).property;
  return property?.uuid ?? 'unknown';
}
