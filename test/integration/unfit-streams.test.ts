/**
 * Streams and consumers that an operator created or changed so that they cannot work. Each is reported in `/readyz` and
 * by a metric; a daemon would otherwise wait for ever without a message.
 */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import {
  AckPolicy,
  type ConsumerConfig,
  DeliverPolicy,
  DiscardPolicy,
  nanos,
  ReplayPolicy,
  RetentionPolicy,
  type StreamConfig,
} from 'nats';
import { ensureIntake, ensureRejections, ensureRetries } from '../../src/engine/broker/topology.ts';
import { covers, inspectTopology } from '../../src/engine/broker/topology-inspection.ts';
import { startTopologyWatch } from '../../src/engine/maintenance/topology-watch.ts';
import { connectTestBroker } from '../support/broker.ts';
import { readinessOf } from '../support/operator-scene.ts';
import { lastFirst, startTestNats, startTestServers } from '../support/servers.ts';
import { startHere } from '../support/service.ts';
import { until, untilIs } from '../support/until.ts';

const cleanup = lastFirst({ after });
const nats = await startTestNats(cleanup);
const broker = await connectTestBroker(cleanup, nats.url);

const ADVERTS: Partial<StreamConfig> = {
  name: 'ADVERTS',
  subjects: ['adverts.>'],
  max_bytes: 1e8,
  discard: DiscardPolicy.New,
};
const INTAKE: Partial<ConsumerConfig> = {
  durable_name: 'intake',
  ack_policy: AckPolicy.Explicit,
  ack_wait: nanos(60_000),
};

async function removeAll(): Promise<void> {
  for await (const { config } of broker.manager.streams.list()) await broker.manager.streams.delete(config.name);
}

test('streams created by the daemon are accepted', async () => {
  await removeAll();
  await ensureIntake(broker);
  await ensureRejections(broker);
  await ensureRetries(broker);
  assert.deepEqual(await inspectTopology(broker), { faults: [], cautions: [], foreign: null });
});

test('streams that an operator has made larger, safer or more replicated are accepted', async () => {
  await removeAll();
  await broker.manager.streams.add({ ...ADVERTS, subjects: ['adverts.>', 'more.*'], max_age: nanos(30 * 86_400_000) });
  await broker.manager.consumers.add('ADVERTS', {
    ...INTAKE,
    filter_subject: 'adverts.>',
    max_ack_pending: 10_000,
    ack_wait: nanos(120_000),
  });
  await ensureRejections(broker);
  assert.deepEqual(await inspectTopology(broker), { faults: [], cautions: [], foreign: null });
});

const STREAM_FAULTS: readonly (readonly [string, Partial<StreamConfig>, RegExp])[] = [
  ['other subjects', { subjects: ['annonces.>'] }, /accepts annonces\.>, not adverts\.>/],
  ['narrower subjects', { subjects: ['adverts.*.fr'] }, /accepts adverts\.\*\.fr, not adverts\.>/],
  ['no_ack', { no_ack: true }, /no_ack/],
  ['max_msg_size', { max_msg_size: 200 }, /max_msg_size is 200 bytes/],
  ['a short max_age', { max_age: nanos(300_000), duplicate_window: nanos(60_000) }, /max_age is 300 s/],
  ['one message a subject', { max_msgs_per_subject: 1 }, /max_msgs_per_subject is 1/],
  ['the oldest dropped by bytes', { discard: DiscardPolicy.Old }, /discard is old with max_bytes 100000000/],
  [
    'the oldest dropped by number',
    { discard: DiscardPolicy.Old, max_bytes: -1, max_msgs: 1_000 },
    /discard is old with max_msgs 1000/,
  ],
  ['the retention of a work queue', { retention: RetentionPolicy.Workqueue }, /retention is workqueue, not limits/],
];

for (const [name, config, sentence] of STREAM_FAULTS) {
  test(`a stream ADVERTS with ${name} is a fault`, async () => {
    await removeAll();
    await broker.manager.streams.add({ ...ADVERTS, ...config });
    const { faults } = await inspectTopology(broker);
    assert.equal(faults.length, 1, faults.join('; '));
    assert.match(faults[0] as string, /^Stream ADVERTS: /);
    assert.match(faults[0] as string, sentence);
  });
}

const CONSUMER_FAULTS: readonly (readonly [string, Partial<ConsumerConfig>, RegExp])[] = [
  [
    'a filter',
    { filter_subject: 'adverts.11111111-0000-4000-8000-000000000001' },
    /filters adverts\.1+-0000-4000-8000-0+1, so it skips other adverts/,
  ],
  ['a delivery subject', { deliver_subject: 'somewhere' }, /is a push consumer \(to somewhere\)/],
  ['no acknowledgement', { ack_policy: AckPolicy.None }, /ack policy is none, not explicit/],
  ['acknowledgement of all', { ack_policy: AckPolicy.All }, /ack policy is all, not explicit/],
  ['a start with new messages', { deliver_policy: DeliverPolicy.New }, /deliver policy is new/],
  ['five deliveries', { max_deliver: 5 }, /max_deliver is 5/],
  ['one message in flight', { max_ack_pending: 1 }, /max_ack_pending is 1/],
  ['a second to acknowledge', { ack_wait: nanos(1_000) }, /ack_wait is 1 s/],
  ['a backoff', { backoff: [nanos(60_000), nanos(120_000)], max_deliver: 3 }, /has a backoff/],
  ['headers alone', { headers_only: true }, /only headers/],
  ['the original pace', { replay_policy: ReplayPolicy.Original }, /replay policy is original/],
  ['small batches', { max_batch: 10 }, /max_batch is 10/],
  ['short requests', { max_expires: nanos(1_000) }, /max_expires is 1 s/],
  ['few bytes a request', { max_bytes: 15_000_000 }, /max_bytes of a request is 15000000/],
];

