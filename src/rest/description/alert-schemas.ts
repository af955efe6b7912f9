/**
 * The messages that the service sends: the bodies and headers of webhooks (specification, section 6.2; decisions,
 * section 6) and the rejection of a crawler's message. `/openapi.json` and `/schemas` publish them; tests check them.
 */

import { z } from 'zod';
import type { EventKind } from '../../engine/domain/codes.ts';
import type { WebhookChannel } from '../../engine/domain/delivery.ts';
import { MESSAGE_ID_LENGTH_MAX, REASON_LENGTH_MAX } from '../../engine/domain/rejection.ts';
import { dateTime, text } from './field-schemas.ts';
import { AdEvent } from './property-schemas.ts';
import { RESOURCES } from './resource-schemas.ts';

const AlertedMatch = z
  .strictObject({ ...RESOURCES.Match.shape, propertyDocument: RESOURCES.PropertyDocument })
  .meta({ description: 'The match, with the property as it was directly after the change.' });

function alert(kind: EventKind) {
  return z.strictObject({
    event: z.literal(kind).meta({ description: 'Kind of the event.' }),
    ...(WITHOUT_FIELD.includes(kind) ? {} : { adEvent: AdEvent }),
    match: AlertedMatch,
  });
}

const Rejection = z.strictObject({
  reason: z.string().max(REASON_LENGTH_MAX).meta({ description: 'Reason of the rejection, in words.' }),
  violations: z
    .array(
      z.strictObject({
        propertyPath: text('Path of the invalid member, such as advert.pictures.0; empty for the message as a whole.'),
        message: text('Description of the error.'),
        code: text('A stable code for programs: the keyword of JSON Schema that the value violates.'),
      }),
    )
    .meta({ description: 'Errors of the message; empty if it is not JSON, or if the message itself is valid.' }),
  subject: text('Subject on which the message was published.'),
  sequence: z
    .int()
    .min(1)
    .meta({ description: 'Sequence number of the message in the stream, as in its acknowledgement.' }),
  messageId: z
    .string()
    .max(MESSAGE_ID_LENGTH_MAX)
    .nullable()
    .meta({ description: 'Nats-Msg-Id of the message; null if it had none.' }),
  receivedAt: dateTime('When the stream stored the message.'),
});

interface AlertWords {
  /** The name of the schema in the contracts. */
  readonly schema: string;
  readonly summary: string;
  readonly channels: readonly WebhookChannel[];
}

/** The schema and the channels of each kind of event: two kinds announce a new match, and all are events. */
export const ALERT_KINDS: Readonly<Record<EventKind, AlertWords>> = {
  'ad.update.price': { schema: 'PriceAlert', summary: 'The price of an advert has changed', channels: ['event'] },
  'ad.update.surface': { schema: 'SurfaceAlert', summary: 'The surface of an advert has changed', channels: ['event'] },
  'ad.update.pictures': { schema: 'PicturesAlert', summary: 'Pictures of an advert have changed', channels: ['event'] },
  'ad.update.expired': { schema: 'ExpiryAlert', summary: 'An advert has expired', channels: ['event'] },
  'ad.update.reactivated': {
    schema: 'ReactivationAlert',
    summary: 'An expired advert is live again',
    channels: ['event'],
  },
  'property.ad.create': { schema: 'CreationAlert', summary: 'There is a new advert', channels: ['match', 'event'] },
  'property.ad.update': { schema: 'UpdateAlert', summary: 'An advert has changed', channels: ['match', 'event'] },
  'property.match.end': {
    schema: 'EndAlert',
    summary: 'A live property of a match no longer satisfies the search',
    channels: ['event'],
  },
  'property.match.resume': {
    schema: 'ReturnAlert',
    summary: 'A property satisfies the search again after its end was notified',
    channels: ['event'],
  },
};

const WITHOUT_FIELD: readonly EventKind[] = ['property.ad.create', 'property.ad.update', 'property.match.resume'];

