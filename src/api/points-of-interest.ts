/**
 * `/indicators/points_of_interest` (specification, sections 2.4 and 4.5). The index is in memory and so is the JSON of
 * each point, written when it is first answered: a request costs the walk through the index and a join.
 */

import type Router from '@koa/router';
import { FACILITIES, type PointOfInterest } from '../domain/point-of-interest.ts';
import { acceptable, answerText } from './content.ts';
import type { ApiDependencies } from './dependencies.ts';
import { viewId } from './hydra.ts';
import { choicesParameter, numberParameter, readQuery } from './query.ts';

export const POINTS_MAX = 1_000;

export const POINT_PARAMETERS = {
  'facilities[]': { ...choicesParameter('Categories; none: all of them.', FACILITIES), property: 'type' },
  lat: numberParameter('Latitude, degrees.', { min: -90, max: 90 }),
  lon: numberParameter('Longitude, degrees.', { min: -180, max: 180 }),
  radius: numberParameter('Distance in kilometres.', { min: 0, max: 50 }, 1),
} as const;

export function pointRoutes(router: Router, { pointsOfInterest = () => [] }: ApiDependencies): void {
  const written = new WeakMap<PointOfInterest, string>();
  const jsonOf = (point: PointOfInterest): string => {
    const known = written.get(point);
    if (known !== undefined) return known;
    const json = JSON.stringify(pointDocument(point));
    written.set(point, json);
    return json;
  };

  router.get('/indicators/points_of_interest', acceptable, (ctx) => {
    const { 'facilities[]': facilities, lat, lon, radius: radiusKm } = readQuery(ctx, POINT_PARAMETERS);
    const points = pointsOfInterest({ facilities, lat, lon, radiusKm, limit: POINTS_MAX });
    const envelope = JSON.stringify({
      '@context': '/contexts/PointOfInterest',
      '@id': ctx.path,
      '@type': 'hydra:Collection',
      'hydra:totalItems': points.length,
      'hydra:view': { '@id': viewId(ctx), '@type': 'hydra:PartialCollectionView' },
    });
    answerText(ctx, `${envelope.slice(0, -1)},"hydra:member":[${points.map(jsonOf).join(',')}]}`);
  });
}

/** `attributes` is an object, or an empty list when nothing is known, as the specification has it. */
function pointDocument({ lat, lon, name, facility, attributes }: PointOfInterest): object {
  const isBlank = Object.keys(attributes).length === 0;
  return { lat, lon, name, type: facility, attributes: isBlank ? [] : attributes };
}
