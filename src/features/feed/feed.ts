/**
 * The feed contains everything that webhooks send, for clients that poll instead. The engine records the items of each
 * transaction; this feature only reads (decisions, section 11).
 */

import type Router from '@koa/router';
import type { Context } from 'koa';
import { z } from 'zod';
import { Signal } from '../../engine/actor/waiting.ts';
import { WEBHOOK_CHANNELS } from '../../engine/domain/delivery.ts';
import type { SearchNumber, Uuid } from '../../engine/domain/ids.ts';
import { bodyOf, hasContacts } from '../../engine/domain/routing.ts';
import type { Feature } from '../../feature.ts';
import { keptForScrapes } from '../../metrics.ts';
import { principalOf, requireKeyStill } from '../../rest/auth.ts';
import { acceptable, answerJson, goneOf, onceClosed } from '../../rest/content.ts';
import type { ApiDependencies } from '../../rest/dependencies.ts';
import { dateTime, identity, integer, link, list, text, uuid } from '../../rest/description/field-schemas.ts';
import { linkNext } from '../../rest/hydra.ts';
import { ConcurrencyLimit, waitForOthers } from '../../rest/limits.ts';
import { Problem } from '../../rest/problem.ts';
import { numberParameter, readQuery, referenceParameter, textParameter } from '../../rest/query.ts';
import { type Contract, route, type Samples } from '../../rest/route.ts';
import { searchIri } from '../../rest/search-document.ts';
import { ownSearch } from '../../rest/searches.ts';
import { LIMITED, REFUSALS, type Sentence } from '../../rest/sentences.ts';
import { integer as integerRule } from '../../values.ts';
import {
  FEED_START,
  type FedDelivery,
  type FeedBounds,
  type FeedPage,
  type FeedPosition,
  type FeedScope,
  isBefore,
  readCursor,
  readFeed,
  readFeedBounds,
  readFeedDelay,
  readFeedEnd,
  readFeedKey,
  writeCursor,
} from './feed-reads.ts';

const LIMIT_MAX = 1_000;
const LIMIT_DEFAULT = 100;
const WAIT_SECONDS_MAX = 30;
const CURSOR_LENGTH_MAX = 255;
/** Accepted in place of a cursor; any cursor is longer. */
const LATEST = 'latest';

const FEED_PARAMETERS = {
  after: textParameter(
    'A cursor: the items after it are returned. `latest`: items recorded from now on. Without it, the feed begins ' +
      'with the oldest item kept.',
    CURSOR_LENGTH_MAX,
  ),
  search: referenceParameter('Only items of this search; all searches by default.', 'searches'),
  limit: numberParameter('Maximum number of items.', integerRule(1, LIMIT_MAX), LIMIT_DEFAULT),
  wait: numberParameter('Seconds to wait for a new item.', integerRule(0, WAIT_SECONDS_MAX), 0),
} as const;

/** A page stays in memory until its client has received it, so only a few large pages are allowed at a time. */
const PAGE_BYTES_MAX = 8 * 1_024 * 1_024;
const SMALL_PAGE_BYTES_MAX = 512 * 1_024;
const LARGE_PAGES = { perClientMax: 1, allMax: 8 };
const WAITING_PER_CLIENT_MAX = 4;
/** Maximum time that a request for one search looks for the first item. */
const SEARCHING_MAX_MS = 2_000;

interface FeedRequest {
  readonly scope: FeedScope;
  readonly searchNumber: SearchNumber | null;
  /** The client's position; null for the oldest kept item. */
  readonly after: FeedPosition | null;
  readonly limit: number;
  readonly waitMs: number;
}

/**
 * A long poll waits for new items. The announcement of a recorded batch wakes it up. It then reads with growing pauses,
 * because preceding transactions may still run. It also reads periodically, because an announcement may be lost.
 */
function feedRoute(router: Router, dependencies: ApiDependencies): void {
  const { database, settings, onFeed, onKeyChange, ending } = dependencies;
  const waits = createFeedWaits(ending);
  onFeed(waits.wake);
  // A revoked key must end its polls: each poll checks its key when it wakes.
  onKeyChange(() => waits.wake(null));
  const polls = new ConcurrencyLimit(LIMITED.feedPolls, {
    perClientMax: WAITING_PER_CLIENT_MAX,
    allMax: Math.max(1, Math.floor(settings.connectionsMax / 2)),
  });
  const largePages = new ConcurrencyLimit(LIMITED.largePages, LARGE_PAGES);
  let key: Buffer | null = null;

  router.get('/feed', acceptable, async (ctx) => {
    key ??= await readFeedKey(database);
    const request = await readRequest(ctx, dependencies, key);
    const gone = goneOf(ctx);
    const leave = largePages.tryEnter(request.scope.clientId);
    if (leave !== null) onceClosed(ctx, leave);
    const bytesMax = leave === null ? SMALL_PAGE_BYTES_MAX : PAGE_BYTES_MAX;
    const read = (after: FeedPosition | null) => readPage(request, after, bytesMax, dependencies);
    const readAgain = async (after: FeedPosition) => {
      await requireKeyStill(ctx);
      return read(after);
    };
    let page = await read(request.after);
    if (page.isEmpty && request.waitMs > 0 && !waits.isOver) {
      waitForOthers(ctx);
      page = await polls.run(request.scope.clientId, () =>
        waits.until(request.scope.clientId, request.waitMs, gone, page, (last) => readAgain(last.upTo)),
      );
    }
    answerPage(ctx, request, page, key);
  });
}

