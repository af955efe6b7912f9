/**
 * `/endpoints` (decisions, sections 6 and 7): the endpoints of a client's webhooks, their states, and their pauses. The
 * engine pauses dead endpoints, and sends nothing to a paused one. A client can end these pauses and its own.
 */

import type Router from '@koa/router';
import type { Context } from 'koa';
import { z } from 'zod';
import { WEBHOOK_CHANNELS } from '../engine/domain/delivery.ts';
import { ENDPOINT_STATES, type EndpointHealth, PAUSE_CAUSES } from '../engine/domain/endpoint.ts';
import {
  countOwnPauses,
  listOwnEndpoints,
  type OwnEndpoint,
  readOwnEndpoint,
} from '../engine/store/endpoint-listing.ts';
import { pauseOwnEndpoint, readEndpointHealth, resumeEndpoint } from '../engine/store/endpoints.ts';
import { FLAG } from '../values.ts';
import { principalOf } from './auth.ts';
import { listWithinReach } from './client-listings.ts';
import { acceptable, answer } from './content.ts';
import type { ApiDependencies } from './dependencies.ts';
import { dateTimeOrNull, identity, text } from './description/field-schemas.ts';
import { collection, identityOf, offsetOf } from './hydra.ts';
import { jsonBody } from './json-body.ts';
import type { QueryLimiter } from './limits.ts';
import { bodySchema, readBody, single } from './member-rules.ts';
import { notFound, Problem } from './problem.ts';
import { orderParameter, PAGING, readQuery } from './query.ts';
import { type Contract, route } from './route.ts';
import { KINDS_OF_MEMBER, REFUSALS, THINGS } from './sentences.ts';

const ENDPOINT_LIST_PARAMETERS = {
  'order[id]': orderParameter('id', ', which is the order of URLs'),
  ...PAGING,
} as const;

/** Limited because couriers keep every pause in memory. */
const OWN_PAUSES_MAX = 1_000;

const ENDPOINT_CHANGE = {
  paused: single(FLAG, {
    description:
      'True pauses the endpoint: nothing is sent to it. False ends your own pause, and a pause after failures.',
  }),
};

export function endpointRoutes(router: Router, dependencies: ApiDependencies, limiter: QueryLimiter): void {
  const { database } = dependencies;

  const describe = async (endpoints: readonly OwnEndpoint[]): Promise<EndpointDocument[]> => {
    const keys = endpoints.map(({ key }) => key);
    const healthOf = await readEndpointHealth(limiter.database, keys);
    return endpoints.map((endpoint) => endpointDocument(endpoint, healthOf.get(endpoint.key)));
  };

  /** Throws a 404 `Problem`. */
  const find = async (ctx: Context): Promise<OwnEndpoint> => {
    const url = urlOfId(String(ctx.params.id));
    const { clientId } = principalOf(ctx);
    return (url === null ? null : await readOwnEndpoint(limiter.database, clientId, url)) ?? notFound(THINGS.endpoint);
  };

  const read = async (ctx: Context): Promise<EndpointDocument> =>
    limiter.runSingle(ctx, async () => (await describe([await find(ctx)]))[0] as EndpointDocument);

  router.get('/endpoints', acceptable, async (ctx) => {
    const query = readQuery(ctx, ENDPOINT_LIST_PARAMETERS);
    const page = { direction: query['order[id]'] ?? 'asc', ...offsetOf(query) } as const;
    const { members, total } = await listWithinReach(ctx, page, (part) =>
      limiter.runSingle(ctx, async () => {
        const listed = await listOwnEndpoints(limiter.database, principalOf(ctx).clientId, part);
        return { members: await describe(listed.endpoints), total: listed.total };
      }),
    );
    answer(ctx, collection(ctx, { context: 'Endpoint', members, totalItems: total }));
  });

  router.get('/endpoints/:id', acceptable, async (ctx) => {
    answer(ctx, await read(ctx));
  });

  router.patch('/endpoints/:id', acceptable, jsonBody, async (ctx) => {
    const { paused } = readBody(ctx, ENDPOINT_CHANGE, KINDS_OF_MEMBER.endpoint);
    const { clientId } = principalOf(ctx);
    const { key, url } = await limiter.runSingle(ctx, () => find(ctx));
    if (paused) {
      const isOneTooMany = (await countOwnPauses(database, clientId, key)) >= OWN_PAUSES_MAX;
      if (isOneTooMany) throw new Problem(409, REFUSALS.pauses(OWN_PAUSES_MAX));
      await pauseOwnEndpoint(database, key, url);
    } else await resumeEndpoint(database, key, 'client');
    const document = await read(ctx);
    if (!paused && document.pausedBy === 'operator') throw new Problem(409, REFUSALS.pausedByOperator);
    answer(ctx, document);
  });
}

