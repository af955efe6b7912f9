/** `/searches`: create, read, list, change and delete (specification, section 4; decisions, sections 2 and 7). */

import { Readable } from 'node:stream';
import type Router from '@koa/router';
import type { Context } from 'koa';
import { alternativesOf } from '../engine/domain/alternatives.ts';
import { parseUuid, type Uuid } from '../engine/domain/ids.ts';
import { EMAIL_STATUSES } from '../engine/domain/mail.ts';
import { COMBINATIONS_MAX } from '../engine/domain/points-criterion.ts';
import type { Search } from '../engine/domain/search.ts';
import type { SearchLimits } from '../engine/domain/search-limits.ts';
import type { ClientLimits } from '../engine/store/clients.ts';
import type { Queryable } from '../engine/store/database.ts';
import { listSearches, readSearchesOf } from '../engine/store/search-listing.ts';
import { CombinationLimitError, SearchLimitError } from '../engine/store/search-totals.ts';
import { createSearch, createSearchOnce, deleteSearch, readSearch, updateSearch } from '../engine/store/searches.ts';
import { listSiteCategories, type SiteCategory } from '../engine/store/site-categories.ts';
import { principalOf } from './auth.ts';
import { acceptable, answer, answerStream, answerVersion, isConditional, onceClosed, requireMeant } from './content.ts';
import type { ApiDependencies, EndpointRules } from './dependencies.ts';
import { collection, offsetOf } from './hydra.ts';
import { once } from './idempotency.ts';
import { jsonBody } from './json-body.ts';
import { ConcurrencyLimit, leaveTurn, type QueryLimiter, refuse } from './limits.ts';
import { invalid, notFound, Problem } from './problem.ts';
import { booleanParameter, choiceParameter, orderParameter, PAGING, readQuery, textParameter } from './query.ts';
import { type Lookups, searchDocument, searchIri } from './search-document.ts';
import { type InputRules, readNewSearch, readSearchChange } from './search-input.ts';
import { FAULTS, LIMITED, REFUSALS, THINGS, type Thing } from './sentences.ts';

export const SEARCH_LIST_PARAMETERS = {
  title: textParameter('Part of the title; case, accents, apostrophes and hyphens are ignored.'),
  q: {
    ...textParameter(
      'Words, each in `title`, `publicTitle`, the recipient or a text of `context`; case and accents are ignored.',
    ),
    property: 'title',
  },
  recipient: {
    ...textParameter('The whole address in `notificationRecipient`; case is ignored.', 320),
    property: 'notificationRecipient',
  },
  emailStatus: choiceParameter('The state of its e-mails.', EMAIL_STATUSES),
  notificationEnabled: booleanParameter('Whether notifications are enabled.'),
  'order[id]': orderParameter('id', ', which is the order of creation'),
  'order[title]': orderParameter('title'),
  'order[createdAt]': orderParameter('createdAt'),
  ...PAGING,
} as const;

export function searchRoutes(router: Router, dependencies: ApiDependencies, limiter: QueryLimiter): void {
  const { database, prepareEstimate } = dependencies;
  listRoute(router, dependencies, limiter);

  router.post('/searches', acceptable, jsonBody, async (ctx) => {
    const { clientId } = principalOf(ctx);
    const limits = limitsOf(principalOf(ctx), dependencies.settings.searchLimits);
    const { made: search, isNew } = await once(ctx, database, {
      async prepare() {
        const members = await readNewSearch(ctx.request.body, inputRules(ctx.state.baseUrl, dependencies));
        const estimate = await prepareEstimate?.();
        return { members, matchesPerMille: (await estimate?.(members)) ?? 0, limits };
      },
      make: ({ members, ...others }) => createSearch(database, clientId, members, others).catch(refuseBeyond),
      makeOnce: (request, search) => createSearchOnce(database, search, request).catch(refuseBeyond),
      readAgain: (id) => readSearch(database, clientId, id),
    });
    if (isNew) await untilMatched(ctx, dependencies);
    ctx.set('Location', searchIri(search.id));
    await answerSearch(ctx, search, dependencies, 201);
  });

  router.get('/searches/:id', acceptable, async (ctx) => {
    await answerSearch(ctx, await ownSearch(ctx, dependencies), dependencies);
  });

  const change = async (ctx: Context): Promise<void> => {
    const id = idOf(ctx, THINGS.search);
    // Ownership is checked before the members of the body.
    const stored = await ownSearch(ctx, dependencies);
    const [document = {}] = await searchDocuments([stored], dependencies);
    const present = { members: stored.members, document, isPatch: ctx.method === 'PATCH' };
    const { merge } = await readSearchChange(ctx.request.body, present, inputRules(ctx.state.baseUrl, dependencies));
    const requirePresent = await precondition(ctx, dependencies);
    const search = await updateSearch(database, principalOf(ctx).clientId, id, {
      merge(present) {
        requirePresent(present);
        return merge(present.members);
      },
      limits: limitsOf(principalOf(ctx), dependencies.settings.searchLimits),
      isConsentRequired: dependencies.settings.isConsentRequired,
      ...(prepareEstimate && { estimate: await prepareEstimate() }),
    }).catch(refuseBeyond);
    if (search === null) notFound(THINGS.search);
    await untilMatched(ctx, dependencies);
    await answerSearch(ctx, search, dependencies);
  };
  router.put('/searches/:id', acceptable, jsonBody, change);
  router.patch('/searches/:id', acceptable, jsonBody, change);

  router.delete('/searches/:id', async (ctx) => {
    const id = idOf(ctx, THINGS.search);
    const requirePresent = await precondition(ctx, dependencies);
    const isDeleted = await deleteSearch(database, principalOf(ctx).clientId, id, requirePresent);
    if (!isDeleted) notFound(THINGS.search);
    await untilMatched(ctx, dependencies);
    ctx.status = 204;
  });
}

