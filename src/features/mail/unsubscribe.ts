/**
 * `/unsubscribe/{token}`: the recipient's page, to which the links in an e-mail lead (decisions, section 12). A GET
 * changes nothing, because mail servers follow links. A POST to the link itself unsubscribes, from the page or in one
 * click (RFC 8058); other choices have a query. No API key is needed: the token authorises the request.
 */

import type Router from '@koa/router';
import type { Context } from 'koa';
import { parseUuid } from '../../engine/domain/ids.ts';
import { gatherReads } from '../../engine/store/gathered-reads.ts';
import { siteCategoryNames } from '../../engine/store/site-categories.ts';
import { answerBytes, securedPage } from '../../rest/content.ts';
import type { ApiDependencies } from '../../rest/dependencies.ts';
import type { QueryLimiter } from '../../rest/limits.ts';
import { readLetterHomes } from './letter-homes.ts';
import { type Choice, choose, type LinkedRecipient, readLinkedSearches, readLinks } from './mail-recipients.ts';
import { pageOf, type RecipientPage, STYLE_HASH } from './recipient-page.ts';
import { cityNamesOf, namedSearch, searchWords } from './search-words.ts';

/** A token of 128 bits in base64url. In links of earlier e-mails, twelve hexadecimal digits and a dot precede it. */
const LINK = /^(?:[0-9a-f]{12}\.)?([A-Za-z0-9_-]{22})$/;

const SEARCHES_MAX = 20;

export function unsubscribeRoutes(
  router: Router,
  { database, publicDatabase, reference, settings, now, keepChoice = async () => undefined }: ApiDependencies,
  limiter: QueryLimiter,
): void {
  const find = gatherReads((tokens) => readLinks(publicDatabase, tokens));
  const { mailLanguage: language } = settings;

  const readPage = async (ctx: Context, recipient: LinkedRecipient): Promise<Omit<RecipientPage, 'notice'>> => {
    const found = await readLinkedSearches(limiter.database, recipient, SEARCHES_MAX + 1);
    const names = { ...cityNamesOf(reference), siteCategory: await siteCategoryNames(limiter.database) };
    const searches = found.slice(0, SEARCHES_MAX).map(({ members, ...search }) => ({
      ...search,
      frequency: members.notificationFrequency,
      name: namedSearch(members, names, language).name,
      criteria: searchWords(members, names, language),
    }));
    const options = { language, now: now(), resolvePlace: reference.resolvePlace };
    const homes = await readLetterHomes(limiter.database, recipient, Number(ctx.query.page), options);
    return { recipient, searches, hasMoreSearches: found.length > SEARCHES_MAX, homes };
  };

  const show = async (ctx: Context, notice: RecipientPage['notice']): Promise<void> => {
    const token = tokenOf(ctx);
    // Looks up the token first, so that guessed tokens use no connection that is reserved for clients.
    const recipient = token === null ? null : await find(token);
    const page = recipient && (await limiter.runPublic(recipient.key, () => readPage(ctx, recipient)));
    const html = pageOf(page && { ...page, notice }, language);
    const status = page === null || notice === 'impossible' ? 404 : 200;
    answerBytes(ctx, 'text/html; charset=utf-8', html, status, null);
    ctx.set('Cache-Control', 'no-store');
    ctx.set('X-Robots-Tag', 'noindex');
  };

  router.get('/unsubscribe/:token', secureForm, (ctx) => show(ctx, null));

  router.post('/unsubscribe/:token', secureForm, async (ctx) => {
    const [token, choice] = [tokenOf(ctx), choiceOf(ctx)];
    const recipient = token === null ? null : await find(token);
    const isDone =
      recipient !== null &&
      choice !== null &&
      // Choices wait for the lock of their recipient. Without a limit, one recipient could use every connection.
      (await limiter.runPublic(recipient.key, () => choose(database, String(token), choice, keepChoice)));
    await show(ctx, isDone ? 'done' : 'impossible');
  });
}

function tokenOf(ctx: Context): string | null {
  return LINK.exec(String(ctx.params.token))?.[1] ?? null;
}

/** Null for an unknown choice. A POST without a query unsubscribes from all e-mails, regardless of its body. */
function choiceOf({ query }: Context): Choice | null {
  const { search, frequency } = query;
  const isTakenBack = 'again' in query;
  if (search !== undefined && frequency !== undefined) return null;
  if (search !== undefined) {
    const id = parseUuid(String(search));
    return id && { kind: 'unsubscription', search: id, value: !isTakenBack };
  }
  if (frequency === undefined) return { kind: 'unsubscription', search: null, value: !isTakenBack };
  if (isTakenBack) return { kind: 'frequency', search: null, value: false };
  return frequency === 'daily' || frequency === 'weekly' ? { kind: 'frequency', search: null, value: frequency } : null;
}

/** Loads nothing but its own style and an empty icon, which is a data URL. */
const secureForm = securedPage({ styleSrc: [STYLE_HASH], imgSrc: ['data:'] }, "'self'");
