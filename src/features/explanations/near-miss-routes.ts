/** `/searches/{id}/near-misses` (decisions, section 11): live properties that fail by one criterion, and by how much. */

import type Router from '@koa/router';
import { CRITERION_NAMES } from '../../engine/domain/criterion-table.ts';
import { propertyIri } from '../../engine/domain/property-document.ts';
import { principalOf } from '../../rest/auth.ts';
import { acceptable, answer } from '../../rest/content.ts';
import type { ApiDependencies } from '../../rest/dependencies.ts';
import { collection, offsetOf } from '../../rest/hydra.ts';
import { notFound } from '../../rest/problem.ts';
import { choiceParameter, numberParameter, PAGING, readQuery } from '../../rest/query.ts';
import type { QueryLimiter } from '../../rest/query-limiter.ts';
import { idOf } from '../../rest/searches.ts';
import { THINGS } from '../../rest/sentences.ts';
import { type NearMiss, queriesOf } from './queries.ts';

const DAY_MS = 86_400_000;
const DAYS = 7;

export const NEAR_MISS_PARAMETERS = {
  days: numberParameter('Days within which the property was seen.', { min: 1, max: 90, isInteger: true }, DAYS),
  criterion: choiceParameter(
    'The one that they fail by, as `withoutCriterion` of a preview counts them.',
    CRITERION_NAMES,
  ),
  ...PAGING,
} as const;

export function nearMissRoutes(router: Router, dependencies: ApiDependencies, limiter: QueryLimiter): void {
  const askQuery = queriesOf(dependencies.askThread);
  router.get('/searches/:id/near-misses', acceptable, async (ctx) => {
    const query = readQuery(ctx, NEAR_MISS_PARAMETERS);
    const since = new Date(dependencies.now().getTime() - query.days * DAY_MS);
    const found = await limiter.run(ctx, async (gone) => {
      const search = { clientId: principalOf(ctx).clientId, searchId: idOf(ctx, THINGS.search) };
      return askQuery('nearMisses', { ...search, since, criterion: query.criterion, ...offsetOf(query) }, gone);
    });
    if (found === null) throw notFound(THINGS.search);
    const members = found.misses.map(nearMissDocument);
    const page = { context: 'NearMiss', members, totalItems: found.total, paging: query };
    answer(ctx, collection(ctx, { ...page, parameters: NEAR_MISS_PARAMETERS }));
  });
}

export function nearMissDocument({ uuid, ...miss }: NearMiss): object {
  return {
    '@context': '/contexts/NearMiss',
    '@id': propertyIri(uuid),
    '@type': 'NearMiss',
    property: propertyIri(uuid),
    ...miss,
  };
}
