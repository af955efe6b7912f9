/** `/searches/{id}/explanation` and `/explanations` (decisions, section 11): why a property is or is not a match. */

import type Router from '@koa/router';
import { criterionReason, shortValues } from '../../engine/domain/criteria.ts';
import type { Language } from '../../engine/domain/criterion-words.ts';
import type { SearchNumber } from '../../engine/domain/ids.ts';
import { propertyIri } from '../../engine/domain/property-document.ts';
import { findStoredProperty, type WantedProperty } from '../../engine/store/property-summaries.ts';
import { principalOf } from '../../rest/auth.ts';
import { acceptable, answer } from '../../rest/content.ts';
import type { ApiDependencies } from '../../rest/dependencies.ts';
import { collection, identityOf, offsetOf } from '../../rest/hydra.ts';
import type { QueryLimiter } from '../../rest/limits.ts';
import { notFound, Problem } from '../../rest/problem.ts';
import { ADVERT_URL, PAGING, readQuery, referenceParameter } from '../../rest/query.ts';
import { searchIri } from '../../rest/search-document.ts';
import { ownSearch } from '../../rest/searches.ts';
import { languageOf, REFUSALS, THINGS } from '../../rest/sentences.ts';
import {
  type Explaining,
  type Explanation,
  explainingOf,
  explainPair,
  matchReasonOf,
  reasonSentence,
  type Subject,
  subjectOf,
} from './explanation.ts';
import { queriesOf } from './queries.ts';

export const EXPLANATION_PARAMETERS = {
  property: referenceParameter('The property: its UUID or IRI.', 'documents/properties'),
  advert: referenceParameter('The UUID of an advert of the property.', 'adverts'),
  url: ADVERT_URL,
} as const;

export const EXPLANATION_LIST_PARAMETERS = { ...EXPLANATION_PARAMETERS, ...PAGING } as const;

export function explanationRoutes(router: Router, dependencies: ApiDependencies, limiter: QueryLimiter): void {
  const { settings, reference, now } = dependencies;
  const { database } = limiter;
  const { retentionDays } = settings;
  const askQuery = queriesOf(dependencies.askThread);
  const explaining = explainingOf({ database, reference, retentionDays, now }, dependencies.pointsOfInterest);

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
    answer(ctx, collection(ctx, { context: 'Explanation', ...page }));
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

/** Null if the search no longer exists. */
export async function explain(
  number: SearchNumber,
  subject: Subject,
  language: Language,
  explaining: Explaining,
): Promise<object | null> {
  const explanation = await explainPair(number, subject, explaining);
  return explanation && explanationDocument(explanation, language);
}

export function explanationDocument(explanation: Explanation, language: Language): object {
  const { searchId, propertyUuid, evaluations, match, reasons, deliveries } = explanation;
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
    match: match && `/matches/${match.matchId}`,
    matchReason: matchReasonOf(reasons, evaluations, language),
    matchReasons: reasons.map((reason) => ({
      code: reason.code,
      at: reason.at,
      reason: reasonSentence(reason, language),
    })),
    deliveries: deliveries.map(({ id }) => `/deliveries/${id}`),
  };
}
