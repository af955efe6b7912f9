/**
 * Every message of a stream in its order, whatever became of the consumer's deliveries. What a crashed or replaced
 * reader left in flight, or what was lost on the way to this one, JetStream hands out again only after `ack_wait`, when
 * newer messages of the same property have long been recorded and the old ones count as stale. So it is read from the
 * stream first; settling it is left to its redelivery, and recording it twice changes nothing.
 */

import { AckPolicy, DeliverPolicy, nanos } from 'nats';
import type { Broker } from './connection.ts';
import type { PulledMessage } from './pull.ts';

type HandOn = (message: PulledMessage) => Promise<void>;

export interface InOrder {
  /**
   * Takes the pulled messages: hands each on, after those that the stream holds between the last one and it. Once it has
   * failed or was broken off it lets them go: they come back.
   */
  readonly handOn: HandOn;
  /** Of what was read from the stream, everything up to here is settled; infinite when nothing is left to settle. */
  readonly settledUpTo: number;
  /** True once a message could not be read: the order cannot be kept any more. */
  readonly hasFailed: boolean;
  /** Breaks off what is read before the first pulled message. */
  breakOff(): void;
}

export interface InOrderOptions {
  readonly stream: string;
  readonly consumer: string;
  /** Where to begin; what the consumer has had acknowledged beyond it is handed on again. */
  readonly recordedUpTo: number;
  readonly handOn: HandOn;
  readonly onTrouble: (what: string, error: Error) => void;
}

/** Read at once; their bytes wait in memory. */
const CHUNK = 256;
const FETCH_EXPIRES_MS = 5_000;
/** The server forgets the reader of a process that died. */
const READER_KEPT_MS = 30_000;

/** Begins with what the stream holds after `recordedUpTo` and the consumer has handed out; the only reader must be this one. */
export async function startInOrder(broker: Broker, options: InOrderOptions): Promise<InOrder> {
  const { stream, consumer, onTrouble } = options;
  const unsettled = new Set<number>();
  let next = options.recordedUpTo + 1;
  let isOver = false;
  let hasFailed = false;

  async function readUpTo(last: number): Promise<void> {
    while (next <= last && !isOver) {
      const chunk = await readChunk(broker, stream, next, Math.min(CHUNK, last - next + 1));
      for (const stored of chunk.filter(({ sequence }) => sequence <= last)) {
        if (isOver) return;
        unsettled.add(stored.sequence);
        next = stored.sequence + 1;
        const settle = async (): Promise<void> => void unsettled.delete(stored.sequence);
        await options.handOn({ ...stored, stream, consumer, settle });
      }
      if (chunk.length === 0 || (chunk.at(-1) as StoredMessage).sequence >= last) next = last + 1;
    }
  }

  /** Nothing may overtake what could not be read. */
  async function orFail(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      onTrouble('reading the stream', error as Error);
      hasFailed = true;
      isOver = true;
    }
  }

  const { delivered } = await broker.manager.consumers.info(stream, consumer);
  let isBegun = false;
  const begun = orFail(() => readUpTo(delivered.stream_seq)).then(() => {
    isBegun = !isOver;
  });
  return {
    get settledUpTo() {
      const [oldest] = unsettled;
      if (oldest !== undefined) return oldest - 1;
      return isBegun ? Number.POSITIVE_INFINITY : next - 1;
    },
    get hasFailed() {
      return hasFailed;
    },
    async handOn(message) {
      await begun;
      await orFail(() => readUpTo(message.sequence - 1));
      if (isOver) return;
      next = Math.max(next, message.sequence + 1);
      await options.handOn(message);
    },
    breakOff() {
      isOver ||= !isBegun;
    },
  };
}

type StoredMessage = Pick<PulledMessage, 'sequence' | 'subject' | 'bytes' | 'headers'>;

/** Up to `count` messages from `first` on, in order; fewer when time runs out, none when the stream holds none. */
async function readChunk(
  { manager, jetStream }: Broker,
  stream: string,
  first: number,
  count: number,
): Promise<readonly StoredMessage[]> {
  for (;;) {
    const reader = await manager.consumers.add(stream, {
      ack_policy: AckPolicy.None,
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: first,
      mem_storage: true,
      num_replicas: 1,
      inactive_threshold: nanos(READER_KEPT_MS),
    });
    if (reader.num_pending === 0) return [];
    const chunk: StoredMessage[] = [];
    const consumer = await jetStream.consumers.get(stream, reader.name);
    for await (const message of await consumer.fetch({ max_messages: count, expires: FETCH_EXPIRES_MS })) {
      const headers = Object.fromEntries(
        (message.headers?.keys() ?? []).map((key) => [key, message.headers?.get(key) ?? '']),
      );
      chunk.push({ sequence: message.seq, subject: message.subject, bytes: message.data, headers });
    }
    await manager.consumers.delete(stream, reader.name);
    if (chunk.length > 0) return chunk;
  }
}
