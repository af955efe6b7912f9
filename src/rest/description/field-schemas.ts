/** Builds zod schemas of the members of answers. OpenAPI and Hydra publish their descriptions. */

import { z } from 'zod';
import { MAIL_FREQUENCIES } from '../../engine/domain/mail.ts';

export const text = (description: string) => z.string().meta({ description });
export const textOrNull = (description: string) => z.string().nullable().meta({ description });
export const number = (description: string) => z.number().nullable().meta({ description });
export const integer = (description: string) => z.int().nullable().meta({ description });
export const flag = (description: string) => z.boolean().nullable().meta({ description });
export const dateTime = (description: string) => z.iso.datetime({ offset: true }).meta({ description });
export const dateTimeOrNull = (description: string) =>
  z.iso.datetime({ offset: true }).nullable().meta({ description });
export const uuid = (description: string) => z.guid().meta({ description });

export const emailFrequencyChosen = z.enum(MAIL_FREQUENCIES).nullable().meta({
  description:
    'Maximum frequency that the recipient has chosen for your e-mails; if null, the frequency that you set applies.',
});

/** An IRI of another resource. `className`: its Hydra class. */
export function link(className: string, description: string) {
  return z.string().meta({ description, format: 'iri-reference', 'x-class': className });
}

/** The JSON-LD members at the start of a resource. */
export function identity(className: string) {
  return {
    '@context': z.literal(`/contexts/${className}`),
    '@id': z.string().meta({ format: 'iri-reference' }),
    '@type': z.literal(className),
  };
}

export function list<Item extends z.ZodType>(item: Item, description: string) {
  return z.array(item).meta({ description });
}
