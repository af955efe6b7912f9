/**
 * `/indicators/points_of_interest` (specification, sections 2.4 and 4.5). The index is in memory: a request costs one
 * index query and the JSON of the result. Clients repeat the request for a displayed location, so whole answers are
 * cached until the points change.
 */

import type Router from '@koa/router';
import type { Context, Middleware } from 'koa';
import { LRUCache } from 'lru-cache';
import { FACILITIES, type PointOfInterest } from '../engine/domain/point-of-interest.ts';
import { NO_POINTS } from '../engine/matching/points/poi-index.ts';
import { number } from '../values.ts';
import { acceptable, answerJson, etagOf } from './content.ts';
import type { ApiDependencies } from './dependencies.ts';
import { viewId } from './hydra.ts';
import { choicesParameter, numberParameter, readQuery } from './query.ts';

export const POINTS_MAX = 1_000;

export const POINT_PARAMETERS = {
  'facilities[]': { ...choicesParameter('Categories; all of them by default.', FACILITIES), property: 'type' },
  lat: numberParameter('Latitude, degrees.', number(-90, 90)),
  lon: numberParameter('Longitude, degrees.', number(-180, 180)),
  radius: numberParameter('Distance in kilometres.', number(0, 50), 1),
} as const;

const ANSWERS_MAX = 10_000;
const ANSWERS_BYTES_MAX = 32 * 1024 * 1024;
/** Memory of a cached answer in addition to its text, approximately. */
const ENTRY_BYTES = 300;

const PATH = '/indicators/points_of_interest';

/** Adds the route, and returns a shortcut, so that this most requested resource skips the scan of all routes. */
export function pointRoutes(router: Router, dependencies: ApiDependencies): Middleware {
  const answerPoints = pointHandler(dependencies);
  router.get(PATH, acceptable, answerPoints);
  return (ctx, next) => {
    if (ctx.method !== 'GET' || ctx.path !== PATH) return next();
    return acceptable(ctx, async () => answerPoints(ctx));
  };
}

function pointHandler({ pointsOfInterest }: ApiDependencies): (ctx: Context) => void {
  const remembered = new LRUCache<string, { readonly body: Buffer; readonly etag: string }>({
    max: ANSWERS_MAX,
    maxSize: ANSWERS_BYTES_MAX,
    // Clients choose the URL, which may have up to 16 KiB.
    sizeCalculation: ({ body }, url) => body.length + url.length + ENTRY_BYTES,
  });
  let rememberedOf = NO_POINTS;

  return (ctx) => {
    const index = pointsOfInterest();
    if (index !== rememberedOf) remembered.clear();
    rememberedOf = index;
    const known = remembered.get(ctx.url);
    if (known !== undefined) return answerJson(ctx, known.body, 200, known.etag);
    const { 'facilities[]': facilities, lat, lon, radius: radiusKm } = readQuery(ctx, POINT_PARAMETERS);
    const points = index.within({ facilities, lat, lon, radiusKm, limit: POINTS_MAX });
    const envelope = JSON.stringify({
      '@context': '/contexts/PointOfInterest',
      '@id': ctx.path,
      '@type': 'hydra:Collection',
      'hydra:totalItems': points.length,
      'hydra:view': { '@id': viewId(ctx), '@type': 'hydra:PartialCollectionView' },
    });
    const body = Buffer.from(`${envelope.slice(0, -1)},"hydra:member":[${points.map(jsonOf).join(',')}]}`);
    const answer = { body, etag: etagOf(body) };
    remembered.set(ctx.url, answer);
    answerJson(ctx, body, 200, answer.etag);
  };
}

/**
 * Writes the same text as `JSON.stringify` in half the time: an answer may have a thousand points. `attributes` is an
 * object, or an empty list when there are none, as the specification requires.
 */
function jsonOf({ lat, lon, name, facility, attributes }: PointOfInterest): string {
  return `{"lat":${lat},"lon":${lon},"name":${JSON.stringify(name)},"type":"${facility}","attributes":${attributesOf(attributes)}}`;
}

function attributesOf(attributes: PointOfInterest['attributes']): string {
  const json = JSON.stringify(attributes);
  return json === '{}' ? '[]' : json;
}
