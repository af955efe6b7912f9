/**
 * The pulls of a courier: one for the first attempts and one for the retries of each partition. They rest while
 * PostgreSQL does not answer this process: what it could not claim would be nobody's until `ack_wait`, so it is handed
 * back, and other instances have it at once.
 */

import type { Broker } from '../broker/connection.ts';
import { type Pull, type PulledMessage, startPull } from '../broker/pull.ts';
import { DELIVERIES_STREAM, DELIVERY_PARTITIONS, deliveryConsumer, retryConsumer } from '../broker/topology.ts';
import type { Valve } from '../broker/valve.ts';
import type { Database } from '../store/database.ts';
import { SILENCE_MAX_MS, watchDatabaseLink } from './database-link.ts';

export interface DeliveryPullsOptions {
  readonly broker: Broker;
  readonly database: Database;
  readonly valve?: Valve;
  /** Puts the stream back when it is gone. */
  readonly ensure: () => Promise<void>;
  readonly onMessage: (message: PulledMessage) => Promise<void>;
  /** Lets go of what was pulled and is not claimed, and of whoever waits for room; answers its messages. */
  readonly takeBack: () => readonly PulledMessage[];
  readonly onTrouble: (what: string, error: Error) => void;
}

export interface DeliveryPulls {
  /** Resolves when the last pulled message has been handed over. */
  stop(): Promise<void>;
}

/** Of one pull. A flood is taken in small steps: what is not pulled costs nothing, and tells how much is behind it. */
const PULL_MAX = 64;
/** A whole batch of a flood may be there at once, and healthy endpoints' answers behind it. */
const SLICE_MAX = 4;

export function startDeliveryPulls(options: DeliveryPullsOptions): DeliveryPulls {
  const { database, takeBack, onTrouble } = options;
  /** Null while PostgreSQL answers. */
  let refused: PulledMessage[] | null = null;
  let pulls = startPulls(options, take);
  /** One change of the link after the other. */
  let changing = Promise.resolve();

  async function take(message: PulledMessage): Promise<void> {
    if (refused === null) await options.onMessage(message);
    else refused.push(message);
  }

  async function rest(): Promise<void> {
    const messages: PulledMessage[] = [];
    refused = messages;
    messages.push(...takeBack());
    await stopPulls();
    // Not before: they would come to this instance again.
    for (const message of messages) void message.settle({ type: 'nak', delayMs: 0 });
  }

  async function goOn(): Promise<void> {
    refused = null;
    pulls = startPulls(options, take);
  }

  async function stopPulls(): Promise<void> {
    await Promise.all(pulls.splice(0).map((pull) => pull.stop()));
  }

  const link = watchDatabaseLink({
    database,
    onLost() {
      onTrouble('deliveries', new Error(`no answer from PostgreSQL for ${SILENCE_MAX_MS} ms: nothing is pulled`));
      changing = changing.then(rest);
    },
    onBack() {
      changing = changing.then(goOn);
    },
  });
  return {
    async stop() {
      link.stop();
      await changing;
      await stopPulls();
    },
  };
}

function startPulls(
  { broker, valve, ensure, onTrouble }: DeliveryPullsOptions,
  onMessage: (message: PulledMessage) => Promise<void>,
): Pull[] {
  const consumers = Array.from({ length: DELIVERY_PARTITIONS }, (_, partition) => [
    deliveryConsumer(partition),
    retryConsumer(partition),
  ]).flat();
  return consumers.map((consumer) =>
    startPull(broker, {
      stream: DELIVERIES_STREAM,
      consumer,
      batchMax: PULL_MAX,
      sliceMax: SLICE_MAX,
      onMessage,
      onTrouble,
      ensure,
      ...(valve === undefined ? {} : { valve }),
    }),
  );
}