/** The matcher may be busy for long. A write that waits for it gives up its turn (`createTurns`) to other clients. */
function untilMatched(ctx: Context, { searchChanged }: ApiDependencies): Promise<void> {
  leaveTurn(ctx);
  return searchChanged();
}

function listRoute(router: Router, dependencies: ApiDependencies, limiter: QueryLimiter): void {
  const { database } = dependencies;
  const answerPage = createLargeAnswers();
  router.get('/searches', acceptable, async (ctx) => {
    const query = readQuery(ctx, SEARCH_LIST_PARAMETERS);
    const { clientId } = principalOf(ctx);
    const { title, q: text, recipient, emailStatus: is, notificationEnabled } = query;
    const list = (from: Queryable) =>
      listSearches(from, clientId, {
        ...{ title, text, recipient, emailStatus: is && { is, rules: dependencies.settings }, notificationEnabled },
        order: query['order[title]'] === null ? 'creation' : 'title',
        direction: query['order[title]'] ?? query['order[id]'] ?? query['order[createdAt]'] ?? 'asc',
        ...offsetOf(query),
      });
    const readsRows = text !== null || is !== null;
    const { searches, numbers, total } = readsRows
      ? await limiter.runSingle(ctx, () => list(limiter.database))
      : await list(database);
    const members = await searchDocuments(searches ?? [], dependencies);
    const envelope = collection(ctx, { context: 'Search', members, totalItems: total });
    if (searches !== null) answer(ctx, envelope);
    else answerPage(ctx, envelope, documentsOf(readSearchesOf(database, clientId, numbers), dependencies));
  });
}

async function* documentsOf(searches: AsyncIterable<Search>, dependencies: ApiDependencies): AsyncGenerator<object> {
  const lookups = await lookupsOf(dependencies);
  for await (const search of searches) yield searchDocument(search, lookups);
}

/** The members of a search that deliveries, matches, visits, recipients and mail servers change. */
const CHANGED_BY_OTHERS: ReadonlySet<string> = new Set([
  'lastAlertAt',
  'seenAt',
  'newSinceSeen',
  'matchedLast7Days',
  'emailStatus',
  'emailFrequencyChosen',
]);

/** The client's own limits, or the defaults. */
export function limitsOf(client: ClientLimits, defaults: SearchLimits): SearchLimits {
  return {
    searches: client.searchesMax ?? defaults.searches,
    polygonCorners: client.polygonCornersMax ?? defaults.polygonCorners,
    excludedWords: client.excludedWordsMax ?? defaults.excludedWords,
    matchesPerAdvert: client.matchesPerAdvertMax ?? defaults.matchesPerAdvert,
  };
}

/** Throws a `Problem` for an exceeded limit, and any other error unchanged. */
export function refuseBeyond(error: unknown): never {
  if (error instanceof CombinationLimitError)
    throw invalid(error.path, FAULTS.combinations(COMBINATIONS_MAX), 'too_long');
  if (!(error instanceof SearchLimitError)) throw error;
  const { limit, maximum, used, added } = error;
  const detail = REFUSALS.beyond(limit, maximum, used, added);
  throw new Problem(403, detail, { type: '/docs.jsonld#LimitReached', members: { limit, maximum, used } });
}

