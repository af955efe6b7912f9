/**
 * Actors: a closure owns some state and receives its messages one batch at a time, in the order each sender sent them.
 *
 * Promises: `tell` resolves on admission and waits while the mailbox is full. `drain` refuses new messages and ends
 * when the admitted ones are done, or when they cannot be done in time. A stopped actor rejects its senders; an admitted
 * message is handled or, when the actor stops before, lost, so durable work is acknowledged by its handler, never by its
 * sender.
 *
 * When `receive` throws, the failure's class decides (supervisor.ts). Trouble of a server: the same batch again, with
 * growing pauses. A bug: the batch is halved until the message that causes it stands alone; that one is set aside and
 * the others go on, in their order. Where nothing can be set aside the state may be wrong: the actor stops and its
 * supervisor is told.
 */

import { Mailbox, type Weighing } from './mailbox.ts';
import { GaveUpError, type Patience, persist, type Supervisor } from './supervisor.ts';
import { Bell, inTime, pause } from './waiting.ts';

export interface ActorOptions<M> {
  readonly name: string;
  /** Messages admitted and not yet taken, at most. */
  readonly mailboxMax: number;
  /** Messages handed to `receive` at once, at most; 1 unless said. What it has left comes on top. */
  readonly batchMax?: number;
  /** Bounds the mailbox and each batch by weight as well. */
  readonly weighing?: Weighing<M>;
  /** Milliseconds that a batch which is not full waits for more: for work that nobody waits for; 0 unless said. */
  readonly gatherMs?: number;
  /** What it resolves with, if anything, is left over: not all of the batch, and first in the next one. */
  readonly receive: (messages: readonly M[]) => Promise<readonly M[] | void>;
  /** Takes the message that a bug stands alone with; absent, a bug stops the actor. */
  readonly setAside?: (message: M, error: Error) => Promise<void>;
  readonly supervisor: Pick<Supervisor, 'watch'>;
}

export interface Actor<M> {
  readonly name: string;
  /** Admitted messages not yet taken. */
  readonly depth: number;
  /** Resolves when the message is admitted; rejects with `ActorStoppedError`. */
  tell(message: M): Promise<void>;
  /**
   * Refuses new messages; resolves when the admitted ones are done, or when `grace` is over, one of its own unless said:
   * what cannot be done by then is let go.
   */
  drain(grace?: Grace): Promise<void>;
}

/** The time that several have together to end. */
export interface Grace {
  readonly isOver: Promise<void>;
  /** Nobody needs it any more. */
  end(): void;
}

export class ActorStoppedError extends Error {
  readonly code = 'ACTOR_STOPPED';
}

/** Less than a process is given to end. */
export const DRAIN_MAX_MS = 15_000;

/** What is left over of batches, in batches, beside which new messages are taken. */
const LEFT_BATCHES_MAX = 4;

export function startGrace(durationMs: number = DRAIN_MAX_MS): Grace {
  let timer: NodeJS.Timeout | undefined;
  const isOver = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, durationMs);
  });
  return { isOver, end: () => clearTimeout(timer) };
}

export function spawn<M>(options: ActorOptions<M>): Actor<M> {
  const { name, receive, setAside } = options;
  const mailbox = new Mailbox<M>(options.mailboxMax, options.weighing);
  const watch = options.supervisor.watch(name);
  const patience = createPatience();
  const stopped = run();

  async function run(): Promise<void> {
    try {
      for (let left: readonly M[] = []; ; ) {
        const messages = [...left, ...(await nextBatch(mailbox, left.length, options))];
        if (messages.length === 0) return;
        left = await handle(messages);
      }
    } catch (error) {
      if (error instanceof GaveUpError) return;
      mailbox.close(new ActorStoppedError(`actor ${name} has crashed`, { cause: error }));
      watch.failed({ error: error as Error, isBug: true, isFinal: true, retryInMs: null });
    }
  }

  /** Resolves with what is left over; rejects when the actor must stop. */
  async function handle(messages: readonly M[]): Promise<readonly M[]> {
    try {
      return (await persist(() => receive(messages), watch, patience)) ?? [];
    } catch (error) {
      if (error instanceof GaveUpError || setAside === undefined) throw error;
      if (messages.length > 1) {
        const middle = messages.length >> 1;
        const left = await handle(messages.slice(0, middle));
        return handle([...left, ...messages.slice(middle)]);
      }
      watch.failed({ error: error as Error, isBug: true, isFinal: false, retryInMs: null });
      await persist(() => setAside(messages[0] as M, error as Error), watch, patience);
      return [];
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
      await Promise.race([stopped, patience.endWith(own)]);
      if (grace === undefined) own.end();
      // Whoever is gone is nobody's trouble any more.
      watch.recovered();
    },
  };
}

/** Waits for a message only when nothing is left over, and takes none while that is much: senders wait then. */
async function nextBatch<M>(
  mailbox: Mailbox<M>,
  leftCount: number,
  { batchMax = 1, gatherMs = 0 }: Pick<ActorOptions<M>, 'batchMax' | 'gatherMs'>,
): Promise<readonly M[]> {
  if (leftCount >= LEFT_BATCHES_MAX * batchMax) return [];
  if (leftCount > 0) return mailbox.takeAdmitted(batchMax);
  await mailbox.arrival();
  const { depth } = mailbox;
  if (gatherMs > 0 && depth > 0 && depth < batchMax) await pause(gatherMs);
  return mailbox.take(batchMax);
}

/** Without end, until it is given a time to end. */
function createPatience(): Patience & { endWith(grace: Grace): Promise<void> } {
  const bell = new Bell();
  let isOver = false;
  let ended: Promise<void> | null = null;
  return {
    get isOver() {
      return isOver;
    },
    pause: (durationMs) => bell.rung(durationMs),
    endWith(grace) {
      bell.ring();
      ended ??= grace.isOver.then(() => {
        isOver = true;
        bell.ring();
      });
      return ended;
    },
  };
}

/** Sends a message that carries its own reply; rejects after `timeoutMs`. */
export function ask<M, R>(actor: Actor<M>, build: (reply: Reply<R>) => M, timeoutMs: number): Promise<R> {
  const answer = new Promise<R>((resolve, reject) => {
    actor.tell(build({ resolve, reject })).catch(reject);
  });
  return inTime(answer, timeoutMs, () => new Error(`actor ${actor.name} gave no answer within ${timeoutMs} ms`));
}

export interface Reply<R> {
  readonly resolve: (value: R) => void;
  readonly reject: (error: Error) => void;
}
