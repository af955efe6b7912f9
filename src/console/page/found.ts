/**
 * What the chosen search finds now, notified or not: read page by page when it is chosen, and again while it is shown.
 * The newest thousand: further ones are for who orders or filters the list by the interface.
 */

import type { Collection, FoundDocument } from './documents.ts';
import { filters } from './filters.ts';
import { pause } from './now.ts';
import { type Observable, observable } from './observable.ts';
import { type Pin, pinOf } from './pins.ts';
import { Refusal, type Rest } from './rest.ts';

export interface FoundList {
  readonly search: string;
  /** Newest first. */
  readonly pins: readonly Pin[];
  readonly total: number;
  /** Of the properties that changed last alone. */
  readonly isEstimated: boolean;
  readonly isReading: boolean;
}

interface FoundPage extends Collection<FoundDocument> {
  readonly estimated: boolean;
}

const PER_PAGE = 100;
const PAGES_MAX = 10;
const AGAIN_MS = 60_000;

/**
 * Null while no search is chosen. `persevere` asks until it is answered; it resolves with null when nobody waits for the
 * answer any more.
 */
export function createFoundList(
  rest: Rest,
  signal: AbortSignal,
  persevere: <Done>(signal: AbortSignal, work: () => Promise<Done>) => Promise<Done | null>,
): Observable<FoundList | null> {
  const list = observable<FoundList | null>(null);
  let showing = new AbortController();

  async function readAll(search: string, until: AbortSignal): Promise<void> {
    const byProperty = new Map<string, Pin>();
    for (let page = 1; page <= PAGES_MAX; page++) {
      const query = { page, itemsPerPage: PER_PAGE };
      const read = await persevere(until, () => rest.read<FoundPage>(`${search}/properties`, query, until));
      if (read === null) return;
      const { 'hydra:member': members, 'hydra:totalItems': total, estimated } = read;
      for (const document of members) byProperty.set(document['@id'], pinOfFound(search, document));
      const isLast = members.length < PER_PAGE || page === PAGES_MAX;
      const before = list.get();
      // Read again, the list stays whole until its successor is.
      if (isLast || before === null || before.isReading) {
        list.set({ search, pins: [...byProperty.values()], total, isEstimated: estimated, isReading: !isLast });
      }
      if (isLast) return;
    }
  }

  async function readOn(search: string, until: AbortSignal): Promise<void> {
    while (!until.aborted) {
      try {
        await readAll(search, until);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        // The search is gone.
        const before = list.get();
        if (before?.search === search) list.set({ ...before, isReading: false });
        return;
      }
      await pause(AGAIN_MS, until);
    }
  }

  const show = (): void => {
    const { search } = filters.get();
    if ((list.get()?.search ?? null) === search) return;
    showing.abort();
    showing = new AbortController();
    list.set(search === null ? null : { search, pins: [], total: 0, isEstimated: false, isReading: true });
    if (search !== null) void readOn(search, AbortSignal.any([signal, showing.signal]));
  };
  show();
  signal.addEventListener('abort', filters.subscribe(show));
  return list;
}

function pinOfFound(search: string, document: FoundDocument): Pin {
  const { '@id': property, match, satisfiedSince: createdAt, updatedAt } = document;
  const identity = { '@id': match ?? property, property, search };
  return pinOf({ ...identity, createdAt, updatedAt: updatedAt ?? createdAt, propertyDocument: document });
}
