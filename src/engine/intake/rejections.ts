/**
 * Publishes rejections: which of a crawler's messages were rejected. This comes after the rejection is recorded and before
 * the message is terminated, so that what a crash interrupts is redelivered and published then, at least once. It never
 * blocks intake: what NATS does not take is not published, and is in the dead letters all the same. While publishing
 * fails, one batch at a time tries it, and the others are terminated at once.
 */

import { type Actor, type Grace, spawn } from '../actor/actor.ts';
import type { Supervisor } from '../actor/supervisor.ts';
import type { Broker } from '../broker/connection.ts';
import { isBrokerOutage } from '../broker/outage.ts';
import { type Publication, publishAll } from '../broker/publish.ts';
import { ensureRejections } from '../broker/topology.ts';
import { rejectionOf } from '../domain/rejection.ts';
import { REJECTED } from '../domain/streams.ts';
import type { DeadLetteredMessage } from './recorded-batch.ts';

export interface RejectionDependencies {
  readonly broker: Broker;
  readonly supervisor: Supervisor;
  readonly onPublished: (count: number) => void;
  readonly onUnpublished: (count: number) => void;
  readonly onTransientError: (what: string, error: Error) => void;
}

export interface Rejections {
  /** Messages whose rejection is not published, and that are not terminated. */
  readonly inFlight: number;
  /** Resolves when they are queued for publishing, or terminated. Rejects once this drains. */
  publish(rejected: readonly DeadLetteredMessage[]): Promise<void>;
  drain(grace: Grace): Promise<void>;
}

const WAITING_MAX = 512;
const WAITING_BYTES_MAX = 8 * 1_024 * 1_024;
const BATCH_MAX = 256;
/** After a failure, before it is tried again. */
const REST_MS = 5_000;

export function startRejections(dependencies: RejectionDependencies): Rejections {
  const publisher = new Publisher(dependencies);
  const actor: Actor<DeadLetteredMessage> = spawn<DeadLetteredMessage>({
    name: 'rejections',
    mailboxMax: WAITING_MAX,
    batchMax: BATCH_MAX,
    weighing: { weigh: ({ bytes }) => bytes.length, weightMax: WAITING_BYTES_MAX },
    supervisor: dependencies.supervisor,
    receive: (messages) => publisher.publish(messages),
    deadLetter: (message) => publisher.drop([message]),
  });
  return {
    get inFlight() {
      return publisher.inFlight;
    },
    async publish(rejected) {
      for (const message of rejected) {
        const { isHopeless } = publisher;
        publisher.inFlight += 1;
        if (isHopeless) await publisher.drop([message]);
        else await actor.tell(message);
      }
    },
    drain: (grace) => actor.drain(grace),
  };
}

class Publisher {
  inFlight = 0;
  readonly #dependencies: RejectionDependencies;
  /** Null while publishing works. */
  #againAtMs: number | null = null;

  constructor(dependencies: RejectionDependencies) {
    this.#dependencies = dependencies;
  }

  /** It has failed; when it has rested, the first message that comes tries it. */
  get isHopeless(): boolean {
    return this.#isResting || (this.#againAtMs !== null && this.inFlight > 0);
  }

  get #isResting(): boolean {
    return this.#againAtMs !== null && performance.now() < this.#againAtMs;
  }

  async publish(messages: readonly DeadLetteredMessage[]): Promise<void> {
    // Those that waited while the ones before them failed.
    if (this.#isResting) return this.drop(messages);
    const { broker, onPublished, onTransientError } = this.#dependencies;
    const { disconnections } = broker;
    const wasConnected = broker.isConnected();
    try {
      await publishRejections(broker, messages.map(publicationOf));
    } catch (error) {
      if (!isBrokerOutage(error)) throw error;
      this.#againAtMs = performance.now() + REST_MS;
      onTransientError('publish rejections', error as Error);
      // What is not terminated comes again, with everything else that was on its way.
      const isUnbroken = wasConnected && broker.isConnected() && broker.disconnections === disconnections;
      if (isUnbroken) await this.drop(messages);
      else this.inFlight -= messages.length;
      return;
    }
    this.#againAtMs = null;
    onPublished(messages.length);
    await this.#terminate(messages);
  }

  async drop(messages: readonly DeadLetteredMessage[]): Promise<void> {
    this.#dependencies.onUnpublished(messages.length);
    await this.#terminate(messages);
  }

  async #terminate(messages: readonly DeadLetteredMessage[]): Promise<void> {
    this.inFlight -= messages.length;
    await Promise.all(messages.map((message) => message.settle({ type: 'term' })));
  }
}

/** Once more where there was no stream: somebody may have deleted it. */
async function publishRejections(broker: Broker, publications: readonly Publication[]): Promise<void> {
  try {
    await publishAll(broker, publications);
  } catch (error) {
    if (!isBrokerOutage(error) || !broker.isConnected() || !(await ensureRejections(broker))) throw error;
    await publishAll(broker, publications);
  }
}

/** The same one for a message that comes again; a stream that was made anew counts from 1, at another time. */
function publicationOf(message: DeadLetteredMessage): Publication {
  const { stream, sequence, storedAtMs } = message;
  return {
    subject: REJECTED.subjectOf(message.propertyUuid),
    messageId: `${stream}-${sequence}-${Math.round(storedAtMs)}`,
    bytes: Buffer.from(JSON.stringify(rejectionOf(message))),
  };
}
