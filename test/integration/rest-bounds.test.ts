/** The limits of one request, and the answers to requests that exceed them or are malformed. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { BODY_BYTES_MAX } from '../../src/rest/json-body.ts';
import { VIOLATIONS_MAX } from '../../src/rest/problem.ts';
import { startTestApi } from '../support/api.ts';
import { tuplesOf } from '../support/lists.ts';
import { until, untilIs } from '../support/until.ts';

const api = await startTestApi({ after });

interface Violation {
  readonly propertyPath: string;
  readonly message: string;
  readonly code: string;
}

async function violationsOf(
  members: object | string,
): Promise<{ violations: Violation[]; count: number; text: string }> {
  const body = typeof members === 'string' ? members : { title: 'x', ...members };
  const { status, body: problem, text } = await api.call('POST', '/searches', body);
  assert.equal(status, 422, text.slice(0, 500));
  return { violations: problem.violations, count: problem.violationCount, text };
}

async function created(members: object): Promise<Record<string, unknown>> {
  const { status, body, text } = await api.call('POST', '/searches', { title: 'x', ...members });
  assert.equal(status, 201, text);
  return body;
}

const repeated = (item: unknown, count: number) => Array.from({ length: count }, () => item);

describe('violations', () => {
  it('are limited to fifty, with their total; the first ten name the nearest member', async () => {
    const members = Object.fromEntries(Array.from({ length: 29_000 }, (_, i) => [`budgetMim${i}`, 0]));
    const { violations, count, text } = await violationsOf(members);
    assert.equal(count, 29_000);
    assert.equal(violations.length, VIOLATIONS_MAX);
    assert.deepEqual(
      violations.map(({ message }) => /nearest one is budgetM\w+$/.test(message)),
      Array.from({ length: VIOLATIONS_MAX }, (_, i) => i < 10),
    );
    assert.ok(text.length < 40_000, `${text.length} characters`);
    assert.match(text, /and 28950 more/);
  });

  it('cut names sent by clients at 64 characters', async () => {
    const { violations } = await violationsOf({ ['🏠'.repeat(200_000)]: 1 });
    assert.equal(violations.length, 1);
    const path = violations[0]?.propertyPath ?? '';
    assert.ok(path.length <= 64 && path.endsWith('…'), path);
    assert.equal(Buffer.from(path).toString(), path, 'no half of a surrogate pair');
  });

  it('check lengths before items', async () => {
    for (const [name, value, message] of [
      ['includedCities', repeated(0, 400_000), /at most 2000 items/],
      ['propertyTypes', repeated(0, 400_000), /must be one of/],
      ['geoShapes', repeated([], 20_000), /at most 5000 positions/],
      ['geoShapes', [repeated([0, 0], 20_000)], /at most 5000 positions/],
      ['expressions', repeated({ word: 1 }, 14_000), /at most 50 groups and 200 entries/],
      ['expressions', 'x'.repeat(65_537), /at most 65536 characters/],
      ['expressions', [Array.from({ length: 150 }, () => ({ word: 'é'.repeat(200) }))], /at most 65536 characters/],
    ] as const) {
      const { violations, count } = await violationsOf({ [name]: value });
      assert.deepEqual([count, violations[0]?.propertyPath], [1, name]);
      assert.match(violations[0]?.message ?? '', message, name);
    }
  });

  it('report more parts than a search may have, without reading them', async () => {
    for (const body of [
      { k: repeated({}, 30_000) },
      { geoShapes: repeated([], 30_000) },
      Object.fromEntries(Array.from({ length: 95_000 }, (_, i) => [`k${i}`, 0])),
    ]) {
      const { violations, count } = await violationsOf(body);
      assert.deepEqual([count, violations[0]?.code], [1, 'too_many_parts']);
    }
    for (const text of ['', '"', '\\"', '\\']) {
      const { violations } = await violationsOf({ k: text + ':[{'.repeat(20_000) });
      assert.deepEqual([violations[0]?.propertyPath], ['k'], 'brackets in a text are no parts');
      const behind = await violationsOf({ k: text, other: repeated({}, 30_000) });
      assert.equal(behind.violations[0]?.code, 'too_many_parts', 'objects after a text are parts');
    }
  });

  it('are counted for all items', async () => {
    const cities = Array.from({ length: 2_000 }, (_, i) => (i === 7 ? '/cities/83137' : 'x'));
    const { violations, count } = await violationsOf({ includedCities: cities, excludedCities: cities });
    assert.equal(count, 3_998);
    assert.equal(violations.at(-1)?.propertyPath, 'includedCities[50]');
  });

  it('name the fault of valid JSON that has __proto__', async () => {
    const { violations } = await violationsOf('{"title": "x", "__proto__": {"budgetMax": 1}}');
    assert.deepEqual(tuplesOf(violations, 'propertyPath', 'code'), [['__proto__', 'unknown_member']]);
  });
});

describe('a body', () => {
  it('may have entries without a word, which are no condition', async () => {
    assert.equal((await created({ expressions: [{}, { word: '' }, { includes: false }] })).expressions, null);
  });

  it('may name places only by IRIs of Vigie', async () => {
    const { host } = new URL(api.baseUrl);
    const cities = ['/cities/83137', 'cities/83137', `http://${host}/cities/83137`, `HTTPS://${host}/cities/83137`];
    assert.equal(((await created({ includedCities: cities })).includedCities as unknown[]).length, 4);
    for (const iri of ['https://elsewhere.example/cities/83137', `http://${host}.example/cities/83137`]) {
      const { violations } = await violationsOf({ includedCities: [iri] });
      assert.deepEqual(violations[0], {
        propertyPath: 'includedCities[0]',
        message: 'is an IRI of another service',
        code: 'invalid_format',
      });
    }
    const published = await startTestApi({ after }, { settings: { publicUrl: 'https://api.example.com/vigie/' } });
    const post = (iri: string) => published.call('POST', '/searches', { title: 'x', includedCities: [iri] });
    assert.equal((await post('https://api.example.com/vigie/cities/83137')).status, 201);
    assert.equal((await post('https://api.example.com/cities/83137')).status, 422);
    assert.equal((await post(`http://${host}/cities/83137`)).status, 422);
  });

  it('that is not UTF-8 is a 400', async () => {
    for (const bytes of [Buffer.from('{"title": "été"}', 'latin1'), Buffer.from('{"title": "x\ud800"}', 'utf16le')]) {
      const answer = await fetch(`${api.baseUrl}/searches`, {
        method: 'POST',
        headers: { 'X-API-KEY': api.key, 'Content-Type': 'application/json' },
        body: bytes,
      });
      assert.equal(answer.status, 400);
      assert.match(await answer.text(), /not UTF-8/);
    }
  });
});

describe('a member saved before a rule', () => {
  it('is accepted as long as it is sent back unchanged', async () => {
    const { '@id': iri } = await created({ title: 'ancienne', budgetMax: 5, includedCities: ['/cities/83137'] });
    const old = {
      title: 'ancienne',
      ...{ budgetMax: 5, includedCities: ['83137'], includedZipcodes: ['00000'] },
      ...{ endpointRecipient: 'https://10.0.0.1/hook', expressions: `expressions[0][0][word]=${'x'.repeat(70_000)}` },
    };
    await api.database.query('update searches set members = $2, endpoint_recipient = $3 where id = $1', [
      String(iri).split('/').at(-1),
      JSON.stringify(old),
      old.endpointRecipient,
    ]);
    const read = (await api.call('GET', String(iri))).body;
    const put = await api.call('PUT', String(iri), { ...read, budgetMax: 6 });
    assert.equal(put.status, 200, put.text);
    assert.deepEqual({ ...put.body, updatedAt: null }, { ...read, budgetMax: 6, updatedAt: null });
    for (const change of [
      { includedZipcodes: ['00000', '83000'] },
      { endpointRecipient: 'https://10.0.0.1/other' },
      { expressions: `${old.expressions}x` },
    ]) {
      assert.equal((await api.call('PATCH', String(iri), { ...change })).status, 422, Object.keys(change).join());
    }
  });
});

describe('a connection', () => {
  const post = (headers: string, key = api.key) =>
    `POST /searches HTTP/1.1\r\nHost: x\r\nX-API-KEY: ${key}\r\nContent-Type: application/json\r\n${headers}\r\n\r\n`;

  async function opened(): Promise<{ socket: Socket; received: () => string }> {
    const { hostname, port } = new URL(api.baseUrl);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.on('error', () => undefined);
    return { socket, received: () => text };
  }

  const large = Buffer.alloc(3 * BODY_BYTES_MAX, 'x');
  const zipped = gzipSync(Buffer.alloc(64 * BODY_BYTES_MAX, ' '));
  for (const [what, headers, body] of [
    ['its length', `Content-Length: ${large.length}`, large],
    [
      'its chunks',
      'Transfer-Encoding: chunked',
      Buffer.concat([Buffer.from('300000\r\n'), large, Buffer.from('\r\n0\r\n\r\n')]),
    ],
    ['its decompressed size', `Content-Encoding: gzip\r\nContent-Length: ${zipped.length}`, zipped],
  ] as const) {
    it(`serves the next request after a body that is too large by ${what}`, async () => {
      const { socket, received } = await opened();
      socket.write(post(headers));
      socket.write(body);
      socket.write(post('Content-Length: 13'));
      socket.write('{"title":"x"}');
      await until(
        async () => received(),
        (text) => text.includes('HTTP/1.1 201'),
      );
      assert.match(received(), /^HTTP\/1.1 413 /);
      socket.destroy();
    });
  }

  /** Sends request heads without bodies, waits for the first answer, and ends the other requests. */
  async function firstRefusal(heads: readonly string[]): Promise<string> {
    const all = await Promise.all(heads.map(opened));
    for (const [index, { socket }] of all.entries()) socket.write(heads[index] as string);
    const answered = () => all.filter(({ received }) => received() !== '');
    await until(
      async () => answered(),
      ([first]) => first !== undefined && first.socket.readableEnded,
    );
    const [refusal] = answered();
    assert.equal(answered().length, 1);
    for (const { socket } of all) socket.destroy();
    return refusal?.received() ?? '';
  }

  it('is refused and closed beyond 16 MiB of declared bodies a client and 64 MiB in all, and served afterwards', async () => {
    const keys = await Promise.all(Array.from('abcde', (name) => api.newClient(`slow ${name}`)));
    const [key = '', , , , fifth] = keys;
    const slow = (one: string) => [
      ...Array<string>(8).fill(post(`Content-Length: ${BODY_BYTES_MAX}`, one)),
      ...Array<string>(8).fill(post('Transfer-Encoding: chunked', one)),
    ];
    const beyond = await firstRefusal([...slow(key), post('Content-Length: 1', key)]);
    assert.match(beyond, /^HTTP\/1.1 429 [^]*Retry-After: 1\r[^]*Connection: close\r[^]*16777216 per client/);
    await untilIs(async () => (await api.call('POST', '/searches', { title: 'x' }, { key })).status, 201);
    const all = await firstRefusal([...keys.slice(0, 4).flatMap(slow), post('Content-Length: 1', fifth)]);
    assert.match(all, /^HTTP\/1.1 429 [^]*Retry-After: \d\r[^]*Connection: close\r[^]*maximum of 67108864/);
  });

  it('is answered before its body if its key is unknown, or its length exceeds 32 bits', async () => {
    for (const [head, status] of [
      [post('Content-Length: 9', 'vigie_0_unknown'), 'HTTP/1.1 401'],
      [post(`Content-Length: ${2 ** 32 + 1}`), 'HTTP/1.1 413'],
    ] as const) {
      const { socket, received } = await opened();
      socket.write(head);
      await untilIs(async () => received().slice(0, status.length), status);
      socket.destroy();
    }
  });
});

