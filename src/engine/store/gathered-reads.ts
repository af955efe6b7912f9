/**
 * Combines concurrent reads of single keys. A statement reads up to `KEYS_MAX` keys: those of a tick, or those that
 * were requested while the previous statement ran. So a burst of requests uses one connection.
 */

import { LRUCache } from 'lru-cache';

const KEYS_MAX = 256;

/** `read` returns a map without the missing keys. It is never called again before the previous call has settled. */
export function gatherReads<T>(
  read: (keys: readonly string[]) => Promise<ReadonlyMap<string, T>>,
): (key: string) => Promise<T | null> {
  let next: { readonly keys: Set<string>; readonly found: Promise<ReadonlyMap<string, T>> } | null = null;
  let last: Promise<unknown> = Promise.resolve();

  function begin() {
    const keys = new Set<string>();
    const found = last.then(() => {
      if (next?.keys === keys) next = null;
      return read([...keys]);
    });
    last = found.catch(() => undefined);
    return { keys, found };
  }

  return async (key) => {
    if (next === null || next.keys.size === KEYS_MAX) next = begin();
    next.keys.add(key);
    return (await next.found).get(key) ?? null;
  };
}

/** Maximum age of a cached value. A change whose announcement was lost has an effect within this time. */
export const STALENESS_MAX_MS = 5_000;
const REMEMBERED_MAX = 10_000;

/** Like `gatherReads`, with a cache. Create one per process. `nowMs` is any monotonic clock. */
export function rememberReads<T>(
  read: (keys: readonly string[]) => Promise<ReadonlyMap<string, T>>,
  nowMs: () => number = () => performance.now(),
) {
  const remembered = new LRUCache<string, { readonly found: T; readonly atMs: number }>({ max: REMEMBERED_MAX });
  const find = gatherReads(read);
  let forgotten = 0;
  const ask = async (key: string, requestedAtMs: number): Promise<T | null> => {
    const before = forgotten;
    const found = await find(key);
    if (found === null) remembered.delete(key);
    // If the cache was dropped during the read, the value may be outdated.
    else if (forgotten === before) remembered.set(key, { found, atMs: requestedAtMs });
    return found;
  };
  return {
    /** Returns the cached value, or a promise of the value; null for a missing key, which is not cached. */
    read(key: string): T | null | Promise<T | null> {
      const requestedAtMs = nowMs();
      const known = remembered.get(key);
      return known !== undefined && requestedAtMs - known.atMs < STALENESS_MAX_MS
        ? known.found
        : ask(key, requestedAtMs);
    },
    forget() {
      forgotten += 1;
      remembered.clear();
    },
  };
}
