/**
 * The page's state of the service: the client's searches, their matches, the results of the chosen one, and the latest
 * notifications. A poll of the feed keeps it current, from signing in until signing out.
 */

import type { Collection, FeedItem, MatchDocument, SearchDocument, SiteCategory } from './documents.ts';
import { createFoundList, type FoundList } from './found.ts';
import { type Connection, followFeed } from './live-feed.ts';
import { pause } from './now.ts';
import { type Observable, observable } from './observable.ts';
import { createPinTable, PINS_MAX, type PinTable } from './pins.ts';
import { Refusal, type Rest, Unreachable } from './rest.ts';

export interface SearchTable {
  readonly isLoaded: boolean;
  /** By title; at most `SEARCHES_MAX` of them. */
  readonly list: readonly SearchDocument[];
  readonly byIri: ReadonlyMap<string, SearchDocument>;
  readonly total: number;
}

export interface Model {
  readonly rest: Rest;
  readonly connection: Observable<Connection>;
  readonly searches: Observable<SearchTable>;
  readonly pins: PinTable;
  /** Counts the changes of `pins`. */
  readonly pinsVersion: Observable<number>;
  /** Whether older matches are still being read. */
  readonly isReadingMatches: Observable<boolean>;
  /** What the chosen search finds now; null while none is chosen. */
  readonly found: Observable<FoundList | null>;
  /** The id of the last notification; null: none yet. */
  readonly latest: Observable<string | null>;
  readonly siteCategories: Observable<readonly SiteCategory[]>;
  /** Days that the map goes back; null: no limit. */
  readonly days: Observable<number | null>;
  /** Reads searches that were created or changed elsewhere; retries until the service answers. */
  refreshSearches(): void;
  /** Reads searches that are not known yet; a deleted one stays unknown. */
  readMatches(iris: readonly string[], signal: AbortSignal): Promise<void>;
  /** Stores the answer of a change. */
  putSearch(search: SearchDocument): void;
  dropSearch(iri: string): void;
  close(): void;
}

const SEARCHES_MAX = 2_000;
const SEARCHES_PER_PAGE = 100;
const MATCHES_PER_PAGE = 100;
/** Matches are numbered before they are committed: some of the last minute may still appear. */
const OVERLAP_MS = 60_000;
const DAY_MS = 86_400_000;
const NO_SEARCHES: SearchTable = { isLoaded: false, list: [], byIri: new Map(), total: 0 };

export function openModel(rest: Rest): Model {
  const closing = new AbortController();
  const { signal } = closing;
  const connection = observable<Connection>('connecting');
  const searches = observable<SearchTable>(NO_SEARCHES);
  const latest = observable<string | null>(null);
  const siteCategories = observable<readonly SiteCategory[]>([]);
  const matches = createMatchReader(rest, signal);
  const changes = searchChanges(searches, matches.drop);
  const readAll = async (): Promise<void> => {
    const before = changes.count();
    const { list, total } = await readSearches(rest, signal);
    // The read state may be older than a change of this page.
    if (changes.count() === before) searches.set(tableOf(list, total));
    else await readAll();
  };
  const refreshSearches = oneAtATime(() => tolerant(signal, readAll));
  const catchUp = (): Promise<unknown> => Promise.all([refreshSearches(), matches.readNew()]);

  void followFeed({
    rest,
    signal,
    onItems(items) {
      for (const item of items) matches.take(item);
      // A search that was created elsewhere since the page was opened.
      if (items.some(({ search }) => isStrange(search, searches.get()))) void refreshSearches();
      latest.set(items.at(-1)?.id ?? null);
    },
    onConnection(next) {
      const before = connection.get();
      connection.set(next);
      if (before === 'lost' && next === 'live') void catchUp();
    },
  });
  void tolerant(signal, async () => {
    await refreshSearches();
    const categories = await rest.read<Collection<SiteCategory>>('/site_categories', { itemsPerPage: 100 }, signal);
    siteCategories.set(categories['hydra:member']);
  });
  void matches.readBack();
  matches.days.subscribe(() => void matches.readBack());

  return {
    rest,
    connection,
    searches,
    pins: matches.pins,
    pinsVersion: matches.version,
    isReadingMatches: matches.isReading,
    found: createFoundList(rest, signal, tolerant),
    latest,
    siteCategories,
    days: matches.days,
    refreshSearches: () => void refreshSearches(),
    readMatches: matches.readThese,
    putSearch: changes.putSearch,
    dropSearch: changes.dropSearch,
    close: () => closing.abort(),
  };
}

/** Changes of the page itself are known at once. */
function searchChanges(
  searches: Observable<SearchTable>,
  dropMatches: (search: string) => void,
): Pick<Model, 'putSearch' | 'dropSearch'> & { count(): number } {
  let count = 0;
  return {
    count: () => count,
    putSearch(search) {
      count += 1;
      const { list, total } = searches.get();
      const others = list.filter((one) => one['@id'] !== search['@id']);
      const added = others.length === list.length ? 1 : 0;
      searches.set(tableOf([...others, search].sort(byTitle), total + added));
    },
    dropSearch(iri) {
      count += 1;
      const { list, total } = searches.get();
      dropMatches(iri);
      searches.set(
        tableOf(
          list.filter((one) => one['@id'] !== iri),
          total - 1,
        ),
      );
    },
  };
}

