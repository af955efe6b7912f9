/** Fields that several requests have, checked in one place. */

import { DISPLAY_NAME_LENGTH_MAX } from '../engine/domain/client-limits.ts';
import { storable } from '../engine/domain/storable-text.ts';
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

/** What is only looked for. Throws INVALID_ARGUMENT. */
export function textOf(field: string, text: string, lengthMax: number): string {
  if (text.length > lengthMax) throw invalidArgument(field, `must have at most ${lengthMax} characters`);
  if (text.includes('\0')) throw invalidArgument(field, 'must not contain U+0000');
  return text;
}

/** One of `choices`; null when empty. */
export function oneOf<Choice extends string>(field: string, choices: readonly Choice[], value: string): Choice | null {
  if (value === '') return null;
  const choice = choices.find((one) => one === value);
  if (choice === undefined) throw invalidArgument(field, `must be one of ${choices.join(', ')}`);
  return choice;
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
