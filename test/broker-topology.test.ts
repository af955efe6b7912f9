/** Missing streams and consumers are created, and existing ones are never changed (decisions, section 8). */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type ConsumerConfig, NatsError, type StreamConfig } from 'nats';
import type { Broker } from '../src/engine/broker/connection.ts';
import {
  ADVERTS_STREAM,
  advertSubject,
  ensureAdvertsStream,
  ensureIntake,
  ensureRetries,
  isMissing,
  RETRY_PARTITIONS,
  retryConsumer,
  retrySubject,
} from '../src/engine/broker/topology.ts';
import { endpointKeyOf } from '../src/engine/domain/endpoint.ts';
import type { Uuid } from '../src/engine/domain/ids.ts';
import { brokerNames } from '../src/engine/domain/namespace.ts';
import { PROPERTY } from './support/adverts.ts';

function notFound(code = 404): NatsError {
  const error = new NatsError('stream not found', String(code));
  error.api_error = { code, description: 'not found', err_code: 10_059 };
  return error;
}

/** A JetStream manager with the streams and consumers in `existing`, and only the methods that are used. */
function brokerWith(existing: readonly string[], refusal: Error = notFound(), names = brokerNames(null)) {
  const streams = new Map<string, Partial<StreamConfig>>();
  const consumers = new Map<string, Partial<ConsumerConfig>>();
  const manager = {
    streams: {
      async info(name: string) {
        if (!existing.includes(name) && !streams.has(name)) throw refusal;
      },
      async add(config: Partial<StreamConfig>) {
        streams.set(config.name as string, config);
      },
      async delete(name: string) {
        streams.delete(name);
      },
    },
    consumers: {
      async info(stream: string, name: string) {
        if (!existing.includes(`${stream}/${name}`) && !consumers.has(`${stream}/${name}`)) throw refusal;
      },
      async add(stream: string, config: Partial<ConsumerConfig>) {
        consumers.set(`${stream}/${config.durable_name}`, config);
      },
    },
  };
  const broker = { manager, names, replicas: 1, database: null, serverVersion: '2.10.27' };
  return { broker: broker as unknown as Broker, streams, consumers };
}

const { retriesStream: RETRIES_STREAM } = brokerNames(null);
const CONSUMERS = Array.from({ length: RETRY_PARTITIONS }, (_, partition) => retryConsumer(partition));

test('only missing streams and consumers are created', async () => {
  const { broker, streams, consumers } = brokerWith([ADVERTS_STREAM, RETRIES_STREAM, `${RETRIES_STREAM}/retries-3`]);
  await ensureIntake(broker);
  await ensureRetries(broker);
  assert.equal(streams.size, 0);
  assert.equal(consumers.size, CONSUMERS.length, 'the intake, and all retries but one');
  assert.ok(!consumers.has(`${RETRIES_STREAM}/retries-3`));
});

test('after an error other than "not found" nothing is created', async () => {
  for (const error of [notFound(503), new NatsError('timeout', 'TIMEOUT'), new Error('connection closed')]) {
    assert.equal(isMissing(error), false);
    const { broker, streams } = brokerWith([], error);
    await assert.rejects(ensureAdvertsStream(broker), error);
    await assert.rejects(ensureRetries(broker), error);
    assert.equal(streams.size, 0);
  }
  assert.equal(isMissing(notFound()), true);
});

test('an advert is published under its property, inside the stream that intake reads', async () => {
  const { broker, streams } = brokerWith([]);
  await ensureAdvertsStream(broker);
  assert.equal(advertSubject(PROPERTY), `adverts.${PROPERTY}`);
  assert.deepEqual(streams.get(ADVERTS_STREAM)?.subjects, ['adverts.>']);
});

for (const namespace of [null, 'west', 'ile-de-france-2']) {
  test(`each retry's subject is read by exactly one consumer, the same for all retries of an endpoint (${namespace})`, async () => {
    const names = brokerNames(namespace);
    const { broker, streams, consumers } = brokerWith([], notFound(), names);
    await ensureRetries(broker);
    assert.deepEqual(streams.get(names.retriesStream)?.subjects, [`${names.retries}.*.*`]);
    const filters = [...consumers.values()].map((consumer) => consumer.filter_subject as string);
    const partitions = new Set<string>();
    fc.assert(
      fc.property(fc.webUrl(), fc.uuid(), (url, id) => {
        const readersOf = (key: string, of: string) =>
          filters.filter((filter) => retrySubject(broker, key, of as Uuid).startsWith(filter.replace(/\*$/, '')));
        const readers = readersOf(endpointKeyOf(PROPERTY, url), id);
        assert.equal(readers.length, 1);
        assert.deepEqual(readersOf(endpointKeyOf(PROPERTY, url), PROPERTY), readers);
        partitions.add(readers[0] as string);
      }),
      { numRuns: 200 },
    );
    assert.equal(partitions.size, RETRY_PARTITIONS, 'the endpoints spread over all partitions');
  });
}

test('without a namespace names have no suffix', () => {
  assert.deepEqual(brokerNames(null), {
    intakeConsumer: 'intake',
    retriesStream: 'RETRIES',
    retries: 'retries',
    signals: 'vigie',
  });
});

test('namespaces share only the streams of adverts and of rejected adverts', async () => {
  const made = new Map<string | null, readonly string[]>();
  for (const namespace of [null, 'west', 'west-2']) {
    const { broker, streams, consumers } = brokerWith([], notFound(), brokerNames(namespace));
    await ensureIntake(broker);
    await ensureRetries(broker);
    const subjects = [...streams.values()].flatMap(({ subjects }) => subjects ?? []);
    made.set(namespace, [...streams.keys(), ...subjects, ...consumers.keys(), broker.names.signals]);
  }
  for (const [namespace, own] of made) {
    for (const [other, theirs] of made) {
      if (namespace === other) continue;
      const shared = own.filter((name) => theirs.includes(name));
      const wanted = ['REJECTED', ADVERTS_STREAM, 'adverts-rejected.*', 'adverts.>'];
      assert.deepEqual(shared, wanted, `${namespace} and ${other}`);
    }
  }
});
