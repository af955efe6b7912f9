/** The day for which an e-mail counts, and the states of e-mails (decisions, section 12). */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emailStatusOf, parisDayOf } from '../src/engine/domain/mail.ts';

test('the day for which an e-mail counts is the day in Paris', () => {
  assert.equal(parisDayOf(new Date('2026-07-15T21:59:59Z')), '2026-07-15');
  assert.equal(parisDayOf(new Date('2026-07-15T22:00:00Z')), '2026-07-16');
});

test('emailStatus states the first reason why e-mails are not sent', () => {
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
