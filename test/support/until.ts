/**
 * Waiting for what another process does: looked at again and again. It is given up only where nothing will ever come:
 * how long a busy machine takes says nothing of the service.
 */

import { setTimeout as wait } from 'node:timers/promises';

const GIVE_UP_MS = 600_000;
const CHECK_EVERY_MS = 50;

/** Resolves with the first value of `look` that `holds`; rejects with the last one when it is given up. */
export async function until<T>(
  look: () => Promise<T>,
  holds: (value: T) => boolean,
  giveUpMs = GIVE_UP_MS,
): Promise<T> {
  const deadline = performance.now() + giveUpMs;
  for (;;) {
    const value = await look();
    if (holds(value)) return value;
    if (performance.now() > deadline) throw new Error(`given up waiting; last seen: ${JSON.stringify(value)}`);
    await wait(CHECK_EVERY_MS);
  }
}
