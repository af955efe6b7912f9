/**
 * Keeps the points of interest in memory. Importers and operators replace them as a whole. A new set is built while the
 * current set still answers queries, so a query sees either the old set or the new set.
 */

import { startTask, type Task } from '../actor/task.ts';
import type { PointsOfInterest } from '../matching/points/poi-index.ts';
import type { Database } from '../store/database.ts';
import { pointsRevision, readPoints } from '../store/points-of-interest.ts';

/** The longest time until an instance notices an import. */
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
