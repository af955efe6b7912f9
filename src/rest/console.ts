/**
 * `/console` (decisions, section 14): the page, its script and style, and the files of the base map. The files are
 * created once, at the first request that needs them. The names of scripts, styles, outlines and places change with
 * their content; caches keep the communes of a department for a day. The page uses the REST interface like any client.
 * It loads only from this server, images also from the tile server or, if it shows pictures of adverts, from any https
 * server.
 */

import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { brotliCompress, gzip, constants as zlib } from 'node:zlib';
import type Router from '@koa/router';
import type { Context, Middleware } from 'koa';
import type { Reference } from '../engine/reference/communes.ts';
import { answerBytes, escapeHtml, etagOf, ownSources, securedPage } from './content.ts';
import type { ApiDependencies, ApiSettings, ConsoleSettings } from './dependencies.ts';
import { notFound } from './problem.ts';
import { WHOLE_CITIES } from './reference.ts';
import { THINGS } from './sentences.ts';

/** One year, the longest `max-age` in common use. */
const FOR_EVER = 'public, max-age=31536000, immutable';
/** For files with a fixed name: the next version of the service may have other outlines. */
const FOR_A_DAY = 'public, max-age=86400';

const JSON_TYPE = 'application/json; charset=utf-8';

/** Without this folder the service works, but has no console. */
const CONSOLE = new URL('../console/', import.meta.url);
const OUTLINES = new URL('outlines/outlines.topojson', CONSOLE);

type ConsoleBundle = Readonly<Record<'script' | 'style', string>>;

async function bundle(): Promise<ConsoleBundle> {
  const file = import.meta.url.endsWith('.ts') ? 'bundle.ts' : 'bundle.js';
  const { consoleBundle } = (await import(new URL(file, CONSOLE).href)) as { consoleBundle(): Promise<ConsoleBundle> };
  return consoleBundle();
}

export function consoleRoutes(router: Router, { settings, reference }: ApiDependencies): void {
  if (!settings.console || !existsSync(CONSOLE)) return;
  const shown = settings.console;
  let files: Promise<ConsoleFiles> | null = null;
  const ready = (): Promise<ConsoleFiles> => {
    files ??= makeConsoleFiles(settings, shown, reference).catch((error: Error) => {
      files = null;
      throw error;
    });
    return files;
  };

  router.get('/console', secured(shown), async (ctx) => {
    // The page's URLs are relative to this path without a trailing slash.
    if (ctx.path.endsWith('/')) return ctx.redirect('../console');
    const { page } = await ready();
    answerBytes(ctx, 'text/html; charset=utf-8', page);
  });

  const departments = new Map<string, Promise<ConsoleAsset>>();
  router.get('/console/communes/:department', async (ctx) => {
    const code = String(ctx.params.department);
    const outlines = departments.has(code) ? null : reference.outlinesOf(code);
    if (outlines !== null) departments.set(code, assetOf('communes', 'json', JSON_TYPE, JSON.stringify(outlines), 10));
    answerAsset(ctx, (await departments.get(code)) ?? notFound(THINGS.consoleFile), FOR_A_DAY);
  });

  router.get('/console/:asset', async (ctx) => {
    const asset = (await ready()).assets.get(String(ctx.params.asset));
    answerAsset(ctx, asset ?? notFound(THINGS.consoleFile), FOR_EVER);
  });
}

/** The file is already compressed: the compression layer only adds the coding to its tag. */
function answerAsset(ctx: Context, { type, etag, plain, gzip, brotli }: ConsoleAsset, cached: string): void {
  const isRequested = ctx.req.headers['accept-encoding'] !== undefined;
  const coding = isRequested ? ctx.acceptsEncodings('br', 'gzip', 'identity') : 'identity';
  ctx.set('Cache-Control', cached);
  if (coding !== 'br' && coding !== 'gzip') return answerBytes(ctx, type, plain, 200, etag);
  answerBytes(ctx, type, coding === 'br' ? brotli : gzip, 200, etag);
  if (ctx.status === 200) ctx.set('Content-Encoding', coding);
}

function secured({ showsPictures, tilesUrl }: ConsoleSettings): Middleware {
  const tiles = tilesUrl === null ? [] : [new URL(tilesUrl).origin];
  return securedPage(ownSources([...tiles, ...(showsPictures ? ['https:'] : [])]));
}

