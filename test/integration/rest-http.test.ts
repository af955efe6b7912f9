/** HTTP as clients and proxies use it: media types, methods, conditions, encodings. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { BlockList, connect } from 'node:net';
import { after, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { startTestApi } from '../support/api.ts';
import { until } from '../support/until.ts';

const api = await startTestApi({ after });
const search = (
  await api.call('POST', '/searches', { title: 'Recherche secrète', endpointRecipient: 'https://h.example.com' })
).body;
const iri = String(search['@id']);

/** Sends a request over a socket, with its body as it is; resolves with the whole answer. */
async function rawRequest(head: string, body: Buffer | string = ''): Promise<string> {
  const { hostname, port } = new URL(api.baseUrl);
  const socket = connect(Number(port), hostname);
  socket.write(`${head}\r\nHost: test\r\nX-API-KEY: ${api.key}\r\nConnection: close\r\n\r\n`);
  socket.write(body);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  await once(socket, 'close');
  return Buffer.concat(chunks).toString('latin1');
}

describe('media types', () => {
  for (const [accept, expected] of [
    ['', 'application/json'],
    ['*/*', 'application/json'],
    ['application/*', 'application/json'],
    ['application/json', 'application/json'],
    ['application/ld+json, */*;q=0.1', 'application/ld+json'],
    ['application/ld+json;profile="http://www.w3.org/ns/json-ld#expanded"', 'application/ld+json'],
    ['application/json; charset=utf-8', 'application/json'],
    ['application/ld+json; q=0.1, application/json', 'application/json'],
    ['application/ld+json; profile="a,b;q=0"; q=0.2, application/json;q=0.1', 'application/ld+json'],
    ['application/ld+json; Q=0, */*; q=0.1', 'application/json'],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'application/json'],
  ] as const) {
    it(`Accept: ${accept || '(none)'} gets ${expected}, the same body`, async () => {
      const { status, headers, body } = await api.call('GET', iri, undefined, { headers: { Accept: accept } });
      assert.equal(status, 200);
      assert.equal(headers.get('Content-Type'), expected);
      assert.deepEqual(body, search);
    });
  }

  for (const accept of ['text/html', 'application/xml', 'application/ld+json;q=0, application/json;q=0']) {
    it(`Accept: ${accept} is a 406`, async () => {
      assert.equal((await api.call('GET', iri, undefined, { headers: { Accept: accept } })).status, 406);
    });
  }

  const bodies: readonly [string, string, string | undefined, number][] = [
    ['no body', 'application/json', undefined, 400],
    ['an empty body', 'application/json', '', 400],
    ['broken JSON', 'application/json', '{"title": ', 400],
    ['a merge patch instead of a new search', 'application/merge-patch+json', '{"title": "x"}', 415],
    ['text', 'text/plain', 'title=x', 415],
    ['another JSON', 'application/vnd.api+json', '{"title": "x"}', 415],
    ['another charset', 'application/json; charset=utf-16', '{"title": "x"}', 415],
    ['an array', 'application/json', '[]', 422],
    ['null', 'application/json', 'null', 422],
  ];
  for (const [what, type, body, expected] of bodies) {
    it(`a request with ${what} is a ${expected}`, async () => {
      const { status, headers } = await api.call('POST', '/searches', body, { headers: { 'Content-Type': type } });
      assert.equal(status, expected);
      assert.equal(headers.get('Content-Type'), 'application/problem+json');
    });
  }

  it('bodies may be compressed; one that is not, despite its header, is a 400', async () => {
    const zipped = gzipSync('{"title": "zip"}');
    const head = (length: number, encoding: string) =>
      `POST /searches HTTP/1.1\r\nContent-Type: application/json\r\nContent-Encoding: ${encoding}\r\nContent-Length: ${length}`;
    assert.match(await rawRequest(head(zipped.length, 'gzip'), zipped), /^HTTP\/1.1 201 /);
    assert.match(await rawRequest(head(16, 'gzip'), '{"title": "zip"}'), /^HTTP\/1.1 400 /);
    assert.match(await rawRequest(head(16, 'lzma'), '{"title": "zip"}'), /^HTTP\/1.1 415 /);
  });
});

