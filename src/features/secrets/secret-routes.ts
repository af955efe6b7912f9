/** `/webhook-secrets`: secrets of the client that sign every webhook beside the token of its search (decisions, section 11). */

import type Router from '@koa/router';
import type { Context } from 'koa';
import { z } from 'zod';
import { principalOf } from '../../rest/auth.ts';
import { readBody } from '../../rest/body-members.ts';
import { TIME_ORDERS, timeOrderedPage } from '../../rest/client-listings.ts';
import { acceptable, answer } from '../../rest/content.ts';
import type { ApiDependencies } from '../../rest/dependencies.ts';
import { dateTime, dateTimeOrNull, identity, text, uuid } from '../../rest/description/field-schemas.ts';
import { collection } from '../../rest/hydra.ts';
import { optionalJsonBody } from '../../rest/json-body.ts';
import { notFound, Problem } from '../../rest/problem.ts';
import { PAGING, readQuery } from '../../rest/query.ts';
import { type Contract, get, route } from '../../rest/route.ts';
import { idOf } from '../../rest/searches.ts';
import { FAULTS, KINDS_OF_MEMBER, REFUSALS, THINGS, zodMessage } from '../../rest/sentences.ts';
import {
  createWebhookSecret,
  deleteWebhookSecret,
  listWebhookSecrets,
  readWebhookSecret,
  TooManySecretsError,
  WEBHOOK_SECRETS_MAX,
  type WebhookSecret,
} from './secret-rows.ts';

const WEBHOOK_SECRET_PARAMETERS = { ...TIME_ORDERS, ...PAGING } as const;

const OVERLAP_HOURS_DEFAULT = 24;
const OVERLAP_HOURS_MAX = 720;

const WebhookSecretCreation = z.strictObject({
  overlapHours: z
    .int(zodMessage(FAULTS.integer))
    .min(0, zodMessage(FAULTS.negative))
    .max(OVERLAP_HOURS_MAX, zodMessage(FAULTS.atMost(OVERLAP_HOURS_MAX)))
    .nullish()
    .meta({
      description: `For how long the older secrets sign on, hours; ${OVERLAP_HOURS_DEFAULT} unless said otherwise.`,
    }),
});

const WHAT = THINGS.webhookSecret;

export function secretRoutes(router: Router, { database, secretsChanged }: ApiDependencies): void {
  router.get('/webhook-secrets', acceptable, async (ctx) => {
    const query = readQuery(ctx, WEBHOOK_SECRET_PARAMETERS);
    const secrets = await listWebhookSecrets(database, principalOf(ctx).clientId);
    const { direction, offset, limit } = timeOrderedPage(query);
    const ordered = direction === 'asc' ? secrets : secrets.toReversed();
    const members = ordered.slice(offset, offset + limit).map((secret) => webhookSecretDocument(secret));
    const page = { context: 'WebhookSecret', members, totalItems: secrets.length, paging: query };
    answer(ctx, collection(ctx, { ...page, parameters: WEBHOOK_SECRET_PARAMETERS }));
  });

  router.post('/webhook-secrets', acceptable, optionalJsonBody, async (ctx) => {
    const { overlapHours } = readBody(ctx, WebhookSecretCreation, KINDS_OF_MEMBER.secret);
    const { clientId } = principalOf(ctx);
    const created = await createWebhookSecret(database, clientId, overlapHours ?? OVERLAP_HOURS_DEFAULT).catch(
      refuseMore,
    );
    secretsChanged?.();
    answerSecret(ctx, created.secret, created.value);
  });

  router.get('/webhook-secrets/:id', acceptable, async (ctx) => {
    const secret = await readWebhookSecret(database, principalOf(ctx).clientId, idOf(ctx, WHAT));
    if (secret === null) throw notFound(WHAT);
    answer(ctx, webhookSecretDocument(secret));
  });

  router.delete('/webhook-secrets/:id', async (ctx) => {
    const isDeleted = await deleteWebhookSecret(database, principalOf(ctx).clientId, idOf(ctx, WHAT));
    if (!isDeleted) throw notFound(WHAT);
    secretsChanged?.();
    ctx.status = 204;
  });
}

function refuseMore(error: unknown): never {
  if (!(error instanceof TooManySecretsError)) throw error;
  throw new Problem(409, REFUSALS.secrets(WEBHOOK_SECRETS_MAX));
}

/** No cache may keep what is shown once, not even the client's own. */
function answerSecret(ctx: Context, secret: WebhookSecret, value: string): void {
  const document = webhookSecretDocument(secret, value);
  ctx.set('Location', document['@id']);
  ctx.set('Cache-Control', 'no-store');
  answer(ctx, document, 201);
}

function webhookSecretDocument({ id, createdAt, expiresAt, hint }: WebhookSecret, value?: string) {
  return {
    '@context': '/contexts/WebhookSecret',
    '@id': `/webhook-secrets/${id}`,
    '@type': 'WebhookSecret',
    id,
    createdAt: createdAt.toISOString(),
    expiresAt: expiresAt?.toISOString() ?? null,
    hint,
    ...(value === undefined ? {} : { secret: value }),
  };
}

const WebhookSecretSchema = z.strictObject({
  ...identity('WebhookSecret'),
  id: uuid('As its IRI has it.'),
  createdAt: dateTime('When it was made; webhooks are signed with it from then on, within seconds.'),
  expiresAt: dateTimeOrNull('When it signs no more; null: never.'),
  hint: text('Its last characters, to distinguish secrets.'),
  secret: text('The secret itself (Standard Webhooks), answered once, when it is made.').optional(),
});

export const SECRET_CONTRACT: Contract = {
  routes: [
    {
      ...get(
        '/webhook-secrets',
        'WebhookSecret',
        'collection',
        'Lists the secrets that sign all your webhooks',
        WEBHOOK_SECRET_PARAMETERS,
      ),
      details: 'The secrets that sign every webhook of yours beside the token of its search, the oldest first.',
    },
    route('post /webhook-secrets', 'WebhookSecret', 'item', 'Makes a secret, and lets the older ones expire', {
      ...{ body: 'WebhookSecretCreation', refusals: [409] },
      details:
        'Makes a secret that signs every webhook of yours, for any search, beside the token of the search: a receiver needs ' +
        'this one alone. It is answered once, here. The older ones expire `overlapHours` later (24 unless said otherwise), so ' +
        'that receivers can change to the new one meanwhile. At most three are alive at a time.',
    }),
    {
      ...get('/webhook-secrets/{id}', 'WebhookSecret', 'item', 'Reads a secret without its value'),
      details: 'One of your secrets, without its value: that was answered when it was made.',
    },
    route(
      'delete /webhook-secrets/{id}',
      'WebhookSecret',
      'nothing',
      'Deletes a secret: nothing is signed with it any more',
      {
        details: 'Deletes a secret. Within five seconds nothing is signed with it any more.',
      },
    ),
  ],
  resources: { WebhookSecret: WebhookSecretSchema },
  groups: { WebhookSecret: 'Secrets that sign all of your webhooks.' },
  bodies: {
    WebhookSecretCreation: { schema: WebhookSecretCreation, example: { overlapHours: 48 }, isOptional: true },
  },
  examples: ({ at, ids }) => ({
    WebhookSecret: webhookSecretDocument({ id: ids.own, createdAt: at, expiresAt: null, hint: 'cmV0' }),
  }),
};
