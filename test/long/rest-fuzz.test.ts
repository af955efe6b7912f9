/**
 * Seeded hostile requests: the API answers none with 500 or above, uses its own error documents, and keeps answering.
 * `FUZZ_SEED` and `FUZZ_REQUESTS` repeat or extend a run.
 */

import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { after, describe, it } from 'node:test';
import { createRandom } from '../../bench/adverts/seeded-random.ts';
import { NO_POINTS } from '../../src/engine/matching/points/poi-index.ts';
import { READ_ONLY_MEMBERS } from '../../src/rest/member-rules.ts';
import { SEARCH_MEMBERS } from '../../src/rest/search-schema.ts';
import { startTestApi } from '../support/api.ts';
import { assertNone } from '../support/lists.ts';

const SEED = Number(process.env.FUZZ_SEED ?? 4);
const REQUESTS = Number(process.env.FUZZ_REQUESTS ?? 20_000);
const RAW_REQUESTS = 1_000;
const PARALLEL = 16;

const api = await startTestApi(
  { after },
  {
    pointsOfInterest: () => NO_POINTS,
    deliverOnce: async ({ startedAt }) => {
      return { startedAt, durationMs: 1, statusCode: null, error: 'blocked', reason: 'test', responseHead: null };
    },
  },
);
const { body: search } = await api.call('POST', '/searches', { title: 'Cible' });
const random = createRandom(SEED);
const { pick } = random;
const chance = (share: number) => random.uniform() < share;
const upTo = (max: number) => Math.floor(random.uniform() * max);
const repeat = (text: string, max: number) => text.repeat(upTo(max) + 1);

const NAMES = [
  ...['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf'],
  ...['', '@id', '@type', 'a.b', 'a[b]'],
];
const TEXTS = [
  ...['', ' ', '\0', '\ud800', '\udfff', '\u202e', '\u0301', '\uffff', '\r\n', '\t'],
  ...['🏠', 'é', 'ﬁ', 'İ', 'ß', "'", '"', '\\', '`'],
  ...["' or 1=1--", '%', '%%', '_', '%00', '%ff', '../../etc/passwd', '<script>', '{{7*7}}', '${7*7}'],
  ...['null', 'undefined', 'NaN', 'Infinity', 'true', '[]', '{}', '2026-02-30'],
  ...['-0', '1e400', '0x10', '9'.repeat(400), '1e-400'],
  ...['expressions[0][0][word]=x', 'expressions[0][0][word]=%ED%A0%80'],
  ...['expressions[__proto__][0][word]=x', `expressions${'[0]'.repeat(60)}=x`],
  ...['http://127.0.0.1/', 'https://[::1]/', 'https://a@b/', 'javascript:alert(1)'],
  ...['https://é.example/', 'https://%00/', 'https://'],
  ...['/cities/83137', '/cities/99999999999', '/departments/83', '/site_categories/1', 'cities/', '/cities/1?x'],
];
const NUMBERS = [0, -0, -1, 1, 0.1, 2 ** 31, 2 ** 53, -(2 ** 63), 1e308, 1e-308, 250_000];

function hostileText(): string {
  if (chance(0.1)) return repeat(pick(TEXTS) || 'x', 2_000);
  return chance(0.2) ? pick(TEXTS) + pick(TEXTS) : pick(TEXTS);
}

function hostileValue(depth = 0): unknown {
  const kind = upTo(depth > 3 ? 5 : 9);
  if (kind === 0) return null;
  if (kind === 1) return chance(0.5);
  if (kind === 2) return pick(NUMBERS);
  if (kind < 5) return hostileText();
  if (kind === 5) return nested(upTo(3_000));
  if (kind === 6) return Array.from({ length: upTo(6) }, () => hostileValue(depth + 1));
  if (kind === 7) return Array.from({ length: upTo(3_000) }, () => pick(NUMBERS));
  return Object.fromEntries(
    Array.from({ length: upTo(6) }, () => [pick(NAMES) || hostileText(), hostileValue(depth + 1)]),
  );
}

/** At most 1,500 levels: with a few thousand, JSON.stringify would exhaust the stack. */
function nested(depth: number): unknown {
  let value: unknown = pick(NUMBERS);
  for (let level = 0; level < Math.min(depth, 1_500); level++) value = chance(0.5) ? [value] : { word: value };
  return value;
}

