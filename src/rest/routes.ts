/**
 * The table of all routes. OpenAPI and the Hydra documentation are derived from it, and a test checks that the router
 * serves exactly these routes.
 */

import { FEATURES } from '../features.ts';
import { DELIVERY_LIST_PARAMETERS, SEARCH_DELIVERY_PARAMETERS } from './deliveries.ts';
import { MATCH_LIST_PARAMETERS, SEARCH_MATCH_PARAMETERS } from './matches.ts';
import { POINT_PARAMETERS } from './points-of-interest.ts';
import { PROPERTY_LIST_PARAMETERS } from './properties.ts';
import { CITY_LIST_PARAMETERS, LOCATION_PARAMETERS, NAMED_LIST_PARAMETERS } from './reference.ts';
import { type Route, route } from './route.ts';
import { SEARCH_LIST_PARAMETERS } from './searches.ts';
import { WEBHOOK_TEST_PARAMETERS } from './webhook-tester.ts';

const FILTERED = 'Filters and orders are in `hydra:search` of the answer; pages in `hydra:view`.';
const REFERENCE = 'Reference data of France, the same for all clients.';

export const ROUTES: readonly Route[] = [
  route('get /searches', 'Search', 'collection', 'Lists your searches', {
    parameters: SEARCH_LIST_PARAMETERS,
    details: `Your saved searches. ${FILTERED}`,
  }),
  route('post /searches', 'Search', 'item', 'Creates a search', {
    body: 'SearchCreation',
    isIdempotent: true,
    refusals: [409, 410],
    details:
      'Saves a search. Only `title` is required; every criterion that is set must hold. Matches go to `endpointRecipient` ' +
      'and events to `eventEndpoint`, when `notificationEnabled` is true. What satisfied the search before it was saved is ' +
      'no match. The answer’s `token` signs its webhooks, which carry its `context`.',
  }),
  route('get /searches/{id}', 'Search', 'item', 'Reads a search', {
    details: 'One of your searches, with the token that signs its webhooks.',
  }),
  route('put /searches/{id}', 'Search', 'item', 'Changes the members that are sent', {
    body: 'SearchChange',
    details:
      'Replaces each member that the body has, whole, and keeps the others; `null` clears one. What was answered may be ' +
      'sent back as it is: read-only members are ignored.',
  }),
  route('patch /searches/{id}', 'Search', 'item', 'Changes the members that are sent (merge patch)', {
    body: 'SearchPatch',
    details:
      'A merge patch (RFC 7396): objects (`context`, `eventThresholds`, `notificationConsent`) are merged at every depth, and ' +
      '`null` removes. Lists and GeoJSON geometries are replaced whole.',
  }),
  route('delete /searches/{id}', 'Search', 'nothing', 'Deletes a search and cancels its open deliveries', {
    details:
      'Deletes a search. Its open deliveries are cancelled: after the answer no attempt begins. Its matches go with it.',
  }),
  route('get /searches/{id}/matches', 'Match', 'collection', 'Lists the matches of a search, newest first', {
    parameters: SEARCH_MATCH_PARAMETERS,
    details: 'The properties that began to satisfy the search, the newest match first.',
  }),
  route('get /matches', 'Match', 'collection', 'Lists your matches, newest first', {
    parameters: MATCH_LIST_PARAMETERS,
    details: `The properties that began to satisfy a search: any of yours unless one is named. ${FILTERED}`,
  }),
  route('get /matches/{id}', 'Match', 'item', 'Reads a match', {
    details: 'A match with the property document as it is now.',
  }),
  route('get /searches/{id}/deliveries', 'Delivery', 'collection', 'Lists the deliveries of a search, newest first', {
    parameters: SEARCH_DELIVERY_PARAMETERS,
    details: 'What was sent for the search, or will be, newest first, with every attempt.',
  }),
  route('get /deliveries', 'Delivery', 'collection', 'Lists your deliveries, newest first', {
    parameters: DELIVERY_LIST_PARAMETERS,
    details: `What was sent, or will be, for any of your searches, with every attempt. By search, match or property (itself, one of its adverts, or the address of one) all of it is listed, otherwise the newest 10,000, among which the other filters look. ${FILTERED}`,
  }),
  route('get /deliveries/{id}', 'Delivery', 'item', 'Reads a delivery with its attempts', {
    details: 'A delivery: where it goes, what has become of each attempt, and when the next one is due.',
  }),
  route('post /deliveries/{id}/resend', 'Delivery', 'item', 'Sends a delivery again', {
    status: 202,
    refusals: [409],
    details:
      'Sends a webhook again, whatever has become of it: the same id, bytes and sequence, to the endpoint that its search ' +
      'has now. What was delivered, has failed or was cancelled gets six attempts of its own; what waits for its hour makes ' +
      'its next attempt now. 409 when the search has no endpoint for it, or does not want it any more.',
  }),
  route('get /documents/properties', 'PropertyDocument', 'collection', 'Lists what you matched', {
    parameters: PROPERTY_LIST_PARAMETERS,
    details:
      'Property documents by their UUIDs, unknown ones left out; without any, those that your searches have matched.',
  }),
  route('get /documents/properties/{uuid}', 'PropertyDocument', 'item', 'Reads a property document', {
    details: 'A property with its adverts and their events, as it is now.',
  }),
  route('get /cities', 'City', 'collection', 'Lists cities', {
    parameters: CITY_LIST_PARAMETERS,
    details: `${REFERENCE} Communes and the arrondissements of Paris, Lyon and Marseille. ${FILTERED}`,
  }),
  route('get /cities/{id}', 'City', 'item', 'Reads a city', {
    details: `${REFERENCE} The id is the INSEE code as a number; 2A004 is 120004.`,
  }),
  route('get /departments', 'Department', 'collection', 'Lists departments', {
    parameters: NAMED_LIST_PARAMETERS,
    details: `${REFERENCE} All departments. ${FILTERED}`,
  }),
  route('get /departments/{id}', 'Department', 'item', 'Reads a department', {
    details: `${REFERENCE} The id is the code as a number; 2A is 201.`,
  }),
  route('get /site_categories', 'SiteCategory', 'collection', 'Lists site categories', {
    parameters: NAMED_LIST_PARAMETERS,
    details: 'What publishers of adverts can be, for `includedSiteCategories` and its counterpart.',
  }),
  route('get /site_categories/{id}', 'SiteCategory', 'item', 'Reads a site category', {
    details: 'One category of publishers.',
  }),
  route('get /features', 'Feature', 'collection', 'Lists features of homes', {
    parameters: NAMED_LIST_PARAMETERS,
    details: 'The vocabulary of `includedFeatures` and `excludedFeatures`, with its French and English words.',
  }),
  route('get /features/{id}', 'Feature', 'item', 'Reads a feature of homes', {
    details: 'One feature; the id is its name.',
  }),
  route('get /users', 'User', 'collection', 'Lists yourself', {
    parameters: NAMED_LIST_PARAMETERS,
    details: 'Yourself, the one client that the API key belongs to.',
  }),
  route('get /users/{id}', 'User', 'item', 'Reads yourself', {
    details: 'Yourself: `user` of each of your searches leads here.',
  }),
  route('get /indicators/points_of_interest', 'PointOfInterest', 'collection', 'Lists points nearby', {
    parameters: POINT_PARAMETERS,
    details: 'Schools, restaurants, hospitals and so on around a place, nearest first, at most 1000.',
  }),
  route('get /public/location-autocomplete', 'Location', 'collection', 'Completes the name of a place', {
    parameters: LOCATION_PARAMETERS,
    details:
      'The cities, departments and zip codes that may be meant by what was typed so far, the most inhabitants first, each ' +
      'with the member of a search that takes it.',
  }),
  route('get /webhook-tester', 'WebhookTest', 'item', 'Sends one signed test delivery', {
    parameters: WEBHOOK_TEST_PARAMETERS,
    details:
      'Sends one signed webhook with a made-up match to an endpoint, at once and without retry, and answers what was sent ' +
      'and what came back. With `search` it is signed with that search’s token, without with one that the answer contains.',
  }),
  ...FEATURES.flatMap(({ contract }) => contract?.routes ?? []),
];

/** The path that lists the resource without parameters, or null. */
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
