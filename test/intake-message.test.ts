/** Bytes from a crawler become a message or are rejected with a reason; nothing that PostgreSQL would refuse passes. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  decodeIntakeMessage,
  type IntakeMessage,
  isExpiryDigest,
  RejectedMessageError,
  type UpsertMessage,
} from '../src/engine/domain/intake-message.ts';
import { ADVERT, PROPERTY, UNKNOWN_CONTENT, UNSTATED_PROPERTY } from './support/adverts.ts';

type Json = Readonly<Record<string, unknown>>;

function upsertJson(parts: { readonly root?: Json; readonly property?: Json; readonly advert?: Json } = {}): Json {
  return {
    kind: 'upsert',
    crawledAt: '2026-03-10T08:15:00+01:00',
    property: { uuid: PROPERTY, ...parts.property },
    advert: { uuid: ADVERT, ...parts.advert },
    ...parts.root,
  };
}

const EXPIRE = {
  kind: 'expire',
  crawledAt: '2026-03-10T08:15:00Z',
  property: { uuid: PROPERTY },
  advert: { uuid: ADVERT },
};

function decode(json: unknown): IntakeMessage {
  return decodeIntakeMessage(Buffer.from(JSON.stringify(json)));
}

function rejected(bytes: Uint8Array): RejectedMessageError {
  try {
    decodeIntakeMessage(bytes);
  } catch (error) {
    assert.ok(error instanceof RejectedMessageError, `not rejected but ${String(error)}`);
    return error;
  }
  throw assert.fail('was understood');
}

/** The members of the decoded message, without its digest. */
function membersOf(json: unknown) {
  const { digest: _digest, ...members } = decode(json);
  return members;
}

test('an absent member is unknown', () => {
  assert.deepEqual(membersOf(upsertJson()), {
    kind: 'upsert',
    crawledAt: '2026-03-10T07:15:00.000Z',
    propertyUuid: PROPERTY,
    advertUuid: ADVERT,
    property: UNSTATED_PROPERTY,
    advert: UNKNOWN_CONTENT,
  });
  assert.deepEqual(membersOf(EXPIRE), {
    kind: 'expire',
    crawledAt: '2026-03-10T08:15:00.000Z',
    propertyUuid: PROPERTY,
    advertUuid: ADVERT,
    expiredAt: null,
  });
});

test('the digest of a message changes with every member except the times of crawls', () => {
  const digestOf = (json: unknown): string => decode(json).digest;
  const crawledAt = '2026-03-11T09:00:00Z';
  assert.equal(digestOf(upsertJson()), digestOf(upsertJson({ root: { crawledAt } })));
  const seen = (lastCrawledAt: string) => upsertJson({ advert: { lastCrawledAt } });
  assert.equal(digestOf(seen('2026-03-10T08:15:00+01:00')), digestOf(seen(crawledAt)));
  assert.equal(digestOf(EXPIRE), digestOf({ ...EXPIRE, crawledAt }));
  const others = [
    upsertJson(),
    EXPIRE,
    { ...EXPIRE, expiredAt: crawledAt },
    upsertJson({ property: { uuid: ADVERT } }),
    upsertJson({ advert: { uuid: PROPERTY } }),
    upsertJson({ advert: { createdAt: crawledAt } }),
    upsertJson({ advert: { updatedAt: crawledAt } }),
    upsertJson({ advert: { title: `"crawledAt":"${crawledAt}"` } }),
    upsertJson({ advert: { title: '"crawledAt":""' } }),
  ];
  assert.equal(new Set(others.map(digestOf)).size, others.length);
  assert.deepEqual([isExpiryDigest(digestOf(EXPIRE)), isExpiryDigest(digestOf(upsertJson()))], [true, false]);
});

test('0 means unknown for price, surface, land surface, rooms and year; other zeros and a price of 1 are numbers', () => {
  const zeros = { price: 0, surface: 0, landSurface: 0, floor: 0 };
  const read = decode(
    upsertJson({
      property: { ...zeros, room: 0, bedroom: 0 },
      advert: { ...zeros, constructionYear: 0, condominiumFees: 0 },
    }),
  ) as UpsertMessage;
  const unknown = { price: null, surface: null, landSurface: null, floor: 0 };
  assert.deepEqual(read.property, { ...UNSTATED_PROPERTY, ...unknown, room: null, bedroom: 0 });
  assert.deepEqual(read.advert, { ...UNKNOWN_CONTENT, ...unknown, constructionYear: null, condominiumFees: 0 });
  assert.equal((decode(upsertJson({ advert: { price: 1 } })) as UpsertMessage).advert.price, 1);
});

