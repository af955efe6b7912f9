/** Error bodies as schemas (decisions, section 7), for OpenAPI and the tests. */

import { z } from 'zod';
import { VIOLATIONS_MAX } from '../violations.ts';

const members = {
  '@id': z.string(),
  'hydra:title': z.string(),
  'hydra:description': z.string(),
  title: z.string(),
  detail: z.string(),
  status: z.int(),
  type: z.string(),
};

export const problemSchema = z.looseObject({
  '@context': z.literal('/contexts/Error'),
  '@type': z.literal('hydra:Error'),
  ...members,
});

export const violationListSchema = z.strictObject({
  '@context': z.literal('/contexts/ConstraintViolationList'),
  '@type': z.tuple([z.literal('ConstraintViolationList'), z.literal('hydra:Error')]),
  ...members,
  violations: z
    .array(
      z.strictObject({
        propertyPath: z.string().meta({ description: 'Such as includedCities[2]; empty for the body as a whole.' }),
        message: z.string(),
        code: z.string().meta({ description: 'Stable, for programs.' }),
      }),
    )
    .meta({ description: `The first ${VIOLATIONS_MAX} at most.` }),
  violationCount: z.int().meta({ description: 'How many there are in all.' }),
});