describe('a query', () => {
  it('finds titles with punctuation', async () => {
    const key = await api.newClient('punctuated');
    for (const title of ['Rendement 7 %', 'Rendement', 'T3 & jardin', "L'île d'Yeu", 'a_b', 'Été (mer)', '7 ou 8']) {
      assert.equal((await api.call('POST', '/searches', { title }, { key })).status, 201);
    }
    const found = async (title: string) => {
      const { body } = await api.call('GET', `/searches?title=${encodeURIComponent(title)}`, undefined, { key });
      assert.equal(body['hydra:totalItems'], body['hydra:member'].length);
      return body['hydra:member'].map((one: { title: string }) => one.title);
    };
    for (const [title, expected] of [
      ['%', ['Rendement 7 %']],
      ['7%', ['Rendement 7 %']],
      ['_', ['a_b']],
      ['&', ['T3 & jardin']],
      ['(MER', ['Été (mer)']],
      ['l’île', ["L'île d'Yeu"]],
      ['€', []],
      ['\\', []],
    ] as const) {
      assert.deepEqual(await found(title), expected, title);
    }
  });

  it('may have numbers in any notation', async () => {
    for (const query of ['lat=1e-7&lon=+43.7', 'lat=%2B43.7&lon=4E1', 'lat=-0.5&lon=0']) {
      assert.equal((await api.call('GET', `/indicators/points_of_interest?${query}`)).status, 200, query);
    }
  });

  it('may name a search only by an IRI of Vigie', async () => {
    const { '@id': iri } = await created({});
    assert.equal((await api.call('GET', `/matches?search=${api.baseUrl}${String(iri)}`)).status, 200);
    assert.equal((await api.call('GET', `/matches?search=https://elsewhere.example${String(iri)}`)).status, 400);
  });
});

