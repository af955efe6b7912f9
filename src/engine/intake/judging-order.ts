/** The messages that the recorders of a term have not judged yet, and what they have counted before its turn. */

import { Bell } from '../actor/waiting.ts';
import type { Market } from '../domain/price-coherence.ts';

/** Of a market's prices. */
interface MarketChange {
  readonly market: Market;
  /** Of the message that made it. */
  readonly sequence: number;
  readonly undo: () => void;
  readonly redo: () => void;
}

export interface JudgingOrder {
  /** Of a message that is admitted, in the order of the stream. */
  expect(sequence: number): void;
  /** It is judged, or will not be in its turn. */
  settle(sequence: number): void;
  /** How many before this one are not judged. */
  countBefore(sequence: number): number;
  /** Resolves when one more is settled, or after `timeoutMs`. */
  untilNext(timeoutMs: number): Promise<void>;
  note(change: MarketChange): void;
  notedAfter(sequence: number, market: Market): readonly MarketChange[];
  /** Changes that were taken back, by their `undo`. */
  forget(undone: readonly (() => void)[]): void;
}

export function createJudgingOrder(): JudgingOrder {
  const pending = new Set<number>();
  const settled = new Bell();
  /** None older than all that is pending. */
  let noted: MarketChange[] = [];
  const first = (): number => pending.values().next().value ?? Number.POSITIVE_INFINITY;
  return {
    expect: (sequence) => void pending.add(sequence),
    settle(sequence) {
      if (!pending.delete(sequence)) return;
      settled.ring();
      if (noted.length === 0) return;
      const oldest = first();
      if ((noted[0] as MarketChange).sequence < oldest) noted = noted.filter((change) => change.sequence > oldest);
    },
    countBefore(sequence) {
      let count = 0;
      for (const one of pending) {
        if (one >= sequence) break;
        count += 1;
      }
      return count;
    },
    untilNext: (timeoutMs) => settled.rung(timeoutMs),
    note(change) {
      if (first() < change.sequence) noted.push(change);
    },
    notedAfter: (sequence, market) =>
      noted.filter((change) => change.sequence > sequence && isSame(change.market, market)),
    forget(undone) {
      const gone = new Set(undone);
      noted = noted.filter((change) => !gone.has(change.undo));
    },
  };
}

function isSame(a: Market, b: Market): boolean {
  return a.departmentCode === b.departmentCode && a.transactionType === b.transactionType && a.isLand === b.isLand;
}
