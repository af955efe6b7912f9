/** Media types in both directions (decisions, section 7): what a client accepts, what it sends, how answers are written. */

import { bodyParser } from '@koa/bodyparser';
import type { Context, Middleware } from 'koa';
import { etagOf, knownTag } from './entity-tags.ts';
import { Problem } from './problem.ts';

const ANSWER_TYPES = ['application/ld+json', 'application/json'] as const;
export const BODY_TYPES = ['application/json', 'application/ld+json', 'application/merge-patch+json'] as const;
export const BODY_BYTES_MAX = 1024 * 1024;

/** Writes `body` in the negotiated type, serialised once: ETag, length and compression work on the text. */
export function answer(ctx: Context, body: object, status = 200): void {
  answerBytes(ctx, `${negotiated(ctx)}; charset=utf-8`, JSON.stringify(body), status);
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

/** Throws a 406 `Problem`. Called before the work, so that nothing is done for an answer that cannot be given. */
export const acceptable: Middleware = (ctx, next) => {
  ctx.state.answerType = negotiate(ctx);
  return next();
};

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
  ctx.req.headers.accept = accept.replace(/;\s*(?!q=)[^;,"]*("[^"]*")?[^;,]*/gi, '');
  const type = ctx.accepts(...ANSWER_TYPES);
  if (type === false) throw new Problem(406, `this resource is served as ${ANSWER_TYPES.join(' or ')}`);
  return type;
}

const parseBody = bodyParser({
  enableTypes: ['json'],
  jsonLimit: `${BODY_BYTES_MAX}b`,
  jsonStrict: false,
  // The parser merges this list by index into its own: it holds every type we take, and `checkBodyType` is the gate.
  extendTypes: { json: [...BODY_TYPES] },
  onError: (error) => {
    throw bodyProblem(error);
  },
});

/** Reads the body into `ctx.request.body`. Throws 400, 413 and 415 `Problem`s. */
export const jsonBody: Middleware = async (ctx, next) => {
  checkBodyType(ctx);
  await parseBody(ctx, next);
};

/** The parser answers `{}` for an unknown type and for no body at all: both are the client's mistake. */
function checkBodyType(ctx: Context): void {
  if (ctx.request.is() === null || ctx.request.length === 0) throw new Problem(400, 'a JSON body is needed');
  if (!ctx.request.is(...BODY_TYPES)) {
    const taken = BODY_TYPES.join(', ');
    // RFC 9110, section 15.5.16; RFC 5789, section 2.2.
    const headers = { [ctx.method === 'PATCH' ? 'Accept-Patch' : 'Accept']: taken };
    throw new Problem(415, `send one of ${taken}`, { headers });
  }
  const charset = ctx.request.charset.toLowerCase();
  if (charset !== '' && charset !== 'utf-8' && charset !== 'utf8') throw new Problem(415, 'send UTF-8');
}

function bodyProblem(error: Error & { status?: number; code?: string }): Error {
  if (error.status === 413) return new Problem(413, `the body is larger than ${BODY_BYTES_MAX} bytes`);
  if (error.status === 415) return new Problem(415, 'this Content-Encoding is not supported');
  if (error instanceof SyntaxError) return new Problem(400, `the body is not valid JSON: ${error.message}`);
  // raw-body gives its errors a status; what has none comes from the decompressor.
  return error.status === undefined ? new Problem(400, 'the body is not in its Content-Encoding') : error;
}
