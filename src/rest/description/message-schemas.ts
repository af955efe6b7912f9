/**
 * `/schemas/intake.json` and `/schemas/webhook.json` (decisions, section 13) describe the messages of crawlers and the
 * bodies of webhooks in JSON Schema 2020-12. They are derived from the validator and the schemas that the service runs.
 */

import { MESSAGE_SCHEMAS, NUMBER_FORMATS, type SentMessage, TEXT_FORMATS } from '../../engine/domain/intake-schema.ts';
import { ACKNOWLEDGEMENT, ALERT_KINDS } from './alert-schemas.ts';
import { INTAKE_EXAMPLES } from './contract-examples.ts';
import { JSON_SCHEMAS, nameOfReference, plain, referenceTo, SCHEMAS_PATH } from './json-schemas.ts';

export const INTAKE_SCHEMA_PATH = '/schemas/intake.json';
export const WEBHOOK_SCHEMA_PATH = '/schemas/webhook.json';

const DIALECT = 'https://json-schema.org/draft/2020-12/schema';

/** Descriptions of members that answers do not have, or that have another meaning in answers. */
const WORDS: Readonly<Record<string, string>> = {
  kind: 'Kind of message.',
  crawledAt:
    'When the crawler saw the advert. A message older than the stored state has no effect. A message with a time more than ten minutes after NATS stored it is rejected.',
  expiredAt: 'When the advert expired; if absent, the time of the crawl.',
  property: 'The members of the property; one that is null or absent is taken from its most recent advert.',
  advert: 'The whole advert: a member that is null or absent is unknown.',
  locations: 'WGS 84: both coordinates or none.',
  city: 'insee, or zipcode and name.',
};

/** `baseUrl`: the URL of the service that publishes the schema. */
export function intakeSchema(baseUrl: string): Readonly<Record<string, unknown>> {
  return {
    $schema: DIALECT,
    $id: `${baseUrl}${INTAKE_SCHEMA_PATH}`,
    $comment:
      'Generated from the running validator. Two rules cannot be expressed in JSON Schema: texts with half a surrogate ' +
      'pair are refused, and so are times outside the years 1 to 9999 in UTC. Members that are not listed have no ' +
      'effect and are counted by name.',
    title: 'Intake message',
    description: 'A crawler’s message on adverts.<property uuid>: JSON in UTF-8, in euros, square metres and WGS 84.',
    oneOf: [{ $ref: '#/$defs/Upsert' }, { $ref: '#/$defs/Expire' }],
    $defs: {
      Upsert: described(INTAKE_CONTRACT.upsert, {}),
      Expire: described(INTAKE_CONTRACT.expire, {}),
      Rejection: portable(plain(JSON_SCHEMAS.Rejection)),
    },
    examples: Object.values(INTAKE_EXAMPLES),
  };
}

/** The bodies of webhooks, one for each kind of event. `/openapi.json` has their headers. */
export function webhookSchema(baseUrl: string): Readonly<Record<string, unknown>> {
  const kinds = Object.values(ALERT_KINDS).map(({ schema }) => schema);
  const named = new Set<string>(kinds);
  for (const name of named) for (const other of referencesIn(JSON_SCHEMAS[name])) named.add(other);
  const document = {
    oneOf: kinds.map(referenceTo),
    $defs: Object.fromEntries([...named].map((name) => [name, JSON_SCHEMAS[name]])),
  };
  return {
    $schema: DIALECT,
    $id: `${baseUrl}${WEBHOOK_SCHEMA_PATH}`,
    title: 'Webhook',
    description: `The body of a webhook, by kind of event. Two kinds may announce a match; an event may have any kind. ${ACKNOWLEDGEMENT}`,
    ...JSON.parse(JSON.stringify(portable(plain(document))).replaceAll(SCHEMAS_PATH, '#/$defs/')),
  };
}

const PATTERNS: Readonly<Record<string, Readonly<Record<string, unknown>> | undefined>> = {
  uuid: TEXT_FORMATS.uuid?.published,
  'date-time': TEXT_FORMATS.instant?.published,
};

/** Replaces formats by equivalent patterns and removes OpenAPI keywords, because strict validators do not know them. */
function portable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(portable);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).flatMap(([name, one]): (readonly [string, unknown])[] => {
    if (name === 'format' && typeof one === 'string') return Object.entries(PATTERNS[one] ?? {});
    return name.startsWith('x-') ? [] : [[name, portable(one)]];
  });
  return Object.fromEntries(entries);
}

function referencesIn(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  const name = nameOfReference(value);
  return name === null ? Object.values(value).flatMap(referencesIn) : [name];
}

/** Adds to each member its description from `WORDS`, or that of the member with the same name in an answer. */
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

interface PublishedSchema {
  readonly [keyword: string]: unknown;
  readonly properties?: Readonly<Record<string, PublishedSchema>>;
  readonly items?: PublishedSchema;
}

/** Both coordinates or none. The decoder checks this with its own message. */
const PLACE = {
  anyOf: [
    { properties: { lat: { type: 'null' }, lon: { type: 'null' } } },
    { properties: { lat: { type: 'number' }, lon: { type: 'number' } } },
  ],
};

/**
 * The rules of the running validator as JSON Schema 2020-12, by kind of message. Only the validator refuses half a
 * surrogate pair in a text, and a time outside the years 1 to 9999 in UTC.
 */
const INTAKE_CONTRACT = {
  upsert: withPlace(published(MESSAGE_SCHEMAS.upsert)),
  expire: published(MESSAGE_SCHEMAS.expire),
} satisfies Readonly<Record<SentMessage['kind'], PublishedSchema>>;

function published(schema: PublishedSchema): PublishedSchema {
  const { format, if: _tooLong, else: longer, properties, ...rest } = schema;
  const words = (TEXT_FORMATS[String(format)] ?? NUMBER_FORMATS[String(format)])?.published;
  const items = (longer as PublishedSchema | undefined)?.items;
  const members = Object.entries(properties ?? {}).map(([name, member]) => [name, published(member)]);
  return {
    ...rest,
    ...words,
    ...(properties === undefined ? {} : { properties: Object.fromEntries(members) }),
    ...(items === undefined ? {} : { items: published(items) }),
  };
}

function withPlace(message: PublishedSchema): PublishedSchema {
  const { property, ...rest } = message.properties ?? {};
  const { locations, ...others } = property?.properties ?? {};
  const properties = { ...others, locations: { ...locations, ...PLACE } };
  return { ...message, properties: { ...rest, property: { ...property, properties } } };
}
