/**
 * JSON can carry text that PostgreSQL cannot store (U+0000, halves of surrogate pairs) and nesting that recursive
 * code cannot walk. Both are found here, before anything else looks at a body.
 */

import type { Violation } from './problem.ts';

/** Deeper than any accepted form: a GeoJSON MultiPolygon is six levels. */
const DEPTH_MAX = 16;
const UNSTORABLE = /[\0\p{Surrogate}]/u;

/** At most one violation: the first place found. Walks without recursion. */
export function findUnstorable(body: Readonly<Record<string, unknown>>): Violation[] {
  const pending: { readonly value: unknown; readonly member: string; readonly depth: number }[] = [];
  const push = (container: object, depth: number, member: string | null): void => {
    for (const [key, value] of Object.entries(container)) pending.push({ value, member: member ?? key, depth });
  };
  const keys = Object.keys(body).find((key) => UNSTORABLE.test(key));
  if (keys !== undefined) return [unstorable('')];
  push(body, 1, null);
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { value, member, depth } = next;
    if (typeof value === 'string' && UNSTORABLE.test(value)) return [unstorable(member)];
    if (typeof value !== 'object' || value === null) continue;
    if (depth >= DEPTH_MAX) return [{ propertyPath: member, message: 'is nested too deeply', code: 'too_deep' }];
    push(value, depth + 1, member);
  }
  return [];
}

function unstorable(propertyPath: string): Violation {
  return { propertyPath, message: 'contains U+0000 or half a surrogate pair', code: 'invalid_text' };
}
