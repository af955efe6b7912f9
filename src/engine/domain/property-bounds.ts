/**
 * The maximum size of a property's state (decisions, section 8): every change of it reads, writes and sends all of it,
 * so an unbounded one would delay all others.
 */

import type { HeldProperty } from './change.ts';
import type { HeldAdvert, PropertyState } from './property.ts';
import { advertText } from './stored-property.ts';

export interface PropertyBounds {
  readonly advertsMax: number;
  /** Of the state as it is stored. */
  readonly bytesMax: number;
}

/** Adverts never change, they are replaced: each is measured once. */
const measured = new WeakMap<HeldAdvert, number>();
const FRAME_BYTES = 64;

function advertBytes(advert: HeldAdvert): number {
  const known = measured.get(advert);
  if (known !== undefined) return known;
  const bytes = Buffer.byteLength(advertText(advert)) + 1;
  measured.set(advert, bytes);
  return bytes;
}

/** Bytes of the state as it is stored, within a few. */
export function stateBytes({ adverts }: PropertyState): number {
  return adverts.reduce((sum, advert) => sum + advertBytes(advert), FRAME_BYTES);
}

/** Why the property must not grow from `before` to `after`, naming the exceeded bound; null when it may. */
export function excessOf(before: HeldProperty | null, after: HeldProperty, bounds: PropertyBounds): string | null {
  const { advertsMax, bytesMax } = bounds;
  const count = after.state.adverts.length;
  if (count > advertsMax && count > (before?.state.adverts.length ?? 0)) {
    return `the property would have ${count} adverts, more than the bound (${advertsMax})`;
  }
  const bytes = stateBytes(after.state);
  if (bytes <= bytesMax || (before !== null && bytes <= stateBytes(before.state))) return null;
  return `the property would have ${bytes} bytes of adverts, more than the bound (${bytesMax})`;
}
