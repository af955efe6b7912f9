/**
 * Why a property does or does not satisfy a search, with what was sent of the pair; for one search, or for every search of a client that it satisfies. Evaluated on PostgreSQL's present state by `evaluate` of
 * domain/criteria, the definition that the index agrees with.
 */

import { withTexts } from '../../engine/domain/criteria.ts';
import type { SearchNumber } from '../../engine/domain/ids.ts';
import { followMedians } from '../../engine/store/market-medians.ts';
import { readAnySearch } from '../../engine/store/pairs.ts';
import { deliveryAnswer } from '../../grpc/deliveries.ts';
import type { AdminDependencies } from '../../grpc/dependencies.ts';
import { notFound } from '../../grpc/errors.ts';
import type {
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
  const explanation = await explained(search.number, subject, explaining);
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
    const explanation = await explained(number, subject, explaining);
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
    deliveries: deliveries.toReversed().map(deliveryAnswer),
    reasons: reasons.map((reason) => ({
      code: reason.code,
      sentence: reasonSentence(reason, 'en'),
      time: reason.at ?? undefined,
    })),
  };
}
