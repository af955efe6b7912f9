/**
 * `/asyncapi.json`: AsyncAPI 3 of what passes by itself (decisions, section 13): what crawlers publish, what they receive
 * of it, and the webhooks. Streams, schemas, headers and examples are those that run. The contract for crawlers, with words
 * for its members, stands by itself at `/schemas/intake.json` as well.
 */

import { EVENT_KINDS, type EventKind } from '../../engine/domain/codes.ts';
import type { WebhookChannel } from '../../engine/domain/delivery.ts';
import { MESSAGE_SCHEMAS, NUMBER_FORMATS, type SentMessage, TEXT_FORMATS } from '../../engine/domain/intake-schema.ts';
import { ADVERTS, REJECTED } from '../../engine/domain/streams.ts';
import { ACKNOWLEDGEMENT, ALERT_HEADERS, ALERT_KINDS, CHANNELS, webhookName } from './alert-schemas.ts';
import { type ContractExamples, INTAKE_EXAMPLES, rejectionExample } from './contract-examples.ts';
import { JSON_SCHEMAS, type JsonSchema, nameOfReference, plain, referenceTo } from './json-schemas.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 1_440 * MINUTE_MS;
const MIB = 1_024 * 1_024;

/** The operator knows the server: it is not part of the contract. */
const NATS = {
  host: '{host}',
  protocol: 'nats',
  description: 'NATS with JetStream. Your operator has its address, user and password; `vigie nats` prints them.',
  variables: { host: { default: '127.0.0.1:9466', description: 'That of a daemon on this machine unless said.' } },
  security: [{ $ref: '#/components/securitySchemes/natsUser' }],
};

const propertyUuid = { description: 'UUID of the property that the message is about.' };

export function asyncApiDocument(version: string, examples: ContractExamples): object {
  return plain({
    asyncapi: '3.0.0',
    info: {
      title: 'Vigie: intake and alerts',
      version,
      description:
        'Crawlers publish adverts to NATS JetStream and hear there what was refused; clients receive webhooks. ' +
        `The schema of what crawlers publish stands by itself at ${INTAKE_SCHEMA_PATH}.`,
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
      tags: [{ name: 'crawlers' }, { name: 'webhooks' }],
    },
    servers: { nats: NATS },
    defaultContentType: 'application/json',
    channels: {
      adverts: advertsChannel(),
      publishAcknowledgement: channel('publishAcknowledgement', null, 'Where the publisher waits for the stream.'),
      rejections: rejectionsChannel(),
      matches: alertChannel('match'),
      events: alertChannel('event'),
      alertAcknowledgement: channel('alertAcknowledgement', null, ACKNOWLEDGEMENT),
    },
    operations: operations(),
    components: {
      securitySchemes: { natsUser: { type: 'userPassword', description: 'The crawlers’ user of NATS.' } },
      messages: messages(examples),
      schemas: schemas(),
    },
  });
}

const ON_NATS = [{ $ref: '#/servers/nats' }];

const referenceToMessage = (name: string) => ({ $ref: `#/components/messages/${name}` });

function messagesOf(names: readonly string[]): Record<string, object> {
  return Object.fromEntries(names.map((name) => [name, referenceToMessage(name)]));
}

function channel(message: string, address: string | null, description: string): object {
  return { address, description, messages: messagesOf([message]) };
}

function advertsChannel(): object {
  const days = ADVERTS.keptMs / DAY_MS;
  return {
    address: ADVERTS.subjectOf('{propertyUuid}'),
    title: `Stream ${ADVERTS.name}`,
    description:
      `JetStream stream ${ADVERTS.name} (subjects ${ADVERTS.subjects}, file, limits, oldest dropped), which the daemon ` +
      `creates when it is missing and never alters. It keeps messages for ${days} days, and takes a message id that it ` +
      `has seen within ${ADVERTS.duplicateWindowMs / MINUTE_MS} minutes for a repeat. What one property’s crawlers publish ` +
      'is recorded in the order of the stream.',
    servers: ON_NATS,
    parameters: { propertyUuid },
    messages: messagesOf(['upsert', 'expire']),
  };
}

