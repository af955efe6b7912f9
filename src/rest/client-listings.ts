/**
 * Lists over all searches of a client. Each reads all searches of the client, so their reach is bounded, and a client's
 * run one after the other: an admin interface requests a list and its filters at once, several times over, and waits
 * for the previous one; beyond that the client is asked to retry later.
 */

import type { Context } from 'koa';
import { LISTED_MAX, type ListedPage } from '../engine/store/client-listings.ts';
import { principalOf } from './auth.ts';
import { goneOf } from './content.ts';
import { offsetOf, type Paging } from './hydra.ts';
import { ConcurrencyLimit } from './limits.ts';
import { Problem } from './problem.ts';
import { type Direction, orderParameter } from './query.ts';
import { LIMITED, REFUSALS } from './sentences.ts';

/** One at a time of a client; seven more may wait. */
const LISTS = new ConcurrencyLimit(LIMITED.lists, { perClientMax: 1, allMax: 8, waitingMax: 7 });

/** Ids are created in time order, so both orders are the same. */
export const TIME_ORDERS = {
  'order[id]': orderParameter('id', ', which is the order of time'),
  'order[createdAt]': orderParameter('createdAt'),
} as const;

type TimeOrdered = Paging & { readonly [Name in keyof typeof TIME_ORDERS]: Direction | null };

/** Newest first unless asked otherwise. */
export function timeOrderedPage(query: TimeOrdered): ListedPage {
  return { direction: query['order[id]'] ?? query['order[createdAt]'] ?? 'desc', ...offsetOf(query) };
}

/** `list` for the part of `page` that is within reach. Throws a 400 `Problem` when no part is, and 429. */
export function listWithinReach<Page extends ListedPage, Listed>(
  ctx: Context,
  page: Page,
  list: (page: Page) => Promise<Listed>,
): Promise<Listed> {
  const limit = Math.min(page.limit, LISTED_MAX - page.offset);
  if (limit <= 0) throw new Problem(400, REFUSALS.listed(LISTED_MAX));
  return LISTS.run(
    principalOf(ctx).clientId,
    () => list({ ...page, limit }),
    () => goneOf(ctx),
  );
}
