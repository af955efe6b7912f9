/**
 * Public documentation: the Hydra entrypoint, ApiDocumentation and contexts, the contracts, and the page that shows the
 * guides and OpenAPI. The page's Content-Security-Policy allows only scripts of this server.
 */

import { readFile } from 'node:fs/promises';
import type Router from '@koa/router';
import type { Middleware } from 'koa';
import { EVENT_KINDS } from '../../engine/domain/codes.ts';
import { typeset } from '../../values.ts';
import { acceptable, answer, answerBytes, answerJson, escapeHtml, prefersPage, securedPage } from '../content.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { identityOf } from '../hydra.ts';
import { notFound, PROBLEM_TYPES, VIOLATION_CODES } from '../problem.ts';
import { type Language, languageOf, type Sentence, THINGS } from '../sentences.ts';
import { ALERT_KINDS, CHANNELS, webhookName } from './alert-schemas.ts';
import { codeOf, requestSamples, SAMPLE_LANGUAGES, textOf, VERIFIERS, verifierSamples } from './code-samples.ts';
import { type ContractExamples, contractExamples } from './contract-examples.ts';
import { hydraDocumentation } from './hydra-documentation.ts';
import { ENTRYPOINT_MEMBERS, jsonLdContext } from './json-ld-contexts.ts';
import { INTAKE_SCHEMA_PATH, intakeSchema, WEBHOOK_SCHEMA_PATH, webhookSchema } from './message-schemas.ts';
import { openApiDocument } from './openapi.ts';

interface Guides {
  readonly list: string;
  readonly guides: string;
}

/** Parts of a page: a section `## Title {#id}`, a fence with a name as its second word, and `{{name}}`. */
const SECTION = /^(.+) \{#([\w-]+)\}\n([^]*)$/;
const FENCE = /^```\w+ ([\w-]+)\n([^]*?)\n```$/gm;
const PLACEHOLDER = /\{\{([\w-]+)\}\}/g;

const PAGES: Readonly<Record<Language, string>> = { en: textOf('guides.en.md'), fr: textOf('guides.fr.md') };
/** The samples by name. The page's script replaces `$KEY` and `$SEARCH` by the reader's key and search. */
const SAMPLES = Object.fromEntries(
  [...PAGES.en.matchAll(FENCE)].map(([, name, code = '']) => [name, requestSamples(code)]),
);
const FRENCH: Readonly<Record<string, string>> = JSON.parse(textOf('reference.fr.json'));

/**
 * The HTML of all guides, one section each, and of their table of contents, from a Markdown page per language and
 * values from the code. The English page repeats commands and promises of the README word for word. A test compares the
 * two, and the French page with the English one.
 */
function guidePage(language: Language, facts: ReturnType<typeof factsOf>, examples: ContractExamples): Guides {
  const figures = Object.entries(facts).map(([name, most]) => [name, most.toLocaleString(language)]);
  const kept = { en: `for ${facts.keptDays} days`, fr: `${facts.keptDays} jours` };
  const forEver = { en: 'for ever', fr: 'sans limite' };
  const parts: Readonly<Record<string, string>> = {
    ...SAMPLES,
    verifiers: verifierSamples(),
    events: eventExamples(language, examples),
    ...Object.fromEntries(figures),
    types: tableOf(PROBLEM_TYPES, language),
    codes: tableOf(VIOLATION_CODES, language),
    kept: (facts.keptDays === 0 ? forEver : kept)[language],
  };
  const sections = PAGES[language]
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const [, title = '', id = '', text = ''] = SECTION.exec(section) ?? [];
      const blocks = text
        .replace(FENCE, '{{$1}}')
        .trim()
        .split(/\n{2,}/);
      const body = blocks
        .map(htmlOf)
        .join('\n')
        .replace(PLACEHOLDER, (_, name) => parts[name] ?? '');
      return [
        `<li><a href="#${id}">${title}</a></li>`,
        `<section id="${id}" tabindex="-1">\n<h2>${title}</h2>\n${body}\n</section>`,
      ];
    });
  const [list, guides] = [0, 1].map((at) => sections.map((section) => section[at]).join('\n'));
  return { list: list ?? '', guides: guides ?? '' };
}

function htmlOf(block: string): string {
  if (/^\{\{[\w-]+\}\}$/.test(block)) return block;
  if (!block.startsWith('- ')) return `<p>${inline(block)}</p>`;
  const items = block.split(/^- /m).slice(1);
  return `<ul>\n${items.map((item) => `<li>${inline(item.trim())}</li>`).join('\n')}\n</ul>`;
}