describe('a page of large searches', () => {
  it('is answered completely, at the reader’s pace, a few at a time', async () => {
    const key = await api.newClient('collector');
    const cities = [...api.reference.cities()].slice(0, 2_000).map(({ id }) => `/cities/${id}`);
    const body = JSON.stringify({ title: 'Partout', includedCities: cities, excludedCities: cities });
    for (let i = 0; i < 8; i++) assert.equal((await api.call('POST', '/searches', body, { key })).status, 201);
    const { status, headers, body: page } = await api.call('GET', '/searches', undefined, { key });
    assert.equal(status, 200);
    assert.equal(headers.get('ETag'), null);
    assert.equal(headers.get('Content-Type'), 'application/json');
    assert.deepEqual([page['hydra:totalItems'], page['hydra:member'].length], [8, 8]);
    const [first] = page['hydra:member'];
    assert.deepEqual(first, (await api.call('GET', first['@id'], undefined, { key })).body);
    assert.equal((await api.call('HEAD', '/searches', undefined, { key })).status, 200);

    const { hostname, port } = new URL(api.baseUrl);
    const unread = Array.from({ length: 3 }, () => {
      const socket = connect(Number(port), hostname);
      let head = '';
      socket.once('data', (chunk) => {
        head = String(chunk);
        socket.pause();
      });
      socket.write(`GET /searches HTTP/1.1\r\nHost: x\r\nX-API-KEY: ${key}\r\n\r\n`);
      return { socket, head: () => head.slice(0, 12) };
    });
    const heads = await until(
      async () => unread.map(({ head }) => head()),
      (seen) => seen.every((head) => head !== ''),
    );
    assert.deepEqual(heads.toSorted(), ['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 429']);
    for (const { socket } of unread) socket.destroy();
    await untilIs(async () => (await api.call('GET', '/searches', undefined, { key })).status, 200);
  });
});
