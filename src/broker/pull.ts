/**
 * Pulling from a durable consumer with back-pressure: the next batch is asked for only when the receiver has taken what
 * came, so at most two are on the way. The client's own `consume` asks again as soon as messages arrive, which queues
 * without bound; its `fetch` stops listening 5 % after a request has expired, and what a busy process reads later is
 * dropped until `ack_wait`. So the requests are made here (JetStream API, `CONSUMER.MSG.NEXT`), and one inbox listens as
 * long as the pull lives.
 */

import { createInbox, type Msg, nanos } from 'nats';
import { unreachable } from '../domain/unreachable.ts';
import { type Broker, STATUS_NO_RESPONDERS } from './connection.ts';
import type { Valve } from './valve.ts';

/** What becomes of a message. One place per stage decides it. */
export type Disposition =
  /** `isAnswered: false` does not wait for the server: what is lost on the way comes back. */
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
  /** When the stream took it, in milliseconds since the epoch. */
  readonly storedAtMs?: number;
  /** Messages that the consumer has not handed out yet, as it handed out this one. */
  readonly pendingCount?: number;
  /**
   * Resolves when the server knows, or when it cannot be told: then the message comes back, and the row decides. Does
   * nothing once the consumer has been deleted.
   */
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
/**
 * The next request is made while the last one still waits. What falls due for redelivery in the moment in which the only
 * request of its consumer ends, nats-server below 2.10 takes off its queue, finds nobody, and forgets until `ack_wait`.
 */
const PULL_AGAIN_MS = 500;
/** For the end of the last request to be heard of; a server that was restarted never tells. */
const ANSWER_MARGIN_MS = 1_000;
const TROUBLE_PAUSE_MS = 500;
const ACKNOWLEDGE_TIMEOUT_MS = 5_000;

export function startPull(broker: Broker, options: PullOptions): Pull {
  const { valve, batchMax } = options;
  let isStopping = false;
  /** How often the consumer was deleted: see `isGone`. */
  let deletions = 0;
  const inbox = openInbox(broker);
  const ended = run();

  async function run(): Promise<void> {
    while (!isStopping) {
      try {
        if (valve?.isOpen === false) await valve.whenOpen();
        else await (valve === undefined ? takeBatches() : valve.through(takeBatches));
      } catch (error) {
        await recover(error as Error, options);
      }
    }
    for (const message of inbox.close()) await handOver(message);
  }

  /** Until it is to pause or stop; then listens to the end of the last request. Throws when there is no such consumer. */
  async function takeBatches(): Promise<void> {
    let request: PullRequest;
    do {
      request = requestBatch(broker, options, inbox.replySubject());
      await take(request, batchMax, PULL_AGAIN_MS);
    } while (!isStopping && valve?.isOpen !== false);
    await take(request, Number.POSITIVE_INFINITY, PULL_EXPIRES_MS + ANSWER_MARGIN_MS);
  }

  /** Hands over up to `max` messages of any request until `request`, the newest, is `ageMs` old or over. */
  async function take(request: PullRequest, max: number, ageMs: number): Promise<void> {
    for (let missing = max; missing > 0; ) {
      const message = await inbox.next(request.madeAt + ageMs - performance.now());
      if (message === null) return;
      if (!inbox.isStatus(message)) {
        missing -= 1;
        await handOver(message);
      } else if (message.subject === request.replySubject) {
        const lack = lackOf(message);
        if (lack?.isDeletion) deletions += 1;
        if (lack !== null) throw new Error(`consumer ${options.consumer}: ${lack.reason}`);
        return;
      }
    }
  }

  async function handOver(message: Msg): Promise<void> {
    const before = deletions;
    await options.onMessage(pulledMessage(broker, message, options, () => deletions > before));
  }

  return {
    stop() {
      isStopping = true;
      valve?.wake();
      return ended;
    },
  };
}

async function recover(error: Error, { onTrouble, ensure }: PullOptions): Promise<void> {
  onTrouble('pull', error);
  await new Promise((resolve) => setTimeout(resolve, TROUBLE_PAUSE_MS));
  await ensure().catch((cause: Error) => onTrouble('ensure', cause));
}

