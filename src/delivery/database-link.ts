/**
 * Whether PostgreSQL answers this process. Told apart from a refusal: a link that has gone silent fails nothing, it only
 * never answers, and what waits for it here would wait with it.
 */

import type { Queryable } from '../store/database.ts';

export interface DatabaseLinkOptions {
  readonly database: Queryable;
  /** There has been no answer for `SILENCE_MAX_MS`. */
  readonly onLost: () => void;
  /** There is one again. */
  readonly onBack: () => void;
}

export interface DatabaseLink {
  stop(): void;
}

const ASK_EVERY_MS = 1_000;
/** Far below JetStream's `ack_wait`, after which others get what this process has pulled in any case. */
export const SILENCE_MAX_MS = 5_000;

export function watchDatabaseLink({ database, onLost, onBack }: DatabaseLinkOptions): DatabaseLink {
  let answeredAt = performance.now();
  let isAsking = false;
  let isLost = false;

  async function ask(): Promise<void> {
    isAsking = true;
    try {
      await database.query('select');
      answeredAt = performance.now();
    } catch {
      // It says itself why, to whoever had work for it; here only the time counts.
    } finally {
      isAsking = false;
    }
  }

  function look(): void {
    const isSilent = performance.now() - answeredAt >= SILENCE_MAX_MS;
    if (isSilent && !isLost) onLost();
    if (!isSilent && isLost) onBack();
    isLost = isSilent;
    if (!isAsking) void ask();
  }

  const timer = setInterval(look, ASK_EVERY_MS);
  return { stop: () => clearInterval(timer) };
}