/** HTML of an example of each webhook. */
function eventExamples(language: Language, { alert }: ContractExamples): string {
  const blocks = EVENT_KINDS.flatMap((kind) =>
    ALERT_KINDS[kind].channels.map((channel) => {
      const summary = `${ALERT_KINDS[kind].summary} (${CHANNELS[channel].member})`;
      const words = language === 'fr' ? (FRENCH[summary] ?? summary) : summary;
      const body = codeOf(JSON.stringify(alert(kind, channel), null, 2));
      return `<details id="${webhookName(kind, channel)}"><summary><code>${kind}</code> ${words}</summary>${body}</details>`;
    }),
  );
  return blocks.join('\n');
}

function tableOf(rows: Readonly<Record<string, Sentence>>, language: Language): string {
  const lines = Object.entries(rows).map(
    ([name, sentence]) => `<tr><th scope="row"><code>${name}</code></th><td>${inline(sentence[language])}</td></tr>`,
  );
  return `<table>\n${lines.join('\n')}\n</table>`;
}

/** Renders code, bold, and French typography. */
function inline(text: string): string {
  return escapeHtml(typeset(text))
    .replace(/`([^`]+)`/g, '<code>$1</code>')
    .replace(/\*\*(.+?)\*\*/g, '<strong>$1</strong>');
}

export function documentationRoutes(router: Router, dependencies: ApiDependencies): void {
  const hydra = cachedDocument(hydraDocumentation);

  router.get('/', welcome(Boolean(dependencies.settings.console)), acceptable, (ctx) => {
    answer(ctx, { ...identityOf('Entrypoint', '/'), ...ENTRYPOINT_MEMBERS });
  });

  router.get('/docs.jsonld', acceptable, (ctx) => answerJson(ctx, hydra(ctx.state.baseUrl)));

  router.get('/contexts/:name', acceptable, (ctx) => {
    answer(ctx, jsonLdContext(String(ctx.params.name), ctx.state.baseUrl) ?? notFound(THINGS.context));
  });

  contractRoutes(router, dependencies);
  pageRoutes(router, dependencies);
}

const JSON_TYPE = 'application/json; charset=utf-8';
const SCHEMA_TYPE = 'application/schema+json; charset=utf-8';

function contractRoutes(router: Router, { settings, reference }: ApiDependencies): void {
  const openApi = cachedDocument((url) => ({
    ...openApiDocument(settings.version, contractExamples(reference)),
    servers: [{ url: url === '' ? '/' : url }],
  }));
  const intake = cachedDocument(intakeSchema);
  const webhook = cachedDocument(webhookSchema);

  router.get('/openapi.json', (ctx) => answerBytes(ctx, JSON_TYPE, openApi(ctx.state.baseUrl)));
  router.get(INTAKE_SCHEMA_PATH, (ctx) => answerBytes(ctx, SCHEMA_TYPE, intake(ctx.state.baseUrl)));
  router.get(WEBHOOK_SCHEMA_PATH, (ctx) => answerBytes(ctx, SCHEMA_TYPE, webhook(ctx.state.baseUrl)));
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
<p>This is the REST interface for saved real-estate searches, their alerts, and the deliveries of these alerts.</p>
<ul>${hasConsole ? '\n<li><a href="/console">Console</a>: your searches and their properties on a map</li>' : ''}
<li><a href="/docs">Documentation</a>, to read and to try</li>
<li><a href="/openapi.json">OpenAPI</a></li>
<li><a href="/docs.jsonld">Hydra</a></li>
</ul>
<p>Send your key with each request, in the header <code>X-API-KEY</code>.</p>
</body>
</html>
`;

/** The entrypoint for a browser. */
function welcome(hasConsole: boolean): Middleware {
  const page = welcomeTo(hasConsole);
  return (ctx, next) => {
    if (!prefersPage(ctx)) return next();
    return secureDocument(ctx, async () => answerBytes(ctx, 'text/html; charset=utf-8', page));
  };
}

const PAGE_WORDS = {
  en: {
    title: 'Vigie API',
    search: 'Search guides and operations',
    key: 'Your API key: examples then use your own ids',
    samples: 'Code samples in',
    copy: 'Copy',
    copied: 'Copied',
    sections: 'Sections',
    nothing: 'Nothing found.',
    some: 'Found: %. Press Enter to go to the first.',
    guides: 'Guides',
    reference: 'Reference',
    other: ['fr', 'Français'],
  },
  fr: {
    title: 'API de Vigie',
    search: 'Chercher dans les guides et les opérations',
    key: 'Votre clé API : les exemples utilisent alors vos identifiants',
    samples: 'Exemples de code en',
    copy: 'Copier',
    copied: 'Copié',
    sections: 'Sections',
    nothing: 'Rien trouvé.',
    some: 'Trouvé : %. Entrée mène au premier.',
    guides: 'Guides',
    reference: 'Référence',
    other: ['en', 'English'],
  },
} as const;

