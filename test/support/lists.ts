/** Lists as assertions look at them. */

import assert from 'node:assert/strict';

/** Shows what is there where nothing may be. */
export function assertNone(found: readonly unknown[], message?: string): void {
  assert.deepEqual(found, [], message);
}

/** What each item has under the name. */
export function valuesOf<K extends string, V>(items: readonly Readonly<Record<K, V>>[], name: K): readonly V[] {
  return items.map((item) => item[name]);
}

/** What each item has under the names, in their order. */
export function tuplesOf<K extends string, V>(
  items: readonly Readonly<Record<K, V>>[],
  ...names: readonly K[]
): readonly V[][] {
  return items.map((item) => names.map((name) => item[name]));
}
