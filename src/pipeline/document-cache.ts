/**
 * Property documents by their snapshot. One change goes to many searches, and all its deliveries are sent within
 * seconds, so PostgreSQL is asked for each document about once and not once per delivery.
 */

import { LRUCache } from 'lru-cache';
import type { Uuid } from '../domain/ids.ts';
import type { Database } from '../store/database.ts';
import { readDocuments } from '../store/snapshots.ts';

const CACHED_CHARACTERS_MAX = 16 * 1_024 * 1_024;

export type ReadDocuments = (ids: readonly Uuid[]) => Promise<ReadonlyMap<Uuid, string>>;

export function createDocumentCache(database: Database): ReadDocuments {
  const cache = new LRUCache<Uuid, string>({
    maxSize: CACHED_CHARACTERS_MAX,
    sizeCalculation: (text) => text.length + 1,
  });
  return async (ids) => {
    const documents = new Map<Uuid, string>();
    const missing = new Set<Uuid>();
    for (const id of ids) {
      const document = cache.get(id);
      if (document === undefined) missing.add(id);
      else documents.set(id, document);
    }
    if (missing.size === 0) return documents;
    for (const { id, document } of await readDocuments(database, [...missing])) {
      cache.set(id, document);
      documents.set(id, document);
    }
    return documents;
  };
}
