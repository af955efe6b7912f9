/** The known name that a mistyped one most likely meant, for error messages. */

import { distance } from 'fastest-levenshtein';

/** Of the letters of the longer name, those that must change: with more, another thing is meant. */
const CHANGED_SHARE_MAX = 1 / 2;

/** Null when none is near. Case is ignored. */
export function nearestName(name: string, known: readonly string[]): string | null {
  // Far longer than any member: the rest cannot bring it nearer, and the cost is a product of lengths.
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

/** To end a message with; empty when none is near. */
export function nearestHint(name: string, known: readonly string[], prefix = ''): string {
  const nearest = nearestName(name, known);
  return nearest === null ? '' : `; the nearest one is ${prefix}${nearest}`;
}
