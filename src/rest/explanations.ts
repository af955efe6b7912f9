/** `/searches/{id}/explanation` and `/explanations` (decisions, section 11): why a property is a match, or is not. */

import type Router from '@koa/router';
import type { HeldProperty } from '../engine/domain/change.ts';
import type { ResolvePlace } from '../engine/domain/city.ts';
import { judge } from '../engine/domain/criteria.ts';
import type { Language } from '../engine/domain/criterion-words.ts';
import { matchReason } from '../engine/domain/match-reason.ts';
import { propertyFacts, readingOf } from '../engine/domain/property-document.ts';
import type { PropertyFacts } from '../engine/domain/property-facts.ts';
import { horizonsOf } from '../engine/domain/retention.ts';
import { criteriaOf, type Search, type SiteCategoryName } from '../engine/domain/search.ts';
import { listPairDeliveryIds } from '../engine/store/explanations.ts';
import { readPair } from '../engine/store/pairs.ts';
import { findHeld, type WantedProperty } from '../engine/store/property-digests.ts';
import { readSearchesOf } from '../engine/store/search-listing.ts';
import { siteCategoryNames } from '../engine/store/site-categories.ts';
import { principalOf } from './auth.ts';
import { acceptable, answer } from './content.ts';
import type { ApiDependencies } from './dependencies.ts';
import { explanationDocument } from './explanation-document.ts';
import { collection, offsetOf } from './hydra.ts';
import { Problem } from './problem.ts';
import { PAGING, readQuery, referenceParameter, textParameter } from './query.ts';
import { languageOf, type Questions } from './questions.ts';
import { ownSearch } from './searches.ts';

/** As long as a request can be. */
const URL_LENGTH_MAX = 15_000;

export const EXPLANATION_PARAMETERS = {
  property: referenceParameter('The property: its UUID or IRI.', 'documents/properties'),
  advert: referenceParameter('One of its adverts: the UUID.', 'adverts'),
  url: textParameter('The address of one of its adverts on the portal; what follows # is left out.', URL_LENGTH_MAX),
} as const;

export const EXPLANATION_LIST_PARAMETERS = { ...EXPLANATION_PARAMETERS, ...PAGING } as const;

export function explanationRoutes(router: Router, dependencies: ApiDependencies, questions: Questions): void {
  const { settings, askQuery, now } = dependencies;
  const explaining: Explaining = {
    questions,
    resolvePlace: (place) => dependencies.reference.resolvePlace(place),
    now,
  };

  router.get('/searches/:id/explanation', acceptable, async (ctx) => {
    const query = readQuery(ctx, EXPLANATION_PARAMETERS);
    requireOne(query);
    const language = languageOf(ctx, settings.mailLanguage);
    const explanation = await questions.answeringSingle(ctx, async () => {
      const search = await ownSearch(ctx, questions);
      const subject = await subjectOf(query, explaining);
      return explain(search, subject, language, explaining);
    });
    answer(ctx, explanation);
  });

  router.get('/explanations', acceptable, async (ctx) => {
    const query = readQuery(ctx, EXPLANATION_LIST_PARAMETERS);
    requireOne(query);
    const language = languageOf(ctx, settings.mailLanguage);
    const page = await questions.answering(ctx, async (gone) => {
      const subject = await subjectOf(query, explaining);
      const { clientId } = principalOf(ctx);
      const numbers = await askQuery('nearSearches', { clientId, facts: subject.facts }, gone);
      const { offset, limit } = offsetOf(query);
      const members: object[] = [];
      const wanted = numbers.slice(offset, offset + limit);
      for await (const search of readSearchesOf(questions.database, clientId, wanted)) {
        members.push(await explain(search, subject, language, explaining));
      }
      return { members, totalItems: numbers.length };
    });
    const parameters = EXPLANATION_LIST_PARAMETERS;
    answer(ctx, collection(ctx, { context: 'Explanation', ...page, paging: query, parameters }));
  });
}

function requireOne({ property, advert, url }: WantedProperty): void {
  if ([property, advert, url].filter((each) => each !== null).length === 1) return;
  throw new Problem(400, 'name the property by one of property, advert and url');
}

/** A property, and what is known for all searches that it is held against. */
interface Subject {
  readonly held: HeldProperty;
  readonly facts: PropertyFacts;
  readonly siteCategoryName: SiteCategoryName;
}

/** What explaining takes, beside what is explained. */
interface Explaining {
  readonly questions: Questions;
  readonly resolvePlace: ResolvePlace;
  readonly now: () => Date;
}

/** Throws a 404 `Problem` when no such property is held. */
async function subjectOf(wanted: WantedProperty, { questions, resolvePlace }: Explaining): Promise<Subject> {
  const held = await findHeld(questions.database, wanted);
  if (held === null) {
    throw new Problem(404, 'no such property is held: it was never taken in, or has been forgotten since it expired');
  }
  const reading = readingOf(held.state, held.crawls, resolvePlace);
  const [median, siteCategoryName] = await Promise.all([questions.medians(), siteCategoryNames(questions.database)]);
  return { held, facts: propertyFacts(reading, median), siteCategoryName };
}

async function explain(
  search: Search,
  { held, facts, siteCategoryName }: Subject,
  language: Language,
  { questions, now }: Explaining,
): Promise<object> {
  const { database, retentionDays } = questions;
  const propertyUuid = held.state.uuid;
  const judgements = judge(criteriaOf(search.members, siteCategoryName), facts);
  const pair = await readPair(database, search.number, propertyUuid);
  const deliveryIds = pair === null ? [] : await listPairDeliveryIds(database, search.number, pair);
  const horizon = horizonsOf(retentionDays, now()).deliveries;
  const areDeliveriesKept = deliveryIds.length > 0 || horizon === null || (pair !== null && pair.updatedAt >= horizon);
  const notified = pair === null ? null : { ...pair, areDeliveriesKept };
  const isSilent = !search.members.notificationEnabled;
  const reason = matchReason({ judgements, notified, isSilent }, language);
  const explained = { searchId: search.id, propertyUuid, judgements, deliveryIds };
  return explanationDocument({ ...explained, matchId: pair?.matchId ?? null, matchReason: reason }, language);
}
