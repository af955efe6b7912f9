/**
 * An actor is a closure that owns some state and receives its messages one batch at a time, in the order of admission.
 * While a failed message waits for its retry, only the messages with its key keep their order (`keyOf`).
 *
 * `tell` resolves when the message is admitted, and waits while the mailbox is full. `drain` refuses new messages and
 * ends when the admitted messages are handled or the grace period is over. A stopped actor rejects its senders and
 * loses admitted messages that it has not handled. Only the handler, never the sender, may therefore acknowledge
 * durable work.
 *
 * If `receive` throws, the class of the error decides (supervisor.ts). After a transient error of a server, the same
 * batch is retried with growing pauses. After any other error, the batch is halved until the failing message is alone.
 * That message is retried while the others continue, and becomes a dead letter if the retries fail. If a bug prevents
 * even this, the actor stops and notifies its supervisor.
 */

import { Mailbox, type Weighing } from './mailbox.ts';
import { RetryAbandonedError, type RetryBudget, retryUntilDone, type Supervisor, type Watch } from './supervisor.ts';
import { pause, Signal } from './waiting.ts';

export interface ActorOptions<M> {
  readonly name: string;
  /** Maximum number of messages that are admitted but not yet taken. */
  readonly mailboxMax: number;
  /** Maximum number of messages handed to `receive` at once, left-over messages excluded; default 1. */
  readonly batchMax?: number;
  /** Limits the mailbox and each batch by weight too. */
  readonly weighing?: Weighing<M>;
  /** How long an incomplete batch waits for more messages, in milliseconds; default 0. */
  readonly gatherMs?: number;
  /** Resolves with the messages left over, which begin the next batch. Repeated calls must make progress. */
  readonly receive: (messages: readonly M[]) => Promise<readonly M[] | void>;
  /**
   * For an actor whose `receive` resolves before its work is complete. Resolves when that work is complete or `arrival`
   * resolves, with the messages to receive again.
   */
  readonly settle?: (arrival: Promise<void>) => Promise<readonly M[]>;
  /**
   * Returns the key of a message. Messages with the same key keep their order while one of them is retried. By default
   * each message has its own key.
   */
  readonly keyOf?: (message: M) => unknown;
  /** Called with a message that fails alone because of a bug. */
  readonly deadLetter: (message: M, error: Error) => Promise<void>;
  readonly supervisor: Pick<Supervisor, 'watch'>;
}

export type Actor<M> = ReturnType<typeof spawn<M>>;
/** A time limit that several calls of `drain` share. */
export type Grace = ReturnType<typeof startGrace>;

export class ActorStoppedError extends Error {
  readonly code = 'ACTOR_STOPPED';
}

/** Shorter than 30 s, the default of `VIGIE_DRAIN_TIMEOUT_MS`, after which a stopping process exits. */
export const DRAIN_MAX_MS = 15_000;

const NEVER = new Promise<void>(() => undefined);

/** No new messages are taken while left-over messages, suspects and held-back messages fill this many batches. */
const LEFT_BATCHES_MAX = 4;

export function startGrace(durationMs: number = DRAIN_MAX_MS) {
  let timer: NodeJS.Timeout | undefined;
  const isOver = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, durationMs);
  });
  return {
    isOver,
    /** Cancels the timer: `isOver` then never resolves. */
    end: () => clearTimeout(timer),
  };
}

