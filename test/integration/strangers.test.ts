/**
 * Everywhere, identifiers of another client give 404 or nothing. The test calls every operation of the OpenAPI document
 * with such identifiers, and checks that their owner gets an answer.
 */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { endpointKeyOf } from '../../src/engine/domain/endpoint.ts';
import { randomUuid, timeOrderedUuid } from '../../src/engine/domain/ids.ts';
import { readingOf } from '../../src/engine/domain/property-document.ts';
import { insertProperties } from '../../src/engine/store/properties.ts';
import { insertSummaries } from '../../src/engine/store/property-summaries.ts';
import { heldAfter, upsertAt } from '../support/adverts.ts';
import { startTestApi } from '../support/api.ts';
import { searchNumberOfId, seedMatch } from '../support/seeded-matches.ts';
import { runStatements } from '../support/statements.ts';

const api = await startTestApi({ after });
const SECRET_TITLE = 'nobody else reads this';
const SECRET_ENDPOINT = 'https://nobody-else.example.com/hook';
const SECRET_RECIPIENT = 'nobody-else@example.com';
const PORTAL_URL = 'https://portal.example/annonce/1';

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly example?: unknown;
}

interface Operation {
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example: object }>> };
}

/** The first segments of paths that name an object of one client. `OPEN_TO_ALL` has those of other paths. */
const NAMED_IN_PATHS = [
  'searches',
  'matches',
  'deliveries',
  'users',
  'recoveries',
  'webhook-secrets',
  'endpoints',
  'recipients',
] as const;
const OPEN_TO_ALL = [
  'cities',
  'departments',
  'site_categories',
  'features',
  'contexts',
  'docs',
  'documents',
  'unsubscribe',
];

interface Owned {
  readonly paths: Readonly<Record<(typeof NAMED_IN_PATHS)[number], string>>;
  /** Query parameters by name: identifiers of the owner's objects, and values that the owner was notified of. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly property: string;
  /** Values that no answer to another client may contain. */
  readonly secrets: readonly string[];
}

let owned: Owned;
let stranger: { readonly key: string };
let operations: readonly (readonly [template: string, method: string, operation: Operation])[];

before(async () => {
  owned = await own();
  stranger = { key: await api.newClient('stranger') };
  const { paths } = (await (await fetch(`${api.baseUrl}/openapi.json`)).json()) as {
    paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  };
  operations = Object.entries(paths).flatMap(([template, methods]) =>
    Object.entries(methods).map(([method, operation]) => [template, method, operation] as const),
  );
});

async function own(): Promise<Owned> {
  const created = await api.call('POST', '/searches', {
    ...{ title: SECRET_TITLE, notificationEnabled: true, eventEndpoint: SECRET_ENDPOINT, withCoherentPrice: null },
    ...{ subscribedEvents: ['ad.update.price'], notificationRecipient: SECRET_RECIPIENT },
  });
  const secret = await api.call('POST', '/webhook-secrets', {});
  const recovery = await api.call('POST', '/recoveries', { since: new Date().toISOString() });
  const [search, match, delivery, property, advert] = [
    ...[created.body['@id'].slice(10), timeOrderedUuid(new Date()), randomUuid(), randomUuid(), randomUuid()],
  ] as const;
  const stored = heldAfter(
    upsertAt(0, { propertyUuid: property, advertUuid: advert, advert: { url: PORTAL_URL, title: 'T3' } }),
  );
  const reading = readingOf(stored.state, stored.crawls, api.reference.resolvePlace);
  await runStatements(api.database, [
    ...insertProperties([{ stored, expiredAt: null }]),
    ...insertSummaries([{ reading, crawls: stored.crawls }]),
  ]);
  const user = created.body.user.slice(7);
  const number = '(select number from searches where id = $1)';
  const searchNumber = await searchNumberOfId(api.database, search);
  await seedMatch(api.database, { id: match, searchNumber, propertyUuid: property });
  await api.database.query(
    `insert into deliveries (id, search_number, match_id, channel, kind, endpoint, endpoint_key, head, snapshot_id, sequence)
     values ($2, ${number}, $3, 'event', 'ad.update.price', $4, $5, '', $3, 1)`,
    [search, delivery, match, SECRET_ENDPOINT, endpointKeyOf(user, SECRET_ENDPOINT)],
  );
  const recoveryId = recovery.body['@id'].slice(12);
  const paths = { searches: search, matches: match, deliveries: delivery, users: user, recoveries: recoveryId };
  return {
    paths: {
      ...paths,
      ...{ 'webhook-secrets': secret.body.id, endpoints: Buffer.from(SECRET_ENDPOINT).toString('base64url') },
      recipients: encodeURIComponent(SECRET_RECIPIENT),
    },
    parameters: {
      ...{ search: `/searches/${search}`, match: `/matches/${match}`, property: `/documents/properties/${property}` },
      ...{ advert, url: PORTAL_URL, endpoint: SECRET_ENDPOINT },
    },
    property,
    secrets: [SECRET_TITLE, ...Object.values(paths), secret.body.id],
  };
}

