/** Finds imports in source text as Biome formats it. It is not a parser, so the house rules need no dependency. */

const IMPORT =
  /(?:^|\n)(?:import|export)\b[^;'"]*?\bfrom\s*'([^']+)'|(?:^|\n)import\s*'([^']+)'|\bimport\(\s*'([^']+)'/g;

/** Modules that `text` imports or re-exports, statically or dynamically, as written. */
export function importsOf(text: string): readonly string[] {
  return [...text.matchAll(IMPORT)].map((found) => (found[1] ?? found[2] ?? found[3]) as string);
}
