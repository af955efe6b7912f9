/** Answers (decisions, section 7): the negotiated media type, base URLs, entity tags, and how an answer is written. */

import { hash } from 'node:crypto';
import { type BlockList, isIPv6 } from 'node:net';
import type { Readable } from 'node:stream';
import type { Context, Middleware } from 'koa';
import helmet from 'koa-helmet';
import { Problem } from './problem.ts';
import { REFUSALS } from './sentences.ts';

/** The first one is the default. */
export const ANSWER_TYPES = ['application/json', 'application/ld+json'] as const;

/**
 * Writes `body` in the negotiated type, serialised once: ETag, length and compression use the text. The type of JSON
 * has no charset (RFC 8259, section 11): clients of oapi-codegen compare it literally with those of the contract.
 */
export function answer(ctx: Context, body: object, status = 200): void {
  answerJson(ctx, JSON.stringify(body), status);
}

/** Like `answer`; the tag also contains the version of `state`, which `requireMeant` compares. */
export function answerVersion(ctx: Context, body: object, state: object, status: number): void {
  const json = JSON.stringify(body);
  answerJson(ctx, json, status, etagOf(json).replace(/"$/, `.${versionOf(state)}"`));
}

/** Like `answer`, for serialised JSON. `etag`: null for an answer without a tag; by default, a hash of the bytes. */
export function answerJson(ctx: Context, json: string | Buffer, status = 200, etag?: string | null): void {
  answerBytes(ctx, negotiated(ctx), json, status, etag);
}

/**
 * Writes an answer with its tag, or a 304 if the client has it. The answer to a PUT has a tag too, because the client
 * needs it for its next change. RFC 9110, section 9.3.4, allows one only if the sent bytes were stored unchanged.
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
  // Set before the body, so that Koa does not guess a type. `ctx.type` would look it up in a table.
  if (known === null) ctx.res.setHeader('Content-Type', type);
  ctx.body = known === null ? body : null;
}

/** Streams JSON that is still being written. */
export function answerStream(ctx: Context, json: Readable): void {
  ctx.status = 200;
  ctx.res.setHeader('Content-Type', negotiated(ctx));
  ctx.body = json;
}

/** Negotiates the media type before the handler runs. Throws a 406 `Problem` if the client accepts none of ours. */
export const acceptable: Middleware = (ctx, next) => {
  ctx.state.answerType = negotiate(ctx);
  return next();
};

/** Like `acceptable`, for answers that also exist as `type`. */
export function acceptableAs(type: string): Middleware {
  return (ctx, next) => (isRequested(ctx, type) ? next() : acceptable(ctx, next));
}

/** True if the client prefers `type` to JSON. */
export function isRequested(ctx: Context, type: string): boolean {
  return ctx.accepts(...ANSWER_TYPES, type) === type;
}

/** True if the client prefers HTML, as a browser's address bar does. False for a program that accepts any type. */
export function prefersPage(ctx: Context): boolean {
  return isRequested(ctx, 'text/html');
}

function negotiated(ctx: Context): string {
  return (ctx.state.answerType as string | undefined) ?? negotiate(ctx);
}

/**
 * The client's most preferred one of `ANSWER_TYPES`. Parameters such as `profile` are ignored in the comparison: an
 * `Accept` with them would otherwise match nothing. Throws a 406 `Problem`.
 */
function negotiate(ctx: Context): string {
  const { accept } = ctx.req.headers;
  if (accept === undefined || accept === '' || accept === '*/*' || accept === ANSWER_TYPES[0]) return ANSWER_TYPES[0];
  ctx.req.headers.accept = accept.replace(/;(?!\s*q=)[^;,"]*("[^"]*")?[^;,]*/gi, '');
  const type = ctx.accepts(...ANSWER_TYPES);
  if (type === false) throw new Problem(406, REFUSALS.servedAs(ANSWER_TYPES.join(' or ')));
  return type;
}

/** Aborted when the client disconnects or has received its answer. */
export function goneOf(ctx: Context): AbortSignal {
  const gone = new AbortController();
  onceClosed(ctx, () => gone.abort());
  return gone.signal;
}

/**
 * Calls `work` when the client disconnects or has received its answer. A closed response emits no further event, so
 * `work` is then called at once.
 */
export function onceClosed({ res }: Context, work: () => void): void {
  if (res.closed) work();
  else res.once('close', work);
}

/** Without a trailing slash; empty when there is no public URL and the host of the request is invalid. */
export function baseUrlOf(ctx: Context, publicUrl: string | null): string {
  if (publicUrl !== null) return publicUrl.replace(/(?<!\/)\/+$/, '');
  // Not `ctx.origin`, which in Koa 3 is the `Origin` header: the address of a page, not of this service.
  const { protocol = ctx.protocol, host = ctx.host } = (ctx.state.forwarded ?? {}) as Forwarded;
  return /^[\w.:[\]-]+$/.test(host) ? `${protocol}://${host}` : '';
}

interface Forwarded {
  readonly protocol?: string;
  readonly host?: string;
}

/** The address that the client used, from `X-Forwarded-Proto` and `X-Forwarded-Host` of the configured proxies. */
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

/** Each proxy appends its value, so the first one is the client's. */
function firstOf(header: string): string | undefined {
  return header.split(',')[0]?.trim() || undefined;
}

export function isListed(list: BlockList, remoteAddress: string): boolean {
  const address = remoteAddress.replace(/^::ffff:(?=\d+\.)/, '');
  return address !== '' && list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

/** The sources that a page may load from, by directive of its Content-Security-Policy. */
type PageSources = Readonly<Record<string, readonly string[]>>;

/** Sets all headers of helmet for a page that loads only from `sources`, and sends its forms only to `formAction`. */
export function securedPage(sources: PageSources = ownSources(), formAction = "'none'"): Middleware {
  const none = ["'none'"];
  const directives = { defaultSrc: none, ...sources, baseUri: none, formAction: [formAction], frameAncestors: none };
  return helmet({ contentSecurityPolicy: { useDefaults: false, directives } });
}

/** Allows this server and, for images, also `imageSources`. Icons use data: URLs. */
export function ownSources(imageSources: readonly string[] = []): PageSources {
  const own = ["'self'"];
  return { scriptSrc: own, styleSrc: own, imgSrc: [...own, 'data:', ...imageSources], connectSrc: own };
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** For text, and for the value of a quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => ENTITIES[sign] as string);
}

/**
 * Entity tags for conditional requests (RFC 9110, sections 8.8.3 and 13.1). A GET whose answer the client already has
 * gets a 304. A change with `If-Match` is refused if the client has not seen the latest state. A tag is a hash of the
 * bytes, so all instances agree. A compressed answer is another representation: its tag ends in the name of the coding,
 * which is removed before tags of clients are compared.
 */
export function etagOf(body: string | Buffer): string {
  return `"${hash('sha1', body, 'base64url')}"`;
}

/** The tag of the same answer in a content coding such as `gzip`. Our other tags contain no plus sign. */
export function codedTag(etag: string, coding: string): string {
  return etag.replace(/"$/, `+${coding}"`);
}

/**
 * The client's tag that matches this answer, or null. `Cache-Control: no-cache`, which `fetch` adds to such requests,
 * is ignored: it is meant for caches, and this is the origin server.
 */
function knownTag(ctx: Context, etag: string): string | null {
  const sent = ctx.req.headers['if-none-match'];
  if (sent === undefined) return null;
  // Weak comparison: a tag that a proxy has weakened matches as well.
  const known = tagsOf(sent).find((tag) => tag === '*' || uncoded(tag.replace(/^W\//, '')) === etag);
  return known === '*' ? etag : (known ?? null);
}

/** True if the client's change has a precondition on the current state of the resource. */
export function isConditional({ req }: Context): boolean {
  return req.headers['if-match'] !== undefined || req.headers['if-none-match'] !== undefined;
}

/**
 * Throws a 412 `Problem` unless the client's precondition allows a change of this state. The other parts of an answer,
 * such as counts, are not compared: the client's change does not depend on them.
 */
export function requireMeant(ctx: Context, state: object): void {
  const isPresent = (tag: string) => tag === '*' || uncoded(tag).endsWith(`.${versionOf(state)}"`);
  const { 'if-match': meant, 'if-none-match': known } = ctx.req.headers;
  // Strong comparison: a weak tag does not guarantee equal bytes.
  const isMeant = meant === undefined || tagsOf(meant).some((tag) => !tag.startsWith('W/') && isPresent(tag));
  if (!isMeant) throw new Problem(412, REFUSALS.changedSince);
  if (known !== undefined && tagsOf(known).some(isPresent)) throw new Problem(412, REFUSALS.asItIs);
}

function versionOf(state: object): string {
  return hash('sha1', JSON.stringify(state), 'base64url');
}

function tagsOf(list: string): string[] {
  return list.split(',').map((tag) => tag.trim());
}

function uncoded(tag: string): string {
  return tag.replace(/\+\w+"$/, '"');
}
