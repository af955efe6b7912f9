/** `/matches`, of one search or of all; `/searches/{id}/matches`, `/matches/{id}` (decisions, section 7). */

import type Router from '@koa/router';
import type { Context } from 'koa';
import { listMatches, listMatchesOfClient, type MatchPage, readMatch } from '../store/match-reads.ts';
import { principalOf } from './auth.ts';
import { listWithinReach, TIME_ORDERS, timeOrderedPage } from './client-listings.ts';
import { acceptable, answer } from './content.ts';
import type { ApiDependencies } from './dependencies.ts';
import { collection, type Paging } from './hydra.ts';
import { matchDocument } from './match-document.ts';
import { notFound } from './problem.ts';
import { PAGING, type Rules, readQuery, referenceParameter } from './query.ts';
import { idOf, ownSearch } from './searches.ts';

export const SEARCH_MATCH_PARAMETERS = { ...TIME_ORDERS, ...PAGING } as const;

export const MATCH_LIST_PARAMETERS = {
  search: referenceParameter('The search whose matches are listed; without it, those of all searches.', 'searches'),
  ...SEARCH_MATCH_PARAMETERS,
} as const;

export function matchRoutes(router: Router, dependencies: ApiDependencies): void {
  const { database, reference } = dependencies;

  const answerPage = (ctx: Context, { matches, total }: MatchPage, paging: Paging, parameters: Rules): void => {
    const members = matches.map((match) => matchDocument(match, reference));
    answer(ctx, collection(ctx, { context: 'Match', members, totalItems: total, paging, parameters }));
  };

  router.get('/searches/:id/matches', acceptable, async (ctx) => {
    const query = readQuery(ctx, SEARCH_MATCH_PARAMETERS);
    const { number } = await ownSearch(ctx, dependencies);
    const page = await listMatches(database, number, timeOrderedPage(query));
    answerPage(ctx, page, query, SEARCH_MATCH_PARAMETERS);
  });

  router.get('/matches', acceptable, async (ctx) => {
    const query = readQuery(ctx, MATCH_LIST_PARAMETERS);
    const wanted = timeOrderedPage(query);
    const page =
      query.search === null
        ? await listWithinReach(ctx, wanted, (part) => listMatchesOfClient(database, principalOf(ctx).clientId, part))
        : await listMatches(database, (await ownSearch(ctx, dependencies, query.search)).number, wanted);
    answerPage(ctx, page, query, MATCH_LIST_PARAMETERS);
  });

  router.get('/matches/:id', acceptable, async (ctx) => {
    const match = await readMatch(database, principalOf(ctx).clientId, idOf(ctx, 'this match'));
    if (match === null) throw notFound('this match');
    answer(ctx, matchDocument(match, reference));
  });
}
