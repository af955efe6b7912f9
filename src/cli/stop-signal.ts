/**
 * The signals that ask a process to end. `npm start` passes on what the terminal or the service manager has sent to the
 * process as well, so the same wish may arrive twice within a moment; only one that comes later is a second wish.
 */

import { constants } from 'node:os';
import { CommandError } from './terminal.ts';

/** Two signals that are closer are one. */
const ECHO_MS = 1_000;

type StopSignal = 'SIGTERM' | 'SIGINT';

/** Aborted by the first wish, with the signal's name for a reason. `onImpatience`: called for a second one. */
export function stopSignal(onImpatience: (signal: StopSignal) => void): AbortSignal {
  const stopping = new AbortController();
  let askedAt = 0;
  const onSignal = (signal: StopSignal): void => {
    if (!stopping.signal.aborted) {
      askedAt = performance.now();
      stopping.abort(signal);
    } else if (performance.now() - askedAt > ECHO_MS) onImpatience(signal);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, onSignal);
  return stopping.signal;
}

/** For work that the first wish breaks off in order; a second one does not wait for that. */
export function interruptSignal(): AbortSignal {
  return stopSignal((signal) => process.exit(exitCodeOf(signal)));
}

/** Work that was broken off, with what became of it. */
export class InterruptedError extends CommandError {
  override readonly exitCode: number;

  constructor({ reason }: AbortSignal, summary: string) {
    super(`interrupted: ${summary}`);
    this.exitCode = exitCodeOf(reason as StopSignal);
  }
}

/** As shells have it (POSIX, Shell Command Language, 2.8.2): 130 after Ctrl-C. */
function exitCodeOf(signal: StopSignal): number {
  return 128 + constants.signals[signal];
}
