/** Which properties map and list show, in which order, and which of them lie where the map was clicked. */

import { type Dot, kindOf, type PinKind } from './map/pin-painter.ts';
import type { AreaShape } from './map/search-areas.ts';
import { observable } from './observable.ts';
import type { Pin } from './pins.ts';

export const RESULT_ORDERS = ['newest', 'price', 'pricePerMeter', 'surface'] as const;
export type ResultOrder = (typeof RESULT_ORDERS)[number];

export interface Filters {
  /** IRI; null: all searches. */
  readonly search: string | null;
  readonly hidden: ReadonlySet<PinKind>;
  readonly order: ResultOrder;
  /** Of one search the service looks for it in title and description; of all it is looked for in title and place. */
  readonly text: string;
}

export const filters = observable<Filters>({ search: null, hidden: new Set(), order: 'newest', text: '' });

const DAY_MS = 86_400_000;

/** Of what was notified. */
export function filtered(pins: readonly Pin[], chosen: Filters, days: number | null): readonly Pin[] {
  const since = days === null ? 0 : Date.now() - days * DAY_MS;
  const words = folded(chosen.text).split(/\s+/);
  const hasWords = ({ title, cityName }: Pick<Pin, 'title' | 'cityName'>): boolean => {
    const text = folded(`${title ?? ''} ${cityName ?? ''}`);
    return words.every((word) => text.includes(word));
  };
  return shownKinds(pins, chosen).filter((pin) => pin.createdAtMs >= since && (chosen.text === '' || hasWords(pin)));
}

export function shownKinds(pins: readonly Pin[], { hidden }: Filters): readonly Pin[] {
  return pins.filter((pin) => !hidden.has(kindOf(pin)));
}

/** Without case, accents and what nobody sees. */
export function folded(text: string): string {
  return text
    .normalize('NFD')
    .replaceAll(/[\p{M}\p{Default_Ignorable_Code_Point}]/gu, '')
    .toLowerCase();
}

/** Of the search that is being written: the places that were chosen, and what it would find; null: none is written. */
export interface Sketch {
  readonly shapes: readonly AreaShape[];
  readonly dots: readonly Dot[];
}

export const sketch = observable<Sketch | null>(null);

/** Properties at the place of the map that was clicked, where there are several; null: none was. */
export const nearby = observable<readonly Pin[] | null>(null);
