/** `/recoveries`: clients request and follow bulk resends of failed webhooks (decisions, section 11). */

import type Router from '@koa/router';
import type { Context } from 'koa';
import { z } from 'zod';
import { endpointKeyOf } from '../../engine/domain/endpoint.ts';
import { timeOrderedUuid } from '../../engine/domain/ids.ts';
import { makeOnce } from '../../engine/store/idempotency-keys.ts';
import { principalOf } from '../../rest/auth.ts';
import { TIME_ORDERS, timeOrderedPage } from '../../rest/client-listings.ts';
import { acceptable, answer } from '../../rest/content.ts';
import type { ApiDependencies } from '../../rest/dependencies.ts';
import { dateTime, dateTimeOrNull, identity, link, textOrNull } from '../../rest/description/field-schemas.ts';
import { collection, identityOf } from '../../rest/hydra.ts';
import { once } from '../../rest/idempotency.ts';
import { jsonBody } from '../../rest/json-body.ts';
import { bodySchema, type MemberRule, nullable, optional, readBody, single } from '../../rest/member-rules.ts';
import { notFound, Violations } from '../../rest/problem.ts';
import { PAGING, readQuery } from '../../rest/query.ts';
import { type Contract, route } from '../../rest/route.ts';
import { searchIri } from '../../rest/search-document.ts';
import { idOf, ownSearch } from '../../rest/searches.ts';
import { FAULTS, KINDS_OF_MEMBER, THINGS } from '../../rest/sentences.ts';
import { ENDPOINT_URL, FLAG, FUTURE, INSTANT, uuidIn } from '../../values.ts';
import {
  createRecovery,
  isEndpointKnown,
  isWithinKept,
  listRecoveries,
  type NewRecovery,
  RECOVERY_STATES,
  type Recovery,
  readRecovery,
  remainingOf,
  stopRecovery,
} from './recovery-rows.ts';

const RECOVERY_PARAMETERS = { ...TIME_ORDERS, ...PAGING } as const;

const RECOVERY_CREATION = {
  since: single(INSTANT, {
    format: 'date-time',
    description:
      'Only webhooks created at this time or later. The time must have an offset, and deliveries of that time must ' +
      'still be kept.',
  }),
  until: unlessSaid(single(INSTANT, { format: 'date-time' }), 'Only webhooks created until this time; now by default.'),
  search: unlessSaid(single(uuidIn('searches')), 'The search whose webhooks are sent again; all by default.'),
  endpoint: unlessSaid(single(ENDPOINT_URL), 'The endpoint of the deliveries; all by default.'),
  includeDelivered: unlessSaid(single(FLAG), 'True if delivered webhooks are sent again too.'),
};

function unlessSaid<Value>(rule: MemberRule<Value>, description: string) {
  return optional(nullable(rule, description, null));
}

const WHAT = THINGS.recovery;

export function recoveryRoutes(router: Router, dependencies: ApiDependencies): void {
  const { database } = dependencies;

  router.get('/recoveries', acceptable, async (ctx) => {
    const query = readQuery(ctx, RECOVERY_PARAMETERS);
    const { recoveries, total } = await listRecoveries(database, principalOf(ctx).clientId, timeOrderedPage(query));
    const members = recoveries.map(recoveryDocument);
    answer(ctx, collection(ctx, { context: 'Recovery', members, totalItems: total }));
  });

  router.post('/recoveries', acceptable, jsonBody, async (ctx) => {
    const { clientId } = principalOf(ctx);
    const { made: recovery } = await once(ctx, database, {
      prepare: () => readNewRecovery(ctx, dependencies),
      make: (requested) => createRecovery(database, requested),
      makeOnce: (request, requested) =>
        makeOnce(database, request, (connection) => createRecovery(connection, requested)),
      readAgain: (id) => readRecovery(database, clientId, id),
    });
    const document = recoveryDocument(recovery);
    ctx.set('Location', document['@id']);
    answer(ctx, document, 202);
  });

  router.get('/recoveries/:id', acceptable, async (ctx) => {
    const recovery = await readRecovery(database, principalOf(ctx).clientId, idOf(ctx, WHAT));
    answer(ctx, recoveryDocument(recovery ?? notFound(WHAT)));
  });

  router.delete('/recoveries/:id', async (ctx) => {
    const isKnown = await stopRecovery(database, principalOf(ctx).clientId, idOf(ctx, WHAT));
    if (!isKnown) notFound(WHAT);
    ctx.status = 204;
  });
}

