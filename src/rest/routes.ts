/**
 * The table of everything the API serves to its clients. OpenAPI and the Hydra documentation are written from it, and
 * a test holds it against the router: what is served is listed, what is listed is served.
 */

import { DELIVERY_LIST_PARAMETERS, SEARCH_DELIVERY_PARAMETERS } from './deliveries.ts';
import type { ResourceName } from './description/resource-schemas.ts';
import { EXPLANATION_LIST_PARAMETERS, EXPLANATION_PARAMETERS } from './explanations.ts';
import { FEED_PARAMETERS } from './feed.ts';
import { FOUND_PROPERTY_PARAMETERS } from './found-properties.ts';
import { LOCATION_PARAMETERS } from './location-completion.ts';
import { MATCH_LIST_PARAMETERS, SEARCH_MATCH_PARAMETERS } from './matches.ts';
import { NEAR_MISS_PARAMETERS } from './near-misses.ts';
import { POINT_PARAMETERS } from './points-of-interest.ts';
import { PREVIEW_PARAMETERS } from './previews.ts';
import { PROPERTY_LIST_PARAMETERS } from './properties.ts';
import type { Rules } from './query.ts';
import { RECOVERY_PARAMETERS } from './recoveries.ts';
import {
  CITY_LIST_PARAMETERS,
  DEPARTMENT_LIST_PARAMETERS,
  SITE_CATEGORY_LIST_PARAMETERS,
  USER_LIST_PARAMETERS,
} from './reference.ts';
import { SEARCH_LIST_PARAMETERS } from './searches.ts';
import { WEBHOOK_SECRET_PARAMETERS } from './webhook-secrets.ts';
import { WEBHOOK_TEST_PARAMETERS } from './webhook-tester.ts';

export interface Route {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** In OpenAPI's notation. */
  readonly path: string;
  readonly summary: string;
  readonly resource: ResourceName;
  readonly answers: 'item' | 'collection' | 'nothing';
  readonly parameters: Rules;
  readonly body: BodyName | null;
  /** One of its parameters must be sent, whichever: it is no list that can be read bare. */
  readonly takesSome?: boolean;
  /** Of success, where the method does not say it. */
  readonly status?: 200 | 202;
  /** It takes an `Idempotency-Key`. */
  readonly isIdempotent?: true;
  /** Its answers are never the same twice, and have no tag. */
  readonly isUntagged?: true;
  /** Refusals of its own, beside those that everything of its kind has. */
  readonly refusals?: readonly (404 | 409 | 410)[];
}

export type BodyName =
  | 'SearchCreation'
  | 'SearchChange'
  | 'SearchPreview'
  | 'WebhookSecretCreation'
  | 'RecoveryCreation';

function get(
  path: string,
  resource: ResourceName,
  answers: Route['answers'],
  summary: string,
  parameters: Rules = {},
): Route {
  return { method: 'get', path, summary, resource, answers, parameters, body: null };
}

function change(method: 'post' | 'put' | 'patch', path: string, summary: string): Route {
  const body = method === 'post' ? 'SearchCreation' : 'SearchChange';
  return { method, path, summary, resource: 'Search', answers: 'item', parameters: {}, body };
}

