/** What previews, explanations, near-misses and lists of found properties answer (decisions, sections 7 and 11). */

import { z } from 'zod';
import { CRITERION_NAMES } from '../../engine/domain/criterion-table.ts';
import { PAIR_REASON_CODES } from '../../engine/domain/pair-history.ts';
import { dateTime, identity, link, list, text } from './field-schemas.ts';
import { PropertyDocument } from './property-schemas.ts';

/** A bound, a list or whatever else the criterion compares. */
const value = (description: string) => z.unknown().meta({ description });

const criterion = z.enum(CRITERION_NAMES).meta({ description: 'The criterion; all geography is `areas`.' });

const ExplainedCriterion = z.strictObject({
  criterion,
  expected: value('What was asked for; of a long list the first fifty.'),
  actual: value('What the property has; null when that is unknown.'),
  holds: z.boolean().meta({ description: 'True: the property has what was asked for.' }),
  reason: text('Why, in the language of Accept-Language (fr, en), for people.'),
});

/** A text, so that a code which comes later breaks no client that was generated before. */
const MatchReason = z.strictObject({
  code: text(`Stays the same whatever the sentence says: ${PAIR_REASON_CODES.join(', ')}.`),
  at: dateTime('When it came about; null where that is not known, and for what is so now.').nullable(),
  reason: text('The same as a sentence, in the language of Accept-Language.'),
});

export const Explanation = z.strictObject({
  ...identity('Explanation'),
  search: link('Search', 'The search.'),
  property: link('PropertyDocument', 'The property.'),
  satisfied: z.boolean().meta({ description: 'True: every criterion holds now.' }),
  criteria: list(ExplainedCriterion, 'Every criterion that is set, and that an advert is live.'),
  match: link('Match', 'The match; null when nothing was notified.').nullable(),
  matchReason: text('What was notified and why, and what holds now, in the language of Accept-Language.'),
  matchReasons: list(MatchReason, 'The same, one by one, each with a code that stays.'),
  deliveries: list(link('Delivery', 'A delivery.'), 'What was sent of the property, newest first, at most 1000.'),
});

const PreviewedDay = z.strictObject({
  date: z.iso.date().meta({ description: 'Day in Paris.' }),
  count: z.int().meta({ description: 'Of those that satisfy it now, how many began to on that day.' }),
});

const PreviewedProperty = z.strictObject({
  property: link('PropertyDocument', 'The property.'),
  satisfiedSince: dateTime('Its creation, or the last price or surface that made it satisfy the search.'),
});

const margin = z.int().meta({
  description: 'How far satisfiedNow may be from the truth, either way, with a confidence of 95 %; 0: it is exact.',
});

const WiderSearch = z.strictObject({
  criterion: z.enum(CRITERION_NAMES).meta({
    description: 'What is left out of the search; `liveAdvert` are the excluded site categories.',
  }),
  satisfiedNow: z.int().meta({ description: 'Properties that satisfy the rest.' }),
  margin,
  estimated: z.boolean().meta({ description: 'True: worked out from a sample.' }),
});

export const Preview = z.strictObject({
  ...identity('Preview'),
  satisfiedNow: z.int().meta({ description: 'Properties that satisfy the search now.' }),
  margin,
  estimated: z.boolean().meta({ description: 'True: the figures are worked out from a sample.' }),
  startedPerDay: list(PreviewedDay, 'Oldest first, today last.'),
  sample: list(PreviewedProperty, 'Newest first.'),
  withoutCriterion: list(WiderSearch, 'What the search would find without each of its criteria.'),
});

export const NearMiss = z.strictObject({
  ...identity('NearMiss'),
  property: link('PropertyDocument', 'The property.'),
  criterion,
  expected: value('What was asked for; of a long list the first fifty.'),
  actual: value('What the property has; null when that is unknown.'),
  distance: z.number().nullable().meta({
    description: 'How far beyond the bound or the radius, relative to it: 0.1 is ten per cent. Null without a measure.',
  }),
});

export const FoundProperty = z.strictObject({
  ...PropertyDocument.shape,
  ...identity('FoundProperty'),
  match: link('Match', 'The match; null while nothing of the property was notified for the search.').nullable(),
  satisfiedSince: dateTime('Its creation, or the last price or surface that made it satisfy the search.'),
});

export const QUESTION_PARTS = { ExplainedCriterion, PreviewedDay, PreviewedProperty, WiderSearch } as const;