describe('changes on condition', () => {
  it('are applied only to the version of the search that the client has read', async () => {
    const created = await api.call('POST', '/searches', { title: 'Sous condition' });
    const path = created.headers.get('Location') as string;
    const read = await api.call('GET', path, undefined, { headers: { 'Accept-Encoding': 'gzip' } });
    const etag = read.headers.get('ETag') as string;
    assert.equal(created.headers.get('ETag'), etag);
    const change = (method: string, condition: Record<string, string>) =>
      api.call(method, path, method === 'DELETE' ? undefined : { budgetMax: 1 }, { headers: condition });

    const patched = await change('PATCH', { 'If-Match': `"other", ${etag}` });
    assert.equal(patched.status, 200);
    const next = patched.headers.get('ETag') as string;
    assert.notEqual(next, etag);
    for (const method of ['PUT', 'PATCH', 'DELETE']) {
      const refused = await change(method, { 'If-Match': etag });
      assert.equal(refused.status, 412, method);
      assert.match(refused.body.detail, /Read it again/);
    }
    assert.equal((await change('PUT', { 'If-Match': `W/${next}` })).status, 412, 'a weak tag is not enough');
    assert.equal((await change('PUT', { 'If-None-Match': '*' })).status, 412);
    assert.equal((await api.call('GET', path)).headers.get('ETag'), next);

    const put = await change('PUT', { 'If-Match': '*' });
    assert.equal(put.status, 200);
    const { headers } = await api.call('GET', path);
    assert.equal(put.headers.get('ETag'), headers.get('ETag'), 'the search can be changed again with it');
    assert.equal((await change('DELETE', { 'If-Match': headers.get('ETag') as string })).status, 204);
    assert.equal((await change('DELETE', { 'If-Match': '*' })).status, 404);
  });

  it('let one of several writers that read the same version succeed', async () => {
    const created = await api.call('POST', '/searches', { title: 'Course' });
    const path = created.headers.get('Location') as string;
    const headers = { 'If-Match': created.headers.get('ETag') as string };
    const writes = Array.from({ length: 8 }, (_, i) => api.call('PATCH', path, { budgetMax: i + 1 }, { headers }));
    const statuses = (await Promise.all(writes)).map(({ status }) => status);
    assert.deepEqual(statuses.toSorted(), [200, ...Array.from({ length: 7 }, () => 412)]);
  });
});

