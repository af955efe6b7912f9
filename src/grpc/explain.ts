/**
 * Why a property does or does not satisfy a search, and why each delivery of the pair was or was not sent; of one search,
 * or of every search of a client that it satisfies or narrowly fails. Judged on what PostgreSQL holds at this moment by
 * `explain` of domain/criteria, the definition that the index agrees with.
 */

import type { HeldProperty } from '../engine/domain/change.ts';
import { explain } from '../engine/domain/criteria.ts';
import { ATTEMPTS_MAX } from '../engine/domain/delivery.ts';
import { marketOf } from '../engine/domain/price-coherence.ts';
import { propertyFacts, readingOf } from '../engine/domain/property-document.ts';
import type { PropertyFacts } from '../engine/domain/property-facts.ts';
import { criteriaOf, type SiteCategoryName } from '../engine/domain/search.ts';
import { readAttempts } from '../engine/store/attempts.ts';
import { type AdminDelivery, listPairDeliveries } from '../engine/store/delivery-admin.ts';
import { type AdminSearch, readAnySearch, readMarketMedian, readPair } from '../engine/store/pairs.ts';
import { readSearchesOf } from '../engine/store/search-listing.ts';
import { siteCategoryNames } from '../engine/store/site-categories.ts';
import { deliveryAnswer } from './delivery-answers.ts';
import type { AdminDependencies } from './dependencies.ts';
import { notFound } from './errors.ts';
import { iso, notesOf } from './explanation-notes.ts';
import type {
  DeliveryExplanation,
  ExplainMatchRequest,
  ExplainMatchResponse,
  ExplainPropertyRequest,
  ExplainPropertyResponse,
} from './generated/vigie/admin/v1/matching.ts';
import { clientIdOf, nameOf, uuidOfName } from './names.ts';
import { pageOfList } from './paging.ts';
import { heldPropertyOf } from './properties.ts';

export async function explainMatch(
  request: ExplainMatchRequest,
  dependencies: AdminDependencies,
): Promise<ExplainMatchResponse> {
  const { database } = dependencies;
  const search = await readAnySearch(database, uuidOfName('search', 'searches', request.search));
  if (search === null) throw notFound('Search', request.search);
  const subject = await subjectOf(await heldPropertyOf(request, database), dependencies);
  return explained(search, subject, dependencies);
}

const SEARCHES_PER_PAGE = 20;

export async function explainProperty(
  request: ExplainPropertyRequest,
  dependencies: AdminDependencies,
): Promise<ExplainPropertyResponse> {
  const { database } = dependencies;
  const clientId = await clientIdOf('client', request.client, database);
  const subject = await subjectOf(await heldPropertyOf(request, database), dependencies);
  const { uuid } = subject.held.state;
  const near = await dependencies.askQuery('nearSearches', { clientId, facts: subject.facts });
  const { rows, nextPageToken } = pageOfList(near, request, { clientId, uuid }, SEARCHES_PER_PAGE);
  const explanations: ExplainMatchResponse[] = [];
  for await (const search of readSearchesOf(database, clientId, rows)) {
    explanations.push(await explained({ ...search, clientId, deletedAt: null }, subject, dependencies));
  }
  return { property: nameOf.property(uuid), explanations, nextPageToken, totalSize: near.length };
}

/** A property, and what is known for all searches that it is held against. */
interface Subject {
  readonly held: HeldProperty;
  readonly facts: PropertyFacts;
  readonly siteCategoryName: SiteCategoryName;
}

async function subjectOf(held: HeldProperty, { database, resolvePlace }: AdminDependencies): Promise<Subject> {
  const reading = readingOf(held.state, held.crawls, resolvePlace);
  const market = marketOf(reading.priced);
  const [median, siteCategoryName] = await Promise.all([
    market === null ? null : readMarketMedian(database, market),
    siteCategoryNames(database),
  ]);
  const facts = propertyFacts(reading, () => median);
  return { held, facts, siteCategoryName };
}

async function explained(
  search: AdminSearch,
  { held, facts, siteCategoryName }: Subject,
  dependencies: AdminDependencies,
): Promise<ExplainMatchResponse> {
  const { database } = dependencies;
  const verdicts = explain(criteriaOf(search.members, siteCategoryName), facts);
  const pair = await readPair(database, search.number, held.state.uuid);
  const deliveries = pair === null ? [] : await listPairDeliveries(database, search.number, pair);
  return {
    search: nameOf.search(search.id),
    searchTitle: search.members.title,
    property: nameOf.property(held.state.uuid),
    satisfied: verdicts.every(({ holds }) => holds),
    verdicts: verdicts.map((verdict) => ({ ...verdict })),
    pair: {
      match: pair === null ? '' : nameOf.match(pair.matchId),
      beginTime: pair?.hasBegun ? pair.createdAt : undefined,
      updateTime: pair?.updatedAt,
    },
    deliveries: await Promise.all(deliveries.map((delivery) => explainDelivery(delivery, dependencies))),
    notes: notesOf({ search, held, pair, verdicts, deliveryCount: deliveries.length }),
  };
}

async function explainDelivery(delivery: AdminDelivery, { database }: AdminDependencies): Promise<DeliveryExplanation> {
  const attempts = (await readAttempts(database, [delivery.id]))(delivery.id);
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
      if (delivery.attemptCount > 0) return `attempt ${delivery.attemptCount + 1} is due since ${iso(delivery.dueAt)}`;
      return delivery.replayCount > 0
        ? `sent again by an operator at ${iso(delivery.dueAt)}; waits for its turn`
        : 'waits for its first attempt';
    case 'sending':
      return `attempt ${delivery.attemptCount} is under way`;
    case 'retry_wait':
      return `attempt ${delivery.attemptCount} of ${ATTEMPTS_MAX} failed (${lastWords}); due again at ${iso(delivery.dueAt)}`;
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
