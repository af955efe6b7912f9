/**
 * A background task runs work periodically and on request, one run at a time. A run that becomes due during another run
 * is skipped. A run that is requested during another run follows it, because the current run may have read its data too
 * early. If the task has `onTransientError`, a failed run is reported and the schedule continues.
 */

import { Signal } from './waiting.ts';

export interface TaskOptions {
  /** Names the task in the log. */
  readonly what: string;
  /** Milliseconds between the starts of two runs; infinite for a task that runs only on request. */
  readonly everyMs: number;
  /** True: the first run starts immediately, not after `everyMs`. */
  readonly isDueAtOnce?: boolean;
  /**
   * Performs one run. May resolve with a pause before the next run in milliseconds, which replaces `everyMs`.
   * `stopping` is aborted if the task is stopped during the run.
   */
  readonly work: (stopping: AbortSignal) => Promise<number | void> | number | void;
  /** If absent, a failure is a bug that ends the process, like an error in a timer's callback. */
  readonly onTransientError?: (what: string, error: Error) => void;
  /** False: the task alone does not keep the process alive. */
  readonly keepsProcess?: boolean;
}

export type Task = ReturnType<typeof startTask>;

interface Asking {
  readonly ended: () => void;
  readonly failed: (error: Error) => void;
}

const UNHEARD: Asking = { ended: () => undefined, failed: () => undefined };

export function startTask(options: TaskOptions) {
  const { what, everyMs, isDueAtOnce = false, work, onTransientError, keepsProcess } = options;
  const stopping = new AbortController();
  const wakeUp = new Signal();
  let asking: Asking[] = [];

  async function runOn(): Promise<void> {
    const { signal } = stopping;
    for (let restMs = isDueAtOnce ? 0 : everyMs; !signal.aborted; ) {
      if (asking.length === 0) await wakeUp.wait(restMs, keepsProcess);
      if (!signal.aborted) restMs = await runOnce();
    }
    for (const { ended: letGo } of asking) letGo();
  }

  /** Resolves with the milliseconds until the next run. */
  async function runOnce(): Promise<number> {
    const startedAt = performance.now();
    const requestedBefore = asking;
    asking = [];
    let restMs: number | void = undefined;
    try {
      restMs = await work(stopping.signal);
      for (const each of requestedBefore) each.ended();
    } catch (error) {
      if (onTransientError === undefined) throw error;
      onTransientError(what, error as Error);
      for (const each of requestedBefore) each.failed(error as Error);
    }
    return restMs ?? untilNext(performance.now() - startedAt, everyMs);
  }

  function ask(one: Asking): void {
    asking.push(one);
    wakeUp.notify();
  }

  const ended = runOn();
  return {
    /** Requests a run. */
    ask() {
      // One pending request is enough.
      if (asking.length === 0) ask(UNHEARD);
    },
    /** Requests a run. Resolves when that run has ended or the task has stopped; rejects with the error of the run. */
    run: (): Promise<void> =>
      stopping.signal.aborted
        ? Promise.resolve()
        : new Promise((resolve, reject) => ask({ ended: resolve, failed: reject })),
    /** Starts no further run; resolves when the current run has ended. */
    stop() {
      stopping.abort();
      wakeUp.notify();
      return ended;
    },
  };
}

function untilNext(tookMs: number, everyMs: number): number {
  return everyMs > 0 ? everyMs - (tookMs % everyMs) : 0;
}