/** Throws 404 and 422 `Problem`s. */
async function readNewRecovery(ctx: Context, dependencies: ApiDependencies): Promise<NewRecovery> {
  const body = readBody(ctx, RECOVERY_CREATION, KINDS_OF_MEMBER.recovery);
  const { now, settings } = dependencies;
  const keptDays = settings.retentionDays.deliveries;
  const present = now();
  const { since, endpoint = null } = body;
  const until = body.until ?? present;
  const violations = new Violations();
  if (!isWithinKept(since, present, keptDays)) violations.add(['since'], FAULTS.withinKept(keptDays), 'too_old');
  // An end in the future is moved to the present.
  if (since > present) violations.add(['since'], FUTURE, 'above_maximum');
  else if (since > until) violations.add(['since'], FAULTS.afterUntil, 'min_above_max');
  const { clientId } = principalOf(ctx);
  const isKnown =
    endpoint === null || (await isEndpointKnown(dependencies.database, endpointKeyOf(clientId, endpoint)));
  if (!isKnown) violations.add(['endpoint'], FAULTS.usedEndpoint, 'unknown_endpoint');
  violations.throwAny();
  const search = body.search ? await ownSearch(ctx, dependencies, body.search) : null;
  return {
    id: timeOrderedUuid(present),
    clientId,
    searchNumber: search?.number ?? null,
    endpoint,
    since,
    until: until > present ? present : until,
    includesDelivered: body.includeDelivered ?? false,
  };
}

export function recoveryDocument(recovery: Recovery) {
  const { id, clientId: _client, searchId, includesDelivered, skipped: _skipped, isPaused, ...shown } = recovery;
  return {
    ...identityOf('Recovery', `/recoveries/${id}`),
    ...shown,
    search: searchId === null ? null : searchIri(searchId),
    includeDelivered: includesDelivered,
    state: isPaused ? ('paused' as const) : recovery.state,
    remaining: remainingOf(recovery),
  };
}

const count = (description: string) => z.int().min(0).meta({ description });

const RecoverySchema = z.strictObject({
  ...identity('Recovery'),
  since: dateTime('Only webhooks created at this time or later.'),
  until: dateTime('Only webhooks created at this time or earlier.'),
  search: link('Search', 'The search whose webhooks are sent again; null means all searches.').nullable(),
  endpoint: textOrNull('The endpoint of the deliveries; null means all endpoints.'),
  includeDelivered: z.boolean().meta({ description: 'True if delivered webhooks are sent again too.' }),
  state: z.enum([...RECOVERY_STATES, 'paused']).meta({
    description:
      'counting, then running, then finished when no webhook is left to send; or stopped. paused: all webhooks that ' +
      'are due for the recovery wait for a paused endpoint.',
  }),
  matched: count('Number of matching webhooks; grows while they are counted.'),
  sent: count('Number of matching webhooks that were attempted for the recovery.'),
  delivered: count('Number of attempted webhooks that were answered with 200.'),
  failed: count(
    'Number of attempted webhooks that failed. They are tried again one hour later while they have attempts left.',
  ),
  remaining: count('Number of webhooks that are not sent yet.'),
  createdAt: dateTime('When it was requested.'),
  finishedAt: dateTimeOrNull('When it was finished or stopped.'),
});

export const RECOVERY_CONTRACT: Contract = {
  routes: [
    route('get /recoveries', 'Recovery', 'collection', 'Lists your recoveries, newest first', {
      parameters: RECOVERY_PARAMETERS,
      details: 'Your recoveries, newest first, each with its progress.',
    }),
    route('post /recoveries', 'Recovery', 'item', 'Sends failed webhooks again', {
      body: 'RecoveryCreation',
      status: 202,
      isIdempotent: true,
      refusals: [404, 409, 410],
      details:
        'Sends the webhooks again that were created since a given time and have failed or wait for a retry. On ' +
        'request, delivered ones are sent again too. The oldest are sent first, in parallel with new webhooks, with ' +
        'the same ids, bytes and sequence numbers. E-mails are not sent again, nor webhooks that their search no ' +
        'longer wants. Only one recovery of yours can run at a time.',
    }),
    route('get /recoveries/{id}', 'Recovery', 'item', 'Reads the progress of a recovery', {
      details: 'The progress of a recovery.',
    }),
    route('delete /recoveries/{id}', 'Recovery', 'nothing', 'Stops a recovery; due webhooks are still sent', {
      details: 'Stops a recovery: no further webhook becomes due, and those that are due are still sent.',
    }),
  ],
  resources: { Recovery: RecoverySchema },
  groups: { Recovery: 'Bulk resends of failed webhooks of a period.' },
  bodies: {
    RecoveryCreation: {
      schema: bodySchema(RECOVERY_CREATION),
      example: { since: new Date(Date.now() - 86_400_000).toISOString().replace(/T.*/, 'T08:15:00+01:00') },
    },
  },
  examples: ({ at, ids }) => ({
    Recovery: recoveryDocument({
      id: ids.own,
      clientId: ids.client,
      searchId: ids.search,
      endpoint: null,
      since: at,
      until: at,
      includesDelivered: false,
      state: 'running',
      matched: 120,
      sent: 40,
      delivered: 38,
      failed: 2,
      skipped: 0,
      createdAt: at,
      finishedAt: null,
      isPaused: false,
    }),
  }),
};
