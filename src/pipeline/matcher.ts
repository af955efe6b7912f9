/**
 * Keeps the index in step with the saved searches, and is its only writer. PostgreSQL is polled for what changed since
 * the last look; a search written on this instance, or announced by another, only brings the next look forward.
 */

import { type ActorFailure, ask, type Reply, spawn } from '../actor/actor.ts';
import type { SearchNumber } from '../domain/ids.ts';
import type { PropertyFacts } from '../domain/property-facts.ts';
import { criteriaOf, type SiteCategoryName } from '../domain/search.ts';
import type { MarketMedians } from '../matching/market-medians.ts';
import type { SearchIndex } from '../matching/search-index.ts';
import type { SearchChange, SearchHorizon } from '../store/search-feed.ts';

export interface MatcherDependencies {
  readonly index: SearchIndex;
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
  /** Numbers of the searches that the property satisfies. */
  match(facts: PropertyFacts): readonly SearchNumber[];
  /** Resolves when the index holds every search committed before the call. */
  refresh(): Promise<void>;
  stop(): Promise<void>;
}

/** How late an instance may learn of a search whose announcement was lost. */
const POLL_MS = 1_000;
/** Writers that wait for one look at PostgreSQL together. */
const REFRESHES_MAX = 10_000;
const REFRESH_TIMEOUT_MS = 30_000;

/** Resolves when every search is loaded. */
export async function startMatcher(dependencies: MatcherDependencies): Promise<Matcher> {
  const { index, medians } = dependencies;
  let horizon: SearchHorizon | null = null;

  async function catchUp(): Promise<void> {
    const siteCategoryName = await dependencies.readSiteCategoryNames();
    horizon = await dependencies.changedSince(horizon, (change) => apply(change, siteCategoryName));
  }

  function apply({ number, members }: SearchChange, siteCategoryName: SiteCategoryName): void {
    try {
      if (members === null) index.delete(number);
      else index.upsert(number, criteriaOf(members, siteCategoryName));
    } catch (error) {
      index.delete(number);
      dependencies.onUnreadableSearch(number, error as Error);
    }
  }

  const actor = spawn<Reply<void>>({
    name: 'matcher',
    mailboxMax: REFRESHES_MAX,
    batchMax: REFRESHES_MAX,
    supervision: 'retry',
    onFailure: dependencies.onFailure,
    async receive(waiting) {
      await catchUp();
      for (const { resolve } of waiting) resolve();
    },
  });
  const refresh = (): Promise<void> => ask(actor, (reply: Reply<void>) => reply, REFRESH_TIMEOUT_MS);

  await catchUp();
  const timer = setInterval(() => {
    if (actor.depth === 0) void actor.tell({ resolve: () => undefined, reject: () => undefined });
  }, POLL_MS);

  return {
    medians,
    match: (facts) => index.match(facts),
    refresh,
    stop() {
      clearInterval(timer);
      return actor.drain();
    },
  };
}