export function spawn<M>(options: ActorOptions<M>) {
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
    /** Number of messages that are admitted but not yet taken. */
    get depth() {
      return mailbox.depth;
    },
    /** Resolves when the message is admitted; rejects with `ActorStoppedError`. */
    tell: (message: M) => mailbox.put(message),
    /**
     * Refuses new messages. Resolves when the admitted messages are handled or `grace` is over, and then drops the
     * unhandled messages. By default the call starts its own grace period.
     */
    async drain(grace?: Grace) {
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

/** Handles messages, and decides what happens to those that fail. */
function createHandling<M>(
  { receive, deadLetter }: Pick<ActorOptions<M>, 'receive' | 'deadLetter'>,
  suspects: Suspects<M>,
  watch: Watch,
  budget: RetryBudget,
) {
  /** Resolves with the left-over messages; rejects if the actor must stop. */
  async function handle(admitted: readonly M[]): Promise<readonly M[]> {
    const messages = suspects.holdBack(admitted);
    if (messages.length === 0) return [];
    try {
      return (await retryUntilDone(() => receive(messages), watch, budget, [])) ?? [];
    } catch (error) {
      if (error instanceof RetryAbandonedError) throw error;
      if (messages.length === 1) return fail(suspects.suspect(messages[0] as M), error as Error);
      const middle = messages.length >> 1;
      const left = await handle(messages.slice(0, middle));
      return handle([...left, ...messages.slice(middle)]);
    }
  }

  /** Messages with the suspect's key in `left` arrived after the suspect and before those held back behind it. */
  async function retry(suspect: Suspect<M>, left: readonly M[]): Promise<readonly M[]> {
    try {
      const again = await retryUntilDone(() => receive([suspect.message]), watch, budget, []);
      return [...(again ?? []), ...left, ...suspects.release(suspect, null)];
    } catch (error) {
      if (error instanceof RetryAbandonedError) throw error;
      return [...left, ...(await fail(suspect, error as Error))];
    }
  }

  /** Resolves with the messages held back behind the suspect if it is abandoned, otherwise with none. */
  async function fail(suspect: Suspect<M>, error: Error): Promise<readonly M[]> {
    const retryInMs = suspects.retryInMs(suspect, error);
    watch.failed({ error, isBug: retryInMs === null, isFinal: false, retryInMs });
    // Clears the failure, because the actor continues with other messages.
    watch.recovered();
    if (retryInMs === null) {
      await retryUntilDone(() => deadLetter(suspect.message, error), watch, budget);
      return suspects.release(suspect, error);
    }
    suspects.scheduleRetry(suspect, retryInMs);
    return [];
  }

  return { handle, retry };
}

/** Waits only if no message is left over. At `LEFT_BATCHES_MAX` it takes no message, so that senders wait. */
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

/** Unlimited until `endWith` sets a time limit. */
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
  /** Held-back messages with the same key, in their order. */
  readonly behind: M[];
  failures: number;
  isDue: boolean;
}

/** Maximum number of keys whose last suspect was abandoned. If there are more, the oldest key is dropped. */
const PROVEN_MAX = 1_000;

/**
 * Messages that caused an error of unknown class, each alone in its batch. Such a message is retried three times within
 * half a minute before the error counts as a bug. Only messages with the same key wait for it, and they keep their
 * order. If the last suspect with the same key was abandoned for the same error, the error counts as a bug at once.
 */
class Suspects<M> {
  readonly wakeUp = new Signal();
  readonly #retryPausesMs: readonly number[];
  readonly #keyOf: (message: M) => unknown;
  readonly #byKey = new Map<unknown, Suspect<M>>();
  readonly #proven = new Map<unknown, string>();

  constructor(retryPausesMs: readonly number[], keyOf: (message: M) => unknown = (message) => ({ message })) {
    this.#retryPausesMs = retryPausesMs;
    this.#keyOf = keyOf;
  }

  /** Number of messages that wait here, including the suspects. */
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

  /** Milliseconds until the next retry; null if the error counts as a bug. */
  retryInMs({ key, failures }: Suspect<M>, error: Error): number | null {
    if (this.#proven.get(key) === String(error)) return null;
    return this.#retryPausesMs[failures] ?? null;
  }

  scheduleRetry(suspect: Suspect<M>, inMs: number): void {
    suspect.failures += 1;
    suspect.isDue = false;
    void pause(inMs).then(() => this.#makeDue(suspect));
  }

  /** Removes the suspect; returns the messages held back behind it. `bug` is the error of an abandoned suspect. */
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