describe('answers', () => {
  it('have an ETag per content coding, and each of them is recognised', async () => {
    const tagIn = async (coding: string) => {
      const { headers } = await api.call('GET', '/cities', undefined, { headers: { 'Accept-Encoding': coding } });
      return headers.get('ETag') as string;
    };
    const [plain, gzip, br] = [await tagIn('identity'), await tagIn('gzip'), await tagIn('br')];
    assert.deepEqual([gzip, br], [plain.replace(/"$/, '+gzip"'), plain.replace(/"$/, '+br"')]);
    for (const known of [plain, gzip, br, `W/${gzip}`, `"other", ${br}`]) {
      const again = await api.call('GET', '/cities', undefined, { headers: { 'If-None-Match': known } });
      assert.equal(again.status, 304, known);
      assert.equal(again.headers.get('ETag'), known.split(', ').at(-1));
    }
  });

  it('to HEAD equal those to GET without the body', async () => {
    const options = { headers: { 'Accept-Encoding': 'identity' } };
    const get = await api.call('GET', iri, undefined, options);
    const head = await api.call('HEAD', iri, undefined, options);
    assert.equal(head.status, 200);
    assert.equal(head.text, '');
    for (const name of ['Content-Length', 'ETag', 'Content-Type'])
      assert.equal(head.headers.get(name), get.headers.get(name));
  });

  it('have a link to the documentation, a request id and security headers, even for errors', async () => {
    for (const path of [iri, '/nowhere', '/', '/docs', '/searches?foo=1']) {
      const { headers } = await api.call('GET', path, undefined, { headers: { 'X-Request-Id': 'abc-1' } });
      const link = `<${api.baseUrl}/docs.jsonld>; rel="http://www.w3.org/ns/hydra/core#apiDocumentation"`;
      assert.equal(headers.get('Link'), link, path);
      assert.equal(headers.get('X-Request-Id'), 'abc-1', path);
      assert.equal(headers.get('X-Content-Type-Options'), 'nosniff', path);
      assert.equal(headers.get('Cache-Control'), 'private, no-cache', path);
      assert.match(headers.get('Content-Security-Policy') ?? '', /default-src 'none'/, path);
      assert.equal(headers.get('X-Powered-By'), null, path);
    }
    const { headers } = await api.call('GET', iri, undefined, { headers: { 'X-Request-Id': 'a b\tc' } });
    assert.match(headers.get('X-Request-Id') ?? '', /^[0-9a-f-]{36}$/);
  });

  it('link to the configured public URL when there is one', async () => {
    const published = await startTestApi({ after }, { settings: { publicUrl: 'https://api.example.com/' } });
    const { headers } = await published.call('GET', '/');
    assert.match(headers.get('Link') ?? '', /^<https:\/\/api\.example\.com\/docs\.jsonld>/);
  });

  it('link to the public URL that a proxy reports, if the configuration names the proxy', async () => {
    const headers = { 'X-Forwarded-Proto': 'https, http', 'X-Forwarded-Host': 'vigie.example' };
    const linkOf = async (from: typeof api, sent: Record<string, string>) =>
      (await from.call('GET', '/', undefined, { headers: sent })).headers.get('Link') ?? '';
    const proxies = new BlockList();
    proxies.addAddress('127.0.0.1');
    const behind = await startTestApi({ after }, { settings: { proxies } });
    assert.match(await linkOf(behind, headers), /^<https:\/\/vigie\.example\/docs\.jsonld>/);
    assert.match(await linkOf(behind, {}), /^<http:\/\/127/);
    for (const wrong of [{ 'X-Forwarded-Host': 'a"><b' }, { 'X-Forwarded-Proto': 'javascript' }])
      assert.match(await linkOf(behind, wrong), /^<(?:http:\/\/127[^<]*)?\/docs\.jsonld>/);
    assert.match(await linkOf(api, headers), /^<http:\/\/127/);
  });

  it('link to the next page of every collection', async () => {
    for (const path of ['/cities', '/departments', '/searches']) {
      if (path === '/searches') await api.call('POST', path, { title: 'Another' });
      const { headers, body } = await api.call('GET', `${path}?itemsPerPage=1`);
      assert.ok(headers.get('Link')?.endsWith(`, <${body['hydra:view']['hydra:next']}>; rel="next"`), path);
    }
    const { headers } = await api.call('GET', '/searches');
    assert.doesNotMatch(headers.get('Link') ?? '', /next/);
  });

  it('may be read by pages of other origins', async () => {
    const Origin = 'https://app.example.com';
    const preflight = await api.call('OPTIONS', iri, undefined, {
      key: null,
      headers: { Origin, 'Access-Control-Request-Method': 'PATCH', 'Access-Control-Request-Headers': 'x-api-key' },
    });
    assert.equal(preflight.status, 204);
    assert.equal(preflight.headers.get('Access-Control-Allow-Methods'), 'HEAD,GET,PUT,PATCH,DELETE');
    assert.match(preflight.headers.get('Access-Control-Allow-Headers') ?? '', /traceparent,tracestate,X-API-KEY/);
    for (const path of [iri, '/nowhere']) {
      const { headers } = await api.call('GET', path, undefined, { headers: { Origin } });
      assert.equal(headers.get('Access-Control-Allow-Origin'), '*');
      assert.match(headers.get('Access-Control-Expose-Headers') ?? '', /Location/);
    }
  });

  it('to a wrong method are a 405 that names the right ones', async () => {
    for (const [method, path, allow] of [
      ['DELETE', '/searches', 'GET'],
      ['POST', iri, 'PATCH'],
      ['PUT', '/', 'GET'],
      ['POST', '/webhook-tester', 'GET'],
    ] as const) {
      const { status, headers } = await api.call(method, path, method === 'DELETE' ? undefined : {});
      assert.equal(status, 405, `${method} ${path}`);
      assert.ok(headers.get('Allow')?.split(', ').includes(allow));
    }
    const options = await api.call('OPTIONS', '/searches');
    assert.deepEqual([options.status, options.headers.get('Allow')], [204, 'HEAD, GET, POST, OPTIONS']);
    const preview = await api.call('OPTIONS', '/searches/preview');
    assert.equal(preview.headers.get('Allow'), 'POST, OPTIONS');
    const types = 'application/merge-patch+json, application/json, application/ld+json';
    const item = await api.call('OPTIONS', iri);
    assert.equal(item.headers.get('Accept-Patch'), types);
    const refused = await api.call('PATCH', iri, '<x/>', { headers: { 'Content-Type': 'text/xml' } });
    assert.deepEqual([refused.status, refused.headers.get('Accept-Patch')], [415, types]);
  });

  it('to malformed and unknown ids are a 404', async () => {
    const { paths } = (await api.call('GET', '/openapi.json')).body;
    const items = Object.keys(paths).filter((path) => /\/\{\w+\}$/.test(path) && paths[path].get !== undefined);
    assert.ok(items.length > 12, items.join());
    const ids = [
      ...['00000000-0000-4000-8000-000000000000', 'x', '%00', '..%2f', '%E0%A4%A', "1'--"],
      ...['999999', '0', '-1', '1e3', '99999999999999999999'],
    ];
    for (const path of items.flatMap((item) => ids.map((id) => item.replace(/\{\w+\}/, id)))) {
      assert.equal((await api.call('GET', path)).status, 404, path);
    }
  });
});

describe('the log', () => {
  it('has a line per request without key, query or contacts', async () => {
    api.logged.length = 0;
    await api.call('POST', '/searches', { title: 'x', notificationRecipient: 'jeanne@example.com' });
    await api.call('GET', `/webhook-tester?endpoint=https://h.example.com/secret-path`);
    await api.call('GET', `/${api.key}`);
    assert.equal(api.logged.length, 3);
    const text = JSON.stringify(api.logged);
    for (const secret of [api.key, api.key.slice(15), 'jeanne', 'secret-path'])
      assert.ok(!text.includes(secret), secret);
    const { fields } = api.logged[0] as (typeof api.logged)[0];
    assert.deepEqual(
      [fields.method, fields.path, fields.status, fields.clientId],
      ['POST', '/searches', 201, api.clientId],
    );
    assert.equal(fields.keyPrefix, api.key.split('_')[1]);
    // A request that takes a second on a busy machine is a warning.
    for (const {
      level,
      fields: { durationMs },
    } of api.logged) {
      assert.equal(level, Number(durationMs) < 1_000 ? 'debug' : 'warn');
    }
  });

  it('warns of a request that was slow in Vigie, but not of one that waits for new items or an endpoint', async () => {
    api.logged.length = 0;
    const client = await api.database.connect();
    await client.query('begin; lock table searches in access exclusive mode');
    const answer = api.call('GET', '/searches');
    // Another session queries, because pg_stat_activity does not change within the transaction that holds the lock.
    const waiting = `select from pg_stat_activity where wait_event_type = 'Lock'
      and backend_type = 'client backend' and datname = current_database() and query like '%from searches%'`;
    await until(
      async () => (await api.database.query(waiting)).rowCount ?? 0,
      (count) => count > 0,
    );
    const seenAt = performance.now();
    await until(
      async () => performance.now() - seenAt,
      (waitedMs) => waitedMs > 1_000,
    );
    await client.query('rollback');
    client.release();
    assert.equal((await answer).status, 200);
    assert.equal((await api.call('GET', '/feed?wait=1')).status, 200);
    const requests = api.logged.filter(({ message }) => message === 'request');
    const lineOf = (path: string) => requests.find(({ fields }) => fields.path === path);
    assert.equal(lineOf('/searches')?.level, 'warn');
    assert.equal(lineOf('/feed')?.level, 'debug');
    assert.ok(Number(lineOf('/feed')?.fields.durationMs) >= 1_000);
  });
});

describe('an internal failure', () => {
  it('is a 503 when the database is unavailable, a 500 otherwise, and reveals no internal details', async () => {
    const broken = (error: Error) => ({ query: () => Promise.reject(error), connect: () => Promise.reject(error) });
    for (const [error, expected] of [
      [Object.assign(new Error('connect ECONNREFUSED 10.0.0.1'), { code: 'ECONNREFUSED' }), 503],
      [Object.assign(new Error('terminating connection'), { code: '57P01' }), 503],
      [new Error('secret detail'), 500],
    ] as const) {
      const api503 = await startTestApi({ after }, { database: broken(error) as never });
      const { status, text } = await api503.call('GET', '/users').catch(() => ({ status: 0, text: '' }));
      assert.equal(api503.logged.find(({ fields }) => fields.path === '/users' && 'status' in fields)?.level, 'warn');
      // The contract has no status 500, so the test client rejects such an answer.
      const seen =
        status === 0 ? await fetch(`${api503.baseUrl}/users`, { headers: { 'X-API-KEY': api503.key } }) : null;
      assert.equal(seen?.status ?? status, expected);
      const body = seen === null ? text : await seen.text();
      assert.doesNotMatch(body, /10\.0\.0\.1|secret detail|terminating| at /);
    }
  });
});
