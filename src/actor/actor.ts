/**
 * Actors: a closure owns some state and receives its messages one batch at a time, in the order each sender sent them.
 *
 * Promises: `tell` resolves on admission and waits while the mailbox is full. `drain` refuses new messages and ends
 * when the admitted ones are done. A stopped actor rejects its senders; an admitted message is handled or, when the
 * actor crashes, lost with the process, so durable work is acknowledged by its handler, never by its sender.
 *
 * When `receive` throws, supervision decides: `escalate` stops the actor and tells its supervisor, for state that may
 * be wrong; `retry` hands the same batch over again with growing pauses, for work that only waits for a server.
 */

import { Mailbox } from './mailbox.ts';

export interface ActorOptions<M> {
  readonly name: string;
  /** Messages admitted and not yet taken, at most. */
  readonly mailboxMax: number;
  /** Messages handed to `receive` at once, at most; 1 unless said. */
  readonly batchMax?: number;
  /** Milliseconds that a batch which is not full waits for more: for work that nobody waits for; 0 unless said. */
  readonly gatherMs?: number;
  readonly supervision: 'escalate' | 'retry';
  readonly receive: (messages: readonly M[]) => Promise<void>;
  /** Told of every failure; `isFinal` when the actor stops because of it. */
  readonly onFailure: (failure: ActorFailure) => void;
}

export interface ActorFailure {
  readonly actor: string;
  readonly error: Error;
  readonly isFinal: boolean;
  readonly retryInMs: number | null;
}

export interface Actor<M> {
  readonly name: string;
  /** Admitted messages not yet taken. */
  readonly depth: number;
  /** Resolves when the message is admitted; rejects with `ActorStoppedError`. */
  tell(message: M): Promise<void>;
  /** Refuses new messages; resolves when the admitted ones are done. */
  drain(): Promise<void>;
}

export class ActorStoppedError extends Error {
  readonly code = 'ACTOR_STOPPED';
}

const RETRY_FIRST_MS = 100;
const RETRY_MAX_MS = 5_000;

export function spawn<M>(options: ActorOptions<M>): Actor<M> {
  const { name, batchMax = 1, gatherMs = 0, supervision, receive, onFailure } = options;
  const mailbox = new Mailbox<M>(options.mailboxMax);
  const stopped = run();

  async function run(): Promise<void> {
    for (;;) {
      await mailbox.arrival();
      const { depth } = mailbox;
      if (gatherMs > 0 && depth > 0 && depth < batchMax) await pause(gatherMs);
      const messages = await mailbox.take(batchMax);
      if (messages.length === 0) return;
      if (!(await handle(messages))) return;
    }
  }

  /** False when the actor must stop. */
  async function handle(messages: readonly M[]): Promise<boolean> {
    for (let retryInMs = RETRY_FIRST_MS; ; retryInMs = Math.min(2 * retryInMs, RETRY_MAX_MS)) {
      try {
        await receive(messages);
        return true;
      } catch (cause) {
        const error = cause instanceof Error ? cause : new Error(String(cause));
        const isFinal = supervision === 'escalate';
        if (isFinal) mailbox.close(new ActorStoppedError(`actor ${name} has crashed`, { cause: error }));
        onFailure({ actor: name, error, isFinal, retryInMs: isFinal ? null : retryInMs });
        if (isFinal) return false;
        await pause(retryInMs);
      }
    }
  }

  return {
    name,
    get depth() {
      return mailbox.depth;
    },
    tell: (message) => mailbox.put(message),
    drain() {
      mailbox.close(new ActorStoppedError(`actor ${name} is draining`));
      return stopped;
    },
  };
}

/** Sends a message that carries its own reply; rejects after `timeoutMs`. */
export function ask<M, R>(actor: Actor<M>, build: (reply: Reply<R>) => M, timeoutMs: number): Promise<R> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`actor ${actor.name} gave no answer within ${timeoutMs} ms`)),
      timeoutMs,
    );
    const settle =
      <V>(end: (value: V) => void) =>
      (value: V) => {
        clearTimeout(timer);
        end(value);
      };
    actor.tell(build({ resolve: settle(resolve), reject: settle(reject) })).catch(settle(reject));
  });
}

export interface Reply<R> {
  readonly resolve: (value: R) => void;
  readonly reject: (error: Error) => void;
}

function pause(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs));
}
