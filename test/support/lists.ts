/** Helpers for assertions on lists. */

import assert from 'node:assert/strict';

/** Asserts that the list is empty, and shows its items otherwise. */
export function assertNone(found: readonly unknown[], message?: string): void {
  assert.deepEqual(found, [], message);
}

/** The member `name` of each item. */
export function valuesOf<K extends string, V>(items: readonly Readonly<Record<K, V>>[], name: K): readonly V[] {
  return items.map((item) => item[name]);
}

/** The members `names` of each item, in that order. */
export function tuplesOf<K extends string, V>(
  items: readonly Readonly<Record<K, V>>[],
  ...names: readonly K[]
): readonly V[][] {
  return items.map((item) => names.map((name) => item[name]));
}
