/** `/searches/{id}/matches`, the same as `/matches?search=`, and `/matches/{id}` (decisions, section 7). */

import type Router from '@koa/router';
import type { Context } from 'koa';
import type { Search } from '../domain/search.ts';
import { listMatches, readMatch } from '../store/match-reads.ts';
import { principalOf } from './auth.ts';
import { acceptable, answer } from './content.ts';
import type { ApiDependencies } from './dependencies.ts';
import { collection, offsetOf, type Paging } from './hydra.ts';
import { matchDocument } from './match-document.ts';
import { notFound } from './problem.ts';
import { PAGING, type Rules, readQuery, referenceParameter } from './query.ts';
import { idOf, ownSearch } from './searches.ts';

export const MATCH_LIST_PARAMETERS = {
  search: referenceParameter('The search whose matches are listed.', 'searches'),
  ...PAGING,
} as const;

export function matchRoutes(router: Router, dependencies: ApiDependencies): void {
  const { database, reference } = dependencies;

  const answerMatches = async (ctx: Context, search: Search, paging: Paging, parameters: Rules): Promise<void> => {
    const { matches, total } = await listMatches(database, search.number, offsetOf(paging));
    const members = matches.map((match) => matchDocument(match, reference));
    answer(ctx, collection(ctx, { context: 'Match', members, totalItems: total, paging, parameters }));
  };

  router.get('/searches/:id/matches', acceptable, async (ctx) => {
    const paging = readQuery(ctx, PAGING);
    await answerMatches(ctx, await ownSearch(ctx, dependencies), paging, PAGING);
  });

  router.get('/matches', acceptable, async (ctx) => {
    const query = readQuery(ctx, MATCH_LIST_PARAMETERS);
    await answerMatches(ctx, await ownSearch(ctx, dependencies, query.search), query, MATCH_LIST_PARAMETERS);
  });

  router.get('/matches/:id', acceptable, async (ctx) => {
    const match = await readMatch(database, principalOf(ctx).clientId, idOf(ctx, 'this match'));
    if (match === null) throw notFound('this match');
    answer(ctx, matchDocument(match, reference));
  });
}
