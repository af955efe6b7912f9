/**
 * `/webhook-tester` (specification, section 4.6; decisions, section 7): one signed delivery of a made-up match through
 * the real sender, at once and without retry. It is signed as the client's webhooks are, by its secrets and by the token of
 * `search`; without a search, by a token made for this test and answered with it: a receiver can verify it either way.
 */

import { randomBytes } from 'node:crypto';
import type Router from '@koa/router';
import type { Context } from 'koa';
import { EVENT_KINDS, type EventKind } from '../engine/domain/codes.ts';
import type { AttemptOutcome } from '../engine/domain/delivery.ts';
import { randomUuid, type Uuid } from '../engine/domain/ids.ts';
import { propertyDocument } from '../engine/domain/property-document.ts';
import { bodyHead, bodyOf } from '../engine/domain/routing.ts';
import type { SearchMembers } from '../engine/domain/search.ts';
import { readSigningSecrets } from '../engine/store/webhook-secrets.ts';
import { principalOf } from './auth.ts';
import { createConcurrencyLimit } from './concurrency-limit.ts';
import { acceptable, answer } from './content.ts';
import type { ApiDependencies } from './dependencies.ts';
import { endpointFault } from './endpoint-url.ts';
import { Problem } from './problem.ts';
import {
  BadParameter,
  choiceParameter,
  type ParameterRule,
  readQuery,
  referenceParameter,
  undocumented,
} from './query.ts';
import { createRateLimiter } from './rate-limit.ts';
import { leaveTurn } from './request-turns.ts';
import { ownSearch } from './searches.ts';
import { FAULTS, LIMITED, REFUSALS } from './sentences.ts';
import { sampleChange } from './webhook-sample.ts';

/** `endpoint` is checked by the handler, which knows what is allowed. */
const endpoint: ParameterRule<string> = {
  description: 'Absolute https URL that receives the delivery.',
  schema: { type: 'string', format: 'uri', maxLength: 2048 },
  isRequired: true,
  parse: ([value = '']) => (value.length > 2048 ? new BadParameter(FAULTS.characters(2048)) : value),
};

export const WEBHOOK_TEST_PARAMETERS = {
  endpoint,
  eventType: choiceParameter('Kind of event to deliver.', EVENT_KINDS),
  type: undocumented(choiceParameter('The same as eventType.', EVENT_KINDS)),
  search: referenceParameter('Signs with its token too, as its webhooks are signed.', 'searches'),
} as const;

/** Each may hold a connection for as long as an attempt takes. */
const TESTS_AT_ONCE = { perClientMax: 4, allMax: 64, retryAfterSeconds: 5 };
/** Of a client: its tests may be aimed at a stranger, as its searches' webhooks (delivery/fair-scheduler.ts). */
const TEST_RATE = { perSecond: 2, burst: 20 };

export function webhookTestRoutes(router: Router, dependencies: ApiDependencies): void {
  const { database, deliverOnce, settings, now } = dependencies;
  const limited = createConcurrencyLimit(LIMITED.webhookTests, TESTS_AT_ONCE);
  const tests = createRateLimiter(() => performance.now());

  router.get('/webhook-tester', acceptable, async (ctx) => {
    const query = readQuery(ctx, WEBHOOK_TEST_PARAMETERS);
    const kind = kindOf(query.eventType, query.type);
    const search = query.search === null ? null : await ownSearch(ctx, dependencies, query.search);
    const isSaved = search !== null && namesEndpoint(search.members, query.endpoint);
    const fault = isSaved ? null : endpointFault(query.endpoint, settings);
    if (fault !== null) throw new Problem(400, REFUSALS.endpoint(fault));
    if (deliverOnce === undefined) throw new Problem(503, REFUSALS.deliversNot);
    const token = search?.token ?? `whsec_${randomBytes(32).toString('base64')}`;
    const startedAt = now();
    const { clientId } = principalOf(ctx);
    const secrets = await readSigningSecrets(database, clientId, startedAt);
    const context = search === null || search.members.context === null ? null : JSON.stringify(search.members.context);
    const body = sampleBody(kind, search?.id ?? randomUuid(), dependencies);
    const id = randomUuid();
    const { isAllowed, retryAfterSeconds } = tests.take(clientId, TEST_RATE.perSecond, TEST_RATE.burst);
    if (!isAllowed) {
      const headers = { 'Retry-After': String(retryAfterSeconds) };
      throw new Problem(429, REFUSALS.testRate(TEST_RATE.perSecond), { headers });
    }
    leaveTurn(ctx);
    const outcome = await limited(clientId, () =>
      deliverOnce({ id, endpoint: query.endpoint, body, token, secrets, context, startedAt }),
    );
    answerTest(ctx, id, body, outcome, search === null ? token : null);
  });
}

/** What was saved under other rules is delivered to, and so it may be tested. */
function namesEndpoint({ endpointRecipient, eventEndpoint }: SearchMembers, endpoint: string): boolean {
  return endpoint === endpointRecipient || endpoint === eventEndpoint;
}

function kindOf(eventType: EventKind | null, type: EventKind | null): EventKind {
  const kind = eventType ?? type;
  if (kind === null) throw new Problem(400, REFUSALS.eventType(EVENT_KINDS.join(', ')));
  if (type !== null && type !== kind) throw new Problem(400, REFUSALS.eventTypes);
  return kind;
}

function sampleBody(kind: EventKind, searchId: Uuid, { reference, now }: ApiDependencies): string {
  const at = now();
  const { held, event } = sampleChange(kind, at);
  const { state, crawls } = held;
  const document = propertyDocument(state, crawls, reference.resolvePlace, { withContacts: true });
  const match = { id: randomUuid(), createdAt: at.toISOString(), updatedAt: at.toISOString() };
  const field = event.field === null ? null : { ...event.field, createdAt: event.createdAt };
  return bodyOf(bodyHead({ kind, field }, searchId, state.uuid, match), JSON.stringify(document));
}

function answerTest(ctx: Context, id: Uuid, body: string, outcome: AttemptOutcome, token: string | null): void {
  answer(ctx, {
    '@context': '/contexts/WebhookTest',
    '@id': `/webhook-tester/${id}`,
    '@type': 'WebhookTest',
    ...JSON.parse(body),
    delivery: {
      delivered: outcome.error === null,
      statusCode: outcome.statusCode,
      durationMs: Math.round(outcome.durationMs),
      error: outcome.reason ?? outcome.error,
      responseBody: outcome.responseHead,
      token,
    },
  });
}
