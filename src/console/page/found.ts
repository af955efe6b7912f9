/**
 * The current results of the chosen search, including those not yet notified, in the chosen order and filtered by the
 * typed words. The first thousand are read at once, and more when the reader scrolls to the end of the list. Unless
 * the list is empty, new results are shown when the reader requests them, so that no row moves under the pointer.
 */

import type { Collection, FoundPropertyDocument } from './documents.ts';
import { type Filters, filters, type ResultOrder } from './filters.ts';
import { pause } from './now.ts';
import { type Observable, observable } from './observable.ts';
import { type Pin, pinOf } from './pins.ts';
import { type Query, Refusal, type Rest, tolerant } from './rest.ts';

export interface FoundList {
  readonly search: string;
  /** The query of the request. */
  readonly query: Query;
  readonly pins: readonly Pin[];
  readonly fresh: readonly Pin[];
  readonly total: number;
  /** True if only the properties that changed last were evaluated. */
  readonly isEstimated: boolean;
  readonly isReading: boolean;
  /** Reads further results. */
  more(): void;
  showFresh(): void;
  /** Shows a mark that was set. */
  putMark(property: string, mark: Pin['mark']): void;
}

interface FoundPage extends Collection<FoundPropertyDocument> {
  readonly estimated: boolean;
}

const PER_PAGE = 100;
const PAGES_AT_ONCE = 10;
const AGAIN_MS = 60_000;

const ORDERS: Readonly<Record<ResultOrder, Query>> = {
  newest: { 'order[updatedAt]': 'desc' },
  price: { 'order[price]': 'asc' },
  pricePerMeter: { 'order[pricePerMeter]': 'asc' },
  surface: { 'order[surface]': 'desc' },
};

/** Null while no search is chosen. `onVisit` gets a search whose results are listed without words or mark. */
export function createFoundList(
  rest: Rest,
  signal: AbortSignal,
  onVisit: (search: string) => Promise<void>,
): Observable<FoundList | null> {
  const list = observable<FoundList | null>(null);
  let showing = new AbortController();
  const show = ({ search, order, text, mark }: Filters): void => {
    const query = { ...ORDERS[order], text, mark };
    const before = list.get();
    const isShown = before?.search === (search ?? undefined) && (search === null || isSame(before?.query, query));
    if (isShown) return;
    showing.abort();
    showing = new AbortController();
    if (search === null) return list.set(null);
    const until = AbortSignal.any([signal, showing.signal]);
    const visit = (): Promise<void> => (text === '' && mark === null ? onVisit(search) : Promise.resolve());
    followSearch({ search, query, list, until, rest, visit, reload: () => reload(filters.get()) });
  };
  const reload = (chosen: Filters): void => {
    list.set(null);
    show(chosen);
  };
  show(filters.get());
  signal.addEventListener(
    'abort',
    filters.subscribe(() => show(filters.get())),
  );
  return list;
}

interface Following {
  readonly search: string;
  readonly query: Query;
  readonly list: Observable<FoundList | null>;
  readonly until: AbortSignal;
  readonly rest: Rest;
  visit(): Promise<void>;
  reload(): void;
}

function followSearch({ search, query, list, until, rest, visit, reload }: Following): void {
  let pages = 0;
  const set = (change: Partial<FoundList>): void => {
    const before = list.get();
    if (before !== null && !until.aborted) list.set({ ...before, ...change });
  };
  const readPage = (requested: Query): Promise<FoundPage | null> =>
    tolerant(until, () =>
      rest.read<FoundPage>(`${search}/properties`, { ...requested, itemsPerPage: PER_PAGE }, until),
    );
  const readOn = async (): Promise<void> => {
    set({ isReading: true });
    for (const last = pages + PAGES_AT_ONCE; pages < last; ) {
      const read = await readPage({ ...query, page: pages + 1 });
      if (read === null) return;
      pages += 1;
      const { 'hydra:member': members, 'hydra:totalItems': total, estimated: isEstimated } = read;
      const isEnd = members.length < PER_PAGE;
      set({ pins: merged(list.get()?.pins ?? [], pinsOf(search, members)), total, isEstimated });
      if (isEnd) break;
    }
    set({ isReading: false });
  };
  const lookAgain = async (): Promise<void> => {
    const { text = null, mark = null } = query;
    const read = await readPage({ ...ORDERS.newest, text, mark });
    const present = list.get();
    if (read === null || present === null) return;
    const newest = new Map(pinsOf(search, read['hydra:member']).map((pin) => [pin.property, pin]));
    const pins = present.pins.map((pin) => newest.get(pin.property) ?? pin);
    for (const { property } of pins) newest.delete(property);
    set({ pins, fresh: [...newest.values()], total: read['hydra:totalItems'] });
    if (pins.length === 0 && newest.size > 0) reload();
  };
  const follow = async (): Promise<void> => {
    await readOn();
    await tolerant(until, visit);
    while (!until.aborted) {
      await pause(AGAIN_MS, until);
      if (!until.aborted) await lookAgain();
    }
  };
  const start = (work: Promise<void>): void =>
    void work.catch((error: unknown) => {
      // The search has been deleted, or the service refuses the filter.
      if (!(error instanceof Refusal)) throw error;
      set({ isReading: false });
    });
  const more = (): void => {
    const { isReading, pins, total } = list.get() ?? { isReading: true, pins: [], total: 0 };
    if (!isReading && pins.length < total) start(readOn());
  };
  const putMark: FoundList['putMark'] = (property, mark) => set(withMark(list.get(), query.mark, { property, mark }));
  list.set({ search, query, ...EMPTY, isReading: true, more, showFresh: reload, putMark });
  start(follow());
}

const EMPTY = { pins: [], fresh: [], total: 0, isEstimated: false };

/** `listed`: the mark of all listed properties; null if the list contains all properties that are not hidden. */
function withMark(
  list: FoundList | null,
  listed: Query[string] | undefined,
  { property, mark }: Pick<Pin, 'property' | 'mark'>,
): Partial<FoundList> {
  const { pins = [], fresh = [], total = 0 } = list ?? {};
  const isListed = listed === null ? mark !== 'hidden' : mark === listed;
  const marked = (pin: Pin): readonly Pin[] => (pin.property !== property ? [pin] : isListed ? [{ ...pin, mark }] : []);
  const left = pins.flatMap(marked);
  return { pins: left, fresh: fresh.flatMap(marked), total: total - pins.length + left.length };
}

function isSame(some: Query | undefined, other: Query): boolean {
  return JSON.stringify(some) === JSON.stringify(other);
}

/** Each property once, at its former position. */
function merged(before: readonly Pin[], added: readonly Pin[]): readonly Pin[] {
  return [...new Map([...before, ...added].map((pin) => [pin.property, pin])).values()];
}

function pinsOf(search: string, documents: readonly FoundPropertyDocument[]): readonly Pin[] {
  return documents.map((document) => {
    const { '@id': property, match, matchedAt, mark, satisfiedSince, updatedAt } = document;
    const createdAt = satisfiedSince ?? updatedAt ?? '';
    const pinned = { '@id': match ?? property, property, search, createdAt, matchedAt, mark };
    return pinOf({ ...pinned, updatedAt: updatedAt ?? createdAt, propertyDocument: document });
  });
}
