/** The history of a price, from the recorded changes of the adverts. */

import type { PropertyDocument } from '../documents.ts';

interface PricePoint {
  readonly at: string;
  readonly price: number;
}

/** From the recorded changes of the adverts and the current price, oldest first. */
export function pricesOf({ adverts, price, createdAt }: PropertyDocument): readonly PricePoint[] {
  const changes = adverts
    .flatMap(({ events }) => events)
    .filter(({ fieldName, fieldNewValue }) => fieldName === 'price' && fieldNewValue !== null)
    .toSorted((a, b) => a.createdAt.localeCompare(b.createdAt));
  const first = changes[0]?.fieldOldValue ?? (price === null ? null : String(price));
  const points = changes.map(({ createdAt: at, fieldNewValue }) => ({ at, price: Number(fieldNewValue) }));
  const start = createdAt ?? changes[0]?.createdAt;
  return first === null || start === undefined ? points : [{ at: start, price: Number(first) }, ...points];
}
