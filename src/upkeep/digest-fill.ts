/**
 * Works off the digests that are missing (store/digest-fill.ts), on the instance that takes adverts in. After each batch
 * it rests four times as long as the batch took, as retention does; when none is missing it looks every few seconds.
 */

import { setTimeout as pause } from 'node:timers/promises';
import type { ResolvePlace } from '../domain/city.ts';
import type { Database } from '../store/database.ts';
import { fillDigests, isFillEnded } from '../store/digest-fill.ts';

export interface DigestFill {
  /** Finishes the batch it is at. */
  stop(): Promise<void>;
}

export interface DigestFillDependencies {
  readonly database: Database;
  readonly resolvePlace: ResolvePlace;
  /** Told once, when all that was stored has been read. */
  readonly onFilled: (properties: number) => void;
  readonly onTrouble: (what: string, error: Error) => void;
}

const REST_FACTOR = 4;
const IDLE_MS = 5_000;

export function startDigestFill(dependencies: DigestFillDependencies): DigestFill {
  const { database, resolvePlace, onFilled, onTrouble } = dependencies;
  const stopping = new AbortController();
  let isFilling: boolean | null = null;
  let total = 0;
  const fill = async (): Promise<number> => {
    isFilling ??= !(await isFillEnded(database));
    const filled = await fillDigests(database, resolvePlace);
    total += filled;
    if (isFilling && (await isFillEnded(database))) {
      isFilling = false;
      onFilled(total);
    }
    return filled;
  };
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const startedAtMs = performance.now();
      const filled = await fill().catch((error: Error) => {
        onTrouble('digests of properties', error);
        return 0;
      });
      const restMs = filled === 0 ? IDLE_MS : (performance.now() - startedAtMs) * REST_FACTOR;
      await pause(restMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  };
  const running = run();
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
