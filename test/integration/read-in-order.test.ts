/** A new reader of intake reads the messages that the former one left in progress, in the stream's order. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Broker } from '../../src/engine/broker/connection.ts';
import { publishAll } from '../../src/engine/broker/publish.ts';
import { type PulledMessage, startPull } from '../../src/engine/broker/pull.ts';
import { startInOrder } from '../../src/engine/broker/replay.ts';
import { ADVERTS_STREAM, advertSubject, ensureIntake } from '../../src/engine/broker/topology.ts';
import { connectTestBroker } from '../support/broker.ts';
import { createGate } from '../support/gate.ts';
import { startTestNats } from '../support/servers.ts';
import { untilIs } from '../support/until.ts';

const COUNT = 2_000;
const SUBJECT = advertSubject('11111111-0000-4000-8000-000000000000');
const CREATE_READER = `$JS.API.CONSUMER.CREATE.${ADVERTS_STREAM}`;

async function openScene(t: TestContext) {
  const server = await startTestNats(t);
  const broker = await connectTestBroker(t, server.url);
  await ensureIntake(broker);
  await publishNumbers(broker, 1, COUNT);
  const left: PulledMessage[] = [];
  const dead = pullInto(broker, async (message) => void left.push(message));
  await untilIs(() => left.length, COUNT);
  await dead.stop();
  return { server, broker, left };
}

function publishNumbers(broker: Broker, first: number, last: number): Promise<void> {
  const numbers = Array.from({ length: last - first + 1 }, (_, position) => `${first + position}`);
  return publishAll(
    broker,
    numbers.map((text) => ({ subject: SUBJECT, messageId: text, bytes: Buffer.from(text) })),
  );
}

function pullInto(broker: Broker, onMessage: (message: PulledMessage) => Promise<void>) {
  const ensure = async () => undefined;
  const ofConsumer = { stream: ADVERTS_STREAM, consumer: broker.names.intakeConsumer };
  return startPull(broker, { ...ofConsumer, batchMax: COUNT, onMessage, onTransientError: () => undefined, ensure });
}

function readInOrder(broker: Broker, over: Partial<Parameters<typeof startInOrder>[1]>) {
  return startInOrder(broker, {
    stream: ADVERTS_STREAM,
    consumer: broker.names.intakeConsumer,
    recordedUpTo: 0,
    handOn: (message) => message.settle({ type: 'ack' }),
    onOtherStream: () => assert.fail('the stream is the same'),
    onTransientError(what, error) {
      throw new Error(what, { cause: error });
    },
    ...over,
  });
}

const textOf = ({ bytes }: PulledMessage): number => Number(Buffer.from(bytes).toString());

test('pending messages are read first, without the deleted ones, in few requests', async (t) => {
  const { broker, left } = await openScene(t);
  await broker.manager.streams.deleteMessage(ADVERTS_STREAM, 3);
  for (const message of left.slice(0, 1)) await message.settle({ type: 'ack' });
  await publishNumbers(broker, COUNT + 1, COUNT + 10);
  let requests = 0;
  broker.connection.subscribe('$JS.API.STREAM.MSG.GET.>', { callback: () => void (requests += 1) });
  const read: number[] = [];
  const inOrder = await readInOrder(broker, {
    recordedUpTo: 1,
    handOn: async (message) => void read.push(textOf(message)),
  });
  const pull = pullInto(broker, inOrder.admit);
  t.after(() => pull.stop());
  await untilIs(() => read.length, COUNT + 10 - 2);
  assert.deepEqual(
    read,
    Array.from({ length: COUNT + 10 }, (_, position) => position + 1).filter((number) => number !== 1 && number !== 3),
  );
  assert.ok(requests <= 2, 'the deleted message is requested, and the newest one if a second passed after it');
});

test('an interrupted reading continues where it was', async (t) => {
  const { broker } = await openScene(t);
  const read: number[] = [];
  const broken: string[] = [];
  let readings = 0;
  broker.connection.subscribe(`${CREATE_READER}.>`, { callback: () => void (readings += 1) });
  const inOrder = await readInOrder(broker, {
    async handOn(message) {
      if (read.length === 1_000 && broken.length === 0) {
        broken.push('once');
        throw new Error('the link is cut');
      }
      read.push(textOf(message));
    },
    onTransientError: (what) => void broken.push(what),
  });
  t.after(async () => inOrder.stop());
  await untilIs(() => read.length, COUNT);
  assert.deepEqual(
    read,
    Array.from({ length: COUNT }, (_, position) => position + 1),
  );
  assert.deepEqual(broken, ['once', 'read in order']);
  assert.ok(readings <= 2);
});

test('messages that only the server that is read lacks, at the end or before others, are read again', async (t) => {
  const { broker } = await openScene(t);
  const { consumers } = broker.manager;
  const add = consumers.add.bind(consumers);
  let readings = 0;
  t.mock.method(consumers, 'add', async (name: string, config: Parameters<typeof add>[1]) => {
    readings += 1;
    const skipped = readings === 3 ? 5 : 0;
    const { num_pending, ...info } = await add(name, {
      ...config,
      opt_start_seq: Number(config.opt_start_seq) + skipped,
    });
    return { ...info, num_pending: readings === 1 ? 0 : readings === 2 ? 10 : num_pending };
  });
  const read: number[] = [];
  const lacked: string[] = [];
  const inOrder = await readInOrder(broker, {
    handOn: async (message) => void read.push(textOf(message)),
    onTransientError: (_what, { message }) => void lacked.push(message),
  });
  t.after(async () => inOrder.stop());
  await untilIs(() => read.length, COUNT);
  assert.deepEqual(
    read,
    Array.from({ length: COUNT }, (_, position) => position + 1),
  );
  const lacks = (last: number) => `the NATS server that was read lacks messages of ${ADVERTS_STREAM} up to ${last}`;
  assert.deepEqual(lacked, [lacks(COUNT), lacks(COUNT), lacks(15)]);
});

test('after a pause as long as an election, nothing follows the newest message unless the stream still has it', async (t) => {
  const { broker, left } = await openScene(t);
  const handedOn: number[] = [];
  let ends = 0;
  const inOrder = await readInOrder(broker, {
    handOn: async ({ sequence }) => void handedOn.push(sequence),
    onOtherStream() {
      ends += 1;
      inOrder.stop();
    },
  });
  const [last] = left.slice(-1) as [PulledMessage];
  /** As if `count` further messages had been stored, `laterMs` after the last one. */
  const further = (count: number, laterMs: number) => {
    return { ...last, sequence: COUNT + count, storedAtMs: last.storedAtMs + laterMs };
  };
  await inOrder.admit(further(1, 999));
  // The message that is stored now must have another time than the one before.
  await untilIs(() => Date.now() > last.storedAtMs + 1_100, true);
  await publishNumbers(broker, COUNT + 1, COUNT + 1);
  // A former leader had stored message COUNT + 1 long before, and the present one stored another with this number.
  await inOrder.admit(further(2, 60_000));
  assert.deepEqual([handedOn.at(-1), ends], [COUNT + 1, 1]);
  const { storedAtMs } = last;
  const again = await readInOrder(broker, {
    recordedUpTo: COUNT - 1,
    handOn: async ({ sequence }) => void handedOn.push(sequence),
  });
  t.after(async () => again.stop());
  await again.admit({ ...last, sequence: COUNT + 1, storedAtMs: storedAtMs + 1_000 });
  assert.deepEqual(handedOn.slice(-2), [COUNT, COUNT + 1], 'the same message is still there');
});

