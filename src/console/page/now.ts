/** The present, for what counts down. */

import { useEffect, useState } from 'preact/hooks';

const SECOND_MS = 1_000;

/** Milliseconds of the epoch; draws the component again every `everyMs`. */
export function useNow(everyMs = SECOND_MS): number {
  const [nowMs, setNowMs] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return nowMs;
}
