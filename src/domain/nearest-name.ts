/** The known name that a mistyped one most likely meant, for error messages. */

/** `known` must not be empty. Case is ignored. */
export function nearestName(name: string, known: readonly string[]): string {
  // Far longer than any member: the rest cannot bring it nearer, and the cost is a product of lengths.
  const typed = name.slice(0, 64).toLowerCase();
  const ranked = known.map((candidate) => ({ candidate, distance: editDistance(typed, candidate.toLowerCase()) }));
  ranked.sort((a, b) => a.distance - b.distance);
  return ranked[0]?.candidate ?? '';
}

/** Insertions, deletions and replacements (V. Levenshtein, 1966), one row of the table at a time. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[b.length] as number;
}
