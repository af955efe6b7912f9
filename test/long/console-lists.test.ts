/** The lists of an agency in the console: its searches, which can be filtered, and the recipients of its e-mails. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ConsoleScene, openConsole } from '../support/console-scene.ts';
import { until } from '../support/until.ts';

/** A mail server that is never contacted. */
const MAIL = {
  VIGIE_SMTP_URL: 'smtp://127.0.0.1:1025',
  VIGIE_MAIL_FROM: 'alertes@agence.example',
  VIGIE_PUBLIC_URL: 'https://vigie.example',
};
const LONG = 'Donaudampfschifffahrtsgesellschaft'.repeat(4);
const SCREENS = [
  [1440, 900, 'light'],
  [390, 844, 'dark'],
] as const;

test('an agency finds its searches and recipients among many', { timeout: 600_000 }, async (t) => {
  const scene = await openConsole(t, MAIL);
  await scene.rest.createSearch({
    ...{ title: 'Famille Œuvrard', transactionType: 0, propertyTypes: [0], includedCities: ['/cities/83137'] },
    ...{ budgetMax: 300_000, roomMin: 3, notificationEnabled: true, notificationRecipient: 'zoe@example.org' },
    ...{ notificationFrequency: 'daily', context: { folder: 'D-1042' } },
    notificationConsent: { source: 'formulaire', at: '2026-03-10T08:15:00+01:00' },
  });
  await scene.rest.createSearch({
    ...{ title: `Studio ${LONG}`, transactionType: 1, budgetMin: 400, budgetMax: 600, roomMin: 1, roomMax: 1 },
    ...{ includedInseeCodes: ['83137'], notificationRecipient: `${'luc'.repeat(20)}@example.org` },
  });
  await scene.publish({ title: `Vue ${LONG}`, price: 250_000 });
  const first = () => scene.rest.request<{ 'hydra:member': Record<string, unknown>[] }>('GET', '/searches?q=d-1042');
  await until(first, ({ body }) => body['hydra:member'][0]?.matchedLast7Days === 1);
  for (const [width, height, scheme] of SCREENS) {
    await scene.page.do('look', { width, height, scheme });
    await scene.enter();
    await t.test(`a row shows the criteria and the recipients of a search, ${width}`, () => readRows(scene));
    await t.test(`rows are filtered by text and by state, ${width}`, () => filterRows(scene));
    await t.test(`long words of a property stay within the page, ${width}`, () => readProperty(scene));
    await t.test(`a recipient is shown, exported and erased, ${width}`, () =>
      eraseRecipient(scene, `${width}@example.org`),
    );
  }
});

async function isAccessible({ page, picture }: ConsoleScene, name: string): Promise<void> {
  const { innerWidth } = await page.do<{ innerWidth: number }>('evaluate', { expression: '({ innerWidth })' });
  await picture(`${name}-${innerWidth}`);
  assert.deepEqual(await page.do('axe'), []);
  const beyond = `(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('main'))`;
  assert.equal(await page.do('evaluate', { expression: beyond }), 0);
}

const ROWS = `[...document.querySelectorAll('.search-row')].map(({ innerText }) => innerText)`;
const rowCountIs = (count: number): string => `${ROWS}.length === ${count}`;

async function readRows(scene: ConsoleScene): Promise<void> {
  const { page, go } = scene;
  await go('searches');
  await page.do('until', { expression: rowCountIs(2) });
  const [family, studio] = await page.do<string[]>('evaluate', { expression: ROWS });
  assert.match(
    String(family),
    /Sale · Apartment · Toulon \(83000\)\s+Budget: ≤ €300,000 · Rooms: ≥ 3\s+zoe@example\.org · Daily at 7:00\s+New properties will be sent by e-mail\.\s+1 match in 7 days · No alert yet\s+Notifications$/,
  );
  assert.match(String(studio), /Rent · 83137\s+Budget: €400 – €600 · Rooms: 1\s+luc.*\s+Notifications are off/);
  await isAccessible(scene, 'rows');
}

async function filterRows(scene: ConsoleScene): Promise<void> {
  const { page, go } = scene;
  await page.do('fill', { selector: '.overview input[type=search]', text: 'oeuvrard d-1042' });
  await page.do('until', { expression: rowCountIs(1) });
  await page.do('choose', { selector: '.overview select', value: 'off' });
  await page.do('until', {
    expression: `document.querySelector('main').innerText.includes('No search matches this filter.')`,
  });
  await isAccessible(scene, 'filtered');
  await page.do('choose', { selector: '.overview select', value: 'active' });
  await page.do('until', { expression: `${ROWS}.join().includes('Œuvrard')` });
  // The filter is kept when the user returns to the list.
  await page.do('click', { selector: '.search-row a' });
  await page.do('click', { selector: '.back' });
  await page.do('until', { expression: rowCountIs(1) });
  await page.do('fill', { selector: '.overview input[type=search]', text: ' ' });
  await page.do('choose', { selector: '.overview select', value: '' });
  await page.do('until', { expression: rowCountIs(2) });
  await go('map');
}

async function readProperty(scene: ConsoleScene): Promise<void> {
  await scene.go('map');
  await scene.page.do('click', { selector: '[data-list=matches] a' });
  await scene.page.do('wait', { selector: '.property .facts' });
  await isAccessible(scene, 'long-words');
}

async function eraseRecipient(scene: ConsoleScene, address: string): Promise<void> {
  const { page, rest, go } = scene;
  const { iri } = await rest.createSearch({ title: `Pour ${address}`, notificationRecipient: address });
  await go('recipients');
  const cards = `[...document.querySelectorAll('.cards > li')]`;
  await page.do('until', { expression: `${cards}.length === 3` });
  const texts = await page.do<string[]>('evaluate', { expression: `${cards}.map(({ innerText }) => innerText)` });
  assert.match(
    String(texts.at(-1)),
    /^zoe@example\.org\s+E-mails active 1 search\s+No e-mail yet · Consent of 10 Mar 2026: formulaire/,
  );
  await isAccessible(scene, 'recipients');
  await page.do('fill', { selector: 'main input[type=search]', text: address.toUpperCase() });
  await page.do('until', { expression: `${cards}.length === 1` });
  const press = (name: string) => page.do('click', { selector: `.cards button::-p-text(${name})` });
  await press('Stored data');
  await page.do('wait', { selector: `.cards .plain a::-p-text(Pour ${address})` });
  await page.do('evaluate', {
    expression: `URL.createObjectURL = (file) => (void file.text().then((text) => (window.exported = text)), 'blob:none'); 0`,
  });
  await press('Export');
  await page.do('until', { expression: `JSON.parse(window.exported ?? '{}').address === ${JSON.stringify(address)}` });
  await press('Erase');
  await page.do('wait', { selector: 'dialog[open]' });
  await isAccessible(scene, 'erase');
  await page.do('click', { selector: 'dialog .danger' });
  await page.do('until', {
    expression: `document.querySelector('.cards').innerText.includes('No search sends e-mails')`,
  });
  assert.equal((await rest.request('GET', iri)).body.notificationRecipient, null);
  await press('Stored data');
  await page.do('until', { expression: `document.querySelector('.cards .plain')?.innerText.startsWith('Erased: ')` });
  await isAccessible(scene, 'erased');
  await rest.request('DELETE', iri);
}
