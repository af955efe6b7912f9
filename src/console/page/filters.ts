/** Which matches map and list show, and which of them lie where the map was clicked. */

import { kindOf, type PinKind } from './map/pin-painter.ts';
import { observable } from './observable.ts';
import type { Pin } from './pins.ts';

export interface Filters {
  /** IRI; null: all searches. */
  readonly search: string | null;
  readonly hidden: ReadonlySet<PinKind>;
}

export const filters = observable<Filters>({ search: null, hidden: new Set() });

const DAY_MS = 86_400_000;

export function filtered(pins: readonly Pin[], { search, hidden }: Filters, days: number | null): readonly Pin[] {
  const since = days === null ? 0 : Date.now() - days * DAY_MS;
  return pins.filter(
    (pin) => (search === null || pin.search === search) && !hidden.has(kindOf(pin)) && pin.createdAtMs >= since,
  );
}

/** Matches at the place of the map that was clicked, where there are several; null: none was. */
export const nearby = observable<readonly Pin[] | null>(null);