export const ROUTES: readonly Route[] = [
  get('/searches', 'Search', 'collection', 'Lists your searches', SEARCH_LIST_PARAMETERS),
  { ...change('post', '/searches', 'Creates a search'), isIdempotent: true, refusals: [409, 410] },
  get('/searches/{id}', 'Search', 'item', 'Reads a search'),
  change('put', '/searches/{id}', 'Changes the members that are sent'),
  change('patch', '/searches/{id}', 'Changes the members that are sent (merge patch)'),
  {
    ...{ method: 'delete', path: '/searches/{id}', resource: 'Search', answers: 'nothing', parameters: {}, body: null },
    summary: 'Deletes a search and cancels its open deliveries',
  },
  {
    ...{
      method: 'post',
      path: '/searches/{id}/email-confirmation',
      resource: 'Search',
      answers: 'item',
      parameters: {},
    },
    ...{ body: null, status: 202, refusals: [409], summary: 'Asks whether an unsubscription still holds' },
  },
  {
    ...{ method: 'post', path: '/searches/preview', resource: 'Preview', answers: 'item', body: 'SearchPreview' },
    ...{ summary: 'Tries a search out without saving it', parameters: PREVIEW_PARAMETERS },
  },
  {
    ...get('/searches/{id}/explanation', 'Explanation', 'item', 'Explains a search and a property'),
    ...{ parameters: EXPLANATION_PARAMETERS, takesSome: true },
  },
  {
    ...get(
      '/explanations',
      'Explanation',
      'collection',
      'Lists the searches that a property satisfies, or nearly does',
    ),
    ...{ parameters: EXPLANATION_LIST_PARAMETERS, takesSome: true },
  },
  get(
    '/searches/{id}/near-misses',
    'NearMiss',
    'collection',
    'Lists what nearly satisfies a search',
    NEAR_MISS_PARAMETERS,
  ),
  get(
    '/searches/{id}/properties',
    'FoundProperty',
    'collection',
    'Lists what satisfies a search now',
    FOUND_PROPERTY_PARAMETERS,
  ),
  get(
    '/searches/{id}/matches',
    'Match',
    'collection',
    'Lists the matches of a search, newest first',
    SEARCH_MATCH_PARAMETERS,
  ),
  get('/matches', 'Match', 'collection', 'Lists your matches, newest first', MATCH_LIST_PARAMETERS),
  get('/matches/{id}', 'Match', 'item', 'Reads a match'),
  get(
    '/searches/{id}/deliveries',
    'Delivery',
    'collection',
    'Lists the deliveries of a search, newest first',
    SEARCH_DELIVERY_PARAMETERS,
  ),
  get('/deliveries', 'Delivery', 'collection', 'Lists your deliveries, newest first', DELIVERY_LIST_PARAMETERS),
  get('/deliveries/{id}', 'Delivery', 'item', 'Reads a delivery with its attempts'),
  {
    ...{ method: 'post', path: '/deliveries/{id}/resend', resource: 'Delivery', answers: 'item', parameters: {} },
    ...{ body: null, status: 202, refusals: [409], summary: 'Sends a delivery again' },
  },
  {
    ...get('/feed', 'Feed', 'item', 'Reads what webhooks carry, in order', FEED_PARAMETERS),
    ...{ isUntagged: true, refusals: [410] },
  },
  get('/recoveries', 'Recovery', 'collection', 'Lists your recoveries, newest first', RECOVERY_PARAMETERS),
  {
    ...{ method: 'post', path: '/recoveries', resource: 'Recovery', answers: 'item', parameters: {}, status: 202 },
    ...{
      body: 'RecoveryCreation',
      isIdempotent: true,
      refusals: [404, 409, 410],
      summary: 'Sends everything since again',
    },
  },
  get('/recoveries/{id}', 'Recovery', 'item', 'Reads how far a recovery has come'),
  {
    ...{ method: 'delete', path: '/recoveries/{id}', resource: 'Recovery', answers: 'nothing', parameters: {} },
    ...{ body: null, summary: 'Stops a recovery; what is under way goes on' },
  },
  get(
    '/webhook-secrets',
    'WebhookSecret',
    'collection',
    'Lists the secrets that sign all your webhooks',
    WEBHOOK_SECRET_PARAMETERS,
  ),
  {
    ...{ method: 'post', path: '/webhook-secrets', resource: 'WebhookSecret', answers: 'item', parameters: {} },
    ...{ body: 'WebhookSecretCreation', refusals: [409], summary: 'Makes a secret, and lets the older ones expire' },
  },
  get('/webhook-secrets/{id}', 'WebhookSecret', 'item', 'Reads a secret without its value'),
  {
    ...{ method: 'delete', path: '/webhook-secrets/{id}', resource: 'WebhookSecret', answers: 'nothing' },
    ...{ parameters: {}, body: null, summary: 'Deletes a secret: nothing is signed with it any more' },
  },
  get('/documents/properties', 'PropertyDocument', 'collection', 'Lists what you matched', PROPERTY_LIST_PARAMETERS),
  get('/documents/properties/{uuid}', 'PropertyDocument', 'item', 'Reads a property document'),
  get('/cities', 'City', 'collection', 'Lists cities', CITY_LIST_PARAMETERS),
  get('/cities/{id}', 'City', 'item', 'Reads a city'),
  get('/departments', 'Department', 'collection', 'Lists departments', DEPARTMENT_LIST_PARAMETERS),
  get('/departments/{id}', 'Department', 'item', 'Reads a department'),
  get('/site_categories', 'SiteCategory', 'collection', 'Lists site categories', SITE_CATEGORY_LIST_PARAMETERS),
  get('/site_categories/{id}', 'SiteCategory', 'item', 'Reads a site category'),
  get('/users', 'User', 'collection', 'Lists yourself', USER_LIST_PARAMETERS),
  get('/users/{id}', 'User', 'item', 'Reads yourself'),
  get('/indicators/points_of_interest', 'PointOfInterest', 'collection', 'Lists points nearby', POINT_PARAMETERS),
  get('/public/location-autocomplete', 'Location', 'collection', 'Completes the name of a place', LOCATION_PARAMETERS),
  get('/webhook-tester', 'WebhookTest', 'item', 'Sends one signed test delivery', WEBHOOK_TEST_PARAMETERS),
];

/** What lists the resource and can be read bare; null when nothing does. */
export function collectionPath(resource: ResourceName): string | null {
  const route = ROUTES.find(
    ({ answers, parameters, path, ...one }) =>
      one.resource === resource &&
      answers === 'collection' &&
      !path.includes('{') &&
      one.takesSome !== true &&
      Object.values(parameters).every(({ isRequired = false }) => !isRequired),
  );
  return route?.path ?? null;
}
