/** Publishing many messages to a real nats-server that refuses some of them. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Broker } from '../../src/engine/broker/connection.ts';
import { type Publication, publish, publishAll } from '../../src/engine/broker/publish.ts';
import { connectTestBroker } from '../support/broker.ts';
import { startTestNats } from '../support/servers.ts';

/** More messages than may be in flight at once. */
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

test('many publications are stored in order with their headers, and not a second time when repeated', async (t) => {
  const broker = await openStream(t);
  const publications = publicationsTo((position) => `taken.${position}`);
  await publishAll(broker, publications);
  assert.equal(await heldBy(broker), MANY);
  for (const position of [0, 255, 256, MANY - 1]) {
    const stored = await broker.manager.streams.getMessage('TAKEN', { seq: position + 1 });
    assert.equal(stored.subject, `taken.${position}`);
    assert.equal(stored.header.get('position'), String(position));
    assert.equal(new TextDecoder().decode(stored.data), `body ${position}`);
  }
  await publishAll(broker, publications);
  assert.equal(await heldBy(broker), MANY);
  assert.equal((await publish(broker, publications[7] as Publication)).isDuplicate, true);
});

test('a subject without a stream fails the call, and the other publications are stored', async (t) => {
  const broker = await openStream(t);
  const publications = publicationsTo((position) => (position % 100 === 3 ? 'nowhere' : `taken.${position}`));
  await assert.rejects(publishAll(broker, publications), /no stream accepts the subject/);
  assert.equal(await heldBy(broker), MANY - MANY / 100);
});

test('an answer without a sequence is not an acknowledgement', async (t) => {
  const broker = await openStream(t);
  // A leader of nats-server 2.10 that is cut off answers a repeated message like this.
  broker.connection.subscribe('repeated', {
    callback: (_, message) => void message.respond('{"stream":"TAKEN","seq":0,"duplicate":true}'),
  });
  const repeated = { subject: 'repeated', messageId: 'once', bytes: Buffer.from('body') };
  await assert.rejects(publish(broker, repeated), { code: 'BROKER_UNAVAILABLE' });
  await assert.rejects(publishAll(broker, [repeated]), { code: 'BROKER_UNAVAILABLE' });
});

test('a publication that the stream refuses fails the call with the stream’s message, and the others are stored', async (t) => {
  const broker = await openStream(t, { max_msg_size: 200 });
  const publications = publicationsTo((position) => `taken.${position}`).map((publication, position) =>
    position === 500 ? { ...publication, bytes: Buffer.alloc(300) } : publication,
  );
  await assert.rejects(publishAll(broker, publications), /message size exceeds maximum allowed/);
  assert.equal(await heldBy(broker), MANY - 1);
});

test('a connection that closes during publications fails them', async (t) => {
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
