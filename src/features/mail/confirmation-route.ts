/** `POST /searches/{id}/email-confirmation`: asks a recipient who has unsubscribed, once, whether that still holds. */

import type Router from '@koa/router';
import { emailStatusOf } from '../../engine/domain/mail.ts';
import { acceptable } from '../../rest/content.ts';
import type { ApiDependencies } from '../../rest/dependencies.ts';
import { Problem } from '../../rest/problem.ts';
import { answerSearch, ownSearch } from '../../rest/searches.ts';
import { REFUSALS } from '../../rest/sentences.ts';
import { askConfirmation } from './mail-confirmations.ts';

export function confirmationRoute(router: Router, dependencies: ApiDependencies): void {
  const { database, settings, now } = dependencies;
  router.post('/searches/:id/email-confirmation', acceptable, async (ctx) => {
    const search = await ownSearch(ctx, dependencies);
    const { mail, members } = search;
    const status = emailStatusOf(mail, members.notificationEnabled, settings.isMailAvailable);
    if (status !== 'unsubscribed') throw new Problem(409, REFUSALS.notUnsubscribed(status));
    if (!(await askConfirmation(database, search.id, now()))) throw new Problem(409, REFUSALS.askedBefore);
    await answerSearch(ctx, search, dependencies, 202);
  });
}
