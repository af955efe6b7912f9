/**
 * Lists of everything that a client has, without naming a search. Each looks into all searches of the client, so they are
 * bounded in how far they reach, and made one after the other: an admin interface asks for a list and for what it can be
 * filtered by at once, several times over, and waits for the one before; who asks for more is asked to come again.
 */

import type { Context } from 'koa';
import type { Uuid } from '../engine/domain/ids.ts';
import { LISTED_MAX, type ListedPage } from '../engine/store/client-listings.ts';
import { principalOf } from './auth.ts';
import { type ConcurrencyLimit, createConcurrencyLimit } from './concurrency-limit.ts';
import { offsetOf, type Paging } from './hydra.ts';
import { Problem } from './problem.ts';
import { type Direction, orderParameter } from './query.ts';
import { LIMITED, REFUSALS } from './sentences.ts';

const LISTS = LIMITED.lists;
/** Those that wait included; how many that may be in all, the connections say. */
const ADMITTED = { perClientMax: 8, allMax: 10_000, retryAfterSeconds: 1 };
const AT_WORK = { perClientMax: 1, allMax: 8, retryAfterSeconds: 1 };

/** What it returns does `work` when what the client asked for before is done. Throws a 429 `Problem`. */
export function createListingLimit(): ConcurrencyLimit {
  const admit = createConcurrencyLimit(LISTS, ADMITTED);
  const begin = createConcurrencyLimit(LISTS, AT_WORK);
  const lastOf = new Map<Uuid, Promise<unknown>>();
  return (clientId, work) =>
    admit(clientId, async () => {
      const listed = (lastOf.get(clientId) ?? Promise.resolve()).then(() => begin(clientId, work));
      // The next one waits for the end of this one, whichever it is; what went wrong is reported to who asked.
      const ended = listed.catch(() => undefined);
      lastOf.set(clientId, ended);
      try {
        return await listed;
      } finally {
        if (lastOf.get(clientId) === ended) lastOf.delete(clientId);
      }
    });
}

const oneByOne = createListingLimit();

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
  if (limit <= 0) throw new Problem(400, REFUSALS.listed(LISTED_MAX));
  return oneByOne(principalOf(ctx).clientId, () => list({ ...page, limit }));
}
