/**
 * Entity tags and what clients make depend on them (RFC 9110, sections 8.8.3 and 13.1): a GET is not answered again to
 * who has the answer, and a change is refused to who has not seen the last one. Tags are of the bytes, so every instance
 * gives the same. A compressed answer is another representation: its tag ends in the name of the coding, and what
 * clients send back is compared without it.
 */

import { hash } from 'node:crypto';
import type { Context } from 'koa';
import { Problem } from './problem.ts';
import { REFUSALS } from './sentences.ts';

export function etagOf(body: string | Buffer): string {
  return `"${hash('sha1', body, 'base64url')}"`;
}

/** The tag of the same answer in a content coding such as `gzip`. No tag of ours has a plus sign of its own. */
export function codedTag(etag: string, coding: string): string {
  return etag.replace(/"$/, `+${coding}"`);
}

/**
 * The tag by which the client has this answer already, as it sent it; null when it has not. `Cache-Control: no-cache`,
 * which `fetch` adds to such requests, is for caches on the way: this is the origin.
 */
export function knownTag(ctx: Context, etag: string): string | null {
  const sent = ctx.req.headers['if-none-match'];
  if (sent === undefined) return null;
  // Weak comparison: what proxies have weakened is known as well.
  const known = tagsOf(sent).find((tag) => tag === '*' || uncoded(tag.replace(/^W\//, '')) === etag);
  return known === '*' ? etag : (known ?? null);
}

/** Whether the client makes a change depend on the present state of the resource. */
export function isConditional({ req }: Context): boolean {
  return req.headers['if-match'] !== undefined || req.headers['if-none-match'] !== undefined;
}

/** Throws a 412 `Problem` unless the client means the resource that has this tag now. */
export function requireMeant(ctx: Context, etag: string): void {
  const sent = ctx.req.headers['if-match'];
  // Strong comparison: a weak tag does not say that the bytes are the same.
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
