/**
 * Tells crawlers which of their messages were refused, after the refusal is recorded and before the message is let go:
 * what a crash interrupts comes again and is told then, at least once. It stands in nobody's way: what NATS does not take
 * is not told, the dead letters have it all the same. While telling fails, one batch at a time tries it, and the others
 * are let go at once.
 */

import { type Actor, type Grace, spawn } from '../actor/actor.ts';
import type { Supervisor } from '../actor/supervisor.ts';
import type { Broker } from '../broker/connection.ts';
import { isBrokerOutage } from '../broker/outage.ts';
import { type Publication, publishAll } from '../broker/publish.ts';
import { ensureRejections } from '../broker/topology.ts';
import { rejectionOf } from '../domain/rejection.ts';
import { REJECTED } from '../domain/streams.ts';
import type { RefusedMessage } from './recorded-batch.ts';

export interface RejectionDependencies {
  readonly broker: Broker;
  readonly supervisor: Supervisor;
  readonly onTold: (count: number) => void;
  readonly onUntold: (count: number) => void;
  readonly onTrouble: (what: string, error: Error) => void;
}

export interface Rejections {
  /** Messages that are neither told nor let go. */
  readonly inFlight: number;
  /** Resolves when they wait to be told, or are let go. Rejects once this drains. */
  tell(refused: readonly RefusedMessage[]): Promise<void>;
  drain(grace: Grace): Promise<void>;
}

const WAITING_MAX = 512;
const WAITING_BYTES_MAX = 8 * 1_024 * 1_024;
const BATCH_MAX = 256;
/** After a failure, before it is tried again. */
const REST_MS = 5_000;

export function startRejections(dependencies: RejectionDependencies, nowMs = () => performance.now()): Rejections {
  const teller = new Teller(dependencies, nowMs);
  const actor: Actor<RefusedMessage> = spawn<RefusedMessage>({
    name: 'rejections',
    mailboxMax: WAITING_MAX,
    batchMax: BATCH_MAX,
    weighing: { weigh: ({ bytes }) => bytes.length, weightMax: WAITING_BYTES_MAX },
    supervisor: dependencies.supervisor,
    receive: (messages) => teller.tell(messages),
    setAside: (message) => teller.leaveUntold([message]),
  });
  return {
    get inFlight() {
      return teller.inFlight;
    },
    async tell(refused) {
      for (const message of refused) {
        const { isHopeless } = teller;
        teller.inFlight += 1;
        if (isHopeless) await teller.leaveUntold([message]);
        else await actor.tell(message);
      }
    },
    drain: (grace) => actor.drain(grace),
  };
}

class Teller {
  inFlight = 0;
  readonly #dependencies: RejectionDependencies;
  readonly #nowMs: () => number;
  /** Null while telling works. */
  #againAtMs: number | null = null;

  constructor(dependencies: RejectionDependencies, nowMs: () => number) {
    this.#dependencies = dependencies;
    this.#nowMs = nowMs;
  }

  /** It has failed; when it has rested, the first message that comes tries it. */
  get isHopeless(): boolean {
    return this.#isResting || (this.#againAtMs !== null && this.inFlight > 0);
  }

  get #isResting(): boolean {
    return this.#againAtMs !== null && this.#nowMs() < this.#againAtMs;
  }

  async tell(messages: readonly RefusedMessage[]): Promise<void> {
    // Those that waited while the ones before them failed.
    if (this.#isResting) return this.leaveUntold(messages);
    const { broker, onTold, onTrouble } = this.#dependencies;
    const { disconnections } = broker;
    const wasConnected = broker.isConnected();
    try {
      await publishRejections(broker, messages.map(publicationOf));
    } catch (error) {
      if (!isBrokerOutage(error)) throw error;
      this.#againAtMs = this.#nowMs() + REST_MS;
      onTrouble('tell of refused messages', error as Error);
      // What is not let go comes again, with everything else that was on its way.
      const isUnbroken = wasConnected && broker.isConnected() && broker.disconnections === disconnections;
      if (isUnbroken) await this.leaveUntold(messages);
      else this.inFlight -= messages.length;
      return;
    }
    this.#againAtMs = null;
    onTold(messages.length);
    await this.#letGo(messages);
  }

  async leaveUntold(messages: readonly RefusedMessage[]): Promise<void> {
    this.#dependencies.onUntold(messages.length);
    await this.#letGo(messages);
  }

  async #letGo(messages: readonly RefusedMessage[]): Promise<void> {
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
function publicationOf(message: RefusedMessage): Publication {
  const { stream, sequence, storedAtMs } = message;
  return {
    subject: REJECTED.subjectOf(message.propertyUuid),
    messageId: `${stream}-${sequence}-${Math.round(storedAtMs)}`,
    bytes: Buffer.from(JSON.stringify(rejectionOf(message))),
  };
}
