/**
 * Waits for what another process does by looking again and again. A wait ends with an error where nothing will ever come:
 * how long a busy machine takes says nothing of the service.
 */

import { setTimeout as wait } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';

/** Long enough for messages whose acknowledgement was lost with a server: JetStream's `ack_wait`, twice. */
export const GIVE_UP_MS = 240_000;
/** For what follows a disaster, or thousands of deliveries. */
export const RECOVERY_MAX_MS = 600_000;
const CHECK_EVERY_MS = 50;
const LAST_SEEN_LENGTH_MAX = 2_000;

/**
 * Resolves with the first value of `look` that `holds`. Rejects after `giveUpMs` with the condition and the last value, also
 * where `look` itself does not answer.
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

/** Until what `look` sees is `value`, to the last member. */
export async function untilIs<T>(look: () => T | Promise<T>, value: T, giveUpMs = GIVE_UP_MS): Promise<void> {
  const holds = (seen: T): boolean => isDeepStrictEqual(seen, value);
  const named = Object.assign(holds, { toString: () => `${look.toString()} to be ${JSON.stringify(value)}` });
  await until(async () => look(), named, giveUpMs);
}

/** `condition`: its source names it. */
export function givenUp(afterMs: number, condition: (value: never) => boolean, last: unknown): Error {
  const seen = JSON.stringify(last ?? null).slice(0, LAST_SEEN_LENGTH_MAX);
  return new Error(`given up after ${afterMs} ms waiting for ${condition.toString()}; last seen: ${seen}`);
}