for (const [name, config, sentence] of CONSUMER_FAULTS) {
  test(`a consumer of adverts with ${name} is a fault`, async () => {
    await removeAll();
    await broker.manager.streams.add(ADVERTS);
    await broker.manager.consumers.add('ADVERTS', { ...INTAKE, ...config });
    const { faults } = await inspectTopology(broker);
    const named = faults.filter((fault) => sentence.test(fault));
    assert.equal(named.length, 1, `${faults.join('; ')} must say ${sentence}`);
    assert.match(named[0] as string, /^Consumer intake of ADVERTS: /);
  });
}

test('a stream without a limit, and one that deletes acknowledged messages, work and are reported', async () => {
  await removeAll();
  await broker.manager.streams.add({ ...ADVERTS, max_bytes: -1 });
  const unbounded = await inspectTopology(broker);
  assert.deepEqual([unbounded.faults.length, unbounded.cautions.length], [0, 1]);
  assert.match(unbounded.cautions[0] as string, /no max_bytes/);
  await removeAll();
  await broker.manager.streams.add({ ...ADVERTS, retention: RetentionPolicy.Interest });
  const { faults, cautions } = await inspectTopology(broker);
  assert.deepEqual(faults, []);
  assert.match(cautions.join(), /retention is interest/);
});

test('a subject pattern covers exactly the subjects that match it', () => {
  for (const [pattern, subject] of [
    ['>', 'adverts.>'],
    ['adverts.>', 'adverts.>'],
    ['*.>', 'adverts.>'],
    ['a.*', 'a.*'],
    ['a.*', 'a.b'],
  ]) {
    assert.equal(covers(pattern as string, subject as string), true, `${pattern} ${subject}`);
  }
  for (const [pattern, subject] of [
    ['adverts.*', 'adverts.>'],
    ['a.b', 'a.*'],
    ['a', 'a.b'],
    ['a.b.c', 'a.b'],
    ['a.>', 'a'],
  ]) {
    assert.equal(covers(pattern as string, subject as string), false, `${pattern} ${subject}`);
  }
});

test('a change is noticed while the daemon runs, and reported once when it occurs and once when it is corrected', async (t) => {
  await removeAll();
  await ensureIntake(broker);
  const told: string[] = [];
  const watch = await startTopologyWatch({
    broker,
    everyMs: 20,
    findOther: async () => null,
    onFound: ({ faults }) => void told.push(faults.join()),
    onTransientError: (_, error) => assert.fail(error),
  });
  t.after(() => watch.stop());
  assert.equal(watch.reason, null);
  const { config } = await broker.manager.streams.info('ADVERTS');
  await broker.manager.streams.update('ADVERTS', { ...config, max_msg_size: 200 });
  await until(
    async () => watch.reason,
    (reason) => reason !== null,
  );
  await broker.manager.streams.update('ADVERTS', { ...config, max_msg_size: -1 });
  await untilIs(() => watch.reason, null);
  assert.deepEqual(told, ['Stream ADVERTS: max_msg_size is 200 bytes, so ordinary messages are refused.', '']);
});

test('a first check that fails is soon repeated, because nothing is taken in before it', async (t) => {
  await removeAll();
  await ensureIntake(broker);
  const refused = new Error('NATS does not answer');
  const onTransientError = t.mock.fn();
  let looks = 0;
  const watch = await startTopologyWatch({
    ...{ broker, everyMs: Number.POSITIVE_INFINITY, onTransientError },
    onFound: (found) => assert.fail(JSON.stringify(found)),
    async findOther() {
      looks += 1;
      if (looks === 1) throw refused;
      return null;
    },
  });
  t.after(() => watch.stop());
  assert.equal(watch.reason, 'not checked yet');
  await untilIs(() => watch.reason, null);
  assert.deepEqual(
    onTransientError.mock.calls.map(({ arguments: [, error] }) => error),
    [refused],
  );
});

test('a daemon whose consumer filters adverts out is not ready, and reports why', async (t) => {
  const servers = await startTestServers(t);
  const operator = await connectTestBroker(t, servers.nats.url, 'operator');
  await operator.manager.streams.add(ADVERTS);
  await operator.manager.consumers.add('ADVERTS', { ...INTAKE, filter_subject: 'adverts.none' });
  const daemon = await startHere(t, servers);
  const sentence = 'Consumer intake of ADVERTS: it filters adverts.none, so it skips other adverts.';
  // The first check of the streams is repeated if NATS does not answer in time.
  const { status } = await until(
    () => readinessOf(daemon),
    ({ text }) => text.includes(sentence),
  );
  assert.equal(status, 503);
  const metrics = await (await fetch(`${daemon.operationsUrl}/metrics`)).text();
  assert.match(metrics, /^vigie_stream_differences\{kind="fault"\} 1$/m);
  assert.equal(daemon.log.filter((line) => JSON.stringify(line).includes(sentence)).length, 1, 'once in the log');
});
