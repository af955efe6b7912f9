/**
 * Lists of everything that a client has, without naming a search: bounded in how far they reach and in how many are made
 * at once, because each looks into all searches of the client.
 */

import type { Context } from 'koa';
import { LISTED_MAX, type ListedPage } from '../store/client-listings.ts';
import { principalOf } from './auth.ts';
import { createConcurrencyLimit } from './concurrency-limit.ts';
import { offsetOf, type Paging } from './hydra.ts';
import { Problem } from './problem.ts';
import { type Direction, orderParameter } from './query.ts';

/** An admin interface asks for a list and for what it can be filtered by at once, several times over. */
const LISTS_AT_ONCE = { perClientMax: 8, allMax: 16, retryAfterSeconds: 1 };

export const limitListings = createConcurrencyLimit('lists over all searches', LISTS_AT_ONCE);

/** Ids are made in the order of time, so both come to the same. */
export const TIME_ORDERS = {
  'order[id]': orderParameter('id', ', which is the order of time'),
  'order[createdAt]': orderParameter('createdAt'),
} as const;

type TimeOrdered = Paging & { readonly [Name in keyof typeof TIME_ORDERS]: Direction | null };

/** Newest first unless asked otherwise. */
export function timeOrderedPage(query: TimeOrdered): ListedPage {
  return { direction: query['order[id]'] ?? query['order[createdAt]'] ?? 'desc', ...offsetOf(query) };
}

/** `list` of the part of `page` that is within reach. Throws a 400 `Problem` when nothing of it is, and 429. */
export function listWithinReach<Page extends ListedPage, Listed>(
  ctx: Context,
  page: Page,
  list: (page: Page) => Promise<Listed>,
): Promise<Listed> {
  const limit = Math.min(page.limit, LISTED_MAX - page.offset);
  if (limit <= 0)
    throw new Problem(400, `only the first ${LISTED_MAX} are listed: order the other way, or name a search`);
  return limitListings(principalOf(ctx).clientId, () => list({ ...page, limit }));
}