function idOfUrl(url: string): string {
  return Buffer.from(url).toString('base64url');
}

/** Null if the id is not a URL in base64url. */
function urlOfId(id: string): string | null {
  const url = Buffer.from(id, 'base64url').toString();
  return idOfUrl(url) === id && !url.includes('\0') ? url : null;
}

type EndpointDocument = ReturnType<typeof endpointDocument>;

/** `health`: undefined if no attempt to the endpoint is recorded and it is not paused. */
function endpointDocument({ url, hasMatches, hasEvents, searches }: OwnEndpoint, health?: EndpointHealth) {
  const { state = 'healthy', pausedBy = null, pausedAt = null, failingSince = null } = health ?? {};
  const since = state === 'paused' ? pausedAt : state === 'failing' ? failingSince : null;
  return {
    ...identityOf('Endpoint', `/endpoints/${idOfUrl(url)}`),
    url,
    channels: WEBHOOK_CHANNELS.filter((channel) => (channel === 'match' ? hasMatches : hasEvents)),
    state,
    pausedBy,
    since,
    failingSince,
    lastError: health?.lastError ?? null,
    waiting: health?.backlog ?? 0,
    searches,
  };
}

const EndpointSchema = z.strictObject({
  ...identity('Endpoint'),
  url: text('The URL that receives webhooks.'),
  channels: z.array(z.enum(WEBHOOK_CHANNELS)).meta({
    description: 'match: the endpointRecipient of a search; event: the eventEndpoint of a search.',
  }),
  state: z.enum(ENDPOINT_STATES).meta({
    description:
      'failing: at least its last three attempts failed; paused: nothing is sent to it, and nothing is lost.',
  }),
  pausedBy: z.enum(PAUSE_CAUSES).nullable().meta({
    description: 'Cause of the pause. If there are several, the first of: an operator, you (client), failures.',
  }),
  since: dateTimeOrNull('When the pause began or, for a failing endpoint, the series of failures.'),
  failingSince: dateTimeOrNull('When the current series of failures began, or the one before a pause after failures.'),
  lastError: z.string().nullable().meta({ description: 'Class of the last failure.' }),
  waiting: z.int().meta({ description: 'Number of deliveries that wait for the endpoint.' }),
  searches: z.int().meta({ description: 'Number of your searches that name the endpoint.' }),
});

export const ENDPOINT_CONTRACT: Contract = {
  routes: [
    route('get /endpoints', 'Endpoint', 'collection', 'Lists your endpoints', {
      parameters: ENDPOINT_LIST_PARAMETERS,
      details:
        'The URLs that your searches name, and those for which your webhooks still wait, each with its health. An ' +
        'endpoint is paused if it fails for days without a success, or if its last three answers were 410 over at ' +
        'least an hour. Nothing is then sent to it, new webhooks wait in order, and nothing is lost.',
    }),
    route('get /endpoints/{id}', 'Endpoint', 'item', 'Reads an endpoint', {
      details: 'One of your endpoints. The id is its URL in base64url.',
    }),
    route('patch /endpoints/{id}', 'Endpoint', 'item', 'Pauses or resumes an endpoint', {
      body: 'EndpointChange',
      refusals: [409],
      details:
        'Pauses an endpoint for all your searches, or ends your pause and a pause after failures. When a pause ends, ' +
        'waiting webhooks are sent one at a time until the first 200. To send webhooks again that had failed before, ' +
        'start a recovery (`POST /recoveries`, with a `since` some hours before `failingSince`). While an operator’s ' +
        'pause lasts, resuming is answered with 409.',
    }),
  ],
  resources: { Endpoint: EndpointSchema },
  groups: { Endpoint: 'The URLs that receive your webhooks, and their health.' },
  bodies: { EndpointChange: { schema: bodySchema(ENDPOINT_CHANGE), example: { paused: false } } },
  examples: () => ({
    Endpoint: endpointDocument({ key: '', url: EXAMPLE_URL, hasMatches: false, hasEvents: true, searches: 2 }),
  }),
};

const EXAMPLE_URL = 'https://hooks.example.com/events';
