/**
 * A search's thresholds for price and surface events (decisions, section 16). The search is not notified of an event
 * below its threshold, nor of a `property.ad.update` that reports only such changes.
 */

import Big from 'big.js';
import type { AdvertEvent } from './advert.ts';
import { differsApartFrom, percentVariation } from './change.ts';
import type { Uuid } from './ids.ts';
import type { PropertyState, StoredAdvert } from './property.ts';

export const THRESHOLD_FIELDS = ['price', 'surface'] as const;
export type ThresholdField = (typeof THRESHOLD_FIELDS)[number];

export const THRESHOLD_DIRECTIONS = ['down', 'up'] as const;
export const THRESHOLD_BASES = ['last', 'told'] as const;

/** An event reaches the threshold if it meets every condition that is set. */
export interface EventThreshold {
  readonly percent?: number | undefined;
  /** Euros or m². */
  readonly amount?: number | undefined;
  readonly direction?: (typeof THRESHOLD_DIRECTIONS)[number] | undefined;
  /** A change is compared with the previous value (`last`, the default) or with the last notified value (`told`). */
  readonly since?: (typeof THRESHOLD_BASES)[number] | undefined;
}

export type EventThresholds = { readonly [Field in ThresholdField]?: EventThreshold | undefined };

/** Whether a threshold compares a field with its last notified value. */
export function comparesWithNotified(thresholds: EventThresholds | null): boolean {
  return thresholds !== null && THRESHOLD_FIELDS.some((field) => thresholds[field]?.since === 'told');
}

/** The field of a price or surface event. The kind decides, because the end of a match may also name such a field. */
export function thresholdFieldOf({ kind }: AdvertEvent): ThresholdField | null {
  return THRESHOLD_FIELDS.find((name) => kind === `ad.update.${name}`) ?? null;
}

function isReached({ percent, amount, direction }: EventThreshold, from: number, to: number): boolean {
  const difference = new Big(to).minus(from);
  const size = difference.abs();
  if (direction !== undefined && !(direction === 'down' ? difference.lt(0) : difference.gt(0))) return false;
  if (amount !== undefined && size.lt(amount)) return false;
  return percent === undefined || size.times(100).gte(new Big(percent).times(from));
}

/** The last notified value of a field; null if a change must be compared with the value before it. */
export type NotifiedValue = (advertUuid: Uuid, field: ThresholdField) => number | null;

/**
 * The events of a change that no threshold holds back, in the given order. If an event is compared with the last
 * notified value, that value becomes its old value.
 */
export function eventsReaching(
  thresholds: EventThresholds,
  events: readonly AdvertEvent[],
  { before, after }: { readonly before: PropertyState; readonly after: PropertyState },
  notifiedValue: NotifiedValue,
): readonly AdvertEvent[] {
  const heldBack: ThresholdField[] = [];
  const reaching = events.flatMap((event): readonly AdvertEvent[] => {
    const name = thresholdFieldOf(event);
    const threshold = name === null ? undefined : thresholds[name];
    if (name === null || threshold === undefined || event.field === null) return [event];
    const { fieldOldValue, fieldNewValue } = event.field;
    const notified = threshold.since === 'told' ? notifiedValue(event.advertUuid, name) : null;
    const from = notified ?? (fieldOldValue === null ? null : Number(fieldOldValue));
    if (from !== null && fieldNewValue !== null) {
      const to = Number(fieldNewValue);
      const field = { ...event.field, fieldOldValue: String(from), percentVariation: percentVariation(from, to) };
      if (isReached(threshold, from, to)) return [{ ...event, field }];
    }
    heldBack.push(name);
    return [];
  });
  if (heldBack.length === 0) return reaching;
  const [event] = events as readonly [AdvertEvent];
  const advertIn = ({ adverts }: PropertyState) =>
    adverts.find(({ uuid }) => uuid === event.advertUuid) as StoredAdvert;
  if (differsApartFrom(advertIn(before), advertIn(after), heldBack)) return reaching;
  return reaching.filter(({ kind }) => kind !== 'property.ad.update');
}
