/**
 * The schema of the running validator in JSON Schema 2020-12, for crawlers. Both accept the same messages, with two
 * exceptions that JSON Schema cannot express: half a surrogate pair in a text, and an instant that leaves the years 1
 * to 9999 when its offset is subtracted.
 */

import { MESSAGE_SCHEMAS, NUMBER_FORMATS, type SentMessage, TEXT_FORMATS } from './intake-schema.ts';

export interface PublishedSchema {
  readonly [keyword: string]: unknown;
  readonly properties?: Readonly<Record<string, PublishedSchema>>;
  readonly items?: PublishedSchema;
}

/** Both coordinates or none: a rule of the decoder, which has a message for it. */
const PLACE = {
  anyOf: [
    { properties: { lat: { type: 'null' }, lon: { type: 'null' } } },
    { properties: { lat: { type: 'number' }, lon: { type: 'number' } } },
  ],
};

/** By kind of message. */
export const INTAKE_CONTRACT = {
  upsert: withPlace(published(MESSAGE_SCHEMAS.upsert)),
  expire: published(MESSAGE_SCHEMAS.expire),
} satisfies Readonly<Record<SentMessage['kind'], PublishedSchema>>;

function published(schema: PublishedSchema): PublishedSchema {
  const { format, if: _tooLong, else: longer, properties, ...rest } = schema;
  const words = (TEXT_FORMATS[String(format)] ?? NUMBER_FORMATS[String(format)])?.published;
  const items = (longer as PublishedSchema | undefined)?.items;
  return {
    ...rest,
    ...words,
    ...(properties === undefined ? {} : { properties: eachOf(properties) }),
    ...(items === undefined ? {} : { items: published(items) }),
  };
}

function eachOf(properties: Readonly<Record<string, PublishedSchema>>): Readonly<Record<string, PublishedSchema>> {
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, published(schema)]));
}

function withPlace(message: PublishedSchema): PublishedSchema {
  const { property, ...rest } = message.properties ?? {};
  const { locations, ...others } = property?.properties ?? {};
  const properties = { ...others, locations: { ...locations, ...PLACE } };
  return { ...message, properties: { ...rest, property: { ...property, properties } } };
}
