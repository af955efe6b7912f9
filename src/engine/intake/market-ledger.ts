/**
 * Medians move with each change of a batch, so that the batch's size makes no difference; `undo` takes it all back. Nor
 * does it make one which of two recorders comes first: a change is judged by what precedes it in the stream, and waits
 * for that where it may decide.
 */

import {
  comparablePrice,
  isPriceCoherent,
  MARKET_SIZE_MIN,
  type Market,
  marketOf,
  type PricedProperty,
} from '../domain/price-coherence.ts';
import type { MarketMedians } from '../matching/market-medians.ts';
import type { JudgingOrder } from './judging-order.ts';

export interface MarketLedger {
  readonly median: MarketMedians['median'];
  /** What follows is judged, and changed, by this message of the stream. */
  begin(sequence: number): void;
  /** Whether messages before the one at hand, not judged yet, may decide if its price is coherent. */
  isOpen(property: PricedProperty): boolean;
  /** Resolves when one of them has been judged, or takes too long. */
  untilNext(): Promise<void>;
  replace(before: PricedProperty | null, after: PricedProperty): void;
  /** The message at hand is judged, or left. */
  end(): void;
  undo(): void;
}

/** Of a batch, which holds locks: a recorder that tries again after a refused statement keeps nobody longer. */
const WAITING_MAX_MS = 1_000;

/** `order`: of the messages that other recorders judge too; without it there is one recorder. */
export function openLedger(medians: MarketMedians, order?: JudgingOrder): MarketLedger {
  const undo: (() => void)[] = [];
  let sequence = 0;
  let waitedMs = 0;
  const move = (property: PricedProperty, isKnown: boolean): void => {
    const market = marketOf(property);
    const price = comparablePrice(property);
    if (market === null || price === null) return;
    const add = (): void => medians.add(market, price);
    const remove = (): boolean => medians.remove(market, price);
    if (!isKnown && !remove()) return;
    if (isKnown) add();
    const change = isKnown
      ? { market, sequence, undo: remove, redo: add }
      : { market, sequence, undo: add, redo: remove };
    undo.push(change.undo);
    order?.note(change);
  };
  /** Without what was counted before its turn. */
  function inOrder<Result>(market: Market, read: () => Result): Result {
    const early = order?.notedAfter(sequence, market) ?? [];
    for (const change of early.toReversed()) change.undo();
    const result = read();
    for (const change of early) change.redo();
    return result;
  }
  return {
    median: (market) => inOrder(market, () => medians.median(market)),
    begin(next) {
      sequence = next;
    },
    isOpen(property) {
      const market = marketOf(property);
      const missing =
        market === null || order === undefined || waitedMs >= WAITING_MAX_MS ? 0 : order.countBefore(sequence);
      if (market === null || missing === 0) return false;
      const { count, low, high } = inOrder(market, () => medians.bounds(market, missing));
      if (count + missing < MARKET_SIZE_MIN || !isPriceCoherent(property, null)) return false;
      const price = comparablePrice(property);
      if (price === null || (isPriceCoherent(property, low) && isPriceCoherent(property, high))) return false;
      const isOutside =
        price < low ? !isPriceCoherent(property, low) : price > high && !isPriceCoherent(property, high);
      return !isOutside || count - missing < MARKET_SIZE_MIN;
    },
    async untilNext() {
      const startedAt = performance.now();
      await order?.untilNext(WAITING_MAX_MS - waitedMs);
      waitedMs += performance.now() - startedAt;
    },
    replace(before, after) {
      if (before !== null) move(before, false);
      move(after, true);
    },
    end: () => order?.settle(sequence),
    undo() {
      for (const step of undo.reverse()) step();
      order?.forget(undo);
    },
  };
}
