/** `/searches/{id}/matches` and `/matches/{id}` (decisions, section 7). */

import type Router from '@koa/router';
import { listMatches, readMatch } from '../store/match-reads.ts';
import { principalOf } from './auth.ts';
import { acceptable, answer } from './content.ts';
import type { ApiDependencies } from './dependencies.ts';
import { collection, offsetOf } from './hydra.ts';
import { matchDocument } from './match-document.ts';
import { notFound } from './problem.ts';
import { PAGING, readQuery } from './query.ts';
import { idOf, ownSearch } from './searches.ts';

export function matchRoutes(router: Router, dependencies: ApiDependencies): void {
  const { database, reference } = dependencies;

  router.get('/searches/:id/matches', acceptable, async (ctx) => {
    const paging = readQuery(ctx, PAGING);
    const search = await ownSearch(ctx, dependencies);
    const { matches, total } = await listMatches(database, search.number, offsetOf(paging));
    const members = matches.map((match) => matchDocument(match, reference));
    answer(ctx, collection(ctx, { context: 'Match', members, totalItems: total, paging, search: {} }));
  });

  router.get('/matches/:id', acceptable, async (ctx) => {
    const match = await readMatch(database, principalOf(ctx).clientId, idOf(ctx, 'this match'));
    if (match === null) throw notFound('this match');
    answer(ctx, matchDocument(match, reference));
  });
}
