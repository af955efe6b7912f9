/** The thresholds of a search for price and surface events, in requests and answers (decisions, section 16). */

import {
  type EventThresholds,
  THRESHOLD_BASES,
  THRESHOLD_DIRECTIONS,
  THRESHOLD_FIELDS,
} from '../engine/domain/event-thresholds.ts';
import { numberAboveZero, oneOf } from '../values.ts';
import { type MemberRule, nullable, object, optional, single } from './member-rules.ts';
import { FAULTS } from './sentences.ts';

/** Above every price and surface. */
const AMOUNT_MAX = 2_147_483_647;
const PERCENT_MAX = 1_000;

const threshold = optional(
  object(
    {
      percent: moreThanZero(PERCENT_MAX, 'At least this many percent.'),
      amount: moreThanZero(AMOUNT_MAX, 'At least this many euros or m².'),
      direction: optional(single(oneOf(THRESHOLD_DIRECTIONS), { description: 'Only cuts, or only rises.' })),
      since: optional(
        single(oneOf(THRESHOLD_BASES), {
          description:
            'last (default): compares with the value before the change. told: compares with the last value that this ' +
            'search was notified of, so that ten cuts of 1 % become one event of 10 %.',
        }),
      ),
    },
    FAULTS.threshold,
    ['percent', 'amount', 'direction'],
  ),
);

function moreThanZero(most: number, description: string) {
  return optional(single(numberAboveZero(most), { description: `${description} Above 0.` }));
}

export const EVENT_THRESHOLDS: MemberRule<EventThresholds | null> = nullable(
  object({ price: threshold, surface: threshold }, FAULTS.thresholds(THRESHOLD_FIELDS), THRESHOLD_FIELDS),
  'Holds back price and surface events below the threshold: they appear in no webhook, feed or e-mail. Every value ' +
    'that is set must be reached. Changes from or to an unknown value are held back, and so is a property.ad.update ' +
    'that has only such changes. ' +
    'A match is never held back.',
  null,
);
