/**
 * `/console` (decisions, section 14): one page, its script and style, and the base map's two files. All of it is static,
 * made once when it is first asked for, under names that change with their content. The page then speaks the REST
 * interface like any client; what it may load is this server, and what the operator has added.
 */

import type Router from '@koa/router';
import type { Context, Middleware } from 'koa';
import helmet from 'koa-helmet';
import { type ConsoleAsset, type ConsoleFiles, makeConsoleFiles } from './console-files.ts';
import { answerBytes } from './content.ts';
import type { ApiDependencies, ConsoleSettings } from './dependencies.ts';
import { notFound } from './problem.ts';

/** A year, the most that caches keep. */
const FOR_EVER = 'public, max-age=31536000, immutable';

export function consoleRoutes(router: Router, { settings, reference }: ApiDependencies): void {
  if (!settings.console) return;
  const shown = settings.console;
  let files: Promise<ConsoleFiles> | null = null;
  const ready = (): Promise<ConsoleFiles> => {
    files ??= makeConsoleFiles(shown, reference, settings.version).catch((error: Error) => {
      files = null;
      throw error;
    });
    return files;
  };

  router.get('/console', secured(shown), async (ctx) => {
    // The page's addresses are relative to this path without a slash.
    if (ctx.path.endsWith('/')) return ctx.redirect('../console');
    const { page } = await ready();
    answerBytes(ctx, 'text/html; charset=utf-8', page);
  });

  router.get('/console/:asset', async (ctx) => {
    const asset = (await ready()).assets.get(String(ctx.params.asset));
    if (asset === undefined) throw notFound('this file of the console');
    answerAsset(ctx, asset);
  });
}

/** Compressed once, when it was made; the layer that compresses leaves alone what is, and marks its tag. */
function answerAsset(ctx: Context, { type, etag, plain, gzip, brotli }: ConsoleAsset): void {
  const isAsked = ctx.req.headers['accept-encoding'] !== undefined;
  const coding = isAsked ? ctx.acceptsEncodings('br', 'gzip', 'identity') : 'identity';
  ctx.set('Cache-Control', FOR_EVER);
  if (coding !== 'br' && coding !== 'gzip') return answerBytes(ctx, type, plain, 200, etag);
  answerBytes(ctx, type, coding === 'br' ? brotli : gzip, 200, etag);
  if (ctx.status === 200) ctx.set('Content-Encoding', coding);
}

function secured({ showsPictures, tilesUrl }: ConsoleSettings): Middleware {
  const tiles = tilesUrl === null ? [] : [new URL(tilesUrl).origin];
  return helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'none'"],
        scriptSrc: ["'self'"],
        styleSrc: ["'self'"],
        imgSrc: ["'self'", 'data:', ...tiles, ...(showsPictures ? ['https:'] : [])],
        connectSrc: ["'self'"],
        baseUri: ["'none'"],
        formAction: ["'none'"],
        frameAncestors: ["'none'"],
      },
    },
    referrerPolicy: { policy: 'no-referrer' },
  });
}
