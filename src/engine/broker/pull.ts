/**
 * Pulls from a durable consumer with back-pressure. The next batch is requested only when the receiver has accepted a
 * batch, or the last request is old. So at most two batches are in transit. This module makes the requests itself
 * (JetStream API, `CONSUMER.MSG.NEXT`). The client's `consume` has an unlimited queue, because it requests more as soon
 * as messages arrive. Its `fetch` stops receiving soon after a request expires. Messages that a busy process reads
 * later would be redelivered only after `ack_wait`.
 */

import { createInbox, type Msg, millis, nanos } from 'nats';
import { startTask } from '../actor/task.ts';
import { endsWithin, pause, Signal, yieldToOthers } from '../actor/waiting.ts';
import { type Broker, STATUS_NO_RESPONDERS } from './connection.ts';
import type { PauseGate } from './pause-gate.ts';

/** How a message is settled. Messages that replay.ts reads ignore it. */
export type Disposition =
  /** With `isAnswered: false`, no answer is awaited: if the acknowledgement is lost, the message is redelivered. */
  | { readonly type: 'ack'; readonly isAnswered?: boolean }
  | { readonly type: 'nak'; readonly delayMs: number }
  | { readonly type: 'term' };

export interface PulledMessage {
  readonly stream: string;
  readonly consumer: string;
  readonly sequence: number;
  readonly subject: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
  /** When the stream stored the message, in milliseconds since the epoch. */
  readonly storedAtMs: number;
  readonly isFirstDelivery: boolean;
  /**
   * Sends the disposition. For an `ack` that awaits an answer, resolves when the server has answered or cannot be
   * reached. If the disposition is lost, the message is redelivered. Does nothing if the consumer has been deleted.
   */
  settle(disposition: Disposition): Promise<void>;
}

export interface PullOptions {
  readonly stream: string;
  readonly consumer: string;
  readonly batchMax: number;
  /** Maximum bytes per request, raised if the largest message would not fit; unlimited by default. */
  readonly bytesMax?: number;
  /** Timers and sockets are served after this many messages; by default after a whole batch. */
  readonly sliceMax?: number;
  /** Must resolve when there is room for the next message. */
  readonly onMessage: (message: PulledMessage) => Promise<void>;
  /** Called with each error. Pulling is then retried, and an unsettled message is redelivered. */
  readonly onTransientError: (what: string, error: Error) => void;
  /** Creates the stream and the consumer if they are missing. */
  readonly ensure: () => Promise<void>;
  /** While the gate is closed, nothing is requested. */
  readonly gate?: PauseGate;
  /** Keeps extending `ack_wait` for messages that are not settled yet, so that they are not redelivered. */
  readonly extendsWait?: boolean;
}

export type Pull = ReturnType<typeof startPull>;

/** Long, because a waiting request costs the server nothing. */
const PULL_EXPIRES_MS = 10_000;
/**
 * The next request is made while the last request waits. Otherwise a message may become due for redelivery just as the
 * only request of its consumer ends. Then nats-server below 2.10 removes the message from its queue, finds no request,
 * and delays it until `ack_wait`. The margin is large because a busy process may be seconds late.
 */
const PULL_AGAIN_MS = PULL_EXPIRES_MS / 2;
/** How soon a pull notices that it must pause or stop, or that a lost connection has ended its requests. */
const CHECK_EVERY_MS = 500;
const ERROR_PAUSE_MS = 500;
/** `max_bytes` is at least this many times the largest payload, because it includes subject and headers. */
const LARGEST_FACTOR = 2;
const ACKNOWLEDGE_TIMEOUT_MS = 5_000;

/** The consumer that messages come from. */
interface Source {
  /** The creation time that the server reports; null until it was read. */
  readonly createdAt: string | null;
  /**
   * True if the consumer was or may have been deleted. A new consumer with the same name counts from 1 again. Settling
   * an old message would settle, and so lose, the new message with the same number.
   */
  isLost: boolean;
  /** The consumer's `ack_wait` in milliseconds. */
  readonly ackWaitMs: number;
  /** Messages that were handed over and are not settled yet. */
  readonly unsettled: Set<Msg>;
}

/** Extensions per `ack_wait`: several, because one may be lost or late. */
const EXTENSIONS_PER_WAIT = 3;