/** Throws a 400 `Problem` for an invalid cursor, and a 410 for a cursor of another epoch. */
async function readRequest(ctx: Context, dependencies: ApiDependencies, key: Buffer): Promise<FeedRequest> {
  const query = readQuery(ctx, FEED_PARAMETERS);
  const { clientId } = principalOf(ctx);
  const search = query.search === null ? null : await ownSearch(ctx, dependencies, query.search);
  const scope = { clientId, searchId: search?.id ?? null };
  const { limit, wait } = query;
  const request = { scope, searchNumber: search?.number ?? null, after: null, limit, waitMs: wait * 1_000 };
  if (query.after === null) return request;
  if (query.after === LATEST) return { ...request, after: await readFeedEnd(dependencies.database) };
  const cursor = readCursor(query.after, scope, key);
  const bounds = await readFeedBounds(dependencies.database, clientId);
  if (cursor === null) throw new Problem(400, REFUSALS.noCursor);
  if (cursor.givenIn !== bounds.epoch) {
    throw outdated(REFUSALS.cursorRestored, bounds, scope, key);
  }
  return { ...request, after: cursor.position };
}

interface Page extends FeedPage {
  readonly bounds: FeedBounds;
  readonly isEmpty: boolean;
}

async function readPage(
  { scope, searchNumber, limit }: FeedRequest,
  after: FeedPosition | null,
  bytesMax: number,
  { database }: ApiDependencies,
): Promise<Page> {
  const { clientId } = scope;
  const startedAt = performance.now();
  let position = after ?? FEED_START;
  for (;;) {
    const read = await readFeed(database, { clientId, after: position, searchNumber, limit, bytesMax });
    position = read.upTo;
    const isEmpty = read.deliveries.length === 0;
    if (isEmpty && read.isCut && performance.now() - startedAt < SEARCHING_MAX_MS) continue;
    // Read after the items, so that items removed in between are reported as removed.
    const bounds = await readFeedBounds(database, clientId);
    return { ...read, bounds, isEmpty };
  }
}

function answerPage(ctx: Context, { scope, after }: FeedRequest, page: Page, key: Buffer): void {
  const { deliveries, upTo, bounds } = page;
  if (after !== null && isBefore(after, bounds.floor)) {
    throw outdated(REFUSALS.cursorOld, bounds, scope, key);
  }
  const cursorAt = (position: FeedPosition): string => writeCursor({ givenIn: bounds.epoch, position }, scope, key);
  const items = deliveries.map((delivery) => feedItemJson(delivery, cursorAt(delivery.position)));
  const next = new URLSearchParams(ctx.querystring);
  next.set('after', cursorAt(upTo));
  linkNext(ctx, `${ctx.path}?${next.toString()}`);
  ctx.set('Cache-Control', 'no-store');
  answerJson(ctx, feedJson(items, cursorAt(upTo)), 200, null);
}

function outdated(why: Sentence, bounds: FeedBounds, scope: FeedScope, key: Buffer): Problem {
  const oldest = writeCursor({ givenIn: bounds.epoch, position: bounds.floor }, scope, key);
  return new Problem(410, REFUSALS.beginAgain(why), { members: { oldest } });
}

/** `items`: JSON of each item. */
function feedJson(items: readonly string[], next: string): string {
  const identity = '"@context":"/contexts/Feed","@id":"/feed","@type":"Feed"';
  return `{${identity},"items":[${items.join()}],"next":${JSON.stringify(next)}}`;
}

/** Embeds the body byte for byte as the webhook sends it, or null if the search now hides contacts in it. */
function feedItemJson(delivery: Omit<FedDelivery, 'position'>, cursor: string): string {
  const { id, sequence, searchId, context, channel, createdAt, head, document, hidesContacts } = delivery;
  const members = JSON.stringify({ cursor, id, sequence, search: searchIri(searchId) });
  const more = JSON.stringify({ channel, createdAt: createdAt.toISOString() });
  const isWithheld = hidesContacts && hasContacts(document);
  const body = isWithheld ? 'null,"withheld":true' : bodyOf(head, document);
  return `${members.slice(0, -1)},"context":${context ?? 'null'},${more.slice(1, -1)},"body":${body}}`;
}

/** First pause after the read that an announcement caused: earlier transactions may still run. The pause doubles. */
const POLL_FIRST_MS = 20;
/** Maximum pause, because an announcement may be lost. */
const POLL_MAX_MS = 5_000;