test('a leader that lags behind is waited for, however long the messages before took', async (t) => {
  const { broker } = await openScene(t);
  const { consumers, streams } = broker.manager;
  const [add, info, getMessage] = [consumers.add, streams.info, streams.getMessage].map((each, at) =>
    each.bind(at === 0 ? consumers : streams),
  ) as [typeof consumers.add, typeof streams.info, typeof streams.getMessage];
  const now = performance.now.bind(performance);
  let aheadMs = 0;
  t.mock.method(performance, 'now', () => now() + aheadMs);
  let looks = 0;
  t.mock.method(consumers, 'add', async (...parameters: Parameters<typeof add>) => {
    const { num_pending, ...reader } = await add(...parameters);
    return { ...reader, num_pending: looks === 0 ? COUNT - 10 : num_pending };
  });
  t.mock.method(streams, 'info', async (name: string) => {
    const { state, ...stream } = await info(name);
    looks += 1;
    return { ...stream, state: { ...state, last_seq: looks === 1 ? COUNT - 10 : state.last_seq } };
  });
  t.mock.method(streams, 'getMessage', (name: string, query: Parameters<typeof getMessage>[1]) =>
    getMessage(name, looks === 1 ? { seq: COUNT + 1 } : query),
  );
  const read: number[] = [];
  const inOrder = await readInOrder(broker, {
    async handOn(message) {
      read.push(textOf(message));
      // PostgreSQL answers only after a while.
      if (read.length === COUNT - 10) aheadMs = 60_000;
    },
    onTransientError: () => undefined,
  });
  t.after(async () => inOrder.stop());
  await untilIs(() => read.length, COUNT);
});

test('the last messages may be deleted', async (t) => {
  const { broker } = await openScene(t);
  for (const sequence of [COUNT - 1, COUNT]) await broker.manager.streams.deleteMessage(ADVERTS_STREAM, sequence);
  const inOrder = await readInOrder(broker, {});
  await untilIs(() => inOrder.settledUpTo, COUNT);
});

test('a stopped reading passes on nothing', async (t) => {
  const { broker, left } = await openScene(t);
  let handedOn = 0;
  const { gate, open: release } = createGate();
  const inOrder = await readInOrder(broker, {
    async handOn() {
      handedOn += 1;
      await gate;
    },
  });
  await untilIs(() => handedOn, 1);
  inOrder.stop();
  const admitted = inOrder.admit(left.at(-1) as PulledMessage);
  release();
  await admitted;
  assert.equal(handedOn, 1);
});
