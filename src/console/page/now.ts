/** The current time for countdowns, and pauses that can be aborted. */

import { useEffect, useState } from 'preact/hooks';

const SECOND_MS = 1_000;

/** Milliseconds since the epoch; renders the component again every `everyMs`. */
export function useNow(everyMs = SECOND_MS): number {
  const [nowMs, setNowMs] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return nowMs;
}

/** Resolves after `ms` milliseconds, or when the signal is aborted. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(end, ms);
    function end(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    }
    if (signal.aborted) end();
    else signal.addEventListener('abort', end);
  });
}
