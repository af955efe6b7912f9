/**
 * Lists over all searches of a client. Each list reads all searches of the client. Its offset is therefore limited, and
 * the lists of a client run one after the other. An admin interface requests a list and its filters several times at
 * once, so a few requests may wait. The client must retry further ones.
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

/** At a time, one list per client and eight in total. Seven more of each client may wait. */
const LISTS = new ConcurrencyLimit(LIMITED.lists, { perClientMax: 1, allMax: 8, waitingMax: 7 });

/** Ids are created in time order, so both orders are the same. */
export const TIME_ORDERS = {
  'order[id]': orderParameter('id', ', which is the order of creation'),
  'order[createdAt]': orderParameter('createdAt'),
} as const;

type TimeOrdered = Paging & { readonly [Name in keyof typeof TIME_ORDERS]: Direction | null };

export function timeOrderedPage(query: TimeOrdered): ListedPage {
  return { direction: query['order[id]'] ?? query['order[createdAt]'] ?? 'desc', ...offsetOf(query) };
}

/** Lists the part of `page` that is within the limit. Throws a 400 `Problem` if no part is, and 429 `Problem`s. */
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