interface Poll {
  /** True if an announcement has arrived since the last read. */
  hasNews: boolean;
  /** Ends the current pause. */
  readonly wakeUp: Signal;
}

/** The waiting long polls by client, and functions that wake them. */
function createFeedWaits(ending: AbortSignal) {
  const polls = new Map<Uuid, Set<Poll>>();
  const notifyAll = (clientIds: Iterable<Uuid>): void => {
    for (const id of clientIds) {
      for (const poll of polls.get(id) ?? []) {
        poll.hasNews = true;
        poll.wakeUp.notify();
      }
    }
  };
  ending.addEventListener('abort', () => notifyAll(polls.keys()), { once: true });

  return {
    /** True once the process is shutting down: polls no longer wait. */
    get isOver() {
      return ending.aborted;
    },
    /** Wakes the polls of these clients; null means all clients. */
    wake: (clientIds: readonly Uuid[] | null): void => notifyAll(clientIds ?? polls.keys()),
    /** Reads again until an item arrives, `waitMs` is over, the client disconnects or the process stops. */
    async until(clientId: Uuid, waitMs: number, gone: AbortSignal, page: Page, read: (last: Page) => Promise<Page>) {
      const endsAt = performance.now() + waitMs;
      const poll: Poll = { hasNews: false, wakeUp: new Signal() };
      const ofClient = polls.get(clientId) ?? new Set<Poll>();
      polls.set(clientId, ofClient.add(poll));
      const leave = (): void => poll.wakeUp.notify();
      gone.addEventListener('abort', leave, { once: true });
      try {
        let last = page;
        // An announcement between the first read and this registration is missed, so the first pause is short.
        for (let restMs = POLL_FIRST_MS; last.isEmpty; ) {
          const leftMs = endsAt - performance.now();
          if (leftMs <= 0 || gone.aborted || ending.aborted) break;
          if (!last.isCut && !poll.hasNews) await poll.wakeUp.wait(Math.min(restMs, leftMs));
          if (gone.aborted) break;
          restMs = poll.hasNews ? POLL_FIRST_MS : Math.min(POLL_MAX_MS, restMs * 2);
          poll.hasNews = false;
          last = await read(last);
        }
        return last;
      } finally {
        gone.removeEventListener('abort', leave);
        ofClient.delete(poll);
        if (ofClient.size === 0 && polls.get(clientId) === ofClient) polls.delete(clientId);
      }
    },
  };
}

const FeedItem = z.strictObject({
  cursor: text('Cursor of the item: send it as `after` to continue after the item.'),
  id: uuid('Id of the delivery, the `webhook-id` of its webhook.'),
  sequence: integer('`Vigie-Sequence` of its webhook.'),
  search: link('Search', 'The search.'),
  context: z.unknown().meta({ description: 'Current context of the search.' }),
  channel: z.enum(WEBHOOK_CHANNELS).meta({ description: 'match or event.' }),
  createdAt: dateTime('When the change was recorded.'),
  body: z.unknown().meta({
    description: 'The body of the webhook, byte for byte; null if it is withheld.',
  }),
  withheld: z
    .boolean()
    .optional()
    .meta({ description: 'True if the item was recorded with contacts, which the search now hides.' }),
});

const Feed = z.strictObject({
  ...identity('Feed'),
  items: list(FeedItem, 'In the order of recording.'),
  next: text('Cursor to send as `after` in the next request, also if there are no items.'),
});

const FEED_CONTRACT: Contract = {
  routes: [
    route('get /feed', 'Feed', 'item', 'Reads the content of all webhooks, in order', {
      parameters: FEED_PARAMETERS,
      isUntagged: true,
      refusals: [410],
      details:
        'Everything that your webhooks carry, byte for byte, in the order of recording. The feed also has cancelled ' +
        'webhooks, and those of searches that notify but have no endpoint. Start without `after`, then send `next` ' +
        'of each answer as `after`; the header `Link` has the URL of that request. Nothing is ever added before a ' +
        'cursor that you have received. With `wait`, the answer arrives as soon as there is a new item. A page has ' +
        'at most 1000 items and, unless it is a single larger item, 8 MiB. The feed reaches back as far as deliveries ' +
        'are kept. The answer to an older cursor is 410: start again at its `oldest`.',
    }),
  ],
  resources: { Feed },
  groups: { Feed: 'The content of all webhooks, in order, for clients that poll.' },
  parts: { FeedItem },
  examples: (samples) => ({ Feed: feedExample(samples) }),
};

function feedExample({ at, ids, alert }: Samples): object {
  const scope = { clientId: ids.client, searchId: null };
  const position = { epoch: 0, transaction: 4_711n, id: ids.delivery };
  const cursor = writeCursor({ givenIn: 0, position }, scope, Buffer.from('nobody’s key'));
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
      'Age of the oldest recorded item that no feed can show yet',
      keptForScrapes(() => readFeedDelay(database)),
    );
  },
};
