/**
 * Medians change with each change of a batch, so that the batch's size makes no difference; `undo` reverts all of it.
 */

import { comparablePrice, marketOf, type PricedProperty } from '../domain/price-coherence.ts';
import type { MarketMedians } from '../matching/market-medians.ts';

export interface MarketLedger {
  readonly median: MarketMedians['median'];
  replace(before: PricedProperty | null, after: PricedProperty): void;
  undo(): void;
}

export function openLedger(medians: MarketMedians): MarketLedger {
  const undo: (() => void)[] = [];
  const move = (property: PricedProperty, isKnown: boolean): void => {
    const market = marketOf(property);
    const price = comparablePrice(property);
    if (market === null || price === null) return;
    if (isKnown) {
      medians.add(market, price);
      undo.push(() => void medians.remove(market, price));
    } else if (medians.remove(market, price)) {
      undo.push(() => medians.add(market, price));
    }
  };
  return {
    median: (market) => medians.median(market),
    replace(before, after) {
      if (before !== null) move(before, false);
      move(after, true);
    },
    undo() {
      for (const step of undo.reverse()) step();
    },
  };
}
