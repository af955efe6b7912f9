/**
 * A cache of property documents by snapshot. A change may cause deliveries for many searches, which are sent within
 * seconds. The process that records a change keeps its document in memory. Other processes read the document from
 * PostgreSQL about once, instead of once per delivery.
 */

import { LRUCache } from 'lru-cache';
import type { Uuid } from '../domain/ids.ts';
import type { Database } from './database.ts';
import { readDocuments, type Snapshot } from './snapshots.ts';

const CACHED_BYTES_MAX = 32 * 1_024 * 1_024;

export type DocumentCache = ReturnType<typeof createDocumentCache>;

export function createDocumentCache(database: Database) {
  const cache = new LRUCache<Uuid, string>({
    maxSize: CACHED_BYTES_MAX,
    // A single character such as the euro sign makes a string use two bytes for every character.
    sizeCalculation: (text) => 2 * (text.length + 1),
  });
  const keep = (snapshots: readonly Snapshot[]): void => {
    for (const { id, document } of snapshots) cache.set(id, document);
  };
  return {
    /** Adds snapshots, which must already be committed. */
    keep,
    /** Resolves with the documents of the snapshots `ids`, except those that do not exist. */
    async read(ids: readonly Uuid[]): Promise<ReadonlyMap<Uuid, string>> {
      const documents = new Map<Uuid, string>();
      const missing = new Set<Uuid>();
      for (const id of ids) {
        const document = cache.get(id);
        if (document === undefined) missing.add(id);
        else documents.set(id, document);
      }
      if (missing.size === 0) return documents;
      const found = await readDocuments(database, [...missing]);
      keep(found);
      for (const { id, document } of found) documents.set(id, document);
      return documents;
    },
  };
}
