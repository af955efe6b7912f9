/** `POST /searches/preview` (decisions, section 11): what a search would find, before it is saved. */

import type Router from '@koa/router';
import { propertyIri } from '../../engine/domain/property-document.ts';
import type { Reference } from '../../engine/reference/communes.ts';
import { acceptable, answer } from '../../rest/content.ts';
import type { ApiDependencies } from '../../rest/dependencies.ts';
import { jsonBody } from '../../rest/json-body.ts';
import { numberParameter, readQuery } from '../../rest/query.ts';
import type { QueryLimiter } from '../../rest/query-limiter.ts';
import { readPreviewedSearch } from '../../rest/search-input.ts';
import { inputRules } from '../../rest/searches.ts';
import type { CountedPlace, PreviewFigures } from './preview-figures.ts';
import { queriesOf } from './queries.ts';

const DAYS = 30;
const SAMPLE = 20;
const PLACES_MAX = 2_000;

export const PREVIEW_PARAMETERS = {
  days: numberParameter(
    'Days that `startedPerDay` goes back, today included.',
    { min: 1, max: 90, isInteger: true },
    DAYS,
  ),
  sample: numberParameter('Properties that are shown, the newest ones.', { min: 0, max: 100, isInteger: true }, SAMPLE),
  places: numberParameter(
    'Properties whose places are answered, for a map.',
    { min: 0, max: PLACES_MAX, isInteger: true },
    0,
  ),
} as const;

export function previewRoutes(router: Router, dependencies: ApiDependencies, limiter: QueryLimiter): void {
  const askQuery = queriesOf(dependencies.askThread);
  router.post('/searches/preview', acceptable, jsonBody, async (ctx) => {
    const { days, sample, places } = readQuery(ctx, PREVIEW_PARAMETERS);
    const figures = await limiter.run(ctx, async (gone) => {
      const members = await readPreviewedSearch(ctx.request.body, inputRules(ctx, dependencies));
      const most = { sampleMax: sample, placesMax: places };
      return askQuery('preview', { members, days, ...most, now: dependencies.now() }, gone);
    });
    answer(ctx, previewDocument(figures, dependencies.reference));
  });
}

export function previewDocument(
  { sample, places, ...figures }: PreviewFigures,
  reference: Pick<Reference, 'city'>,
): object {
  const placeOf = ({ lat, lon, insee }: CountedPlace): readonly [lon: number, lat: number] | null => {
    if (lat !== null && lon !== null) return [lon, lat];
    const centre = insee === null ? null : (reference.city(insee)?.location ?? null);
    return centre && [centre.lon, centre.lat];
  };
  return {
    '@context': '/contexts/Preview',
    '@id': '/searches/preview',
    '@type': 'Preview',
    ...figures,
    sample: sample.map(({ uuid, satisfiedSince }) => ({ property: propertyIri(uuid), satisfiedSince })),
    places: places.map(placeOf).filter((place) => place !== null),
  };
}
