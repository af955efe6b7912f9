/** When e-mails go, what their state is called, and what an item keeps of a property (decisions, section 12). */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EVENT_KINDS } from '../src/engine/domain/codes.ts';
import { uuidOf } from '../src/engine/domain/ids.ts';
import { emailStatusOf, mailKeyOf, nextMorning, parisDayOf } from '../src/engine/domain/mail.ts';
import { propertyDocument } from '../src/engine/domain/property-document.ts';
import { type MailReason, mailProperty, mailReasonsOf, newMailItems } from '../src/features/mail/mail-contents.ts';
import { ADVERT, changesOf, resolveToulon, TOULON, upsertAt } from './support/adverts.ts';

const CLIENT = uuidOf('c11e2700-0000-4000-8000-000000000001');

test('a daily e-mail goes at seven in Paris, in winter, in summer, and on the days between them', () => {
  const cases: readonly (readonly [now: string, morning: string])[] = [
    ['2026-01-15T05:59:59.999Z', '2026-01-15T06:00:00.000Z'],
    ['2026-01-15T06:00:00.000Z', '2026-01-16T06:00:00.000Z'],
    ['2026-07-15T04:59:00.000Z', '2026-07-15T05:00:00.000Z'],
    ['2026-07-15T22:30:00.000Z', '2026-07-16T05:00:00.000Z'],
    // Clocks go forward on 29 March at one o'clock UTC, and back on 25 October.
    ['2026-03-28T12:00:00.000Z', '2026-03-29T05:00:00.000Z'],
    ['2026-03-28T23:30:00.000Z', '2026-03-29T05:00:00.000Z'],
    ['2026-10-24T12:00:00.000Z', '2026-10-25T06:00:00.000Z'],
    ['2026-12-31T23:30:00.000Z', '2027-01-01T06:00:00.000Z'],
  ];
  for (const [now, morning] of cases) assert.equal(nextMorning('daily', new Date(now)).toISOString(), morning, now);
});

test('a weekly e-mail goes on Mondays', () => {
  const cases: readonly (readonly [now: string, morning: string])[] = [
    ['2026-03-09T05:59:00.000Z', '2026-03-09T06:00:00.000Z'],
    ['2026-03-09T06:00:00.000Z', '2026-03-16T06:00:00.000Z'],
    // Sunday night in UTC is Monday in Paris.
    ['2026-03-15T23:30:00.000Z', '2026-03-16T06:00:00.000Z'],
    ['2026-03-24T12:00:00.000Z', '2026-03-30T05:00:00.000Z'],
  ];
  for (const [now, morning] of cases) assert.equal(nextMorning('weekly', new Date(now)).toISOString(), morning, now);
});

test('a day is a day in Paris', () => {
  assert.equal(parisDayOf(new Date('2026-07-15T21:59:59Z')), '2026-07-15');
  assert.equal(parisDayOf(new Date('2026-07-15T22:00:00Z')), '2026-07-16');
});

test('a recipient is an address in any case, of one client', () => {
  assert.equal(mailKeyOf(CLIENT, 'Jo@Example.org'), mailKeyOf(CLIENT, 'jo@example.ORG'));
  assert.notEqual(mailKeyOf(CLIENT, 'jo@example.org'), mailKeyOf(uuidOf(CLIENT.replace(/1$/, '2')), 'jo@example.org'));
  assert.match(mailKeyOf(CLIENT, 'jo@example.org'), /^[0-9a-f]{32}$/);
});

test('emailStatus says the first thing that keeps e-mails from going', () => {
  const fine = { hasAddress: true, isRefused: false, isUnsubscribed: false };
  assert.equal(emailStatusOf(fine, true, true), 'active');
  assert.equal(emailStatusOf(fine, false, true), 'off');
  assert.equal(emailStatusOf(fine, true, false), 'unavailable');
  assert.equal(emailStatusOf({ ...fine, isRefused: true }, true, true), 'refused');
  assert.equal(emailStatusOf({ ...fine, isRefused: true, isUnsubscribed: true }, true, true), 'unsubscribed');
  assert.equal(emailStatusOf({ hasAddress: false, isRefused: true, isUnsubscribed: true }, true, true), 'off');
});

