/**
 * Keeps the points of interest in memory in step with their table, which importers and operators replace source by
 * source. A new set is built beside the current one, so a query sees the old or the new whole.
 */

import { startTask, type Task } from '../actor/task.ts';
import type { PointsOfInterest } from '../matching/points/poi-index.ts';
import type { Database } from '../store/database.ts';
import { pointsRevision, readPoints } from '../store/points-of-interest.ts';

const POLL_MS = 2_000;

/** Resolves when the points known now are loaded. */
export async function keepPoints(
  database: Database,
  index: PointsOfInterest,
  onTrouble: (what: string, error: Error) => void,
): Promise<Task> {
  let loaded: string | null = null;
  async function refresh(): Promise<void> {
    if ((await pointsRevision(database)) === loaded) return;
    const { revision, points } = await readPoints(database);
    await index.replace(points);
    loaded = revision;
  }
  await refresh();
  return startTask({ what: 'points of interest', everyMs: POLL_MS, work: refresh, onTrouble });
}
