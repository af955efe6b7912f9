/**
 * Polls until a state is reached. A wait fails only after a very long time, because a delay on a busy machine is
 * not a fault of the service.
 */

import { setTimeout as wait } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';

/** Long enough for messages whose acknowledgement was lost with a server: more than twice the longest `ack_wait`. */
export const GIVE_UP_MS = 240_000;
/** For waits after a disaster, or for thousands of deliveries. */
export const RECOVERY_MAX_MS = 600_000;
const CHECK_EVERY_MS = 50;
const LAST_SEEN_LENGTH_MAX = 2_000;

/**
 * Resolves with the first value of `look` for which `holds` is true. Rejects after `giveUpMs` with the condition and
 * the last value, even if `look` itself does not answer.
 */
export async function until<T>(
  look: () => Promise<T>,
  holds: (value: T) => boolean,
  giveUpMs = GIVE_UP_MS,
): Promise<T> {
  const over = new AbortController();
  const late = wait(giveUpMs, 'late' as const, { signal: over.signal }).catch(() => 'late' as const);
  let last: unknown = 'no answer';
  try {
    for (;;) {
      const seen = await Promise.race([look().then((value) => ({ value })), late]);
      if (seen === 'late') break;
      if (holds(seen.value)) return seen.value;
      last = seen.value;
      if ((await Promise.race([wait(CHECK_EVERY_MS), late])) === 'late') break;
    }
  } finally {
    over.abort();
  }
  throw givenUp(giveUpMs, holds, last);
}

/** Resolves when the value of `look` deeply equals `value`. */
export async function untilIs<T>(look: () => T | Promise<T>, value: T, giveUpMs = GIVE_UP_MS): Promise<void> {
  const holds = (seen: T): boolean => isDeepStrictEqual(seen, value);
  const named = Object.assign(holds, { toString: () => `${look.toString()} to be ${JSON.stringify(value)}` });
  await until(async () => look(), named, giveUpMs);
}

/** `condition`: its source text is shown in the error. */
export function givenUp(afterMs: number, condition: (value: never) => boolean, last: unknown): Error {
  const seen = JSON.stringify(last ?? null).slice(0, LAST_SEEN_LENGTH_MAX);
  return new Error(`given up after ${afterMs} ms waiting for ${condition.toString()}; last seen: ${seen}`);
}
