/** The console without a mouse: Tab reaches everything, Enter operates it, and the focus is never lost. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RemotePage } from '../support/browser.ts';
import { type ConsoleScene, openConsole } from '../support/console-scene.ts';

test('a search is written, corrected, used and deleted with the keyboard alone', { timeout: 300_000 }, async (t) => {
  const scene = await openConsole(t);
  await scene.page.do('look', { width: 1280, height: 800, scheme: 'light' });
  await t.test('the key can be typed as soon as the page is open', () => signIn(scene));
  await t.test('the views can be skipped', () => skipViews(scene));
  await t.test('the focus moves to a refused field', () => writeSearch(scene));
  await t.test('a folded field with an error is unfolded, and the error is in French', () => unfold(scene));
  await t.test('a match can be opened, and closing it returns to the previous place', () => openMatch(scene));
  await t.test('a confirmation keeps the focus until it is answered', () => answerQuestion(scene));
  await t.test('a link with another key replaces the current key only after a confirmation', () => bringKey(scene));
});

async function bringKey({ page, key }: ConsoleScene): Promise<void> {
  const open = (brought: string, answer: boolean) =>
    page.do('evaluate', {
      expression: `window.asked = null;
        window.confirm = (text) => { window.asked = text; return ${answer}; };
        location.hash = ${JSON.stringify(`#key=${brought}`)}; 0`,
    });
  const keptKey = () => page.do('evaluate', { expression: `sessionStorage.getItem('vigie.key')` });
  await open('vigie_another', false);
  await page.do('until', { expression: `window.asked !== null && location.hash === ''` });
  assert.equal(await keptKey(), key);
  await open('vigie_another', true);
  await page.do('until', { expression: `sessionStorage.getItem('vigie.key') !== ${JSON.stringify(key)}` });
}

const TABS_MAX = 200;

/** Presses Tab until the element has the focus. */
async function tabTo(page: RemotePage, selector: string): Promise<void> {
  for (let pressed = 0; pressed < TABS_MAX; pressed++) {
    await page.do('press', { key: 'Tab' });
    if (await isFocused(page, selector)) return;
  }
  assert.fail(`${selector} is not reached with Tab`);
}

function isFocused(page: RemotePage, selector: string): Promise<boolean> {
  return page.do('evaluate', { expression: `document.activeElement.matches(${JSON.stringify(selector)})` });
}

function focusComes(page: RemotePage, selector: string): Promise<null> {
  return page.do('until', { expression: `document.activeElement.matches(${JSON.stringify(selector)})` });
}

async function write(page: RemotePage, selector: string, text: string): Promise<void> {
  await tabTo(page, selector);
  await page.do('type', { text });
}

async function enterOn(page: RemotePage, selector: string): Promise<void> {
  await tabTo(page, selector);
  await page.do('press', { key: 'Enter' });
}

async function signIn({ page, address, key }: ConsoleScene): Promise<void> {
  await page.do('goto', { url: address });
  await focusComes(page, 'input[name=key]');
  await page.do('type', { text: key });
  await page.do('press', { key: 'Enter' });
  await page.do('wait', { selector: '.empty-title' });
}

async function skipViews({ page }: ConsoleScene): Promise<void> {
  await page.do('press', { key: 'Tab' });
  assert.ok(await isFocused(page, '.skip'));
  await page.do('press', { key: 'Enter' });
  await focusComes(page, 'main');
  await enterOn(page, '.empty a.button');
  await focusComes(page, 'main');
}

async function writeSearch({ page }: ConsoleScene): Promise<void> {
  await write(page, 'input[name=title]', 'Sans souris');
  await nameCity(page);
  await excludeCity(page);
  await write(page, 'input[name=budgetMin]', '900 000');
  await write(page, 'input[name=budgetMax]', '300 000');
  await enterOn(page, '.save-bar .primary');
  await focusComes(page, 'input[name=budgetMin][aria-invalid=true]');
  for (let length = '900 000'.length; length > 0; length--) await page.do('press', { key: 'Backspace' });
  await page.do('type', { text: '100000' });
  await enterOn(page, '.save-bar .primary');
  await page.do('wait', { selector: '.save-bar .danger' });
  await focusComes(page, 'main');
}

