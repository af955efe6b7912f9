/**
 * The descriptions of the API, read by API Platform's parser, a JSON-LD processor and an OpenAPI linter.
 * `test/long/documentation.test.ts` reads them in a browser.
 */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { after, describe, it } from 'node:test';
import { parseHydraDocumentation } from '@api-platform/api-doc-parser';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import jsonld from 'jsonld';
import { readConfig } from '../../src/config.ts';
import { EVENT_KINDS } from '../../src/engine/domain/codes.ts';
import { ATTEMPTS_MAX } from '../../src/engine/domain/delivery.ts';
import { NO_POINTS } from '../../src/engine/matching/points/poi-index.ts';
import { escapeHtml } from '../../src/rest/content.ts';
import { ENTRYPOINT_COLLECTIONS, jsonLdContext } from '../../src/rest/description/json-ld-contexts.ts';
import { JSON_SCHEMAS } from '../../src/rest/description/json-schemas.ts';
import { RESOURCES } from '../../src/rest/description/resource-schemas.ts';
import { PROBLEM_TYPES, VIOLATION_CODES } from '../../src/rest/problem.ts';
import { SEARCH_MEMBERS } from '../../src/rest/search-schema.ts';
import { sampleChange } from '../../src/rest/webhook-tester.ts';
import { startTestApi } from '../support/api.ts';
import { ROOT_URL } from '../support/checkout.ts';
import { assertNone } from '../support/lists.ts';
import { searchNumberOfId, seedMatch, seedProperty } from '../support/seeded-matches.ts';

const OUTCOME = {
  startedAt: new Date(),
  durationMs: 1,
  statusCode: 200,
  error: null,
  reason: null,
  responseHead: 'ok',
};
const POINTS = [
  { facility: 'school', lat: 43.1, lon: 5.9, name: 'École', attributes: { schoolType: 'primaire' } },
  { facility: 'parking', lat: 43.1, lon: 5.9, name: null, attributes: {} },
] as const;
const api = await startTestApi(
  { after },
  {
    deliverOnce: async () => OUTCOME,
    pointsOfInterest: () => ({ ...NO_POINTS, size: POINTS.length, within: () => POINTS }),
  },
);

/** Creates a search with many members, a match and a delivery. Resolves with paths that give every kind of answer. */
async function everything(): Promise<readonly string[]> {
  const { body: search, text } = await api.call('POST', '/searches', {
    title: 'Tout',
    transactionType: '0',
    propertyTypes: [0, 1],
    publisherTypes: 1,
    budgetMax: 300_000,
    lat: 43.1,
    lon: 5.9,
    radius: 5,
    includedCities: ['/cities/83137', '/cities/75056'],
    includedDepartments: ['/departments/83'],
    includedSiteCategories: ['/site_categories/1'],
    includedZipcodes: ['83000', '83200'],
    geoShapes: [
      [
        [5, 43],
        [6, 43],
        [6, 44],
        [5, 43],
      ],
      [
        [1, 43],
        [2, 43],
        [2, 44],
        [1, 43],
      ],
    ],
    expressions: [{ word: 'vue mer', strict: true }],
    subscribedEvents: ['ad.update.surface', 'ad.update.price'],
  });
  assert.ok(search['@id'], text);
  const { stored } = sampleChange('ad.update.price', new Date());
  const [match, delivery] = [randomUUID(), randomUUID()];
  const number = '(select number from searches where id = $1)';
  const id = search['@id'].slice(10);
  const { uuid } = stored.state;
  await seedProperty(api.database, stored);
  const searchNumber = await searchNumberOfId(api.database, id);
  await seedMatch(api.database, { id: match, searchNumber, propertyUuid: uuid });
  await api.database.query(
    `insert into deliveries (id, search_number, match_id, channel, kind, endpoint, endpoint_key, head, snapshot_id,
       sequence)
     values ($2, ${number}, $3, 'event', 'ad.update.price', 'https://h.example.com', 'k', '', $3, 1)`,
    [id, delivery, match],
  );
  await api.database.query(`insert into attempts values ($1, 1, now(), 5, 500, 'status', 'HTTP 500', 'oups')`, [
    delivery,
  ]);
  return [
    ...['/', search['@id'], '/searches?order[title]=asc', `${search['@id']}/matches`, `/matches/${match}`],
    ...[`/documents/properties/${uuid}`, `${search['@id']}/deliveries`, `/deliveries/${delivery}`],
    ...['/cities/75115', '/cities?name=par&itemsPerPage=2', '/departments/83', '/departments?itemsPerPage=3'],
    ...['/site_categories', '/site_categories/1', '/features', '/features/pool', search.user, '/users'],
    ...['/matches', '/deliveries?status=queued', '/documents/properties', '/public/location-autocomplete?query=toul'],
    ...['/indicators/points_of_interest?lat=43.1&lon=5.9', '/searches?foo=1', '/nowhere'],
    '/webhook-tester?endpoint=https://h.example.com/&eventType=ad.update.price',
    '/webhook-secrets',
    '/feed',
    '/recoveries',
  ];
}
const paths = await everything();

