/**
 * Everything that webhooks carry, to be read instead of received: the engine writes down what each transaction added, and
 * this feature only reads it (decisions, section 11).
 */

import { z } from 'zod';
import { WEBHOOK_CHANNELS } from '../../engine/domain/delivery.ts';
import type { Feature } from '../../feature.ts';
import { keptForScrapes } from '../../metrics.ts';
import { dateTime, identity, integer, link, list, text, uuid } from '../../rest/description/field-schemas.ts';
import { type Contract, route, type Samples } from '../../rest/route.ts';
import { writeCursor } from './feed-cursor.ts';
import { readFeedDelay } from './feed-reads.ts';
import { FEED_PARAMETERS, feedItemJson, feedJson, feedRoute } from './feed-route.ts';

const FeedItem = z.strictObject({
  cursor: text('Asks for what comes behind the item.'),
  id: uuid('Of the delivery: `webhook-id` of its webhook.'),
  sequence: integer('`Vigie-Sequence` of its webhook.'),
  search: link('Search', 'The search.'),
  context: z.unknown().meta({ description: 'Of the search, as it is now.' }),
  channel: z.enum(WEBHOOK_CHANNELS).meta({ description: 'match or event.' }),
  createdAt: dateTime('When the change was recorded.'),
  body: z.unknown().meta({
    description: 'What the webhook carries, byte for byte; null when it is withheld.',
  }),
  withheld: z
    .boolean()
    .optional()
    .meta({ description: 'True: it was recorded with contacts, which the search hides by now.' }),
});

const Feed = z.strictObject({
  ...identity('Feed'),
  items: list(FeedItem, 'In the order of recording.'),
  next: text('To go on with, as `after`, whether there are items or not.'),
});

const FEED_CONTRACT: Contract = {
  routes: [
    route('get /feed', 'Feed', 'item', 'Reads what webhooks carry, in order', {
      ...{ parameters: FEED_PARAMETERS, isUntagged: true, refusals: [410] },
      details:
        'Everything that your webhooks carry, byte for byte, in the order in which it was recorded: also what was cancelled, ' +
        'and what searches that notify would get if they had an endpoint. Begin without `after`, then go on with `next`, which `Link` leads to as well: ' +
        'nothing is ever added before a cursor that you have. With `wait` the answer comes as soon as there is something. At ' +
        'most 1000 items and 8 MiB a page. The feed reaches back as far as deliveries are kept: an older cursor is a 410, ' +
        'whose `oldest` is where to begin again.',
    }),
  ],
  resources: { Feed },
  groups: { Feed: 'Everything that webhooks carry, in order, to be read instead of received.' },
  parts: { FeedItem },
  examples: (samples) => ({ Feed: feedExample(samples) }),
};

function feedExample({ at, ids, alert }: Samples): object {
  const scope = { clientId: ids.client, searchId: null };
  const place = { epoch: 0, transaction: 4_711n, id: ids.delivery };
  const cursor = writeCursor({ givenIn: 0, place }, scope, Buffer.from('nobody’s key'));
  const [head = '', document = ''] = JSON.stringify(alert('ad.update.price', 'event')).split(
    /(?<="propertyDocument":)/,
  );
  const item = {
    id: ids.delivery,
    sequence: 2,
    searchId: ids.search,
    context: '{"user":42}',
    channel: 'event',
  } as const;
  const recorded = { createdAt: at, head, document: document.slice(0, -'}}'.length), hidesContacts: false };
  return JSON.parse(feedJson([feedItemJson({ ...item, ...recorded }, cursor)], cursor));
}

export const feed: Feature = {
  name: 'feed',
  contract: FEED_CONTRACT,
  routes: feedRoute,
  measure(metrics, database) {
    metrics.gauge(
      'vigie_feed_held_up_seconds',
      'How long the oldest of what was recorded has waited to be shown in a feed',
      keptForScrapes(() => readFeedDelay(database)),
    );
  },
};
