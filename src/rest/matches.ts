/** `/matches`, for one search or all; `/searches/{id}/matches`, `/matches/{id}` (decisions, section 7). */

import type Router from '@koa/router';
import type { Context } from 'koa';
import { propertyDocument, propertyIri } from '../engine/domain/property-document.ts';
import type { Reference } from '../engine/reference/communes.ts';
import { ANY_TIME } from '../engine/store/delivery-filters.ts';
import {
  listMatches,
  listMatchesOfClient,
  listMatchesOfProperty,
  type MatchPage,
  type MatchRead,
  readMatch,
} from '../engine/store/match-reads.ts';
import { principalOf } from './auth.ts';
import { listWithinReach, TIME_ORDERS, timeOrderedPage } from './client-listings.ts';
import { acceptable, answer } from './content.ts';
import type { ApiDependencies } from './dependencies.ts';
import { collection, identityOf } from './hydra.ts';
import { notFound } from './problem.ts';
import { CREATED_AT, markParameter, PAGING, readQuery, referenceParameter, timeRangeOf } from './query.ts';
import { searchIri } from './search-document.ts';
import { idOf, ownSearch } from './searches.ts';
import { THINGS } from './sentences.ts';

export const SEARCH_MATCH_PARAMETERS = { mark: markParameter(''), ...TIME_ORDERS, ...PAGING } as const;

export const MATCH_LIST_PARAMETERS = {
  search: referenceParameter('The search whose matches are listed; without it, those of all searches.', 'searches'),
  property: referenceParameter('The property of the matches.', 'documents/properties'),
  ...CREATED_AT,
  ...SEARCH_MATCH_PARAMETERS,
} as const;

export function matchRoutes(router: Router, dependencies: ApiDependencies): void {
  const { database, reference } = dependencies;

  const answerPage = (ctx: Context, { matches, total, isCut }: MatchPage): void => {
    const members = matches.map((match) => matchDocument(match, reference));
    answer(ctx, collection(ctx, { context: 'Match', members, totalItems: total, estimated: isCut }));
  };

  router.get('/searches/:id/matches', acceptable, async (ctx) => {
    const query = readQuery(ctx, SEARCH_MATCH_PARAMETERS);
    const { number } = await ownSearch(ctx, dependencies);
    const wanted = { range: ANY_TIME, mark: query.mark, ...timeOrderedPage(query) };
    answerPage(ctx, await listMatches(database, number, wanted));
  });

  router.get('/matches', acceptable, async (ctx) => {
    const query = readQuery(ctx, MATCH_LIST_PARAMETERS);
    const wanted = { range: timeRangeOf(query), mark: query.mark, ...timeOrderedPage(query) };
    const { clientId } = principalOf(ctx);
    const search = query.search === null ? null : await ownSearch(ctx, dependencies, query.search);
    const list = (): Promise<MatchPage> => {
      if (query.property !== null) {
        const pair = { propertyUuid: query.property, searchNumber: search?.number ?? null };
        return listMatchesOfProperty(database, clientId, pair, wanted);
      }
      if (search !== null) return listMatches(database, search.number, wanted);
      return listWithinReach(ctx, wanted, (part) => listMatchesOfClient(database, clientId, part));
    };
    answerPage(ctx, await list());
  });

  router.get('/matches/:id', acceptable, async (ctx) => {
    const match = await readMatch(database, principalOf(ctx).clientId, idOf(ctx, THINGS.match));
    answer(ctx, matchDocument(match ?? notFound(THINGS.match), reference));
  });
}

export function matchDocument(match: MatchRead, { resolvePlace }: Pick<Reference, 'resolvePlace'>): object {
  const { stored, hidePropertyContact } = match;
  const options = { withContacts: !hidePropertyContact };
  return {
    ...identityOf('Match', `/matches/${match.id}`),
    property: propertyIri(match.propertyUuid),
    search: searchIri(match.searchId),
    createdAt: match.createdAt,
    updatedAt: match.updatedAt,
    propertyDocument: stored && propertyDocument(stored.state, stored.crawls, resolvePlace, options),
  };
}
