/**
 * `/unsubscribe/{token}`: where the link of an e-mail leads (decisions, section 12). A GET asks and changes nothing, for
 * mail servers follow links by themselves; a POST unsubscribes, from the page or in one click (RFC 8058). No key: the
 * token is the proof. No address is shown, for whoever has the link sees the page.
 */

import type Router from '@koa/router';
import type { Context, Middleware } from 'koa';
import helmet from 'koa-helmet';
import { escapeHtml, MAIL_WORDS } from '../mail/mail-words.ts';
import { gatherReads } from '../store/gathered-reads.ts';
import { readSubscriptions, subscribeAgain, unsubscribe } from '../store/mail-recipients.ts';
import { answerBytes } from './content.ts';
import type { ApiDependencies } from './dependencies.ts';

/** What proxies tell the client by, and 128 bits in base64url. */
const LINK = /^[0-9a-f]{12}\.([A-Za-z0-9_-]{22})$/;

/** What is posted to the link itself unsubscribes, whatever it says. */
const TAKES_BACK = '?again';

export function unsubscribeRoutes(
  router: Router,
  { database, strangersDatabase = database, settings }: ApiDependencies,
): void {
  const find = gatherReads((tokens) => readSubscriptions(strangersDatabase, tokens));
  const { mailLanguage: language } = settings;
  const words = MAIL_WORDS[language]?.page;

  const show = (ctx: Context, status: 200 | 404, body: string): void => {
    answerBytes(ctx, 'text/html; charset=utf-8', pageOf(words.title, body, language), status, null);
    ctx.set('Cache-Control', 'no-store');
    ctx.set('X-Robots-Tag', 'noindex');
  };

  router.get('/unsubscribe/:token', secureForm, async (ctx) => {
    const token = tokenOf(ctx);
    const known = token === null ? null : await find(token);
    if (known === null) show(ctx, 404, paragraph(words.unknown));
    else if (known === 'unsubscribed') show(ctx, 200, form(TAKES_BACK, words.done, words.takeBack));
    else show(ctx, 200, form('', words.question, words.confirm));
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
