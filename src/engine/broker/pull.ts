/**
 * Pulls from a durable consumer with back-pressure: the next batch is requested only when the receiver has taken the
 * last one, so at most two are in transit. The client's own `consume` requests more as soon as messages arrive, so its
 * queue is unbounded. Its `fetch` stops receiving 5 % after a request has expired: messages that a busy process reads
 * later are redelivered only after `ack_wait`. So this module makes the requests itself (JetStream API,
 * `CONSUMER.MSG.NEXT`), and one inbox receives the answers until the pull pauses or stops.
 */

import { createInbox, type Msg, millis, nanos } from 'nats';
import { startTask } from '../actor/task.ts';
import { endsWithin, pause, Signal, yieldToOthers } from '../actor/waiting.ts';
import { type Broker, STATUS_NO_RESPONDERS } from './connection.ts';
import type { PauseGate } from './pause-gate.ts';

/** How a message is settled; decided in one place per stage. */
export type Disposition =
  /** `isAnswered: false` does not wait for the server: a lost acknowledgement causes a redelivery. */
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
  readonly storedAtMs?: number;
  readonly isFirstDelivery?: boolean;
  /**
   * Resolves when the server has recorded the disposition, or when it cannot be reached: the message is then
   * redelivered, and the database shows what was done. Does nothing once the consumer has been deleted.
   */
  settle(disposition: Disposition): Promise<void>;
}

export interface PullOptions {
  readonly stream: string;
  readonly consumer: string;
  readonly batchMax: number;
  /** Maximum bytes per request; default unlimited. */
  readonly bytesMax?: number;
  /** After so many messages, timers and sockets are served; default a whole batch. */
  readonly sliceMax?: number;
  /** Must resolve when there is room for the next message. */
  readonly onMessage: (message: PulledMessage) => Promise<void>;
  /** Called when pulling or settling fails; both are retried. */
  readonly onTransientError: (what: string, error: Error) => void;
  /** Creates the stream and consumer again if they were deleted. */
  readonly ensure: () => Promise<void>;
  /** While closed, the pull requests nothing. */
  readonly gate?: PauseGate;
  /** Extends `ack_wait` for messages that are not settled yet, so that they are not redelivered. */
  readonly extendsWait?: boolean;
}

export interface Pull {
  /** Stops pulling; resolves when the last pulled message has been handed over. */
  stop(): Promise<void>;
}

/** A waiting request costs the server nothing. */
const PULL_EXPIRES_MS = 10_000;
/**
 * The next request is made while the last one still waits. If a message becomes due for redelivery just when the only
 * request of its consumer ends, nats-server below 2.10 removes it from its queue, finds no request, and delays it until
 * `ack_wait`. The margin is large because a busy process may be late by seconds.
 */
const PULL_AGAIN_MS = PULL_EXPIRES_MS / 2;
/** How soon a pull notices that it must pause or stop, or that a lost connection has ended its requests. */
const CHECK_EVERY_MS = 500;
const ERROR_PAUSE_MS = 500;
/** `max_bytes` counts subject and headers too, so it must exceed the largest message. */
const LARGEST_FACTOR = 2;
const ACKNOWLEDGE_TIMEOUT_MS = 5_000;

/** The consumer that messages come from. */
interface Source {
  /** The creation time that the server reports; null until it was requested. */
  readonly createdAt: string | null;
  /**
   * True if the consumer was or may have been deleted. A new consumer of the same name counts from 1: settling an old
   * message would settle, and so lose, the new one with the same number.
   */
  isLost: boolean;
  /** Milliseconds of its `ack_wait`. */
  readonly ackWaitMs: number;
  /** Messages that were handed over and are not settled yet. */
  readonly unsettled: Set<Msg>;
}

/** Extensions per `ack_wait`, because one may be lost or late. */
const EXTENSIONS_PER_WAIT = 3;

