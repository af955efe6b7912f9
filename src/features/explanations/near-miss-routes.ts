/** `/searches/{id}/near-misses` (decisions, section 11): live properties that fail by one criterion, and by how much. */

import type Router from '@koa/router';
import { CRITERION_NAMES } from '../../engine/domain/criterion-table.ts';
import { parseUuid } from '../../engine/domain/ids.ts';
import { propertyIri } from '../../engine/domain/property-document.ts';
import { principalOf } from '../../rest/auth.ts';
import { acceptable, answer } from '../../rest/content.ts';
import type { ApiDependencies } from '../../rest/dependencies.ts';
import { collection, offsetOf } from '../../rest/hydra.ts';
import { notFound } from '../../rest/problem.ts';
import { BadParameter, choiceParameter, numberParameter, PAGING, readQuery } from '../../rest/query.ts';
import type { QueryLimiter } from '../../rest/query-limiter.ts';
import { idOf } from '../../rest/searches.ts';
import { FAULTS, THINGS } from '../../rest/sentences.ts';
import type { NearMissPlace } from './near-misses.ts';
import { type NearMiss, queriesOf } from './queries.ts';

const DAY_MS = 86_400_000;
const DAYS = 7;
const CURSOR_LENGTH_MAX = 80;

export const NEAR_MISS_PARAMETERS = {
  days: numberParameter('Days within which the property was seen.', { min: 1, max: 90, isInteger: true }, DAYS),
  criterion: choiceParameter(
    'The one that they fail by, as `withoutCriterion` of a preview counts them.',
    CRITERION_NAMES,
  ),
  ...PAGING,
  cursor: {
    description: 'The page behind the one whose `hydra:next` has it, whatever has changed since; goes before `page`.',
    schema: { type: 'string', maxLength: CURSOR_LENGTH_MAX },
    property: null,
    parse: ([value]: readonly string[]) => (value === undefined || value === '' ? null : readCursor(value)),
  },
} as const;

function writeCursor({ distance, uuid }: NearMissPlace): string {
  return `${distance ?? ''}_${uuid}`;
}

function readCursor(value: string): NearMissPlace | BadParameter {
  const [, distance = '', id = ''] = /^(\d+(?:\.\d+)?(?:e[-+]?\d+)?|)_(.*)$/.exec(value) ?? [];
  const uuid = parseUuid(id);
  return uuid === null
    ? new BadParameter(FAULTS.cursor)
    : { distance: distance === '' ? null : Number(distance), uuid };
}

export function nearMissRoutes(router: Router, dependencies: ApiDependencies, limiter: QueryLimiter): void {
  const askQuery = queriesOf(dependencies.askThread);
  router.get('/searches/:id/near-misses', acceptable, async (ctx) => {
    const query = readQuery(ctx, NEAR_MISS_PARAMETERS);
    const { criterion, cursor } = query;
    const since = new Date(dependencies.now().getTime() - query.days * DAY_MS);
    const found = await limiter.run(ctx, async (gone) => {
      const search = { clientId: principalOf(ctx).clientId, searchId: idOf(ctx, THINGS.search) };
      return askQuery('nearMisses', { ...search, since, criterion, after: cursor, ...offsetOf(query) }, gone);
    });
    if (found === null) throw notFound(THINGS.search);
    const members = found.misses.map(nearMissDocument);
    const last = found.hasMore ? found.misses.at(-1) : undefined;
    const next = last === undefined ? null : writeCursor(last);
    const page = { context: 'NearMiss', members, totalItems: found.total, paging: query, next };
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
