/**
 * Stands for the leadership of the intake until this instance is stopped: waits for the one that leads to go, leads for a term, and
 * stands again when the term has ended. A term ends when PostgreSQL gives its session up (store/intake-leader.ts), when another
 * term has begun, or when the connection to NATS has broken: then another instance may reach it, and a new term of this
 * one begins with what was lost on the way.
 */

import type { Supervisor, Watch } from '../actor/supervisor.ts';
import { startTask } from '../actor/task.ts';
import { pause } from '../actor/waiting.ts';
import type { LeaderSession, Term } from '../store/intake-leader.ts';

export interface LeadershipDependencies {
  /** Rejects when PostgreSQL cannot be reached. */
  readonly openSession: () => Promise<LeaderSession>;
  /** False while this instance could not do the work. */
  readonly isFit: () => boolean;
  /** Takes the work up for a term. */
  readonly lead: (term: Term) => Promise<LeaderTask>;
  /** Told of each term of this instance that begins, and with null of its end. */
  readonly onTerm: (term: Term | null) => void;
  readonly supervisor: Pick<Supervisor, 'watch'>;
}

/** The work of one term. */
export interface LeaderTask {
  /** False once it must be given up. */
  readonly isSound: boolean;
  /** Finishes what is under way. */
  drain(): Promise<void>;
  /** Lets go of what is under way; resolves when nothing more of it will happen here. */
  abandon(): Promise<void>;
}

export interface Leadership {
  /** Finishes what is under way, and lets another instance lead. */
  stop(): Promise<void>;
}

const LOOK_EVERY_MS = 500;

/** Resolves when this instance leads or has found that it must wait. */
export async function startLeadership(dependencies: LeadershipDependencies): Promise<Leadership> {
  const { openSession, isFit, lead, onTerm, supervisor } = dependencies;
  const watch = supervisor.watch('leadership');
  const { promise: looked, note: noteFirstLook } = createLook();

  async function campaign(stopping: AbortSignal): Promise<void> {
    try {
      if (isFit()) await holdSession(stopping);
    } finally {
      noteFirstLook();
    }
  }

  /** As long as one session lasts, but for one term at most. */
  async function holdSession(stopping: AbortSignal): Promise<void> {
    const session = await openSession();
    try {
      while (!stopping.aborted && isFit()) {
        const term = await session.campaign();
        if (term === null) watch.recovered();
        if (term !== null) return await runTerm(session, term, stopping);
        noteFirstLook();
        await pause(LOOK_EVERY_MS, stopping);
      }
    } finally {
      await session.close();
    }
  }

  async function runTerm(session: LeaderSession, term: Term, stopping: AbortSignal): Promise<void> {
    const task = await lead(term);
    // What cannot be shown now is shown with a later beat: the work of the term goes on.
    await session.showLead().catch((error: Error) => noteFailure(watch, error));
    watch.recovered();
    onTerm(term);
    noteFirstLook();
    while (!stopping.aborted && !session.isLost && task.isSound) await pause(LOOK_EVERY_MS, stopping);
    if (stopping.aborted && !session.isLost && task.isSound) {
      await task.drain();
      onTerm(null);
    } else {
      onTerm(null);
      // Closed first: the next term need not wait for what is let go.
      await session.close();
      await task.abandon();
    }
  }

  const onTransientError = (_: string, error: Error): void => noteFailure(watch, error);
  const times = { everyMs: LOOK_EVERY_MS, isDueAtOnce: true };
  const task = startTask({ what: 'leadership', ...times, work: campaign, onTransientError });
  await looked;
  return {
    async stop() {
      await task.stop();
      watch.recovered();
    },
  };
}

function createLook(): { readonly promise: Promise<void>; readonly note: () => void } {
  let note = (): void => undefined;
  const promise = new Promise<void>((resolve) => {
    note = resolve;
  });
  return { promise, note };
}

/** A term that cannot begin, whatever the reason: the lock is left to another instance, and this one stands again. */
function noteFailure(watch: Watch, error: Error): void {
  watch.failed({ error, isBug: !watch.isOperational(error), isFinal: false, retryInMs: LOOK_EVERY_MS });
}
