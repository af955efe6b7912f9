/**
 * Shows the progress of long work: the current step, the amount done, the speed and the remaining time. Writes to
 * standard error, because scripts read standard output. A terminal shows a bar. Other outputs get a line every few
 * seconds, so that short work prints nothing.
 */

import { startTask } from '../engine/actor/task.ts';
import { printable } from './terminal.ts';

export type Progress = ReturnType<typeof startProgress>;

export interface ProgressState {
  readonly doing: string;
  /** Number of units done so far, in all parts; null if nothing is counted. */
  readonly count: number | null;
  /** The share of the current part that is done, 0 to 1; null if unknown. */
  readonly share: number | null;
}

export interface Screen {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

export interface Ticker {
  nowMs(): number;
  /** Calls `work` at each interval. Returns a function that stops this. */
  every(intervalMs: number, work: () => void): () => void;
}

const REDRAW_MS = 100;
const LINE_MS = 5_000;
const BAR_CELLS = 24;
const WIDTH_DEFAULT = 80;
/** Below this share the estimate would fluctuate, and `0 %` would be useless. */
const SHARE_MIN = 0.01;
/** Remaining times up to this are shown in seconds. For longer times, seconds do not matter to the user. */
const SECONDS_MAX = 120;
const CLEAR = '\r\u001b[K';

const ticker: Ticker = {
  nowMs: () => performance.now(),
  every(intervalMs, work) {
    const task = startTask({ what: 'progress', everyMs: intervalMs, work, keepsProcess: false });
    return () => void task.stop();
  },
};

/** `unit` is the unit of the count, e.g. `messages`. */
export function startProgress(
  doing: string,
  unit = '',
  screen: Screen = process.stderr,
  { nowMs, every }: Ticker = ticker,
) {
  let current: ProgressState = { doing, count: null, share: null };
  let begun = { atMs: nowMs(), count: 0 };
  const show = (): void => {
    const words = describe(current, unit, (nowMs() - begun.atMs) / 1_000, begun.count);
    if (!screen.isTTY) screen.write(`${current.doing}: ${words.join(', ')}\n`);
    else
      screen.write(
        CLEAR + [current.doing, ...barOf(current.share), words.join('  ')].join('  ').slice(0, widthOf(screen)),
      );
  };
  const stop = every(screen.isTTY ? REDRAW_MS : LINE_MS, show);
  return {
    /** If `share` is smaller than before, another part of the work begins, with its own time and speed. */
    update(next: ProgressState) {
      if (next.share !== null && next.share < (current.share ?? 0))
        begun = { atMs: nowMs(), count: current.count ?? 0 };
      current = next;
    },
    /** Prints a separate line. */
    say(line: string) {
      screen.write(`${screen.isTTY ? CLEAR : ''}${printable(line)}\n`);
    },
    /** Must be called when the work ends, even if it fails. */
    end() {
      stop();
      if (screen.isTTY) screen.write(CLEAR);
    },
  };
}

/** One column less than the width, because some terminals wrap a full line. */
function widthOf({ columns = WIDTH_DEFAULT }: Screen): number {
  return columns - 1;
}

function barOf(share: number | null): readonly string[] {
  if (share === null) return [];
  const full = Math.round(Math.min(1, share) * BAR_CELLS);
  return ['█'.repeat(full) + '░'.repeat(BAR_CELLS - full)];
}

function describe(
  { count, share }: ProgressState,
  unit: string,
  seconds: number,
  countBefore: number,
): readonly string[] {
  const perSecond = seconds > 0 ? ((count ?? 0) - countBefore) / seconds : 0;
  return [
    ...(share === null || share < SHARE_MIN ? [] : [`${Math.floor(Math.min(1, share) * 100)} %`]),
    ...(count === null ? [] : [`${grouped(count)} ${unit}`, `${grouped(perSecond)}/s`]),
    share !== null && share >= SHARE_MIN
      ? `${durationText((seconds / share) * (1 - Math.min(1, share)))} left`
      : `for ${durationText(seconds)}`,
  ];
}

function grouped(count: number): string {
  return Math.round(count).toLocaleString('en');
}

export function durationText(seconds: number): string {
  const whole = Math.ceil(seconds);
  if (whole < SECONDS_MAX) return `${whole} s`;
  const minutes = Math.ceil(whole / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
