/**
 * The pulls of a courier: one for the first attempts and one for the retries of each partition. They rest while
 * PostgreSQL does not answer this process: what it could not claim would be nobody's until `ack_wait`, so it is handed
 * back, and other instances have it at once.
 */

import { singleFlight } from '../actor/in-flight.ts';
import { startTask, type Task } from '../actor/task.ts';
import type { Broker } from '../broker/connection.ts';
import { type Pull, type PulledMessage, startPull } from '../broker/pull.ts';
import { DELIVERY_PARTITIONS, deliveryConsumer, retryConsumer } from '../broker/topology.ts';
import type { Valve } from '../broker/valve.ts';
import type { Database, Queryable } from '../store/database.ts';

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
  let isLinkLost = false;
  /** Null while the pulls do not rest. */
  let refused: PulledMessage[] | null = null;
  let pulls = startPulls(options, take);

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

  /** As the link has it by now. */
  async function change(): Promise<void> {
    if (isLinkLost && refused === null) await rest();
    if (isLinkLost || refused === null) return;
    refused = null;
    pulls = startPulls(options, take);
  }

  async function stopPulls(): Promise<void> {
    await Promise.all(pulls.splice(0).map((pull) => pull.stop()));
  }

  const changing = startTask({ what: 'deliveries', everyMs: Number.POSITIVE_INFINITY, work: change, onTrouble });
  const link = watchDatabaseLink({
    database,
    onLost() {
      onTrouble('deliveries', new Error(`no answer from PostgreSQL for ${SILENCE_MAX_MS} ms: nothing is pulled`));
      isLinkLost = true;
      changing.ask();
    },
    onBack() {
      isLinkLost = false;
      changing.ask();
    },
  });
  return {
    async stop() {
      await link.stop();
      await changing.stop();
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
      stream: broker.names.deliveriesStream,
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

interface DatabaseLinkOptions {
  readonly database: Queryable;
  /** There has been no answer for `SILENCE_MAX_MS`. */
  readonly onLost: () => void;
  /** There is one again. */
  readonly onBack: () => void;
}

const ASK_EVERY_MS = 1_000;
/** Far below JetStream's `ack_wait`, after which others get what this process has pulled in any case. */
const SILENCE_MAX_MS = 5_000;

/**
 * Whether PostgreSQL answers this process. Told apart from a refusal: a link that has gone silent fails nothing, it only
 * never answers, and what waits for it here would wait with it.
 */
function watchDatabaseLink({ database, onLost, onBack }: DatabaseLinkOptions): Task {
  let answeredAt = performance.now();
  let isLost = false;

  const ask = singleFlight(async () => {
    try {
      await database.query('select');
      answeredAt = performance.now();
    } catch {
      // It says itself why, to whoever had work for it; here only the time counts.
    }
  });

  function look(): void {
    const isSilent = performance.now() - answeredAt >= SILENCE_MAX_MS;
    if (isSilent && !isLost) onLost();
    if (!isSilent && isLost) onBack();
    isLost = isSilent;
    // Not awaited: that there is no answer is what is looked for.
    void ask();
  }

  return startTask({ what: 'link to PostgreSQL', everyMs: ASK_EVERY_MS, work: look });
}
