/**
 * Keeps in memory the tables that importers and operators replace as a whole: commune centres, which place the next
 * advert, and points of interest. A new set is built beside the current one, so a query sees either the old or the new
 * one as a whole.
 */

import { startTask, type Task } from '../actor/task.ts';
import type { PointsOfInterest } from '../matching/points/poi-index.ts';
import { type CommuneCentre, coordinatesRevision, readCommuneCoordinates } from '../store/commune-coordinates.ts';
import type { Database } from '../store/database.ts';
import { pointsRevision, readPoints } from '../store/points-of-interest.ts';

type OnTransientError = (what: string, error: Error) => void;

/** How late an instance may learn of an import whose announcement was lost. */
const POLL_MS = 2_000;

/** Resolves when the centres imported earlier are in place. */
export function keepCoordinates(
  database: Database,
  relocate: (centres: ReadonlyMap<string, CommuneCentre>) => void,
  onTransientError: OnTransientError,
): Promise<Task> {
  async function load() {
    const { revision, centres } = await readCommuneCoordinates(database);
    relocate(centres);
    return revision;
  }
  return keep('commune centres', () => coordinatesRevision(database), load, onTransientError);
}

/** Resolves when the points imported earlier are loaded. */
export function keepPoints(
  database: Database,
  index: PointsOfInterest,
  onTransientError: OnTransientError,
): Promise<Task> {
  async function load() {
    let revision = '';
    await index.replace(async (builder) => {
      revision = await readPoints(database, (points) => builder.add(points));
    });
    return revision;
  }
  return keep('points of interest', () => pointsRevision(database), load, onTransientError);
}

/** `load` resolves with the revision that it found; null for a table that was never filled. */
async function keep<Revision>(
  what: string,
  readRevision: () => Promise<Revision | null>,
  load: () => Promise<Revision | null>,
  onTransientError: OnTransientError,
): Promise<Task> {
  let loaded: Revision | null = null;
  async function refresh(): Promise<void> {
    if ((await readRevision()) !== loaded) loaded = await load();
  }
  await refresh();
  return startTask({ what, everyMs: POLL_MS, work: refresh, onTransientError });
}