export function startPull(broker: Broker, options: PullOptions) {
  const { gate } = options;
  let source: Source = { createdAt: null, isLost: false, ackWaitMs: 0, unsettled: new Set() };

  let received: readonly Msg[] = [];
  function extend(): number {
    if (!source.isLost) for (const message of [...source.unsettled, ...received]) message.respond('+WPI');
    return source.ackWaitMs / EXTENSIONS_PER_WAIT || CHECK_EVERY_MS;
  }

  async function pullOn(stopping: AbortSignal): Promise<void> {
    const fetchAll = (): Promise<void> => fetchBatches(() => !stopping.aborted && gate?.isOpen !== false);
    try {
      if (gate?.isOpen === false) await gate.whenOpen();
      else await (gate === undefined ? fetchAll() : gate.run(fetchAll));
    } catch (error) {
      await recover(error as Error, options, stopping);
    }
  }

  /** Pulls until it must pause or stop, or the connection is lost. Throws if the consumer does not exist. */
  async function fetchBatches(isTaking: () => boolean): Promise<void> {
    const { disconnections } = broker;
    source = await recognised(broker, options, source);
    const inbox = openInbox(broker);
    received = inbox.received;
    const handOver = (message: Msg): Promise<void> =>
      options.onMessage(pulledMessage(broker, message, options, source));
    try {
      const goesOn = (): boolean => isTaking() && broker.disconnections === disconnections;
      while (goesOn())
        await fetchBatch(inbox, requestBatch(broker, options, inbox.replySubject()), options, goesOn, handOver);
    } catch (error) {
      source.isLost = true;
      throw error;
    } finally {
      for (const message of await inbox.close()) await handOver(message);
    }
  }

  const pulling = startTask({ what: 'pull', everyMs: 0, work: pullOn });
  const extending =
    options.extendsWait === true
      ? startTask({ what: 'extend', everyMs: CHECK_EVERY_MS, work: extend, onTransientError: options.onTransientError })
      : null;
  return {
    /** Stops pulling; resolves when the last pulled message has been handed over. */
    async stop() {
      const ended = pulling.stop();
      gate?.wake();
      await ended;
      await extending?.stop();
    },
  };
}

/** Returns `before` if the consumer is unchanged. Otherwise marks `before` as lost, and returns a new source. */
async function recognised({ manager }: Broker, { stream, consumer }: PullOptions, before: Source): Promise<Source> {
  const { created: createdAt, config } = await manager.consumers.info(stream, consumer);
  before.isLost = before.createdAt !== null && before.createdAt !== createdAt;
  if (before.createdAt === createdAt) return before;
  return { createdAt, isLost: false, ackWaitMs: millis(config.ack_wait ?? 0), unsettled: new Set() };
}

/**
 * Hands over up to `batchMax` messages, whichever request they answer. Returns early when the newest `request` is old
 * or has ended, or the pull must pause or stop. Throws if the consumer does not exist.
 */
async function fetchBatch(
  inbox: PullInbox,
  request: PullRequest,
  { batchMax, sliceMax = batchMax, consumer }: PullOptions,
  goesOn: () => boolean,
  handOver: (message: Msg) => Promise<void>,
): Promise<void> {
  for (let missing = batchMax; missing > 0; ) {
    const leftMs = request.madeAt + PULL_AGAIN_MS - performance.now();
    const message = await inbox.next(Math.min(leftMs, CHECK_EVERY_MS));
    if (message === null) {
      if (leftMs <= CHECK_EVERY_MS || !goesOn()) return;
    } else if (!inbox.isStatus(message)) {
      missing -= 1;
      await handOver(message);
      if (missing % sliceMax === 0) await yieldToOthers();
    } else {
      const lack = lackOf(message);
      if (lack !== null) throw new Error(`consumer ${consumer}: ${lack}`);
      if (message.subject === request.replySubject) return;
    }
  }
}

async function recover(error: Error, { onTransientError, ensure }: PullOptions, stopping: AbortSignal): Promise<void> {
  onTransientError('pull', error);
  await pause(ERROR_PAUSE_MS, stopping);
  await ensure().catch((cause: Error) => onTransientError('create streams', cause));
}

export interface PullRequest {
  /** The subject on which the server reports the end of the request. */
  readonly replySubject: string;
  /** Monotonic milliseconds. */
  readonly madeAt: number;
}

