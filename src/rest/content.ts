/** Answers (decisions, section 7): the media type that the client accepts, their URLs, entity tags, and how they are written. */

import { hash } from 'node:crypto';
import { type BlockList, isIPv6 } from 'node:net';
import type { Readable } from 'node:stream';
import type { Context, Middleware } from 'koa';
import helmet from 'koa-helmet';
import { Problem } from './problem.ts';
import { REFUSALS } from './sentences.ts';

/** The first is the answer to a client that names neither. */
export const ANSWER_TYPES = ['application/json', 'application/ld+json'] as const;

/**
 * Writes `body` in the negotiated type, serialised once: ETag, length and compression work on the text. JSON has no charset
 * (RFC 8259, section 11), and clients of oapi-codegen compare the type literally with those of the contract.
 */
export function answer(ctx: Context, body: object, status = 200): void {
  answerJson(ctx, JSON.stringify(body), status);
}

/** The same for a body that is JSON already. */
export function answerJson(ctx: Context, json: string, status = 200): void {
  answerBytes(ctx, negotiated(ctx), json, status);
}

/** The same for JSON that was serialised and tagged before. */
export function answerAgain(ctx: Context, json: Buffer, etag: string): void {
  answerBytes(ctx, negotiated(ctx), json, 200, etag);
}

/**
 * The answer to a PUT has its tag, too: it is what was stored and is answered, not what was sent (RFC 9110, section
 * 9.3.4, has tags for the latter alone), and clients change it again with it.
 */
export function answerBytes(
  ctx: Context,
  type: string,
  body: string | Buffer,
  status = 200,
  etag: string | null = etagOf(body),
): void {
  const isRead = ctx.method === 'GET' || ctx.method === 'HEAD';
  const known = isRead && etag !== null ? knownTag(ctx, etag) : null;
  if (etag !== null) ctx.res.setHeader('ETag', known ?? etag);
  ctx.status = known === null ? status : 304;
  // Koa would guess a type first, and then look for this one in a table.
  if (known === null) ctx.res.setHeader('Content-Type', type);
  ctx.body = known === null ? body : null;
}

/** JSON that is different every time: without a tag, which would be computed from every byte of it. */
export function answerUntagged(ctx: Context, json: string): void {
  answerBytes(ctx, negotiated(ctx), json, 200, null);
}

/** JSON that is written while it is sent. */
export function answerStream(ctx: Context, json: Readable): void {
  ctx.status = 200;
  ctx.res.setHeader('Content-Type', negotiated(ctx));
  ctx.body = json;
}

/** Throws a 406 `Problem`. Called before the work, so that no work is done for an unacceptable answer. */
export const acceptable: Middleware = (ctx, next) => {
  ctx.state.answerType = negotiate(ctx);
  return next();
};

/** The same for answers that also exist as `type`. */
export function acceptableAs(type: string): Middleware {
  return (ctx, next) => (isAsked(ctx, type) ? next() : acceptable(ctx, next));
}

/** Whether the client prefers `type` to JSON. */
export function isAsked(ctx: Context, type: string): boolean {
  return ctx.accepts(...ANSWER_TYPES, type) === type;
}

/** Whether the client prefers HTML: a browser's address bar does, a program that accepts anything does not. */
export function prefersPage(ctx: Context): boolean {
  return isAsked(ctx, 'text/html');
}

function negotiated(ctx: Context): string {
  return (ctx.state.answerType as string | undefined) ?? negotiate(ctx);
}

/**
 * The client's most preferred one of `ANSWER_TYPES`. Parameters such as `profile` are ignored in the comparison: an
 * `Accept` with them would otherwise match nothing.
 */
