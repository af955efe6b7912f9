/**
 * Campaigns for the leadership of intake until this instance stops. The instance waits until the current leader ends,
 * leads for a term, and campaigns again. A term ends when its session ends (store/intake-leader.ts) or its task is
 * unsound. For example, another term has begun or the connection to NATS has broken. Another instance may still reach
 * NATS, and the next term begins with the messages that were lost in transit.
 */

import type { Supervisor, Watch } from '../actor/supervisor.ts';
import { startTask } from '../actor/task.ts';
import { pause } from '../actor/waiting.ts';
import type { LeaderSession, Term } from '../store/intake-leader.ts';

export interface LeadershipDependencies {
  /** Rejects if PostgreSQL cannot be reached. */
  readonly openSession: () => Promise<LeaderSession>;
  /** False while this instance cannot do the work. */
  readonly isFit: () => boolean;
  readonly lead: (term: Term) => Promise<LeaderTask>;
  /** Called with each term of this instance when it begins, and with null when it ends. */
  readonly onTerm: (term: Term | null) => void;
  readonly supervisor: Pick<Supervisor, 'watch'>;
}

/** The work of one term. */
export interface LeaderTask {
  /** False if the work must be given up. */
  readonly isSound: boolean;
  /** Finishes the work in progress. */
  drain(): Promise<void>;
  /** Drops the work in progress. Resolves when none of it runs here any more. */
  abandon(): Promise<void>;
}

const CHECK_EVERY_MS = 500;

/** Resolves after the first attempt to lead, successful or not. */
export async function startLeadership(dependencies: LeadershipDependencies) {
  const { openSession, isFit, lead, onTerm, supervisor } = dependencies;
  const watch = supervisor.watch('leadership');
  const firstCheck = createCompletion();

  async function campaign(stopping: AbortSignal): Promise<void> {
    try {
      if (isFit()) await holdSession(stopping);
    } finally {
      firstCheck.complete();
    }
  }

  /** Uses one session, for at most one term. */
  async function holdSession(stopping: AbortSignal): Promise<void> {
    const session = await openSession();
    try {
      while (!stopping.aborted && isFit()) {
        const term = await session.campaign();
        if (term === null) watch.recovered();
        if (term !== null) return await runTerm(session, term, stopping);
        firstCheck.complete();
        await pause(CHECK_EVERY_MS, stopping);
      }
    } finally {
      await session.close();
    }
  }

  async function runTerm(session: LeaderSession, term: Term, stopping: AbortSignal): Promise<void> {
    const task = await lead(term);
    // A later heartbeat may succeed, so the work of the term continues if this heartbeat fails.
    await session.showLead().catch((error: Error) => reportFailure(watch, error));
    watch.recovered();
    onTerm(term);
    firstCheck.complete();
    while (!stopping.aborted && !session.isLost && task.isSound) await pause(CHECK_EVERY_MS, stopping);
    if (stopping.aborted && !session.isLost && task.isSound) {
      await task.drain();
      onTerm(null);
    } else {
      onTerm(null);
      // Closes the session first, so that the next term does not wait for the dropped work.
      await session.close();
      await task.abandon();
    }
  }

  const onTransientError = (_: string, error: Error): void => reportFailure(watch, error);
  const times = { everyMs: CHECK_EVERY_MS, isDueAtOnce: true };
  const task = startTask({ what: 'leadership', ...times, work: campaign, onTransientError });
  await firstCheck.promise;
  return {
    /** Finishes the work in progress, and lets another instance lead. */
    async stop() {
      await task.stop();
      watch.recovered();
    },
  };
}

function createCompletion(): { readonly promise: Promise<void>; readonly complete: () => void } {
  let complete = (): void => undefined;
  const promise = new Promise<void>((resolve) => {
    complete = resolve;
  });
  return { promise, complete };
}

/** The failure is not final: this instance continues its term, or closes its session and campaigns again. */
function reportFailure(watch: Watch, error: Error): void {
  watch.failed({ error, isBug: !watch.isOperational(error), isFinal: false, retryInMs: CHECK_EVERY_MS });
}
