/**
 * The REST API on a real PostgreSQL, and a client that checks responses against the published OpenAPI document. Every
 * test that uses this client therefore also checks the contract.
 */

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { BlockList } from 'node:net';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { createWorkerThreads } from '../../src/engine/actor/worker-thread.ts';
import type { Uuid } from '../../src/engine/domain/ids.ts';
import { NO_POINTS } from '../../src/engine/matching/points/poi-index.ts';
import { loadReference, type Reference } from '../../src/engine/reference/communes.ts';
import { type ClientLimits, createApiKey, createClient } from '../../src/engine/store/clients.ts';
import { type Database, openDatabase } from '../../src/engine/store/database.ts';
import { NO_LIMITS } from '../../src/engine/store/searches.ts';
import { createApi } from '../../src/rest/api.ts';
import type { ApiDependencies, ApiSettings } from '../../src/rest/dependencies.ts';
import { listenOnLoopback } from './loopback.ts';
import { ownDatabase } from './own-database.ts';
import type { Cleanup } from './servers.ts';

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
  readonly body: any;
}

export interface CallOptions {
  readonly key?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface TestApi {
  readonly baseUrl: string;
  readonly database: Database;
  readonly reference: Reference;
  readonly key: string;
  readonly clientId: Uuid;
  /** Lines that were logged. */
  readonly logged: {
    readonly level: string;
    readonly fields: Readonly<Record<string, unknown>>;
    readonly message: string;
  }[];
  /** How often `searchChanged` was called. */
  readonly changes: { count: number };
  /** Fails the test if the response does not match the OpenAPI document. A body that is a string is sent unchanged. */
  call(method: string, path: string, body?: unknown, options?: CallOptions): Promise<ApiAnswer>;
  newClient(name: string, limits?: Partial<ClientLimits>): Promise<string>;
}

/** Connections to `database`. */
export const CONNECTIONS_MAX = 8;

export type ApiOverrides = Partial<Omit<ApiDependencies, 'settings'>> & {
  readonly settings?: Partial<ApiSettings>;
  readonly queryBounds?: { readonly connectionsMax?: number; readonly statementTimeoutMs?: number };
};

export async function startTestApi(
  cleanup: Cleanup,
  { queryBounds, ...overrides }: ApiOverrides = {},
): Promise<TestApi> {
  const [url, places] = await Promise.all([ownDatabase(cleanup), loadReference()]);
  const connecting = { url, onConnectionLost: () => undefined };
  const database = openDatabase({ ...connecting, connectionsMax: CONNECTIONS_MAX });
  cleanup.after(() => database.end());
  // The thread starts with the first query.
  const threads = createWorkerThreads({
    settings: { databaseUrl: url, connectionsMax: 2, statementTimeoutMs: 60_000, ...queryBounds },
    onLost(error) {
      throw error;
    },
  });
  cleanup.after(threads.stop);
  const publicDatabase = openDatabase({ ...connecting, connectionsMax: 1 });
  cleanup.after(() => publicDatabase.end());
  const logged: TestApi['logged'] = [];
  const changes = { count: 0 };
  const log = (level: string) => (fields: Readonly<Record<string, unknown>>, message: string) =>
    void logged.push({ level, fields, message });
  const app = createApi({
    database,
    askThread: threads.ask,
    publicDatabase: overrides.database ?? publicDatabase,
    queryDatabase: overrides.database ?? database,
    onAuthenticated: () => true,
    isStoreFull: () => false,
    onKeyChange: () => undefined,
    pointsOfInterest: () => NO_POINTS,
    onFeed: () => undefined,
    ending: new AbortController().signal,
    announceDue: () => undefined,
    secretsChanged: () => undefined,
    deliverOnce: async () => null,
    reference: places,
    logger: { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') },
    now: () => new Date(),
    searchChanged: async () => void changes.count++,
    ...overrides,
    settings: {
      publicUrl: null,
      proxies: new BlockList(),
      allowPrivateEndpoints: false,
      endpointPorts: [
        { from: 80, to: 80 },
        { from: 443, to: 443 },
        { from: 1_024, to: 65_535 },
      ],
      rateLimit: { perSecond: 100_000, burst: 200_000 },
      writeLimit: { perSecond: 100_000, burst: 200_000 },
      databaseConnectionsMax: CONNECTIONS_MAX,
      searchLimits: NO_LIMITS,
      isMailAvailable: true,
      isConsentRequired: false,
      connectionsMax: 1_000,
      retentionDays: { events: 0, deliveries: 30, expired: 0 },
      mailLanguage: 'fr',
      console: null,
      version: '0.0.0-test',
      ...overrides.settings,
    },
  });
  const server = createServer(app.callback());
  // On a busy machine a client must not reuse a connection just when the server closes it.
  server.keepAliveTimeout = 60_000;
  const baseUrl = `http://127.0.0.1:${await listenOnLoopback(cleanup, server)}`;
  const client = await createClient(database, { name: 'test' });
  const { key } = await createApiKey(database, client.id, 'test');
  const validate = await answerValidator(baseUrl);
  return {
    baseUrl,
    database,
    reference: places,
    key,
    clientId: client.id,
    logged,
    changes,
    async call(method, path, body, options = {}) {
      const answer = await request(baseUrl, method, path, body, { key, ...options });
      validate(method, path, answer);
      return answer;
    },
    async newClient(name, limits) {
      const other = await createClient(database, { name, ...limits });
      return (await createApiKey(database, other.id, 'test')).key;
    },
  };
}

async function request(
  baseUrl: string,
  method: string,
  path: string,
  body: unknown,
  { key, headers }: CallOptions,
): Promise<ApiAnswer> {
  const response = await fetch(`${baseUrl}${path}`, {
    method,
    headers: {
      ...(key ? { 'X-API-KEY': key } : {}),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = /json/.test(response.headers.get('Content-Type') ?? '') && text !== '';
  return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : null };
}

type AnswerValidator = (method: string, path: string, answer: ApiAnswer) => void;

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { responses: Record<string, unknown> }>>>>;
  readonly components: {
    readonly responses: Readonly<Record<string, { content: Record<string, { schema: object }> }>>;
  };
}

/** By document, because compiling its schemas takes a second. */
const validators = new Map<string, AnswerValidator>();

/** The validator for the document that this API publishes. */
export async function answerValidator(baseUrl: string): Promise<AnswerValidator> {
  const text = (await (await fetch(`${baseUrl}/openapi.json`)).text()).replaceAll(baseUrl, '');
  const validate = validators.get(text) ?? createValidator(closed(JSON.parse(text)) as OpenApi);
  validators.set(text, validate);
  return validate;
}

function createValidator(document: OpenApi): AnswerValidator {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addFormat('iri-reference', /^[^\s<>"{}|\\^`]*$/);
  ajv.addSchema(document, 'openapi');
  const templates = Object.keys(document.paths).map((path) => ({
    path,
    pattern: new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`),
  }));
  const checks = new Map<string, ValidateFunction>();
  return (method, path, answer) => {
    const pathname = path.split('?')[0] as string;
    const matching = templates.filter(({ pattern }) => pattern.test(pathname)).map((template) => template.path);
    const template = matching.find((one) => !one.includes('{')) ?? matching[0];
    const operation = template === undefined ? undefined : document.paths[template]?.[method.toLowerCase()];
    const what = `${method} ${path} ${answer.status}`;
    const schema = schemaOf(document, operation?.responses, answer, what);
    if (schema === null) return;
    const text = relocated(schema);
    const check = checks.get(text) ?? ajv.compile(JSON.parse(text));
    checks.set(text, check);
    assert.ok(
      check(inOneShape(answer.body)),
      `${what}: ${ajv.errorsText(check.errors)}\n${answer.text.slice(0, 1_000)}`,
    );
  };
}

/** Null if there is no body to check. */
function schemaOf(
  document: OpenApi,
  responses: Readonly<Record<string, unknown>> | undefined,
  { status, headers, text }: ApiAnswer,
  what: string,
): object | null {
  if (text === '' || status === 304) return null;
  const type = (headers.get('Content-Type') ?? '').split(';')[0] as string;
  if (responses === undefined || status === 405) {
    if (status < 400) return null;
    assert.equal(type, 'application/problem+json', what);
    return { $ref: '#/components/schemas/Problem' };
  }
  const response = responses[status] as { $ref?: string; content?: Record<string, { schema: object }> } | undefined;
  assert.ok(response, `${what} is not in the OpenAPI document`);
  const name = response.$ref?.split('/').at(-1);
  const content = name === undefined ? response.content : document.components.responses[name]?.content;
  assert.ok(content?.[type], `${what}: ${type} is not in the OpenAPI document`);
  return content[type].schema;
}

/** Puts single codes into lists: the API returns a code as it was sent, but the schema describes only lists. */
function inOneShape(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOneShape);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, member]): [string, unknown] => {
    const isCode =
      (/^(propertyTypes|publisherTypes)$/.test(name) && typeof member === 'number') ||
      (/^(energy|greenHouseGas)Categories$/.test(name) && typeof member === 'string');
    return [name, isCode ? [member] : inOneShape(member)];
  });
  return Object.fromEntries(members);
}

/**
 * The document leaves responses open, so that clients accept members that are added later. In the tests an undescribed
 * member is nevertheless an error, except `id` and names that begin with `@`.
 */
function closed(document: unknown): unknown {
  if (Array.isArray(document)) return document.map(closed);
  if (typeof document !== 'object' || document === null) return document;
  const members = Object.fromEntries(Object.entries(document).map(([name, value]) => [name, closed(value)]));
  const isOpen = members.type === 'object' && members.properties !== undefined && !('additionalProperties' in members);
  return isOpen ? { ...members, patternProperties: { '^(@.*|id)$': {} }, additionalProperties: false } : members;
}

function relocated(schema: object): string {
  return JSON.stringify(schema).replaceAll('"#/', '"openapi#/');
}
