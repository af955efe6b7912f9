/**
 * Everything that webhooks carry, to be read instead of received: the engine writes down what each transaction added, and
 * this feature only reads it.
 */

import type { Feature } from '../../feature.ts';
import { keptFor } from '../../metrics.ts';
import { FEED_CONTRACT } from './feed-contract.ts';
import { readFeedDelay } from './feed-reads.ts';
import { feedRoute } from './feed-route.ts';

export const feed: Feature = {
  name: 'feed',
  contract: FEED_CONTRACT,
  routes: feedRoute,
  measure(metrics, database) {
    metrics.gauge(
      'vigie_feed_held_up_seconds',
      'How long the oldest of what was recorded has waited to be shown in a feed',
      keptFor(() => readFeedDelay(database)),
    );
  },
};
