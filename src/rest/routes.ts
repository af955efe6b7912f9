/**
 * The table of all routes. OpenAPI and the Hydra documentation are derived from it, and a test checks that the router
 * serves exactly these routes.
 */

import { DELIVERY_LIST_PARAMETERS, SEARCH_DELIVERY_PARAMETERS } from './deliveries.ts';
import { MARKET_PARAMETERS } from './markets.ts';
import { MATCH_LIST_PARAMETERS, SEARCH_MATCH_PARAMETERS } from './matches.ts';
import { POINT_PARAMETERS } from './points-of-interest.ts';
import { PROPERTY_LIST_PARAMETERS } from './properties.ts';
import { CITY_LIST_PARAMETERS, LOCATION_PARAMETERS, NAMED_LIST_PARAMETERS, PUBLISHER_PARAMETERS } from './reference.ts';
import { ROUTED_RESOURCES } from './resources.ts';
import { type Route, route } from './route.ts';
import { SEARCH_LIST_PARAMETERS } from './searches.ts';
import { WEBHOOK_TEST_PARAMETERS } from './webhook-tester.ts';

const FILTERED = '`hydra:search` of the answer lists the filters and orders, `hydra:view` the pages.';
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
      'Saves a search. Only `title` is required; a property must satisfy every criterion that is set. Matches are sent ' +
      'to `endpointRecipient` and events to `eventEndpoint`, while `notificationEnabled` is true. A property that ' +
      'satisfied the search before it was saved is not a match. The `token` in the answer signs the webhooks of the ' +
      'search, which carry its `context`.',
  }),
  route('get /searches/{id}', 'Search', 'item', 'Reads a search', {
    details: 'One of your searches, with the token that signs its webhooks.',
  }),
  route('put /searches/{id}', 'Search', 'item', 'Changes the members that are sent', {
    body: 'SearchChange',
    details:
      'Replaces each member of the body as a whole and keeps the others; `null` clears a member. An answer may be ' +
      'sent back unchanged: read-only members are ignored.',
  }),
  route('patch /searches/{id}', 'Search', 'item', 'Changes the members that are sent (merge patch)', {
    body: 'SearchPatch',
    details:
      'A merge patch (RFC 7396): objects (`context`, `eventThresholds`, `notificationConsent`) are merged at every ' +
      'depth, and `null` removes. Lists and GeoJSON geometries are replaced as a whole.',
  }),
  route('delete /searches/{id}', 'Search', 'nothing', 'Deletes a search and cancels its open deliveries', {
    details:
      'Deletes a search. Its open deliveries are cancelled: no attempt begins after the answer. Its matches are ' +
      'deleted too.',
  }),
  route('get /searches/{id}/matches', 'Match', 'collection', 'Lists the matches of a search, newest first', {
    parameters: SEARCH_MATCH_PARAMETERS,
    details: 'The properties of which the search was notified, the newest match first.',
  }),
  route('get /matches', 'Match', 'collection', 'Lists your matches, newest first', {
    parameters: MATCH_LIST_PARAMETERS,
    details: `The properties of which your searches, or the one that you name, were notified. ${FILTERED}`,
  }),
  route('get /matches/{id}', 'Match', 'item', 'Reads a match', {
    details: 'A match with the property document as it is now.',
  }),
  route('get /searches/{id}/deliveries', 'Delivery', 'collection', 'Lists the deliveries of a search, newest first', {
    parameters: SEARCH_DELIVERY_PARAMETERS,
    details: 'The deliveries of the search in any state, newest first, with every attempt.',
  }),
  route('get /deliveries', 'Delivery', 'collection', 'Lists your deliveries, newest first', {
    parameters: DELIVERY_LIST_PARAMETERS,
    details:
      'The deliveries of all your searches in any state, with every attempt. If you send `search`, `match`, ' +
      '`property`, `advert` or `url`, the list is complete. Otherwise it has the first 10,000 that meet the other ' +
      'filters, and `status` selects among these. ' +
      FILTERED,
  }),
  route('get /deliveries/{id}', 'Delivery', 'item', 'Reads a delivery with its attempts', {
    details: 'A delivery: its destination, the outcome of each attempt, and when the next one is due.',
  }),
  route('post /deliveries/{id}/resend', 'Delivery', 'item', 'Sends a delivery again', {
    status: 202,
    refusals: [409],
    details:
      'Sends a webhook again, in any state. It keeps its id, bytes and sequence number, and is sent to the ' +
      'current endpoint of its search. A webhook that was delivered, failed or was cancelled gets six new attempts. ' +
      'A webhook that waits for a retry makes its next attempt now. The answer is 409 for an e-mail, and after ' +
      'too many attempts. It is also 409 if the search has no endpoint for the webhook, no longer wants it, or now ' +
      'hides contacts in it.',
  }),
  route('get /documents/properties', 'PropertyDocument', 'collection', 'Lists the properties of your matches', {
    parameters: PROPERTY_LIST_PARAMETERS,
    details:
      'The property documents with the given UUIDs, without unknown ones. Without UUIDs, the properties that your ' +
      'searches have matched.',
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
    details: 'The categories of publishers, for `includedSiteCategories` and `excludedSiteCategories`.',
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
  route('get /users', 'User', 'collection', 'Lists your own client', {
    parameters: NAMED_LIST_PARAMETERS,
    details: 'The client that the API key belongs to.',
  }),
  route('get /users/{id}', 'User', 'item', 'Reads your own client', {
    details: 'Your client: the `user` of each of your searches.',
  }),
  route('get /indicators/points_of_interest', 'PointOfInterest', 'collection', 'Lists points nearby', {
    parameters: POINT_PARAMETERS,
    details:
      'Schools, restaurants, hospitals and other points of interest around a location, nearest first, at most 1000.',
  }),
  route('get /public/location-autocomplete', 'Location', 'collection', 'Completes the name of a place', {
    parameters: LOCATION_PARAMETERS,
    details:
      'The cities, departments and zip codes that match the typed text, best match first, each with the member of a ' +
      'search that accepts it.',
  }),
  route('get /markets', 'Market', 'item', 'Reads the median price of a market', {
    parameters: MARKET_PARAMETERS,
    refusals: [404],
    details:
      'The market with which `marketDifferenceMin` and `marketDifferenceMax` compare a property of the place. If a ' +
      'commune or arrondissement has fewer than 50 prices, its department is the market.',
  }),
  route('get /publishers', 'PublisherName', 'collection', 'Completes the name of a publisher', {
    parameters: PUBLISHER_PARAMETERS,
    details:
      'Professional publishers and agencies of adverts of the last 90 days, never individuals, in alphabetical ' +
      'order, at most 20. For `includedPublishers` and `excludedPublishers`.',
  }),
  route('get /webhook-tester', 'WebhookTest', 'item', 'Sends one signed test delivery', {
    parameters: WEBHOOK_TEST_PARAMETERS,
    details:
      'Sends one signed webhook with an example match to an endpoint, immediately and without retries. The answer ' +
      'has the webhook and the endpoint’s response. The webhook is signed with the token of `search` or, without ' +
      'it, with one that the answer contains, and with your secrets.',
  }),
  ...ROUTED_RESOURCES.flatMap(({ contract }) => contract?.routes ?? []),
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
