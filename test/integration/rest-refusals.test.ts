/** Every refusal explains the fault: in French if the request prefers French, otherwise in English. */

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

const CLOSED = [...RING, [5, 43]];

const PAST = '2026-03-10T08:15:00Z';
/** Members sent with a valid title or in its place, the path of the violation, and, if it matters, its message. */
const MEMBERS: readonly (readonly [members: object, path: string, message?: RegExp])[] = [
  [{ title: ' ' }, 'title'],
  [{ title: '\u00ad\u200b\u3164' }, 'title', /must not be blank/],
  [{ title: undefined }, 'title'],
  [{ title: 'x'.repeat(256) }, 'title'],
  [{ title: 'a\0b' }, 'title'],
  [{ title: '\ud800' }, 'title'],
  [{ budgetMax: 'beaucoup' }, 'budgetMax'],
  [{ budgetMax: -1 }, 'budgetMax'],
  [{ budgetMax: 1.5 }, 'budgetMax'],
  [{ budgetMin: 300_000, budgetMax: 250_000 }, 'budgetMin'],
  [{ floorMin: 1, floorMax: 0 }, 'floorMin'],
  [{ includedFeatures: ['terrace', 'balcony'], excludedFeatures: ['pool', 'balcony'] }, 'excludedFeatures[1]'],
  [{ marketDifferenceMin: -90.01 }, 'marketDifferenceMin'],
  [{ marketDifferenceMax: 500.5 }, 'marketDifferenceMax'],
  [{ marketDifferenceMin: 0, marketDifferenceMax: -1 }, 'marketDifferenceMin'],
  [{ marketDifferenceMax: null, orMissing: ['marketDifference'] }, 'orMissing[0]'],
  [
    { budgetMax: 1, alternatives: [{ roomMin: 1, orMissing: ['budget'] }] },
    ...(['alternatives[0].orMissing[0]', /^is a criterion that is not set here$/] as const),
  ],
  [{ includedPublishers: Array.from({ length: 51 }, (_, i) => `Agence ${i}`) }, 'includedPublishers'],
  [{ excludedPublishers: ['a', 'b'.repeat(201)] }, 'excludedPublishers[1]'],
  [{ excludedPublishers: ['a', '…'] }, 'excludedPublishers[1]'],
  [{ lat: '91' }, 'lat'],
  [{ lon: '-181' }, 'lon'],
  [{ lat: '43' }, 'lon'],
  [{ radius: 5 }, 'lat'],
  [{ lat: 1, lon: 1 }, 'radius'],
  [{ lat: 1, lon: 1, radius: 0 }, 'radius'],
  [{ radius: '501' }, 'radius'],
  [{ lat: 1, lon: 1, radius: '1e100' }, 'radius'],
  // PostgreSQL would store this value as 0.
  [{ lat: 1, lon: 1, radius: '1e-25' }, 'radius'],
  [{ includedZipcodes: ['8300'] }, 'includedZipcodes[0]'],
  [{ includedZipcodes: ['83000', '00000', '75116', '69009'] }, 'includedZipcodes[1]'],
  [{ includedInseeCodes: ['Toulon'] }, 'includedInseeCodes[0]'],
  [{ includedCities: ['/cities/999999999'] }, 'includedCities[0]'],
  ...[
    ...['', 'jo', 'jo@', '@example.org', 'a@example.org,b@example.org', 'a@example.org b@example.org'],
    ...['jo@example.org\nBcc: x@example.org', 'jo@example.org\r', 'Jo <jo@example.org>', '"a\r\nb"@example.org'],
    ...['jo@example.org>', 'jo@[127.0.0.1]', 'jo\0@example.org', ['jo@example.org'], 1],
  ].map((notificationRecipient) => [{ notificationRecipient }, 'notificationRecipient'] as const),
  [{ notificationReplyTo: 'a@example.com\r\nBcc: b@example.com' }, 'notificationReplyTo'],
  [{ publicTitle: ' ' }, 'publicTitle'],
  [{ publicTitle: 'x'.repeat(121) }, 'publicTitle'],
  [{ notificationFrequency: 'hourly' }, 'notificationFrequency'],
  [{ endpointRecipient: `https://client.example/${'x'.repeat(2_048)}` }, 'endpointRecipient'],
  [{ endpointRecipient: 'ftp://client.example/' }, 'endpointRecipient'],
  [{ endpointRecipient: '/hook' }, 'endpointRecipient'],
  [{ endpointRecipient: 'https://client.example/\n' }, 'endpointRecipient'],
  [{ endpointRecipient: 'https://me:secret@client.example/' }, 'endpointRecipient'],
  [{ endpointRecipient: 'https://client.example:22/' }, 'endpointRecipient'],
  [{ eventEndpoint: 'https://mail.example.com:25/' }, 'eventEndpoint'],
  // A private address in another notation, and a name that only private networks resolve.
  [{ endpointRecipient: 'https://2130706433/' }, 'endpointRecipient'],
  [{ eventEndpoint: 'https://printer.LOCAL./' }, 'eventEndpoint'],
  [{ context: `${'é'.repeat(1_023)}a` }, 'context'],
  [{ expressions: [{ word: '!' }] }, 'expressions[0].word', /a letter or a digit/],
  [{ expressions: [{ word: 'x'.repeat(201) }] }, 'expressions[0].word'],
  [{ expressions: [{ word: 'a\ud800' }] }, 'expressions[0].word', /surrogate/],
  [{ expressions: Array.from({ length: 51 }, () => ({ word: 'vue' })) }, 'expressions'],
  [{ expressions: [{ word: 'viager', include: false }] }, 'expressions[0].include', /nearest one is includes/],
  [{ expressions: 'expressions[0][0][words]=viager' }, 'expressions[0][0].words', /nearest one is word/],
  [{ expressions: [[{ word: 'x', options: { stric: 1 } }]] }, 'expressions[0][0].options.stric', /is strict/],
  [{ expressions: 'expressions[__proto__][0][word]=x' }, 'expressions', /must be expressions/],
  [{ expressions: `expressions[0][0][word]=x${'&'.repeat(700)}` }, 'expressions', /at most 50 groups/],
  [{ expressions: JSON.parse('['.repeat(50) + ']'.repeat(50)) }, 'expressions[0][0]'],
  ...[
    ...['Toulon', ['Toulon'], [[...RING, [5, 44]]], { type: 'Point', coordinates: [5.9, 43.1] }],
    ...[[CLOSED.map((position) => position.map(String))], [CLOSED.map(([lon, lat = 0]) => [lon, lat + 50])]],
    ...[[CLOSED.map((position) => [...position, 3, 4])]],
  ].map((geoShapes) => [{ geoShapes }, 'geoShapes'] as const),
  [{ budget: 5 }, 'budget'],
  [{ eventThresholds: { price: { percnt: 5 } } }, 'eventThresholds.price.percnt', /nearest one is percent$/],
  [{ notificationConsent: { sorce: 'form' } }, 'notificationConsent.sorce', /nearest one is source$/],
  [{ notificationConsent: 'yes' }, 'notificationConsent'],
  [{ notificationConsent: {} }, 'notificationConsent.source'],
  [{ notificationConsent: { source: 'form' } }, 'notificationConsent.at'],
  ...['', 'x'.repeat(201), '\0'].map(
    (source) => [{ notificationConsent: { source, at: PAST } }, 'notificationConsent.source'] as const,
  ),
  ...['2026-03-10', '2026-03-10T08:15:00', new Date(Date.now() + 3_600_000).toISOString()].map(
    (at) => [{ notificationConsent: { source: 'form', at } }, 'notificationConsent.at'] as const,
  ),
  [{ notificationConsent: { source: 'form', at: PAST, by: 'x' } }, 'notificationConsent.by'],
  [JSON.parse('{"constructor": 1}'), 'constructor'],
];

