/**
 * `/openapi.json`: OpenAPI 3.1, written from the table of routes and the schemas that check bodies and answers, in the
 * words that all generators of clients understand.
 */

import { collectionClassOf } from '../hydra.ts';
import { documentedRules } from '../query.ts';
import type { Route } from '../route.ts';
import { ROUTES } from '../routes.ts';
import { WEBHOOK_TAG, webhooks } from './alert-documentation.ts';
import { ALERTS } from './alert-schemas.ts';
import { BODY_EXAMPLES, type ContractExamples, idExample, PARAMETER_EXAMPLES } from './contract-examples.ts';
import { JSON_SCHEMAS, type JsonSchema, referenceTo } from './json-schemas.ts';
import { plain } from './plain-schemas.ts';
import { ESTIMATED_COLLECTIONS, FEATURE_BODIES, GROUPS, RESOURCES } from './resource-schemas.ts';

const ERRORS: Readonly<Record<number, string>> = {
  400: 'Malformed parameters or body.',
  401: 'The API key is missing, unknown or revoked.',
  403: 'You have as much as you may have; `limit`, `maximum` and `used` say of what.',
  404: 'There is no such resource, or it is not yours.',
  406: 'None of the accepted media types is served.',
  409: 'It cannot be done as things stand; `detail` says why.',
  410: 'It was there once, and has gone; of a cursor, `oldest` is where to begin again.',
  412: 'The resource is not the one that If-Match or If-None-Match describe.',
  413: 'The body is larger than 1 MiB.',
  415: 'The media type of the body is not taken.',
  421: 'Your searches live elsewhere; `Vigie-Cell` names the cell for the proxy. It asks there by itself.',
  422: 'The body has violations.',
  429: 'Too many requests; see Retry-After.',
  503: 'Not available now; see Retry-After.',
};

const string = { type: 'string' };

/** Without `servers`, which every request knows better. */
export function openApiDocument(version: string, examples: ContractExamples): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of ROUTES) {
    paths[route.path] = { ...paths[route.path], [route.method]: operation(route, examples) };
  }
  const schemas = Object.entries(JSON_SCHEMAS).filter(([name]) => !(name in ALERTS));
  const listed = ROUTES.filter(({ answers }) => answers === 'collection').map(({ resource }) => resource);
  return plain({
    openapi: '3.1.0',
    info: {
      title: 'Vigie',
      version,
      description:
        'Saved real-estate searches, the alerts they raise and where they went. Answers are `application/ld+json` unless ' +
        '`application/json` is asked for, requests may be either: the same members. Answers may gain members at any time.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    security: [{ apiKey: [] }],
    tags: [...Object.keys(RESOURCES).map((name) => ({ name, description: String(GROUPS[name]) })), WEBHOOK_TAG],
    paths,
    webhooks: webhooks(examples.alert),
    components: {
      securitySchemes: { apiKey: { type: 'apiKey', in: 'header', name: 'X-API-KEY', description: 'Your API key.' } },
      schemas: {
        ...Object.fromEntries(schemas),
        ...envelopeSchemas(),
        ...Object.fromEntries([...new Set(listed)].map((name) => [`${name}Collection`, collectionSchema(name)])),
      },
      responses: Object.fromEntries(
        Object.entries(ERRORS).map(([status, description]) => [`E${status}`, errorResponse(status, description)]),
      ),
    },
  });
}

function operation(route: Route, examples: ContractExamples): object {
  const names = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => String(name));
  return {
    operationId: operationId(route),
    summary: route.summary,
    description: route.details ?? OPERATION_TEXTS[`${route.method} ${route.path}`],
    tags: [route.resource],
    parameters: [
      ...names.map((name) => pathParameter(name, route)),
      ...queryParameters(route),
      ...conditionParameters(route),
    ],
    ...(route.body === null ? {} : { requestBody: requestBody(route.body, route.method) }),
    responses: responses(route, names.length > 0, examples),
  };
}

/** `get /searches/{id}/matches` is `getSearchesMatches`, the one with `{id}` at its end `getSearchesItem`. */
function operationId({ method, path }: Route): string {
  const words = path
    .replace(/\{\w+\}$/, 'item')
    .replace(/\{\w+\}/g, '')
    .split(/[^a-z]+/i)
    .filter(Boolean);
  return method + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}

const NUMBERED: readonly string[] = ['City', 'Department', 'SiteCategory'];

function pathParameter(name: string, { resource }: Route): object {
  const schema = NUMBERED.includes(resource) ? { type: 'integer', minimum: 0 } : { type: 'string', format: 'uuid' };
  const description = NUMBERED.includes(resource) ? 'As the IRI has it.' : 'UUID, as the IRI has it.';
  return { name, in: 'path', required: true, description, schema, example: idExample(resource) };
}

/** Of which one at least must be sent. */
const SHOWN: ReadonlySet<string> = new Set(['eventType', 'property']);

