/**
 * Works off the digests that are missing (store/digest-fill.ts), on the instance that takes adverts in. After each batch
 * it rests four times as long as the batch took, as retention does; when none is missing it looks every few seconds.
 */

import { startTask, type Task } from '../actor/task.ts';
import type { ResolvePlace } from '../domain/city.ts';
import type { Database } from '../store/database.ts';
import { fillDigests, isFillEnded } from '../store/digest-fill.ts';

export interface DigestFillDependencies {
  readonly database: Database;
  readonly resolvePlace: ResolvePlace;
  /** Told once, when all that was stored has been read. */
  readonly onFilled: (properties: number) => void;
  readonly onTrouble: (what: string, error: Error) => void;
}

const REST_FACTOR = 4;
const IDLE_MS = 5_000;

/** Stopped, it finishes the batch that it is at. */
export function startDigestFill(dependencies: DigestFillDependencies): Task {
  const { database, resolvePlace, onFilled, onTrouble } = dependencies;
  let isFilling: boolean | null = null;
  let total = 0;
  async function fill(): Promise<number | void> {
    const startedAtMs = performance.now();
    isFilling ??= !(await isFillEnded(database));
    const filled = await fillDigests(database, resolvePlace);
    total += filled;
    if (isFilling && (await isFillEnded(database))) {
      isFilling = false;
      onFilled(total);
    }
    if (filled > 0) return (performance.now() - startedAtMs) * REST_FACTOR;
  }
  return startTask({ what: 'digests of properties', everyMs: IDLE_MS, isDueAtOnce: true, work: fill, onTrouble });
}
