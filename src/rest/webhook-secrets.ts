/** `/webhook-secrets`: creates, lists and deletes the secrets with which the engine signs all webhooks of a client. */

import type Router from '@koa/router';
import type { Context } from 'koa';
import { z } from 'zod';
import {
  createWebhookSecret,
  deleteWebhookSecret,
  listWebhookSecrets,
  readWebhookSecret,
  WEBHOOK_SECRETS_MAX,
  type WebhookSecret,
} from '../engine/store/webhook-secrets.ts';
import { integer } from '../values.ts';
import { principalOf } from './auth.ts';
import { TIME_ORDERS, timeOrderedPage } from './client-listings.ts';
import { acceptable, answer } from './content.ts';
import type { ApiDependencies } from './dependencies.ts';
import { dateTime, dateTimeOrNull, identity, text, uuid } from './description/field-schemas.ts';
import { collection, identityOf } from './hydra.ts';
import { optionalJsonBody } from './json-body.ts';
import { bodySchema, nullable, optional, readBody, single } from './member-rules.ts';
import { notFound, Problem } from './problem.ts';
import { PAGING, readQuery } from './query.ts';
import { type Contract, route } from './route.ts';
import { idOf } from './searches.ts';
import { KINDS_OF_MEMBER, REFUSALS, THINGS } from './sentences.ts';

const WEBHOOK_SECRET_PARAMETERS = { ...TIME_ORDERS, ...PAGING } as const;

const OVERLAP_HOURS_DEFAULT = 24;
const OVERLAP_HOURS_MAX = 720;

const SECRET_CREATION = {
  overlapHours: optional(
    nullable(
      single(integer(0, OVERLAP_HOURS_MAX)),
      `Number of hours for which the older secrets continue to sign; ${OVERLAP_HOURS_DEFAULT} by default.`,
      OVERLAP_HOURS_DEFAULT,
    ),
  ),
};

const WHAT = THINGS.webhookSecret;

export function secretRoutes(router: Router, { database, secretsChanged }: ApiDependencies): void {
  router.get('/webhook-secrets', acceptable, async (ctx) => {
    const query = readQuery(ctx, WEBHOOK_SECRET_PARAMETERS);
    const secrets = await listWebhookSecrets(database, principalOf(ctx).clientId);
    const { direction, offset, limit } = timeOrderedPage(query);
    const ordered = direction === 'asc' ? secrets : secrets.toReversed();
    const members = ordered.slice(offset, offset + limit).map((secret) => webhookSecretDocument(secret));
    answer(ctx, collection(ctx, { context: 'WebhookSecret', members, totalItems: secrets.length }));
  });

  router.post('/webhook-secrets', acceptable, optionalJsonBody, async (ctx) => {
    const { overlapHours = OVERLAP_HOURS_DEFAULT } = readBody(ctx, SECRET_CREATION, KINDS_OF_MEMBER.secret);
    const { clientId } = principalOf(ctx);
    const created = await createWebhookSecret(database, clientId, overlapHours);
    if (created === null) throw new Problem(409, REFUSALS.secrets(WEBHOOK_SECRETS_MAX));
    secretsChanged();
    answerSecret(ctx, created.secret, created.value);
  });

  router.get('/webhook-secrets/:id', acceptable, async (ctx) => {
    const secret = await readWebhookSecret(database, principalOf(ctx).clientId, idOf(ctx, WHAT));
    answer(ctx, webhookSecretDocument(secret ?? notFound(WHAT)));
  });

  router.delete('/webhook-secrets/:id', async (ctx) => {
    const isDeleted = await deleteWebhookSecret(database, principalOf(ctx).clientId, idOf(ctx, WHAT));
    if (!isDeleted) notFound(WHAT);
    secretsChanged();
    ctx.status = 204;
  });
}

/** No cache may store a value that is shown only once, not even the client's own cache. */
function answerSecret(ctx: Context, secret: WebhookSecret, value: string): void {
  const document = webhookSecretDocument(secret, value);
  ctx.set('Location', document['@id']);
  ctx.set('Cache-Control', 'no-store');
  answer(ctx, document, 201);
}

/** `secret`: the value, if it is shown. */
function webhookSecretDocument(stored: WebhookSecret, secret?: string) {
  return { ...identityOf('WebhookSecret', `/webhook-secrets/${stored.id}`), ...stored, secret };
}

const WebhookSecretSchema = z.strictObject({
  ...identity('WebhookSecret'),
  id: uuid('UUID, as in the IRI.'),
  createdAt: dateTime('When it was created; webhooks are signed with it a few seconds later.'),
  expiresAt: dateTimeOrNull('When it stops signing; null if it never stops.'),
  hint: text('Its last characters, to distinguish secrets.'),
  secret: text('The secret itself (Standard Webhooks), returned only when it is created.').optional(),
});

export const SECRET_CONTRACT: Contract = {
  routes: [
    route('get /webhook-secrets', 'WebhookSecret', 'collection', 'Lists the secrets that sign all your webhooks', {
      parameters: WEBHOOK_SECRET_PARAMETERS,
      details: 'The secrets that sign each of your webhooks, in addition to the token of its search, newest first.',
    }),
    route('post /webhook-secrets', 'WebhookSecret', 'item', 'Creates a secret and lets the older ones expire', {
      ...{ body: 'WebhookSecretCreation', refusals: [409] },
      details:
        'Creates a secret that signs the webhooks of all your searches, in addition to the token of each search: a ' +
        'receiver needs only this secret. It is returned only once, in this answer. The older secrets expire after ' +
        '`overlapHours` (24 by default), so that receivers have time to switch to the new one. At most three secrets ' +
        'are valid at a time.',
    }),
    route('get /webhook-secrets/{id}', 'WebhookSecret', 'item', 'Reads a secret without its value', {
      details: 'One of your secrets, without its value, which was returned only at its creation.',
    }),
    route('delete /webhook-secrets/{id}', 'WebhookSecret', 'nothing', 'Deletes a secret: it no longer signs anything', {
      details: 'Deletes a secret. Within five seconds, it no longer signs anything.',
    }),
  ],
  resources: { WebhookSecret: WebhookSecretSchema },
  groups: { WebhookSecret: 'Secrets that sign all of your webhooks.' },
  bodies: {
    WebhookSecretCreation: { schema: bodySchema(SECRET_CREATION), example: { overlapHours: 48 }, isOptional: true },
  },
  examples: ({ at, ids }) => ({
    WebhookSecret: webhookSecretDocument({ id: ids.own, createdAt: at, expiresAt: null, hint: 'cmV0' }),
  }),
};