const MAIL = { address: 'jo@example.org', key: mailKeyOf(CLIENT, 'jo@example.org'), frequency: 'instant' } as const;
const PARTS = {
  advert: {
    title: 'T3 vue mer',
    price: 250_000,
    url: 'https://portal.example/annonce/1',
    pictures: ['javascript:alert(1)', 'data:image/png;base64,AA', 'https://portal.example/é.jpg'],
    contact: { agency: 'Agence', email: 'a@a.example', fax: null, name: 'N', phone: '+33', reference: 'R' },
  },
  property: { city: { insee: TOULON.insee, zipcode: null, name: null } },
};
const [CREATED, CHEAPER] = changesOf([
  upsertAt(0, PARTS),
  upsertAt(5, { ...PARTS, advert: { ...PARTS.advert, price: 240_000 } }),
]);

function reasonsOf(change: typeof CREATED, subscribedEvents: readonly (typeof EVENT_KINDS)[number][], begun: boolean) {
  return mailReasonsOf({ mail: MAIL, subscribedEvents }, change?.events ?? [], begun);
}

function propertyOf(change: typeof CREATED, notifiedPrice: number | null, reasons: readonly MailReason[]) {
  assert.ok(change?.held);
  const { state, crawls } = change.held;
  return mailProperty(propertyDocument(state, crawls, resolveToulon, { withContacts: false }), notifiedPrice, reasons);
}

test('an e-mail tells of the match that begins, and of events of the kinds that are subscribed', () => {
  const match = { type: 'match', kind: 'property.ad.create', oldValue: null, newValue: null };
  assert.deepEqual(reasonsOf(CREATED, [], true), [match]);
  assert.deepEqual(reasonsOf(CHEAPER, ['ad.update.price'], false), [
    { type: 'event', kind: 'ad.update.price', oldValue: '250000', newValue: '240000', advertUuid: ADVERT },
  ]);
  assert.deepEqual(reasonsOf(CHEAPER, ['ad.update.surface'], false), []);
  assert.deepEqual(mailReasonsOf({ mail: null, subscribedEvents: EVENT_KINDS }, CHEAPER?.events ?? [], true), []);
});

test('a property in it has web addresses alone and no contact', () => {
  const property = propertyOf(CHEAPER, null, reasonsOf(CHEAPER, [], true));
  assert.equal(property.picture, 'https://portal.example/%C3%A9.jpg');
  assert.equal(property.link, 'https://portal.example/annonce/1');
  assert.deepEqual([property.price, property.city], [240_000, TOULON.name]);
  assert.doesNotMatch(JSON.stringify(property), /a@a\.example|\+33/);
});

test('the price before is what the recipient last heard, else what the first change says, and none of a new match', () => {
  const cut = reasonsOf(CHEAPER, ['ad.update.price'], false);
  assert.equal(propertyOf(CHEAPER, 260_000, cut).priceBefore, 260_000);
  assert.equal(propertyOf(CHEAPER, null, cut).priceBefore, 250_000);
  assert.equal(propertyOf(CHEAPER, 240_000, cut).priceBefore, null);
  assert.equal(propertyOf(CHEAPER, null, [...reasonsOf(CREATED, [], true), ...cut]).priceBefore, null);
});

test('a property with a long title and a hostile address stays small', () => {
  const advert = { ...PARTS.advert, title: '😀'.repeat(5_000), url: 'javascript:alert(1)', pictures: [] };
  const [change] = changesOf([upsertAt(0, { ...PARTS, advert })]);
  const property = propertyOf(change, null, []);
  assert.deepEqual([property.link, property.picture], [null, null]);
  assert.equal(property.title?.isWellFormed?.() ?? true, true);
  assert.ok(JSON.stringify(property).length < 1_000);
});

test('the items of changes that one batch recorded are in the order of the changes', () => {
  const updatedAt = new Date('2026-03-10T08:15:00Z');
  const pairs = Array.from({ length: 20 }, () => ({
    route: { clientId: CLIENT, generation: 0, mail: MAIL, subscribedEvents: ['ad.update.price', 'property.ad.update'] },
    match: { id: CLIENT, searchNumber: 1, updatedAt },
    change: { events: CHEAPER?.events, propertyUuid: CLIENT, traceparent: null },
    hasBegun: false,
  }));
  const items = newMailItems(pairs as unknown as Parameters<typeof newMailItems>[0]);
  const ids = items.map(({ id }) => id);
  assert.equal(ids.length, 40);
  assert.deepEqual(ids, ids.toSorted());
});