export function requestBatch(
  { connection }: Broker,
  { stream, consumer, batchMax, bytesMax }: Pick<PullOptions, 'stream' | 'consumer' | 'batchMax' | 'bytesMax'>,
  replySubject: string,
): PullRequest {
  const request = { batch: batchMax, expires: nanos(PULL_EXPIRES_MS), ...boundOf(connection, bytesMax) };
  connection.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`, JSON.stringify(request), {
    reply: replySubject,
  });
  return { replySubject, madeAt: performance.now() };
}

/** Leaves room for a message of the largest size: with a smaller limit, the server would never deliver that message. */
function boundOf({ info }: Broker['connection'], bytesMax: number | undefined): { readonly max_bytes?: number } {
  if (bytesMax === undefined) return {};
  return { max_bytes: Math.max(bytesMax, LARGEST_FACTOR * (info?.max_payload ?? 0)) };
}

/** Why no message can be pulled; null if the request has only ended. */
function lackOf({ headers }: Msg): string | null {
  const { code, description } = headers ?? { code: 0, description: '' };
  if (code !== STATUS_NO_RESPONDERS && !/deleted/i.test(description)) return null;
  return `${code} ${description || 'no such consumer'}`;
}

function pulledMessage({ connection }: Broker, message: Msg, options: PullOptions, source: Source): PulledMessage {
  const { deliveryCount, sequence, storedAtMs } = positionOf(message.reply ?? '');
  source.unsettled.add(message);
  return {
    stream: options.stream,
    consumer: options.consumer,
    sequence,
    subject: message.subject,
    get headers() {
      return headersOf(message);
    },
    bytes: message.data,
    storedAtMs,
    isFirstDelivery: deliveryCount === 1,
    async settle(disposition) {
      source.unsettled.delete(message);
      if (source.isLost) return;
      try {
        switch (disposition.type) {
          case 'ack':
            if (disposition.isAnswered === false) message.respond('+ACK');
            else await connection.request(message.reply ?? '', '+ACK', { timeout: ACKNOWLEDGE_TIMEOUT_MS });
            return;
          case 'nak':
            message.respond(nakOf(disposition.delayMs));
            return;
          case 'term':
            message.respond('+TERM');
            return;
          default:
            unreachable(disposition);
        }
      } catch (error) {
        options.onTransientError('settle messages', error as Error);
      }
    },
  };
}

function nakOf(delayMs: number): string {
  // Whole nanoseconds, because the server treats a fraction as no delay.
  return delayMs > 0 ? `-NAK {"delay": ${Math.ceil(nanos(delayMs))}}` : '-NAK';
}

/**
 * Parses the reply subject `$JS.ACK.[domain.account.]stream.consumer.delivered.sequence.consumerSequence.time.pending`
 * (NATS ADR-15). Newer servers include domain and account.
 */
export function positionOf(reply: string): Readonly<Record<'deliveryCount' | 'sequence' | 'storedAtMs', number>> {
  const tokens = reply.split('.');
  const first = tokens.length === 9 ? 2 : 4;
  return {
    deliveryCount: Number(tokens[first + 2]),
    sequence: Number(tokens[first + 3]),
    storedAtMs: Number(tokens[first + 5]) / 1e6,
  };
}

export function headersOf(message: Msg): Record<string, string> {
  return Object.fromEntries((message.headers?.keys() ?? []).map((key) => [key, message.headers?.get(key) ?? '']));
}

/**
 * Acknowledges many messages with one round trip per consumer. Resolves when the server has recorded every
 * acknowledgement or cannot be reached. A server handles the acknowledgements of one connection to one consumer in
 * order, so its answer to the last acknowledgement covers all.
 */
export async function acknowledgeAll(messages: readonly PulledMessage[]): Promise<void> {
  const last = new Map(messages.map((message) => [message.consumer, message]));
  for (const message of messages) {
    if (message !== last.get(message.consumer)) void message.settle({ type: 'ack', isAnswered: false });
  }
  await Promise.all([...last.values()].map((message) => message.settle({ type: 'ack' })));
}

/** How long closing an inbox waits for its last messages. The limit is needed because a frozen server never answers. */
const ANSWER_MAX_MS = 1_000;

/**
 * Receives the answers to the requests of a pull, in order. Closing the inbox ends the waiting requests, because a
 * server sends nothing to an inbox without a subscriber. Messages that the server has already sent are not lost.
 */
type PullInbox = ReturnType<typeof openInbox>;

export function openInbox({ connection, isConnected }: Broker) {
  const prefix = `${createInbox()}.`;
  const isStatus = ({ subject }: Msg): boolean => subject.startsWith(prefix);
  let requests = 0;
  const received: Msg[] = [];
  const wakeUp = new Signal();
  let failure: Error | null = null;
  const subscription = connection.subscribe(`${prefix}*`, {
    callback(error, message) {
      if (error === null) received.push(message);
      failure ??= error;
      wakeUp.notify();
    },
  });
  return {
    /** Messages and statuses that were received but not yet read with `next`. */
    received,
    /** Returns a new reply subject for each request, so that their statuses can be distinguished. */
    replySubject() {
      requests += 1;
      return `${prefix}${requests}`;
    },
    /** True for the server's report that a request has ended; false for a message of the stream. */
    isStatus,
    /** The next message, or null if none arrives in `timeoutMs`. Rejects if the server has ended the subscription. */
    async next(timeoutMs: number) {
      if (received.length === 0 && failure === null) await wakeUp.wait(timeoutMs);
      if (received.length === 0 && failure !== null) throw failure;
      return received.shift() ?? null;
    },
    /**
     * Stops receiving, so that the server drops the waiting requests. Returns the messages that were not read yet.
     * Messages in transit from a server that cannot be reached are redelivered later.
     */
    async close() {
      // `drain` waits for an answer that the server sends after its last message to this inbox.
      if (isConnected() && failure === null) await endsWithin(subscription.drain(), ANSWER_MAX_MS);
      else subscription.unsubscribe();
      return received.filter((message) => !isStatus(message));
    },
  };
}

/** For the last branch over a union: the code does not compile while a variant is unhandled. */
function unreachable(value: never): never {
  throw new Error(`unreachable variant: ${JSON.stringify(value)}`);
}
