/** A kd-tree (kdbush) of the coordinates of points of interest. */

import { isMainThread } from 'node:worker_threads';
import { around } from 'geokdbush';
import KDBush from 'kdbush';
import { yieldToOthers } from '../../actor/waiting.ts';
import { createWorkerThread } from '../../actor/worker-thread.ts';
import { distanceKm } from '../../domain/geo.ts';
import { DISTANCE_MAX_M } from '../../domain/point-distances.ts';

/** Number of points that are processed per tick of the event loop. */
export const STEP_POINTS = 2048;

const CHUNK_LOG2 = 13;

/** A growing list of coordinates in chunks. Copying a single array when it grows would block the event loop. */
export class Coordinates {
  readonly #chunks: Float64Array[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(lat: number, lon: number): void {
    const at = this.#length++ & ((1 << CHUNK_LOG2) - 1);
    if (at === 0) this.#chunks.push(new Float64Array(2 << CHUNK_LOG2));
    const chunk = this.#chunks.at(-1) as Float64Array;
    chunk[2 * at] = lat;
    chunk[2 * at + 1] = lon;
  }

  /** The coordinates of a point in degrees. */
  at(number: number): readonly [lat: number, lon: number] {
    const chunk = this.#chunks[number >> CHUNK_LOG2] as Float64Array;
    const at = number & ((1 << CHUNK_LOG2) - 1);
    return [chunk[2 * at] as number, chunk[2 * at + 1] as number];
  }
}

/** Up to this many points are sorted in this thread. That takes 3 ms at most, less than starting another thread. */
const SORTED_HERE_MAX = 2_000;
const SORTING = { entry: new URL('./sort-thread', import.meta.url), heapMaxMb: 64 };

export async function sortedTree(coordinates: Coordinates): Promise<KDBush> {
  const tree = new KDBush(coordinates.length, NODE_POINTS, Float64Array, SharedArrayBuffer);
  for (let number = 0; number < coordinates.length; number++) {
    const [lat, lon] = coordinates.at(number);
    tree.add(lon, lat);
    if (number % STEP_POINTS === 0) await yieldToOthers();
  }
  // A worker thread sorts them itself: only the main thread serves sockets.
  return coordinates.length <= SORTED_HERE_MAX || !isMainThread ? tree.finish() : sortedInThread(tree);
}

const NODE_POINTS = 64;

/** The thread shares the memory of the tree. */
async function sortedInThread(tree: KDBush): Promise<KDBush> {
  const thread = createWorkerThread({ ...SORTING, settings: null, onLost: () => undefined });
  try {
    await thread.ask(tree.data);
  } finally {
    await thread.stop();
  }
  return KDBush.from(tree.data);
}

/** Longer than `DISTANCE_MAX_M`, because the tree rounds distances. */
const REACH_KM = (DISTANCE_MAX_M / 1_000) * 1.001;

/** The position in the tree of the nearest point, and its distance in whole metres; null if none is within 50 km. */
export function nearestPosition(tree: KDBush, lat: number, lon: number, isFit?: (position: number) => boolean) {
  const [position] = around(tree, lon, lat, 1, REACH_KM, isFit);
  if (position === undefined) return null;
  const km = distanceKm(lat, lon, tree.coords[2 * position + 1] as number, tree.coords[2 * position] as number);
  const distanceM = Math.round(km * 1_000);
  return distanceM > DISTANCE_MAX_M ? null : { position, distanceM };
}