/** True: the search is unknown though the page has read all; with more searches than it reads, most are unknown. */
function isStrange(search: string, { byIri, list, total }: SearchTable): boolean {
  return list.length === total && !byIri.has(search);
}

/** Concurrent calls share the run in progress. */
function oneAtATime(work: () => Promise<unknown>): () => Promise<void> {
  let present: Promise<void> | null = null;
  return () => {
    present ??= work().then(() => undefined);
    return present.finally(() => {
      present = null;
    });
  };
}

function tableOf(list: readonly SearchDocument[], total: number): SearchTable {
  return { isLoaded: true, list, byIri: new Map(list.map((search) => [search['@id'], search])), total };
}

function byTitle(a: SearchDocument, b: SearchDocument): number {
  return a.title.localeCompare(b.title);
}

async function readSearches(rest: Rest, signal: AbortSignal) {
  const list: SearchDocument[] = [];
  for (let page = 1; ; page++) {
    const query = { page, itemsPerPage: SEARCHES_PER_PAGE, 'order[title]': 'asc' };
    const { 'hydra:member': members, 'hydra:totalItems': total } = await rest.read<Collection<SearchDocument>>(
      '/searches',
      query,
      signal,
    );
    list.push(...members);
    if (members.length < SEARCHES_PER_PAGE || list.length >= Math.min(total, SEARCHES_MAX)) return { list, total };
  }
}

async function readUnknown(
  rest: Rest,
  pins: PinTable,
  iris: readonly string[],
  signal: AbortSignal,
): Promise<readonly MatchDocument[]> {
  const unknown = [...new Set(iris)].filter((iri) => pins.get(iri) === null);
  const found = await Promise.all(unknown.map((iri) => readIfThere(rest, iri, signal)));
  return found.filter((match) => match !== null);
}

async function readIfThere(rest: Rest, iri: string, signal: AbortSignal): Promise<MatchDocument | null> {
  try {
    return await rest.read<MatchDocument>(iri, {}, signal);
  } catch (error) {
    if (error instanceof Refusal && error.status === 404) return null;
    throw error;
  }
}

/** Matches: what was notified. */
function createMatchReader(rest: Rest, signal: AbortSignal) {
  const pins = createPinTable();
  const version = observable(0);
  const isReading = observable(true);
  const days = observable<number | null>(7);
  let reading: AbortController | null = null;
  const put = (list: readonly MatchDocument[]): number => {
    const before = pins.size;
    for (const match of list) pins.put(match);
    if (list.length > 0) version.set(version.get() + 1);
    return pins.size - before;
  };
  /** Newest first, page by page, until `isEnough` or there are no more. */
  const readPages = async (after: number | null, until: AbortSignal, isEnough: (added: number) => boolean) => {
    const bound = after === null ? {} : { 'createdAt[after]': new Date(after).toISOString() };
    for (let page = 1; ; page++) {
      const query = { page, itemsPerPage: MATCHES_PER_PAGE, ...bound };
      // Page by page: a refusal in the middle does not restart the whole.
      const read = await tolerant(until, () => rest.read<Collection<MatchDocument>>('/matches', query, until));
      if (read === null) return;
      const { 'hydra:member': members } = read;
      const added = put(members);
      if (members.length < MATCHES_PER_PAGE || page * MATCHES_PER_PAGE >= PINS_MAX || isEnough(added)) return;
    }
  };
  return {
    pins,
    version,
    isReading,
    days,
    async readBack(): Promise<void> {
      reading?.abort();
      const mine = new AbortController();
      reading = mine;
      const until = AbortSignal.any([signal, mine.signal]);
      const back = days.get();
      isReading.set(true);
      await readPages(back === null ? null : Date.now() - back * DAY_MS, until, () => false);
      if (reading === mine) isReading.set(false);
    },
    async readNew(): Promise<void> {
      const newest = pins.list()[0]?.createdAtMs;
      const after = newest === undefined ? Date.now() - (days.get() ?? 1) * DAY_MS : newest - OVERLAP_MS;
      await readPages(after, signal, (added) => added === 0);
    },
    async readThese(iris: readonly string[], until: AbortSignal): Promise<void> {
      put(await readUnknown(rest, pins, iris, until));
    },
    take({ body }: FeedItem): void {
      if (body !== null) put([body.match]);
    },
    drop(search: string): void {
      pins.dropSearch(search);
      version.set(version.get() + 1);
    },
  };
}

const AGAIN_MS = 2_000;

/** Retries while the service is unreachable or busy. Resolves with null when the signal is aborted. */
async function tolerant<Done>(signal: AbortSignal, work: () => Promise<Done>): Promise<Done | null> {
  while (!signal.aborted) {
    try {
      return await work();
    } catch (error) {
      if (signal.aborted || (error instanceof Refusal && error.status === 401)) return null;
      const passes =
        error instanceof Unreachable || (error instanceof Refusal && (error.status === 429 || error.status >= 500));
      if (!passes) throw error;
      await pause(AGAIN_MS, signal);
    }
  }
  return null;
}
