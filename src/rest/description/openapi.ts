/**
 * `/openapi.json`: OpenAPI 3.1, derived from the table of routes and the schemas of bodies and answers. `plain`
 * simplifies it for client generators.
 */

import { EVENT_KINDS, type EventKind } from '../../engine/domain/codes.ts';
import type { WebhookChannel } from '../../engine/domain/delivery.ts';
import { FEATURE_NAMES } from '../../engine/domain/features.ts';
import { ANSWER_TYPES } from '../content.ts';
import { collectionClassOf } from '../hydra.ts';
import { documentedRules } from '../query.ts';
import type { Route } from '../route.ts';
import { ROUTES } from '../routes.ts';
import { ACKNOWLEDGEMENT, ALERT_HEADERS, ALERT_KINDS, ALERTS, CHANNELS, webhookName } from './alert-schemas.ts';
import { BODY_EXAMPLES, type ContractExamples, idExample, PARAMETER_EXAMPLES } from './contract-examples.ts';
import { JSON_SCHEMAS, type JsonSchema, plain, referenceTo } from './json-schemas.ts';
import {
  COLLECTIONS_WITH_MARGIN,
  ESTIMATED_COLLECTIONS,
  FEATURE_BODIES,
  GROUPS,
  RESOURCES,
} from './resource-schemas.ts';

const ERRORS: Readonly<Record<number, string>> = {
  400: 'The parameters or the body are malformed.',
  401: 'The API key is missing, unknown or revoked.',
  403: 'A limit is reached: see `limit`, `maximum` and `used`.',
  404: 'The resource does not exist, or belongs to another client.',
  406: 'None of the accepted media types is served.',
  409: 'The request conflicts with the current state; `detail` explains why.',
  410: 'The resource no longer exists. If it is a cursor, start again at `oldest`.',
  412: 'The current version of the resource does not meet If-Match or If-None-Match.',
  413: 'The body is larger than 1 MiB.',
  415: 'The media type of the body is not accepted.',
  422: 'The body is invalid; `violations` lists the faults.',
  429: 'Too many requests; see Retry-After.',
  431: 'The request line and headers are larger than 16 KiB.',
  503: 'Temporarily unavailable; see Retry-After.',
};

const string = { type: 'string' };

/** The document without `servers`, which depend on the request. */
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
        'Saved real-estate searches, their alerts, and the deliveries of these alerts. Answers are ' +
        '`application/json` unless `application/ld+json` is requested; requests may be either. The members are the ' +
        'same. Answers may gain members at any time.',
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
    description: route.details,
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

/** `get /searches/{id}/matches` becomes `getSearchesMatches`, and `get /searches/{id}` becomes `getSearchesItem`. */
function operationId({ method, path }: Route): string {
  const words = path
    .replace(/\{\w+\}$/, 'item')
    .replace(/\{\w+\}/g, '')
    .split(/[^a-z]+/i)
    .filter(Boolean);
  return method + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}

const NUMBERED: readonly string[] = ['City', 'Department', 'SiteCategory'];

const ADDRESS = { schema: { type: 'string', format: 'email' }, example: 'jo@example.org' };

function pathParameter(name: string, { resource: answered }: Route): object {
  const resource = name === 'uuid' ? 'PropertyDocument' : answered;
  if (name === 'address') return { name, in: 'path', required: true, description: 'As in the IRI.', ...ADDRESS };
  const isNumber = NUMBERED.includes(resource);
  const isUuid = !isNumber && resource !== 'Endpoint' && resource !== 'Feature';
  const names = resource === 'Feature' ? { enum: FEATURE_NAMES } : {};
  const schema = isNumber
    ? { type: 'integer', minimum: 0 }
    : { type: 'string', ...names, ...(isUuid ? { format: 'uuid' } : {}) };
  const description = isUuid ? 'UUID, as in the IRI.' : 'As in the IRI.';
  return { name, in: 'path', required: true, description, schema, example: idExample(resource) };
}

/** Parameters that some routes require unless the client sends an alternative, such as `advert` for `property`. */
const SHOWN: ReadonlySet<string> = new Set(['eventType', 'property', 'city']);

