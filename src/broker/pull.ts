/**
 * Pulling from a durable consumer with back-pressure: the next batch is asked for only when the receiver has taken the
 * last one. (The client's own `consume` asks again as soon as messages arrive, which queues without bound.)
 */

import type { ConsumerMessages, JsMsg } from 'nats';
import type { Broker } from './connection.ts';
import type { Valve } from './valve.ts';

/** What becomes of a message. One place per stage decides it. */
export type Disposition =
  | { readonly type: 'ack' }
  | { readonly type: 'nak'; readonly delayMs: number }
  | { readonly type: 'term' };

export interface PulledMessage {
  readonly stream: string;
  readonly sequence: number;
  readonly subject: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
  /** When the stream took it, in milliseconds since the epoch. */
  readonly storedAtMs?: number;
  /** Resolves when the server knows, or when it cannot be told: then the message comes back, and the row decides. */
  settle(disposition: Disposition): Promise<void>;
}

export interface PullOptions {
  readonly stream: string;
  readonly consumer: string;
  readonly batchMax: number;
  /** Resolves when there is room for the next message. */
  readonly onMessage: (message: PulledMessage) => Promise<void>;
  /** Told when pulling or settling fails; both go on by themselves. */
  readonly onTrouble: (what: string, error: Error) => void;
  /** Puts a stream or consumer back that somebody deleted. */
  readonly ensure: () => Promise<void>;
  /** Closed, it keeps the pull from asking for more. */
  readonly valve?: Valve;
}

export interface Pull {
  /** Stops pulling; resolves when the last pulled message has been handed over. */
  stop(): Promise<void>;
}

/** Short, so that `stop` waits no longer than this for an empty stream. */
const PULL_EXPIRES_MS = 1_000;
const TROUBLE_PAUSE_MS = 500;

export function startPull(broker: Broker, options: PullOptions): Pull {
  let isStopping = false;
  const ended = run();

  async function run(): Promise<void> {
    while (!isStopping) {
      try {
        await pullBatch();
      } catch (error) {
        options.onTrouble('pull', error as Error);
        await new Promise((resolve) => setTimeout(resolve, TROUBLE_PAUSE_MS));
        await options.ensure().catch((cause: Error) => options.onTrouble('ensure', cause));
      }
    }
  }

  async function pullBatch(): Promise<void> {
    const consumer = await broker.jetStream.consumers.get(options.stream, options.consumer);
    const takeBatch = async (): Promise<void> => {
      const batch: ConsumerMessages = await consumer.fetch({
        max_messages: options.batchMax,
        expires: PULL_EXPIRES_MS,
      });
      for await (const message of batch) await options.onMessage(pulledMessage(message, options));
    };
    while (!isStopping) {
      const { valve } = options;
      if (valve === undefined) await takeBatch();
      else if (valve.isOpen) await valve.through(takeBatch);
      else await valve.whenOpen();
    }
  }

  return {
    stop() {
      isStopping = true;
      options.valve?.wake();
      return ended;
    },
  };
}

function pulledMessage(message: JsMsg, options: PullOptions): PulledMessage {
  return {
    stream: options.stream,
    sequence: message.seq,
    subject: message.subject,
    headers: headersOf(message),
    bytes: message.data,
    storedAtMs: message.info.timestampNanos / 1e6,
    async settle(disposition) {
      try {
        if (disposition.type === 'nak') message.nak(disposition.delayMs);
        else if (disposition.type === 'term') message.term();
        else await message.ackAck();
      } catch (error) {
        options.onTrouble('settle', error as Error);
      }
    },
  };
}

function headersOf(message: JsMsg): Record<string, string> {
  return Object.fromEntries((message.headers?.keys() ?? []).map((key) => [key, message.headers?.get(key) ?? '']));
}
