/**
 * The table of everything the API serves to its clients. OpenAPI and the Hydra documentation are written from it, and
 * a test holds it against the router: what is served is listed, what is listed is served.
 */

import { DELIVERY_LIST_PARAMETERS, SEARCH_DELIVERY_PARAMETERS } from './deliveries.ts';
import { MATCH_LIST_PARAMETERS } from './matches.ts';
import { POINT_PARAMETERS } from './points-of-interest.ts';
import { PROPERTY_LIST_PARAMETERS } from './properties.ts';
import { PAGING, type Rules } from './query.ts';
import { CITY_LIST_PARAMETERS } from './reference.ts';
import type { ResourceName } from './resource-schemas.ts';
import { SEARCH_LIST_PARAMETERS } from './searches.ts';
import { WEBHOOK_TEST_PARAMETERS } from './webhook-tester.ts';

export interface Endpoint {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** In OpenAPI's notation. */
  readonly path: string;
  readonly summary: string;
  readonly resource: ResourceName;
  readonly answers: 'item' | 'collection' | 'nothing';
  readonly parameters: Rules;
  readonly body: 'SearchCreation' | 'SearchChange' | null;
}

function get(
  path: string,
  resource: ResourceName,
  answers: Endpoint['answers'],
  summary: string,
  parameters: Rules = {},
): Endpoint {
  return { method: 'get', path, summary, resource, answers, parameters, body: null };
}

function change(method: 'post' | 'put' | 'patch', path: string, summary: string): Endpoint {
  const body = method === 'post' ? 'SearchCreation' : 'SearchChange';
  return { method, path, summary, resource: 'Search', answers: 'item', parameters: {}, body };
}

export const ENDPOINTS: readonly Endpoint[] = [
  get('/searches', 'Search', 'collection', 'Lists your searches', SEARCH_LIST_PARAMETERS),
  change('post', '/searches', 'Creates a search'),
  get('/searches/{id}', 'Search', 'item', 'Reads a search'),
  change('put', '/searches/{id}', 'Changes the members that are sent'),
  change('patch', '/searches/{id}', 'Changes the members that are sent (merge patch)'),
  {
    ...{ method: 'delete', path: '/searches/{id}', resource: 'Search', answers: 'nothing', parameters: {}, body: null },
    summary: 'Deletes a search and cancels its open deliveries',
  },
  get('/searches/{id}/matches', 'Match', 'collection', 'Lists the matches of a search, newest first', PAGING),
  get('/matches', 'Match', 'collection', 'Lists the matches of a search, newest first', MATCH_LIST_PARAMETERS),
  get('/matches/{id}', 'Match', 'item', 'Reads a match'),
  get(
    '/searches/{id}/deliveries',
    'Delivery',
    'collection',
    'Lists the deliveries of a search',
    SEARCH_DELIVERY_PARAMETERS,
  ),
  get('/deliveries', 'Delivery', 'collection', 'Lists the deliveries of a search', DELIVERY_LIST_PARAMETERS),
  get('/deliveries/{id}', 'Delivery', 'item', 'Reads a delivery with its attempts'),
  get('/documents/properties', 'PropertyDocument', 'collection', 'Looks up properties', PROPERTY_LIST_PARAMETERS),
  get('/documents/properties/{uuid}', 'PropertyDocument', 'item', 'Reads a property document'),
  get('/cities', 'City', 'collection', 'Lists cities', CITY_LIST_PARAMETERS),
  get('/cities/{id}', 'City', 'item', 'Reads a city'),
  get('/departments', 'Department', 'collection', 'Lists departments', PAGING),
  get('/departments/{id}', 'Department', 'item', 'Reads a department'),
  get('/site_categories', 'SiteCategory', 'collection', 'Lists site categories', PAGING),
  get('/site_categories/{id}', 'SiteCategory', 'item', 'Reads a site category'),
  get('/users', 'User', 'collection', 'Lists yourself', PAGING),
  get('/users/{id}', 'User', 'item', 'Reads yourself'),
  get('/indicators/points_of_interest', 'PointOfInterest', 'collection', 'Lists points nearby', POINT_PARAMETERS),
  get('/webhook-tester', 'WebhookTest', 'item', 'Sends one signed test delivery', WEBHOOK_TEST_PARAMETERS),
];

/** Where each resource starts: the Hydra entrypoint. */
export function collectionPath(resource: ResourceName): string {
  const endpoint = ENDPOINTS.find(
    (one) => one.resource === resource && one.method === 'get' && !one.path.includes('{'),
  );
  if (endpoint === undefined) throw new Error(`nothing lists ${resource}`);
  return endpoint.path;
}