function docsPage(language: Language, { list, guides }: Guides, baseUrl: string): string {
  const words = PAGE_WORDS[language];
  const [code, name] = words.other;
  const languages = SAMPLE_LANGUAGES.map((one) => `<option>${one}</option>`).join('');
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${words.title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/swagger-ui.css">
<link rel="stylesheet" href="/docs/docs-page.css">
</head>
<body>
<header>
<h1>${words.title}</h1>
<div class="fields">
<label>${words.search}<input id="words" type="search" aria-describedby="outcome"></label>
<label>${words.key}<input id="key" type="password" autocomplete="off"></label>
<label hidden>${words.samples}<select id="language">${languages}</select></label>
</div>
<p id="outcome" role="status" data-nothing="${words.nothing}" data-some="${words.some}"></p>
</header>
<nav aria-label="${words.sections}"><ul>
${list}
<li><a href="#reference">${words.reference}</a><ul id="tags"></ul></li>
<li><a href="?language=${code}" hreflang="${code}" lang="${code}">${name}</a></li>
</ul></nav>
<div id="content" data-copy="${words.copy}" data-copied="${words.copied}">
<section id="guides" aria-label="${words.guides}">
${guides.replaceAll('http://127.0.0.1:8080', () => escapeHtml(baseUrl || 'http://127.0.0.1:8080'))}
</section>
<section aria-labelledby="reference"><h2 id="reference">${words.reference}</h2></section>
<div id="swagger-ui"></div>
</div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/docs-page.js"></script>
</body>
</html>
`;
}

/** Values that differ between installations, by placeholder. */
function factsOf({ rateLimit, writeLimit, searchLimits, retentionDays }: ApiDependencies['settings']) {
  return {
    readPerSecond: rateLimit.perSecond,
    writePerSecond: writeLimit.perSecond,
    searches: searchLimits.searches,
    corners: searchLimits.polygonCorners,
    excludedWords: searchLimits.excludedWords,
    matchesPerAdvert: searchLimits.matchesPerAdvert,
    keptDays: retentionDays.deliveries,
  };
}

const secureDocument = securedPage();

/** The build copies Swagger UI next to the compiled program, because its package is a development dependency. */
const SWAGGER = import.meta.resolve(
  new URL(import.meta.url).pathname.endsWith('.ts') ? 'swagger-ui-dist/package.json' : './swagger-ui/',
);
const ASSETS: Readonly<Record<string, readonly [type: string, folder: string]>> = {
  'swagger-ui.css': ['text/css; charset=utf-8', SWAGGER],
  'swagger-ui-bundle.js': ['text/javascript; charset=utf-8', SWAGGER],
  'docs-page.css': ['text/css; charset=utf-8', import.meta.url],
  'docs-page.js': ['text/javascript; charset=utf-8', import.meta.url],
  'reference.fr.json': [JSON_TYPE, import.meta.url],
  ...Object.fromEntries(
    Object.values(VERIFIERS).map((file) => [
      file,
      ['text/plain; charset=utf-8', import.meta.resolve('./verify/')] as const,
    ]),
  ),
};

function pageRoutes(router: Router, { settings, reference }: ApiDependencies): void {
  const read = new Map<string, Promise<Buffer>>();
  const guides = new Map<Language, Guides>();

  router.get(['/docs', '/docs/'], secureDocument, (ctx) => {
    const { language: requested } = ctx.query;
    const language = requested === 'fr' || requested === 'en' ? requested : languageOf(ctx, 'en');
    ctx.set('Content-Language', language);
    const shown = guides.get(language) ?? guidePage(language, factsOf(settings), contractExamples(reference));
    guides.set(language, shown);
    answerBytes(ctx, 'text/html; charset=utf-8', docsPage(language, shown, ctx.state.baseUrl));
  });

  router.get('/docs/:asset', async (ctx) => {
    const asset = String(ctx.params.asset);
    const [type, folder] = (Object.hasOwn(ASSETS, asset) ? ASSETS[asset] : undefined) ?? notFound(THINGS.page);
    const content = read.get(asset) ?? readFile(new URL(asset, folder));
    read.set(asset, content);
    answerBytes(ctx, type, await content);
  });
}

/** A placeholder for the base URL in cached documents. The name is reserved, so no service has it (RFC 2606). */
const PLACEHOLDER_URL = 'https://vigie.invalid';

/** Returns the JSON of `build(baseUrl)`. `build` runs once with a placeholder, and once if the base URL is unknown. */
export function cachedDocument(build: (baseUrl: string) => object): (baseUrl: string) => string {
  let built: string | null = null;
  let withoutUrl: string | null = null;
  return (baseUrl) => {
    // A document may have other content when the base URL is unknown.
    if (baseUrl === '') return (withoutUrl ??= JSON.stringify(build('')));
    built ??= JSON.stringify(build(PLACEHOLDER_URL));
    const url = JSON.stringify(baseUrl).slice(1, -1);
    return built.replaceAll(PLACEHOLDER_URL, () => url);
  };
}