function queryParameters({ parameters }: Route): object[] {
  return documentedRules(parameters).map(([name, { description, schema, isRequired = false }]) => ({
    name,
    in: 'query',
    required: isRequired,
    description,
    schema,
    // Pages that send requests fill in every example, so most optional parameters have none.
    ...(isRequired || SHOWN.has(name) ? { example: PARAMETER_EXAMPLES[name] } : {}),
    ...(schema.type === 'array' ? { style: 'form', explode: true } : {}),
  }));
}

/** Headers with entity tags (RFC 9110, section 13.1) or with an idempotency key. */
function conditionParameters(route: Route): object[] {
  const header = (name: string, description: string) => ({ name, in: 'header', description, schema: string });
  if (route.isUntagged === true) return [];
  if (route.isIdempotent === true) return [{ ...header('Idempotency-Key', IDEMPOTENCY), schema: KEY }];
  if (route.method === 'get') return [header('If-None-Match', 'Your ETags; the answer is 304 if one is current.')];
  return isChange(route) ? [header('If-Match', 'Your ETag; the answer is 412 if it is outdated.')] : [];
}

const IDEMPOTENCY =
  'A value of your choice. For one day, the same request with the same key returns the resource that the first ' +
  'request created, in its current state.';
const KEY = { type: 'string', minLength: 1, maxLength: 255 };

function isChange({ method, path, resource }: Route): boolean {
  if (resource !== 'Search' || !path.endsWith('}')) return false;
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
  const statuses: number[] = [401, 429, 431, 503, ...refusals];
  if (hasPathParameter || 'search' in parameters || takesSome) statuses.push(404);
  if (answers !== 'nothing') statuses.push(406);
  if (body !== null) statuses.push(400, 413, 415, 422);
  if (body !== null && status !== 200) statuses.push(403);
  if (isChange(route)) statuses.push(412);
  if (answers === 'collection' || Object.keys(parameters).length > 0) statuses.push(400);
  const errors = statuses.map((status) => [status, { $ref: `#/components/responses/E${status}` }]);
  const [[succeeded, answer] = ['', {}]] = Object.entries(success(route, examples));
  return { ...Object.fromEntries(errors), ...success(route, examples), [succeeded]: { ...answer, ...links(route) } };
}

/** Links to the item that a POST returns, or to the first item of a list. */
function links({ answers, method, resource }: Route): object {
  const isItem = ({ path, ...other }: Route) =>
    other.resource === resource && other.method === 'get' && other.answers === 'item' && path.endsWith('}');
  const item = answers === 'collection' || method === 'post' ? ROUTES.find(isItem) : undefined;
  if (item === undefined) return {};
  const id = item.path.slice(item.path.lastIndexOf('{') + 1, -1);
  const iri = `$response.body#${answers === 'collection' ? '/hydra:member/0' : ''}/@id`;
  return { links: { [resource]: { operationId: operationId(item), parameters: { [id]: iri } } } };
}

function success(route: Route, { item, collection }: ContractExamples): object {
  const { answers, resource, method, status, isUntagged = false } = route;
  if (answers === 'nothing') return { 204: { description: 'Done.' } };
  const schema = referenceTo(answers === 'collection' ? `${resource}Collection` : resource);
  const answer = { schema, example: answers === 'collection' ? collection(route) : item(resource) };
  const [json, linked] = ANSWER_TYPES;
  const content = { [json]: answer, [linked]: { schema } };
  const headers = { ETag: { description: 'ETag of the answer, for If-None-Match and If-Match.', schema: string } };
  if (method === 'get') return { 200: { description: 'OK.', headers, content }, 304: { description: 'Not modified.' } };
  if (method === 'patch' || method === 'put' || status === 200)
    return { 200: { description: 'OK.', headers, content } };
  if (isUntagged) return { 200: { description: 'OK.', content } };
  if (status === 202) return { 202: { description: 'Accepted.', content } };
  const location = { description: 'Path of the new resource.', schema: { type: 'string', format: 'uri-reference' } };
  return { 201: { description: 'Created.', headers: { ...headers, Location: location }, content } };
}

/** Node.js answers this status itself, without a body, before the service receives the request. */
const BARE_ERROR = '431';

