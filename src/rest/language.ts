/** The language of what is written for people. */

import type { Context } from 'koa';
import type { Language } from './sentences.ts';

/** What the client's user reads; `fallback` without a preference. */
export function languageOf(ctx: Context, fallback: Language): Language {
  ctx.vary('Accept-Language');
  const accepted = ctx.req.headers['accept-language'];
  const ordered = fallback === 'fr' ? ['fr', 'en'] : ['en', 'fr'];
  const language = accepted === undefined || accepted === '*' ? fallback : ctx.acceptsLanguages(...ordered);
  const chosen = language === 'fr' || language === 'en' ? language : fallback;
  ctx.set('Content-Language', chosen);
  return chosen;
}
