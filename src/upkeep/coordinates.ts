/** Keeps the commune centres in memory in step with the last import: the next advert is placed by them. */

import {
  type CommuneCentre,
  type CoordinatesRevision,
  coordinatesRevision,
  readCommuneCoordinates,
} from '../store/commune-coordinates.ts';
import type { Database } from '../store/database.ts';
import { type Follower, type FollowerParts, startFollower } from './follower.ts';

/** How late an instance may learn of an import whose announcement was lost. */
const POLL_MS = 2_000;

/** Resolves when the centres imported before are in place. */
export function keepCoordinates(
  database: Database,
  relocate: (centres: ReadonlyMap<string, CommuneCentre>) => void,
  onTrouble: FollowerParts['onTrouble'],
): Promise<Follower> {
  let placed: CoordinatesRevision = null;
  return startFollower({
    what: 'commune centres',
    pollMs: POLL_MS,
    async refresh() {
      if ((await coordinatesRevision(database)) === placed) return;
      const { revision, centres } = await readCommuneCoordinates(database);
      relocate(centres);
      placed = revision;
    },
    onTrouble,
  });
}
