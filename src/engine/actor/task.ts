/**
 * Work that is done again and again: whenever its time has come, and when somebody asks for it. One run at a time; a
 * time that comes during a run is passed over, and who asks during a run gets another one after it, because that run may
 * have looked too early. A run that fails is reported, and the next one comes all the same.
 */

import { Signal } from './waiting.ts';

export interface TaskOptions {
  /** The work in a word or two, for the log. */
  readonly what: string;
  /** Between the beginnings of two runs; infinite for what is done only when asked for. */
  readonly everyMs: number;
  /** True: the first run begins at once, and not one time later. */
  readonly isDueAtOnce?: boolean;
  /**
   * A run. What it resolves with, if anything, is how many milliseconds to rest before the next one, whatever `everyMs`
   * says. `stopping` is aborted when nobody wants the rest of a long run any more.
   */
  readonly work: (stopping: AbortSignal) => Promise<number | void> | number | void;
  /** Absent, a failure is a bug that ends the process, as one in a callback of a timer does. */
  readonly onTransientError?: (what: string, error: Error) => void;
  /** False: a process that has nothing else to do may end. */
  readonly keepsProcess?: boolean;
}

export interface Task {
  /** Asks for a run from now on. */
  ask(): void;
  /** Likewise; resolves when that run has ended, or when there will be none; rejects with what it throws. */
  run(): Promise<void>;
  /** No run begins any more; resolves when the one under way has ended. */
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

  /** Resolves with how long to rest. */
  async function runOnce(): Promise<number> {
    const startedAt = performance.now();
    const askedBefore = asking;
    asking = [];
    let restMs: number | void = undefined;
    try {
      restMs = await work(stopping.signal);
      for (const each of askedBefore) each.ended();
    } catch (error) {
      if (onTransientError === undefined) throw error;
      onTransientError(what, error as Error);
      for (const each of askedBefore) each.failed(error as Error);
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
      // Somebody who asks is enough.
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

/** After a run that took `tookMs`. */
function untilNext(tookMs: number, everyMs: number): number {
  return everyMs > 0 ? everyMs - (tookMs % everyMs) : 0;
}
