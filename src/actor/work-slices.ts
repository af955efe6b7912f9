/**
 * Long work in small slices. Whoever has worked for a millisecond lets everything else of the process go first, and
 * those who work like this wait for each other as well: one of them at a time works between two looks at sockets.
 */

import type { Courtesy } from './precedence.ts';
import { yieldToOthers } from './waiting.ts';

export interface WorkSlices {
  /** Milliseconds of work so far. */
  readonly workedMs: number;
  /** Called between small pieces of work: nothing to wait for, or the next slice. */
  take(): Promise<void> | undefined;
}

const SLICE_MS = 1;

let lastInLine: Promise<void> = Promise.resolve();

export interface WorkSlicesOptions {
  /** Milliseconds of a clock that never goes back. */
  readonly nowMs?: () => number;
  /** Whether, between two slices, to wait for what goes first. */
  readonly courtesy?: Courtesy;
}

export function createWorkSlices({ nowMs = () => performance.now(), courtesy }: WorkSlicesOptions = {}): WorkSlices {
  let startMs = nowMs();
  let doneMs = 0;
  return {
    get workedMs() {
      return doneMs + nowMs() - startMs;
    },
    take() {
      const turnMs = nowMs() - startMs;
      if (turnMs < SLICE_MS) return undefined;
      doneMs += turnMs;
      return nextSlice(courtesy).then(() => {
        startMs = nowMs();
      });
    },
  };
}

/** Who steps aside does so before he joins the line: nobody waits behind him. */
async function nextSlice(courtesy: Courtesy | undefined): Promise<void> {
  await courtesy?.stepAside();
  lastInLine = lastInLine.then(yieldToOthers);
  await lastInLine;
}

/** Sorted at once: half a millisecond. */
const RUN = 500;

/** Stable, as `toSorted` is. */
export async function sortedInSlices<T>(
  items: readonly T[],
  compare: (a: T, b: T) => number,
  slices: WorkSlices,
): Promise<readonly T[]> {
  let runs: (readonly T[])[] = [];
  for (let from = 0; from < items.length; from += RUN) {
    runs.push(items.slice(from, from + RUN).sort(compare));
    await slices.take();
  }
  while (runs.length > 1) {
    const merged: (readonly T[])[] = [];
    for (let at = 0; at < runs.length; at += 2) {
      merged.push(await mergedInSlices(runs[at] as readonly T[], runs[at + 1] ?? [], compare, slices));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

async function mergedInSlices<T>(
  first: readonly T[],
  second: readonly T[],
  compare: (a: T, b: T) => number,
  slices: WorkSlices,
): Promise<readonly T[]> {
  const merged: T[] = [];
  for (let i = 0, j = 0; i < first.length || j < second.length; ) {
    const isFirst = j === second.length || (i < first.length && compare(first[i] as T, second[j] as T) <= 0);
    merged.push((isFirst ? first[i++] : second[j++]) as T);
    if (merged.length % RUN === 0) await slices.take();
  }
  return merged;
}
