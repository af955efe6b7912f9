/** `/recoveries`: resends everything since a moment that has failed, waits or was delivered (decisions, section 11). */

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
    ...{ format: 'date-time', description: 'From when on, ISO 8601 with an offset; within what is kept.' },
  }),
  until: unlessSaid(single(INSTANT, { format: 'date-time' }), 'Up to when; now unless said otherwise.'),
  search: unlessSaid(
    single(uuidIn('searches')),
    'The search whose webhooks are sent again; all unless said otherwise.',
  ),
  endpoint: unlessSaid(single(ENDPOINT_URL), 'Where they went, as the deliveries say; anywhere unless said otherwise.'),
  includeDelivered: unlessSaid(single(FLAG), 'True: what was delivered as well.'),
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
    const page = { context: 'Recovery', members, totalItems: total, paging: query };
    answer(ctx, collection(ctx, { ...page, parameters: RECOVERY_PARAMETERS }));
  });

  router.post('/recoveries', acceptable, jsonBody, async (ctx) => {
    const { clientId } = principalOf(ctx);
    const { made: recovery } = await once(ctx, database, {
      prepare: () => readNewRecovery(ctx, dependencies),
      make: (asked) => createRecovery(database, asked),
      makeOnce: (request, asked) => makeOnce(database, request, (connection) => createRecovery(connection, asked)),
      readAgain: (id) => readRecovery(database, clientId, id),
    });
    const document = recoveryDocument(recovery);
    ctx.set('Location', document['@id']);
    answer(ctx, document, 202);
  });

  router.get('/recoveries/:id', acceptable, async (ctx) => {
    const recovery = await readRecovery(database, principalOf(ctx).clientId, idOf(ctx, WHAT));
    if (recovery === null) throw notFound(WHAT);
    answer(ctx, recoveryDocument(recovery));
  });

  router.delete('/recoveries/:id', async (ctx) => {
    const isKnown = await stopRecovery(database, principalOf(ctx).clientId, idOf(ctx, WHAT));
    if (!isKnown) throw notFound(WHAT);
    ctx.status = 204;
  });
}

/** Throws 404 and 422 `Problem`s. */
async function readNewRecovery(ctx: Context, dependencies: ApiDependencies): Promise<NewRecovery> {
  const body = readBody(ctx, RECOVERY_CREATION, KINDS_OF_MEMBER.recovery);
  const { now, settings } = dependencies;
  const { deliveriesKeptDays } = settings;
  const present = now();
  const { since, endpoint = null } = body;
  const until = body.until ?? present;
  const violations = new Violations();
  if (!isWithinKept(since, present, deliveriesKeptDays))
    violations.add(['since'], FAULTS.withinKept(deliveriesKeptDays), 'too_old');
  if (since > until) violations.add(['since'], FAULTS.afterUntil, 'min_above_max');
  // A later end is cut to the present.
  else if (since > present) violations.add(['since'], FUTURE, 'min_above_max');
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
  const { id, searchId, since, until, endpoint, includesDelivered, createdAt, finishedAt } = recovery;
  const { matched, sent, delivered, failed } = recovery;
  return {
    ...identityOf('Recovery', `/recoveries/${id}`),
    since: since.toISOString(),
    until: until.toISOString(),
    search: searchId === null ? null : searchIri(searchId),
    endpoint,
    includeDelivered: includesDelivered,
    state: recovery.isPaused ? ('paused' as const) : recovery.state,
    matched,
    sent,
    delivered,
    failed,
    remaining: remainingOf(recovery),
    createdAt: createdAt.toISOString(),
    finishedAt: finishedAt?.toISOString() ?? null,
  };
}

const count = (description: string) => z.int().min(0).meta({ description });

const RecoverySchema = z.strictObject({
  ...identity('Recovery'),
  since: dateTime('From when on.'),
  until: dateTime('Up to when.'),
  search: link('Search', 'The search whose webhooks are sent again; null: of all.').nullable(),
  endpoint: textOrNull('Where they went; null: anywhere.'),
  includeDelivered: z.boolean().meta({ description: 'True: what was delivered as well.' }),
  state: z.enum([...RECOVERY_STATES, 'paused']).meta({
    description:
      'counting, then running, and finished when each was attempted; or stopped. paused: all that is under way waits for ' +
      'an endpoint that is paused.',
  }),
  matched: count('Webhooks that fit; grows while they are counted.'),
  sent: count('Of these, attempted for the recovery.'),
  delivered: count('Of those, the ones that were answered with 200.'),
  failed: count('The others: they are tried again an hour later, as long as they have attempts left.'),
  remaining: count('Not sent yet.'),
  createdAt: dateTime('When it was asked for.'),
  finishedAt: dateTimeOrNull('When it was finished or stopped.'),
});

export const RECOVERY_CONTRACT: Contract = {
  routes: [
    route('get /recoveries', 'Recovery', 'collection', 'Lists your recoveries, newest first', {
      parameters: RECOVERY_PARAMETERS,
      details: 'What you have had sent again, the newest first, with how far each has come.',
    }),
    route('post /recoveries', 'Recovery', 'item', 'Sends everything since again', {
      body: 'RecoveryCreation',
      status: 202,
      isIdempotent: true,
      refusals: [404, 409, 410],
      details:
        'Sends everything since a moment again that has failed or waits for its hour, and on request what was delivered: the ' +
        'oldest first, with the same ids, bytes and sequences, beside what is new. E-mails are not sent again, nor what its ' +
        'search does not want any more. One at a time.',
    }),
    route('get /recoveries/{id}', 'Recovery', 'item', 'Reads how far a recovery has come', {
      details: 'How far a recovery has come.',
    }),
    route('delete /recoveries/{id}', 'Recovery', 'nothing', 'Stops a recovery; what is under way goes on', {
      details: 'Stops a recovery: nothing more is brought forward, and what is under way goes on.',
    }),
  ],
  resources: { Recovery: RecoverySchema },
  groups: { Recovery: 'Webhooks that failed since a moment, sent again.' },
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