const MEMBERS = [...Object.keys(SEARCH_MEMBERS), ...READ_ONLY_MEMBERS, ...NAMES];

function hostileBody(): Buffer {
  const kind = upTo(50);
  if (kind === 0) return Buffer.from(Array.from({ length: upTo(200) }, () => upTo(256)));
  if (kind === 1) return Buffer.from('['.repeat(upTo(200_000)));
  if (kind === 2) return Buffer.from(`{"title":"x","__proto__":${JSON.stringify(hostileValue())}}`);
  if (kind === 3) return Buffer.from(JSON.stringify(hostileValue()) ?? '');
  if (kind === 4) return Buffer.from(`{"title":"${'x'.repeat(upTo(1_200_000))}"}`);
  const entries = Array.from({ length: upTo(3) + 1 }, () => [pick(MEMBERS), hostileValue()]);
  const body = JSON.stringify(Object.fromEntries([['title', 'x'], ...entries]));
  return chance(0.1)
    ? Buffer.from(body, 'utf16le')
    : Buffer.from(chance(0.1) ? body.slice(0, upTo(body.length)) : body);
}

const { paths: described } = (await api.call('GET', '/openapi.json')).body;
const PATHS = [
  ...['/', '/docs', '/docs.jsonld', '/openapi.json', '/contexts/', '/docs/x'],
  ...Object.keys(described).map((path) => path.replace(/\{\w+\}/, search['@id'].slice('/searches/'.length))),
];
const named = Object.values<Record<string, { parameters: { in: string; name: string }[] }>>(described)
  .flatMap((methods) => Object.values(methods).flatMap(({ parameters }) => parameters))
  .filter((parameter) => parameter.in === 'query')
  .map(({ name }) => name);
const PARAMETERS = [...new Set(named), ...['order', 'order[]', 'facilities[0]'], ...NAMES];

/** Percent-encodes the text, sometimes wrongly, so that Node's client sends it. */
function encoded(text: string): string {
  const bytes = [...Buffer.from(text)].map((byte) => {
    return /[\w\-.~!*'()@:/?[\]]/.test(String.fromCharCode(byte))
      ? String.fromCharCode(byte)
      : `%${byte.toString(16).padStart(2, '0')}`;
  });
  return chance(0.1) ? `${bytes.join('')}%${pick(['', 'g', 'E0%A4%A', 'ff'])}` : bytes.join('');
}

function hostilePath(): string {
  let path = pick(PATHS);
  if (chance(0.3)) path += `${path.endsWith('/') ? '' : '/'}${encoded(hostileText())}`;
  if (chance(0.6)) {
    const parameters = Array.from(
      { length: upTo(4) + 1 },
      () => `${encoded(pick(PARAMETERS))}=${encoded(hostileText())}`,
    );
    path += `?${parameters.join('&')}`;
  }
  if (chance(0.02)) path += `?${encoded(`title${'[a]'.repeat(upTo(2_000))}`)}=x`;
  return path.slice(0, 12_000);
}

const TYPES = [
  ...['application/json', 'application/ld+json', 'application/merge-patch+json', 'text/plain'],
  ...['application/json; charset=utf-7', 'x', ';', 'application/json;;'],
];
const ACCEPTS = [
  ...['*/*', 'application/json', 'application/ld+json;profile="a,b;c"', 'text/html', 'application/*;q=0'],
  ...[';', ',,,', 'a/b;q=x', '"'],
];

function hostileHeaders(): Record<string, string> {
  const headers: Record<string, string> = { 'X-API-KEY': chance(0.97) ? api.key : pick(['', 'x', `${api.key}x`, 'é']) };
  if (chance(0.9)) headers['Content-Type'] = chance(0.8) ? 'application/json' : pick(TYPES);
  if (chance(0.2)) headers.Accept = pick(ACCEPTS);
  if (chance(0.05)) headers['Content-Encoding'] = pick(['gzip', 'br', 'deflate', 'zstd', 'identity', 'x, y']);
  if (chance(0.1)) headers['Accept-Encoding'] = pick(['gzip', 'br', 'zstd', '*', 'identity;q=0', ';q=', 'x']);
  if (chance(0.1)) headers['If-None-Match'] = pick(['*', '"x"', 'W/', ',', '"']);
  if (chance(0.05)) headers.Host = pick(['', 'a b', '<x>', 'é', '[::1', 'a:99999999', '"']);
  if (chance(0.05)) headers['X-Request-Id'] = pick(['é', 'x'.repeat(5_000), '<>', '{"a":1}']);
  if (chance(0.05)) headers.Origin = pick(['null', 'é', 'https://a']);
  return headers;
}

const RARE_METHODS = ['DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND', 'POST'];

const agent = new Agent({ keepAlive: true, maxSockets: PARALLEL });
after(() => agent.destroy());

function send(
  method: string,
  path: string,
  headers: Record<string, string>,
  body: Buffer | null,
): Promise<[number, string]> {
  return new Promise((resolve, reject) => {
    const outgoing = request(`${api.baseUrl}/`, { method, path, headers, agent, timeout: 30_000 }, (response) => {
      response.resume();
      response.on('end', () => resolve([response.statusCode ?? 0, response.headers['content-type'] ?? '']));
      response.on('error', reject);
    });
    outgoing.on('timeout', () => outgoing.destroy(new Error('no answer within 30 s')));
    // The server may answer 413 and close before it has read everything.
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      if (['EPIPE', 'ECONNRESET'].includes(error.code ?? '')) resolve([0, '']);
      else reject(error);
    });
    outgoing.end(body ?? undefined);
  });
}

