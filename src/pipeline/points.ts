/**
 * Keeps the points of interest in memory in step with their table, which importers and operators replace source by
 * source. A new set is built beside the current one, so a query sees the old or the new whole.
 */

import type { PointsOfInterest } from '../matching/poi-index.ts';
import type { Database } from '../store/database.ts';
import { pointsRevision, readPoints } from '../store/points-of-interest.ts';

export interface PointKeeper {
  stop(): Promise<void>;
}

const POLL_MS = 2_000;

/** Resolves when the points known now are loaded. */
export async function keepPoints(
  database: Database,
  index: PointsOfInterest,
  onTrouble: (what: string, error: Error) => void,
): Promise<PointKeeper> {
  let loaded: string | null = null;

  async function refresh(): Promise<void> {
    if ((await pointsRevision(database)) === loaded) return;
    const { revision, points } = await readPoints(database);
    await index.replace(points);
    loaded = revision;
  }

  await refresh();
  let running: Promise<void> | null = null;
  const timer = setInterval(() => {
    running ??= refresh()
      .catch((error: Error) => onTrouble('points of interest', error))
      .finally(() => {
        running = null;
      });
  }, POLL_MS);
  return {
    async stop() {
      clearInterval(timer);
      await running;
    },
  };
}