interface Question {
  readonly method: string;
  readonly path: string;
  readonly body: object | undefined;
  /** True if the path names an object of the owner. */
  readonly isNamed: boolean;
}

/** The requests to one operation: without optional parameters, and with each of the owner's identifiers. */
function questionsOf(template: string, method: string, { parameters, requestBody }: Operation): readonly Question[] {
  const id = owned.paths[template.split('/')[1] as keyof Owned['paths']];
  const isNamed = template.includes('{');
  const path = template.replace('{uuid}', owned.property).replace(/\{\w+\}/, id ?? '');
  const body = Object.values(requestBody?.content ?? {})[0]?.example;
  const query = parameters.filter((each) => each.in === 'query');
  const fixed = new Map(
    query.flatMap(({ name, required, example }) => (required === true ? [[name, String([example].flat()[0])]] : [])),
  );
  // One of three parameters is required. For a search of another client the answer is 404 in any case.
  if (template.includes('explanation')) fixed.set('property', owned.parameters.property as string);
  // Either a city or a department is required.
  if (template === '/markets') fixed.set('city', '/cities/83137');
  const ways = query.flatMap(({ name }) => {
    const value = owned.parameters[name];
    if (value === undefined || isNamed) return [];
    return [template === '/explanations' ? new Map([[name, value]]) : new Map([...fixed, [name, value]])];
  });
  return [fixed, ...ways].map((values) => ({ method, path: withQuery(path, values), body, isNamed }));
}

function withQuery(path: string, values: ReadonlyMap<string, string>): string {
  return values.size === 0 ? path : `${path}?${new URLSearchParams([...values]).toString()}`;
}

/** The webhook tester calls any given endpoint, so it is left out. A test below checks which searches may sign. */
const isRequested = (template: string): boolean =>
  template !== '/webhook-tester' &&
  (!template.includes('{') || NAMED_IN_PATHS.some((resource) => template.startsWith(`/${resource}/`)));

test('every path of the document names an object of a client, or is open to all clients', () => {
  for (const [template] of operations.filter(([path]) => path.includes('{'))) {
    const resource = template.split('/')[1] ?? '';
    assert.ok([...NAMED_IN_PATHS, ...OPEN_TO_ALL].includes(resource), `${template} is in neither list`);
    // A property belongs to no client, so it does not count.
    assert.equal(template.replace('/{uuid}/', '/').match(/\{/g)?.length, 1, template);
  }
  const asked = new Set(operations.flatMap(([, , { parameters }]) => parameters.map(({ name }) => name)));
  for (const name of Object.keys(owned.parameters)) assert.ok(asked.has(name), `no request has the ${name}`);
});

test('objects of one client do not exist for another, in any request', async () => {
  let asked = 0;
  for (const [template, method, operation] of operations.filter(([path]) => isRequested(path))) {
    for (const { path, body, isNamed } of questionsOf(template, method, operation)) {
      const { status, text, headers } = await api.call(method.toUpperCase(), path, body, stranger);
      const what = `${method} ${path}: ${status} ${text.slice(0, 300)}`;
      asked += 1;
      if (isNamed) assert.equal(status, 404, what);
      assert.ok(status < 500 && status !== 400, what);
      const isProblem = headers.get('Content-Type')?.includes('problem') === true;
      const members = isProblem ? [] : JSON.parse(text || '{}');
      const told = JSON.stringify(members['hydra:member'] ?? members);
      for (const secret of owned.secrets) assert.equal(told.includes(secret), false, what);
      assert.equal(text.includes(SECRET_TITLE), false, what);
    }
  }
  assert.ok(asked > 40, `${asked} questions`);
});

test('objects of another client do not exist in bodies, in the tester and in cursors', async () => {
  const { search } = owned.parameters;
  const since = new Date().toISOString();
  const cases = [
    ['POST', '/recoveries', { since, search }, 404],
    [
      'GET',
      `/webhook-tester?endpoint=https://h.example.com/&eventType=ad.update.price&search=${search}`,
      undefined,
      404,
    ],
    ['GET', `/feed?search=${search}`, undefined, 404],
    ['GET', `/feed?after=${(await api.call('GET', '/feed')).body.next}`, undefined, 400],
  ] as const;
  for (const [method, path, body, expected] of cases) {
    const { status, text } = await api.call(method, path, body, stranger);
    assert.equal(status, expected, `${method} ${path}: ${text}`);
  }
});

test('the owner gets an answer where the other client did not', async () => {
  for (const [template, method, operation] of operations.filter(([path]) => isRequested(path))) {
    if (method !== 'get') continue;
    for (const { path } of questionsOf(template, method, operation)) {
      const { status, text } = await api.call('GET', path);
      // No market has fifty prices here.
      assert.equal(status, template === '/markets' ? 404 : 200, `${path}: ${text}`);
    }
  }
  for (const name of ['property', 'advert', 'url', 'match', 'search', 'endpoint']) {
    const values = new Map([[name, owned.parameters[name] as string]]);
    const { body } = await api.call('GET', withQuery('/deliveries', values));
    assert.equal(body['hydra:totalItems'], 1, name);
  }
});
