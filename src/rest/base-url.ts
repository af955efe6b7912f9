/** The protocol and host that clients use: the configured ones, else those of the request. */

import type { Context } from 'koa';

/** Without a slash at its end; empty when the Host header is none. */
export function baseUrlOf(ctx: Context, publicUrl: string | null): string {
  if (publicUrl !== null) return publicUrl.replace(/\/+$/, '');
  // Koa's `ctx.origin` is the Origin header, a page's address and not ours.
  return /^[\w.:[\]-]+$/.test(ctx.host) ? `${ctx.protocol}://${ctx.host}` : '';
}
