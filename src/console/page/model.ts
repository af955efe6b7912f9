/**
 * The page's copy of the service's state: the client's searches, their matches, the results of the chosen search, and
 * the latest notifications. Until the client signs out, polls of the feed add new matches.
 */

import type {
  Collection,
  FeedItem,
  MarkDocument,
  MatchDocument,
  SearchDocument,
  SiteCategoryDocument,
  UserDocument,
} from './documents.ts';
import { createFoundList } from './found.ts';
import { type Connection, followFeed } from './live-feed.ts';
import { type Observable, observable } from './observable.ts';
import { createPinTable, PINS_MAX } from './pins.ts';
import { type Query, Refusal, type Rest, tolerant } from './rest.ts';

export interface SearchTable {
  readonly isLoaded: boolean;
  /** Sorted by title; at most `SEARCHES_MAX`. */
  readonly list: readonly SearchDocument[];
  readonly byIri: ReadonlyMap<string, SearchDocument>;
  readonly total: number;
  /** The time up to which each search had been seen before this page was opened; 0 for never. */
  readonly seenBefore: ReadonlyMap<string, number>;
}

export type Model = ReturnType<typeof openModel>;

const SEARCHES_MAX = 2_000;
const SEARCHES_PER_PAGE = 100;
const MATCHES_PER_PAGE = 100;
/** Matches get their times before they are committed, so some of the last minute may still appear. */
const OVERLAP_MS = 60_000;
const DAY_MS = 86_400_000;
const NO_SEARCHES: SearchTable = { isLoaded: false, list: [], byIri: new Map(), total: 0, seenBefore: new Map() };

