/**
 * Delays a retry by `retryDelayMs` after the failed attempt. The courier returns the message of the attempt with a
 * delay, and JetStream redelivers it. The row then becomes due unless a later attempt has begun. In two cases the row's
 * time, by PostgreSQL's clock, decides. JetStream may have no message for an overdue row, because NATS is unavailable,
 * full, wiped or restored. Or the message's time is later, because the courier's clock was ahead. If PostgreSQL's clock
 * is set forward, all waiting rows seem overdue. A row whose attempt began less than one delay ago thus keeps waiting.
 */

import { type Actor, spawn } from '../actor/actor.ts';
import { startTask, type Task } from '../actor/task.ts';
import { inTime } from '../actor/waiting.ts';
import { BrokerUnavailableError } from '../broker/outage.ts';
import { acknowledgeAll, type Pull, type PulledMessage, startPull } from '../broker/pull.ts';
import { holdsRetry, type RetryMessage, retryOf } from '../broker/retry-messages.ts';
import { ensureRetries, RETRY_PARTITIONS, retryConsumer } from '../broker/topology.ts';
import type { FailedAttempt } from '../domain/delivery.ts';
import { type OverdueRetry, readOverdueRetries, releaseRetries } from '../store/retries.ts';
import type { CourierDependencies } from './settle.ts';

interface DueRetry {
  readonly retry: RetryMessage;
  readonly message: PulledMessage;
}

const RELEASED_MAX = 256;
/** Retries that become due in a burst are processed together. */
const GATHER_MS = 10;
const PULL_MAX = 64;
/** After this many messages, sockets are served, because answers of healthy endpoints may wait there. */
const SLICE_MAX = 4;
/** Together with `ANSWER_MAX_MS` less than a second, so that a row without a message waits about six seconds. */
const CHECK_EVERY_MS = 500;
const ANSWER_MAX_MS = 400;
const OVERDUE_MS = 5_000;
const LOOKED_FOR_MAX = 100;

export function startRetries(dependencies: CourierDependencies): Pick<Task, 'stop'> {
  const { broker, database, announcer, gate, supervisor, onTransientError } = dependencies;
  const release: Release = async (retries) => announcer.announce(await releaseRetries(database, retries));
  const actor = spawn<DueRetry>({
    name: 'retries',
    mailboxMax: RELEASED_MAX,
    batchMax: RELEASED_MAX,
    gatherMs: GATHER_MS,
    supervisor,
    // The message is not acknowledged, so JetStream redelivers it.
    deadLetter: async () => undefined,
    async receive(batch) {
      await release(batch.map(({ retry }) => retry));
      // If this process ends before the announcement, the messages are redelivered.
      void acknowledgeAll(batch.map(({ message }) => message));
    },
  });
  const onMessage = taking(dependencies, actor);
  const openPulls = (): readonly Pull[] =>
    Array.from({ length: RETRY_PARTITIONS }, (_, partition) =>
      startPull(broker, {
        stream: broker.names.retriesStream,
        consumer: retryConsumer(partition),
        batchMax: PULL_MAX,
        sliceMax: SLICE_MAX,
        onMessage,
        onTransientError,
        ensure: () => ensureRetries(broker),
        ...(gate === undefined ? {} : { gate }),
      }),
    );
  // Does not wait for NATS: first attempts do not need it, and each pull creates missing streams and consumers.
  const pulls = ensureRetries(broker)
    .catch((error: Error) => onTransientError('stream of retries', error))
    .then(openPulls);
  const overdueCheck = startOverdueCheck(dependencies, release);
  return {
    async stop() {
      await overdueCheck.stop();
      await Promise.all((await pulls).map((pull) => pull.stop()));
      await actor.drain();
    },
  };
}

type Release = (retries: readonly FailedAttempt[]) => Promise<void>;

function taking({ clock }: CourierDependencies, actor: Actor<DueRetry>): (message: PulledMessage) => Promise<void> {
  return async (message) => {
    const retry = retryOf(message);
    if (retry === null) return message.settle({ type: 'term' });
    const earlyMs = retry.dueAtMs - clock().getTime();
    if (earlyMs > 0) return message.settle({ type: 'nak', delayMs: earlyMs });
    // A drained actor refuses the retry. The message is then redelivered to another courier.
    await actor.tell({ retry, message }).catch(() => message.settle({ type: 'nak', delayMs: 0 }));
  };
}

/** Releases overdue rows without a message, page by page. Rows with a message are checked again after all others. */
function startOverdueCheck(dependencies: CourierDependencies, release: Release): Task {
  const { broker, database, gate, clock, retryDelayMs, onMissing, onTransientError } = dependencies;
  let position: OverdueRetry | null = null;
  /** Whether NATS has a message whose time is at most `OVERDUE_MS` after the row's. False if NATS is unavailable. */
  const isHeld = async (retry: OverdueRetry): Promise<boolean> => {
    if (!broker.isConnected()) return false;
    const late = (): Error => new BrokerUnavailableError('no answer about a retry');
    const held = holdsRetry(broker, retry, retry.dueAtMs + OVERDUE_MS);
    return inTime(held, ANSWER_MAX_MS, late).catch(() => false);
  };
  /** Compares the couriers' clocks. A start in the future is ignored, because its courier's clock was ahead. */
  const hasJustFailed = ({ startedAt }: OverdueRetry): boolean => {
    const ageMs = clock().getTime() - startedAt.getTime();
    return ageMs >= 0 && ageMs < retryDelayMs + OVERDUE_MS;
  };
  async function work(): Promise<number | undefined> {
    if (gate?.isOpen === false) return undefined;
    const overdue = await readOverdueRetries(database, OVERDUE_MS, position, LOOKED_FOR_MAX);
    position = overdue.length < LOOKED_FOR_MAX ? null : (overdue.at(-1) ?? null);
    const isThere = await Promise.all(overdue.map(async (retry) => hasJustFailed(retry) || isHeld(retry)));
    const missing = overdue.filter((_, i) => !isThere[i]);
    if (missing.length === 0) return undefined;
    await release(missing);
    onMissing(missing.length);
    return missing.length === LOOKED_FOR_MAX ? 0 : undefined;
  }
  return startTask({ what: 'missing retries', everyMs: CHECK_EVERY_MS, isDueAtOnce: true, work, onTransientError });
}
