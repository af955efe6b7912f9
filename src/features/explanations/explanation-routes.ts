/** `/searches/{id}/explanation` and `/explanations` (decisions, section 11): why a property is or is not a match. */

import type Router from '@koa/router';
import { criterionReason, type Evaluation, shortValues } from '../../engine/domain/criteria.ts';
import type { Language } from '../../engine/domain/criterion-words.ts';
import type { SearchNumber, Uuid } from '../../engine/domain/ids.ts';
import { propertyIri } from '../../engine/domain/property-document.ts';
import type { RetentionDays } from '../../engine/domain/retention.ts';
import { followPoints } from '../../engine/maintenance/followed-points.ts';
import { NO_POINTS } from '../../engine/matching/points/poi-index.ts';
import { followMedians } from '../../engine/store/market-medians.ts';
import { findStoredProperty, type WantedProperty } from '../../engine/store/property-summaries.ts';
import { principalOf } from '../../rest/auth.ts';
import { acceptable, answer } from '../../rest/content.ts';
import type { ApiDependencies } from '../../rest/dependencies.ts';
import { collection, identityOf, offsetOf } from '../../rest/hydra.ts';
import type { QueryLimiter } from '../../rest/limits.ts';
import { notFound, Problem } from '../../rest/problem.ts';
import { PAGING, readQuery, referenceParameter, textParameter } from '../../rest/query.ts';
import { searchIri } from '../../rest/search-document.ts';
import { ownSearch } from '../../rest/searches.ts';
import { languageOf, REFUSALS, THINGS } from '../../rest/sentences.ts';
import { type Explaining, explainPair, matchReasonOf, reasonSentence, type Subject, subjectOf } from './explanation.ts';
import type { PairReason } from './pair-history.ts';
import { queriesOf } from './queries.ts';

/** Below the limit of Node.js for the request line and headers, 16 KiB in total. */
const URL_LENGTH_MAX = 15_000;

export const EXPLANATION_PARAMETERS = {
  property: referenceParameter('The property: its UUID or IRI.', 'documents/properties'),
  advert: referenceParameter('One of its adverts: the UUID.', 'adverts'),
  url: textParameter('The URL of one of its adverts on the portal; the part after # is ignored.', URL_LENGTH_MAX),
} as const;

export const EXPLANATION_LIST_PARAMETERS = { ...EXPLANATION_PARAMETERS, ...PAGING } as const;

const KEPT_FOR_EVER: RetentionDays = { events: 0, deliveries: 0, expired: 0 };

export function explanationRoutes(router: Router, dependencies: ApiDependencies, limiter: QueryLimiter): void {
  const { settings, reference, retentionDays = KEPT_FOR_EVER, now } = dependencies;
  const { database } = limiter;
  const askQuery = queriesOf(dependencies.askThread);
  const medians = followMedians(database, (code) => reference.nameOf(code)).renew;
  const followedPoints = followPoints(database);
  const { pointsOfInterest: points = () => NO_POINTS } = dependencies;
  const explaining: Explaining = { database, reference, retentionDays, now, medians, followedPoints, points };

  router.get('/searches/:id/explanation', acceptable, async (ctx) => {
    const query = readQuery(ctx, EXPLANATION_PARAMETERS);
    requireOne(query);
    const language = languageOf(ctx, settings.mailLanguage);
    const explanation = await limiter.runSingle(ctx, async () => {
      const { number } = await ownSearch(ctx, limiter);
      return explain(number, await findSubject(query, explaining), language, explaining);
    });
    if (explanation === null) throw notFound(THINGS.search);
    answer(ctx, explanation);
  });

  router.get('/explanations', acceptable, async (ctx) => {
    const query = readQuery(ctx, EXPLANATION_LIST_PARAMETERS);
    requireOne(query);
    const language = languageOf(ctx, settings.mailLanguage);
    const page = await limiter.run(ctx, async (gone) => {
      const subject = await findSubject(query, explaining);
      const { clientId } = principalOf(ctx);
      const { markets: _, ...facts } = subject.facts;
      const numbers = await askQuery('satisfiedSearches', { clientId, facts }, gone);
      const { offset, limit } = offsetOf(query);
      const members: object[] = [];
      for (const number of numbers.slice(offset, offset + limit)) {
        const member = await explain(number, subject, language, explaining);
        if (member !== null) members.push(member);
      }
      return { members, totalItems: numbers.length };
    });
    const parameters = EXPLANATION_LIST_PARAMETERS;
    answer(ctx, collection(ctx, { context: 'Explanation', ...page, paging: query, parameters }));
  });
}

function requireOne({ property, advert, url }: WantedProperty): void {
  if ([property, advert, url].filter((each) => each !== null).length === 1) return;
  throw new Problem(400, REFUSALS.oneWay);
}

/** Throws a 404 `Problem` if no such property is stored. */
async function findSubject(wanted: WantedProperty, explaining: Explaining): Promise<Subject> {
  const stored = await findStoredProperty(explaining.database, wanted);
  if (stored !== null) return subjectOf(stored, explaining);
  throw new Problem(404, REFUSALS.notHeld);
}

/** Null if the search has since been deleted. */
export async function explain(
  number: SearchNumber,
  subject: Subject,
  language: Language,
  explaining: Explaining,
): Promise<object | null> {
  const explained = await explainPair(number, subject, explaining);
  if (explained === null) return null;
  const { match, deliveries } = explained;
  const propertyUuid = subject.stored.state.uuid;
  const found = { matchId: match?.matchId ?? null, deliveryIds: deliveries.map(({ id }) => id) };
  const shown = { ...explained, ...found, propertyUuid };
  return explanationDocument(shown, language);
}

export interface Explained {
  readonly searchId: Uuid;
  readonly propertyUuid: Uuid;
  readonly evaluations: readonly Evaluation[];
  readonly matchId: Uuid | null;
  readonly reasons: readonly PairReason[];
  readonly deliveryIds: readonly Uuid[];
}

export function explanationDocument(explained: Explained, language: Language): object {
  const { searchId, propertyUuid, evaluations, matchId, reasons, deliveryIds } = explained;
  return {
    ...identityOf('Explanation', `${searchIri(searchId)}/explanation?property=${propertyUuid}`),
    search: searchIri(searchId),
    property: propertyIri(propertyUuid),
    satisfied: evaluations.every(({ holds }) => holds),
    criteria: evaluations.map((evaluation) => ({
      criterion: evaluation.criterion,
      ...shortValues(evaluation),
      holds: evaluation.holds,
      reason: criterionReason(evaluation, language),
    })),
    match: matchId === null ? null : `/matches/${matchId}`,
    matchReason: matchReasonOf(reasons, evaluations, language),
    matchReasons: reasons.map((reason) => ({
      code: reason.code,
      at: reason.at?.toISOString() ?? null,
      reason: reasonSentence(reason, language),
    })),
    deliveries: deliveryIds.map((id) => `/deliveries/${id}`),
  };
}
