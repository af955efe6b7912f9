/** The key of an endpoint is derived from a client and a URL. Further keys identify the parties that take turns. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endpointKeyOf, partiesOf, urlKeyOf, urlKeyOfKey } from '../src/engine/domain/endpoint.ts';
import { uuidOf } from '../src/engine/domain/ids.ts';

const CLIENT = uuidOf('c11e2700-0000-4000-8000-000000000001');
const NEIGHBOUR = uuidOf('c11e2700-0000-4000-8000-000000000002');
const URLS = [
  'https://a.example/1',
  'https://a.example/2',
  'https://a.example:8443/1',
  'https://a.example/1?x',
  'https://b.example/1',
];

test('the key of an endpoint differs by client and by whole URL, and has 32 hexadecimal digits', () => {
  const keys = [CLIENT, NEIGHBOUR].flatMap((client) => URLS.map((url) => endpointKeyOf(client, url)));
  assert.equal(new Set(keys).size, 2 * URLS.length);
  for (const key of keys) assert.match(key, /^[0-9a-f]{32}$/);
  assert.equal(endpointKeyOf(CLIENT, 'https://a.example/1'), keys[0]);
});

test('a key identifies the URL independently of the client, as in older versions', () => {
  for (const url of URLS) {
    assert.equal(urlKeyOfKey(endpointKeyOf(CLIENT, url)), urlKeyOf(url));
    assert.equal(urlKeyOfKey(urlKeyOf(url)), urlKeyOf(url));
  }
  assert.equal(urlKeyOf('https://a.example/1'), 'd817b80f9a5befb9');
});

test('keys identify the parties that take turns: the client, and the host regardless of port and path', () => {
  const [first, ...others] = URLS.map((url) => partiesOf(endpointKeyOf(CLIENT, url)));
  assert.deepEqual(
    others.map(({ client, host }) => [client === first?.client, host === first?.host]),
    [
      [true, true],
      [true, true],
      [true, true],
      [true, false],
    ],
  );
  assert.notEqual(partiesOf(endpointKeyOf(NEIGHBOUR, 'https://a.example/1')).client, first?.client);
});
