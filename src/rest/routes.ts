/**
 * The table of everything the API serves to its clients. OpenAPI and the Hydra documentation are written from it, and
 * a test holds it against the router: what is served is listed, what is listed is served.
 */

import { FEATURES } from '../features.ts';
import { DELIVERY_LIST_PARAMETERS, SEARCH_DELIVERY_PARAMETERS } from './deliveries.ts';
import { LOCATION_PARAMETERS } from './location-completion.ts';
import { MATCH_LIST_PARAMETERS, SEARCH_MATCH_PARAMETERS } from './matches.ts';
import { POINT_PARAMETERS } from './points-of-interest.ts';
import { PROPERTY_LIST_PARAMETERS } from './properties.ts';
import {
  CITY_LIST_PARAMETERS,
  DEPARTMENT_LIST_PARAMETERS,
  SITE_CATEGORY_LIST_PARAMETERS,
  USER_LIST_PARAMETERS,
} from './reference.ts';
import { get, type Route, route } from './route.ts';
import { SEARCH_LIST_PARAMETERS } from './searches.ts';
import { WEBHOOK_TEST_PARAMETERS } from './webhook-tester.ts';

export const ROUTES: readonly Route[] = [
  get('/searches', 'Search', 'collection', 'Lists your searches', SEARCH_LIST_PARAMETERS),
  route('post /searches', 'Search', 'item', 'Creates a search', {
    ...{ body: 'SearchCreation', isIdempotent: true, refusals: [409, 410] },
  }),
  get('/searches/{id}', 'Search', 'item', 'Reads a search'),
  route('put /searches/{id}', 'Search', 'item', 'Changes the members that are sent', { body: 'SearchChange' }),
  route('patch /searches/{id}', 'Search', 'item', 'Changes the members that are sent (merge patch)', {
    body: 'SearchChange',
  }),
  route('delete /searches/{id}', 'Search', 'nothing', 'Deletes a search and cancels its open deliveries'),
  route('post /searches/{id}/email-confirmation', 'Search', 'item', 'Asks whether an unsubscription still holds', {
    ...{ status: 202, refusals: [409] },
  }),
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
  route('post /deliveries/{id}/resend', 'Delivery', 'item', 'Sends a delivery again', { status: 202, refusals: [409] }),
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
  ...FEATURES.flatMap(({ contract }) => contract?.routes ?? []),
];

/** What lists the resource and can be read bare; null when nothing does. */
export function collectionPath(resource: string): string | null {
  const listing = ROUTES.find(
    ({ answers, parameters, path, ...one }) =>
      one.resource === resource &&
      answers === 'collection' &&
      !path.includes('{') &&
      one.takesSome !== true &&
      Object.values(parameters).every(({ isRequired = false }) => !isRequired),
  );
  return listing?.path ?? null;
}
