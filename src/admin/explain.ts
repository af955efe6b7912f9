/**
 * Why a property does or does not satisfy a search, and why each delivery of the pair was or was not sent. Judged on
 * what PostgreSQL holds at this moment by `explain` of domain/criteria, the definition that the index agrees with.
 */

import type { HeldProperty } from '../domain/change.ts';
import { type CriterionVerdict, explain } from '../domain/criteria.ts';
import { ATTEMPTS_MAX } from '../domain/delivery.ts';
import { marketOf } from '../domain/price-coherence.ts';
import { isLive } from '../domain/property.ts';
import { propertyFacts, readingOf } from '../domain/property-document.ts';
import { criteriaOf } from '../domain/search.ts';
import { type AdminDelivery, listAttempts, listPairDeliveries } from '../store/delivery-admin.ts';
import { type AdminSearch, type PairRow, readAnySearch, readMarketMedian, readPair } from '../store/pairs.ts';
import { readProperty } from '../store/properties.ts';
import { listSiteCategories } from '../store/site-categories.ts';
import { deliveryAnswer } from './delivery-answers.ts';
import type { AdminDependencies } from './dependencies.ts';
import { notFound } from './errors.ts';
import type {
  DeliveryExplanation,
  ExplainMatchRequest,
  ExplainMatchResponse,
} from './generated/vigie/admin/v1/matching.ts';
import { nameOf, uuidOfName } from './names.ts';

export async function explainMatch(
  request: ExplainMatchRequest,
  dependencies: AdminDependencies,
): Promise<ExplainMatchResponse> {
  const { database } = dependencies;
  const searchId = uuidOfName('search', 'searches', request.search);
  const propertyUuid = uuidOfName('property', 'properties', request.property);
  const [search, held] = await Promise.all([readAnySearch(database, searchId), readProperty(database, propertyUuid)]);
  if (search === null) throw notFound('Search', request.search);
  if (held === null) throw notFound('Property', request.property);
  const verdicts = await verdictsOf(search, held, dependencies);
  const pair = await readPair(database, search.number, propertyUuid);
  const deliveries = pair === null ? [] : await listPairDeliveries(database, searchId, pair.matchId);
  return {
    satisfied: verdicts.every(({ holds }) => holds),
    verdicts: verdicts.map((verdict) => ({ ...verdict })),
    pair: {
      match: pair === null ? '' : nameOf.match(pair.matchId),
      beginTime: pair?.beganAt ?? undefined,
      updateTime: pair?.updatedAt,
    },
    deliveries: await Promise.all(deliveries.map((delivery) => explainDelivery(delivery, dependencies))),
    notes: notesOf({ search, held, pair, verdicts, deliveryCount: deliveries.length }),
  };
}

async function verdictsOf(
  search: AdminSearch,
  { state, crawls }: HeldProperty,
  { database, resolvePlace }: AdminDependencies,
): Promise<readonly CriterionVerdict[]> {
  const reading = readingOf(state, crawls, resolvePlace);
  const market = marketOf(reading.priced);
  const [median, categories] = await Promise.all([
    market === null ? null : readMarketMedian(database, market),
    listSiteCategories(database),
  ]);
  const nameOfCategory = new Map(categories.map(({ id, name }) => [id, name]));
  const facts = propertyFacts(reading, () => median);
  return explain(
    criteriaOf(search.members, (id) => nameOfCategory.get(id) ?? null),
    facts,
  );
}

async function explainDelivery(delivery: AdminDelivery, { database }: AdminDependencies): Promise<DeliveryExplanation> {
  const attempts = await listAttempts(database, delivery.id);
  const last = attempts.at(-1);
  const lastWords = last === undefined ? '' : (last.reason ?? last.error ?? 'answered with 200');
  return {
    delivery: deliveryAnswer(delivery),
    explanation: explanationOf(delivery, attempts.length, lastWords),
  };
}

