/**
 * The signals that ask a process to end. `npm start` passes on what the terminal or the service manager has sent to the
 * process as well, so the same wish may arrive twice within a moment; only one that comes later is a second wish.
 */

/** Two signals that are closer are one. */
const ECHO_MS = 1_000;

/** Aborted by the first wish, with the signal's name for a reason. `onImpatience`: told of a second one. */
export function stopSignal(onImpatience: (signal: string) => void): AbortSignal {
  const stopping = new AbortController();
  let askedAt = 0;
  const onSignal = (signal: string): void => {
    if (!stopping.signal.aborted) {
      askedAt = performance.now();
      stopping.abort(signal);
    } else if (performance.now() - askedAt > ECHO_MS) onImpatience(signal);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, onSignal);
  return stopping.signal;
}
