/**
 * Updates the index when saved searches change, and is the only writer of the index. The matcher polls PostgreSQL for
 * changes since the last poll. A write of this instance, or an announcement, only makes the next poll earlier.
 */

import { nullIfAbandoned, retryUntilAborted, retryUntilDone, type Supervisor } from '../actor/supervisor.ts';
import { startTask } from '../actor/task.ts';
import { inTime, yieldToOthers } from '../actor/waiting.ts';
import type { SearchNumber } from '../domain/ids.ts';
import type { PropertyFacts } from '../domain/property-facts.ts';
import { criteriaOf, type SiteCategoryName } from '../domain/search.ts';
import { NumberBits } from '../matching/number-bits.ts';
import { SearchIndex, type SearchIndexStats } from '../matching/search-index.ts';
import { warmUp } from '../matching/warm-up.ts';
import { isSetBack, type OnSearch, type SearchChange, type SearchHorizon } from '../store/search-feed.ts';

export interface MatcherDependencies {
  readonly clock: () => Date;
  readonly changedSince: (horizon: SearchHorizon | null, onSearch: OnSearch) => Promise<SearchHorizon>;
  readonly readSiteCategoryNames: () => Promise<SiteCategoryName>;
  readonly supervisor: Supervisor;
  /** Called for a search that cannot be read: a bug, or another version's row. It matches nothing until fixed. */
  readonly onUnreadableSearch: (number: SearchNumber, error: Error) => void;
}

export type Matcher = Awaited<ReturnType<typeof startMatcher>>;

/** Only a hint, because searches written since the last poll may differ. */
export interface NotifyingSearches {
  /** The snapshot of the last poll: every search visible in it is taken into account. Null before the first poll. */
  readonly horizon: SearchHorizon | null;
  has(number: SearchNumber): boolean;
}

/** The longest time until an instance notices a search whose announcement was lost. */
const POLL_MS = 1_000;
const REFRESH_TIMEOUT_MS = 30_000;
/** A million searches load in about ten seconds, or in a minute on a busy machine. */
const REBUILD_TIMEOUT_MS = 10 * 60_000;

const SLICE_MS = 2;

/** Resolves when every search is loaded. */
export async function startMatcher(dependencies: MatcherDependencies) {
  const followed = await LiveIndex.build(dependencies);
  // Every failure is retried, because reading again is harmless and ending the process would not help.
  const watch = { ...dependencies.supervisor.watch('matcher'), isOperational: () => true };
  let isRebuildRequested = false;
  const polling = startTask({
    what: 'matcher',
    everyMs: POLL_MS,
    async work(stopping) {
      const isRebuild = isRebuildRequested;
      isRebuildRequested = false;
      const poll = (): Promise<void> => (isRebuild ? followed.rebuild() : followed.catchUp());
      await retryUntilDone(poll, watch, retryUntilAborted(stopping)).catch(nullIfAbandoned);
    },
  });
  const polled = (timeoutMs: number): Promise<void> =>
    inTime(polling.run(), timeoutMs, () => new Error(`the matcher has not read the searches within ${timeoutMs} ms`));
  return {
    get stats(): SearchIndexStats {
      return followed.index.stats();
    },
    /** When all searches were last read into an index. */
    get builtAt() {
      return followed.builtAt;
    },
    has: (number: SearchNumber) => followed.index.has(number),
    /** The numbers of the searches that the property satisfies. */
    match: (facts: PropertyFacts): readonly SearchNumber[] => followed.index.match(facts),
    /** Keys of the combinations of points of interest that searches name. */
    get combinations(): readonly string[] {
      return followed.index.combinations;
    },
    /** The searches with notifications enabled, as of the last poll. */
    notifying: followed as NotifyingSearches,
    /** Resolves when the index contains every search committed before the call; rejects after `REFRESH_TIMEOUT_MS`. */
    refresh: () => polled(REFRESH_TIMEOUT_MS),
    /** Reads all searches into a new index while the old index answers; resolves when the new one is in use. */
    rebuild() {
      isRebuildRequested = true;
      return polled(REBUILD_TIMEOUT_MS);
    },
    stop: polling.stop,
  };
}

/** The index and its position in the changes of saved searches. `catchUp` and `rebuild` must not run concurrently. */
class LiveIndex implements NotifyingSearches {
  readonly #dependencies: MatcherDependencies;
  index = new SearchIndex();
  builtAt: Date;
  horizon: SearchHorizon | null = null;
  #notifying = new NumberBits();

  static async build(dependencies: MatcherDependencies): Promise<LiveIndex> {
    await inSlices(warmUp(new SearchIndex()));
    const followed = new LiveIndex(dependencies);
    await followed.rebuild();
    return followed;
  }

  private constructor(dependencies: MatcherDependencies) {
    this.#dependencies = dependencies;
    this.builtAt = dependencies.clock();
  }

  has(number: SearchNumber): boolean {
    return this.#notifying.has(number);
  }

  async catchUp(): Promise<void> {
    const horizon = await this.#follow(this.horizon, this.index, this.#notifying);
    if (isSetBack(horizon, this.horizon)) await this.rebuild();
    else this.horizon = horizon;
  }

  /** Reads all searches into another index, which replaces the current index when it is complete. */
  async rebuild(): Promise<void> {
    const fresh = new SearchIndex();
    const notifying = new NumberBits();
    const horizon = await this.#follow(null, fresh, notifying);
    this.index = fresh;
    this.#notifying = notifying;
    this.horizon = horizon;
    this.builtAt = this.#dependencies.clock();
  }

  async #follow(horizon: SearchHorizon | null, index: SearchIndex, notifying: NumberBits): Promise<SearchHorizon> {
    let siteCategoryName: SiteCategoryName | null = null;
    const slices = createSlices();
    const apply = (change: SearchChange, nameOf: SiteCategoryName): Promise<void> | undefined => {
      siteCategoryName = nameOf;
      notifying.set(change.number, change.isNotifying);
      this.#apply(index, change, nameOf);
      return slices.yieldIfDue();
    };
    // Names are read only when needed, because most polls find nothing.
    return this.#dependencies.changedSince(horizon, (change) =>
      siteCategoryName === null
        ? this.#dependencies.readSiteCategoryNames().then((nameOf) => apply(change, nameOf))
        : apply(change, siteCategoryName),
    );
  }

  #apply(index: SearchIndex, { number, members }: SearchChange, siteCategoryName: SiteCategoryName): void {
    try {
      if (members === null) index.delete(number);
      else index.upsert(number, criteriaOf(members, siteCategoryName));
    } catch (error) {
      index.delete(number);
      this.#dependencies.onUnreadableSearch(number, error as Error);
    }
  }
}

async function inSlices(steps: Iterable<null>): Promise<void> {
  const slices = createSlices();
  for (const _ of steps) await slices.yieldIfDue();
}

/**
 * Lets other work run between two steps. If `yieldIfDue` returns a promise, the caller must await it. The promise waits
 * only for the event loop, not for a turn among other work, because requests that change a search wait for the index.
 */
function createSlices(): { yieldIfDue(): Promise<void> | undefined } {
  let endMs = performance.now() + SLICE_MS;
  return {
    yieldIfDue() {
      if (performance.now() < endMs) return undefined;
      return yieldToOthers().then(() => {
        endMs = performance.now() + SLICE_MS;
      });
    },
  };
}