function negotiate(ctx: Context): string {
  const { accept } = ctx.req.headers;
  if (accept === undefined || accept === '' || accept === '*/*' || accept === ANSWER_TYPES[0]) return ANSWER_TYPES[0];
  ctx.req.headers.accept = accept.replace(/;(?!\s*q=)[^;,"]*("[^"]*")?[^;,]*/gi, '');
  const type = ctx.accepts(...ANSWER_TYPES);
  if (type === false) throw new Problem(406, REFUSALS.servedAs(ANSWER_TYPES.join(' or ')));
  return type;
}

/** Aborted when the client disconnects, or has been answered. */
export function goneOf(ctx: Context): AbortSignal {
  const gone = new AbortController();
  ctx.res.once('close', () => gone.abort());
  return gone.signal;
}

/** Without a slash at its end; empty when the Host header is none. */
export function baseUrlOf(ctx: Context, publicUrl: string | null): string {
  if (publicUrl !== null) return publicUrl.replace(/(?<!\/)\/+$/, '');
  // Koa's `ctx.origin` is the Origin header: a page's address, not the service's.
  const { protocol = ctx.protocol, host = ctx.host } = (ctx.state.forwarded ?? {}) as Forwarded;
  return /^[\w.:[\]-]+$/.test(host) ? `${protocol}://${host}` : '';
}

interface Forwarded {
  readonly protocol?: string;
  readonly host?: string;
}

/** How the client wrote the address, by `X-Forwarded-Proto` and `-Host` of the proxies that the configuration names. */
export function readForwarded(proxies: BlockList): Middleware {
  return (ctx, next) => {
    const [protocol, host] = ['x-forwarded-proto', 'x-forwarded-host'].map((name) => firstOf(ctx.get(name)));
    if (protocol === undefined && host === undefined) return next();
    if (isListed(proxies, ctx.req.socket.remoteAddress ?? ''))
      ctx.state.forwarded = {
        ...(protocol !== undefined && /^https?$/.test(protocol) && { protocol }),
        ...(host !== undefined && { host }),
      };
    return next();
  };
}

/** Each proxy on the way adds one at the end. */
function firstOf(header: string): string | undefined {
  return header.split(',')[0]?.trim() || undefined;
}

export function isListed(list: BlockList, remoteAddress: string): boolean {
  const address = remoteAddress.replace(/^::ffff:(?=\d+\.)/, '');
  return address !== '' && list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

/**
 * All of helmet for an answer that is a page, whose parts come from this server alone; `imageSources`: besides it. Icons are
 * drawn from data: URLs.
 */
export function securedPage(imageSources: readonly string[] = []): Middleware {
  const own = ["'self'"];
  const none = ["'none'"];
  return helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: none,
        scriptSrc: own,
        styleSrc: own,
        imgSrc: [...own, 'data:', ...imageSources],
        connectSrc: own,
        baseUri: none,
        formAction: none,
        frameAncestors: none,
      },
    },
  });
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

/**
 * Entity tags and what clients make depend on them (RFC 9110, sections 8.8.3 and 13.1): a GET is not answered again to
 * a client that has the answer, and a change is refused to one that has not seen the last one. Tags are of the bytes, so
 * every instance gives the same. A compressed answer is another representation: its tag ends in the name of the coding,
 * and what clients send back is compared without it.
 */
export function etagOf(body: string | Buffer): string {
  return `"${hash('sha1', body, 'base64url')}"`;
}

/** The tag of the same answer in a content coding such as `gzip`. No tag of ours has a plus sign of its own. */
export function codedTag(etag: string, coding: string): string {
  return etag.replace(/"$/, `+${coding}"`);
}

/**
 * The client's tag that matches this answer; null without one. `Cache-Control: no-cache`, which `fetch` adds to such
 * requests, addresses caches on the way: this is the origin.
 */
function knownTag(ctx: Context, etag: string): string | null {
  const sent = ctx.req.headers['if-none-match'];
  if (sent === undefined) return null;
  // Weak comparison: a tag weakened by a proxy matches as well.
  const known = tagsOf(sent).find((tag) => tag === '*' || uncoded(tag.replace(/^W\//, '')) === etag);
  return known === '*' ? etag : (known ?? null);
}

/** Whether the client's change has a precondition on the present state of the resource. */
export function isConditional({ req }: Context): boolean {
  return req.headers['if-match'] !== undefined || req.headers['if-none-match'] !== undefined;
}

/** Throws a 412 `Problem` unless the client's precondition names the present tag. */
export function requireMeant(ctx: Context, etag: string): void {
  const sent = ctx.req.headers['if-match'];
  // Strong comparison: a weak tag does not guarantee equal bytes.
  const isMeant = sent === undefined || tagsOf(sent).some((tag) => tag === '*' || uncoded(tag) === etag);
  if (!isMeant) throw new Problem(412, REFUSALS.changedSince);
  if (knownTag(ctx, etag) !== null) throw new Problem(412, REFUSALS.asItIs);
}

function tagsOf(list: string): string[] {
  return list.split(',').map((tag) => tag.trim());
}

function uncoded(tag: string): string {
  return tag.replace(/\+\w+"$/, '"');
}
