/** The property document states what its adverts now state (decisions, section 5; specification, sections 2.6, 2.7). */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { StoredProperty } from '../src/engine/domain/change.ts';
import { featureSetOf } from '../src/engine/domain/features.ts';
import { type Uuid, uuidOf } from '../src/engine/domain/ids.ts';
import type { IntakeMessage } from '../src/engine/domain/intake-message.ts';
import { NO_MEDIANS } from '../src/engine/domain/market-prices.ts';
import type { StatedProperty } from '../src/engine/domain/property.ts';
import {
  type PropertyDocument,
  pricePerMeterOf,
  propertyDocument,
  propertyFacts,
  readingOf,
} from '../src/engine/domain/property-document.ts';
import { NOTHING_KNOWN_OF_ADVERT } from '../src/engine/domain/property-facts.ts';
import {
  ADVERT,
  changesOf,
  expireAt,
  heldAfter,
  minute,
  NO_CONTACT,
  OTHER_ADVERT,
  resolveToulon,
  upsertAt,
} from './support/adverts.ts';

type AdvertJson = Readonly<Record<string, unknown>> & { readonly events: readonly Record<string, unknown>[] };

function documentOf({ state, crawls }: StoredProperty, withContacts = true): PropertyDocument {
  return propertyDocument(state, crawls, resolveToulon, { withContacts });
}

function advertsOf(document: PropertyDocument): readonly AdvertJson[] {
  return document.adverts as readonly AdvertJson[];
}

function factsOf({ state, crawls }: StoredProperty, median: number | null = null) {
  return propertyFacts(readingOf(state, crawls, resolveToulon), { ...NO_MEDIANS, median: () => median });
}

const CONTACT = { ...NO_CONTACT, agency: 'Agence du Port', email: 'a@a.example', phone: '+33 4', reference: 'R1' };
const IN_TOULON = { insee: '83137', zipcode: '83100', name: 'Toulon' };

test('a value stated for the property takes precedence over its advert; others come from the advert', () => {
  const advert = { title: 'advert', price: 1, surface: 2, landSurface: 3, floor: 4, elevator: true, furnished: true };
  const stated = {
    title: 'stated',
    price: 10,
    surface: 20,
    landSurface: 30,
    floor: 40,
    elevator: false,
    furnished: false,
  };
  const seen = (property: object) => {
    const document = documentOf(heldAfter(upsertAt(0, { advert: { ...advert, pictures: ['a'] }, property })));
    return Object.keys(advert).map((name) => document[name]);
  };
  assert.deepEqual(seen({}), Object.values(advert));
  assert.deepEqual(seen(stated), Object.values(stated));
  const document = documentOf(heldAfter(upsertAt(0, { advert: { pictures: ['a'] }, property: { pictures: [] } })));
  assert.deepEqual(document.pictures, []);
});

test('the most recently crawled live advert represents the property', () => {
  const first = upsertAt(0, { advert: { price: 100 } });
  const second = upsertAt(5, { advertUuid: OTHER_ADVERT, advert: { price: 200 } });
  const price = (...messages: IntakeMessage[]) => documentOf(heldAfter(...messages)).price;
  assert.equal(price(first, second), 200);
  assert.equal(price(first, second, { ...first, crawledAt: minute(9) }), 100, 'after a re-crawl it is the first again');
  assert.equal(price(first, second, expireAt(9, { advertUuid: OTHER_ADVERT })), 100, 'an expired advert is ignored');
  assert.equal(price(first, second, expireAt(8, { advertUuid: OTHER_ADVERT }), expireAt(9)), 200, 'the last seen live');
  assert.equal(price(first, { ...second, crawledAt: minute(0) }), 100, 'a tie goes to the first');
});

test('the price per square metre has two decimals, and is unknown without a surface', () => {
  const perMeter = (price: number | null, surface: number | null) =>
    documentOf(heldAfter(upsertAt(0, { advert: { price, surface } }))).pricePerMeter;
  assert.equal(perMeter(250_000, 62), 4032.26);
  assert.equal(perMeter(0, 62), 0);
  assert.equal(perMeter(250_000, null), null);
  assert.equal(perMeter(null, 62), null);
  assert.equal(perMeter(250_000, 0), null);
});