function queryParameters({ parameters }: Route): object[] {
  return documentedRules(parameters).map(([name, { description, schema, isRequired = false }]) => ({
    name,
    in: 'query',
    required: isRequired,
    description,
    schema,
    // Pages that send a request as it is shown fill it in: only what must be sent.
    ...(isRequired || SHOWN.has(name) ? { example: PARAMETER_EXAMPLES[name] } : {}),
    ...(schema.type === 'array' ? { style: 'form', explode: true } : {}),
  }));
}

/** Entity tags (RFC 9110, section 13.1). */
function conditionParameters(route: Route): object[] {
  const header = (name: string, description: string) => ({ name, in: 'header', description, schema: string });
  if (route.isUntagged === true) return [];
  if (route.isIdempotent === true) return [{ ...header('Idempotency-Key', IDEMPOTENCY), schema: KEY }];
  if (route.method === 'get') return [header('If-None-Match', 'ETags that you have: 304 when one is still right.')];
  return isChange(route) ? [header('If-Match', 'The ETag that you read: 412 when it is no longer right.')] : [];
}

const IDEMPOTENCY =
  'Of your making. The same request under the same key is answered, for a day, with what the first one made, as it is now.';
const KEY = { type: 'string', minLength: 1, maxLength: 255 };

function isChange({ method, resource }: Route): boolean {
  if (resource !== 'Search') return false;
  return method === 'put' || method === 'patch' || method === 'delete';
}

function requestBody(name: NonNullable<Route['body']>, method: Route['method']): object {
  const type = method === 'patch' ? 'application/merge-patch+json' : 'application/json';
  return {
    required: FEATURE_BODIES[name]?.isOptional !== true,
    content: { [type]: { schema: referenceTo(name), example: BODY_EXAMPLES[name] } },
  };
}

function responses(route: Route, hasPathParameter: boolean, examples: ContractExamples): object {
  const { answers, body, parameters, refusals = [], status, takesSome = false } = route;
  const statuses: number[] = [401, 421, 429, 503, ...refusals];
  if (hasPathParameter || 'search' in parameters || takesSome) statuses.push(404);
  if (answers !== 'nothing') statuses.push(406);
  if (body !== null) statuses.push(400, 413, 415, 422);
  if (body !== null && status !== 200) statuses.push(403);
  if (isChange(route)) statuses.push(412);
  if (answers === 'collection' || Object.keys(parameters).length > 0) statuses.push(400);
  const errors = statuses.map((status) => [status, { $ref: `#/components/responses/E${status}` }]);
  return { ...Object.fromEntries(errors), ...success(route, examples) };
}

function success(route: Route, { item, collection }: ContractExamples): object {
  const { answers, resource, method, status, isUntagged = false } = route;
  if (answers === 'nothing') return { 204: { description: 'Done.' } };
  const schema = referenceTo(answers === 'collection' ? `${resource}Collection` : resource);
  const answer = { schema, example: answers === 'collection' ? collection(route) : item(resource) };
  // One media type: with two, a generated Go client compares the header with each to the letter, and reads neither.
  const content = { 'application/json': answer };
  const headers = { ETag: { description: 'Of the answer; for If-None-Match and If-Match.', schema: string } };
  if (method === 'get') return { 200: { description: 'OK.', headers, content }, 304: { description: 'You have it.' } };
  if (method === 'patch' || status === 200) return { 200: { description: 'OK.', headers, content } };
  if (isUntagged) return { 200: { description: 'OK.', content } };
  if (status === 202) return { 202: { description: 'Accepted.', content } };
  if (method === 'put') return { 200: { description: 'OK.', content } };
  const location = { description: 'Path of what was created.', schema: { type: 'string', format: 'uri-reference' } };
  return { 201: { description: 'Created.', headers: { ...headers, Location: location }, content } };
}

function errorResponse(status: string, description: string): object {
  const schema = referenceTo(status === '422' ? 'ConstraintViolationList' : 'Problem');
  return { description, content: { 'application/problem+json': { schema } } };
}

function envelopeSchemas(): Record<string, object> {
  const link = { type: 'string', format: 'uri-reference' };
  return {
    CollectionView: {
      type: 'object',
      required: ['@id', '@type'],
      properties: {
        '@id': link,
        '@type': { const: 'hydra:PartialCollectionView' },
        'hydra:first': link,
        'hydra:last': link,
        'hydra:previous': link,
        'hydra:next': link,
      },
    },
    CollectionSearch: {
      type: 'object',
      required: ['@type', 'hydra:template', 'hydra:variableRepresentation', 'hydra:mapping'],
      properties: {
        '@type': { const: 'hydra:IriTemplate' },
        'hydra:template': string,
        'hydra:variableRepresentation': { const: 'BasicRepresentation' },
        'hydra:mapping': {
          type: 'array',
          items: {
            type: 'object',
            required: ['@type', 'variable', 'property', 'required'],
            properties: {
              '@type': { const: 'IriTemplateMapping' },
              variable: string,
              property: string,
              required: { type: 'boolean' },
            },
          },
        },
      },
    },
  };
}

