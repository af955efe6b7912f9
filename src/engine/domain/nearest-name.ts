/** Finds the known name that a mistyped name most likely means, for error messages. */

import { distance } from 'fastest-levenshtein';

/** A known name is near if less than this share of the longer name's letters differs. */
const CHANGED_SHARE_MAX = 1 / 2;

/** Null if no name is near. Ignores case. */
export function nearestName(name: string, known: readonly string[]): string | null {
  // The name is cut, because the cost is the product of the lengths, and no known name is nearly as long.
  const typed = name.slice(0, 64).toLowerCase();
  let nearest: string | null = null;
  let shareMax = CHANGED_SHARE_MAX;
  for (const candidate of known) {
    const share = distance(typed, candidate.toLowerCase()) / Math.max(typed.length, candidate.length);
    if (share >= shareMax) continue;
    shareMax = share;
    nearest = candidate;
  }
  return nearest;
}

/** A suffix for an error message; empty if no name is near. */
export function nearestHint(name: string, known: readonly string[], prefix = ''): string {
  const nearest = nearestName(name, known);
  return nearest === null ? '' : `; the nearest one is ${prefix}${nearest}`;
}
