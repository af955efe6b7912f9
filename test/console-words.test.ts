/** What the service refuses is told in French to who reads French: every sentence that a reader of the console can cause. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusalInFrench } from '../src/console/page/words/fr-refusals.ts';
import { RESEND_REFUSALS } from '../src/engine/domain/delivery.ts';
import { endpointFault } from '../src/rest/endpoint-url.ts';
import { readingOf } from '../src/rest/member-rules.ts';
import { SEARCH_MEMBERS, type SearchMemberName } from '../src/rest/search-schema.ts';
import { Violations } from '../src/rest/violations.ts';

const ENGLISH = /\b(?:must|have|not|is|are|the|of|and|which|was|too|you)\b/;

const REFUSED: readonly (readonly [SearchMemberName, unknown])[] = [
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
  ['radius', '5 km'],
  ['includedZipcodes', ['8300']],
  ['includedInseeCodes', ['Toulon']],
  ['notificationRecipient', 'nobody'],
  ['endpointRecipient', `https://client.example/${'x'.repeat(2_048)}`],
  ['context', 'x'.repeat(2_049)],
  ['expressions', [{ word: '!' }]],
  ['expressions', [{ word: 'x'.repeat(201) }]],
  ['expressions', Array.from({ length: 51 }, () => ({ word: 'vue' }))],
  [
    'geoShapes',
    [
      [
        [5, 43],
        [6, 43],
        [6, 44],
        [5, 44],
      ],
    ],
  ],
  [
    'geoShapes',
    [
      [
        [5, 143],
        [6, 43],
        [6, 44],
        [5, 143],
      ],
    ],
  ],
];

function messagesOf(name: SearchMemberName, value: unknown): readonly string[] {
  const messages: string[] = [];
  const violations = new Violations();
  violations.add = (_, message) => void messages.push(message);
  SEARCH_MEMBERS[name].read(value, readingOf(name, 'https://vigie.example', violations));
  return messages;
}

function assertFrench(message: string): void {
  const told = refusalInFrench(message);
  assert.notEqual(told, message);
  assert.doesNotMatch(told, ENGLISH, message);
  assert.doesNotMatch(told, /undefined|\$\d|NaN/, message);
}

test('what is wrong with a member of a search is told in French', () => {
  for (const [name, value] of REFUSED) {
    const messages = messagesOf(name, value);
    assert.notEqual(messages.length, 0, `${name} takes ${JSON.stringify(value)?.slice(0, 60)}`);
    for (const message of messages) assertFrench(message);
  }
});

test('what is wrong with an endpoint is told in French', () => {
  const endpointPorts = [{ from: 443, to: 443 }];
  const wrong = [
    'nonsense',
    'ftp://client.example/',
    'https://me:secret@client.example/',
    'https://client.example:22/',
  ];
  for (const allowPrivateEndpoints of [true, false]) {
    for (const url of [...wrong, ...(allowPrivateEndpoints ? [] : ['https://127.0.0.1/'])]) {
      const fault = endpointFault(url, { allowPrivateEndpoints, endpointPorts });
      assert.ok(fault, url);
      assertFrench(fault);
      assert.match(refusalInFrench(`endpoint ${fault}`), /^L’adresse .*\.$/);
    }
  }
});

test('why something is not sent again is told in French', () => {
  for (const reason of Object.values(RESEND_REFUSALS)) assertFrench(`it is not sent again: ${reason}`);
});

test('numbers are written as in France, and what nobody has translated is shown as it came', () => {
  assert.equal(
    refusalInFrench('must not be above budgetMax, which is 250000'),
    `ne doit pas dépasser le maximum, qui est de ${(250_000).toLocaleString('fr')}`,
  );
  assert.equal(refusalInFrench('HTTP 418'), 'HTTP 418');
});
