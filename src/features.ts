/** All features of the service. Features never import each other. */

import type { Feature } from './feature.ts';
import { explanations } from './features/explanations/explanations.ts';
import { feed } from './features/feed/feed.ts';
import { feeds } from './features/feeds/feeds.ts';
import { mail } from './features/mail/mail.ts';
import { marks } from './features/marks/marks.ts';
import { recipients } from './features/recipients/recipients.ts';
import { recoveries } from './features/recoveries/recoveries.ts';

export const FEATURES: readonly Feature[] = [mail, recipients, recoveries, explanations, feed, feeds, marks];
