/**
 * Actors: a closure owns some state and receives its messages one batch at a time, in the order in which each sender
 * sent them.
 *
 * Promises: `tell` resolves on admission and waits while the mailbox is full. `drain` refuses new messages and ends
 * when the admitted ones are handled, or when its grace is over. A stopped actor rejects its senders; an admitted
 * message is handled or, if the actor stops first, lost, so durable work is acknowledged by its handler and never by
 * its sender.
 *
 * When `receive` throws, the failure's class decides (supervisor.ts). After a transient error of a server the same
 * batch is retried, with growing pauses. After any other error the batch is halved until the failing message is alone;
 * that message is retried while the others continue, and dead-lettered when the retries fail. An actor that cannot
 * dead-letter may hold wrong state: it stops after the same retries, and its supervisor is notified.
 */

import { Mailbox, type Weighing } from './mailbox.ts';
import { RetryAbandonedError, type RetryBudget, retryUntilDone, type Supervisor, type Watch } from './supervisor.ts';
import { pause, Signal } from './waiting.ts';

export interface ActorOptions<M> {
  readonly name: string;
  /** Maximum messages that are admitted and not yet taken. */
  readonly mailboxMax: number;
  /** Maximum messages handed to `receive` at once, besides left-over ones; default 1. */
  readonly batchMax?: number;
  /** Also bounds the mailbox and each batch by weight. */
  readonly weighing?: Weighing<M>;
  /** Milliseconds that an incomplete batch waits for more, for work whose latency does not matter; default 0. */
  readonly gatherMs?: number;
  /** Resolves with the left-over messages, never the whole batch. They are first in the next batch. */
  readonly receive: (messages: readonly M[]) => Promise<readonly M[] | void>;
  /**
   * For an actor whose `receive` resolves before its work is complete. Resolves with the messages to receive again,
   * when that work is complete or `arrival` resolves.
   */
  readonly settle?: (arrival: Promise<void>) => Promise<readonly M[]>;
  /**
   * The subject of a message: messages with one key keep their order while one of them is retried. By default each
   * message has its own key.
   */
  readonly keyOf?: (message: M) => unknown;
  /** Takes a message that fails alone because of a bug. Without it, such a bug stops the actor. */
  readonly deadLetter?: (message: M, error: Error) => Promise<void>;
  readonly supervisor: Pick<Supervisor, 'watch'>;
}

export interface Actor<M> {
  readonly name: string;
  /** Admitted messages not yet taken. */
  readonly depth: number;
  /** Resolves when the message is admitted; rejects with `ActorStoppedError`. */
  tell(message: M): Promise<void>;
  /**
   * Refuses new messages. Resolves when the admitted ones are handled, or when `grace` is over (by default a grace of
   * this call): unhandled messages are then dropped.
   */
  drain(grace?: Grace): Promise<void>;
}

/** A time limit that several drains share. */
export interface Grace {
  readonly isOver: Promise<void>;
  /** Cancels the timer: `isOver` then never resolves. */
  end(): void;
}

export class ActorStoppedError extends Error {
  readonly code = 'ACTOR_STOPPED';
}

/** Shorter than the time that a process has to stop. */
export const DRAIN_MAX_MS = 15_000;

const NEVER = new Promise<void>(() => undefined);

/** While this many batches of messages are left over, no new messages are taken. */
const LEFT_BATCHES_MAX = 4;

export function startGrace(durationMs: number = DRAIN_MAX_MS): Grace {
  let timer: NodeJS.Timeout | undefined;
  const isOver = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, durationMs);
  });
  return { isOver, end: () => clearTimeout(timer) };
}

