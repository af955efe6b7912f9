/** When e-mails go, and what their state is called (decisions, section 12). */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emailStatusOf, nextMorning, parisDayOf } from '../src/engine/domain/mail.ts';

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

test('emailStatus says the first thing that keeps e-mails from going', () => {
  const fine = { key: 'k', isRefused: false, isUnsubscribed: false, isErased: false };
  const search = { notificationEnabled: true, notificationConsent: null };
  const rules = { isMailAvailable: true, isConsentRequired: false };
  const strict = { ...rules, isConsentRequired: true };
  const consent = { source: 'form', at: '2026-03-10T08:00:00+01:00' };
  assert.equal(emailStatusOf(fine, search, rules), 'active');
  assert.equal(emailStatusOf(fine, { ...search, notificationEnabled: false }, rules), 'off');
  assert.equal(emailStatusOf(fine, search, { ...strict, isMailAvailable: false }), 'unavailable');
  assert.equal(emailStatusOf(fine, search, strict), 'consent-missing');
  assert.equal(emailStatusOf(fine, { ...search, notificationConsent: consent }, strict), 'active');
  assert.equal(
    emailStatusOf({ ...fine, isErased: true }, { ...search, notificationConsent: consent }, rules),
    'consent-missing',
  );
  assert.equal(emailStatusOf({ ...fine, isRefused: true, isErased: true }, search, strict), 'refused');
  assert.equal(emailStatusOf({ ...fine, isRefused: true, isUnsubscribed: true }, search, strict), 'unsubscribed');
  assert.equal(emailStatusOf({ ...fine, key: null, isRefused: true, isUnsubscribed: true }, search, rules), 'off');
});
