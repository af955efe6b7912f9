/** `/schemas/intake.json`: the intake contract for crawlers (decisions, sections 8 and 13), with words for its members. */

import { INTAKE_CONTRACT, type PublishedSchema } from '../../engine/domain/intake-contract.ts';
import { INTAKE_EXAMPLES } from './contract-examples.ts';
import { JSON_SCHEMAS } from './json-schemas.ts';

export const INTAKE_SCHEMA_PATH = '/schemas/intake.json';

/** Of members that no answer has, or that mean something else there. */
const WORDS: Readonly<Record<string, string>> = {
  kind: 'What the crawler has to say.',
  crawledAt: 'When the crawler saw it. A message older than the state held has no effect.',
  expiredAt: 'When the advert expired; absent: when it was crawled.',
  property: 'What belongs to the property; a member that is null or absent is taken from its most recent advert.',
  advert: 'The whole advert: a member that is null or absent is unknown.',
  locations: 'WGS 84: both coordinates or none.',
  city: 'insee, or zipcode and name.',
};

/** The schema of one kind of message, for the contracts that embed it. */
export function intakeMessageSchema(kind: keyof typeof INTAKE_CONTRACT): PublishedSchema {
  return described(INTAKE_CONTRACT[kind], {});
}

/** `baseUrl`: what it is served under. */
export function intakeSchema(baseUrl: string): Readonly<Record<string, unknown>> {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: `${baseUrl}${INTAKE_SCHEMA_PATH}`,
    $comment:
      'Made from the validator that runs. Not said here, because JSON Schema has no words for it: a text with half a ' +
      'surrogate pair is refused, and so is an instant that in UTC lies outside the years 1 to 9999. Members that are ' +
      'not listed have no effect and are counted by name.',
    title: 'Intake message',
    description: 'What a crawler publishes on adverts.<property uuid>, as JSON in UTF-8. Euros, square metres, WGS 84.',
    oneOf: [{ $ref: '#/$defs/Upsert' }, { $ref: '#/$defs/Expire' }],
    $defs: { Upsert: intakeMessageSchema('upsert'), Expire: intakeMessageSchema('expire') },
    examples: Object.values(INTAKE_EXAMPLES),
  };
}

/** Words of the same member of an answer, where there is one. */
function described(schema: PublishedSchema, words: Readonly<Record<string, string | undefined>>): PublishedSchema {
  if (schema.properties === undefined) return schema;
  const properties = Object.entries(schema.properties).map(([name, member]) => {
    const description = WORDS[name] ?? words[name];
    const below = described(member, wordsOf(name));
    return [name, description === undefined ? below : { ...below, description }];
  });
  return { ...schema, properties: Object.fromEntries(properties) };
}

function wordsOf(name: string): Readonly<Record<string, string | undefined>> {
  const answered = { property: JSON_SCHEMAS.PropertyDocument, advert: JSON_SCHEMAS.Advert }[name];
  const members = Object.entries(answered?.properties ?? {});
  return Object.fromEntries(members.map(([member, { description }]) => [member, description]));
}
