/**
 * Keeps the points of interest in memory in step with their table, which importers and operators replace source by
 * source. A new set is built beside the current one, so a query sees the old or the new whole.
 */

import type { PointsOfInterest } from '../matching/points/poi-index.ts';
import type { Database } from '../store/database.ts';
import { pointsRevision, readPoints } from '../store/points-of-interest.ts';
import { type Follower, type FollowerParts, startFollower } from './follower.ts';

const POLL_MS = 2_000;

/** Resolves when the points known now are loaded. */
export function keepPoints(
  database: Database,
  index: PointsOfInterest,
  onTrouble: FollowerParts['onTrouble'],
): Promise<Follower> {
  let loaded: string | null = null;
  return startFollower({
    what: 'points of interest',
    pollMs: POLL_MS,
    async refresh() {
      if ((await pointsRevision(database)) === loaded) return;
      let revision = '';
      await index.replace(async (builder) => {
        revision = await readPoints(database, (points) => builder.add(points));
      });
      loaded = revision;
    },
    onTrouble,
  });
}