/** The messages, by their names in the contracts. */
export const ALERTS: Readonly<Record<string, z.ZodObject>> = {
  ...Object.fromEntries(Object.entries(ALERT_KINDS).map(([kind, { schema }]) => [schema, alert(kind as EventKind)])),
  Rejection,
};

export const CHANNELS: Readonly<Record<WebhookChannel, { readonly member: string; readonly when: string }>> = {
  match: {
    member: 'endpointRecipient',
    when: 'If notificationEnabled is true, the service sends it to endpointRecipient when a property starts to match.',
  },
  event: {
    member: 'eventEndpoint',
    when:
      'If the property satisfied the search before or after the change, the service sends it to eventEndpoint. This ' +
      'requires notificationEnabled and a subscription (subscribedEvents); eventThresholds may hold the event back.',
  },
};

/** The name of the webhook in OpenAPI, such as `eventAdUpdatePrice`. */
export function webhookName(kind: EventKind, channel: WebhookChannel): string {
  const words = kind.split('.').map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return `${channel}${words.join('')}`;
}

/** Sentences about success and retries, which are the same on both channels. */
export const ACKNOWLEDGEMENT =
  'HTTP 200 is the only success. After any other answer, or none within the deadline, the service retries one hour ' +
  'after the attempt, at most five times. A retry has the same webhook-id and the same bytes.';

export interface AlertHeader {
  readonly description: string;
  readonly schema: { readonly type: 'string'; readonly pattern?: string; readonly format?: string };
  readonly isRequired: boolean;
  readonly example: string;
}

/** The headers of each webhook, in lower case, in addition to those of HTTP itself. */
export const ALERT_HEADERS: Readonly<Record<string, AlertHeader>> = {
  'webhook-id': {
    description: 'Id of the delivery, the same on every retry, to recognise repeats (Standard Webhooks 1.0).',
    schema: { type: 'string', format: 'uuid' },
    isRequired: true,
    example: '0199a2f4-7c1e-7d3a-9b1c-2f4e6a8c0d1b',
  },
  'webhook-timestamp': {
    description: 'Time of the attempt, in seconds since 1970.',
    schema: { type: 'string', pattern: '^[0-9]+$' },
    isRequired: true,
    example: '1773130501',
  },
  'webhook-signature': {
    description:
      'Signatures separated by spaces: one with the token of the search, then one with each secret of the client ' +
      '(`/webhook-secrets`). Each is `v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64. It is enough to ' +
      'verify one of them.',
    schema: { type: 'string', pattern: '^v1,[A-Za-z0-9+/=]+( v1,[A-Za-z0-9+/=]+)*$' },
    isRequired: true,
    example: 'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  },
  'vigie-sequence': {
    description:
      'Number of the webhook among those of its match (`match.@id`), from 1 in the order of events, including those ' +
      'that only the feed has. Both endpoints of a search share this sequence. The number is the same on every ' +
      'attempt and resend. Keep the highest number of each match, and discard webhooks with a lower number. Do not ' +
      'wait for a missing number: a cancelled delivery leaves a gap, and a restored service continues with much ' +
      'higher numbers. Only a webhook of `/webhook-tester` has none.',
    schema: { type: 'string', pattern: '^[1-9][0-9]*$' },
    isRequired: false,
    example: '2',
  },
  'vigie-context': {
    description: 'The `context` of the search, JSON in base64url, if it has one.',
    schema: { type: 'string', pattern: '^[A-Za-z0-9_-]+$' },
    isRequired: false,
    example: 'eyJ1c2VyIjo0Mn0',
  },
  'user-agent': {
    description: 'The service and its version.',
    schema: { type: 'string', pattern: '^Vigie/' },
    isRequired: true,
    example: 'Vigie/0.1.0',
  },
  traceparent: {
    description: 'The trace of the advert’s message, if it had one (W3C Trace Context).',
    schema: { type: 'string' },
    isRequired: false,
    example: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  },
  tracestate: {
    description: 'The tracestate of the same message, at most 512 characters.',
    schema: { type: 'string' },
    isRequired: false,
    example: 'agency=t61rcWkgMzE',
  },
};
