/** Fields that several requests have, checked in one place. */

import { DISPLAY_NAME_LENGTH_MAX } from '../domain/client-limits.ts';
import { storable } from '../domain/storable-text.ts';
import { invalidArgument } from './errors.ts';

const REASON_LENGTH_MAX = 200;

/** An operator's words; null for none. */
export function reasonOf(reason: string): string | null {
  if (reason.length > REASON_LENGTH_MAX) {
    throw invalidArgument('reason', `must have at most ${REASON_LENGTH_MAX} characters`);
  }
  return reason.trim() === '' ? null : storable(reason.trim());
}

export function displayNameOf(field: string, displayName: string): string {
  const trimmed = storable(displayName.trim());
  if (trimmed === '' || trimmed.length > DISPLAY_NAME_LENGTH_MAX) {
    throw invalidArgument(field, `must have 1 to ${DISPLAY_NAME_LENGTH_MAX} characters`);
  }
  return trimmed;
}

/** `start_time` and `end_time` of a filter. */
export function timeRangeOf({ startTime, endTime }: TimeRange): {
  readonly from: Date | null;
  readonly before: Date | null;
} {
  if (startTime !== undefined && endTime !== undefined && startTime.getTime() > endTime.getTime()) {
    throw invalidArgument('end_time', 'must not be before start_time');
  }
  return { from: startTime ?? null, before: endTime ?? null };
}

interface TimeRange {
  readonly startTime: Date | undefined;
  readonly endTime: Date | undefined;
}
