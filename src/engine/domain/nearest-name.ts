/** The known name that a mistyped one most likely meant, for error messages. */

import { distance } from 'fastest-levenshtein';

/** `known` must not be empty. Case is ignored. */
export function nearestName(name: string, known: readonly string[]): string {
  // Far longer than any member: the rest cannot bring it nearer, and the cost is a product of lengths.
  const typed = name.slice(0, 64).toLowerCase();
  const ranked = known.map((candidate) => ({ candidate, edits: distance(typed, candidate.toLowerCase()) }));
  ranked.sort((a, b) => a.edits - b.edits);
  return ranked[0]?.candidate ?? '';
}