test('publisher types are the sorted set of the live adverts', () => {
  const publisher = (type: number | null) => ({ publisher: { category: null, name: null, type } });
  const messages = [
    upsertAt(0, { advert: publisher(1) }),
    upsertAt(1, { advertUuid: OTHER_ADVERT, advert: publisher(0) }),
    upsertAt(2, { advertUuid: uuidOf('ad000000-0000-4000-8000-000000000003'), advert: publisher(1) }),
    upsertAt(3, { advertUuid: uuidOf('ad000000-0000-4000-8000-000000000004'), advert: publisher(null) }),
  ];
  assert.deepEqual(documentOf(heldAfter(...messages)).publisherTypes, [0, 1]);
  const expiry = expireAt(5, { advertUuid: OTHER_ADVERT });
  assert.deepEqual(documentOf(heldAfter(...messages, expiry)).publisherTypes, [1]);
});

test('a property has expired once all its adverts have, at the latest of their expiries', () => {
  const changes = changesOf([
    upsertAt(0),
    upsertAt(0, { advertUuid: OTHER_ADVERT }),
    expireAt(5, { expiredAt: minute(4) }),
    expireAt(6, { advertUuid: OTHER_ADVERT, expiredAt: minute(2) }),
    upsertAt(9),
  ]);
  const expiries = changes.map(({ stored }) => {
    const { expired, expiredAt } = documentOf(stored as StoredProperty);
    return [expired, expiredAt];
  });
  assert.deepEqual(expiries, [
    [false, null],
    [false, null],
    [false, null],
    [true, minute(4)],
    [false, null],
  ]);
});

test('the last crawl is the newest of a live advert, and of all adverts once none is live', () => {
  const lastCrawl = (...messages: IntakeMessage[]) => {
    const { lastCrawledAt, lastCrawledAdvert } = documentOf(heldAfter(...messages));
    return [lastCrawledAt, lastCrawledAdvert];
  };
  const both = [upsertAt(0), upsertAt(5, { advertUuid: OTHER_ADVERT })];
  assert.deepEqual(lastCrawl(...both), [minute(5), OTHER_ADVERT]);
  assert.deepEqual(lastCrawl(...both, upsertAt(9)), [minute(9), ADVERT]);
  assert.deepEqual(lastCrawl(upsertAt(0), expireAt(9)), [minute(0), ADVERT]);
  assert.deepEqual(lastCrawl(upsertAt(0), upsertAt(3), expireAt(9), expireAt(12)), [minute(3), ADVERT]);
  const oneLeft = [...both, expireAt(9, { advertUuid: OTHER_ADVERT })];
  assert.deepEqual(lastCrawl(...oneLeft), [minute(0), ADVERT]);
  assert.deepEqual(lastCrawl(...oneLeft, expireAt(10)), [minute(5), OTHER_ADVERT]);
});

test('an advert without dates has those of its first crawl and its last change', () => {
  const changes = changesOf([
    upsertAt(0),
    upsertAt(3),
    upsertAt(5, { advert: { price: 1 } }),
    upsertAt(9, { advert: { price: 1 } }),
  ]);
  const document = documentOf(changes.at(-1)?.stored as StoredProperty);
  const [advert] = advertsOf(document);
  assert.deepEqual([advert?.createdAt, advert?.updatedAt, advert?.lastCrawledAt], [minute(0), minute(5), minute(9)]);
  assert.deepEqual([document.createdAt, document.updatedAt], [minute(0), minute(5)]);
  const stated = upsertAt(0, {
    advert: { createdAt: minute(-9), updatedAt: minute(-8) },
    property: { createdAt: minute(-7) },
  });
  const [own] = advertsOf(documentOf(heldAfter(stated)));
  assert.deepEqual([own?.createdAt, own?.updatedAt], [minute(-9), minute(-8)]);
  assert.equal(documentOf(heldAfter(stated)).createdAt, minute(-7));
});

test('the creation of a property is the earliest known and never moves forward', () => {
  const creations = changesOf([
    upsertAt(0, { advert: { createdAt: minute(-5) } }),
    upsertAt(1, { advert: { createdAt: minute(-2) } }),
    upsertAt(2, { advert: { createdAt: minute(-1) }, property: { createdAt: null } }),
    upsertAt(3, { advertUuid: OTHER_ADVERT, advert: { createdAt: minute(2) } }),
    expireAt(4),
    upsertAt(5, { advertUuid: OTHER_ADVERT, property: { createdAt: minute(-60) } }),
    upsertAt(6, { advertUuid: OTHER_ADVERT, property: { createdAt: minute(5) } }),
  ]).map(({ stored }) => documentOf(stored as StoredProperty).createdAt);
  assert.deepEqual(creations, [...Array(5).fill(minute(-5)), minute(-60), minute(-60)]);
  const late = changesOf([upsertAt(0), upsertAt(1, { property: { createdAt: minute(1) } })]);
  assert.equal(documentOf(late.at(-1)?.stored as StoredProperty).createdAt, minute(0));
});

