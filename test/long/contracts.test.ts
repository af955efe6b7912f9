/**
 * The contracts of a running daemon: generated clients compile, a linter finds no fault, and the daemon
 * answers the documented examples as documented.
 */

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { EVENT_KINDS } from '../../src/engine/domain/codes.ts';
import { answerValidator } from '../support/api.ts';
import { runReader } from '../support/contract-readers.ts';
import { createApiKey, type Daemon, startDaemon } from '../support/daemon.ts';
import { connectCrawler, numberedUuid, upsert } from '../support/intake.ts';
import { assertNone } from '../support/lists.ts';
import { restClient } from '../support/rest-client.ts';
import { startTestServers } from '../support/servers.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const servers = await startTestServers({ after });
const daemon = await startDaemon({ after }, servers);
const key = await createApiKey(servers);
const folder = await mkdtemp(join(tmpdir(), 'vigie-contracts-'));
after(() => rm(folder, { recursive: true, force: true }));

// oxlint-disable-next-line typescript/no-explicit-any -- tests look into every part of the documents
type Document = any;

/** Fetches a document without a key. */
async function fetched(path: string): Promise<Document> {
  const answer = await fetch(`${daemon.apiUrl}${path}`);
  assert.equal(answer.status, 200, path);
  const text = await answer.text();
  await writeFile(join(folder, path.slice(1).replace('/', '-')), text);
  return JSON.parse(text);
}

/** Pino's number for the level `error`. */
const LEVEL_ERROR = 50;
const openApi = await fetched('/openapi.json');
const webhookSchema = await fetched('/schemas/webhook.json');

