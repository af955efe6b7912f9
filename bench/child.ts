/** Waits for a child process, but not for one that has ended or hangs, because the benchmark would never end. */

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { inTime } from '../src/engine/actor/waiting.ts';

const PATIENCE_MS = 180_000;

/** Resolves with the next message. Rejects if the process ends first, or after three minutes. */
export async function messageOf<T>(child: ChildProcess): Promise<T> {
  const over = new AbortController();
  const ended = once(child, 'exit', { signal: over.signal }).then(([code, signal]) => {
    throw new Error(`${nameOf(child)} ended with ${code ?? signal} instead of an answer`);
  });
  const answered = once(child, 'message', { signal: over.signal }).then(([message]) => message as T);
  try {
    return await inTime(Promise.race([answered, ended]), PATIENCE_MS, () => late(child, 'answered'));
  } finally {
    over.abort();
    await Promise.allSettled([answered, ended]);
  }
}

/** Resolves when the process has ended. Rejects after three minutes. */
export async function endOf(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  await inTime(once(child, 'exit'), PATIENCE_MS, () => late(child, 'ended'));
}

function late(child: ChildProcess, what: string): Error {
  return new Error(`${nameOf(child)} has not ${what} within ${PATIENCE_MS} ms`);
}

const nameOf = (child: ChildProcess): string => child.spawnargs.slice(1).join(' ');
