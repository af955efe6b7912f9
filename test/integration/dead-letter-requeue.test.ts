/** A requeue publishes first and deletes afterwards. If a crash separates the two, it can be repeated safely. */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { publish } from '../../src/engine/broker/publish.ts';
import { ADVERTS_STREAM, advertSubject } from '../../src/engine/broker/topology.ts';
import { genericCall } from '../support/admin.ts';
import { connectTestBroker } from '../support/broker.ts';
import { connectDatabase } from '../support/database.ts';
import { metricOf, type OperatorScene, startScene } from '../support/operator-scene.ts';
import { untilIs } from '../support/until.ts';

const LETTER_ID = 1_000;

async function openScene(t: TestContext) {
  const scene = await startScene(t);
  const rows = connectDatabase(t, scene.servers.postgres.url);
  const broker = await connectTestBroker(t, scene.servers.nats.url);
  /** Inserts a dead letter with a valid message, as after an upgrade of the daemon that had refused it. */
  async function insertLetter(subject: string, body: Buffer): Promise<void> {
    await rows.query(
      `insert into dead_letters (id, stream, sequence, subject, headers, body, reason) overriding system value
       values ($1, $2, 1000000, $3, '{}', $4, 'refused by an older version')`,
      [LETTER_ID, ADVERTS_STREAM, subject, body],
    );
  }
  const messageCount = async () => (await broker.manager.streams.info(ADVERTS_STREAM)).state.messages;
  return { scene, broker, insertLetter, messageCount };
}

async function callRequeue(scene: OperatorScene) {
  const name = `deadLetters/${LETTER_ID}`;
  const answer = await genericCall(scene.daemon, 'RequeueDeadLetters', { filter: { names: [name] } });
  assert.equal(answer.code, null, answer.message);
  return answer.body;
}

async function requeue(scene: OperatorScene): Promise<number> {
  return (await callRequeue(scene)).requeuedCount ?? 0;
}

function upsertOf(uuid: string): Buffer {
  return Buffer.from(
    JSON.stringify({
      kind: 'upsert',
      crawledAt: new Date().toISOString(),
      property: { uuid, transactionType: 0, propertyType: 0, city: { insee: '83137' } },
      advert: { uuid: randomUUID(), title: 'Appartement', price: 250_000, surface: 60 },
    }),
  );
}

test('a dead letter that was published but not yet deleted is in the stream once if it is requeued again', async (t) => {
  const { scene, insertLetter, messageCount } = await openScene(t);
  const uuid = randomUUID();
  const [subject, bytes] = [advertSubject(uuid), upsertOf(uuid)];
  await insertLetter(subject, bytes);
  assert.equal(await requeue(scene), 1);
  assert.equal(await messageCount(), 1);

  await insertLetter(subject, bytes);
  assert.equal(await requeue(scene), 1);
  assert.equal(await messageCount(), 1, 'the stream recognises the repetition');
  assert.equal(await requeue(scene), 0, 'the dead letter is deleted');
});

test('a dead letter is not requeued if a later message of its advert is recorded, and the answer reports this', async (t) => {
  const { scene, broker, insertLetter, messageCount } = await openScene(t);
  const uuid = randomUUID();
  const [subject, overtaken] = [advertSubject(uuid), upsertOf(uuid)];
  const later = JSON.parse(overtaken.toString());
  later.crawledAt = new Date(Date.parse(later.crawledAt) + 1).toISOString();
  await publish(broker, { subject, messageId: randomUUID(), bytes: Buffer.from(JSON.stringify(later)) });
  await untilIs(() => metricOf(scene.daemon, 'vigie_changes_total'), 1);
  await insertLetter(subject, overtaken);
  const { requeuedCount = 0, overtakenCount } = await callRequeue(scene);
  assert.deepEqual([requeuedCount, overtakenCount], [0, 1]);
  assert.equal(await messageCount(), 1);
  assert.equal((await callRequeue(scene)).overtakenCount, 1, 'the dead letter is kept');
});