test('events are listed with their advert, and the variation as a number', () => {
  const [advert] = advertsOf(
    documentOf(heldAfter(upsertAt(0, { advert: { price: 250_000 } }), upsertAt(5, { advert: { price: 240_000 } }))),
  );
  const whole = { fieldName: null, fieldOldValue: null, fieldNewValue: null, percentVariation: null };
  const price = { fieldName: 'price', fieldOldValue: '250000', fieldNewValue: '240000', percentVariation: -4 };
  assert.deepEqual(advert?.events, [
    { event: 'property.ad.create', createdAt: minute(0), ...whole },
    { event: 'ad.update.price', createdAt: minute(5), ...price },
    { event: 'property.ad.update', createdAt: minute(5), ...whole },
  ]);
});

test('without contacts no advert has the member, and the texts contain no contacts', () => {
  const stored = heldAfter(
    upsertAt(0, { advert: { contact: CONTACT } }),
    upsertAt(1, { advertUuid: OTHER_ADVERT, advert: { contact: CONTACT } }),
    upsertAt(2, { advert: { contact: { ...CONTACT, phone: '+33 9' } } }),
    expireAt(3),
  );
  const hidden = JSON.stringify(documentOf(stored, false));
  assert.doesNotMatch(hidden, /contact|Agence du Port|@a\.example|\+33|"R1"/);
  const { contact: _hidden, ...rest } = advertsOf(documentOf(stored))[0] as AdvertJson;
  assert.deepEqual(advertsOf(documentOf(stored, false))[0], rest);
  assert.equal(advertsOf(documentOf(stored))[1]?.contact, stored.state.adverts[1]?.content.contact);
});

test('the city has the stated zip code, if the commune has several', () => {
  const zipcode = (stated: string | null) => {
    const stored = heldAfter(upsertAt(0, { property: { city: { ...IN_TOULON, zipcode: stated } } }));
    return (documentOf(stored).city as { zipcode: string | null }).zipcode;
  };
  assert.equal(zipcode('83200'), '83200');
  assert.equal(zipcode(null), null, 'none is chosen of several');
  assert.equal(documentOf(heldAfter(upsertAt(0))).city, null);
});

test('matching sees the values of the document and the live adverts', () => {
  const publisher = { category: 'Agence', name: null, type: 1 };
  const stored = heldAfter(
    upsertAt(0, { advert: { title: 'expired', price: 1 } }),
    upsertAt(1, {
      advertUuid: OTHER_ADVERT,
      advert: {
        title: 'T3',
        description: 'Vue mer',
        price: 250_000,
        surface: 62,
        publisher,
        virtualTour: 'https://v.example',
        ...{ constructionYear: 1974, condominiumFees: 900, rentalCharges: 50, features: ['Balcon', 'sans cave'] },
        ...{ energy: { category: 'C', value: null }, greenHouseGas: { category: 'A', value: null } },
      },
      property: {
        title: 'Bien',
        city: IN_TOULON,
        locations: { lat: 43.1, lon: 5.9 },
        transactionType: 0,
        propertyType: 0,
        room: 3,
      },
    }),
    expireAt(5),
  );
  const document = documentOf(stored);
  const facts = factsOf(stored);
  const shared = ['transactionType', 'propertyType', 'price', 'pricePerMeter', 'surface', 'landSurface'] as const;
  for (const name of [...shared, 'room', 'bedroom', 'furnished'] as const)
    assert.equal(facts[name], document[name], name);
  assert.deepEqual([facts.lat, facts.lon, facts.departmentCode], [43.1, 5.9, '83']);
  assert.deepEqual([facts.inseeCodes, facts.zipcodes], [['83137'], ['83100']]);
  assert.deepEqual(facts.texts, ['Bien', 'Vue mer']);
  assert.deepEqual(facts.adverts, [
    {
      ...NOTHING_KNOWN_OF_ADVERT,
      siteCategory: 'Agence',
      publisherType: 1,
      price: 250_000,
      hasVirtualTour: true,
      ...{ constructionYear: 1974, condominiumFees: 900, rentalCharges: 50, energy: 'C', greenHouseGas: 'A' },
      ...{ features: featureSetOf(['balcony']), deniedFeatures: featureSetOf(['cellar']) },
      texts: ['T3', 'Vue mer'],
    },
  ]);
  assert.deepEqual(factsOf(heldAfter(upsertAt(0), expireAt(1))).adverts, []);
});

