/** The console's draft of a search: members that it has read are sent back unchanged, a change as the difference. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SearchDocument } from '../src/console/page/documents.ts';
import {
  bodyOf,
  ContextError,
  changesOf,
  criteriaOf,
  type Draft,
  draftOf,
  NEW_ALTERNATIVE,
  NEW_DRAFT,
  sentPosition,
  withPricePercent,
} from '../src/console/page/editor/draft.ts';
import { floodOf } from '../src/console/page/editor/flood.ts';
import { NEW_POINT } from '../src/console/page/editor/nearby-points.ts';
import { violationsOf } from '../src/console/page/editor/violations.ts';
import { decoded } from '../src/console/page/fragment.ts';
import { distanceKm as pageDistanceKm, worldLength, worldX, worldY } from '../src/console/page/map/projection.ts';
import { createPinTable, homeOf, PINS_MAX } from '../src/console/page/pins.ts';
import { safeLink } from '../src/console/page/safe-link.ts';
import { pricesOf } from '../src/console/page/views/price-history.ts';
import { formatExpressions, readExpressions } from '../src/engine/domain/expressions.ts';
import { distanceKm } from '../src/engine/domain/geo.ts';
import { valuesOf } from './support/lists.ts';

const EXPRESSIONS = [
  [
    { word: 'vue mer & 100% +', includes: true, strict: true },
    { word: 'travaux', includes: false, strict: false },
  ],
  [{ word: 'terrasse', includes: true, strict: false }],
];

const SAVED = {
  ...{ '@id': '/searches/1', title: 'Tout', token: 'whsec_x', createdAt: '', updatedAt: '', lastAlertAt: null },
  ...{ emailStatus: 'off', transactionType: '0', propertyTypes: [0, 1], publisherTypes: 1, budgetMax: 300_000 },
  ...{ lat: '43.10', lon: '5.9', radius: '5', furnished: false, withCoherentPrice: null, withVirtualTour: true },
  includedCities: [{ '@id': '/cities/83137', insee: '83137', name: 'Toulon', zipcode: '83000' }],
  ...{
    excludedCities: [],
    excludedDepartments: [],
    excludedZipcodes: ['83400'],
    excludedInseeCodes: ['83069', '83126'],
  },
  includedDepartments: [{ '@id': '/departments/83', departmentCode: '83', name: 'Var' }],
  ...{ includedZipcodes: ['83000'], includedInseeCodes: ['83126'] },
  ...{ includedSiteCategories: [{ '@id': '/site_categories/1', name: 'portal' }], excludedSiteCategories: [] },
  geoShapes: [
    [
      [
        [5, 43],
        [6, 43],
        [6, 44],
        [5, 43],
      ],
    ],
  ],
  excludedGeoShapes: [],
  expressions: formatExpressions(EXPRESSIONS),
  ...{ notificationEnabled: true, notificationRecipient: null, notificationFrequency: 'instant' },
  ...{ endpointRecipient: 'https://client.example/', eventEndpoint: null, subscribedEvents: [], context: { user: 7 } },
  eventThresholds: { price: { percent: 5, since: 'told' }, surface: { amount: 3 } },
  hidePropertyContact: false,
  orMissing: ['budget', 'areas', 'expressions'],
  alternatives: [
    { roomMin: 4, includedDepartments: [{ '@id': '/departments/13', departmentCode: '13', name: 'Bouches-du-Rhône' }] },
    { surfaceMin: 80, propertyTypes: 1, elevator: true, orMissing: ['surface'] },
  ],
  pointsOfInterest: [
    { facility: 'school', attributes: { schoolType: 'lycée', operatorType: 'public' }, within: 1.5 },
    { facility: 'restaurant', beyond: 0.3 },
  ],
} as unknown as SearchDocument;

test('a search that is opened and saved without a change keeps its members and its meaning', () => {
  const body = bodyOf(draftOf(SAVED));
  assert.deepEqual(changesOf(body, bodyOf(draftOf(SAVED))), {});
  assert.equal(formatExpressions(readExpressions(body.expressions, () => assert.fail())), SAVED.expressions);
  assert.deepEqual([body.lat, body.propertyTypes, body.publisherTypes], ['43.10', [0, 1], 1]);
  assert.deepEqual([body.furnished, body.withCoherentPrice, body.withVirtualTour], [false, null, true]);
  assert.deepEqual(body.context, { user: 7 });
  assert.deepEqual(body.geoShapes, { type: 'MultiPolygon', coordinates: SAVED.geoShapes });
  assert.deepEqual([body.excludedZipcodes, body.excludedInseeCodes], [['83400'], ['83069', '83126']]);
});

test('a change is sent as the members that it changed', () => {
  const before = draftOf(SAVED);
  const after = { ...before, budgetMax: '250000', includedZipcodes: [] };
  assert.deepEqual(changesOf(bodyOf(before), bodyOf(after)), { budgetMax: 250_000, includedZipcodes: [] });
});

test('an alternative is sent with the criteria that it sets, and left out if it sets none', () => {
  const draft = draftOf(SAVED);
  assert.deepEqual(bodyOf(draft).alternatives, [
    { roomMin: 4, includedDepartments: ['/departments/13'] },
    { surfaceMin: 80, propertyTypes: 1, elevator: true, orMissing: ['surface'] },
  ]);
  const [first = NEW_ALTERNATIVE, second = NEW_ALTERNATIVE] = draft.alternatives;
  const changed = { ...draft, alternatives: [NEW_ALTERNATIVE, { ...second, surfaceMin: '', floorMin: '1' }, first] };
  assert.deepEqual(changesOf(bodyOf(draft), bodyOf(changed)), {
    alternatives: [
      { propertyTypes: 1, elevator: true, floorMin: 1 },
      { roomMin: 4, includedDepartments: ['/departments/13'] },
    ],
  });
  assert.deepEqual(
    [0, 1, 2, 3].map((at) => sentPosition(changed, at)),
    [-1, 0, 1, -1],
  );
  const added = bodyOf({ ...NEW_DRAFT, alternatives: [{ ...NEW_ALTERNATIVE, transactionType: '1', floorMax: '2' }] });
  assert.deepEqual(added.alternatives, [{ transactionType: '1', floorMax: 2, orMissing: ['floor'] }]);
});

test('points of interest are sent as they were read, cleared by null, and not sent if there are none', () => {
  const draft = draftOf(SAVED);
  const read = [
    { facility: 'school', attributes: { schoolType: 'lycée', operatorType: 'public' }, within: 1.5 },
    { facility: 'restaurant', beyond: 0.3 },
  ];
  assert.deepEqual(bodyOf(draft).pointsOfInterest, read);
  const cleared = bodyOf({ ...draft, pointsOfInterest: [] });
  assert.deepEqual(changesOf(bodyOf(draft), cleared), { pointsOfInterest: null });
  assert.ok(!JSON.stringify(bodyOf(NEW_DRAFT)).includes('pointsOfInterest'));
  const [school = NEW_POINT] = draft.pointsOfInterest;
  const typed = [
    { ...school, facility: 'hospital', km: '2,5' },
    { ...NEW_POINT, km: 'loin' },
  ];
  assert.deepEqual(bodyOf({ ...NEW_DRAFT, pointsOfInterest: typed }).pointsOfInterest, [
    { facility: 'hospital', within: 2.5 },
    { facility: 'school', within: 'loin' },
  ]);
});

test('a threshold on the price is set, changed and cleared, and leaves the others as they are', () => {
  const { eventThresholds } = draftOf(SAVED);
  const surface = { amount: 3 };
  assert.deepEqual(withPricePercent(null, 2.5), { price: { percent: 2.5, since: 'told' } });
  assert.deepEqual(withPricePercent(eventThresholds, 7), { price: { percent: 7, since: 'told' }, surface });
  assert.deepEqual(withPricePercent(eventThresholds, Number.NaN), { surface });
  const falling = { price: { percent: 5, direction: 'down' as const } };
  assert.deepEqual(withPricePercent(falling, Number.NaN), { price: { direction: 'down' } });
  assert.equal(withPricePercent({ price: { percent: 5 } }, Number.NaN), null);
});

test('a new search accepts unknown values of criteria that few adverts state, but not of criteria that are not set', () => {
  const asked = (draft: Partial<Draft>) => bodyOf({ ...NEW_DRAFT, ...draft }).orMissing;
  assert.deepEqual(asked({}), []);
  assert.deepEqual(asked({ floorMin: '0', budgetMax: '1', energyCategories: ['A'], lastFloor: true }), [
    ...['floor', 'lastFloor', 'energy'],
  ]);
  assert.deepEqual(asked({ condominiumFeesMax: '0', elevator: 'false', orMissing: ['elevator', 'condominiumFees'] }), [
    'elevator',
  ]);
  const saved = draftOf(SAVED);
  assert.deepEqual(bodyOf(saved).orMissing, SAVED.orMissing);
  const cleared = bodyOf({ ...saved, budgetMax: '', floorMax: '2', groups: [] });
  assert.deepEqual(cleared.orMissing, ['areas']);
});

test('text that is not a number is sent unchanged, and a context that is not valid JSON is refused', () => {
  for (const text of ['12 00', '12.5.1', 'beaucoup', '1,5,2'])
    assert.equal(bodyOf({ ...NEW_DRAFT, budgetMin: text }).budgetMin, text);
  assert.throws(() => bodyOf({ ...NEW_DRAFT, context: '{' }), ContextError);
});

test('numbers are accepted as they are written in France', () => {
  const typed = {
    budgetMin: '250 000',
    budgetMax: '1\u202f250\u00a0000',
    lat: '-20,88',
    lon: '55.45',
    radius: ' 2,5 ',
  };
  const { budgetMin, budgetMax, lat, lon, radius } = bodyOf({ ...NEW_DRAFT, ...typed });
  assert.deepEqual([budgetMin, budgetMax, lat, lon, radius], [250_000, 1_250_000, '-20.88', '55.45', '2.5']);
  const units = bodyOf({ ...NEW_DRAFT, budgetMin: '450 000 €', budgetMax: '450000€', surfaceMin: '62,5\u00a0m²' });
  assert.deepEqual([units.budgetMin, units.budgetMax, units.surfaceMin], [450_000, 450_000, 62.5]);
});

test('words without a letter and groups without a word are no condition', () => {
  const groups = [[{ word: ' ', includes: true, strict: false }], []];
  assert.deepEqual(bodyOf({ ...NEW_DRAFT, groups }).expressions, []);
});

test('a preview contains the criteria, without title, context, recipients and notification settings', () => {
  const criteria = criteriaOf(bodyOf(draftOf(SAVED)));
  for (const name of ['title', 'context', 'endpointRecipient', 'notificationEnabled', 'subscribedEvents'])
    assert.ok(!(name in criteria), name);
  assert.ok('budgetMax' in criteria && 'expressions' in criteria && 'withCoherentPrice' in criteria);
});

test('a violation within a member is shown at its field, and one without a field separately', () => {
  const list = [
    { propertyPath: 'includedCities[2]', message: 'is unknown' },
    { propertyPath: 'budgetMin', message: 'must not be above budgetMax' },
    { propertyPath: 'nowhere', message: 'is no member' },
    { propertyPath: 'alternatives[1].budgetMin', message: 'is set on the search' },
    { propertyPath: 'alternatives[1]', message: 'has too many places' },
    { propertyPath: 'alternatives', message: 'has too many items' },
  ];
  const violations = violationsOf(list, ['includedCities', 'budgetMin', 'alternatives']);
  const alternative = violations.within('alternatives[1]');
  assert.equal(alternative.of('budgetMin'), 'is set on the search');
  assert.deepEqual(alternative.others, ['has too many places']);
  assert.ok(violations.within('alternatives[10]').isEmpty && violations.within('alternatives[-1]').isEmpty);
  assert.equal(violations.ofWhole('alternatives'), 'has too many items');
  assert.equal(violations.of('includedCities'), 'is unknown');
  assert.equal(violations.of('title'), undefined);
  assert.deepEqual(violations.others, ['nowhere: is no member']);
});

test('an encoded fragment is decoded, and an invalid one causes no error', () => {
  for (const text of ['a b&c=d+é#?', 'https://portal.example/1?x=%20y'])
    assert.equal(decoded(encodeURIComponent(text)), text);
  for (const text of ['%', '%zz', '%ff%fe', '']) assert.equal(typeof decoded(text), 'string');
});

test('links of adverts are web addresses or are left out', () => {
  for (const text of ['javascript:alert(1)', 'data:text/html,x', ' ', 'nonsense', null])
    assert.equal(safeLink(text), null);
  assert.equal(safeLink('https://portal.example/1'), 'https://portal.example/1');
});

test('the map measures distances as the service does', () => {
  const [toulon, paris] = [
    { lat: 43.1258, lon: 5.9306 },
    { lat: 48.8566, lon: 2.3522 },
  ];
  assert.ok(Math.abs(pageDistanceKm(toulon, paris) - distanceKm(toulon.lat, toulon.lon, paris.lat, paris.lon)) < 1e-6);
  assert.deepEqual([worldX(-180), worldX(0), worldX(180)], [0, 0.5, 1]);
  assert.ok(Math.abs(worldY(0) - 0.5) < 1e-12 && Math.abs(worldY(85.0511287798)) < 1e-9);
  const north = { lat: toulon.lat + 0.09, lon: toulon.lon };
  const drawn = worldY(toulon.lat) - worldY(north.lat);
  assert.ok(Math.abs(drawn / worldLength(pageDistanceKm(toulon, north), toulon.lat) - 1) < 0.002);
});

test('the newest matches are kept, at most a tenth more than the map shows, and those of a search can be removed', () => {
  const pins = createPinTable();
  for (let at = 0; at < PINS_MAX * 1.3; at++) {
    const createdAt = new Date(at * 1_000).toISOString();
    const match = { '@id': `/matches/${at}`, property: '/p', search: `/searches/${at % 2}`, createdAt };
    pins.put({ ...match, updatedAt: createdAt, propertyDocument: null });
  }
  assert.ok(pins.size >= PINS_MAX && pins.size <= PINS_MAX * 1.1, String(pins.size));
  assert.equal(pins.list()[0]?.match, `/matches/${PINS_MAX * 1.3 - 1}`);
  pins.drop('/searches/1');
  assert.ok(pins.list().every(({ search }) => search === '/searches/0'));
});

test('a property is shown with the features that it has, never with those that it lacks', () => {
  const shown = (...features: string[]) => homeOf([{ energy: null, features }] as never).features;
  const present = [
    'Balcon',
    'Parking : 2',
    'Terrasse 10 m²',
    'sans vis-à-vis',
    '0,5 ha de terrain',
    'Piano',
    'Interphone',
  ];
  assert.deepEqual(shown(...present), present);
  for (const absent of [
    'sans balcon',
    'Balcon : 0',
    'Parking : NON',
    'Piscine (non)',
    'pas de cave',
    'Aucune terrasse',
    'Appartement sans ascenseur',
    'Terrasse 0 m²',
    '0 garage',
    'non meublé',
    'Parking / non',
    'Garage: no',
  ])
    assert.deepEqual(shown(absent), [], absent);
  assert.deepEqual(shown('Cave, sans balcon', 'Cave', 'ni jardin'), ['Cave']);
});

test('a price history begins with the price before the first change', () => {
  const change = (createdAt: string, was: string, is: string) => ({
    ...{ createdAt, fieldName: 'price', fieldOldValue: was, fieldNewValue: is, percentVariation: null },
  });
  const adverts = [{ events: [change('2026-03-03', '90', '80'), change('2026-03-02', '100', '90')] }];
  const prices = pricesOf({ adverts, price: 80, createdAt: '2026-03-01' } as never);
  assert.deepEqual(valuesOf(prices, 'price'), [100, 90, 80]);
});

test('the console asks for confirmation above fifty matches a day, with a rounded number above fifty', () => {
  assert.deepEqual([null, 0, 49.9, 50, 50.001, 51.4, 139.6].map(floodOf), [null, null, null, null, 51, 51, 140]);
});