describe('hostile requests', () => {
  it(`are all answered below 500, ${REQUESTS} of them (seed ${SEED})`, { timeout: 600_000 }, async (t) => {
    const rejections: unknown[] = [];
    const onRejection = (reason: unknown) => rejections.push(reason);
    process.on('unhandledRejection', onRejection);
    const statuses = new Map<number, number>();
    let left = REQUESTS;
    const worker = async (): Promise<void> => {
      while (left-- > 0) {
        const method = chance(0.05) ? pick(RARE_METHODS) : pick(['GET', 'POST', 'PUT', 'PATCH']);
        const isWrite = ['POST', 'PUT', 'PATCH'].includes(method);
        const path = isWrite && chance(0.97) ? (method === 'POST' ? '/searches' : search['@id']) : hostilePath();
        // The search must not be deleted, because later requests use it.
        if (method === 'DELETE' && path.startsWith(search['@id'])) continue;
        const headers = hostileHeaders();
        const body = isWrite ? hostileBody() : null;
        const [status, type] = await send(method, path, headers, body);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        const what = `${method} ${path.slice(0, 300)} ${JSON.stringify(headers).slice(0, 500)} ${body?.toString().slice(0, 500)}`;
        assert.ok(status < 500, `${status} to ${what}`);
        // Node answers 431 and some 400s itself: the request never reached the service.
        if (status >= 401 && status !== 431) assert.equal(type, 'application/problem+json', what);
      }
    };
    await Promise.all(Array.from({ length: PARALLEL }, worker));
    process.off('unhandledRejection', onRejection);
    assert.deepEqual(rejections, []);
    assertNone(api.logged.filter(({ message }) => message === 'A request failed.').map(({ fields }) => fields.err));
    t.diagnostic(`statuses: ${JSON.stringify(Object.fromEntries([...statuses].sort()))}`);
    assert.equal((await api.call('GET', search['@id'])).status, 200);
  });

  it(`that are not HTTP leave the process running (${RAW_REQUESTS})`, { timeout: 120_000 }, async () => {
    const { hostname, port } = new URL(api.baseUrl);
    const lines = [
      'GET / HTTP/1.1',
      'GET  / HTTP/9.9',
      'POST /searches HTTP/1.1\r\nContent-Length: 5',
      'X',
      '\0\0\0',
      'GET /\u00ff HTTP/1.1',
      'POST /searches HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz',
    ];
    const one = (): Promise<void> =>
      new Promise((resolve) => {
        const socket = connect(Number(port), hostname);
        socket.on('error', () => resolve());
        socket.on('close', () => resolve());
        socket.resume();
        const key = chance(0.5) ? `\r\nX-API-KEY: ${api.key}` : '';
        socket.write(
          `${pick(lines)}\r\nHost: x${key}\r\nContent-Type: application/json\r\n\r\n${hostileText()}`,
          () => {
            if (chance(0.5)) socket.destroy();
            else socket.end();
          },
        );
      });
    for (let sent = 0; sent < RAW_REQUESTS; sent += PARALLEL) await Promise.all(Array.from({ length: PARALLEL }, one));
    assert.equal((await api.call('GET', search['@id'])).status, 200);
  });
});
