/** Addresses outside the public networks are refused as endpoints, however they are written. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { hostFault, isPublicAddress } from '../src/engine/delivery/connector.ts';

const PUBLIC = [
  '8.8.8.8',
  '1.1.1.1',
  '185.199.108.153',
  '172.15.255.255',
  '172.32.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '2606:4700:4700::1111',
  '2a00:1450:4007:80e::200e',
  '2001:4860:4860::8888',
  '2003::1',
];

const REFUSED = {
  'unspecified and this network': ['0.0.0.0', '0.1.2.3', '::'],
  loopback: ['127.0.0.1', '127.255.255.254', '::1'],
  private: ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', 'fc00::1', 'fd12:3456::1', 'fec0::1'],
  'link-local': ['169.254.1.1', 'fe80::1', 'febf::1'],
  'cloud metadata': ['169.254.169.254', '100.100.100.200', '192.0.0.192', '168.63.129.16', 'fd00:ec2::254'],
  'carrier-grade NAT': ['100.64.0.1', '100.127.255.255'],
  documentation: ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1'],
  benchmarking: ['198.18.0.1', '198.19.255.255', '2001:2::1'],
  'multicast and broadcast': ['224.0.0.1', '239.255.255.255', '255.255.255.255', 'ff02::1'],
  reserved: [
    '240.0.0.1',
    '192.0.0.1',
    '192.88.99.1',
    '4000::1',
    '1000::1',
    '3ffe::1',
    '3ffe:ffff::1',
    '100::1',
    '5f00::1',
  ],
  'IPv4-mapped and compatible': [
    '::ffff:8.8.8.8',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::127.0.0.1',
    '::ffff:0:8.8.8.8',
  ],
  NAT64: ['64:ff9b::8.8.8.8', '64:ff9b::7f00:1', '64:ff9b:1::a00:1'],
  '6to4 and Teredo': ['2002:7f00:1::1', '2002:808:808::1', '2001::1', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
  'zones and malformed addresses': ['fe80::1%eth0', '', 'localhost', '1.2.3.4.5', '8.8.8.8 ', '8.8.8.8/32'],
};

test('public unicast addresses are allowed', () => {
  for (const address of PUBLIC) assert.equal(isPublicAddress(address), true, address);
});

for (const [what, addresses] of Object.entries(REFUSED)) {
  test(`refused: ${what}`, () => {
    for (const address of addresses) assert.equal(isPublicAddress(address), false, address);
  });
}

test('the host of an endpoint is checked as an address or as a name, with or without a trailing dot', () => {
  for (const host of ['example.com', 'hooks.example.com.', '8.8.8.8', '[2606:4700:4700::1111]']) {
    assert.equal(hostFault(host), null, host);
  }
  for (const host of [
    'foo',
    'foo.',
    'localhost.',
    'a.LOCAL.',
    'x.home.arpa',
    '168.63.129.16',
    '[4000::1]',
    '4000::1',
    '[::1]',
  ]) {
    assert.ok(hostFault(host), host);
  }
});

test('an IPv6 address that embeds an IPv4 address is refused', () => {
  const prefixes = ['::ffff:', '::', '::ffff:0:', '64:ff9b::', '64:ff9b:1::', '2002:'];
  fc.assert(
    fc.property(fc.ipV4(), fc.constantFrom(...prefixes), (address, prefix) => {
      const text = prefix === '2002:' ? `2002:${hexadecimal(address)}::1` : `${prefix}${address}`;
      assert.equal(isPublicAddress(text), false);
    }),
  );
});

function hexadecimal(address: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
}
