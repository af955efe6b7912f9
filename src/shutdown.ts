/**
 * The orderly shutdown of a process. Its roles end first, all at the same time. Therefore a client that keeps the API
 * busy cannot delay the recording of an attempt. Shared resources are closed afterwards, in the reverse order of their
 * opening.
 */

import { inTime } from './engine/actor/waiting.ts';
import type { Log } from './log.ts';

export interface Shutdown {
  /** Aborted when the shutdown begins. */
  readonly ending: AbortSignal;
  /** Registers the function that finishes the work of a role. */
  readonly draining: (name: string, drain: () => Promise<unknown>) => void;
  /** Registers the function that closes a shared resource. */
  readonly closing: (name: string, close: () => Promise<unknown>) => void;
  /**
   * Ends every registered part. Rejects with the first failure after the other parts have ended, or after `timeoutMs`
   * with the names of the unfinished parts. Further calls share the result of the first call.
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
      log.debug({ part: name, durationMs: Math.round(performance.now() - startedAt) }, 'A part was closed.');
    } catch (error) {
      log.error({ part: name, err: error }, 'A part could not be closed.');
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
      // An interrupted start may register a role after the shutdown has begun.
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
