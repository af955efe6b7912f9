/**
 * Finds functions and imports in source text as Biome formats it: a block ends on the first line that closes a brace at
 * the indent its header began at. No parser, so the house rules need no dependency.
 */

const IMPORT =
  /(?:^|\n)(?:import|export)\b[^;'"]*?\bfrom\s*'([^']+)'|(?:^|\n)import\s*'([^']+)'|\bimport\(\s*'([^']+)'/g;

/** What `text` imports or re-exports, statically or not, as written. */
export function importsOf(text: string): readonly string[] {
  return [...text.matchAll(IMPORT)].map((found) => (found[1] ?? found[2] ?? found[3]) as string);
}

export interface FunctionSpan {
  /** Of the header, from 1. */
  readonly line: number;
  readonly length: number;
}

const METHOD = /^\s*(?:(?:static|async|override|get|set) )*(?:#?[\w$]+|\[[\w.]+\])(?:<[^()]*>)?\(/;
const CONTROL = /^\s*(?:if|for|while|switch|catch|return|do|else|await|new|throw|try|super)\b/;

/** Functions, methods and arrows with a body in braces. */
export function functionsOf(lines: readonly string[]): readonly FunctionSpan[] {
  const spans = new Map<number, FunctionSpan>();
  for (const [at, line] of lines.entries()) {
    if (!line.endsWith('{')) continue;
    const start = headerStart(lines, at);
    if (isFunctionHeader(lines[start] as string, line)) {
      spans.set(start, { line: start + 1, length: bodyEnd(lines, start, at) - start + 1 });
    }
  }
  return [...spans.values()];
}

function isFunctionHeader(first: string, last: string): boolean {
  if (last.endsWith('=> {') || /\bfunction\b/.test(first)) return true;
  return METHOD.test(first) && !CONTROL.test(first) && /[)>\]\w:] \{$/.test(last);
}

/** A header of several lines ends in one that closes its parentheses at the indent it began at. */
function headerStart(lines: readonly string[], at: number): number {
  if (!/^\s*[)}]/.test(lines[at] as string)) return at;
  const indent = indentOf(lines[at] as string);
  for (let start = at - 1; start >= 0; start--) {
    const line = lines[start] as string;
    if (line.trim() !== '' && indentOf(line) === indent && !/^\s*[)}]/.test(line)) return start;
  }
  return at;
}

function bodyEnd(lines: readonly string[], start: number, at: number): number {
  const indent = indentOf(lines[start] as string);
  for (let end = at + 1; end < lines.length; end++) {
    const line = lines[end] as string;
    // `} {` ends a return type in braces: the body follows.
    if (line.trim() !== '' && indentOf(line) <= indent && /^\s*\}/.test(line) && !/^\s*\}.*\{$/.test(line)) return end;
  }
  return lines.length - 1;
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}