export function startPull(broker: Broker, options: PullOptions): Pull {
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

  /** Pulls until it must pause or stop, or the connection breaks. Throws when the consumer does not exist. */
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
    async stop() {
      const ended = pulling.stop();
      gate?.wake();
      await ended;
      await extending?.stop();
    },
  };
}

/** Returns the same source while the consumer is unchanged. */
async function recognised({ manager }: Broker, { stream, consumer }: PullOptions, before: Source): Promise<Source> {
  const { created: createdAt, config } = await manager.consumers.info(stream, consumer);
  before.isLost = before.createdAt !== null && before.createdAt !== createdAt;
  if (before.createdAt === createdAt) return before;
  return { createdAt, isLost: false, ackWaitMs: millis(config.ack_wait ?? 0), unsettled: new Set() };
}

/**
 * Hands over up to `batchMax` messages of any request. Stops when `request`, the newest one, is old or has ended.
 * Throws when the consumer does not exist.
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
  await ensure().catch((cause: Error) => onTransientError('ensure', cause));
}

export interface PullRequest {
  /** The subject on which its end is reported. */
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

/** Allows for one message of the largest size: with a smaller bound the server ends every request at once. */
function boundOf({ info }: Broker['connection'], bytesMax: number | undefined): { readonly max_bytes?: number } {
  if (bytesMax === undefined) return {};
  return { max_bytes: Math.max(bytesMax, LARGEST_FACTOR * (info?.max_payload ?? 0)) };
}

/** Why no message can be pulled; null when the request has only expired. */
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
        options.onTransientError('settle', error as Error);
      }
    },
  };
}

function nakOf(delayMs: number): string {
  // Whole nanoseconds: the server treats a fraction as no delay.
  return delayMs > 0 ? `-NAK {"delay": ${Math.ceil(nanos(delayMs))}}` : '-NAK';
}

/**
 * Parses the reply subject, `$JS.ACK.[domain.account.]stream.consumer.delivered.sequence.consumerSequence.time.pending`
 * (NATS ADR-15): newer servers include domain and account.
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
 * Acknowledges many messages, with one round trip per consumer. Resolves when the server has recorded every
 * acknowledgement, or cannot be reached. A server handles the acknowledgements of one connection to one consumer in
 * order, so its answer to the last covers all.
 */
export async function acknowledgeAll(messages: readonly PulledMessage[]): Promise<void> {
  const last = new Map(messages.map((message) => [message.consumer, message]));
  for (const message of messages) {
    if (message !== last.get(message.consumer)) void message.settle({ type: 'ack', isAnswered: false });
  }
  await Promise.all([...last.values()].map((message) => message.settle({ type: 'ack' })));
}

/** How long closing an inbox waits for its last messages: a frozen server never answers. */
const ANSWER_MAX_MS = 1_000;

/**
 * Receives the answers to the requests of a pull, in order. Closing it ends the waiting requests, because a server
 * sends nothing to an inbox without a subscriber. Messages that were already sent are not lost.
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
    /** Whether this is the server's report that a request has ended, not a message of the stream. */
    isStatus,
    /** The next message, or null if none came within `timeoutMs`. Rejects when the server has ended the subscription. */
    async next(timeoutMs: number) {
      if (received.length === 0 && failure === null) await wakeUp.wait(timeoutMs);
      if (received.length === 0 && failure !== null) throw failure;
      return received.shift() ?? null;
    },
    /**
     * Stops receiving: the server drops the waiting requests. Returns the messages that were not yet read. Messages that
     * an unreachable server sends meanwhile are redelivered later.
     */
    async close() {
      // `drain` waits for an answer that the server sends after its last message to this inbox.
      if (isConnected() && failure === null) await endsWithin(subscription.drain(), ANSWER_MAX_MS);
      else subscription.unsubscribe();
      return received.filter((message) => !isStatus(message));
    },
  };
}

/** For the last branch over a union: the compiler refuses the call while a variant is unhandled. */
function unreachable(value: never): never {
  throw new Error(`unreachable variant: ${JSON.stringify(value)}`);
}
