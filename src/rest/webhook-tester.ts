/**
 * `/webhook-tester` (specification, section 4.6; decisions, section 7): one signed delivery of a made-up match through
 * the real sender, at once and without retry. It is signed like the client's webhooks, with the client's secrets and
 * the token of `search`. Without a search, the token is created for this test and included in the answer, so that a
 * receiver can verify the signature.
 */

import { randomBytes } from 'node:crypto';
import type Router from '@koa/router';
import type { Context } from 'koa';
import type { AdvertEvent, FieldChange } from '../engine/domain/advert.ts';
import { applyMessage, type StoredProperty } from '../engine/domain/change.ts';
import { EVENT_KINDS, type EventKind } from '../engine/domain/codes.ts';
import type { AttemptOutcome } from '../engine/domain/delivery.ts';
import { randomUuid, type Uuid } from '../engine/domain/ids.ts';
import { decodeIntakeMessage, type IntakeMessage } from '../engine/domain/intake-message.ts';
import { propertyDocument } from '../engine/domain/property-document.ts';
import { bodyHead, bodyOf } from '../engine/domain/routing.ts';
import type { SearchMembers } from '../engine/domain/search.ts';
import type { Reference } from '../engine/reference/communes.ts';
import { readSigningSecrets } from '../engine/store/webhook-secrets.ts';
import { ENDPOINT_URL } from '../values.ts';
import { principalOf } from './auth.ts';
import { acceptable, answer } from './content.ts';
import type { ApiDependencies } from './dependencies.ts';
import { identityOf } from './hydra.ts';
import { ConcurrencyLimit, RateLimiter, refuse, waitForOthers } from './limits.ts';
import { Problem } from './problem.ts';
import { choiceParameter, type ParameterRule, readQuery, referenceParameter, undocumented } from './query.ts';
import { endpointFault } from './search-input.ts';
import { ownSearch } from './searches.ts';
import { LIMITED, REFUSALS } from './sentences.ts';

/** The handler validates `endpoint`, because it has the rules for endpoints. */
const endpoint: ParameterRule<string> = {
  description: 'Absolute https URL that receives the delivery.',
  schema: { ...ENDPOINT_URL.schema, format: 'uri' },
  isRequired: true,
  parse: ([value]) => ENDPOINT_URL.read(value),
};

export const WEBHOOK_TEST_PARAMETERS = {
  endpoint,
  eventType: choiceParameter('Kind of event to deliver.', EVENT_KINDS),
  type: undocumented(choiceParameter('The same as eventType.', EVENT_KINDS)),
  search: referenceParameter('Search whose token signs the test, as it signs its webhooks.', 'searches'),
} as const;

/** A test takes as long as an attempt, which waits for the endpoint. */
const TESTS_AT_ONCE = { perClientMax: 4, allMax: 64, retryAfterSeconds: 5 };
/** Protects third parties, because a client may name any URL as an endpoint. */
const TEST_RATE = { perSecond: 2, burst: 20 };

export function webhookTestRoutes(router: Router, dependencies: ApiDependencies): void {
  const { database, deliverOnce, settings, now } = dependencies;
  const limit = new ConcurrencyLimit(LIMITED.webhookTests, TESTS_AT_ONCE);
  const rates = new RateLimiter(() => performance.now());

  router.get('/webhook-tester', acceptable, async (ctx) => {
    const query = readQuery(ctx, WEBHOOK_TEST_PARAMETERS);
    const kind = kindOf(query.eventType, query.type);
    const search = query.search === null ? null : await ownSearch(ctx, dependencies, query.search);
    const isSaved = search !== null && namesEndpoint(search.members, query.endpoint);
    const fault = isSaved ? null : endpointFault(query.endpoint, settings);
    if (fault !== null) throw new Problem(400, REFUSALS.endpoint(fault));
    const token = search?.token ?? `whsec_${randomBytes(32).toString('base64')}`;
    const startedAt = now();
    const { clientId } = principalOf(ctx);
    const secrets = await readSigningSecrets(database, clientId, startedAt);
    const context = search === null || search.members.context === null ? null : JSON.stringify(search.members.context);
    const ids = { search: search?.id ?? randomUuid(), match: randomUuid() };
    const body = sampleBody(kind, startedAt, ids, dependencies.reference);
    const id = randomUuid();
    const { retryAfterSeconds } = rates.consume(clientId, TEST_RATE);
    if (retryAfterSeconds > 0) refuse(REFUSALS.testRate(TEST_RATE.perSecond), retryAfterSeconds);
    waitForOthers(ctx);
    const outcome = await limit.run(clientId, () =>
      deliverOnce({ id, endpoint: query.endpoint, clientId, body, token, secrets, context, startedAt }),
    );
    if (outcome === null) refuse(REFUSALS.busy(TESTS_AT_ONCE.retryAfterSeconds), TESTS_AT_ONCE.retryAfterSeconds);
    answerTest(ctx, id, body, outcome, search === null ? token : null);
  });
}

/** An endpoint that was saved under other rules gets deliveries, so it may be tested too. */
function namesEndpoint({ endpointRecipient, eventEndpoint }: SearchMembers, endpoint: string): boolean {
  return endpoint === endpointRecipient || endpoint === eventEndpoint;
}

function kindOf(eventType: EventKind | null, type: EventKind | null): EventKind {
  const kind = eventType ?? type;
  if (kind === null) throw new Problem(400, REFUSALS.eventType(EVENT_KINDS.join(', ')));
  if (type !== null && type !== kind) throw new Problem(400, REFUSALS.eventTypes);
  return kind;
}

