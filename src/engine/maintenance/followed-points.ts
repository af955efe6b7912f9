/** Keeps a k-d tree for each combination of facility and attributes that searches name (decisions, section 16). */

import { facilityOf, type NearestPoints, NO_COMBINATIONS } from '../domain/point-distances.ts';
import { type CombinationTrees, createTreesBuilder, nearestPointsOf } from '../matching/points/combination-trees.ts';
import type { Database } from '../store/database.ts';
import { pointsRevision, readPoints } from '../store/points-of-interest.ts';

export type FollowedPoints = ReturnType<typeof followPoints>;

/** Creates a cached reader, which all users in a process may share. Without combinations, it reads nothing. */
export function followPoints(database: Database) {
  let loaded: { readonly revision: string; readonly trees: CombinationTrees } = { revision: '', trees: new Map() };
  let current: { readonly trees: CombinationTrees; readonly points: NearestPoints } = {
    trees: new Map(),
    points: NO_COMBINATIONS,
  };
  /** Loads run one after the other, so that two callers do not load the same trees. */
  let last: Promise<unknown> = Promise.resolve();

  async function load(keys: readonly string[]): Promise<NearestPoints> {
    const revision = await pointsRevision(database);
    const known = revision === loaded.revision ? loaded.trees : new Map();
    const missing = keys.filter((key) => !known.has(key));
    if (missing.length > 0) {
      const builder = createTreesBuilder(missing);
      const readRevision = await readPoints(database, builder.add, missing.map(facilityOf));
      const trees = new Map([...(readRevision === revision ? known : []), ...(await builder.finish())]);
      loaded = { revision: readRevision, trees };
      // An import has ended since: the trees that were known are out of date.
      if (keys.some((key) => !trees.has(key))) return load(keys);
    } else {
      loaded = { revision, trees: known };
    }
    const trees = new Map([...loaded.trees].filter(([key]) => keys.includes(key)));
    const isSame = trees.size === current.trees.size && keys.every((key) => trees.get(key) === current.trees.get(key));
    if (!isSame) current = { trees, points: nearestPointsOf(trees) };
    return current.points;
  }

  return {
    /** The last result of `renew`; before the first, no combinations. */
    get current() {
      return current.points;
    },
    /** The stored points of exactly these combinations. Loads the trees that are missing, or all after an import. */
    renew(keys: readonly string[]) {
      if (keys.length === 0) {
        current = { trees: new Map(), points: NO_COMBINATIONS };
        return Promise.resolve(NO_COMBINATIONS);
      }
      const own = last.then(() => load(keys));
      last = own.catch(() => undefined);
      return own;
    },
  };
}