interface PullRequest {
  /** Where its end is told. */
  readonly replySubject: string;
  /** Monotonic milliseconds. */
  readonly madeAt: number;
}

function requestBatch(
  { connection }: Broker,
  { stream, consumer, batchMax }: PullOptions,
  replySubject: string,
): PullRequest {
  const request = { batch: batchMax, expires: nanos(PULL_EXPIRES_MS) };
  connection.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`, JSON.stringify(request), {
    reply: replySubject,
  });
  return { replySubject, madeAt: performance.now() };
}

/** Why a request can never be answered; null when it has only run its time. */
function lackOf({ headers }: Msg): { readonly reason: string; readonly isDeletion: boolean } | null {
  const { code, description } = headers ?? { code: 0, description: '' };
  const isDeletion = /deleted/i.test(description);
  if (!isDeletion && code !== STATUS_NO_RESPONDERS) return null;
  return { reason: `${code} ${description || 'no such consumer'}`, isDeletion };
}

interface Inbox {
  /** Another one for each request, so that their ends can be told apart. */
  replySubject(): string;
  /** Whether the server tells of a request, instead of handing out a message. */
  isStatus(message: Msg): boolean;
  /** The next message, or null when none came within `timeoutMs`. */
  next(timeoutMs: number): Promise<Msg | null>;
  /** Stops listening and answers the messages that were received and not yet taken. */
  close(): readonly Msg[];
}

function openInbox({ connection }: Broker): Inbox {
  const prefix = `${createInbox()}.`;
  const isStatus = ({ subject }: Msg): boolean => subject.startsWith(prefix);
  let requests = 0;
  const received: Msg[] = [];
  let wake: (() => void) | null = null;
  const subscription = connection.subscribe(`${prefix}*`, {
    callback(error, message) {
      if (error === null) received.push(message);
      wake?.();
    },
  });
  return {
    replySubject() {
      requests += 1;
      return `${prefix}${requests}`;
    },
    isStatus,
    async next(timeoutMs) {
      if (received.length === 0 && timeoutMs > 0) {
        let timer: NodeJS.Timeout | undefined;
        await new Promise<void>((resolve) => {
          wake = resolve;
          timer = setTimeout(resolve, timeoutMs);
        });
        clearTimeout(timer);
        wake = null;
      }
      return received.shift() ?? null;
    },
    close() {
      subscription.unsubscribe();
      return received.filter((message) => !isStatus(message));
    },
  };
}

/**
 * `isGone`: the message's consumer was deleted. Its successor counts from 1 again: to settle the message would settle
 * whichever one bears its number now, and lose it.
 */
function pulledMessage(
  { connection }: Broker,
  message: Msg,
  options: PullOptions,
  isGone: () => boolean,
): PulledMessage {
  const { sequence, storedAtMs, pendingCount } = placeOf(message.reply ?? '');
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
    pendingCount,
    async settle(disposition) {
      if (isGone()) return;
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
        options.onTrouble('settle', error as Error);
      }
    },
  };
}

function nakOf(delayMs: number): string {
  // Whole nanoseconds: the server takes a fraction for no delay at all.
  return delayMs > 0 ? `-NAK {"delay": ${Math.ceil(nanos(delayMs))}}` : '-NAK';
}

/**
 * From the reply subject, `$JS.ACK.[domain.account.]stream.consumer.delivered.sequence.consumerSequence.time.pending`
 * (NATS ADR-15): newer servers name domain and account.
 */
function placeOf(reply: string): Readonly<Record<'sequence' | 'storedAtMs' | 'pendingCount', number>> {
  const tokens = reply.split('.');
  const first = tokens.length === 9 ? 2 : 4;
  return {
    sequence: Number(tokens[first + 3]),
    storedAtMs: Number(tokens[first + 5]) / 1e6,
    pendingCount: Number(tokens[first + 6]),
  };
}

function headersOf(message: Msg): Record<string, string> {
  return Object.fromEntries((message.headers?.keys() ?? []).map((key) => [key, message.headers?.get(key) ?? '']));
}
