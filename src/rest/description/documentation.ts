/**
 * What needs no key beside the contracts: the Hydra entrypoint, documentation and contexts, and the page that shows the
 * OpenAPI document. The page's scripts come from this server, under a policy that allows no other.
 */

import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type Router from '@koa/router';
import type { Context, Middleware } from 'koa';
import helmet from 'koa-helmet';
import { acceptable, answer, answerBytes, answerJson, baseUrlOf, prefersPage } from '../content.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { notFound } from '../problem.ts';
import { THINGS } from '../sentences.ts';
import { asyncApiDocument } from './asyncapi.ts';
import { contractExamples } from './contract-examples.ts';
import { hydraDocumentation } from './hydra-documentation.ts';
import { INTAKE_SCHEMA_PATH, intakeSchema } from './intake-schema-document.ts';
import { ENTRYPOINT_MEMBERS, jsonLdContext } from './json-ld-contexts.ts';
import { openApiDocument } from './openapi.ts';

export function documentationRoutes(router: Router, dependencies: ApiDependencies): void {
  const { settings } = dependencies;
  const baseUrl = (ctx: Context): string => baseUrlOf(ctx, settings.publicUrl);
  const hydra = standingDocument(hydraDocumentation);

  router.get('/', welcome(Boolean(settings.console)), acceptable, (ctx) => {
    answer(ctx, { '@context': '/contexts/Entrypoint', '@id': '/', '@type': 'Entrypoint', ...ENTRYPOINT_MEMBERS });
  });

  router.get('/docs.jsonld', acceptable, (ctx) => answerJson(ctx, hydra(baseUrl(ctx))));

  router.get('/contexts/:name', acceptable, (ctx) => {
    const context = jsonLdContext(String(ctx.params.name), baseUrl(ctx));
    if (context === null) throw notFound(THINGS.context);
    answer(ctx, context);
  });

  contractRoutes(router, dependencies);
  pageRoutes(router);
}

const JSON_TYPE = 'application/json; charset=utf-8';
const SCHEMA_TYPE = 'application/schema+json; charset=utf-8';

function contractRoutes(router: Router, { settings, reference }: ApiDependencies): void {
  const { publicUrl, version } = settings;
  const baseUrl = (ctx: Context): string => baseUrlOf(ctx, publicUrl);
  const openApi = standingDocument((url) => ({
    ...openApiDocument(version, contractExamples(reference)),
    servers: [{ url: url === '' ? '/' : url }],
  }));
  const asyncApi = standingDocument(() => asyncApiDocument(version, contractExamples(reference)));
  const intake = standingDocument(intakeSchema);

  router.get('/openapi.json', (ctx) => answerBytes(ctx, JSON_TYPE, openApi(baseUrl(ctx))));
  router.get('/asyncapi.json', (ctx) => answerBytes(ctx, JSON_TYPE, asyncApi(baseUrl(ctx))));
  router.get(INTAKE_SCHEMA_PATH, (ctx) => answerBytes(ctx, SCHEMA_TYPE, intake(baseUrl(ctx))));
}

const welcomeTo = (hasConsole: boolean): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Vigie</title>
<link rel="icon" href="data:,">
</head>
<body>
<h1>Vigie</h1>
<p>Saved real-estate searches, the alerts they raise and where they went. This is the address of its REST interface.</p>
<ul>${hasConsole ? '\n<li><a href="/console">Console</a>: your searches on a map, and what they find</li>' : ''}
<li><a href="/docs">Documentation</a>, to read and to try</li>
<li><a href="/openapi.json">OpenAPI</a></li>
<li><a href="/docs.jsonld">Hydra</a></li>
</ul>
<p>Requests carry your key in the header <code>X-API-KEY</code>.</p>
</body>
</html>
`;

/** The entrypoint, for who came with a browser. */
function welcome(hasConsole: boolean): Middleware {
  const page = welcomeTo(hasConsole);
  return (ctx, next) => {
    if (!prefersPage(ctx)) return next();
    return secureDocument(ctx, async () => answerBytes(ctx, 'text/html; charset=utf-8', page));
  };
}

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Vigie API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<div id="swagger-ui"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/init.js"></script>
</body>
</html>
`;

/** No remote resource: the validator badge would be one. */
const INIT = `SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#swagger-ui',
  validatorUrl: null,
  deepLinking: true,
  persistAuthorization: false,
});
`;

/** All of helmet for the one answer that is a document. Swagger UI draws its icons from data: URLs. */
const secureDocument: Middleware = helmet({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      defaultSrc: ["'none'"],
      scriptSrc: ["'self'"],
      styleSrc: ["'self'"],
      imgSrc: ["'self'", 'data:'],
      connectSrc: ["'self'"],
      baseUri: ["'none'"],
      formAction: ["'none'"],
      frameAncestors: ["'none'"],
    },
  },
});

const ASSETS: Readonly<Record<string, string>> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
};

function pageRoutes(router: Router): void {
  const directory = dirname(fileURLToPath(import.meta.resolve('swagger-ui-dist/package.json')));
  const read = new Map<string, Promise<Buffer>>();

  router.get(['/docs', '/docs/'], secureDocument, (ctx) => {
    answerBytes(ctx, 'text/html; charset=utf-8', PAGE);
  });

  router.get('/docs/init.js', (ctx) => {
    answerBytes(ctx, 'text/javascript; charset=utf-8', INIT);
  });

  router.get('/docs/:asset', async (ctx) => {
    const asset = String(ctx.params.asset);
    const type = Object.hasOwn(ASSETS, asset) ? ASSETS[asset] : undefined;
    if (type === undefined) throw notFound(THINGS.page);
    const content = read.get(asset) ?? readFile(join(directory, asset));
    read.set(asset, content);
    answerBytes(ctx, type, await content);
  });
}

/** Stands for the URL in what is built. Reserved: nobody comes by it (RFC 2606). */
const STAND_IN = 'https://vigie.invalid';

/**
 * Answers the JSON of `build(baseUrl)`: a document that is the same for everybody but for the URL that they came by is
 * built once, however many those are.
 */
export function standingDocument(build: (baseUrl: string) => object): (baseUrl: string) => string {
  let built: string | null = null;
  let withoutUrl: string | null = null;
  return (baseUrl) => {
    // A document may say something else where nobody knows its URL.
    if (baseUrl === '') return (withoutUrl ??= JSON.stringify(build('')));
    built ??= JSON.stringify(build(STAND_IN));
    const url = JSON.stringify(baseUrl).slice(1, -1);
    return built.replaceAll(STAND_IN, () => url);
  };
}
