/** The filters and order of the map and the list, the edited search's sketch, and the properties at a clicked point. */

import { folded } from './folded.ts';
import { type Dot, kindOf, PIN_KINDS, type PinKind } from './map/pin-painter.ts';
import type { AreaShape } from './map/search-areas.ts';
import { observable } from './observable.ts';
import type { Pin } from './pins.ts';

export const RESULT_ORDERS = ['newest', 'price', 'pricePerMeter', 'surface'] as const;
export type ResultOrder = (typeof RESULT_ORDERS)[number];

export interface Filters {
  /** IRI; null for all searches. */
  readonly search: string | null;
  readonly kinds: readonly PinKind[];
  readonly order: ResultOrder;
  /**
   * For one search the service looks in title and description; for all searches the page looks in title and city.
   */
  readonly text: string;
  /** For one search: only properties with this mark; null for all that are not hidden. */
  readonly mark: Pin['mark'];
}

export const filters = observable<Filters>({ search: null, kinds: PIN_KINDS, order: 'newest', text: '', mark: null });

const DAY_MS = 86_400_000;

/** The pins of shown kinds that were created in the last `days` and contain every typed word, in their order. */
export function filtered(pins: readonly Pin[], chosen: Filters, days: number | null): readonly Pin[] {
  const since = days === null ? 0 : Date.now() - days * DAY_MS;
  const words = folded(chosen.text).split(/\s+/);
  const hasWords = ({ title, cityName }: Pick<Pin, 'title' | 'cityName'>): boolean => {
    const text = folded(`${title ?? ''} ${cityName ?? ''}`);
    return words.every((word) => text.includes(word));
  };
  return shownKinds(pins, chosen).filter((pin) => pin.createdAtMs >= since && (chosen.text === '' || hasWords(pin)));
}

export function shownKinds(pins: readonly Pin[], { kinds }: Filters): readonly Pin[] {
  return pins.filter((pin) => kinds.includes(kindOf(pin)));
}

/** Places and previewed properties of the edited search; null if none is edited. */
export interface Sketch {
  readonly shapes: readonly AreaShape[];
  readonly dots: readonly Dot[];
}

export const sketch = observable<Sketch | null>(null);

/** The properties at a clicked point of the map, if there are several; otherwise null. */
export const nearby = observable<readonly Pin[] | null>(null);
