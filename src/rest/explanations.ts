/** `/searches/{id}/explanation` and `/explanations` (decisions, section 11): why a property is a match, or is not. */

import type Router from '@koa/router';
import type { Language } from '../engine/domain/criterion-words.ts';
import type { SearchNumber } from '../engine/domain/ids.ts';
import { findHeld, type WantedProperty } from '../engine/store/property-digests.ts';
import { type Explaining, explainPair, type Subject, subjectOf } from '../features/explanations/explanation.ts';
import { principalOf } from './auth.ts';
import { acceptable, answer } from './content.ts';
import type { ApiDependencies } from './dependencies.ts';
import { explanationDocument } from './explanation-document.ts';
import { collection, offsetOf } from './hydra.ts';
import { languageOf } from './language.ts';
import { Problem } from './problem.ts';
import { PAGING, readQuery, referenceParameter, textParameter } from './query.ts';
import type { Questions } from './questions.ts';
import { ownSearch } from './searches.ts';
import { REFUSALS } from './sentences.ts';

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
    ...questions,
    resolvePlace: (place) => dependencies.reference.resolvePlace(place),
    now,
  };

  router.get('/searches/:id/explanation', acceptable, async (ctx) => {
    const query = readQuery(ctx, EXPLANATION_PARAMETERS);
    requireOne(query);
    const language = languageOf(ctx, settings.mailLanguage);
    const explanation = await questions.answeringSingle(ctx, async () => {
      const { number } = await ownSearch(ctx, questions);
      return explain(number, await heldOf(query, explaining), language, explaining);
    });
    if (explanation === null) throw new Problem(404, REFUSALS.noSearch);
    answer(ctx, explanation);
  });

  router.get('/explanations', acceptable, async (ctx) => {
    const query = readQuery(ctx, EXPLANATION_LIST_PARAMETERS);
    requireOne(query);
    const language = languageOf(ctx, settings.mailLanguage);
    const page = await questions.answering(ctx, async (gone) => {
      const subject = await heldOf(query, explaining);
      const { clientId } = principalOf(ctx);
      const numbers = await askQuery('nearSearches', { clientId, facts: subject.facts }, gone);
      const { offset, limit } = offsetOf(query);
      const members: object[] = [];
      const wanted = numbers.slice(offset, offset + limit);
      for (const number of wanted) {
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

/** Throws a 404 `Problem` when no such property is held. */
async function heldOf(wanted: WantedProperty, explaining: Explaining): Promise<Subject> {
  const held = await findHeld(explaining.database, wanted);
  if (held !== null) return subjectOf(held, explaining);
  throw new Problem(404, REFUSALS.notHeld);
}

/** Null when the search has gone meanwhile. */
async function explain(
  number: SearchNumber,
  subject: Subject,
  language: Language,
  explaining: Explaining,
): Promise<object | null> {
  const explained = await explainPair(number, subject, explaining);
  if (explained === null) return null;
  const { match, deliveries } = explained;
  const propertyUuid = subject.held.state.uuid;
  const found = { matchId: match?.matchId ?? null, deliveryIds: deliveries.map(({ id }) => id) };
  return explanationDocument({ ...explained, ...found, propertyUuid }, language);
}
