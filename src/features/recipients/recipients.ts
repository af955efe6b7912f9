/**
 * People who receive e-mails: what a client holds about one, handed out and erased (decisions, sections 7 and 12). Clients
 * have `/recipients/{address}` for their own, operators `vigie recipients` and two calls for those of all.
 */

import type Router from '@koa/router';
import type { Context } from 'koa';
import { z } from 'zod';
import type { Queryable } from '../../engine/store/database.ts';
import type { Feature } from '../../feature.ts';
import type { AdminDependencies } from '../../grpc/dependencies.ts';
import { notFound as grpcNotFound } from '../../grpc/errors.ts';
import type {
  EraseRecipientsRequest,
  EraseRecipientsResponse,
  GetRecipientsRequest,
  GetRecipientsResponse,
} from '../../grpc/generated/vigie/admin/v1/recipients.ts';
import { nameOf, optionalClientId, valueOf } from '../../grpc/names.ts';
import { principalOf } from '../../rest/auth.ts';
import { acceptable, answer } from '../../rest/content.ts';
import type { ApiDependencies } from '../../rest/dependencies.ts';
import {
  dateTime,
  dateTimeOrNull,
  identity,
  integer,
  link,
  list,
  text,
  textOrNull,
} from '../../rest/description/field-schemas.ts';
import type { QueryLimiter } from '../../rest/limits.ts';
import { notFound } from '../../rest/problem.ts';
import { type Contract, route } from '../../rest/route.ts';
import { searchIri } from '../../rest/search-document.ts';
import { THINGS } from '../../rest/sentences.ts';
import { RECIPIENT_ADDRESS } from '../../values.ts';
import { eraseAtClients, eraseItems, eraseRecipient } from './erasure.ts';
import {
  documentOfClients,
  EMAILS_MAX,
  isAddress,
  type Recipient,
  readRecipient,
  recipientDocument,
} from './holdings.ts';
import { keepBeside, startChoiceSync } from './recipient-journal.ts';

/** Throws a 404 `Problem` for what is no address: nothing is held about it. */
function recipientOf(ctx: Context): Recipient {
  const address = String(ctx.params.address);
  if (!isAddress(address)) throw notFound(THINGS.recipient);
  return { clientId: principalOf(ctx).clientId, address };
}

function recipientRoutes(router: Router, dependencies: ApiDependencies, limiter: QueryLimiter): void {
  const { database, keepChoice = async () => undefined } = dependencies;

  router.get('/recipients/:address', acceptable, async (ctx) => {
    const recipient = recipientOf(ctx);
    const document = await limiter.run(ctx, () => readRecipient(limiter.database, recipient));
    if (document === null) throw notFound(THINGS.recipient);
    answer(ctx, document);
  });

  router.delete('/recipients/:address', async (ctx) => {
    const recipient = recipientOf(ctx);
    const erased = await limiter.run(ctx, () => eraseRecipient(database, recipient, keepChoice));
    if (erased === null) throw notFound(THINGS.recipient);
    ctx.status = 204;
  });
}

/** For operators: of all clients, or of one. */
async function getRecipients(
  request: GetRecipientsRequest,
  { database }: AdminDependencies,
): Promise<GetRecipientsResponse> {
  const { address, clientId } = await namedIn(request, database);
  const document = await documentOfClients(database, address, clientId);
  if (document === null) throw neverHeld();
  return { documentJson: JSON.stringify(document) };
}

async function eraseRecipients(
  request: EraseRecipientsRequest,
  { database, dataDirectory, logger }: AdminDependencies,
): Promise<EraseRecipientsResponse> {
  const { address, clientId } = await namedIn(request, database);
  const keep = keepBeside(dataDirectory, (reason) => logger.warn({}, reason));
  const erased = await eraseAtClients(database, address, clientId, keep);
  if (erased.length === 0) throw neverHeld();
  return {
    erasures: erased.map(({ client, name, hadNotices: _hadNotices, ...erasure }) => ({
      client: nameOf.client(client),
      clientName: name,
      ...erasure,
    })),
  };
}

async function namedIn({ address, client }: GetRecipientsRequest, database: Queryable) {
  return {
    address: valueOf('address', RECIPIENT_ADDRESS, address),
    clientId: await optionalClientId('client', client, database),
  };
}

/** Answers and logs do not repeat the address. */
function neverHeld() {
  return grpcNotFound('Recipient', 'recipients/…', 'nothing was ever held about this address');
}

const Consent = z
  .strictObject({ source: text('Where and how it was given.'), at: dateTime('When.') })
  .nullable()
  .meta({ description: 'What the recipient has agreed to.' });

