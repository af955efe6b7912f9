/**
 * Reads every message of a stream in order, even messages that the consumer has already delivered. JetStream redelivers
 * messages that a crashed or replaced reader left unacknowledged, or that were lost in transit, only after `ack_wait`.
 * By then newer messages of the same property may be recorded, and redelivered messages count as stale. So this module
 * reads such messages from the stream first. When they are redelivered, the recorder recognises and settles them.
 */

import { AckPolicy, DeliverPolicy, nanos } from 'nats';
import {
  nullIfAbandoned,
  retryUntilAborted,
  retryUntilDone,
  transientErrorWatch,
  type Watch,
} from '../actor/supervisor.ts';
import type { Broker } from './connection.ts';
import { hasMajority } from './jetstream-watch.ts';
import { headersOf, openInbox, type PulledMessage, positionOf, requestBatch } from './pull.ts';
import { isStored, readNextStored, type StoredMessage } from './stream-position.ts';

export type InOrder = Awaited<ReturnType<typeof startInOrder>>;
type HandOn = (message: PulledMessage) => Promise<void>;

export interface InOrderOptions {
  readonly stream: string;
  readonly consumer: string;
  /** Reading begins after this sequence, and includes messages that the consumer has acknowledged. */
  readonly recordedUpTo: number;
  readonly handOn: HandOn;
  /**
   * Called if a message shows that the stream has given numbers of earlier messages to other messages. The stream was
   * created again, or a new leader lacks the last messages of the former leader.
   */
  readonly onOtherStream: () => void;
  readonly onTransientError: (what: string, error: Error) => void;
}

/** Small, because a batch is in memory and a message may be a mebibyte long. */
const BATCH_MAX = 64;
/** If no answer arrives within this time, the read counts as interrupted. */
const ANSWER_MAX_MS = 5_000;
/** Shorter than any election of a leader, during which a stream stores nothing (four seconds in nats-server 2.9). */
const ELECTION_MIN_MS = 1_000;
/**
 * If a stream ends before its consumer's position, its leader may be catching up. After this many checks the missing
 * messages count as lost. With the growing pauses between them, the checks take sixteen seconds.
 */
const LACKING_CHECKS = 9;
/** The server deletes the temporary consumer if its process makes no request for this long. */
const FORGOTTEN_AFTER_MS = 30_000;

/**
 * Starts to hand on the messages after `recordedUpTo` that the consumer has delivered, oldest first. Pulled messages
 * wait until this is done. An interrupted read resumes at its position. There must be no other reader. Rejects if NATS
 * is unavailable.
 */
export async function startInOrder(broker: Broker, options: InOrderOptions) {
  const { stream, consumer, handOn, onTransientError } = options;
  const unsettled = new Set<number>();
  const stopping = new AbortController();
  const { signal } = stopping;
  const retried = retryUntil(signal, transientErrorWatch('read in order', onTransientError));
  let next = options.recordedUpTo + 1;
  /** The last message that was handed on for the first time. */
  let newest: StoredMessage | null = null;
  const mayBeBehind = countLackingChecks();

  async function readUpTo(last: number): Promise<void> {
    await retried(() => readOn(last));
  }

  async function readOn(last: number): Promise<void> {
    if (next > last || signal.aborted) return;
    for await (const message of storedMessages(broker, options, next, last)) {
      if (signal.aborted) return;
      if (message.sequence > next) await assertGone(broker, stream, [next, message.sequence - 1], mayBeBehind);
      await handOnNext(message);
    }
    if (next <= last) await assertGone(broker, stream, [next, last], mayBeBehind);
    next = Math.max(next, last + 1);
  }

  async function handOnNext(message: PulledMessage): Promise<void> {
    const { sequence, storedAtMs } = message;
    await handOn(notedIn(unsettled, message));
    newest = { sequence, storedAtMs };
    next = sequence + 1;
  }

  const { delivered } = await broker.manager.consumers.info(stream, consumer);
  const caughtUp = readUpTo(delivered.stream_seq);
  return {
    get newest() {
      return newest;
    },
    /** All messages up to this sequence are settled. */
    get settledUpTo() {
      const [oldest = next] = unsettled;
      return oldest - 1;
    },
    /** Hands on a pulled message, after any stored messages between it and the previous message. */
    async admit(message: PulledMessage) {
      await caughtUp;
      const isReplaced = () => isTailReplaced(broker, stream, newest, message);
      if (message.sequence < next ? message.isFirstDelivery : await retried(isReplaced)) options.onOtherStream();
      if (message.sequence > next) await readUpTo(message.sequence - 1);
      if (signal.aborted) return;
      await (message.sequence < next ? handOn(message) : handOnNext(message));
    },
    /** Stops handing on messages. The next reader handles the unsettled messages. */
    stop() {
      stopping.abort();
    },
  };
}

