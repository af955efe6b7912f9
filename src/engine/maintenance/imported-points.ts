/**
 * Keeps the points of interest in memory, which importers and operators replace as a whole. A new set is built while
 * the current one still answers, so a query sees either the old set or the new one.
 */

import { startTask, type Task } from '../actor/task.ts';
import type { PointsOfInterest } from '../matching/points/poi-index.ts';
import type { Database } from '../store/database.ts';
import { pointsRevision, readPoints } from '../store/points-of-interest.ts';

/** How late an instance may learn of an import. */
const POLL_MS = 2_000;

/** Resolves when the points imported earlier are loaded. */
export async function keepPoints(
  database: Database,
  index: PointsOfInterest,
  onTransientError: (what: string, error: Error) => void,
): Promise<Task> {
  let loaded = '';
  async function refresh(): Promise<void> {
    if ((await pointsRevision(database)) === loaded) return;
    await index.replace(async (builder) => {
      loaded = await readPoints(database, (points) => builder.add(points));
    });
  }
  await refresh();
  return startTask({ what: 'points of interest', everyMs: POLL_MS, work: refresh, onTransientError });
}