const SEARCH = '/searches/018f0000-0000-7000-8000-000000000000';
const REQUESTS: readonly (readonly [method: string, path: string, body?: unknown, fault?: string, message?: RegExp])[] =
  [
    ['GET', SEARCH],
    ['GET', '/nowhere'],
    ['DELETE', '/searches'],
    ['GET', '/searches?page=0'],
    ['GET', '/searches?pages=1'],
    ['GET', '/searches?notificationEnabled=perhaps'],
    ['GET', '/deliveries?status=lost'],
    ['GET', '/explanations'],
    ['GET', `/explanations?property=${SEARCH.slice(10)}`],
    ['GET', '/feed?after=yesterday'],
    ['GET', '/webhook-tester?endpoint=https://10.0.0.1/&eventType=ad.update.price'],
    ['GET', '/webhook-tester?endpoint=https://h.example.com&eventType=ad.update.price&type=ad.update.surface'],
    ...['yesterday', '2026-13-01', '0000-01-01', '2026-01-01T10:00', '2026-02-30', '2026-04-31T10:00Z'].map(
      (at) => ['GET', `/deliveries?createdAt[after]=${at}`] as const,
    ),
    ['POST', '/recoveries', { since: 'yesterday' }],
    ['POST', '/recoveries', { since: '2001-01-01T00:00:00Z' }],
    ['POST', '/webhook-secrets', { overlapHours: 721 }],
    ['POST', '/searches', []],
    ...MEMBERS.map(([members, ...expected]) => ['POST', '/searches', { title: 'x', ...members }, ...expected] as const),
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
    it(`explains the fault in both languages: ${JSON.stringify(request).slice(0, 90)}`, async () => {
      const [, , , fault, message] = request;
      const english = await refusedIn(null, request);
      assert.equal(english.said, 'en');
      const violation = english.body.violations?.find(({ propertyPath }) => propertyPath === fault);
      assert.equal(violation?.propertyPath, fault);
      if (message !== undefined) assert.match(violation?.message ?? '', message);
      for (const language of ['en', 'de-DE, de;q=0.9, *;q=0.1', 'en-GB, fr;q=0.5']) {
        const { said, body } = await refusedIn(language, request);
        assert.deepEqual([said, body.detail, body.violations], ['en', english.body.detail, english.body.violations]);
      }
      const french = await refusedIn('fr-FR, fr;q=0.9, en;q=0.8', request);
      assert.equal(french.said, 'fr');
      const [said, known] = [french.body, english.body];
      const place = ({ propertyPath, code }: NonNullable<Refused['violations']>[number]) => [propertyPath, code];
      assert.deepEqual(said.violations?.map(place), known.violations?.map(place));
      for (const [at, one] of (said.violations ?? []).entries()) {
        assert.notEqual(one.message, known.violations?.[at]?.message);
        assert.doesNotMatch(one.message, ENGLISH);
      }
      assert.notEqual(said.detail, known.detail);
      assert.doesNotMatch(said.detail, /undefined|NaN|\[object/);
      if (said.violations === undefined) assert.doesNotMatch(said.detail, ENGLISH);
    });
  }

  it('writes numbers in the French format', async () => {
    const { body } = await refusedIn('fr', ['POST', '/searches', { title: 'x', budgetMin: 3e5, budgetMax: 250_000 }]);
    const expected = `ne doit pas dépasser le maximum, qui est de ${(250_000).toLocaleString('fr')}`;
    assert.equal(body.violations?.[0]?.message, expected);
  });

  it('writes years without separators', async () => {
    const years = { title: 'x', constructionYearMin: 2020, constructionYearMax: 1990 };
    for (const language of ['en', 'fr']) {
      const { body } = await refusedIn(language, ['POST', '/searches', years]);
      assert.match(body.violations?.[0]?.message ?? '', / 1990$/);
    }
  });
});