describe('the Hydra documentation', () => {
  it('lets API Platform’s parser find every resource, field and filter', async () => {
    const { api: found } = await parseHydraDocumentation(api.baseUrl, { headers: { 'X-API-KEY': api.key } });
    const resources = found.resources ?? [];
    const classOf = (id: string | null | undefined) => id?.split('#').at(-1);
    assert.deepEqual(resources.map(({ id }) => classOf(id)).sort(), [...ENTRYPOINT_COLLECTIONS.keys()].sort());
    const nameOf = (resource: unknown) => (resource as { name?: string } | null | undefined)?.name;
    const filters: Record<string, string[]> = {};
    for (const resource of resources) {
      const name = String(classOf(resource.id));
      const members = Object.keys(JSON_SCHEMAS[name]?.properties ?? {}).filter((member) => !member.startsWith('@'));
      assert.deepEqual(resource.fields?.map((field) => field.name).sort(), members.sort(), name);
      filters[resource.name] = (await resource.getParameters?.())?.map(({ variable }) => variable) ?? [];
    }
    const { paths: described } = (await api.call('GET', '/openapi.json')).body;
    for (const [name, found] of Object.entries(filters)) {
      const parameters: { readonly in: string; readonly name: string }[] = described[`/${name}`].get.parameters;
      const queries = parameters.filter((each) => each.in === 'query').map((each) => each.name);
      assert.deepEqual(found.toSorted(), queries.filter((each) => !/^(?:page|itemsPerPage)$/.test(each)).sort(), name);
    }
    const search = resources.find(({ name }) => name === 'searches');
    assert.deepEqual(search?.writableFields?.map(({ name }) => name).sort(), Object.keys(SEARCH_MEMBERS).sort());
    assert.deepEqual(search?.operations?.map(({ method }) => method).sort(), [
      'DELETE',
      'GET',
      'GET',
      'PATCH',
      'POST',
      'PUT',
    ]);
    const types = Object.fromEntries(search?.fields?.map(({ name, type }) => [name, type]) ?? []);
    assert.deepEqual([types.budgetMin, types.furnished, types.createdAt], ['integer', 'boolean', 'dateTime']);
    // A flag that may be null must not be shown as a switch.
    const ranges = Object.fromEntries(search?.fields?.map(({ name, range }) => [name, range]) ?? []);
    assert.match(String(ranges.furnished), /schema.org\/Boolean$/);
    assert.match(String(ranges.notificationEnabled), /XMLSchema#boolean$/);
    assert.equal(nameOf(search?.fields?.find(({ name }) => name === 'user')?.reference), 'users');
    assert.equal(nameOf(search?.fields?.find(({ name }) => name === 'includedCities')?.embedded), 'cities');
  });

  it('names the class of each body', async () => {
    const { body } = await api.call('GET', '/docs.jsonld');
    const classes: { '@id': string; 'hydra:supportedOperation'?: object[] }[] = body['hydra:supportedClass'];
    const expected = classes.flatMap(({ '@id': id, 'hydra:supportedOperation': operations }) =>
      [operations ?? []].flat().flatMap((one) => ('expects' in one ? [[id, one.expects]] : [])),
    );
    const of = (id: string) => new Set(expected.filter(([name]) => name === id).map(([, one]) => one));
    assert.deepEqual(of('#Search'), new Set(['#Search']));
    assert.deepEqual(of('#Endpoint'), new Set(['#Endpoint']));
  });
});

/** The values of a document without its contexts, which describe names. IRIs are relative to the API. */
function valuesOf(document: unknown): string[] {
  const shorten = (text: string) =>
    text
      .replace(/^(IriTemplateMapping|BasicRepresentation)$/, 'hydra:$1')
      .replace(`${api.baseUrl}/docs.jsonld#`, '')
      .replace('http://www.w3.org/ns/hydra/core#', 'hydra:')
      .replace(api.baseUrl, '');
  if (document === null || document === undefined) return [];
  if (Array.isArray(document)) return document.flatMap(valuesOf);
  if (typeof document !== 'object') return [shorten(JSON.stringify(document).replace(/^"|"$/g, ''))];
  const node = document as Record<string, unknown>;
  if ('@value' in node) return valuesOf(node['@value']);
  // The `property` of a mapping is a name in this document and an IRI in the other.
  const isMapping = [node['@type']].flat().some((type) => /#?IriTemplateMapping$/.test(String(type)));
  const kept = Object.entries(node).filter(([key]) => key !== '@context' && !(isMapping && key.endsWith('property')));
  return kept.flatMap(([, value]) => valuesOf(value));
}

/** The definitions of terms, at any depth, whose IRI is the term itself. */
function selfDefined(context: object): string[] {
  return Object.entries(context).flatMap(([term, definition]: [string, unknown]) => {
    if (typeof definition === 'string') return definition === term ? [term] : [];
    if (typeof definition !== 'object' || definition === null) return [];
    const { '@id': id, '@context': nested = {} } = definition as { '@id'?: string; '@context'?: object };
    return [...(id === term ? [term] : []), ...selfDefined(nested)];
  });
}

describe('JSON-LD', () => {
  it('has no term that is defined by the term itself, and treats members of collections as a set', () => {
    for (const name of [...Object.keys(RESOURCES), 'Entrypoint', 'Error', 'ConstraintViolationList']) {
      const { '@context': context } = jsonLdContext(name, 'http://h') as { '@context': Record<string, unknown> };
      assert.deepEqual([selfDefined(context), context['hydra:member']], [[], undefined], name);
    }
  });

  it('has the document of a property as nodes, because RDF clients cannot read one opaque JSON value', () => {
    const contextOf = (name: string) => jsonLdContext(name, 'http://h') as { '@context': Record<string, object> };
    const [match, document] = ['Match', 'PropertyDocument'].map((name) => contextOf(name)['@context']);
    for (const term of [match?.propertyDocument, document?.city, document?.lastCrawledAdvert])
      assert.ok(term !== undefined && !('@type' in term));
  });

  it('names the property and the message of a violation as API Platform does', async () => {
    const { body } = await api.call('POST', '/searches', { title: 'x', budgetMin: 2, budgetMax: 1 });
    const [expanded] = (await expand(body)) as Record<string, Record<string, unknown>[]>[];
    const vocabulary = `${api.baseUrl}/docs.jsonld#`;
    const [violation] = expanded?.[`${vocabulary}ConstraintViolationList/violations`] ?? [];
    assert.deepEqual(violation?.[`${vocabulary}propertyPath`], [{ '@value': 'budgetMin' }]);
    assert.ok(violation?.[`${vocabulary}message`]);
  });

  const documentLoader = async (url: string) => {
    const document = await (await fetch(url, { headers: { Accept: 'application/ld+json' } })).json();
    return { contextUrl: undefined, documentUrl: url, document };
  };
  const options = { base: api.baseUrl, documentLoader, safe: true };
  // The published types lack `safe`, which makes the processor throw instead of dropping data.
  const expand = (body: object): Promise<unknown> => jsonld.expand(body, options as jsonld.Options.Expand);

  for (const path of paths) {
    it(`${path.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '{id}')} expands without loss`, async () => {
      const { body } = await api.call('GET', path);
      const expanded = await expand(body);
      assert.deepEqual(valuesOf(expanded).sort(), valuesOf(body).sort());
    });
  }

  it('a list of violations expands without loss', async () => {
    const { body } = await api.call('POST', '/searches', { titre: 1 });
    const expanded = await expand(body);
    assert.deepEqual(valuesOf(expanded).sort(), valuesOf(body).sort());
  });
});

interface Answers {
  readonly [status: string]: {
    readonly links?: Readonly<Record<string, { operationId: string; parameters: Record<string, string> }>>;
  };
}

describe('the OpenAPI document', () => {
  // Schemas of answers are open: examples show names with `@` among others that the schema does not describe.
  const open = { severity: 'error', allowAdditionalProperties: true } as const;
  const rules = { 'no-invalid-media-type-examples': open, 'no-invalid-schema-examples': open };
  const lint = async (source: string) =>
    lintFromString({ source, config: await createConfig({ extends: ['recommended'], rules }) });

  it('passes Redocly’s recommended rules, which find an inserted fault', async () => {
    const { text, body } = await api.call('GET', '/openapi.json');
    assertNone((await lint(text)).map(({ ruleId, message }) => `${ruleId}: ${message}`));
    delete body.paths['/searches'].get.operationId;
    assert.ok((await lint(JSON.stringify(body))).length > 0);
  });

  it('links every POST and list to the item, in a way that a client of the standard can follow', async () => {
    const { paths: described } = (await api.call('GET', '/openapi.json')).body;
    const followed = new Set<string>();
    for (const [path, { get, post }] of Object.entries<Record<string, Record<string, Answers>>>(described)) {
      for (const responses of [get?.responses, post?.responses]) {
        const links = Object.values(responses ?? {}).flatMap(({ links: some = {} }) => Object.entries(some));
        for (const [resource, { operationId, parameters }] of links) {
          const item = Object.keys(described).find((one) => described[one].get?.operationId === operationId) ?? '';
          const [[name, expression] = ['', '']] = Object.entries(parameters);
          assert.match(expression, responses === post?.responses ? /^.response.body#\/@id$/ : /member\/0\/@id$/);
          const listed =
            responses === get?.responses && !path.includes('{') ? (await api.call('GET', path)).body : null;
          const iri = listed?.['hydra:member']?.[0]?.['@id'];
          if (iri === undefined) continue;
          const { status, body } = await api.call('GET', item.replace(`{${name}}`, encodeURIComponent(iri)));
          assert.deepEqual([status, body['@id'], body['@type']], [200, iri, resource]);
          followed.add(resource);
        }
      }
    }
    for (const one of ['Search', 'Match', 'Delivery', 'PropertyDocument', 'City', 'Feature', 'User'])
      assert.ok(followed.has(one), one);
    assert.deepEqual(Object.keys(described['/searches'].post.responses[201].links), ['Search']);
    assert.equal((await api.call('GET', '/cities/%2Fdepartments%2F83')).status, 404);
  });
});

describe('the entrypoint', () => {
  it('is a page with a link to the documentation for browsers, and Hydra for all other clients', async () => {
    const { text } = await api.call('GET', '/', undefined, { headers: { Accept: 'text/html' }, key: null });
    assert.match(text, /<a href="\/docs">/);
    for (const accept of ['*/*', 'application/ld+json', 'application/json', 'text/html;q=0.5, application/json']) {
      const { headers, body } = await api.call('GET', '/', undefined, { headers: { Accept: accept }, key: null });
      assert.match(String(headers.get('Content-Type')), /json/, accept);
      assert.equal(body['@type'], 'Entrypoint');
    }
    const elsewhere = await api.call('GET', '/searches', undefined, { headers: { Accept: 'text/html' } });
    assert.equal(elsewhere.status, 406);
  });
});

describe('the documentation page', () => {
  it('has guides in the requested language, with every code and type', async () => {
    const pages = new Map<string, string>();
    for (const [path, language, sent] of [
      ['/docs', 'fr', 'fr-FR,fr;q=0.9,en;q=0.5'],
      ['/docs', 'en', 'de'],
      ['/docs?language=fr', 'fr', 'en'],
      ['/docs?language=en', 'en', 'fr'],
    ] as const) {
      const { text, headers } = await api.call('GET', path, undefined, { headers: { 'Accept-Language': sent } });
      assert.equal(headers.get('Content-Language'), language);
      assert.match(text, new RegExp(`<html lang="${language}">`));
      assert.equal(pages.get(language) ?? text, text);
      pages.set(language, text);
    }
    const sections = [
      'first-search',
      'receive',
      'events',
      'retries',
      'feed',
      'recover',
      'errors',
      'limits',
      'changelog',
    ];
    for (const text of pages.values()) {
      assert.deepEqual(
        [...text.matchAll(/<section id="([^"]+)" tabindex/g)].map(([, id]) => id),
        sections,
      );
      for (const name of [...Object.keys(VIOLATION_CODES), ...Object.keys(PROBLEM_TYPES)]) {
        assert.ok(text.includes(`<th scope="row"><code>${name}</code></th>`), name);
      }
      assert.doesNotMatch(text, /\bundefined\b|\bNaN\b/);
    }
    const sentences = (text = '') => new Set([...text.matchAll(/<(?:p|td)>([^<]{20,})</g)].map(([, words]) => words));
    const english = sentences(pages.get('en'));
    assert.deepEqual(
      [...sentences(pages.get('fr'))].filter((one) => english.has(one)),
      [],
      'the same in both',
    );
  });

  it('has the body of every webhook as in the examples of the contracts', async () => {
    const { body: openApi } = await api.call('GET', '/openapi.json');
    const examples = Object.fromEntries(
      Object.entries<typeof openApi>(openApi.webhooks).map(([name, { post }]) => [
        name,
        post.requestBody.content['application/json'].example,
      ]),
    );
    for (const language of ['en', 'fr']) {
      const { text } = await api.call('GET', `/docs?language=${language}`);
      const blocks = [...text.matchAll(/<details id="(event\w+|match\w+)">.*?<code>({[^]*?)<\/code>/g)];
      const shown = Object.fromEntries(
        blocks.map(([, name, code = '']) => [
          name,
          JSON.parse(code.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&')),
        ]),
      );
      assert.deepEqual(shown, examples);
      for (const kind of EVENT_KINDS) assert.ok(text.includes(`<summary><code>${kind}</code>`), kind);
    }
  });

  it('has the first command of the README and its promises about webhooks, word for word', async () => {
    const readme = await readFile(new URL('README.md', ROOT_URL), 'utf8');
    const sectionOf = (title: string) => readme.split(/^## /m).find((section) => section.startsWith(title)) ?? '';
    const plain = (text: string) => text.replaceAll(/[`*]/g, '').replaceAll(/\s+/g, ' ').trim();
    const [command = ''] = /^curl -H "X-API-KEY[^]*?(?=\n\n)/m.exec(sectionOf('A first search')) ?? [];
    const promises = sectionOf('Receive').match(/^- [^]*?(?=\n-|\n\n)/gm) ?? [];
    assert.ok(command.includes('endpointRecipient') && promises.length === 5);
    const { text } = await api.call('GET', '/docs?language=en');
    assert.ok(text.includes(escapeHtml(command.replaceAll('http://127.0.0.1:8080', api.baseUrl))));
    const shown = plain(text.replaceAll(/<\/?(?:code|strong)>/g, ''));
    const missing = promises
      .map((promise) => plain(promise.slice(2)))
      .filter((one) => !shown.includes(`<p>${one}</p>`));
    assert.deepEqual(missing, []);
    const { attemptTimeoutMs, retryDelayMs } = readConfig({});
    const [, ...figures] = /200 within (\d+) s.* (\d+) attempts, each (\d+) hour/.exec(shown) ?? [];
    assert.deepEqual(figures.map(Number), [attemptTimeoutMs / 1_000, ATTEMPTS_MAX, retryDelayMs / 3_600_000]);
    assert.ok(sectionOf('Guarantees').includes('at most six times, never earlier than one hour'));
  });

  it('has the same names, figures and samples in both languages, block by block', async () => {
    const blocksOf = async (language: string) => {
      const { text } = await api.call('GET', `/docs?language=${language}`);
      const guides = /<section id="guides"[^>]*>([^]*?)<section aria-labelledby="reference">/.exec(text)?.[1] ?? '';
      return [...guides.matchAll(/<(p|li|pre|td|th|summary)\b[^]*?<\/\1>/g)].map(([block]) => {
        const names = block.match(/<code>[^]*?<\/code>/g) ?? [];
        const prose = block.replaceAll(/<code>[^]*?<\/code>|<[^>]*>/g, '').replaceAll(/(?<=\d)[\s,](?=\d{3})/g, '');
        return [...names, ...(prose.match(/\d+/g) ?? [])].sort();
      });
    };
    const english = await blocksOf('en');
    assert.ok(english.length > 60 && english.flat().length > 100);
    assert.deepEqual(await blocksOf('fr'), english);
  });

  it('has a French sentence for each sentence of the reference, and no others', async () => {
    const { body: english } = await api.call('GET', '/openapi.json');
    const { body: french } = await api.call('GET', '/docs/reference.fr.json');
    const sentences = new Set<string>();
    JSON.stringify(english, (name, value) => {
      if (name === 'example') return undefined;
      const isText = ['description', 'summary'].includes(name) && typeof value === 'string';
      // Sentences are split as the page's script splits them. A sentence that is only a name needs no translation.
      for (const one of isText ? value.split(/(?<=\.)\s+(?=[A-Z`])/) : [])
        if (!/^`[^`]*`\.$/.test(one)) sentences.add(one);
      return value;
    });
    assert.deepEqual(Object.keys(french).sort(), [...sentences].sort());
    assert.ok(Object.values<string>(french).every((one) => one.length > 0 && !/\bthe\b|\bwhich\b/.test(one)));
  });
});