const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);
ajv.addFormat('iri-reference', /^[^\s<>"{}|\\^`]*$/);
ajv.addSchema(openApi, 'openapi');
const validateWebhook = new Ajv2020().compile(webhookSchema);

function validatorOf(schema: object): ValidateFunction {
  return ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"openapi#/')));
}

function assertValid(validate: ValidateFunction, value: unknown, what: string): void {
  assert.ok(validate(value), `${what}: ${ajv.errorsText(validate.errors)}`);
}

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly operation: Document;
}

const operations: readonly Operation[] = Object.entries<Document>(openApi.paths).flatMap(([path, methods]) =>
  Object.entries<Document>(methods).map(([method, operation]) => ({ method, path, operation })),
);

const told = scene();

describe('generators and a linter', () => {
  it('openapi-typescript generates types that compile', async () => {
    const made = await runReader('openapi-typescript', ['openapi.json', '-o', 'types.d.ts'], folder);
    assert.equal(made.code, 0, made.output);
    const compiled = await runReader('tsc', ['--noEmit', '--strict', 'types.d.ts'], folder);
    assert.deepEqual(compiled, { code: 0, output: '' });
  });

  it('@hey-api/openapi-ts generates a client that compiles', async () => {
    const made = await runReader('openapi-ts', ['-i', 'openapi.json', '-o', 'client', '--no-log-file'], folder);
    assert.equal(made.code, 0, made.output);
    const modern = [
      '--module',
      'esnext',
      '--moduleResolution',
      'bundler',
      '--target',
      'es2022',
      '--lib',
      'es2022,dom,dom.iterable',
    ];
    const compiled = await runReader('tsc', ['--noEmit', '--strict', ...modern, 'client/index.ts'], folder);
    assert.deepEqual(compiled, { code: 0, output: '' });
  });

  it('spectral finds no fault', async () => {
    const args = ['lint', '--ruleset', 'HOME/spectral.yaml', '--fail-severity', 'hint', 'openapi.json'];
    const { code, output } = await runReader('spectral', args, folder);
    assert.equal(code, 0, output);
  });
});

describe('the OpenAPI document', () => {
  it('describes every operation, with an example of request and answer', () => {
    const faults = operations.flatMap(({ method, path, operation }) => {
      const { description, requestBody, responses, parameters } = operation;
      const bodies = Object.values<Document>(requestBody?.content ?? {});
      const answers = Object.entries<Document>(responses).filter(([status]) => status === '200' || status === '201');
      // An answer needs an example in one of its two media types, which have the same members.
      const shown = [
        ...bodies.map((body) => [body]),
        ...answers.map(([, answer]) => Object.values<Document>(answer.content)),
      ];
      const lacks = [
        ...(description === undefined || description.length < 20 ? ['description'] : []),
        ...(shown.some((types) => types.every(({ example }) => example === undefined)) ? ['example'] : []),
        ...parameters
          .filter((each: Document) => each.required && each.example === undefined)
          .map((each: Document) => each.name),
      ];
      return lacks.map((lack) => `${method} ${path}: ${lack}`);
    });
    assert.deepEqual(faults, []);
  });

  it('shows requests that the running service accepts unchanged', async () => {
    const validate = await answerValidator(daemon.apiUrl);
    const send = async ({ method, path, operation }: Operation, ids: Readonly<Record<string, string>>) => {
      const { parameters, requestBody } = operation;
      const query = new URLSearchParams();
      let address = path;
      for (const { in: place, name, example } of parameters) {
        const value = ids[`${path} ${name}`] ?? example;
        if (place === 'path') address = address.replace(`{${name}}`, String(value));
        else if (place === 'query' && value !== undefined) for (const one of [value].flat()) query.append(name, one);
      }
      const [[type, { example: body }] = ['', {}]] = Object.entries<Document>(requestBody?.content ?? {});
      const url = query.size === 0 ? address : `${address}?${query.toString()}`;
      const answer = await fetch(`${daemon.apiUrl}${url}`, {
        method: method.toUpperCase(),
        headers: { 'X-API-KEY': key, ...(body === undefined ? {} : { 'Content-Type': type }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      // 404 is right here, because no market has the fifty prices that a median needs.
      const isAnswered = answer.ok || (path === '/markets' && answer.status === 404);
      assert.ok(isAnswered, `${method} ${url} ${answer.status}: ${text}`);
      const parsed = text === '' ? null : JSON.parse(text);
      validate(method.toUpperCase(), url, { status: answer.status, headers: answer.headers, text, body: parsed });
      return parsed;
    };
    const known = await told;
    const [creation] = operations.filter(({ method }) => method === 'post');
    const created = await send(creation as Operation, {});
    const id = created['@id'].split('/').at(-1);
    const post = async (wanted: string): Promise<string> => {
      const operation = operations.find(({ method, path }) => method === 'post' && path === wanted);
      return (await send(operation as Operation, {}))['@id'].split('/').at(-1);
    };
    await restClient(daemon, key).createSearch({ title: 'Jo', notificationRecipient: 'jo@example.org' });
    const recovery = await post('/recoveries');
    const secret = await post('/webhook-secrets');
    const ids: Record<string, string> = { '/matches search': created['@id'], '/deliveries search': created['@id'] };
    for (const { path } of operations) {
      if (path.startsWith('/searches/{id}')) ids[`${path} id`] = id;
      if (path === '/users/{id}') ids[`${path} id`] = created.user.split('/').at(-1);
      if (path === '/matches/{id}') ids[`${path} id`] = known.match;
      if (path === '/recoveries/{id}') ids[`${path} id`] = recovery;
      if (path === '/webhook-secrets/{id}') ids[`${path} id`] = secret;
      if (path.startsWith('/deliveries/{id}')) ids[`${path} id`] = known.delivery;
      if (path.includes('{uuid}')) ids[`${path} uuid`] = known.property;
      if (path.includes('explanation')) ids[`${path} property`] = known.property;
    }
    const rest = operations.filter(
      ({ method, path }) => (method !== 'post' || path === '/searches/preview') && method !== 'delete',
    );
    for (const operation of rest) await send(operation, ids);
    for (const operation of operations.filter(({ method }) => method === 'delete')) await send(operation, ids);
  });
});

/** Causes two matches and events of every kind. Resolves with the ids of the first match, and all posts. */
async function scene() {
  const property = numberedUuid('property', 900);
  const crawler = await connectCrawler({ after }, servers.nats.url);
  const receiver = await startWebhookReceiver({ after });
  const rest = restClient(daemon, key);
  await rest.createSearch({
    title: 'Everything',
    notificationEnabled: true,
    endpointRecipient: receiver.urlOf('/match'),
    eventEndpoint: receiver.urlOf('/event'),
    subscribedEvents: EVENT_KINDS,
  });
  // This search must not begin to match with a new advert.
  await rest.createSearch({
    title: 'Cheap',
    budgetMax: 245_000,
    notificationEnabled: true,
    endpointRecipient: receiver.urlOf('/match'),
    eventEndpoint: receiver.urlOf('/event'),
    subscribedEvents: ['property.match.end', 'property.match.resume'],
  });
  const advert = numberedUuid('advert', 900);
  const at = (minute: number) => `2026-03-10T08:${minute}:00Z`;
  const first = upsert({ property, advert, crawledAt: at(10), price: 250_000 });
  const cheaper = upsert({ property, advert, crawledAt: at(20), price: 240_000, surface: 51 });
  const shown = { ...cheaper, crawledAt: at(30), advert: { ...cheaper.advert, pictures: ['https://a.example/1.jpg'] } };
  const gone = { kind: 'expire', crawledAt: at(40), property: { uuid: property }, advert: { uuid: advert } };
  const dear = { ...shown, crawledAt: at(52), advert: { ...shown.advert, price: 260_000 } };
  await crawler.publish(first, cheaper, shown, gone, { ...shown, crawledAt: at(50) }, dear, {
    ...shown,
    crawledAt: at(54),
  });
  // Two matches, an end, a return; six events of single fields, a returned advert, a creation, an update per change.
  await receiver.until((posts) => posts.length >= 2 + 2 + 6 + 1 + 1 + 5);
  const post = receiver.posts.find(({ path }) => path === '/match');
  const match = JSON.parse(String(post?.body)).match['@id'].split('/').at(-1) as string;
  return { property, match, delivery: String(post?.headers['webhook-id']), posts: receiver.posts };
}

describe('webhooks', () => {
  it('of every kind on both channels arrive as the contracts describe them', async () => {
    const { posts } = await told;
    const seen = new Set<string>();
    for (const { path, body, headers } of posts) {
      const { event, ...rest } = JSON.parse(String(body));
      const words = event.split('.').map((word: string) => word.charAt(0).toUpperCase() + word.slice(1));
      const name = `${path.slice(1)}${words.join('')}`;
      seen.add(name);
      const { requestBody, parameters } = openApi.webhooks[name].post;
      assertValid(validatorOf(requestBody.content['application/json'].schema), { event, ...rest }, name);
      assertValid(validateWebhook, { event, ...rest }, name);
      for (const { name: header, schema, required } of parameters) {
        if (required || header in headers) assertValid(validatorOf(schema), headers[header], `${name} ${header}`);
      }
      const known = [...parameters.map((each: Document) => each.name), ...OF_HTTP];
      assertNone(Object.keys(headers).filter((header) => !known.includes(header)));
    }
    assert.deepEqual([...seen].sort(), Object.keys(openApi.webhooks).sort());
  });
});

/** Headers that every HTTP request has. */
const OF_HTTP = ['host', 'connection', 'content-type', 'content-length', 'transfer-encoding'];

/** True if background work got no connection to PostgreSQL in time. The daemon repeats it, and no request failed. */
const isMachineBusy = (line: Daemon['log'][number]): boolean =>
  line.isBug === false && /connection timeout/.test(String(line.reason));

it('the daemon logs no error', () => {
  const errors = daemon.log.filter(({ level }) => Number(level) >= LEVEL_ERROR);
  assertNone(errors.filter((line) => !isMachineBusy(line)));
});