type ConsoleAsset = Awaited<ReturnType<typeof assetOf>>;
type ConsoleFiles = Awaited<ReturnType<typeof makeConsoleFiles>>;
type Places = Pick<Reference, 'city' | 'departments' | 'populations'>;

/** Takes half a second. Rejects when a file cannot be read or created. */
async function makeConsoleFiles(
  { version, isMailAvailable: sendsMail, isConsentRequired: requiresConsent }: ApiSettings,
  shown: ConsoleSettings,
  reference: Places,
) {
  const [{ script, style }, outlines] = await Promise.all([bundle(), readFile(OUTLINES, 'utf8')]);
  const [code, look, base, names] = await Promise.all([
    assetOf('console', 'js', 'text/javascript; charset=utf-8', script),
    assetOf('console', 'css', 'text/css; charset=utf-8', style),
    assetOf('outlines', 'json', JSON_TYPE, outlines),
    assetOf('places', 'json', JSON_TYPE, JSON.stringify(placesOf(reference))),
  ]);
  const settings = {
    ...shown,
    version,
    sendsMail,
    requiresConsent,
    outlines: base.name,
    places: names.name,
  };
  /** Keyed by name. */
  const assets: ReadonlyMap<string, ConsoleAsset> = new Map(
    [code, look, base, names].map((asset) => [asset.name, asset]),
  );
  return { page: pageOf(code.name, look.name, JSON.stringify(settings)), assets };
}

async function assetOf(stem: string, suffix: string, type: string, text: string, quality = 9) {
  const plain = Buffer.from(text);
  const [gzipped, brotli] = await Promise.all([
    promisify(gzip)(plain, { level: 9 }),
    promisify(brotliCompress)(plain, { params: { [zlib.BROTLI_PARAM_QUALITY]: quality } }),
  ]);
  const name = `${stem}-${hash('sha256', plain, 'hex').slice(0, 12)}.${suffix}`;
  return { name, type, etag: etagOf(plain), plain, gzip: gzipped, brotli };
}

/** Maximum number of communes, the largest first. The map reads the others with the outlines of their department. */
const COMMUNES_MAX = 9_000;
/** Decimals of a degree, for a precision of about ten metres. */
const DECIMALS = 4;

/** Names and centres of communes, `[insee, name, lat, lon]`, and of departments, `[code, name]`. */
function placesOf(reference: Places): object {
  const largest = weighed(reference)
    .sort(([, a], [, b]) => b - a)
    .slice(0, COMMUNES_MAX);
  const rounded = (degrees: number): number => Number(degrees.toFixed(DECIMALS));
  return {
    communes: largest.flatMap(([insee]) => {
      const city = reference.city(insee);
      if (city === null || city.location === null) return [];
      return [[insee, city.name, rounded(city.location.lat), rounded(city.location.lon)]];
    }),
    departments: reference.departments().map(({ code, name }) => [code, name]),
  };
}

/** Ranks arrondissements below whole cities: a map of the country does not need those of Paris, Lyon and Marseille. */
const ARRONDISSEMENT_WEIGHT = 0.1;

function weighed(reference: Places): (readonly [insee: string, weight: number])[] {
  const parts = [...reference.populations()].map(([insee, population]): readonly [string, number] => {
    const isPart = (reference.city(insee)?.cityParentId ?? null) !== null;
    return [insee, isPart ? population * ARRONDISSEMENT_WEIGHT : population];
  });
  return [...WHOLE_CITIES.map((insee): readonly [string, number] => [insee, Infinity]), ...parts];
}

/** The names are relative, because a proxy may serve the console under another path. */
function pageOf(script: string, style: string, settings: string): string {
  return `<!doctype html>
<html lang="fr">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>Vigie</title>
<link rel="icon" href="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Ccircle cx='16' cy='16' r='15' fill='%230f5c66'/%3E%3Ccircle cx='16' cy='16' r='6' fill='%23ffb454'/%3E%3C/svg%3E">
<link rel="stylesheet" href="console/${style}">
<script type="module" src="console/${script}"></script>
</head>
<body>
<noscript>Activez JavaScript pour utiliser Vigie. Enable JavaScript to use Vigie.</noscript>
<div id="console" data-settings="${escapeHtml(settings)}"></div>
</body>
</html>
`;
}
