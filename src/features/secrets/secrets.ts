/** Secrets that sign all webhooks of a client: their creation and expiry. The engine signs with them. */

import { randomBytes } from 'node:crypto';
import type Router from '@koa/router';
import type { Context } from 'koa';
import { z } from 'zod';
import { timeOrderedUuid, type Uuid } from '../../engine/domain/ids.ts';
import { type Database, type Queryable, transaction } from '../../engine/store/database.ts';
import { IS_SECRET_ALIVE } from '../../engine/store/webhook-secrets.ts';
import type { Feature } from '../../feature.ts';
import { principalOf } from '../../rest/auth.ts';
import { TIME_ORDERS, timeOrderedPage } from '../../rest/client-listings.ts';
import { acceptable, answer } from '../../rest/content.ts';
import type { ApiDependencies } from '../../rest/dependencies.ts';
import { dateTime, dateTimeOrNull, identity, text, uuid } from '../../rest/description/field-schemas.ts';
import { collection, identityOf } from '../../rest/hydra.ts';
import { optionalJsonBody } from '../../rest/json-body.ts';
import { bodySchema, nullable, optional, readBody, single } from '../../rest/member-rules.ts';
import { notFound, Problem } from '../../rest/problem.ts';
import { PAGING, readQuery } from '../../rest/query.ts';
import { type Contract, route } from '../../rest/route.ts';
import { idOf } from '../../rest/searches.ts';
import { KINDS_OF_MEMBER, REFUSALS, THINGS } from '../../rest/sentences.ts';
import { integer } from '../../values.ts';

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

function secretRoutes(router: Router, { database, secretsChanged }: ApiDependencies): void {
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
    const { overlapHours = OVERLAP_HOURS_DEFAULT } = readBody(ctx, SECRET_CREATION, KINDS_OF_MEMBER.secret);
    const { clientId } = principalOf(ctx);
    const created = await createWebhookSecret(database, clientId, overlapHours);
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

/** No cache may store a value that is shown only once, not even the client's own cache. */
function answerSecret(ctx: Context, secret: WebhookSecret, value: string): void {
  const document = webhookSecretDocument(secret, value);
  ctx.set('Location', document['@id']);
  ctx.set('Cache-Control', 'no-store');
  answer(ctx, document, 201);
}

function webhookSecretDocument({ id, createdAt, expiresAt, hint }: WebhookSecret, value?: string) {
  return {
    ...identityOf('WebhookSecret', `/webhook-secrets/${id}`),
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
  createdAt: dateTime('When it was created; webhooks are signed with it a few seconds later.'),
  expiresAt: dateTimeOrNull('When it stops signing; null if it never stops.'),
  hint: text('Its last characters, to distinguish secrets.'),
  secret: text('The secret itself (Standard Webhooks), returned only when it is created.').optional(),
});

const SECRET_CONTRACT: Contract = {
  routes: [
    route('get /webhook-secrets', 'WebhookSecret', 'collection', 'Lists the secrets that sign all your webhooks', {
      parameters: WEBHOOK_SECRET_PARAMETERS,
      details: 'The secrets that sign each of your webhooks, in addition to the token of its search, oldest first.',
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

export const secrets: Feature = {
  name: 'secrets',
  async *forget(database) {
    yield { webhook_secrets: await removeWebhookSecrets(database) };
  },
  contract: SECRET_CONTRACT,
  routes: secretRoutes,
};

const WEBHOOK_SECRETS_MAX = 3;

/** A secret without its value, which is shown only when it is created. */
interface WebhookSecret {
  readonly id: Uuid;
  readonly createdAt: Date;
  /** Null if it never expires. */
  readonly expiresAt: Date | null;
  /** The last characters of its value, so that people can distinguish secrets. */
  readonly hint: string;
}

/** The last character of every value is `=`, which carries no information. */
const COLUMNS = `id, created_at as "createdAt", expires_at as "expiresAt", right(rtrim(secret, '='), 4) as hint`;
/** The class of advisory locks that are held until the end of a transaction; the second key is the client's. */
const LOCK_CLASS = 0x5ec4;

/** The unexpired secrets, oldest first. Served by webhook_secrets_client. */
async function listWebhookSecrets(database: Queryable, clientId: Uuid): Promise<readonly WebhookSecret[]> {
  const { rows } = await database.query<WebhookSecret>(
    `select ${COLUMNS} from webhook_secrets where client_id = $1 and ${IS_SECRET_ALIVE} order by id`,
    [clientId],
  );
  return rows;
}

/** Null if it does not exist, has expired, or is another client's. Served by the primary key. */
async function readWebhookSecret(database: Queryable, clientId: Uuid, id: Uuid): Promise<WebhookSecret | null> {
  const { rows } = await database.query<WebhookSecret>(
    `select ${COLUMNS} from webhook_secrets where id = $1 and client_id = $2 and ${IS_SECRET_ALIVE}`,
    [id, clientId],
  );
  return rows[0] ?? null;
}

/**
 * Only this call returns the value of the secret. The older secrets expire `overlapHours` from now, or earlier. Throws
 * a 409 `Problem` if the client has the maximum number. Served by webhook_secrets_client.
 */
export async function createWebhookSecret(
  database: Database,
  clientId: Uuid,
  overlapHours: number,
): Promise<{ readonly secret: WebhookSecret; readonly value: string }> {
  const value = `whsec_${randomBytes(32).toString('base64')}`;
  return transaction(database, async (connection) => {
    // Two concurrent requests must not both create the last secret that the maximum allows.
    await connection.query('select pg_advisory_xact_lock($1, hashtext($2))', [LOCK_CLASS, clientId]);
    await connection.query(
      `update webhook_secrets set expires_at = least(expires_at, now() + $2 * interval '1 hour')
       where client_id = $1 and ${IS_SECRET_ALIVE}`,
      [clientId, overlapHours],
    );
    const { rows } = await connection.query<WebhookSecret>(
      `insert into webhook_secrets (id, client_id, secret)
       select $1, $2, $3
       where (select count(*) from webhook_secrets where client_id = $2 and ${IS_SECRET_ALIVE}) < $4 returning ${COLUMNS}`,
      [timeOrderedUuid(new Date()), clientId, value, WEBHOOK_SECRETS_MAX],
    );
    const [secret] = rows;
    if (secret === undefined) throw new Problem(409, REFUSALS.secrets(WEBHOOK_SECRETS_MAX));
    return { secret, value };
  });
}

/** False if it does not exist, has expired, or is another client's. Served by the primary key. */
export async function deleteWebhookSecret(database: Queryable, clientId: Uuid, id: Uuid): Promise<boolean> {
  const { rowCount } = await database.query(
    `delete from webhook_secrets where id = $1 and client_id = $2 and ${IS_SECRET_ALIVE}`,
    [id, clientId],
  );
  return rowCount === 1;
}

/** Removes expired secrets, and those of deleted clients. Reads every secret: a client has at most three. */
async function removeWebhookSecrets(database: Queryable): Promise<number> {
  const { rowCount } = await database.query(
    `delete from webhook_secrets where not ${IS_SECRET_ALIVE}
       or client_id in (select id from clients where deleted_at is not null)`,
  );
  return rowCount ?? 0;
}
