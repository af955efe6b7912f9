/**
 * Long work of the daemon, as seen from here: its call answers at the end alone, so what is left is counted meanwhile by
 * the call that would change nothing.
 */

import { pause } from '../../engine/actor/waiting.ts';
import { type Progress, startProgress } from '../progress.ts';
import { InterruptedError, interruptSignal } from '../stop-signal.ts';

/** The daemon counts with an index, yet of millions. */
const COUNT_EVERY_MS = 1_000;

export interface Countdown<T> {
  readonly doing: string;
  readonly unit: string;
  /** How many are left. */
  readonly count: () => Promise<number>;
  readonly work: (stopping: AbortSignal) => Promise<T>;
}

/** Throws `InterruptedError` when Ctrl-C ended it, which says how far it came. */
export async function withCountdown<T>({ doing, unit, count, work }: Countdown<T>): Promise<T> {
  const stopping = interruptSignal();
  const total = await count();
  const ended = new AbortController();
  const progress = startProgress(doing, unit);
  const told = tellUntil(ended.signal, async () => total - (await count()), total, doing, progress);
  try {
    return await work(stopping);
  } catch (error) {
    if (!stopping.aborted) throw error;
    const left = await count();
    throw new InterruptedError(
      stopping,
      `${total - left} ${unit} done, ${left} left; the same command goes on with them`,
    );
  } finally {
    ended.abort();
    await told;
    progress.end();
  }
}

async function tellUntil(
  ended: AbortSignal,
  countDone: () => Promise<number>,
  total: number,
  doing: string,
  progress: Progress,
): Promise<void> {
  try {
    for (let done = 0; !ended.aborted; ) {
      progress.tell({ doing, count: done, share: total === 0 ? null : done / total });
      await pause(COUNT_EVERY_MS, ended);
      if (!ended.aborted) done = Math.max(0, await countDone());
    }
  } catch {
    // Nothing can be counted, which the work itself will tell.
  }
}