function errorResponse(status: string, description: string): object {
  if (status === BARE_ERROR) return { description };
  const schema = referenceTo(status === '422' ? 'ConstraintViolationList' : 'Problem');
  return { description, content: { 'application/problem+json': { schema } } };
}

function envelopeSchemas(): Record<string, object> {
  const link = { type: 'string', format: 'uri-reference' };
  const view = {
    '@id': link,
    '@type': { const: 'hydra:PartialCollectionView' },
    'hydra:first': link,
    'hydra:last': link,
    'hydra:previous': link,
    'hydra:next': link,
  };
  const mapping = {
    '@type': { const: 'IriTemplateMapping' },
    variable: string,
    property: string,
    required: { type: 'boolean' },
  };
  return {
    CollectionView: openObject(view, ['@id', '@type']),
    CollectionSearch: openObject({
      '@type': { const: 'hydra:IriTemplate' },
      'hydra:template': string,
      'hydra:variableRepresentation': { const: 'BasicRepresentation' },
      'hydra:mapping': { type: 'array', items: openObject(mapping) },
    }),
  };
}

/** Points of interest have no `collectionType` and no `hydra:search`: the specification lists all members. */
function collectionSchema(name: string): JsonSchema {
  return openObject({
    '@context': { const: `/contexts/${name}` },
    '@id': { type: 'string', format: 'uri-reference' },
    '@type': { const: 'hydra:Collection' },
    ...(name === 'PointOfInterest' ? {} : { collectionType: { const: collectionClassOf(name) } }),
    'hydra:member': { type: 'array', items: referenceTo(name) },
    'hydra:totalItems': { type: 'integer', minimum: 0 },
    'hydra:view': referenceTo('CollectionView'),
    ...(name === 'PointOfInterest' ? {} : { 'hydra:search': referenceTo('CollectionSearch') }),
    ...(ESTIMATED_COLLECTIONS.has(name) ? { estimated: { type: 'boolean' } } : {}),
    ...(COLLECTIONS_WITH_MARGIN.has(name) ? { margin: { type: 'integer', minimum: 0 } } : {}),
  });
}

/** The schema of an object that may gain members. By default all `properties` are required. */
function openObject(properties: Readonly<Record<string, object>>, required = Object.keys(properties)): JsonSchema {
  return { type: 'object', additionalProperties: true, required, properties };
}

const WEBHOOK_TAG = { name: 'Webhooks', description: 'Requests that the service sends to the endpoints of a search.' };

/** Each kind of event on each channel that carries it. `exampleOf`: a body by kind and channel. */
function webhooks(exampleOf: (kind: EventKind, channel: WebhookChannel) => object): Record<string, object> {
  const sent = EVENT_KINDS.flatMap((kind) => ALERT_KINDS[kind].channels.map((channel) => ({ kind, channel })));
  return Object.fromEntries(
    sent.map(({ kind, channel }) => [
      webhookName(kind, channel),
      { post: webhookOperation(kind, channel, exampleOf(kind, channel)) },
    ]),
  );
}

function webhookOperation(kind: EventKind, channel: WebhookChannel, example: object): object {
  const { schema, summary } = ALERT_KINDS[kind];
  const name = webhookName(kind, channel);
  return {
    operationId: `on${name.charAt(0).toUpperCase()}${name.slice(1)}`,
    summary: `${summary} (${CHANNELS[channel].member})`,
    description: `\`${kind}\`. ${CHANNELS[channel].when}\n\n${ACKNOWLEDGEMENT}`,
    tags: [WEBHOOK_TAG.name],
    security: [],
    parameters: Object.entries(ALERT_HEADERS).map(
      ([header, { description, schema: value, isRequired, example: seen }]) => {
        return { name: header, in: 'header', description, required: isRequired, schema: value, example: seen };
      },
    ),
    requestBody: {
      required: true,
      description: 'The same bytes on every attempt.',
      // Inline, because generators omit schemas that no path references.
      content: { 'application/json': { schema: JSON_SCHEMAS[schema], example } },
    },
    responses: {
      200: { description: 'The delivery succeeded.' },
      '4XX': { description: 'The attempt failed. Unless it was the last one, the next follows in one hour.' },
      '5XX': { description: 'The attempt failed. Unless it was the last one, the next follows in one hour.' },
    },
  };
}
