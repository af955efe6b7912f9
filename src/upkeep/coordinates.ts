/** Keeps the commune centres in memory in step with the last import: the next advert is placed by them. */

import { startTask, type Task } from '../actor/task.ts';
import {
  type CommuneCentre,
  type CoordinatesRevision,
  coordinatesRevision,
  readCommuneCoordinates,
} from '../store/commune-coordinates.ts';
import type { Database } from '../store/database.ts';

/** How late an instance may learn of an import whose announcement was lost. */
const POLL_MS = 2_000;

/** Resolves when the centres imported before are in place. */
export async function keepCoordinates(
  database: Database,
  relocate: (centres: ReadonlyMap<string, CommuneCentre>) => void,
  onTrouble: (what: string, error: Error) => void,
): Promise<Task> {
  let placed: CoordinatesRevision = null;
  async function refresh(): Promise<void> {
    if ((await coordinatesRevision(database)) === placed) return;
    const { revision, centres } = await readCommuneCoordinates(database);
    relocate(centres);
    placed = revision;
  }
  await refresh();
  return startTask({ what: 'commune centres', everyMs: POLL_MS, work: refresh, onTrouble });
}
