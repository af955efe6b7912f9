/** The store of nats-server is full although its disk is not: another stream uses all the remaining space. */

import { NatsError } from 'nats';
import { type Broker, connectBroker } from '../../src/engine/broker/connection.ts';
import type { TestServer } from '../../test/support/servers.ts';
import type { Fault, Lasting } from './fault.ts';

/** The store fits on the small disk (nats.ts). `ADVERTS` reserves half or three quarters of it, by server version. */
export const STORE_BYTES = 96 * 1024 ** 2;
const STREAM = 'SOMEBODY';
const SUBJECT = 'somebody';
/** Bytes of the messages: ever smaller, until not even a retry fits. */
const CHUNKS = [900_000, 30_000, 500];

export function storeFault(nats: TestServer, lasting: Lasting): Fault {
  return {
    name: 'the store of nats-server is full',
    weight: 3,
    victims: ['nats-server'],
    async strike() {
      const broker = await connectBroker({ url: nats.url, name: STREAM, onStatus: () => undefined });
      const { streams } = broker.manager;
      try {
        await streams.add({ name: STREAM, subjects: [SUBJECT] });
        for (const bytes of CHUNKS) await publishUntilRefused(broker, Buffer.alloc(bytes));
        await lasting(60);
        await streams.delete(STREAM);
      } finally {
        await broker.close();
      }
    },
  };
}

async function publishUntilRefused({ jetStream }: Broker, bytes: Buffer): Promise<void> {
  for (;;) {
    try {
      await jetStream.publish(SUBJECT, bytes);
    } catch (error) {
      if (error instanceof NatsError && error.api_error !== undefined) return;
      throw error;
    }
  }
}