function rejectionsChannel(): object {
  return {
    address: REJECTED.subjectOf('{propertyUuid}'),
    title: `Stream ${REJECTED.name}`,
    description:
      `JetStream stream ${REJECTED.name} (subjects ${REJECTED.subjects}, file, limits, oldest dropped), which the daemon ` +
      `creates when it is missing and never alters: ${REJECTED.keptMs / DAY_MS} days and ${REJECTED.bytesMax / MIB} MiB, or an eighth of NATS’s room if that is less. ` +
      'A subscription to the subject hears it at once; what was missed is read from the stream. A message that is ' +
      'refused twice, because a crash came between, may be published twice.',
    servers: ON_NATS,
    parameters: { propertyUuid: { ...propertyUuid, description: 'UUID of the property, or `unknown`.' } },
    messages: messagesOf(['rejection']),
  };
}

/** The search defines the address. */
function alertChannel(name: WebhookChannel): object {
  return {
    address: null,
    title: CHANNELS[name].member,
    description: CHANNELS[name].when,
    messages: messagesOf(kindsOf(name).map((kind) => webhookName(kind, name))),
  };
}

function kindsOf(name: WebhookChannel): readonly EventKind[] {
  return EVENT_KINDS.filter((kind) => ALERT_KINDS[kind].channels.includes(name));
}

function operations(): object {
  const post = { http: { method: 'POST', bindingVersion: '0.3.0' } };
  const reply = (name: string) => ({ channel: { $ref: `#/channels/${name}` } });
  return {
    receiveAdverts: {
      action: 'receive',
      channel: { $ref: '#/channels/adverts' },
      summary: 'Crawlers publish what they have seen',
      description:
        'Publish through JetStream and wait for its acknowledgement: what it has acknowledged is recorded, whatever ' +
        'dies meanwhile. Without an answer publish again, with the same Nats-Msg-Id. A message that cannot be ' +
        'understood is kept for operators and published as a rejection; it stops nobody.',
      reply: {
        ...reply('publishAcknowledgement'),
        address: { location: '$message.header#/reply-to', description: 'The reply subject of NATS.' },
      },
    },
    sendRejections: {
      action: 'send',
      channel: { $ref: '#/channels/rejections' },
      summary: 'Crawlers are notified of their rejected messages',
      description: 'Within a second of the refusal, at least once. No acknowledgement is waited for.',
    },
    ...Object.fromEntries(
      (['match', 'event'] as const).map((name) => [
        name === 'match' ? 'sendMatches' : 'sendEvents',
        {
          action: 'send',
          channel: { $ref: `#/channels/${name === 'match' ? 'matches' : 'events'}` },
          summary: name === 'match' ? 'Clients are notified of new matches' : 'Clients are notified of events',
          description: `${CHANNELS[name].when} ${ACKNOWLEDGEMENT}`,
          bindings: post,
          reply: reply('alertAcknowledgement'),
        },
      ]),
    ),
  };
}

function messages({ alert }: ContractExamples): Record<string, object> {
  const intakeHeaders = {
    type: 'object',
    properties: {
      'Nats-Msg-Id': { type: 'string', description: 'By it the stream recognises repeats.' },
      traceparent: { type: 'string', description: 'W3C Trace Context; webhooks that follow carry it on.' },
      tracestate: { type: 'string', description: 'With it, at most 512 characters.' },
    },
  };
  const intake = (kind: 'upsert' | 'expire', schema: string, summary: string) => ({
    name: kind,
    summary,
    headers: intakeHeaders,
    payload: referenceTo(schema),
    examples: [{ headers: { 'Nats-Msg-Id': `crawler-7-${kind}` }, payload: INTAKE_EXAMPLES[kind] }],
  });
  const sent = (['match', 'event'] as const).flatMap((name) => kindsOf(name).map((kind) => ({ name, kind })));
  return {
    upsert: intake('upsert', 'Upsert', 'An advert as it is now, whole'),
    expire: intake('expire', 'Expire', 'An advert that is gone'),
    publishAcknowledgement: {
      name: 'publishAcknowledgement',
      summary: 'The stream holds the message, or says why it does not',
      payload: referenceTo('PublishAcknowledgement'),
      examples: [{ payload: { stream: ADVERTS.name, seq: 4711, duplicate: false } }],
    },
    rejection: {
      name: 'rejection',
      summary: 'A message was rejected',
      headers: {
        type: 'object',
        properties: { 'Nats-Msg-Id': { type: 'string', description: 'The same when published again.' } },
      },
      payload: referenceTo('Rejection'),
      examples: [{ payload: rejectionExample() }],
    },
    ...Object.fromEntries(
      sent.map(({ name, kind }) => [webhookName(kind, name), alertMessage(kind, name, alert(kind, name))]),
    ),
    alertAcknowledgement: {
      name: 'alertAcknowledgement',
      summary: 'You have it',
      bindings: { http: { statusCode: 200, bindingVersion: '0.3.0' } },
      payload: { description: 'Whatever you like; the first 2 KiB are kept in the log of the attempt.' },
    },
  };
}

