/**
 * Publishes rejections, so that crawlers learn which messages were rejected and why. A rejection is published after it
 * is recorded and before its message is terminated. If a crash interrupts this, the message is redelivered and the
 * rejection may be published twice. A failure does not stop intake: a rejection that NATS does not accept is only kept
 * as a dead letter. While publishing fails, one batch at a time retries it, and other rejected messages are terminated
 * at once.
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
  /** Called with the number of rejections that were published; `onUnpublished`: with the number of the others. */
  readonly onPublished: (count: number) => void;
  readonly onUnpublished: (count: number) => void;
  readonly onTransientError: (what: string, error: Error) => void;
}

const WAITING_MAX = 512;
const WAITING_BYTES_MAX = 8 * 1_024 * 1_024;
const BATCH_MAX = 256;
/** Pause after a failure before publishing is retried. */
const REST_MS = 5_000;

export function startRejections(dependencies: RejectionDependencies) {
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
    /** Number of rejected messages that are not terminated yet. */
    get inFlight() {
      return publisher.inFlight;
    },
    /** Resolves when the messages are queued for publishing or terminated. Rejects once this actor drains. */
    async publish(rejected: readonly DeadLetteredMessage[]) {
      for (const message of rejected) {
        const { isHopeless } = publisher;
        publisher.inFlight += 1;
        if (isHopeless) await publisher.drop([message]);
        else await actor.tell(message);
      }
    },
    drain: (grace: Grace) => actor.drain(grace),
  };
}

class Publisher {
  inFlight = 0;
  readonly #dependencies: RejectionDependencies;
  /** Null while publishing works. */
  #retryAtMs: number | null = null;

  constructor(dependencies: RejectionDependencies) {
    this.#dependencies = dependencies;
  }

  /** True while publishing fails. After the pause, the next message retries it. */
  get isHopeless(): boolean {
    return this.#isResting || (this.#retryAtMs !== null && this.inFlight > 0);
  }

  get #isResting(): boolean {
    return this.#retryAtMs !== null && performance.now() < this.#retryAtMs;
  }

  async publish(messages: readonly DeadLetteredMessage[]): Promise<void> {
    // Drops messages that waited while earlier messages failed.
    if (this.#isResting) return this.drop(messages);
    const { broker, onPublished, onTransientError } = this.#dependencies;
    const { disconnections } = broker;
    const wasConnected = broker.isConnected();
    try {
      await publishRejections(broker, messages.map(publicationOf));
    } catch (error) {
      if (!isBrokerOutage(error)) throw error;
      this.#retryAtMs = performance.now() + REST_MS;
      onTransientError('publish rejections', error as Error);
      // If the connection broke, the messages are redelivered with everything else in transit.
      const isUnbroken = wasConnected && broker.isConnected() && broker.disconnections === disconnections;
      if (isUnbroken) await this.drop(messages);
      else this.inFlight -= messages.length;
      return;
    }
    this.#retryAtMs = null;
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

/** Retries once if the stream was missing, because it may have been deleted. */
async function publishRejections(broker: Broker, publications: readonly Publication[]): Promise<void> {
  try {
    await publishAll(broker, publications);
  } catch (error) {
    if (!isBrokerOutage(error) || !broker.isConnected() || !(await ensureRejections(broker))) throw error;
    await publishAll(broker, publications);
  }
}

/** The id is the same at a redelivery. It contains the time, because a stream that is created again counts from 1. */
function publicationOf(message: DeadLetteredMessage): Publication {
  const { stream, sequence, storedAtMs } = message;
  return {
    subject: REJECTED.subjectOf(message.propertyUuid),
    messageId: `${stream}-${sequence}-${Math.round(storedAtMs)}`,
    bytes: Buffer.from(JSON.stringify(rejectionOf(message))),
  };
}
