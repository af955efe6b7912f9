/**
 * The orderly shutdown of a process. Its roles end first, all at once and each within its own time limit: none waits
 * for another, so a client that occupies the API delays no recording of an attempt. Shared resources are closed
 * afterwards, the last opened first.
 */

import { inTime } from './engine/actor/waiting.ts';
import type { Log } from './log.ts';

export interface Shutdown {
  /** Aborted when the shutdown begins. */
  readonly ending: AbortSignal;
  /** Registers what finishes the work of a role. */
  readonly draining: (name: string, drain: () => Promise<unknown>) => void;
  /** Registers what closes a shared resource. */
  readonly closing: (name: string, close: () => Promise<unknown>) => void;
  /**
   * Ends everything registered. Rejects when something failed, with the first reason and after the rest; or when it
   * takes longer than `timeoutMs`, with the names of what is not done. Further calls share the first one's result.
   */
  run(timeoutMs: number): Promise<void>;
}

interface Part {
  readonly name: string;
  readonly end: () => Promise<unknown>;
}

export function createShutdown(log: Pick<Log, 'debug' | 'error'>): Shutdown {
  const ending = new AbortController();
  const roles: Part[] = [];
  const drained: Promise<void>[] = [];
  const shared: Part[] = [];
  const underWay = new Set<string>();
  let failure: Error | null = null;
  let running: Promise<void> | null = null;

  async function end({ name, end }: Part): Promise<void> {
    const startedAt = performance.now();
    underWay.add(name);
    try {
      await end();
      log.debug({ part: name, durationMs: Math.round(performance.now() - startedAt) }, 'closed');
    } catch (error) {
      log.error({ part: name, err: error }, 'not closed');
      failure ??= error as Error;
    }
    underWay.delete(name);
  }

  async function endAll(): Promise<void> {
    ending.abort();
    drained.push(...roles.splice(0).map(end));
    for (let last = drained.pop(); last !== undefined; last = drained.pop()) await last;
    for (let part = shared.pop(); part !== undefined; part = shared.pop()) await end(part);
    if (failure !== null) throw failure;
  }

  return {
    ending: ending.signal,
    draining(name, drain) {
      // An interrupted start may still have been opening a role.
      if (ending.signal.aborted) drained.push(end({ name, end: drain }));
      else roles.push({ name, end: drain });
    },
    closing: (name, close) => shared.push({ name, end: close }),
    run(timeoutMs) {
      running ??= inTime(
        endAll(),
        timeoutMs,
        () => new Error(`not closed within ${timeoutMs} ms: ${[...underWay].join(', ')}`),
      );
      return running;
    },
  };
}
