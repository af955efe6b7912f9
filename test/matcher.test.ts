/** How the matcher reads searches: other work runs in between, and it reads them again after a promotion. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextLook } from 'node:timers/promises';
import type { Broker } from '../src/engine/broker/connection.ts';
import { searchNumberOf } from '../src/engine/domain/ids.ts';
import { SEARCH_DEFAULTS } from '../src/engine/domain/search.ts';
import { startMatcher } from '../src/engine/intake/matcher.ts';
import { SearchIndex } from '../src/engine/matching/search-index.ts';
import { warmUp } from '../src/engine/matching/warm-up.ts';
import type { OnSearch, SearchChange } from '../src/engine/store/search-feed.ts';
import { searchAnnouncer } from '../src/roles/api.ts';
import { quietSupervisor } from './support/supervisor.ts';

const SEARCHES = 50;

test('sockets are served during the slow indexing of searches', async (t) => {
  let nowMs = 0;
  t.mock.method(performance, 'now', () => (nowMs += 10));
  const looks: number[] = [];
  let look = 0;
  let isOver = false;
  const watch = (async () => {
    for (; !isOver; look++) await nextLook();
  })();
  const matcher = await startMatcher({
    clock: () => new Date(),
    changedSince: (horizon, onSearch) =>
      horizon === null ? page(onSearch, looks, () => look) : Promise.resolve('2:2:@00000001'),
    readSiteCategoryNames: async () => () => null,
    supervisor: quietSupervisor(),
    onUnreadableSearch: (_, error) => assert.fail(error),
  });
  t.after(() => matcher.stop());
  isOver = true;
  await watch;
  assert.equal(matcher.stats.searches, SEARCHES);
  assert.equal(new Set(looks).size, SEARCHES);
});

test('all searches are read again after a standby was promoted, which may lack changes of the lost primary', async (t) => {
  let horizon = '7:7:@00000001';
  let searches = 2;
  const matcher = await startMatcher({
    clock: () => new Date(),
    async changedSince(since, onSearch) {
      for (let number = 1; since === null && number <= searches; number++) await onSearch(searchOf(number));
      return horizon;
    },
    readSiteCategoryNames: async () => () => null,
    supervisor: quietSupervisor(),
    onUnreadableSearch: (_, error) => assert.fail(error),
  });
  t.after(() => matcher.stop());
  assert.equal(matcher.stats.searches, 2);
  // The standby lacks a search. By the time of the poll, other transactions have used its number.
  searches = 1;
  horizon = '9:9:@00000002';
  await matcher.refresh();
  assert.equal(matcher.stats.searches, 1);
});

test('saving a search succeeds even if the matcher takes too long to read it', async () => {
  const errors: string[] = [];
  const late = new Error('the matcher has not read the searches within 30000 ms');
  const parts = {
    broker: { isConnected: () => false } as Broker,
    onTransientError: (what: string, error: Error) => void errors.push(`${what}: ${error.message}`),
  };
  await searchAnnouncer(parts, { refresh: () => Promise.reject(late) })();
  assert.deepEqual(errors, [`refresh: ${late.message}`]);
});

test('warming up leaves nothing in the index', () => {
  const index = new SearchIndex();
  let searches = 0;
  for (const _ of warmUp(index)) searches = Math.max(searches, index.size);
  assert.ok(searches > 0);
  assert.deepEqual([index.size, index.stats().blocks], [0, 0]);
});

function searchOf(number: number): SearchChange {
  const members = { ...SEARCH_DEFAULTS, title: `search ${number}` };
  return { number: searchNumberOf(number), members, isNotifying: false };
}

/** Passes on rows as `changedSince` does for a page. */
async function page(onSearch: OnSearch, looks: number[], look: () => number): Promise<string> {
  for (let number = 1; number <= SEARCHES; number++) {
    looks.push(look());
    await onSearch(searchOf(number));
  }
  return '1:1:@00000001';
}
