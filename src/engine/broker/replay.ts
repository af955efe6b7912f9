/**
 * Reads every message of a stream in order, even those that the consumer has already delivered. JetStream redelivers
 * messages that a crashed or replaced reader left unacknowledged, or that were lost in transit, only after `ack_wait`.
 * By then newer messages of the same property are recorded, and the old ones count as stale. So this module reads them
 * from the stream first. Later the recorder recognises their redelivery, and settles it.
 */

import { AckPolicy, DeliverPolicy, nanos } from 'nats';
import { nullIfAbandoned, retryUntilAborted, retryUntilDone, transientErrorWatch } from '../actor/supervisor.ts';
import type { Broker } from './connection.ts';
import { headersOf, openInbox, type PulledMessage, positionOf, requestBatch } from './pull.ts';
import { readNextStored } from './stream-position.ts';

type HandOn = (message: PulledMessage) => Promise<void>;

export interface InOrder {
  /** Hands on a pulled message, after any messages that the stream has between it and the previous one. */
  readonly admit: HandOn;
  /** All messages read from the stream up to this sequence are settled; infinite when all are. */
  readonly settledUpTo: number;
  /** Stops handing on: unsettled messages are left to the next reader. */
  stop(): void;
}

export interface InOrderOptions {
  readonly stream: string;
  readonly consumer: string;
  /** The reading begins after this sequence, and includes messages that the consumer has acknowledged. */
  readonly recordedUpTo: number;
  readonly handOn: HandOn;
  /** Called if a message shows that the stream was replaced by one of the same name, which counts from 1 again. */
  readonly onOtherStream: () => void;
  readonly onTransientError: (what: string, error: Error) => void;
}

/** A message may be a mebibyte long, and a batch is in memory. */
const BATCH_MAX = 64;
/** After this time without an answer the read is considered lost. */
const ANSWER_MAX_MS = 5_000;
/** For this time a stream that ends before its consumer's position may be catching up; then it has lost messages. */
const CATCH_UP_MAX_MS = 15_000;
/** After this time without a request the server deletes the consumer of a process that has ended. */
const FORGOTTEN_AFTER_MS = 30_000;

/**
 * Starts to hand on the messages after `recordedUpTo` that the consumer has delivered, oldest first; pulled messages
 * wait for them. An interrupted read resumes at its position. There must be no other reader. Rejects when NATS is
 * unavailable.
 */
export async function startInOrder(broker: Broker, options: InOrderOptions): Promise<InOrder> {
  const { stream, consumer, handOn, onTransientError } = options;
  const unsettled = new Set<number>();
  const stopping = new AbortController();
  const { signal } = stopping;
  const watch = transientErrorWatch('read in order', onTransientError);
  let isCaughtUp = false;
  let next = options.recordedUpTo + 1;

  async function readUpTo(last: number): Promise<void> {
    const since = performance.now();
    const mayBeBehind = (): boolean => performance.now() - since < CATCH_UP_MAX_MS;
    await retryUntilDone(() => readOn(last, mayBeBehind), watch, retryUntilAborted(signal)).catch(nullIfAbandoned);
  }

  async function readOn(last: number, mayBeBehind: () => boolean): Promise<void> {
    if (next > last || signal.aborted) return;
    for await (const message of storedMessages(broker, options, next, last)) {
      if (signal.aborted) return;
      const { sequence } = message;
      unsettled.add(sequence);
      await handOn({ ...message, settle: async () => void unsettled.delete(sequence) });
      next = sequence + 1;
    }
    if (next <= last) await assertGone(broker, stream, [next, last], mayBeBehind);
    next = Math.max(next, last + 1);
  }

  const { delivered } = await broker.manager.consumers.info(stream, consumer);
  const caughtUp = readUpTo(delivered.stream_seq).then(() => {
    isCaughtUp = !signal.aborted;
  });
  return {
    get settledUpTo() {
      const [oldest] = unsettled;
      if (oldest !== undefined) return oldest - 1;
      return isCaughtUp ? Number.POSITIVE_INFINITY : next - 1;
    },
    async admit(message) {
      await caughtUp;
      if (message.sequence < next && message.isFirstDelivery === true) options.onOtherStream();
      if (message.sequence > next) await readUpTo(message.sequence - 1);
      if (signal.aborted) return;
      next = Math.max(next, message.sequence + 1);
      await handOn(message);
    },
    stop() {
      stopping.abort();
    },
  };
}

/**
 * Throws if the stream may still have messages from `first` to `last`: in a cluster, the server that was read from may
 * be behind and not have them yet.
 */
async function assertGone(
  broker: Broker,
  stream: string,
  [first, last]: readonly [number, number],
  mayBeBehind: () => boolean,
): Promise<void> {
  const { state } = await broker.manager.streams.info(stream);
  const stored = await readNextStored(broker, stream, first);
  const isGone = stored === null ? state.last_seq >= last || !mayBeBehind() : stored > last;
  if (!isGone) throw new Error(`the server that reads ${stream} lacks messages up to ${last}`);
}

/** Reads the messages from `first` to `last` without waiting, as far as the connected server has them. */
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