function alertMessage(kind: EventKind, name: WebhookChannel, example: object): object {
  const headers = Object.entries(ALERT_HEADERS);
  const shown = Object.fromEntries(headers.map(([header, { example: value }]) => [header, value]));
  return {
    name: kind,
    title: `${kind} on ${CHANNELS[name].member}`,
    summary: ALERT_KINDS[kind].summary,
    headers: {
      type: 'object',
      required: headers.filter(([, { isRequired }]) => isRequired).map(([header]) => header),
      properties: Object.fromEntries(
        headers.map(([header, { schema, description }]) => [header, { ...schema, description }]),
      ),
    },
    payload: referenceTo(ALERT_KINDS[kind].schema),
    examples: [{ headers: shown, payload: example }],
  };
}

/** The schemas that the messages refer to, directly or indirectly. */
function schemas(): Record<string, object> {
  const named: Record<string, object> = {
    Upsert: intakeMessageSchema('upsert'),
    Expire: intakeMessageSchema('expire'),
    PublishAcknowledgement: PUBLISH_ACKNOWLEDGEMENT,
  };
  const wanted = ['Rejection', ...EVENT_KINDS.map((kind) => ALERT_KINDS[kind].schema as string)];
  for (let name = wanted.pop(); name !== undefined; name = wanted.pop()) {
    if (name in named) continue;
    const schema = JSON_SCHEMAS[name] as JsonSchema;
    named[name] = schema;
    wanted.push(...referencesIn(schema));
  }
  return named;
}

/** JetStream's `PubAck` (NATS ADR-1). */
const PUBLISH_ACKNOWLEDGEMENT = {
  type: 'object',
  additionalProperties: true,
  properties: {
    stream: { type: 'string', description: 'That holds the message.' },
    seq: { type: 'integer', minimum: 0, description: 'Its number there.' },
    duplicate: { type: 'boolean', description: 'True: the stream had it already.' },
    domain: { type: 'string', description: 'Of JetStream.' },
    error: {
      type: 'object',
      additionalProperties: true,
      description: 'Why it does not hold the message.',
      properties: { code: { type: 'integer' }, err_code: { type: 'integer' }, description: { type: 'string' } },
    },
  },
};

function referencesIn(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  const name = nameOfReference(value);
  return name === null ? Object.values(value).flatMap(referencesIn) : [name];
}

export const INTAKE_SCHEMA_PATH = '/schemas/intake.json';

/** Of members that no answer has, or that mean something else there. */
const WORDS: Readonly<Record<string, string>> = {
  kind: 'What the crawler has to say.',
  crawledAt:
    'When the crawler saw it. A message older than the state held has no effect; one of more than ten minutes after NATS stored it is rejected.',
  expiredAt: 'When the advert expired; absent: when it was crawled.',
  property: 'What belongs to the property; a member that is null or absent is taken from its most recent advert.',
  advert: 'The whole advert: a member that is null or absent is unknown.',
  locations: 'WGS 84: both coordinates or none.',
  city: 'insee, or zipcode and name.',
};

/** The schema of one kind of message, for the contracts that embed it. */
function intakeMessageSchema(kind: keyof typeof INTAKE_CONTRACT): PublishedSchema {
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

interface PublishedSchema {
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

/**
 * The schema of the running validator in JSON Schema 2020-12. Both accept the same messages, with two exceptions that
 * JSON Schema cannot express: half a surrogate pair in a text, and an instant that leaves the years 1 to 9999 when its
 * offset is subtracted. By kind of message.
 */
const INTAKE_CONTRACT = {
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
