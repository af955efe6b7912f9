/**
 * Why a property does or does not satisfy a search, and why each delivery of the pair was or was not sent; for one
 * search, or for every search of a client that it satisfies. Evaluated on PostgreSQL's present state by `evaluate` of
 * domain/criteria, the definition that the index agrees with.
 */

import { withTexts } from '../../engine/domain/criteria.ts';
import { ATTEMPTS_MAX } from '../../engine/domain/delivery.ts';
import type { SearchNumber } from '../../engine/domain/ids.ts';
import { readAttempts } from '../../engine/store/attempts.ts';
import type { AdminDelivery } from '../../engine/store/delivery-admin.ts';
import { followMedians } from '../../engine/store/market-medians.ts';
import { readAnySearch } from '../../engine/store/pairs.ts';
import { deliveryAnswer } from '../../grpc/deliveries.ts';
import type { AdminDependencies } from '../../grpc/dependencies.ts';
import { notFound } from '../../grpc/errors.ts';
import type {
  DeliveryExplanation,
  ExplainMatchRequest,
  ExplainMatchResponse,
  ExplainPropertyRequest,
  ExplainPropertyResponse,
} from '../../grpc/generated/vigie/admin/v1/matching.ts';
import { clientIdOf, heldPropertyOf, nameOf, uuidOfName } from '../../grpc/names.ts';
import { pageOfList } from '../../grpc/paging.ts';
import { type Explaining, explainPair, reasonSentence, type Subject, subjectOf } from './explanation.ts';
import { queriesOf } from './queries.ts';

export async function explainMatch(
  request: ExplainMatchRequest,
  dependencies: AdminDependencies,
): Promise<ExplainMatchResponse> {
  const { database } = dependencies;
  const search = await readAnySearch(database, uuidOfName('search', 'searches', request.search));
  if (search === null) throw notFound('Search', request.search);
  const explaining = explainingOf(dependencies);
  const subject = await subjectOf(await heldPropertyOf(request, database), explaining);
  const explanation = await explained(search.number, subject, explaining, dependencies);
  if (explanation === null) throw notFound('Search', request.search);
  return explanation;
}

const SEARCHES_PER_PAGE = 20;

export async function explainProperty(
  request: ExplainPropertyRequest,
  dependencies: AdminDependencies,
): Promise<ExplainPropertyResponse> {
  const { database } = dependencies;
  const clientId = await clientIdOf('client', request.client, database);
  const explaining = explainingOf(dependencies);
  const subject = await subjectOf(await heldPropertyOf(request, database), explaining);
  const { uuid } = subject.held.state;
  const askQuery = queriesOf(dependencies.askThread);
  const satisfied = await askQuery('satisfiedSearches', { clientId, facts: subject.facts });
  const { rows, nextPageToken } = pageOfList(satisfied, request, { clientId, uuid }, SEARCHES_PER_PAGE);
  const explanations: ExplainMatchResponse[] = [];
  for (const number of rows) {
    const explanation = await explained(number, subject, explaining, dependencies);
    if (explanation !== null) explanations.push(explanation);
  }
  return { property: nameOf.property(uuid), explanations, nextPageToken, totalSize: satisfied.length };
}

function explainingOf({ database, resolvePlace, retentionDays, now }: AdminDependencies): Explaining {
  return { database, resolvePlace, retentionDays, now, medians: followMedians(database).renew };
}

/** Null when the search has gone meanwhile. */
async function explained(
  number: SearchNumber,
  subject: Subject,
  explaining: Explaining,
  dependencies: AdminDependencies,
): Promise<ExplainMatchResponse | null> {
  const explanation = await explainPair(number, subject, explaining);
  if (explanation === null) return null;
  const { searchId, searchTitle, evaluations, match, deliveries, reasons } = explanation;
  return {
    search: nameOf.search(searchId),
    searchTitle,
    property: nameOf.property(subject.held.state.uuid),
    satisfied: evaluations.every(({ holds }) => holds),
    verdicts: evaluations.map(withTexts),
    pair: {
      match: match === null ? '' : nameOf.match(match.matchId),
      beginTime: match?.hasBegun ? match.createdAt : undefined,
      updateTime: match?.updatedAt,
    },
    deliveries: await Promise.all(deliveries.toReversed().map((delivery) => explainDelivery(delivery, dependencies))),
    reasons: reasons.map((reason) => ({
      code: reason.code,
      sentence: reasonSentence(reason, 'en'),
      time: reason.at ?? undefined,
    })),
  };
}

async function explainDelivery(delivery: AdminDelivery, { database }: AdminDependencies): Promise<DeliveryExplanation> {
  const attempts = (await readAttempts(database, [delivery.id]))(delivery.id);
  const last = attempts.at(-1);
  const success = attempts.find(({ error }) => error === null);
  const lastWords = last === undefined ? '' : (last.reason ?? last.error ?? 'answered with 200');
  return {
    delivery: deliveryAnswer(delivery),
    explanation: explanationOf(delivery, success?.number ?? attempts.length, lastWords),
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

function iso(at: Date | null): string {
  return at?.toISOString() ?? 'an unknown time';
}
