/** Answers (decisions, section 7): the media type that the client accepts, their URLs, and how they are written. */

import type { Readable } from 'node:stream';
import type { Context, Middleware } from 'koa';
import { etagOf, knownTag } from './entity-tags.ts';
import { Problem } from './problem.ts';
import { REFUSALS } from './sentences.ts';

const ANSWER_TYPES = ['application/ld+json', 'application/json'] as const;

/** Writes `body` in the negotiated type, serialised once: ETag, length and compression work on the text. */
export function answer(ctx: Context, body: object, status = 200): void {
  answerJson(ctx, JSON.stringify(body), status);
}

/** Likewise of a body that is JSON already. */
export function answerJson(ctx: Context, json: string, status = 200): void {
  answerBytes(ctx, `${negotiated(ctx)}; charset=utf-8`, json, status);
}

/** The same for JSON that was written, and tagged, before. */
export function answerAgain(ctx: Context, json: Buffer, etag: string): void {
  answerBytes(ctx, `${negotiated(ctx)}; charset=utf-8`, json, 200, etag);
}

/** What a PUT stores is not what it was sent, so its answer may carry no tag (RFC 9110, section 9.3.4). */
export function answerBytes(
  ctx: Context,
  type: string,
  body: string | Buffer,
  status = 200,
  etag = ctx.method === 'PUT' ? null : etagOf(body),
): void {
  const isRead = ctx.method === 'GET' || ctx.method === 'HEAD';
  const known = isRead && etag !== null ? knownTag(ctx, etag) : null;
  if (etag !== null) ctx.res.setHeader('ETag', known ?? etag);
  ctx.status = known === null ? status : 304;
  // Koa would guess a type first, and then look for this one in a table.
  if (known === null) ctx.res.setHeader('Content-Type', type);
  ctx.body = known === null ? body : null;
}

/** JSON that is never the same twice: without a tag, which would be made of every byte of it. */
export function answerUntagged(ctx: Context, json: string): void {
  answerBytes(ctx, `${negotiated(ctx)}; charset=utf-8`, json, 200, null);
}

/** JSON that is written while it is sent. */
export function answerStream(ctx: Context, json: Readable): void {
  ctx.status = 200;
  ctx.res.setHeader('Content-Type', `${negotiated(ctx)}; charset=utf-8`);
  ctx.body = json;
}

/** Throws a 406 `Problem`. Called before the work, so that nothing is done for an answer that cannot be given. */
export const acceptable: Middleware = (ctx, next) => {
  ctx.state.answerType = negotiate(ctx);
  return next();
};

/** Likewise of what is answered as `type` too. */
export function acceptableAs(type: string): Middleware {
  return (ctx, next) => (isAsked(ctx, type) ? next() : acceptable(ctx, next));
}

/** Whether the client likes `type` better than JSON. */
export function isAsked(ctx: Context, type: string): boolean {
  return ctx.accepts(...ANSWER_TYPES, type) === type;
}

/** Whether a page is what the client likes best: a browser's address bar, not a program that takes anything. */
export function prefersPage(ctx: Context): boolean {
  return isAsked(ctx, 'text/html');
}

function negotiated(ctx: Context): string {
  return (ctx.state.answerType as string | undefined) ?? negotiate(ctx);
}

/**
 * The first of `ANSWER_TYPES` that the client likes best. Parameters such as `profile` are left out of the comparison:
 * an `Accept` that has them would otherwise match nothing.
 */
function negotiate(ctx: Context): string {
  const { accept } = ctx.req.headers;
  if (accept === undefined || accept === '' || accept === '*/*' || accept === ANSWER_TYPES[0]) return ANSWER_TYPES[0];
  ctx.req.headers.accept = accept.replace(/;(?!\s*q=)[^;,"]*("[^"]*")?[^;,]*/gi, '');
  const type = ctx.accepts(...ANSWER_TYPES);
  if (type === false) throw new Problem(406, REFUSALS.servedAs(ANSWER_TYPES.join(' or ')));
  return type;
}

/** Aborted when the client goes away, or has been answered. */
export function goneOf(ctx: Context): AbortSignal {
  const gone = new AbortController();
  ctx.res.once('close', () => gone.abort());
  return gone.signal;
}

/** Without a slash at its end; empty when the Host header is none. */
export function baseUrlOf(ctx: Context, publicUrl: string | null): string {
  if (publicUrl !== null) return publicUrl.replace(/\/+$/, '');
  // Koa's `ctx.origin` is the Origin header, a page's address and not ours.
  return /^[\w.:[\]-]+$/.test(ctx.host) ? `${ctx.protocol}://${ctx.host}` : '';
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** For a text and for the value of an attribute between quotation marks. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => ENTITIES[sign] as string);
}
