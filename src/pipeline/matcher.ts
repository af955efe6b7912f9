/**
 * Keeps the index in step with the saved searches, and is its only writer. PostgreSQL is polled for what changed since
 * the last look; a search written on this instance, or announced by another, only brings the next look forward.
 */

import { type ActorFailure, ask, type Reply, spawn } from '../actor/actor.ts';
import type { SearchNumber } from '../domain/ids.ts';
import type { PropertyFacts } from '../domain/property-facts.ts';
import { criteriaOf, type SiteCategoryName } from '../domain/search.ts';
import type { MarketMedians } from '../matching/market-medians.ts';
import type { SearchIndex, SearchIndexStats } from '../matching/search-index.ts';
import type { SearchChange, SearchHorizon } from '../store/search-feed.ts';

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
  readonly onFailure: (failure: ActorFailure) => void;
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
/** A million searches are read in about a minute. */
const REBUILD_TIMEOUT_MS = 10 * 60_000;

interface Look extends Reply<void> {
  readonly isRebuild: boolean;
}

/** Resolves when every search is loaded. */
export async function startMatcher(dependencies: MatcherDependencies): Promise<Matcher> {
  const { medians } = dependencies;
  let index = dependencies.createIndex();
  let builtAt = dependencies.clock();
  let horizon: SearchHorizon | null = null;

  async function catchUp(): Promise<void> {
    const siteCategoryName = await dependencies.readSiteCategoryNames();
    horizon = await dependencies.changedSince(horizon, (change) => apply(index, change, siteCategoryName));
  }

  async function buildAnew(): Promise<void> {
    const siteCategoryName = await dependencies.readSiteCategoryNames();
    const fresh = dependencies.createIndex();
    horizon = await dependencies.changedSince(null, (change) => apply(fresh, change, siteCategoryName));
    index = fresh;
    builtAt = dependencies.clock();
  }

  function apply(into: SearchIndex, { number, members }: SearchChange, siteCategoryName: SiteCategoryName): void {
    try {
      if (members === null) into.delete(number);
      else into.upsert(number, criteriaOf(members, siteCategoryName));
    } catch (error) {
      into.delete(number);
      dependencies.onUnreadableSearch(number, error as Error);
    }
  }

  const actor = spawn<Look>({
    name: 'matcher',
    mailboxMax: REFRESHES_MAX,
    batchMax: REFRESHES_MAX,
    supervision: 'retry',
    onFailure: dependencies.onFailure,
    async receive(waiting) {
      if (waiting.some(({ isRebuild }) => isRebuild)) await buildAnew();
      else await catchUp();
      for (const { resolve } of waiting) resolve();
    },
  });
  const look = (isRebuild: boolean, timeoutMs: number): Promise<void> =>
    ask(actor, (reply: Reply<void>) => ({ ...reply, isRebuild }), timeoutMs);

  await buildAnew();
  const timer = setInterval(() => {
    if (actor.depth === 0) void actor.tell({ resolve: () => undefined, reject: () => undefined, isRebuild: false });
  }, POLL_MS);

  return {
    medians,
    get stats() {
      return index.stats();
    },
    get builtAt() {
      return builtAt;
    },
    has: (number) => index.explain(number, NO_FACTS) !== null,
    match: (facts) => index.match(facts),
    refresh: () => look(false, REFRESH_TIMEOUT_MS),
    rebuild: () => look(true, REBUILD_TIMEOUT_MS),
    stop() {
      clearInterval(timer);
      return actor.drain();
    },
  };
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