function explanationOf(delivery: AdminDelivery, attemptCount: number, lastWords: string): string {
  switch (delivery.state) {
    case 'queued':
      return delivery.replayCount > 0
        ? `sent again by an operator at ${iso(delivery.dueAt)}; waits for its turn`
        : 'waits for its first attempt';
    case 'sending':
      return `attempt ${delivery.attemptCount} is under way`;
    case 'retry_wait':
      return `attempt ${delivery.attemptCount} of ${ATTEMPTS_MAX} failed (${lastWords}); due again at ${iso(delivery.dueAt)}`;
    case 'parked':
      return 'set aside: its endpoint is paused, or has more waiting than it takes';
    case 'delivered':
      return `delivered at ${iso(delivery.finishedAt)} with attempt ${attemptCount}`;
    case 'failed':
      return `not delivered: all ${delivery.attemptCount} attempts failed, the last because of: ${lastWords}`;
    case 'cancelled':
      return attemptCount === 0
        ? 'never sent: its search was deleted or silenced before the first attempt'
        : `given up after ${attemptCount} attempts: its search was deleted or silenced`;
  }
}

interface Judged {
  readonly search: AdminSearch;
  readonly held: HeldProperty;
  readonly pair: PairRow | null;
  readonly verdicts: readonly CriterionVerdict[];
  readonly deliveryCount: number;
}

function notesOf(judged: Judged): string[] {
  return [...silenceNotes(judged), ...matchNotes(judged), ...eventNotes(judged)];
}

/** What keeps the search from being told at all, whatever happens. */
function silenceNotes({ search: { members, deletedAt } }: Judged): string[] {
  const notes: string[] = [];
  if (deletedAt !== null) notes.push(`the search was deleted at ${iso(deletedAt)}`);
  if (!members.notificationEnabled) notes.push('notifications of the search are off: nothing is sent');
  if (members.endpointRecipient === null) notes.push('the search has no endpointRecipient: matches are not sent');
  if (members.eventEndpoint === null) notes.push('the search has no eventEndpoint: events are not sent');
  else if (members.subscribedEvents.length === 0) notes.push('the search subscribes to no kind of event');
  return notes;
}

function matchNotes({ search, held, pair, verdicts, deliveryCount }: Judged): string[] {
  const notes: string[] = [];
  const failing = verdicts.filter(({ holds }) => !holds).map(({ criterion }) => criterion);
  const hasBegun = (pair?.beganAt ?? null) !== null;
  if (!held.state.adverts.some(isLive)) notes.push('the property has no live advert: it satisfies no search');
  if (failing.length === 0 && !hasBegun) {
    notes.push(
      'satisfied, but never a match: the property satisfied the search when it was created or changed ' +
        `(${iso(search.createdAt)}), and a match begins only when a change makes it so`,
    );
  }
  if (failing.length > 0) {
    const without = `does not satisfy the search: ${failing.join(', ')}`;
    notes.push(
      hasBegun ? `a match began earlier; the property now ${without}` : `never a match: the property ${without}`,
    );
  }
  if (hasBegun && deliveryCount === 0) {
    notes.push('a match began while nothing was to be sent: notifications or endpoint were missing');
  }
  return notes;
}

/** Kinds that the search would not be told of today although somebody listens; the document keeps the newest events. */
function eventNotes({ search: { members }, held, pair }: Judged): string[] {
  if (pair === null || members.eventEndpoint === null || members.subscribedEvents.length === 0) return [];
  const events = held.state.adverts.flatMap((advert) => advert.events);
  const kinds = [...new Set(events.map(({ kind }) => kind))].filter((kind) => !members.subscribedEvents.includes(kind));
  return kinds.map((kind) => {
    const times = events.filter((event) => event.kind === kind).map(({ createdAt }) => createdAt);
    return `${kind} (${times.length} so far, the last at ${times.sort().at(-1)}) is not sent: the search does not subscribe to it`;
  });
}

function iso(at: Date | null): string {
  return at?.toISOString() ?? 'an unknown time';
}