export function openModel(rest: Rest) {
  const closing = new AbortController();
  const { signal } = closing;
  const connection = observable<Connection>('connecting');
  const searches = observable<SearchTable>(NO_SEARCHES);
  /** The id of the last notification; null before the first. */
  const latest = observable<string | null>(null);
  /** `publicName`: the client's name in its e-mails; empty until it is known. */
  const names = { siteCategories: observable<readonly SiteCategoryDocument[]>([]), publicName: observable('') };
  const matches = createMatchReader(rest, signal);
  const changes = searchChanges(searches, matches.drop);
  const refreshSearches = oneAtATime(() => tolerant(signal, () => changes.readAll(rest, signal)));
  /** The current results of the chosen search; null if none is chosen. */
  const found = createFoundList(rest, signal, async (search) => {
    changes.putSearch(await visited(rest, search, signal));
  });
  const catchUp = (): Promise<unknown> => Promise.all([refreshSearches(), matches.readNew()]);

  void followFeed({
    rest,
    signal,
    onItems(items) {
      for (const item of items) matches.take(item);
      // A search was created elsewhere after the page was opened.
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
    names.siteCategories.set(await readMembers<SiteCategoryDocument>(rest, '/site_categories', signal));
    names.publicName.set((await readMembers<UserDocument>(rest, '/users', signal))[0]?.publicName ?? '');
  });
  void matches.readBack();
  matches.days.subscribe(() => void matches.readBack());

  return {
    rest,
    connection,
    searches,
    found,
    latest,
    ...names,
    ...matches,
    ...changes,
    /** Reads searches that were created or changed elsewhere; retries until the service answers. */
    refreshSearches: () => void refreshSearches(),
    /** Shows a mark that was set. */
    putMark({ search, property, state }: MarkDocument): void {
      if (state === 'hidden') matches.drop(search, property);
      found.get()?.putMark(property, state);
    },
    close: () => closing.abort(),
  };
}

/** Marks the matches of the search as seen, and returns the search. */
async function visited(rest: Rest, search: string, signal: AbortSignal): Promise<SearchDocument> {
  await rest.ask('PUT', `${search}/seen`, { signal });
  return rest.read<SearchDocument>(search, {}, signal);
}

async function readMembers<Member>(rest: Rest, path: string, signal: AbortSignal): Promise<readonly Member[]> {
  return (await rest.read<Collection<Member>>(path, { itemsPerPage: 100 }, signal))['hydra:member'];
}

/** Changes by this page are applied at once. */
function searchChanges(searches: Observable<SearchTable>, dropMatches: (search: string) => void) {
  let count = 0;
  return {
    async readAll(rest: Rest, signal: AbortSignal): Promise<void> {
      const before = count;
      const { list, total } = await readSearches(rest, signal);
      // The state that was read may be older than a change of this page.
      if (count === before) searches.set(tableOf(list, total, searches.get()));
      else await this.readAll(rest, signal);
    },
    /** Stores the answer of a change. */
    putSearch(search: SearchDocument): void {
      count += 1;
      const before = searches.get();
      const { list, total } = before;
      const others = list.filter((one) => one['@id'] !== search['@id']);
      const added = others.length === list.length ? 1 : 0;
      searches.set(tableOf([...others, search].sort(byTitle), total + added, before));
    },
    dropSearch(iri: string): void {
      count += 1;
      const before = searches.get();
      const others = before.list.filter((one) => one['@id'] !== iri);
      dropMatches(iri);
      searches.set(tableOf(others, before.total - 1, before));
    },
  };
}

/** True if the page has read all searches, and does not know this one. */
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

function tableOf(list: readonly SearchDocument[], total: number, before: SearchTable): SearchTable {
  const seen = list.map(({ '@id': iri, seenAt }) => [iri, seenAt === null ? 0 : Date.parse(seenAt)] as const);
  const seenBefore = new Map([...seen, ...before.seenBefore]);
  return { isLoaded: true, list, byIri: new Map(list.map((search) => [search['@id'], search])), total, seenBefore };
}

function byTitle(a: SearchDocument, b: SearchDocument): number {
  return a.title.localeCompare(b.title);
}

/** Sorted by title. */
export async function readSearches(rest: Rest, signal: AbortSignal, filter: Query = {}) {
  const list: SearchDocument[] = [];
  for (let page = 1; ; page++) {
    const query = { ...filter, page, itemsPerPage: SEARCHES_PER_PAGE, 'order[title]': 'asc' };
    const { 'hydra:member': members, 'hydra:totalItems': total } = await rest.read<Collection<SearchDocument>>(
      '/searches',
      query,
      signal,
    );
    list.push(...members);
    if (members.length < SEARCHES_PER_PAGE || list.length >= Math.min(total, SEARCHES_MAX)) return { list, total };
  }
}

async function readIfThere(rest: Rest, iri: string, signal: AbortSignal): Promise<MatchDocument | null> {
  try {
    return await rest.read<MatchDocument>(iri, {}, signal);
  } catch (error) {
    if (error instanceof Refusal && error.status === 404) return null;
    throw error;
  }
}

/** Reads matches, newest first, page by page, until `isEnough`, there are no more, or `PINS_MAX` are read. */
async function readPages(
  rest: Rest,
  after: number | null,
  until: AbortSignal,
  isEnough: (page: readonly MatchDocument[]) => boolean,
): Promise<void> {
  const bound = after === null ? {} : { 'createdAt[after]': new Date(after).toISOString() };
  for (let page = 1; ; page++) {
    const query = { page, itemsPerPage: MATCHES_PER_PAGE, ...bound };
    // Retries single pages, so that a refusal in the middle does not restart the whole reading.
    const read = await tolerant(until, () => rest.read<Collection<MatchDocument>>('/matches', query, until));
    if (read === null) return;
    const { 'hydra:member': members } = read;
    if (isEnough(members) || members.length < MATCHES_PER_PAGE || page * MATCHES_PER_PAGE >= PINS_MAX) return;
  }
}

/** Matches that were notified. */
function createMatchReader(rest: Rest, signal: AbortSignal) {
  const pins = createPinTable();
  /** Counts the changes of `pins`. */
  const pinsVersion = observable(0);
  /** True while older matches are being read. */
  const isReadingMatches = observable(true);
  /** How many days the map goes back; null for no limit. */
  const days = observable<number | null>(7);
  let reading: AbortController | null = null;
  const put = (list: readonly MatchDocument[]): number => {
    const before = pins.size;
    for (const match of list) pins.put(match);
    if (list.length > 0) pinsVersion.set(pinsVersion.get() + 1);
    return pins.size - before;
  };
  return {
    pins,
    pinsVersion,
    isReadingMatches,
    days,
    async readBack(): Promise<void> {
      reading?.abort();
      const mine = new AbortController();
      reading = mine;
      const until = AbortSignal.any([signal, mine.signal]);
      const back = days.get();
      isReadingMatches.set(true);
      const after = back === null ? null : Date.now() - back * DAY_MS;
      await readPages(rest, after, until, (page) => {
        put(page);
        return false;
      });
      if (reading === mine) isReadingMatches.set(false);
    },
    async readNew(): Promise<void> {
      const newest = pins.list()[0]?.createdAtMs;
      const after = newest === undefined ? Date.now() - (days.get() ?? 1) * DAY_MS : newest - OVERLAP_MS;
      await readPages(rest, after, signal, (page) => put(page) === 0);
    },
    /** Reads the matches that are not known yet; a deleted one stays unknown. */
    async readMatches(iris: readonly string[], until: AbortSignal): Promise<void> {
      const unknown = [...new Set(iris)].filter((iri) => pins.get(iri) === null);
      const found = await Promise.all(unknown.map((iri) => readIfThere(rest, iri, until)));
      put(found.filter((match) => match !== null));
    },
    take({ body }: FeedItem): void {
      if (body !== null) put([body.match]);
    },
    drop(search: string, property?: string): void {
      pins.drop(search, property);
      pinsVersion.set(pinsVersion.get() + 1);
    },
  };
}
