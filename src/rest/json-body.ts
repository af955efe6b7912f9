/**
 * Request bodies (decisions, section 7): JSON of at most 1 MiB, in UTF-8, compressed or not. A body that is refused
 * here is read to its end and discarded, so that the connection can serve the next request. A client that never ends
 * its body is disconnected, as after any incomplete request.
 */

import type { Readable } from 'node:stream';
import { createBrotliDecompress, createUnzip } from 'node:zlib';
import type { Context, Middleware } from 'koa';
import readAll from 'raw-body';
import { yieldToOthers } from '../engine/actor/waiting.ts';
import { invalid, Problem } from './problem.ts';
import { FAULTS, REFUSALS } from './sentences.ts';

declare module 'koa' {
  interface Request {
    /** The parsed body; set by `jsonBody`. */
    body?: unknown;
  }
}

const BODY_TYPES = ['application/json', 'application/ld+json'] as const;
/** Types of a PATCH (RFC 7396); plain JSON is read as a merge patch too. */
export const PATCH_TYPES = ['application/merge-patch+json', ...BODY_TYPES] as const;
export const BODY_BYTES_MAX = 1024 * 1024;
const LARGE_BYTES = 64 * 1024;

/** Reads the body into `ctx.request.body`. Throws 400, 413, 415 and 422 `Problem`s. */
export const jsonBody: Middleware = async (ctx, next) => {
  checkBodyType(ctx);
  const bytes = await readBytes(ctx);
  ctx.request.body = parse(bytes);
  // Parsing a large body takes long: let other work run before the handler.
  if (bytes.length > LARGE_BYTES) await yieldToOthers();
  await next();
};

/** Like `jsonBody`, but an absent body is read as an empty object. */
export const optionalJsonBody: Middleware = (ctx, next) => {
  const isAbsent = ctx.request.is() === null || ctx.request.length === 0;
  if (!isAbsent) return jsonBody(ctx, next);
  ctx.request.body = {};
  return next();
};

function checkBodyType(ctx: Context): void {
  if (ctx.request.is() === null || ctx.request.length === 0) throw new Problem(400, REFUSALS.bodyNeeded);
  const isPatch = ctx.method === 'PATCH';
  const types = isPatch ? PATCH_TYPES : BODY_TYPES;
  if (!ctx.request.is(...types)) {
    const accepted = types.join(', ');
    // RFC 9110, section 15.5.16; RFC 5789, section 2.2.
    const headers = { [isPatch ? 'Accept-Patch' : 'Accept']: accepted };
    throw new Problem(415, REFUSALS.sendOneOf(accepted), { headers });
  }
  const charset = ctx.request.charset.toLowerCase();
  if (charset !== '' && charset !== 'utf-8' && charset !== 'utf8') throw new Problem(415, REFUSALS.sendUtf8);
}

/**
 * Memory that receiving the body may take: its declared length, or the maximum if it declares none. A body that
 * declares more than the maximum is not stored.
 */
export function reservedBytes(ctx: Context): number {
  if (ctx.request.is() === null) return 0;
  const length = declaredLength(ctx) ?? BODY_BYTES_MAX;
  return length > BODY_BYTES_MAX ? 0 : length;
}

/** Null for a chunked body. Koa's `length` has 32 bits: it reads 2^32 + 1 as 1. */
function declaredLength({ req }: Context): number | null {
  const length = req.headers['content-length'];
  return length === undefined ? null : Number(length);
}

/** Resolves when the undecoded body has arrived. Called before `jsonBody`, so that a slow client holds no turn. */
export async function receiveBody(ctx: Context): Promise<void> {
  if (ctx.request.is() === null) return;
  try {
    const sent = await readAll(ctx.req, { limit: BODY_BYTES_MAX, length: declaredLength(ctx) });
    ctx.state.sentBody = sent;
    ctx.state.chargeBody?.(sent.length);
  } catch (error) {
    ctx.req.unpipe();
    ctx.req.resume();
    throw bodyProblem(error as Error & { status?: number });
  }
}

async function readBytes(ctx: Context): Promise<Buffer> {
  const sent = ctx.state.sentBody as Buffer;
  // A client that reads its answer slowly must not keep its body in memory.
  ctx.state.sentBody = null;
  const decompressor = decompressorOf(ctx);
  if (decompressor === null) return sent;
  decompressor.end(sent);
  try {
    return await readAll(decompressor, { limit: BODY_BYTES_MAX, length: null });
  } catch (error) {
    decompressor.destroy();
    throw bodyProblem(error as Error & { status?: number });
  }
}

/** Null for a body that is not compressed. Throws a 415 `Problem` for an unknown encoding. */
function decompressorOf(ctx: Context): (Readable & NodeJS.WritableStream) | null {
  switch ((ctx.req.headers['content-encoding'] ?? 'identity').toLowerCase()) {
    case 'identity':
      return null;
    case 'gzip':
    case 'deflate':
      return createUnzip();
    case 'br':
      return createBrotliDecompress();
    default:
      throw new Problem(415, REFUSALS.encoding);
  }
}

function bodyProblem(error: Error & { status?: number }): Error {
  if (error.status === 413) return new Problem(413, REFUSALS.bodySize(BODY_BYTES_MAX));
  // raw-body gives its errors a status; an error without one is from the decompressor.
  return error.status === undefined ? new Problem(400, REFUSALS.notEncoded) : error;
}

const UTF_8 = new TextDecoder('utf-8', { fatal: true });

/** Criteria need less than a tenth of this depth. For deeper bodies the parser takes ten times as long per byte. */
const DEPTH_MAX = 128;
/** Objects, lists and members in total: enough for a search with full lists or with the most corners. */
const PARTS_MAX = 30_000;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * The limit that the body's JSON exceeds, or null. Parsing a mebibyte of small values would delay other requests for
 * too long; this scan creates no values.
 */
function excessOf(bytes: Buffer): 'depth' | 'parts' | null {
  let depth = 0;
  let parts = 0;
  let isText = false;
  for (let position = 0; position < bytes.length; position++) {
    const byte = bytes[position];
    if (isText) {
      if (byte === BACKSLASH) position += 1;
      else if (byte === QUOTE) isText = false;
      continue;
    }
    if (byte === QUOTE) isText = true;
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) depth += 1;
    else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth -= 1;
    if (byte === COLON || byte === OPEN_LIST || byte === OPEN_OBJECT) parts += 1;
    if (depth > DEPTH_MAX) return 'depth';
    if (parts > PARTS_MAX) return 'parts';
  }
  return null;
}

function parse(bytes: Buffer): unknown {
  const excess = excessOf(bytes);
  if (excess === 'depth') throw new Problem(400, REFUSALS.bodyDepth(DEPTH_MAX));
  const parts = FAULTS.parts(PARTS_MAX);
  if (excess === 'parts') throw invalid([], parts, 'too_many_parts', REFUSALS.body(parts));
  try {
    return JSON.parse(UTF_8.decode(bytes));
  } catch (error) {
    if (error instanceof SyntaxError) throw new Problem(400, REFUSALS.notJson(error.message));
    throw new Problem(400, REFUSALS.sendUtf8);
  }
}
