/** What is refused is said in the language that the client's user reads; programs that name none read English, as ever. */

import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { startTestApi } from '../support/api.ts';

const api = await startTestApi({ after });

const ENGLISH = /\b(?:must|have|not|is|are|the|of|and|which|was|too|you)\b/;
const RING = [
  [5, 43],
  [6, 43],
  [6, 44],
];

const MEMBERS: readonly (readonly [string, unknown])[] = [
  ['title', ' '],
  ['title', 'x'.repeat(256)],
  ['budgetMax', 'beaucoup'],
  ['budgetMax', -1],
  ['budgetMax', 1.5],
  ['budgetMax', 2 ** 40],
  ['lat', '91'],
  ['lat', 'nord'],
  ['lon', '-181'],
  ['radius', '0'],
  ['radius', '501'],
  ['includedZipcodes', ['8300']],
  ['includedZipcodes', ['00000']],
  ['includedInseeCodes', ['Toulon']],
  ['includedCities', ['/cities/999999999']],
  ['includedCities', ['somewhere']],
  ['notificationRecipient', 'nobody'],
  ['notificationFrequency', 'hourly'],
  ['endpointRecipient', `https://client.example/${'x'.repeat(2_048)}`],
  ['endpointRecipient', 'ftp://client.example/'],
  ['endpointRecipient', 'https://me:secret@client.example/'],
  ['endpointRecipient', 'https://client.example:22/'],
  ['context', 'x'.repeat(2_049)],
  ['expressions', [{ word: '!' }]],
  ['expressions', [{ word: 'x'.repeat(201) }]],
  ['expressions', Array.from({ length: 51 }, () => ({ word: 'vue' }))],
  ['geoShapes', [[...RING, [5, 44]]]],
  ['geoShapes', [[[5, 143], ...RING, [5, 143]]]],
  ['budget', 5],
];

const SEARCH = '/searches/018f0000-0000-7000-8000-000000000000';
const REQUESTS: readonly (readonly [method: string, path: string, body?: unknown])[] = [
  ['GET', SEARCH],
  ['GET', SEARCH.replace('searches', 'deliveries')],
  ['GET', '/nowhere'],
  ['DELETE', '/searches'],
  ['GET', '/searches?page=0'],
  ['GET', '/searches?pages=1'],
  ['GET', '/searches?notificationEnabled=perhaps'],
  ['GET', '/deliveries?status=lost'],
  ['GET', '/explanations'],
  ['GET', `/explanations?property=${SEARCH.slice(10)}`],
  ['GET', '/feed?after=yesterday'],
  ['POST', '/recoveries', { since: 'yesterday' }],
  ['POST', '/recoveries', { since: '2001-01-01T00:00:00Z' }],
  ['POST', '/webhook-secrets', { overlapHours: 721 }],
  ['POST', '/searches', []],
  ['POST', '/searches', { title: 'x', budgetMin: 300_000, budgetMax: 250_000 }],
  ['POST', '/searches', { title: 'x', lat: '43' }],
  ...MEMBERS.map(([name, value]) => ['POST', '/searches', { title: 'x', [name]: value }] as const),
];

interface Refused {
  readonly detail: string;
  readonly violations?: readonly { readonly propertyPath: string; readonly message: string; readonly code: string }[];
}

async function refusedIn(language: string | null, [method, path, body]: (typeof REQUESTS)[number]) {
  const headers: Record<string, string> = language === null ? {} : { 'Accept-Language': language };
  const answer = await api.call(method, path, body, { headers });
  assert.ok(answer.status >= 400 && answer.status < 500, `${method} ${path}: ${answer.status}`);
  assert.match(answer.headers.get('Vary') ?? '', /Accept-Language/);
  return { body: answer.body as unknown as Refused, said: answer.headers.get('Content-Language') };
}

describe('a refusal', () => {
  for (const request of REQUESTS) {
    it(`is told in both languages: ${JSON.stringify(request).slice(0, 90)}`, async () => {
      const english = await refusedIn(null, request);
      assert.equal(english.said, 'en');
      for (const language of ['en', 'de-DE, de;q=0.9, *;q=0.1', 'en-GB, fr;q=0.5']) {
        const { said, body } = await refusedIn(language, request);
        assert.deepEqual([said, body.detail, body.violations], ['en', english.body.detail, english.body.violations]);
      }
      const french = await refusedIn('fr-FR, fr;q=0.9, en;q=0.8', request);
      assert.equal(french.said, 'fr');
      const [said, known] = [french.body, english.body];
      const place = ({ propertyPath, code }: NonNullable<Refused['violations']>[number]) => [propertyPath, code];
      assert.deepEqual(said.violations?.map(place), known.violations?.map(place));
      for (const [at, { message }] of (said.violations ?? []).entries()) {
        assert.notEqual(message, known.violations?.[at]?.message);
        assert.doesNotMatch(message, ENGLISH);
      }
      assert.notEqual(said.detail, known.detail);
      assert.doesNotMatch(said.detail, /undefined|NaN|\[object/);
      if (said.violations === undefined) assert.doesNotMatch(said.detail, ENGLISH);
    });
  }

  it('writes numbers as in France', async () => {
    const { body } = await refusedIn('fr', ['POST', '/searches', { title: 'x', budgetMin: 3e5, budgetMax: 250_000 }]);
    const expected = `ne doit pas dépasser le maximum, qui est de ${(250_000).toLocaleString('fr')}`;
    assert.equal(body.violations?.[0]?.message, expected);
  });
});
