/** Alternatives in the console's editor: tabs with the fields of the search, on a running service. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ConsoleScene, openConsole } from '../support/console-scene.ts';

test('a client writes alternatives in tabs', { timeout: 300_000 }, async (t) => {
  const scene = await openConsole(t);
  await scene.page.do('look', { width: 1280, height: 800, scheme: 'light' });
  await scene.enter();
  await t.test('tabs appear with the first alternative, and are saved with their criteria', () => add(scene));
  await t.test('a violation opens and marks its tab, and is shown at its field', () => correct(scene));
  await t.test('tabs are operated with the keyboard, and removed', () => remove(scene));
});

const ADD = '.add-alternative';
const TABS = `[...document.querySelectorAll('[role=tab]')].map(({ textContent }) => textContent).join('|')`;
const FOCUSED = `document.activeElement.textContent`;
const CHOSEN_TAB = `document.querySelector('[aria-selected=true]').textContent`;

/** Clicks by script, because the page's sticky bar may cover the button. */
const press = (selector: string): string => `document.querySelector(${JSON.stringify(selector)}).click()`;

async function add({ page, rest, go, picture }: ConsoleScene): Promise<void> {
  await go('searches', 'new');
  await page.do('fill', { selector: 'input[name=title]', text: 'Ville ou jardin' });
  await page.do('fill', { selector: 'input[name=budgetMax]', text: '300000' });
  assert.equal(await page.do('evaluate', { expression: TABS }), '');
  await page.do('evaluate', { expression: press(ADD) });
  await page.do('until', { expression: `${FOCUSED} === 'or 1'` });
  assert.equal(await page.do('evaluate', { expression: TABS }), 'Every property|or 1');
  assert.equal(await page.do('evaluate', { expression: `document.querySelector('input[name=budgetMax]').value` }), '');
  await page.do('fill', { selector: '[role=combobox]', text: 'Toulon' });
  await page.do('click', { selector: '[role=option]' });
  await page.do('fill', { selector: 'input[name=roomMin]', text: '2' });
  await page.do('evaluate', { expression: press(ADD) });
  await page.do('until', { expression: `${FOCUSED} === 'or 2'` });
  await page.do('fill', { selector: 'input[name=surfaceMin]', text: '90' });
  await page.do('wait', { selector: '.preview[data-settled=true] .figures' });
  assert.deepEqual(await page.do('axe'), []);
  await picture('alternative');
  await page.do('evaluate', { expression: press('.save-bar .primary') });
  await page.do('wait', { selector: 'a[href^="#/deliveries/"]' });
  const id = (await page.do<string>('evaluate', { expression: 'location.hash' })).split('/').at(-1);
  const { body } = await rest.request('GET', `/searches/${id}`);
  const [toulon, large] = body.alternatives as readonly Readonly<Record<string, unknown>>[];
  assert.deepEqual([body.budgetMax, toulon?.roomMin, large], [300_000, 2, { surfaceMin: 90 }]);
  assert.ok(JSON.stringify(toulon).includes('/cities/83137'));
}

/** Continues on the saved search, which opens on its own criteria. */
async function correct({ page, picture }: ConsoleScene): Promise<void> {
  await page.do('click', { selector: '[role=tab]:nth-child(3)' });
  await page.do('wait', { selector: '[role=tabpanel][aria-labelledby=criteria-2]' });
  await page.do('fill', { selector: 'input[name=budgetMax]', text: '400000' });
  await page.do('until', { expression: `${TABS} === 'Every property|or 1|or 2 to correct'` });
  await page.do('click', { selector: '[role=tab]' });
  await page.do('wait', { selector: '[role=tabpanel][aria-labelledby=criteria-0]' });
  await page.do('evaluate', { expression: press('.save-bar .primary') });
  await page.do('until', { expression: `document.activeElement.matches('input[name=budgetMax][aria-invalid=true]')` });
  assert.equal(await page.do('evaluate', { expression: CHOSEN_TAB }), 'or 2 to correct');
  assert.deepEqual(await page.do('axe'), []);
  await picture('alternative-refused');
  await page.do('fill', { selector: 'input[name=budgetMax]', text: ' ' });
  await page.do('until', { expression: `${TABS} === 'Every property|or 1|or 2'` });
}

async function remove({ page }: ConsoleScene): Promise<void> {
  await page.do('evaluate', { expression: `document.querySelector('[role=tab][aria-selected=true]').focus()` });
  for (const [key, name] of Object.entries({
    ArrowRight: 'Every property',
    ArrowLeft: 'or 2',
    Home: 'Every property',
  })) {
    await page.do('press', { key });
    await page.do('until', { expression: `${FOCUSED} === '${name}'` });
  }
  await page.do('press', { key: 'End' });
  await page.do('until', { expression: `${FOCUSED} === 'or 2'` });
  await page.do('evaluate', { expression: press('[role=tabpanel] + .chips .danger') });
  await page.do('until', { expression: `${FOCUSED} === 'or 1'` });
  await page.do('evaluate', { expression: press('[role=tabpanel] + .chips .danger') });
  await page.do('until', { expression: `document.activeElement.matches('${ADD}')` });
  assert.equal(await page.do('evaluate', { expression: TABS }), '');
}
