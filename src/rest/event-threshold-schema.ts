/** The thresholds of a search on price and surface events, as they are sent and answered (decisions, section 16). */

import { z } from 'zod';
import { THRESHOLD_BASES, THRESHOLD_DIRECTIONS, THRESHOLD_FIELDS } from '../engine/domain/event-thresholds.ts';
import { FAULTS, zodMessage } from './sentences.ts';

/** Above all prices and surfaces. */
const AMOUNT_MAX = 2_147_483_647;
const PERCENT_MAX = 1_000;

const moreThanZero = (most: number, description: string) =>
  z
    .number(zodMessage(FAULTS.thresholdWithin(most)))
    .refine((value) => value > 0 && value <= most, zodMessage(FAULTS.thresholdWithin(most)))
    .meta({ minimum: 0, maximum: most, description: `${description} Above 0.` })
    .optional();

const threshold = z
  .strictObject(
    {
      percent: moreThanZero(PERCENT_MAX, 'At least this many percent.'),
      amount: moreThanZero(AMOUNT_MAX, 'At least this many euros or m².'),
      direction: z
        .enum(THRESHOLD_DIRECTIONS, zodMessage(FAULTS.oneOf(THRESHOLD_DIRECTIONS)))
        .meta({ description: 'Only cuts, or only rises.' })
        .optional(),
      since: z
        .enum(THRESHOLD_BASES, zodMessage(FAULTS.oneOf(THRESHOLD_BASES)))
        .meta({
          description:
            'last (default): compared with the value before the change; told: with the value that this search was last ' +
            'notified of, so that ten cuts of 1 % are one event of 10 %.',
        })
        .optional(),
    },
    zodMessage(FAULTS.threshold),
  )
  .refine(
    ({ percent, amount, direction }) => (percent ?? amount ?? direction) !== undefined,
    zodMessage(FAULTS.threshold),
  );

export const EVENT_THRESHOLDS = z
  .strictObject(
    { price: threshold.optional(), surface: threshold.optional() },
    zodMessage(FAULTS.thresholds(THRESHOLD_FIELDS)),
  )
  .refine((fields) => Object.keys(fields).length > 0, zodMessage(FAULTS.thresholds(THRESHOLD_FIELDS)))
  .nullable()
  .meta({
    description:
      'Holds back price and surface events that are below: they are in no webhook, feed or e-mail. All that is set must be ' +
      'reached. Changes from and to an unknown value are held back, and a property.ad.update with nothing but such changes. ' +
      'A match is never held back.',
  });
