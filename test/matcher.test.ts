/** Many searches that are written at once are indexed one after another, and other work runs in between. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextLook } from 'node:timers/promises';
import { searchNumberOf } from '../src/engine/domain/ids.ts';
import { SEARCH_DEFAULTS } from '../src/engine/domain/search.ts';
import { startMatcher } from '../src/engine/intake/matcher.ts';
import { SearchIndex } from '../src/engine/matching/search-index.ts';
import { warmUp } from '../src/engine/matching/warm-up.ts';
import type { OnSearch } from '../src/engine/store/search-feed.ts';
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
      horizon === null ? page(onSearch, looks, () => look) : Promise.resolve('2:2:'),
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

test('warming up leaves nothing in the index', () => {
  const index = new SearchIndex();
  let searches = 0;
  for (const _ of warmUp(index)) searches = Math.max(searches, index.size);
  assert.ok(searches > 0);
  assert.deepEqual([index.size, index.stats().blocks], [0, 0]);
});

/** Passes on rows as `changedSince` does for a page. */
async function page(onSearch: OnSearch, looks: number[], look: () => number): Promise<string> {
  for (let number = 1; number <= SEARCHES; number++) {
    looks.push(look());
    await onSearch({
      number: searchNumberOf(number),
      members: { ...SEARCH_DEFAULTS, title: `search ${number}` },
      isNotifying: false,
    });
  }
  return '1:1:';
}
