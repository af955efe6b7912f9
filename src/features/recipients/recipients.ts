/**
 * Shows and erases the data that a client stores about a recipient of e-mails (decisions, sections 7 and 12). Clients
 * use `/recipients/{address}` for their own recipients; operators use `vigie recipients` and two RPCs for those of all
 * clients.
 */

import type Router from '@koa/router';
import type { Context } from 'koa';
import { z } from 'zod';
import type { Queryable } from '../../engine/store/database.ts';
import type { Feature } from '../../feature.ts';
import type { Rpcs } from '../../grpc/call.ts';
import { notFound as grpcNotFound } from '../../grpc/errors.ts';
import type { GetRecipientsRequest } from '../../grpc/generated/vigie/admin/v1/recipients.ts';
import { nameOf, optionalClientId, valueOf } from '../../grpc/names.ts';
import { principalOf } from '../../rest/auth.ts';
import { acceptable, answer } from '../../rest/content.ts';
import type { ApiDependencies } from '../../rest/dependencies.ts';
import {
  dateTime,
  dateTimeOrNull,
  emailFrequencyChosen,
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
import {
  answerRecipients,
  Consent,
  RECIPIENT_LIST_ROUTE,
  RecipientSummary,
  summaryDocument,
} from './recipient-list.ts';

/** Throws a 404 `Problem` if the text is not an address: nothing is stored about it. */
function recipientOf(ctx: Context): Recipient {
  const address = String(ctx.params.address);
  if (!isAddress(address)) notFound(THINGS.recipient);
  return { clientId: principalOf(ctx).clientId, address };
}

function recipientRoutes(router: Router, dependencies: ApiDependencies, limiter: QueryLimiter): void {
  const { database, settings, keepChoice = async () => undefined } = dependencies;

  router.get('/recipients', acceptable, async (ctx) => {
    answer(ctx, await limiter.runSingle(ctx, () => answerRecipients(ctx, limiter.database, settings)));
  });

  router.get('/recipients/:address', acceptable, async (ctx) => {
    const recipient = recipientOf(ctx);
    const document = await limiter.run(ctx, () => readRecipient(limiter.database, recipient));
    answer(ctx, document ?? notFound(THINGS.recipient));
  });

  router.delete('/recipients/:address', async (ctx) => {
    const recipient = recipientOf(ctx);
    const erased = await limiter.run(ctx, () => eraseRecipient(database, recipient, keepChoice));
    if (erased === null) notFound(THINGS.recipient);
    ctx.status = 204;
  });
}

/** For operators: the data of all clients, or of one. */
const RECIPIENT_RPCS = {
  async getRecipients(request, { database }) {
    const { address, clientId } = await namedIn(request, database);
    const document = await documentOfClients(database, address, clientId);
    if (document === null) throw neverHeld();
    return { documentJson: JSON.stringify(document) };
  },
  async eraseRecipients(request, { database, dataDirectory, logger }) {
    const { address, clientId } = await namedIn(request, database);
    const keep = keepBeside(dataDirectory, (reason) => logger.warn({}, reason));
    const erased = await eraseAtClients(database, address, clientId, keep);
    if (erased.length === 0) throw neverHeld();
    const erasures = erased.map(({ client, name, hadNotices: _hadNotices, ...counts }) => {
      return { client: nameOf.client(client), clientName: name, ...counts };
    });
    return { erasures };
  },
} satisfies Rpcs;

async function namedIn({ address, client }: GetRecipientsRequest, database: Queryable) {
  return {
    address: valueOf('address', RECIPIENT_ADDRESS, address),
    clientId: await optionalClientId('client', client, database),
  };
}

/** Answers and logs do not repeat the address. */
function neverHeld() {
  return grpcNotFound('Recipient', 'recipients/…', 'There is no data about this address. Check its spelling.');
}

const RecipientMark = z.strictObject({
  property: link('PropertyDocument', 'The property.'),
  reason: textOrNull('Reason of the mark.'),
  note: textOrNull('Note of the mark.'),
});

const RecipientSearch = z.strictObject({
  search: link('Search', 'The search.'),
  title: text('Title of the search.'),
  publicTitle: textOrNull('Public title of the search.'),
  mentionsOnly: z.boolean().meta({
    description:
      'True if the search sends no e-mails to the address, but has it, or may have it, in its titles, context, ' +
      'consent or marks.',
  }),
  mayContain: z.boolean().meta({
    description:
      'True if one of its texts has the address as part of text that may be another address. An erasure keeps that text.',
  }),
  notificationConsent: Consent,
  refusedAt: dateTimeOrNull('When the recipient’s server began to refuse the address.'),
  deletedAt: dateTimeOrNull('When the search was deleted; it is listed until its deliveries are removed.'),
  marks: list(RecipientMark, 'Your marks whose reason or note contains the address.'),
});

const RecipientAttempt = z.strictObject({
  startedAt: dateTime('When it started.'),
  statusCode: integer('SMTP code of the answer.'),
  error: textOrNull('Class of the failure; null if the e-mail was delivered.'),
  reason: textOrNull('Reason of the failure in words.'),
});

const RecipientEmail = z.strictObject({
  status: text('Status, as in a delivery.'),
  items: z.int().meta({ description: 'Number of items of the e-mail in that state.' }),
  createdAt: dateTime('When the first item was recorded.'),
  finishedAt: dateTimeOrNull('When the items were delivered, failed or cancelled.'),
  attempts: list(RecipientAttempt, 'Attempts, oldest first.'),
});

const SearchUnsubscription = z.strictObject({
  search: link('Search', 'The search, which may have been deleted.'),
  unsubscribedAt: dateTimeOrNull('When the recipient unsubscribed from the search.'),
  resubscribedAt: dateTimeOrNull('When the recipient subscribed again.'),
});

const RecipientSchema = z.strictObject({
  ...identity('Recipient'),
  address: text('The address, as requested.'),
  unsubscribedAt: dateTimeOrNull('When the recipient unsubscribed from all your e-mails.'),
  resubscribedAt: dateTimeOrNull('When the recipient last subscribed again.'),
  erasedAt: dateTimeOrNull(
    'When the address was erased; no e-mail is sent to it after that. Null once a later consent has lifted the erasure.',
  ),
  liftedAt: dateTimeOrNull('When consent last lifted an erasure.'),
  emailFrequencyChosen,
  emailFrequencyChosenAt: dateTimeOrNull('When the recipient last chose that frequency, or cancelled the choice.'),
  searchUnsubscriptions: list(
    SearchUnsubscription,
    'Searches from which the recipient has unsubscribed, or to which the recipient has subscribed again.',
  ),
  receivesNotices: z.boolean().meta({
    description: 'True if an operator has set the address for notices of your failing endpoints.',
  }),
  searches: list(RecipientSearch, 'Your searches that send e-mails to the address, or mention it.'),
  emails: list(RecipientEmail, `The newest ${EMAILS_MAX} e-mails, including those that wait to be sent.`),
  emailCount: z.int().meta({ description: 'Total number of e-mails.' }),
});

const RECIPIENT_CONTRACT: Contract = {
  routes: [
    RECIPIENT_LIST_ROUTE,
    route('get /recipients/{address}', 'Recipient', 'item', 'Reads your data about an e-mail address', {
      details:
        'Your data about a recipient of e-mails: the searches with consent and refusals, any unsubscription or ' +
        'erasure, and the e-mails with times and outcomes. Percent-encode the address; case is ignored. The answer ' +
        'is 404 if you have no data about the address. After an erasure, only the objection remains.',
    }),
    route('delete /recipients/{address}', 'Recipient', 'nothing', 'Erases an e-mail address', {
      details:
        'Removes the address from all your data, including titles, contexts, consents and marks. ' +
        '`notificationRecipient` becomes null and `emailStatus` off, pending e-mails are cancelled, and the address ' +
        'receives no notices. Text that may be part of another address is kept. Webhooks continue. An e-mail that is ' +
        'already being sent is the last one. The objection is kept as a salted hash. Only a `notificationConsent` ' +
        'that is dated and saved later lifts it; it never lifts an unsubscription. The request may be repeated.',
    }),
  ],
  resources: { RecipientSummary, Recipient: RecipientSchema },
  parts: { RecipientSearch, RecipientMark, RecipientEmail, RecipientAttempt, SearchUnsubscription },
  groups: {
    RecipientSummary: 'The addresses to which your searches send e-mails, with their status.',
    Recipient: 'Your data about recipients of e-mails, and its erasure.',
  },
  examples: ({ at, ids }) => ({
    RecipientSummary: summaryDocument({
      ...{ address: 'jo@example.org', searches: 1, status: 'active', lastMailAt: at.toISOString() },
      consent: { source: 'form on example.org', at: at.toISOString() },
    }),
    Recipient: recipientDocument('jo@example.org', {
      unsubscribedAt: null,
      resubscribedAt: null,
      erasedAt: null,
      liftedAt: null,
      emailFrequencyChosen: null,
      emailFrequencyChosenAt: null,
      searchUnsubscriptions: [],
      receivesNotices: false,
      searches: [
        {
          search: searchIri(ids.search),
          title: 'T3 à Toulon',
          publicTitle: null,
          mentionsOnly: false,
          mayContain: false,
          notificationConsent: { source: 'form on example.org', at: at.toISOString() },
          refusedAt: null,
          deletedAt: null,
          marks: [],
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
  /** Erases items that a long transaction recorded after an erasure that it had not seen. */
  async *forget(database) {
    await eraseItems(database, "recipient_key from mail_choices where kind = 'erasure' and value = 'true'");
    yield {};
  },
  contract: RECIPIENT_CONTRACT,
  routes: recipientRoutes,
  rpcs: RECIPIENT_RPCS,
  commands: {
    'recipients show': async (input) => (await import('./recipient-commands.ts')).showRecipient(input),
    'recipients export': async (input) => (await import('./recipient-commands.ts')).exportRecipient(input),
    'recipients erase': async (input) => (await import('./recipient-commands.ts')).eraseRecipientOf(input),
  },
};