/**
 * Returns a function that checks `If-Match` and `If-None-Match` against the search that a change has locked, and throws
 * a 412 `Problem`.
 */
async function precondition(ctx: Context, dependencies: ApiDependencies): Promise<(present: Search) => void> {
  if (!isConditional(ctx)) return () => undefined;
  const lookups = await lookupsOf(dependencies);
  return (present) => requireMeant(ctx, ownStateOf(searchDocument(present, lookups)));
}

/** The client's search with this id (default: the id in the path). Throws a 404 `Problem`. */
export async function ownSearch(
  ctx: Context,
  { database }: Pick<ApiDependencies, 'database'>,
  id: Uuid = idOf(ctx, THINGS.search),
): Promise<Search> {
  return (await readSearch(database, principalOf(ctx).clientId, id)) ?? notFound(THINGS.search);
}

/** The UUID in the path. Throws a 404 `Problem` for a malformed one: there is no such resource. */
export function idOf(ctx: Context, what: Thing): Uuid {
  return parseUuid(String(ctx.params.id)) ?? notFound(what);
}

export async function answerSearch(
  ctx: Context,
  search: Search,
  dependencies: ApiDependencies,
  status = 200,
): Promise<void> {
  const [document = {}] = await searchDocuments([search], dependencies);
  answerVersion(ctx, document, ownStateOf(document), status);
}

/** The members that only the client changes. */
function ownStateOf(document: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(document).filter(([name]) => !CHANGED_BY_OTHERS.has(name)));
}

async function searchDocuments(
  searches: readonly Search[],
  dependencies: ApiDependencies,
): Promise<Readonly<Record<string, unknown>>[]> {
  const needsCategories = searches.some(({ members }) =>
    [members, ...alternativesOf(members)].some(
      (one) => one.includedSiteCategories.length + one.excludedSiteCategories.length > 0,
    ),
  );
  const lookups = needsCategories ? await lookupsOf(dependencies) : lookupsWith([], dependencies);
  return searches.map((search) => searchDocument(search, lookups));
}

async function lookupsOf(dependencies: ApiDependencies): Promise<Lookups> {
  return lookupsWith(await listSiteCategories(dependencies.database), dependencies);
}

function lookupsWith(categories: readonly SiteCategory[], { reference, settings }: ApiDependencies): Lookups {
  const siteCategories = new Map(categories.map((category) => [category.id, category]));
  return { reference, siteCategories, mailRules: settings };
}

type RuleSources = Pick<ApiDependencies, 'database' | 'reference'> & { readonly settings: EndpointRules };

/** `baseUrl`: the URL of this service that the client uses. */
export function inputRules(baseUrl: string, { database, reference, settings }: RuleSources): InputRules {
  return {
    reference,
    baseUrl,
    allowPrivateEndpoints: settings.allowPrivateEndpoints,
    endpointPorts: settings.endpointPorts,
    siteCategoryIds: async () => new Set((await listSiteCategories(database)).map(({ id }) => id)),
  };
}

const LARGE_PAGES = { perClientMax: 2, allMax: 8 };

/**
 * Streams pages that are too large to build at once: a hundred searches with thousands of cities take a hundred
 * megabytes. The stream reads the next one of `members` when the connection accepts more bytes. Throws a 429 `Problem`
 * beyond a few such pages per client and in total. The pages have no entity tag: an answer begins before all bytes are
 * known.
 */
function createLargeAnswers() {
  const pages = new ConcurrencyLimit(LIMITED.largePages, LARGE_PAGES);
  return (ctx: Context, envelope: object, members: AsyncIterable<object>): void => {
    const leave = pages.tryEnter(principalOf(ctx).clientId);
    if (leave === null) refuse(REFUSALS.largePage, 1);
    onceClosed(ctx, leave);
    answerStream(ctx, Readable.from(textOf(envelope, members)));
  };
}

async function* textOf(envelope: object, members: AsyncIterable<object>): AsyncGenerator<string> {
  yield `${JSON.stringify({ ...envelope, 'hydra:member': undefined }).slice(0, -1)},"hydra:member":[`;
  let separator = '';
  for await (const member of members) {
    yield separator + JSON.stringify(member);
    separator = ',';
  }
  yield ']}';
}
