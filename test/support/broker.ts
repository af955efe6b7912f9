/** Opens a test's own connection to its NATS server. */

import { type Broker, connectBroker } from '../../src/engine/broker/connection.ts';
import type { Cleanup } from './servers.ts';

/** The connection closes with the test. */
export async function connectTestBroker(cleanup: Cleanup, url: string, name = 'test'): Promise<Broker> {
  const broker = await connectBroker({ url, name, onStatus: () => undefined });
  cleanup.after(() => broker.close());
  return broker;
}
