/**
 * Keeps the index in step with the saved searches, and is its only writer. PostgreSQL is polled for what changed since
 * the last look; a search written on this instance, or announced by another, only brings the next look forward.
 */

import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { ask, type Reply, spawn } from '../actor/actor.ts';
import type { Supervisor } from '../actor/supervisor.ts';
import type { SearchNumber } from '../domain/ids.ts';
import type { PropertyFacts } from '../domain/property-facts.ts';
import { criteriaOf, type SiteCategoryName } from '../domain/search.ts';
import type { MarketMedians } from '../matching/market-medians.ts';
import type { SearchIndex, SearchIndexStats } from '../matching/search-index.ts';
import { isSetBack, type SearchChange, type SearchHorizon } from '../store/search-feed.ts';

export interface MatcherDependencies {
  /** Makes an empty index: at the start, and for each rebuild. */
  readonly createIndex: () => SearchIndex;
  readonly clock: () => Date;
  readonly medians: MarketMedians;
  readonly changedSince: (
    horizon: SearchHorizon | null,
    onSearch: (change: SearchChange) => void,
  ) => Promise<SearchHorizon>;
  readonly readSiteCategoryNames: () => Promise<SiteCategoryName>;
  readonly supervisor: Supervisor;
  /** A stored search that cannot be read back: a bug or another version's row. It matches nothing until it is fixed. */
  readonly onUnreadableSearch: (number: SearchNumber, error: Error) => void;
}

export interface Matcher {
  readonly medians: MarketMedians;
  readonly stats: SearchIndexStats;
  /** When every search was last read. */
  readonly builtAt: Date;
  has(number: SearchNumber): boolean;
  /** Numbers of the searches that the property satisfies. */
  match(facts: PropertyFacts): readonly SearchNumber[];
  /** Resolves when the index holds every search committed before the call. */
  refresh(): Promise<void>;
  /** Reads every search into a new index while the old one answers; resolves when the new one has taken over. */
  rebuild(): Promise<void>;
  stop(): Promise<void>;
}

/** How late an instance may learn of a search whose announcement was lost. */
const POLL_MS = 1_000;
/** Writers that wait for one look at PostgreSQL together. */
const REFRESHES_MAX = 10_000;
const REFRESH_TIMEOUT_MS = 30_000;
/** A million searches are read in about ten seconds, on a busy machine in a minute. */
const REBUILD_TIMEOUT_MS = 10 * 60_000;

const SLICE_MS = 5;

interface Look extends Reply<void> {
  readonly isRebuild: boolean;
}

/** Resolves when every search is loaded. */
export async function startMatcher(dependencies: MatcherDependencies): Promise<Matcher> {
  const followed = await LiveIndex.build(dependencies);
  const actor = spawn<Look>({
    name: 'matcher',
    mailboxMax: REFRESHES_MAX,
    batchMax: REFRESHES_MAX,
    supervisor: dependencies.supervisor,
    async receive(waiting) {
      if (waiting.some(({ isRebuild }) => isRebuild)) await followed.rebuild();
      else await followed.catchUp();
      for (const { resolve } of waiting) resolve();
    },
  });
  const look = (isRebuild: boolean, timeoutMs: number): Promise<void> =>
    ask(actor, (reply: Reply<void>) => ({ ...reply, isRebuild }), timeoutMs);
  const timer = setInterval(() => {
    if (actor.depth === 0) void actor.tell({ resolve: () => undefined, reject: () => undefined, isRebuild: false });
  }, POLL_MS);
  return {
    medians: dependencies.medians,
    get stats() {
      return followed.index.stats();
    },
    get builtAt() {
      return followed.builtAt;
    },
    has: (number) => followed.index.explain(number, NO_FACTS) !== null,
    match: (facts) => followed.index.match(facts),
    refresh: () => look(false, REFRESH_TIMEOUT_MS),
    rebuild: () => look(true, REBUILD_TIMEOUT_MS),
    stop() {
      clearInterval(timer);
      return actor.drain();
    },
  };
}

/** The index and how far it has followed the saved searches. One call at a time. */
class LiveIndex {
  readonly #dependencies: MatcherDependencies;
  #index: SearchIndex;
  #builtAt: Date;
  #horizon: SearchHorizon | null = null;

  static async build(dependencies: MatcherDependencies): Promise<LiveIndex> {
    const followed = new LiveIndex(dependencies);
    await followed.rebuild();
    return followed;
  }

  private constructor(dependencies: MatcherDependencies) {
    this.#dependencies = dependencies;
    this.#index = dependencies.createIndex();
    this.#builtAt = dependencies.clock();
  }

  get index(): SearchIndex {
    return this.#index;
  }

  get builtAt(): Date {
    return this.#builtAt;
  }

  /** Reads what changed since the last look. */
  async catchUp(): Promise<void> {
    const horizon = await this.#follow(this.#horizon, this.#index);
    if (isSetBack(horizon, this.#horizon)) await this.rebuild();
    else this.#horizon = horizon;
  }

  /** Reads every search into another index, which takes over when it has them all. */
  async rebuild(): Promise<void> {
    const fresh = this.#dependencies.createIndex();
    this.#horizon = await this.#follow(null, fresh);
    await layOut(fresh);
    this.#index = fresh;
    this.#builtAt = this.#dependencies.clock();
  }

  async #follow(horizon: SearchHorizon | null, index: SearchIndex): Promise<SearchHorizon> {
    const siteCategoryName = await this.#dependencies.readSiteCategoryNames();
    return this.#dependencies.changedSince(horizon, (change) => this.#apply(index, change, siteCategoryName));
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

/** Others work in between: the index that is being replaced still answers. */
async function layOut(index: SearchIndex): Promise<void> {
  let sliceEnd = performance.now() + SLICE_MS;
  for (const _ of index.layOut()) {
    if (performance.now() < sliceEnd) continue;
    await yieldToOthers();
    sliceEnd = performance.now() + SLICE_MS;
  }
}

/** A property of which nothing is known: enough to ask whether a search is there. */
const NO_FACTS: PropertyFacts = {
  transactionType: null,
  propertyType: null,
  price: null,
  pricePerMeter: null,
  surface: null,
  landSurface: null,
  room: null,
  bedroom: null,
  furnished: null,
  lat: null,
  lon: null,
  inseeCodes: [],
  departmentCode: null,
  zipcodes: [],
  texts: [],
  adverts: [],
  isPriceCoherent: true,
};
