/**
 * Whether PostgreSQL answers this process. Told apart from a refusal: a link that has gone silent fails nothing, it only
 * never answers, and what waits for it here would wait with it.
 */

import { singleFlight } from '../actor/single-flight.ts';
import { startTask, type Task } from '../actor/task.ts';
import type { Queryable } from '../store/database.ts';

export interface DatabaseLinkOptions {
  readonly database: Queryable;
  /** There has been no answer for `SILENCE_MAX_MS`. */
  readonly onLost: () => void;
  /** There is one again. */
  readonly onBack: () => void;
}

const ASK_EVERY_MS = 1_000;
/** Far below JetStream's `ack_wait`, after which others get what this process has pulled in any case. */
export const SILENCE_MAX_MS = 5_000;

export function watchDatabaseLink({ database, onLost, onBack }: DatabaseLinkOptions): Task {
  let answeredAt = performance.now();
  let isLost = false;

  const ask = singleFlight(async () => {
    try {
      await database.query('select');
      answeredAt = performance.now();
    } catch {
      // It says itself why, to whoever had work for it; here only the time counts.
    }
  });

  function look(): void {
    const isSilent = performance.now() - answeredAt >= SILENCE_MAX_MS;
    if (isSilent && !isLost) onLost();
    if (!isSilent && isLost) onBack();
    isLost = isSilent;
    // Not awaited: that there is no answer is what is looked for.
    void ask();
  }

  return startTask({ what: 'link to PostgreSQL', everyMs: ASK_EVERY_MS, work: look });
}