/** Points of interest have neither a `collectionType` nor a `hydra:search`: the specification lists the members of that collection. */
function collectionSchema(name: string): JsonSchema {
  const properties: Record<string, object> = {
    '@context': { const: `/contexts/${name}` },
    '@id': { type: 'string', format: 'uri-reference' },
    '@type': { const: 'hydra:Collection' },
    ...(name === 'PointOfInterest' ? {} : { collectionType: { const: collectionClassOf(name) } }),
    'hydra:member': { type: 'array', items: referenceTo(name) },
    'hydra:totalItems': { type: 'integer', minimum: 0 },
    'hydra:view': referenceTo('CollectionView'),
    ...(name === 'PointOfInterest' ? {} : { 'hydra:search': referenceTo('CollectionSearch') }),
    ...(ESTIMATED_COLLECTIONS.has(name) ? { estimated: { type: 'boolean' } } : {}),
  };
  return {
    type: 'object',
    required: Object.keys(properties),
    properties,
  };
}

const FILTERED = 'Filters and orders are in `hydra:search` of the answer; pages in `hydra:view`.';
const REFERENCE = 'Reference data of France, the same for all clients.';

/** By method and path, what each does, in Markdown: for people who read `/docs`, and comments of generated clients. */
const OPERATION_TEXTS: Readonly<Record<string, string>> = {
  'get /searches': `Your saved searches. ${FILTERED}`,
  'post /searches':
    'Saves a search. Only `title` is required; every criterion that is set must hold. Matches go to `endpointRecipient` ' +
    'and events to `eventEndpoint`, when `notificationEnabled` is true. What satisfied the search before it was saved is ' +
    'no match. The answer’s `token` signs its webhooks, which carry its `context`.',
  'get /searches/{id}': 'One of your searches, with the token that signs its webhooks.',
  'put /searches/{id}':
    'Changes the members that the body has and keeps the others; `null` clears one. What was answered may be sent back ' +
    'as it is: read-only members are ignored.',
  'patch /searches/{id}':
    'A merge patch (RFC 7396): changes the members that the body has and keeps the others; `null` clears one.',
  'delete /searches/{id}':
    'Deletes a search. Its open deliveries are cancelled: after the answer no attempt begins. Its matches go with it.',
  'post /searches/{id}/email-confirmation':
    'Asks the recipient, by one e-mail for ever, whether to receive e-mails again: `emailStatus` stays `unsubscribed` until ' +
    'the recipient says so. 409 when the recipient is not unsubscribed, or was asked before.',
  'get /searches/{id}/matches': 'The properties that began to satisfy the search, the newest match first.',
  'get /matches': `The properties that began to satisfy a search: any of yours unless one is named. ${FILTERED}`,
  'get /matches/{id}': 'A match with the property document as it is now.',
  'get /searches/{id}/deliveries': 'What was sent for the search, or will be, newest first, with every attempt.',
  'get /deliveries': `What was sent, or will be, for any of your searches, with every attempt. By search, match or property (itself, one of its adverts, or the address of one) all of it is listed, otherwise the newest 10,000, among which the other filters look. ${FILTERED}`,
  'get /deliveries/{id}': 'A delivery: where it goes, what has become of each attempt, and when the next one is due.',
  'post /deliveries/{id}/resend':
    'Sends a webhook again, whatever has become of it: the same id, bytes and sequence, to the endpoint that its search ' +
    'has now. What was delivered, has failed or was cancelled gets six attempts of its own; what waits for its hour makes ' +
    'its next attempt now. 409 when the search has no endpoint for it, or does not want it any more.',
  'get /documents/properties':
    'Property documents by their UUIDs, unknown ones left out; without any, those that your searches have matched.',
  'get /documents/properties/{uuid}': 'A property with its adverts and their events, as it is now.',
  'get /cities': `${REFERENCE} Communes and the arrondissements of Paris, Lyon and Marseille. ${FILTERED}`,
  'get /cities/{id}': `${REFERENCE} The id is the INSEE code as a number; 2A004 is 120004.`,
  'get /departments': `${REFERENCE} All departments. ${FILTERED}`,
  'get /departments/{id}': `${REFERENCE} The id is the code as a number; 2A is 201.`,
  'get /site_categories': 'What publishers of adverts can be, for `includedSiteCategories` and its counterpart.',
  'get /site_categories/{id}': 'One category of publishers.',
  'get /users': 'Yourself, the one client that the API key belongs to.',
  'get /users/{id}': 'Yourself: `user` of each of your searches leads here.',
  'get /indicators/points_of_interest':
    'Schools, restaurants, hospitals and so on around a place, nearest first, at most 1000.',
  'get /public/location-autocomplete':
    'The cities, departments and zip codes that may be meant by what was typed so far, the most inhabitants first, each ' +
    'with the member of a search that takes it.',
  'get /webhook-tester':
    'Sends one signed webhook with a made-up match to an endpoint, at once and without retry, and answers what was sent ' +
    'and what came back. With `search` it is signed with that search’s token, without with one that the answer contains.',
};
