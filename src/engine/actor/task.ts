/**
 * A background task: work that runs periodically and on request, one run at a time. If a run is due during another run,
 * it is skipped. If one is requested during a run, another run follows, because the current run may have read too
 * early. A failed run is reported, and the schedule continues.
 */

import { Signal } from './waiting.ts';

export interface TaskOptions {
  /** The task in a word or two, for the log. */
  readonly what: string;
  /** Milliseconds between the starts of two runs; infinite for a task that runs on request only. */
  readonly everyMs: number;
  /** True: the first run starts at once instead of after `everyMs`. */
  readonly isDueAtOnce?: boolean;
  /**
   * One run. It may resolve with the milliseconds to rest before the next run, in place of `everyMs`. `stopping` is
   * aborted when the task stops during a long run.
   */
  readonly work: (stopping: AbortSignal) => Promise<number | void> | number | void;
  /** When absent, a failure is a bug that ends the process, like an error in a timer's callback. */
  readonly onTransientError?: (what: string, error: Error) => void;
  /** False: the task alone does not keep the process alive. */
  readonly keepsProcess?: boolean;
}

export interface Task {
  /** Requests a run. */
  ask(): void;
  /** Requests a run; resolves when it has ended or the task has stopped; rejects with what it throws. */
  run(): Promise<void>;
  /** Starts no further run; resolves when the current one has ended. */
  stop(): Promise<void>;
}

interface Asking {
  readonly ended: () => void;
  readonly failed: (error: Error) => void;
}

const UNHEARD: Asking = { ended: () => undefined, failed: () => undefined };

export function startTask(options: TaskOptions): Task {
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
    ask() {
      // One pending request is enough.
      if (asking.length === 0) ask(UNHEARD);
    },
    run: () =>
      stopping.signal.aborted
        ? Promise.resolve()
        : new Promise((resolve, reject) => ask({ ended: resolve, failed: reject })),
    stop() {
      stopping.abort();
      wakeUp.notify();
      return ended;
    },
  };
}

/** Milliseconds until the next run, after one that took `tookMs`. */
function untilNext(tookMs: number, everyMs: number): number {
  return everyMs > 0 ? everyMs - (tookMs % everyMs) : 0;
}