const PLACES_OF_WHAT_IS_TYPED = '[role=listbox][aria-busy=false] [role=option]';

/** Chooses Toulon with the arrow keys, then by typing before its list is loaded. For `Toul` Toulouse was first. */
async function nameCity(page: RemotePage): Promise<void> {
  await write(page, '[role=combobox]', 'Toulon');
  await page.do('wait', { selector: PLACES_OF_WHAT_IS_TYPED });
  for (const key of ['ArrowDown', 'ArrowUp', 'Enter']) await page.do('press', { key });
  await page.do('wait', { selector: '.chip-static' });
  await enterOn(page, '.chip-static button');
  await page.do('gone', { selector: '.chip-static' });
  assert.ok(await isFocused(page, '[role=combobox]'));
  await page.do('type', { text: 'Toul' });
  await page.do('wait', { selector: PLACES_OF_WHAT_IS_TYPED });
  await page.do('type', { text: 'on' });
  await page.do('press', { key: 'Enter' });
  await page.do('wait', { selector: '.chip-static' });
  assert.match(await page.do<string>('text', { selector: '.chip-static' }), /^Toulon/);
}

async function excludeCity(page: RemotePage): Promise<void> {
  await enterOn(page, 'details:has([role=combobox]) summary');
  await write(page, 'details [role=combobox]', 'Nice');
  await page.do('press', { key: 'Enter' });
  await page.do('wait', { selector: 'details .chip-static' });
  await enterOn(page, 'details .chip-static button');
  await page.do('gone', { selector: 'details .chip-static' });
  assert.ok(await isFocused(page, 'details [role=combobox]'));
}

const MORE_CRITERIA = 'details:has(input[name=pricePerMeterMin])';

async function unfold({ page }: ConsoleScene): Promise<void> {
  await page.do('click', { selector: 'button[lang=fr]' });
  await page.do('wait', { selector: '::-p-text(Autres montants)' });
  await enterOn(page, `${MORE_CRITERIA} summary`);
  await write(page, 'input[name=pricePerMeterMin]', '9000');
  await write(page, 'input[name=pricePerMeterMax]', '1000');
  await page.do('evaluate', { expression: `document.querySelector('${MORE_CRITERIA}').open = false` });
  await enterOn(page, '.save-bar .primary');
  await focusComes(page, 'input[name=pricePerMeterMin][aria-invalid=true]');
  assert.ok(await page.do('evaluate', { expression: `document.querySelector('${MORE_CRITERIA}').open` }));
  const told = await page.do<string>('text', { selector: `${MORE_CRITERIA} .violation` });
  assert.match(told, /^ne doit pas dépasser le maximum, qui est de 1.000$/);
  assert.deepEqual(await page.do('axe'), []);
  await page.do('click', { selector: 'button[lang=en]' });
}

async function openMatch({ page, publish }: ConsoleScene): Promise<void> {
  await publish({ title: 'Au clavier', price: 230_000 });
  await enterOn(page, 'nav a[data-view=map]');
  await page.do('wait', { selector: '[data-list=matches] a' });
  await enterOn(page, '[data-list=matches] a');
  await page.do('wait', { selector: '.property .facts' });
  await focusComes(page, 'main');
  await enterOn(page, '.back');
  await focusComes(page, 'main');
  assert.equal(await page.do('evaluate', { expression: 'document.title' }), 'Map – Vigie');
}

async function answerQuestion({ page, rest }: ConsoleScene): Promise<void> {
  await enterOn(page, 'nav a[data-view=searches]');
  await enterOn(page, '.search-row a');
  await enterOn(page, '.save-bar .danger');
  await page.do('wait', { selector: 'dialog[open]' });
  for (let pressed = 0; pressed < 4; pressed++) {
    await page.do('press', { key: 'Tab' });
    assert.ok(await isFocused(page, 'dialog button, body'));
  }
  await page.do('press', { key: 'Escape' });
  await focusComes(page, '.save-bar .danger');
  await page.do('press', { key: 'Enter' });
  await enterOn(page, 'dialog .danger');
  await page.do('wait', { selector: '.empty-title' });
  await focusComes(page, 'main');
  const { body } = await rest.request<{ 'hydra:totalItems': number }>('GET', '/searches');
  assert.equal(body['hydra:totalItems'], 0);
}