/** The body of a webhook about the sample, in the form of real ones. `isMatch`: it announces a match, not an event. */
export function sampleBody(
  kind: EventKind,
  at: Date,
  { search, match }: Readonly<Record<'search' | 'match', Uuid>>,
  { resolvePlace }: Pick<Reference, 'resolvePlace'>,
  isMatch = false,
): string {
  const { stored, event } = sampleChange(kind, at);
  const { state, crawls } = stored;
  const document = propertyDocument(state, crawls, resolvePlace, { withContacts: true });
  const times = { createdAt: at.toISOString(), updatedAt: at.toISOString() };
  const field = isMatch || event.field === null ? null : { ...event.field, createdAt: event.createdAt };
  return bodyOf(bodyHead({ kind, field }, search, state.uuid, { id: match, ...times }), JSON.stringify(document));
}

function answerTest(ctx: Context, id: Uuid, body: string, outcome: AttemptOutcome, token: string | null): void {
  answer(ctx, {
    ...identityOf('WebhookTest', `/webhook-tester/${id}`),
    ...JSON.parse(body),
    delivery: {
      delivered: outcome.error === null,
      statusCode: outcome.statusCode,
      durationMs: Math.round(outcome.durationMs),
      error: outcome.error === null ? null : (outcome.reason ?? outcome.error),
      responseBody: outcome.responseHead,
      token,
    },
  });
}

const DAY_MS = 86_400_000;

const PROPERTY = {
  uuid: '00000000-0000-4000-8000-000000000001',
  transactionType: 0,
  propertyType: 0,
  room: 3,
  bedroom: 2,
  city: { insee: '83137' },
  locations: { lat: 43.1242, lon: 5.928 },
};

const ADVERT = {
  uuid: '00000000-0000-4000-8000-000000000002',
  title: 'Appartement T3 à Toulon',
  description: 'Appartement de test, envoyé par le testeur de webhooks de Vigie.',
  url: 'https://example.com/annonces/1',
  price: 250_000,
  surface: 65,
  pictures: ['https://example.com/photos/1.jpg'],
  publisher: { category: 'Agence', name: 'Agence Exemple', type: 1 },
  contact: { agency: 'Agence Exemple', phone: '+33 0 00 00 00 00', reference: 'TEST-1' },
};

/** Earlier messages about the advert, one by default; null is an expiry. */
const PAST: Partial<Readonly<Record<EventKind, readonly (object | null)[]>>> = {
  'property.ad.create': [],
  'ad.update.reactivated': [{}, null],
  'property.match.resume': [{ price: 320_000 }],
};

/** The criterion of the sample `property.match.end`: the budget of its search is at most 300,000 €. */
const BUDGET: FieldChange = {
  fieldName: 'budget',
  fieldOldValue: String(ADVERT.price),
  fieldNewValue: '320000',
  percentVariation: null,
};
const OF_MATCHES: Partial<Readonly<Record<EventKind, { readonly field: FieldChange | null }>>> = {
  'property.match.end': { field: BUDGET },
  'property.match.resume': { field: null },
};

/** Null if the advert expires. */
const CHANGES: Readonly<Record<EventKind, object | null>> = {
  'property.ad.create': {},
  'ad.update.expired': null,
  'ad.update.reactivated': {},
  'ad.update.price': { price: 240_000 },
  'ad.update.surface': { surface: 66 },
  'ad.update.pictures': { pictures: [...ADVERT.pictures, 'https://example.com/photos/2.jpg'] },
  'property.ad.update': { floor: 2 },
  'property.match.end': { price: 320_000 },
  'property.match.resume': {},
};

/**
 * A made-up flat in Toulon after one change, and the event of this kind. The advert is decoded and compared like a real
 * one, so that a test has the form of real deliveries.
 */
export function sampleChange(
  kind: EventKind,
  now: Date,
): { readonly stored: StoredProperty; readonly event: AdvertEvent } {
  const past = PAST[kind] ?? [{}];
  const before = past.reduce<StoredProperty | null>(
    (stored, change, at) => apply(stored, change, new Date(now.getTime() - (past.length - at) * DAY_MS)).stored,
    null,
  );
  const { stored, events } = apply(before, CHANGES[kind], now);
  const [first] = events;
  const ofMatch = OF_MATCHES[kind];
  const event =
    first !== undefined && ofMatch !== undefined
      ? { ...first, kind, ...ofMatch }
      : events.find((one) => one.kind === kind);
  if (stored === null || event === undefined) throw new Error(`The sample causes no event of the kind ${kind}.`);
  return { stored, event };
}

/** A message of each kind, as a crawler would send it. */
export function sampleMessages(at: Date): Readonly<Record<IntakeMessage['kind'], Readonly<Record<string, unknown>>>> {
  const crawledAt = at.toISOString();
  return {
    upsert: { kind: 'upsert', crawledAt, property: PROPERTY, advert: ADVERT },
    expire: { kind: 'expire', crawledAt, property: { uuid: PROPERTY.uuid }, advert: { uuid: ADVERT.uuid } },
  };
}

/** `change`: null if the advert expires. */
function apply(stored: StoredProperty | null, change: object | null, crawledAt: Date) {
  const { upsert, expire } = sampleMessages(crawledAt);
  const message = change === null ? expire : { ...upsert, advert: { ...ADVERT, ...change } };
  const origin = { stream: 1, sequence: crawledAt.getTime() };
  return applyMessage(stored, decodeIntakeMessage(Buffer.from(JSON.stringify(message))), origin);
}