export function spawn<M>(options: ActorOptions<M>): Actor<M> {
  const { name, settle = async () => [] } = options;
  const mailbox = new Mailbox<M>(options.mailboxMax, options.weighing);
  const watch = options.supervisor.watch(name);
  const budget = createRetryBudget();
  const suspects = new Suspects<M>(watch.retryPausesMs, options.keyOf);
  const { handle, retry } = createHandling(options, suspects, watch, budget);
  const stopped = run();

  async function run(): Promise<void> {
    try {
      for (let left: readonly M[] = []; !budget.isOver; ) {
        const { due } = suspects;
        if (due !== undefined) {
          left = await retry(due, left);
          continue;
        }
        if (left.length === 0 && mailbox.depth === 0) {
          left = await settle(mailbox.arrival());
          if (suspects.due !== undefined) continue;
        }
        const messages = [...left, ...(await nextBatch(mailbox, left.length, suspects, options))];
        left = await handle(messages);
        if (messages.length > 0) continue;
        left = await settle(NEVER);
        if (left.length > 0 || suspects.due !== undefined) continue;
        if (suspects.count === 0) return;
        await suspects.wakeUp.wait();
      }
    } catch (error) {
      if (error instanceof RetryAbandonedError) return;
      mailbox.close(new ActorStoppedError(`actor ${name} has crashed`, { cause: error }));
      watch.failed({ error: error as Error, isBug: true, isFinal: true, retryInMs: null });
    }
  }

  return {
    name,
    get depth() {
      return mailbox.depth;
    },
    tell: (message) => mailbox.put(message),
    async drain(grace) {
      mailbox.close(new ActorStoppedError(`actor ${name} is draining`));
      const own = grace ?? startGrace();
      suspects.hurry();
      void own.isOver.then(() => suspects.wakeUp.notify());
      await Promise.race([stopped, budget.endWith(own)]);
      if (grace === undefined) own.end();
      // An abandoned batch may still fail.
      watch.dismissed();
    },
  };
}

/** What happens to messages that cannot be handled. */
function createHandling<M>(
  { receive, deadLetter }: Pick<ActorOptions<M>, 'receive' | 'deadLetter'>,
  suspects: Suspects<M>,
  watch: Watch,
  budget: RetryBudget,
) {
  /** Resolves with the left-over messages; rejects when the actor must stop. */
  async function handle(admitted: readonly M[]): Promise<readonly M[]> {
    const messages = suspects.holdBack(admitted);
    if (messages.length === 0) return [];
    try {
      return (await retryUntilDone(() => receive(messages), watch, budget, deadLetter && [])) ?? [];
    } catch (error) {
      if (error instanceof RetryAbandonedError || deadLetter === undefined) throw error;
      if (messages.length === 1) return fail(suspects.suspect(messages[0] as M), error as Error, deadLetter);
      const middle = messages.length >> 1;
      const left = await handle(messages.slice(0, middle));
      return handle([...left, ...messages.slice(middle)]);
    }
  }

  /** Messages with the suspect's key in `left` arrived after it, and before those held back behind it. */
  async function retry(suspect: Suspect<M>, left: readonly M[]): Promise<readonly M[]> {
    try {
      const again = await retryUntilDone(() => receive([suspect.message]), watch, budget, []);
      return [...(again ?? []), ...left, ...suspects.release(suspect, null)];
    } catch (error) {
      if (error instanceof RetryAbandonedError || deadLetter === undefined) throw error;
      return [...left, ...(await fail(suspect, error as Error, deadLetter))];
    }
  }

  /** Resolves with the messages held back behind the suspect, if it is abandoned. */
  async function fail(
    suspect: Suspect<M>,
    error: Error,
    giveUp: NonNullable<ActorOptions<M>['deadLetter']>,
  ): Promise<readonly M[]> {
    const retryInMs = suspects.retryInMs(suspect, error);
    watch.failed({ error, isBug: retryInMs === null, isFinal: false, retryInMs });
    // The actor continues with other messages.
    watch.recovered();
    if (retryInMs === null) {
      await retryUntilDone(() => giveUp(suspect.message, error), watch, budget);
      return suspects.release(suspect, error);
    }
    suspects.scheduleRetry(suspect, retryInMs);
    return [];
  }

  return { handle, retry };
}

/** Waits only when nothing is left over. Takes no message while much is left over, so that senders wait. */
async function nextBatch<M>(
  mailbox: Mailbox<M>,
  leftCount: number,
  suspects: Suspects<M>,
  { batchMax = 1, gatherMs = 0 }: Pick<ActorOptions<M>, 'batchMax' | 'gatherMs'>,
): Promise<readonly M[]> {
  if (leftCount + suspects.count >= LEFT_BATCHES_MAX * batchMax) return [];
  if (leftCount > 0) return mailbox.nextAdmitted(batchMax);
  if (suspects.count === 0) await mailbox.arrival();
  else await Promise.race([mailbox.arrival(), suspects.wakeUp.wait()]);
  const { depth } = mailbox;
  if (gatherMs > 0 && depth > 0 && depth < batchMax) await pause(gatherMs);
  return mailbox.nextAdmitted(batchMax);
}

