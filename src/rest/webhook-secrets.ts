/** `/webhook-secrets`: secrets of the client that sign every webhook beside the token of its search (decisions, section 11). */

import type Router from '@koa/router';
import type { Context } from 'koa';
import { z } from 'zod';
import {
  createWebhookSecret,
  deleteWebhookSecret,
  listWebhookSecrets,
  readWebhookSecret,
  TooManySecretsError,
  WEBHOOK_SECRETS_MAX,
  type WebhookSecret,
} from '../engine/store/webhook-secrets.ts';
import { principalOf } from './auth.ts';
import { readBody } from './body-members.ts';
import { TIME_ORDERS, timeOrderedPage } from './client-listings.ts';
import { acceptable, answer } from './content.ts';
import type { ApiDependencies } from './dependencies.ts';
import { collection } from './hydra.ts';
import { optionalJsonBody } from './json-body.ts';
import { notFound, Problem } from './problem.ts';
import { PAGING, readQuery } from './query.ts';
import { idOf } from './searches.ts';
import { FAULTS, KINDS_OF_MEMBER, REFUSALS, THINGS, zodMessage } from './sentences.ts';

export const WEBHOOK_SECRET_PARAMETERS = { ...TIME_ORDERS, ...PAGING } as const;

const OVERLAP_HOURS_DEFAULT = 24;
const OVERLAP_HOURS_MAX = 720;

export const WebhookSecretCreation = z.strictObject({
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

export function webhookSecretRoutes(router: Router, { database, secretsChanged }: ApiDependencies): void {
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

export function webhookSecretDocument({ id, createdAt, expiresAt, hint }: WebhookSecret, value?: string) {
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
