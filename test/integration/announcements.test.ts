/** What instances tell each other over NATS to save a wait. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { announceCoordinates, onCoordinates, onSearchChange } from '../../src/broker/announcements.ts';
import { connectBroker } from '../../src/broker/connection.ts';
import { startTestNats } from '../support/servers.ts';

test('an import of centres is told to every instance, and is no change of a search', async (t) => {
  const server = await startTestNats(t);
  const connect = async (name: string) => {
    const broker = await connectBroker({ url: server.url, name, onStatus: () => undefined });
    t.after(() => broker.close());
    return broker;
  };
  const instances = await Promise.all(['one', 'two'].map(connect));
  const told = instances.map(
    (broker) =>
      new Promise<void>((resolve) => {
        onSearchChange(broker, () => assert.fail('a search has changed'));
        onCoordinates(broker, resolve);
      }),
  );
  await Promise.all(instances.map(({ connection }) => connection.flush()));
  announceCoordinates(await connect('import'));
  await Promise.all(told);
});
