/**
 * Receives the answers to the requests of a pull, in order. Closing it ends the waiting requests: a server sends
 * nothing to an inbox without a subscriber, and messages that it has already sent are not lost.
 */

import { createInbox, type Msg } from 'nats';
import { endsWithin, Signal } from '../actor/waiting.ts';
import type { Broker } from './connection.ts';

/** Milliseconds for the last messages of a closed inbox; a frozen server never answers. */
const ANSWER_MAX_MS = 1_000;

export interface PullInbox {
  /** Received and not yet taken, statuses too. */
  readonly received: readonly Msg[];
  /** A new reply subject for each request, so that their ends can be distinguished. */
  replySubject(): string;
  /** Whether the server reports the end of a request, instead of handing out a message. */
  isStatus(message: Msg): boolean;
  /** The next message, or null when none came within `timeoutMs`. Rejects when the server has ended the subscription. */
  next(timeoutMs: number): Promise<Msg | null>;
  /**
   * Stops receiving: the server drops the waiting requests. Returns the messages that were received and not taken;
   * messages that an unreachable server has sent meanwhile are redelivered.
   */
  close(): Promise<readonly Msg[]>;
}

export function openInbox({ connection, isConnected }: Broker): PullInbox {
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
    received,
    replySubject() {
      requests += 1;
      return `${prefix}${requests}`;
    },
    isStatus,
    async next(timeoutMs) {
      if (received.length === 0 && failure === null) await wakeUp.wait(timeoutMs);
      if (received.length === 0 && failure !== null) throw failure;
      return received.shift() ?? null;
    },
    async close() {
      // The server's answer follows the last message that it has sent here.
      if (isConnected() && failure === null) await endsWithin(subscription.drain(), ANSWER_MAX_MS);
      else subscription.unsubscribe();
      return received.filter((message) => !isStatus(message));
    },
  };
}
