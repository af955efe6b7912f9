/**
 * `/unsubscribe/{token}`: where the link of an e-mail leads (decisions, section 12). A GET asks and changes nothing, for
 * mail servers follow links by themselves; a POST unsubscribes, from the page or in one click (RFC 8058). No key: the
 * token is the proof. The page says what the searches ask for, and no address: whoever has the link sees it.
 */

import type Router from '@koa/router';
import type { Context, Middleware } from 'koa';
import helmet from 'koa-helmet';
import { gatherReads } from '../../engine/store/gathered-reads.ts';
import { siteCategoryNames } from '../../engine/store/site-categories.ts';
import { answerBytes, escapeHtml } from '../../rest/content.ts';
import type { ApiDependencies } from '../../rest/dependencies.ts';
import { readLinkedSearches, readSubscriptions, subscribeAgain, unsubscribe } from './mail-recipients.ts';
import { cleanText, MAIL_WORDS } from './mail-words.ts';
import { searchWords } from './search-words.ts';

/** What proxies tell the client by, and 128 bits in base64url. */
const LINK = /^[0-9a-f]{12}\.([A-Za-z0-9_-]{22})$/;

const SEARCHES_MAX = 20;

/** What is posted to the link itself unsubscribes, whatever it says. */
const TAKES_BACK = '?again';

export function unsubscribeRoutes(
  router: Router,
  { database, strangersDatabase = database, reference, settings }: ApiDependencies,
): void {
  const find = gatherReads((tokens) => readSubscriptions(strangersDatabase, tokens));
  const { mailLanguage: language } = settings;
  const words = MAIL_WORDS[language]?.page;

  const show = (ctx: Context, status: 200 | 404, body: string): void => {
    answerBytes(ctx, 'text/html; charset=utf-8', pageOf(words.title, body, language), status, null);
    ctx.set('Cache-Control', 'no-store');
    ctx.set('X-Robots-Tag', 'noindex');
  };

  /** A list of the searches, each with its criteria in words. */
  const searchesOf = async (token: string): Promise<string> => {
    const searches = await readLinkedSearches(strangersDatabase, token, SEARCHES_MAX + 1);
    const names = {
      city: (insee: string) => reference.city(insee)?.name ?? null,
      department: (code: string) => reference.department(code)?.name ?? null,
      siteCategory: await siteCategoryNames(strangersDatabase),
    };
    const items = searches.slice(0, SEARCHES_MAX).map((members) => {
      const lines = searchWords(members, names, language).map((line) => `<br>${escapeHtml(line)}`);
      return `<li><strong>${escapeHtml(cleanText(members.title))}</strong>${lines.join('')}</li>`;
    });
    return `<ul>\n${[...items, ...(searches.length > SEARCHES_MAX ? ['<li>…</li>'] : [])].join('\n')}\n</ul>\n`;
  };

  router.get('/unsubscribe/:token', secureForm, async (ctx) => {
    const token = tokenOf(ctx);
    const known = token === null ? null : await find(token);
    if (token === null || known === null) return show(ctx, 404, paragraph(words.unknown));
    const asked =
      known === 'unsubscribed' ? form(TAKES_BACK, words.done, words.takeBack) : form('', words.question, words.confirm);
    show(ctx, 200, (await searchesOf(token)) + asked);
  });

  router.post('/unsubscribe/:token', secureForm, async (ctx) => {
    const token = tokenOf(ctx);
    // What is guessed takes no connection of the clients'.
    const isKnown = token !== null && (await find(token)) !== null;
    if (ctx.search === TAKES_BACK) {
      const isAgain = isKnown && (await subscribeAgain(database, token));
      show(ctx, isAgain ? 200 : 404, paragraph(isAgain ? words.again : words.unknown));
      return;
    }
    const isDone = isKnown && (await unsubscribe(database, token));
    show(ctx, isDone ? 200 : 404, isDone ? form(TAKES_BACK, words.done, words.takeBack) : paragraph(words.unknown));
  });
}

function tokenOf(ctx: Context): string | null {
  return LINK.exec(String(ctx.params.token))?.[1] ?? null;
}

/** The form leads back to where it came from, and the page loads nothing. */
const secureForm: Middleware = helmet({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      defaultSrc: ["'none'"],
      baseUri: ["'none'"],
      formAction: ["'self'"],
      frameAncestors: ["'none'"],
    },
  },
});

function paragraph(text: string): string {
  return `<p>${escapeHtml(text)}</p>`;
}

/** `action`: relative, empty for the page itself. */
function form(action: string, question: string, confirm: string): string {
  return `${paragraph(question)}
<form method="post"${action === '' ? '' : ` action="${action}"`}><button type="submit">${escapeHtml(confirm)}</button></form>`;
}

function pageOf(title: string, body: string, language: string): string {
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="data:,">
</head>
<body>
<h1>${escapeHtml(title)}</h1>
${body}
</body>
</html>
`;
}
