/** Announcements that instances send each other over NATS, to save waiting for the next poll. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { announceChange, onChange } from '../../src/engine/broker/announcements.ts';
import { connectBroker } from '../../src/engine/broker/connection.ts';
import { startTestNats } from '../support/servers.ts';

test('a changed key is announced to every instance, but not as a change of a search', async (t) => {
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
        onChange(broker, 'searches', () => assert.fail('a search has changed'));
        onChange(broker, 'keys', resolve);
      }),
  );
  await Promise.all(instances.map(({ connection }) => connection.flush()));
  announceChange(await connect('import'), 'keys');
  await Promise.all(told);
});

test('announcements of a namespace reach no other namespace', async (t) => {
  const server = await startTestNats(t);
  const connect = async (namespace: string | null) => {
    const broker = await connectBroker({ url: server.url, namespace, name: 'test', onStatus: () => undefined });
    t.after(() => broker.close());
    return broker;
  };
  const [first, west, sender] = await Promise.all([connect(null), connect('west'), connect('west')]);
  onChange(first, 'keys', () => assert.fail('it is of another namespace'));
  onChange(first, 'controls', () => assert.fail('it is of another namespace'));
  const told = new Promise<void>((resolve) => onChange(west, 'keys', resolve));
  const controlled = new Promise<void>((resolve) => onChange(west, 'controls', resolve));
  await Promise.all([first, west].map(({ connection }) => connection.flush()));
  announceChange(sender, 'keys');
  announceChange(sender, 'controls');
  await Promise.all([told, controlled]);
  // When the server answers this flush, all earlier messages for the connection have arrived.
  await first.connection.flush();
});