const RecipientSearch = z.strictObject({
  search: link('Search', 'The search.'),
  title: text('Its title.'),
  mentionsOnly: z.boolean().meta({
    description: 'True: it has the address in its title, context or consent, or may have it, and does not write to it.',
  }),
  mayContain: z.boolean().meta({
    description: 'True: one of these has it as part of what may be another address. Erasing leaves that.',
  }),
  notificationConsent: Consent,
  refusedAt: dateTimeOrNull('Since when the server of the recipient refuses the address.'),
  deletedAt: dateTimeOrNull('When it was deleted; its row stays until its deliveries are gone.'),
});

const RecipientAttempt = z.strictObject({
  startedAt: dateTime('When it started.'),
  statusCode: integer('SMTP code of the answer.'),
  error: textOrNull('Class of the failure; null when it was delivered.'),
  reason: textOrNull('In words.'),
});

const RecipientEmail = z.strictObject({
  status: text('As of a delivery.'),
  items: z.int().meta({ description: 'Items of the e-mail in that state.' }),
  createdAt: dateTime('When the first of them was recorded.'),
  finishedAt: dateTimeOrNull('When they became final.'),
  attempts: list(RecipientAttempt, 'Attempts, oldest first.'),
});

const RecipientSchema = z.strictObject({
  ...identity('Recipient'),
  address: text('As it was asked.'),
  unsubscribedAt: dateTimeOrNull('Since when the recipient wants no e-mails of yours.'),
  resubscribedAt: dateTimeOrNull('When an unsubscription was last taken back.'),
  erasedAt: dateTimeOrNull('When it was erased; it is not written to since. Null once later consent has lifted that.'),
  liftedAt: dateTimeOrNull('When consent last lifted an erasure.'),
  receivesNotices: z.boolean().meta({
    description: 'True: an operator has set it as your address for notices of endpoints that fail.',
  }),
  searches: list(RecipientSearch, 'Your searches that write to it, or mention it.'),
  emails: list(RecipientEmail, `The newest ${EMAILS_MAX}, and what waits to be sent.`),
  emailCount: z.int().meta({ description: 'How many there are.' }),
});

const RECIPIENT_CONTRACT: Contract = {
  routes: [
    route('get /recipients/{address}', 'Recipient', 'item', 'Reads what you hold about an e-mail address', {
      details:
        'What you hold about a recipient of e-mails: the searches, with consent and refusals, an unsubscription or erasure, ' +
        'and the e-mails with times and outcomes. The address is percent-encoded, in any case. What you never held is a 404; ' +
        'an erased address is held as its opposition alone.',
    }),
    route('delete /recipients/{address}', 'Recipient', 'nothing', 'Erases an e-mail address', {
      details:
        'Takes the address out of everything of yours: `notificationRecipient` becomes null and `emailStatus` off, what waits ' +
        'is cancelled, titles, contexts and consents do without it, and it receives no notices. What may be part of another address stays. Webhooks go on. An e-mail that is being sent is the ' +
        'last. The opposition stays as a salted hash: only `notificationConsent` that is dated and saved later lifts it, and ' +
        'never an unsubscription. It may be repeated.',
    }),
  ],
  resources: { Recipient: RecipientSchema },
  parts: { RecipientSearch, RecipientEmail, RecipientAttempt },
  groups: { Recipient: 'People who receive e-mails: what you hold about them, and their erasure.' },
  examples: ({ at, ids }) => ({
    Recipient: recipientDocument('jo@example.org', {
      unsubscribedAt: null,
      resubscribedAt: null,
      erasedAt: null,
      liftedAt: null,
      receivesNotices: false,
      searches: [
        {
          search: searchIri(ids.search),
          title: 'T3 à Toulon',
          mentionsOnly: false,
          mayContain: false,
          notificationConsent: { source: 'form on example.org', at: at.toISOString() },
          refusedAt: null,
          deletedAt: null,
        },
      ],
      emails: [],
      emailCount: 0,
    }),
  }),
};

export const recipients: Feature = {
  name: 'recipients',
  prepare: startChoiceSync,
  keepChoice: ({ dataDirectory, log }) => keepBeside(dataDirectory, (reason) => log.warn(reason)),
  /** What a long transaction recorded after an erasure that it had not seen. */
  async *forget(database) {
    await eraseItems(database, 'key from mail_recipients where erased_at is not null');
    yield {};
  },
  contract: RECIPIENT_CONTRACT,
  routes: recipientRoutes,
  rpcs: (usual) => ({ getRecipients: usual(getRecipients), eraseRecipients: usual(eraseRecipients) }),
  commands: {
    'recipients show': async (input) => (await import('./recipient-commands.ts')).showRecipient(input),
    'recipients export': async (input) => (await import('./recipient-commands.ts')).exportRecipient(input),
    'recipients erase': async (input) => (await import('./recipient-commands.ts')).eraseRecipientOf(input),
  },
};
