/**
 * Keeps the points of interest in memory. After an import or a removal of points, builds a new set. Until then the
 * current set answers queries, so a query sees either the old set or the new set.
 */

import { startTask } from '../actor/task.ts';
import { buildPointIndex, NO_POINTS } from '../matching/points/poi-index.ts';
import type { Database } from '../store/database.ts';
import { pointsRevision, readPoints } from '../store/points-of-interest.ts';

/** The longest time until an instance notices an import. */
const POLL_MS = 2_000;

/** Resolves when the points imported earlier are loaded. */
export async function keepPoints(database: Database, onTransientError: (what: string, error: Error) => void) {
  let loaded = '';
  let current = NO_POINTS;
  async function refresh(): Promise<void> {
    if ((await pointsRevision(database)) === loaded) return;
    let revision = '';
    current = await buildPointIndex(async (add) => {
      revision = await readPoints(database, add);
    });
    loaded = revision;
  }
  await refresh();
  const { stop } = startTask({ what: 'points of interest', everyMs: POLL_MS, work: refresh, onTransientError });
  return { current: () => current, stop };
}