function retryUntil(signal: AbortSignal, watch: Watch) {
  return <T>(work: () => Promise<T>): Promise<T | null> =>
    retryUntilDone(work, watch, retryUntilAborted(signal)).catch(nullIfAbandoned);
}

/** Whether the stream has, before it stored `message`, replaced `newest` by another message with the same number. */
async function isTailReplaced(
  broker: Broker,
  stream: string,
  newest: StoredMessage | null,
  { storedAtMs }: PulledMessage,
): Promise<boolean> {
  if (newest === null || storedAtMs - newest.storedAtMs < ELECTION_MIN_MS) return false;
  return (await isStored(broker, stream, newest)) === false;
}

/** Adds the message to `unsettled` until it is settled. */
function notedIn(unsettled: Set<number>, message: PulledMessage): PulledMessage {
  const { sequence } = message;
  unsettled.add(sequence);
  return {
    ...message,
    settle(disposition) {
      unsettled.delete(sequence);
      return message.settle(disposition);
    },
  };
}

type MayBeBehind = (first: number, isByMajority: boolean) => boolean;

/** Counts checks instead of time, because reading earlier messages may take long and NATS may not have answered. */
function countLackingChecks(): MayBeBehind {
  let lacking = { first: 0, checks: 0 };
  return (first, isByMajority) => {
    if (lacking.first !== first) lacking = { first, checks: 0 };
    lacking.checks += Number(isByMajority);
    return lacking.checks < LACKING_CHECKS;
  };
}

/**
 * Throws if the stream may still have messages from `first` to `last`. In a cluster, the server that was read from may
 * lag behind and not have them yet, or have lost some of them. A leader elected between two answers may lag behind too.
 */
async function assertGone(
  broker: Broker,
  stream: string,
  [first, last]: readonly [number, number],
  mayBeBehind: MayBeBehind,
): Promise<void> {
  const { state, cluster } = await broker.manager.streams.info(stream);
  const stored = await readNextStored(broker, stream, first);
  if (stored !== null && stored > last) return;
  if (stored === null) {
    const { cluster: after } = await broker.manager.streams.info(stream);
    if (state.last_seq >= last && cluster?.leader === after?.leader) return;
    if (!mayBeBehind(first, hasMajority(after))) return;
  }
  throw new Error(`the NATS server that was read lacks messages of ${stream} up to ${last}`);
}

/** Reads the messages from `first` to `last` that the reader's server has. Does not wait for missing messages. */
async function* storedMessages(
  broker: Broker,
  { stream, consumer, onTransientError }: InOrderOptions,
  first: number,
  last: number,
): AsyncGenerator<PulledMessage, void, void> {
  const reader = await broker.manager.consumers.add(stream, {
    ack_policy: AckPolicy.None,
    deliver_policy: DeliverPolicy.StartSequence,
    opt_start_seq: first,
    inactive_threshold: nanos(FORGOTTEN_AFTER_MS),
    mem_storage: true,
  });
  const inbox = openInbox(broker);
  try {
    for (let left = reader.num_pending; left > 0; ) {
      const batchMax = Math.min(left, BATCH_MAX);
      requestBatch(broker, { stream, consumer: reader.name, batchMax }, inbox.replySubject());
      for (let missing = batchMax; missing > 0; missing--) {
        const message = await inbox.next(ANSWER_MAX_MS);
        if (message === null || inbox.isStatus(message)) throw new Error(`reading ${stream} was interrupted`);
        const { sequence, storedAtMs } = positionOf(message.reply ?? '');
        if (sequence > last) return;
        const { subject, data: bytes } = message;
        yield {
          stream,
          consumer,
          sequence,
          subject,
          bytes,
          storedAtMs,
          isFirstDelivery: false,
          headers: headersOf(message),
          settle: async () => undefined,
        };
        if (sequence === last) return;
        left -= 1;
      }
    }
  } finally {
    await inbox.close();
    await broker.manager.consumers
      .delete(stream, reader.name)
      .catch((error: Error) => onTransientError('end of reading in order', error));
  }
}