/** Unlimited until `drain` sets a time limit. */
function createRetryBudget(): RetryBudget & { endWith(grace: Grace): Promise<void> } {
  const wakeUp = new Signal();
  let isOver = false;
  let ended: Promise<void> | null = null;
  return {
    get isOver() {
      return isOver;
    },
    pause: (durationMs) => wakeUp.wait(durationMs),
    endWith(grace) {
      wakeUp.notify();
      ended ??= grace.isOver.then(() => {
        isOver = true;
        wakeUp.notify();
      });
      return ended;
    },
  };
}

interface Suspect<M> {
  readonly key: unknown;
  readonly message: M;
  /** Messages with the same key that are held back, in their order. */
  readonly behind: M[];
  failures: number;
  isDue: boolean;
}

/** The oldest keys are dropped first. */
const PROVEN_MAX = 1_000;

/**
 * Messages that caused an error of unknown class, each alone in its batch. Such a message is retried three times within
 * half a minute before the error counts as a bug. Only messages of the same key wait for it, and they keep their order.
 * An error for which a message of the same key was already abandoned counts as a bug at once.
 */
class Suspects<M> {
  readonly wakeUp = new Signal();
  readonly #retryPausesMs: readonly number[];
  readonly #keyOf: (message: M) => unknown;
  readonly #byKey = new Map<unknown, Suspect<M>>();
  readonly #proven = new Map<unknown, string>();

  /** By default each message has its own key. */
  constructor(retryPausesMs: readonly number[], keyOf: (message: M) => unknown = (message) => ({ message })) {
    this.#retryPausesMs = retryPausesMs;
    this.#keyOf = keyOf;
  }

  /** Number of messages that wait here, suspects included. */
  get count(): number {
    let count = 0;
    for (const { behind } of this.#byKey.values()) count += 1 + behind.length;
    return count;
  }

  /** A suspect whose next retry is due. */
  get due(): Suspect<M> | undefined {
    return [...this.#byKey.values()].find(({ isDue }) => isDue);
  }

  /** Holds back the messages whose key has a suspect; returns the others. */
  holdBack(messages: readonly M[]): readonly M[] {
    if (this.#byKey.size === 0) return messages;
    return messages.filter((message) => {
      const suspect = this.#byKey.get(this.#keyOf(message));
      suspect?.behind.push(message);
      return suspect === undefined;
    });
  }

  suspect(message: M): Suspect<M> {
    const suspect = { key: this.#keyOf(message), message, behind: [], failures: 0, isDue: false };
    this.#byKey.set(suspect.key, suspect);
    return suspect;
  }

  /** Milliseconds until the next retry; null when the error counts as a bug. */
  retryInMs({ key, failures }: Suspect<M>, error: Error): number | null {
    if (this.#proven.get(key) === String(error)) return null;
    return this.#retryPausesMs[failures] ?? null;
  }

  scheduleRetry(suspect: Suspect<M>, inMs: number): void {
    suspect.failures += 1;
    suspect.isDue = false;
    void pause(inMs).then(() => this.#makeDue(suspect));
  }

  /** Ends the suspect; returns the messages held back behind it. `bug`: the error if it was abandoned. */
  release({ key, behind }: Suspect<M>, bug: Error | null): readonly M[] {
    this.#byKey.delete(key);
    this.#proven.delete(key);
    if (bug !== null && typeof key !== 'object') this.#proven.set(key, String(bug));
    const [oldest] = this.#proven.keys();
    if (this.#proven.size > PROVEN_MAX) this.#proven.delete(oldest);
    return behind;
  }

  /** Makes every suspect due at once. */
  hurry(): void {
    for (const suspect of this.#byKey.values()) suspect.isDue = true;
    this.wakeUp.notify();
  }

  #makeDue(suspect: Suspect<M>): void {
    suspect.isDue = true;
    this.wakeUp.notify();
  }
}
