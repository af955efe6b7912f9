/** Publishing many messages to a real nats-server, some of which it does not take. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Broker } from '../../src/engine/broker/connection.ts';
import { type Publication, publish, publishAll } from '../../src/engine/broker/publish.ts';
import { connectTestBroker } from '../support/broker.ts';
import { startTestNats } from '../support/servers.ts';

/** More than are on the way at once. */
const MANY = 1_000;

async function openStream(t: TestContext, limits: { readonly max_msg_size?: number } = {}): Promise<Broker> {
  const server = await startTestNats(t);
  const broker = await connectTestBroker(t, server.url);
  await broker.manager.streams.add({ name: 'TAKEN', subjects: ['taken.>'], ...limits });
  return broker;
}

function publicationsTo(subjectOf: (position: number) => string): readonly Publication[] {
  return Array.from({ length: MANY }, (_, position) => ({
    subject: subjectOf(position),
    messageId: `message-${position}`,
    bytes: Buffer.from(`body ${position}`),
    headers: { position: String(position) },
  }));
}

async function heldBy(broker: Broker): Promise<number> {
  return (await broker.manager.streams.info('TAKEN')).state.messages;
}

test('many publications are all held in their order with their headers, and published again not a second time', async (t) => {
  const broker = await openStream(t);
  const publications = publicationsTo((position) => `taken.${position}`);
  await publishAll(broker, publications);
  assert.equal(await heldBy(broker), MANY);
  for (const position of [0, 255, 256, MANY - 1]) {
    const held = await broker.manager.streams.getMessage('TAKEN', { seq: position + 1 });
    assert.equal(held.subject, `taken.${position}`);
    assert.equal(held.header.get('position'), String(position));
    assert.equal(new TextDecoder().decode(held.data), `body ${position}`);
  }
  await publishAll(broker, publications);
  assert.equal(await heldBy(broker), MANY);
  assert.equal((await publish(broker, publications[7] as Publication)).isDuplicate, true);
});

test('a subject that no stream takes fails the whole, and the others are held', async (t) => {
  const broker = await openStream(t);
  const publications = publicationsTo((position) => (position % 100 === 3 ? 'nowhere' : `taken.${position}`));
  await assert.rejects(publishAll(broker, publications), /no stream takes the subject/);
  assert.equal(await heldBy(broker), MANY - MANY / 100);
});

test('an acknowledgement without a place in the stream is none', async (t) => {
  const broker = await openStream(t);
  // As a leader of 2.10 that is cut off answers a repetition.
  broker.connection.subscribe('repeated', {
    callback: (_, message) => void message.respond('{"stream":"TAKEN","seq":0,"duplicate":true}'),
  });
  const repeated = { subject: 'repeated', messageId: 'once', bytes: Buffer.from('body') };
  await assert.rejects(publish(broker, repeated), { code: 'BROKER_UNAVAILABLE' });
  await assert.rejects(publishAll(broker, [repeated]), { code: 'BROKER_UNAVAILABLE' });
});

test('what the stream refuses fails the whole with its words, and the others are held', async (t) => {
  const broker = await openStream(t, { max_msg_size: 200 });
  const publications = publicationsTo((position) => `taken.${position}`).map((publication, position) =>
    position === 500 ? { ...publication, bytes: Buffer.alloc(300) } : publication,
  );
  await assert.rejects(publishAll(broker, publications), /message size exceeds maximum allowed/);
  assert.equal(await heldBy(broker), MANY - 1);
});

test('a connection that closes while publications are on the way fails them', async (t) => {
  const broker = await openStream(t);
  const published = publishAll(
    broker,
    publicationsTo((position) => `taken.${position}`),
  );
  const rejected = assert.rejects(published);
  await broker.close();
  await rejected;
  await assert.rejects(
    publishAll(
      broker,
      publicationsTo((position) => `taken.${position}`),
    ),
  );
});
