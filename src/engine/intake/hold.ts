/**
 * While a client is moved between cells, neither cell records messages beyond one position of the stream
 * (store/client-move.ts). Pulled messages wait here for seconds.
 */

import { pause } from '../actor/waiting.ts';
import type { PulledMessage } from '../broker/pull.ts';

/** Messages beyond position `behind` must not be recorded for now. */
export class BarrierError extends Error {
  readonly code = 'HELD';
  readonly behind: number;

  constructor(behind: number) {
    super(`held behind message ${behind}: a client is being moved`);
    this.behind = behind;
  }
}

interface Pulled {
  readonly pulled: Pick<PulledMessage, 'sequence'>;
}

const PAUSE_MS = 200;

/** Records the messages before the barrier, which the move waits for; otherwise retries a moment later. */
export async function recordUpToBarrier<Item extends Pulled, Part extends { readonly deferred: readonly Item[] }>(
  held: BarrierError,
  items: readonly Item[],
  record: (items: readonly Item[]) => Promise<Part | null>,
  onHeld: (held: BarrierError) => void = () => undefined,
): Promise<Part | null> {
  const before = items.filter(({ pulled }) => pulled.sequence <= held.behind);
  if (before.length === 0) {
    onHeld(held);
    await pause(PAUSE_MS);
    return record(items);
  }
  const part = await record(before);
  const beyond = items.filter(({ pulled }) => pulled.sequence > held.behind);
  return part === null ? null : { ...part, deferred: [...part.deferred, ...beyond] };
}