test('floor and elevator come from the property, or else its advert, or else the last crawled live advert that states them', () => {
  const third = uuidOf('ad000000-0000-4000-8000-000000000003');
  const at = (minutes: number, advertUuid: Uuid, floor: number | null, property: Partial<StatedProperty> = {}) =>
    upsertAt(minutes, { advertUuid, advert: { floor, elevator: floor === null ? null : floor > 1 }, property });
  const homeAfter = (...messages: readonly IntakeMessage[]) => {
    const { floor, elevator } = factsOf(heldAfter(...messages));
    return [floor, elevator];
  };
  const [first, second, silent] = [at(0, ADVERT, 1), at(1, OTHER_ADVERT, 2), at(2, third, null)];
  assert.deepEqual(homeAfter(first), [1, false]);
  assert.deepEqual(homeAfter(first, second, silent), [2, true]);
  assert.deepEqual(homeAfter(first, second, silent, expireAt(3, { advertUuid: OTHER_ADVERT })), [1, false]);
  assert.deepEqual(homeAfter(first, second, at(2, third, null, { floor: 0 })), [0, true]);
  assert.deepEqual(homeAfter(silent), [null, null]);
  const stated = at(3, third, 3, { floor: 0, elevator: false });
  assert.deepEqual(homeAfter(first, second, stated), [0, false]);
});

test('the last floor is the highest, or the one below, of the floors that the last crawled live advert states', () => {
  const isOnLastFloor = (floor: number | null, ...floors: readonly (number | null)[]) => {
    const messages = floors.map((floorQuantity, at) =>
      upsertAt(at, { advertUuid: at === 0 ? ADVERT : OTHER_ADVERT, advert: { floor, floorQuantity } }),
    );
    return factsOf(heldAfter(...messages)).isOnLastFloor;
  };
  assert.deepEqual([isOnLastFloor(3, 3), isOnLastFloor(2, 3), isOnLastFloor(1, 3)], [true, true, false]);
  assert.deepEqual([isOnLastFloor(0, 0), isOnLastFloor(2, null), isOnLastFloor(null, 3)], [null, null, null]);
  assert.deepEqual([isOnLastFloor(2, 3, 9), isOnLastFloor(2, 3, 0), isOnLastFloor(2, 9, null)], [false, true, false]);
});

test('a place that cannot be resolved keeps its stated zip code for matching', () => {
  const stored = heldAfter(upsertAt(0, { property: { city: { insee: null, zipcode: '99999', name: null } } }));
  const facts = factsOf(stored);
  assert.deepEqual([facts.inseeCodes, facts.departmentCode, facts.zipcodes], [[], null, ['99999']]);
});

test('the market median decides about the price of the property, and only if the department is known', () => {
  const stored = (city: typeof IN_TOULON | null) =>
    heldAfter(
      upsertAt(0, { advert: { price: 250_000, surface: 50 }, property: { transactionType: 0, propertyType: 0, city } }),
    );
  assert.equal(factsOf(stored(IN_TOULON)).isPriceCoherent, true);
  assert.equal(factsOf(stored(IN_TOULON), 999).isPriceCoherent, false);
  assert.equal(factsOf(stored(IN_TOULON), 1_000).isPriceCoherent, true);
  assert.equal(factsOf(stored(null), 999).isPriceCoherent, true);
  const { state, crawls } = stored(IN_TOULON);
  assert.deepEqual(readingOf(state, crawls, resolveToulon).priced, {
    transactionType: 0,
    propertyType: 0,
    departmentCode: '83',
    price: 250_000,
    surface: 50,
    landSurface: null,
  });
});

test('a price per m² is rounded half up to the cent, despite binary fractions', () => {
  // Amounts in hundredths of a unit.
  const any = fc.record({ price: fc.integer({ min: 1, max: 1e11 }), surface: fc.integer({ min: 1, max: 1e7 }) });
  const onHalf = fc
    .tuple(fc.integer({ min: 1, max: 20_000 }), fc.nat(1e6))
    .map(([size, cents]) => ({ price: size * (2 * cents + 1), surface: 200 * size }));
  const isRounded = fc.property(fc.oneof(any, onHalf), ({ price, surface }) => {
    const cents = (200n * BigInt(price) + BigInt(surface)) / (2n * BigInt(surface));
    assert.equal(pricePerMeterOf(price / 100, surface / 100), Number(cents) / 100);
  });
  fc.assert(isRounded, { numRuns: 5_000 });
});
