/** Documents that were already recorded or read are served from a cache of limited size. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Uuid, uuidOf } from '../src/engine/domain/ids.ts';
import type { Database } from '../src/engine/store/database.ts';
import { createDocumentCache } from '../src/engine/store/document-cache.ts';
import type { Snapshot } from '../src/engine/store/snapshots.ts';
import { valuesOf } from './support/lists.ts';

/** A database with the snapshots `stored`, and the requested ids. */
function storing(stored: readonly Snapshot[]) {
  const asked: string[][] = [];
  const query = ({ values: [ids] }: { readonly values: readonly [string[]] }) => {
    asked.push(ids);
    return Promise.resolve({ rows: stored.filter(({ id }) => ids.includes(id)) });
  };
  return { asked, database: { query } as unknown as Database };
}

const [A, B, GONE] = [idOf('a'), idOf('b'), idOf('z')];

function idOf(letter: string): Uuid {
  return uuidOf(`00000000-0000-7000-8000-0000000000${letter.charCodeAt(0).toString(16)}`);
}

function snapshot(letter: string, length = 10): Snapshot {
  return { id: idOf(letter), document: letter.repeat(length) };
}

test('cached documents are not requested again; missing ones are requested once', async () => {
  const { asked, database } = storing([snapshot('b'), snapshot('c')]);
  const documents = createDocumentCache(database);
  documents.keep([snapshot('a')]);
  const expected = new Map([snapshot('a'), snapshot('b')].map(({ id, document }) => [id, document]));
  assert.deepEqual(await documents.read([A, B, B, GONE]), expected);
  assert.deepEqual(await documents.read([A, B]), expected);
  assert.deepEqual(asked, [[B, GONE]]);
});

test('the oldest documents are evicted when the cache is full, and are requested again', async () => {
  const kept = Array.from({ length: 20 }, (_, position) => snapshot(String.fromCodePoint(97 + position), 1_048_575));
  const { asked, database } = storing(kept);
  const documents = createDocumentCache(database);
  documents.keep(kept);
  const read = await documents.read(kept.map(({ id }) => id));
  assert.deepEqual([...read.keys()].sort(), valuesOf(kept, 'id'));
  assert.deepEqual(asked, [kept.slice(0, 4).map(({ id }) => id)]);
});
