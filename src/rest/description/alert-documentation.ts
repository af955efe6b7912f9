/** The `webhooks` section of the OpenAPI document: each kind of event on each channel that carries it. */

import { EVENT_KINDS, type EventKind } from '../../engine/domain/codes.ts';
import type { WebhookChannel } from '../../engine/domain/delivery.ts';
import { ACKNOWLEDGEMENT, ALERT_HEADERS, ALERT_KINDS, CHANNELS } from './alert-schemas.ts';
import { JSON_SCHEMAS } from './json-schemas.ts';

export const WEBHOOK_TAG = { name: 'Webhooks', description: 'What the service sends to the endpoints of a search.' };

/** `examples`: a body by kind and channel. */
export function webhooks(exampleOf: (kind: EventKind, channel: WebhookChannel) => object): Record<string, object> {
  const sent = EVENT_KINDS.flatMap((kind) => ALERT_KINDS[kind].channels.map((channel) => ({ kind, channel })));
  return Object.fromEntries(
    sent.map(({ kind, channel }) => [
      webhookName(kind, channel),
      { post: operation(kind, channel, exampleOf(kind, channel)) },
    ]),
  );
}

/** Such as `eventAdUpdatePrice`. */
export function webhookName(kind: EventKind, channel: WebhookChannel): string {
  const words = kind.split('.').map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return `${channel}${words.join('')}`;
}

function operation(kind: EventKind, channel: WebhookChannel, example: object): object {
  const { schema, summary } = ALERT_KINDS[kind];
  const name = webhookName(kind, channel);
  return {
    operationId: `on${name.charAt(0).toUpperCase()}${name.slice(1)}`,
    summary: `${summary} (${CHANNELS[channel].member})`,
    description: `\`${kind}\`. ${CHANNELS[channel].when}\n\n${ACKNOWLEDGEMENT}`,
    tags: [WEBHOOK_TAG.name],
    security: [],
    parameters: Object.entries(ALERT_HEADERS).map(
      ([header, { description, schema: value, isRequired, example: seen }]) => {
        return { name: header, in: 'header', description, required: isRequired, schema: value, example: seen };
      },
    ),
    requestBody: {
      required: true,
      description: 'The same bytes on every attempt.',
      // Not by name: a generator leaves schemas out that no path leads to.
      content: { 'application/json': { schema: JSON_SCHEMAS[schema], example } },
    },
    responses: {
      200: { description: 'You have it.' },
      '4XX': { description: 'You do not have it: tried again in one hour.' },
      '5XX': { description: 'You do not have it: tried again in one hour.' },
    },
  };
}