test('null means absent, and unknown members are ignored', () => {
  const property = Object.fromEntries(Object.keys(UNSTATED_PROPERTY).map((name) => [name, null]));
  const advert = Object.fromEntries(Object.keys(UNKNOWN_CONTENT).map((name) => [name, null]));
  const unknown = { crawler: 'c-17', events: [{ createdAt: 'whenever' }], __proto__: null };
  assert.deepEqual(
    membersOf(upsertJson({ property: { ...property, ...unknown }, advert: { ...advert, ...unknown }, root: unknown })),
    membersOf(upsertJson()),
  );
});

test('every member of the contract is kept as it was stated', () => {
  const property = {
    title: 'Toulon, Mourillon',
    description: 'Trois pièces',
    transactionType: 0,
    propertyType: 0,
    price: 250_000,
    surface: 62.5,
    landSurface: 300,
    room: 3,
    bedroom: 2,
    floor: -1,
    elevator: true,
    furnished: false,
    createdAt: '2026-01-02T03:04:05.678Z',
    pictures: ['https://a.example/1.jpg'],
    stations: [
      {
        id: 22_104_513,
        name: 'Toulon',
        lines: [{ id: 3, name: 'TER', number: '1', color: '#fff', routeName: 'Hyères' }],
      },
    ],
    locations: { lat: 43.12, lon: 5.93 },
    city: { insee: '83137', zipcode: '83000', name: 'Toulon' },
  };
  const amounts = { price: 250_000, priceExcludingFees: 240_000, renterFees: 1, rentalPledge: 2, inventoryPrice: 3 };
  const advert = {
    ...UNKNOWN_CONTENT,
    ...amounts,
    title: 'T3',
    contact: { agency: 'A', email: 'a@a.example', fax: null, name: 'N', phone: '+33 4', reference: 'R' },
    publisher: { category: 'Agence', name: 'A', type: 1 },
    energy: { category: 'D', value: 210 },
    greenHouseGas: { category: 'A', value: 5.5 },
    features: ['balcon', 'balcon'],
    feesResponsibility: 1,
    feesPercentage: 4.17,
    constructionYear: 1974,
    picturesRemote: ['x'],
  };
  const message = decode(upsertJson({ property, advert }));
  assert.ok(message.kind === 'upsert');
  assert.deepEqual(message.property, property);
  assert.deepEqual(message.advert, advert);
});

test('UUIDs are converted to lower case, instants to UTC', () => {
  const message = decode({
    ...EXPIRE,
    crawledAt: '2026-03-01T00:30:00.1239+02:00',
    expiredAt: '2026-02-28T23:00:00-01:00',
    property: { uuid: PROPERTY.toUpperCase() },
  });
  assert.equal(message.propertyUuid, PROPERTY);
  assert.equal(message.crawledAt, '2026-02-28T22:30:00.123Z');
  assert.ok(message.kind === 'expire');
  assert.equal(message.expiredAt, '2026-03-01T00:00:00.000Z');
});

const POISON: readonly [symptom: string, message: unknown, reason: RegExp][] = [
  ['no object', [], /^message: /],
  ['another kind', upsertJson({ root: { kind: 'delete' } }), /^kind: /],
  ['no kind', upsertJson({ root: { kind: undefined } }), /^kind: /],
  ['no crawl time', upsertJson({ root: { crawledAt: undefined } }), /^crawledAt: /],
  ['a crawl time without offset', upsertJson({ root: { crawledAt: '2026-03-10T08:15:00' } }), /^crawledAt: /],
  [
    'a crawl time without seconds, although it is valid ISO 8601',
    upsertJson({ root: { crawledAt: '2026-03-10T08:15Z' } }),
    /^crawledAt: must be a date and time such as 2026-03-10T08:15:00\+01:00 or /,
  ],
  ['a day that does not exist', upsertJson({ root: { crawledAt: '2026-02-29T08:15:00Z' } }), /^crawledAt: /],
  ['no property UUID', upsertJson({ property: { uuid: undefined } }), /^property.uuid: is missing$/],
  ['a malformed advert UUID', upsertJson({ advert: { uuid: `${ADVERT}0` } }), /^advert.uuid: /],
  ['no advert', upsertJson({ root: { advert: undefined } }), /^advert: /],
  [
    'an unknown transaction type',
    upsertJson({ property: { transactionType: 2 } }),
    /^property.transactionType: must be one of 0, 1, null$/,
  ],
  ['a code as text', upsertJson({ property: { propertyType: '0' } }), /^property.propertyType: /],
  ['an unknown energy category', upsertJson({ advert: { energy: { category: 'H' } } }), /^advert.energy.category: /],
  ['a price as text', upsertJson({ advert: { price: '250000' } }), /^advert.price: must be number or null$/],
  ['a negative price', upsertJson({ advert: { price: -1 } }), /^advert.price: must be 0, or between /],
  ['a price beyond any building', upsertJson({ advert: { price: 1e12 } }), /^advert.price: /],
  ['half a room', upsertJson({ property: { room: 2.5 } }), /^property.room: /],
  ['a latitude beyond the pole', upsertJson({ property: { locations: { lat: 90.1, lon: 0 } } }), /locations.lat: /],
  ['half a place', upsertJson({ property: { locations: { lat: 43 } } }), /locations.lon: is missing$/],
  ['a longitude alone', upsertJson({ property: { locations: { lat: null, lon: 5 } } }), /locations: must have both/],
  ['a picture that is no text', upsertJson({ advert: { pictures: [1] } }), /^advert.pictures.0: /],
  ['U+0000 in a text', upsertJson({ advert: { title: 'a\0b' } }), /^advert.title: /],
];

for (const [symptom, message, reason] of POISON) {
  test(`a message with ${symptom} is rejected, and the reason names it`, () => {
    assert.match(rejected(Buffer.from(JSON.stringify(message))).message, reason);
  });
}

test('bytes that are not JSON in UTF-8 are rejected', () => {
  for (const bytes of [[], [0x7b], [0xff, 0xfe], [0x22, 0xc3, 0x22]]) {
    assert.match(rejected(Uint8Array.from(bytes)).message, /^not JSON in UTF-8: /);
  }
  assert.match(rejected(Buffer.from('{"price": NaN}')).message, /^not JSON/);
  assert.match(rejected(Buffer.from('['.repeat(200_000))).message, /^not JSON/);
});

test('a reason shows five faults and counts the rest', () => {
  const advert = {
    price: -1,
    surface: -1,
    landSurface: -1,
    renterFees: -1,
    floor: 'one',
    elevator: 'no',
    furnished: 2,
  };
  const { message } = rejected(Buffer.from(JSON.stringify(upsertJson({ advert }))));
  assert.equal(message.split('; ').length, 6);
  assert.match(message, /; and 2 more$/);
});

test('a list that is too long is one fault, regardless of the faults of its items', () => {
  const bytes = Buffer.from(JSON.stringify(upsertJson({ advert: { pictures: Array(1_001).fill(1) } })));
  assert.equal(rejected(bytes).message, 'advert.pictures: must NOT have more than 1000 items');
});

test('an instant is written as by Date, regardless of its digits and offset', () => {
  const digits = fc.stringMatching(/^[0-9]{0,9}$/);
  const offset = fc.oneof(fc.constant('Z'), fc.constantFrom('+00:00', '-00:00', '+01:00', '-23:59', '+23:59'));
  const second = fc.date({
    min: new Date('0002-01-01T00:00:00Z'),
    max: new Date('9998-12-31T00:00:00Z'),
    noInvalidDate: true,
  });
  fc.assert(
    fc.property(second, digits, offset, (date, fraction, zone) => {
      const crawledAt = `${date.toISOString().slice(0, 19)}${fraction && `.${fraction}`}${zone}`;
      assert.equal(decode({ ...EXPIRE, crawledAt }).crawledAt, new Date(crawledAt).toISOString());
    }),
  );
});

test('a surface so small that the price per square metre would be infinite is rejected', () => {
  const bytes = Buffer.from(JSON.stringify(upsertJson({ property: { price: 1e11, surface: 5e-324 } })));
  assert.match(rejected(bytes).message, /^property.surface: /);
  decode(upsertJson({ property: { price: 1e11, surface: 0.0001 } }));
  decode(upsertJson({ property: { price: 0, surface: 0 } }));
});

test('the reason for rejecting broken JSON can be stored, regardless of the bytes that it quotes', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 40 }), fc.string({ maxLength: 5 }), (noise, start) => {
      const { message } = rejected(Buffer.from(`{${start}${noise}`));
      assert.doesNotMatch(message, /[\0\p{Surrogate}]/u);
    }),
  );
  assert.doesNotMatch(rejected(Buffer.from('\0')).message, /\0/);
  assert.doesNotMatch(rejected(Buffer.from(`["${'🌊'.repeat(20)}", x${'🌊'.repeat(20)}]`)).message, /\p{Surrogate}/u);
});

test('a place whose coordinates are null is unknown', () => {
  const message = decodeIntakeMessage(
    Buffer.from(JSON.stringify(upsertJson({ property: { locations: { lat: null, lon: null } } }))),
  );
  assert.equal(message.kind === 'upsert' && message.property.locations, null);
});
