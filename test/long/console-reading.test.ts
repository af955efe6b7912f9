/** The console for a screen reader: Chromium's accessibility tree, and lists too long to be drawn at once. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ConsoleScene, openConsole } from '../support/console-scene.ts';

const ADVERTS = 400;

test('views are read in order, and long lists are drawn only near the visible part', {
  timeout: 600_000,
}, async (t) => {
  const scene = await openConsole(t);
  const { rest, publish, receiver, enter, page } = scene;
  await page.do('look', { width: 1280, height: 800, scheme: 'light' });
  const { id } = await rest.createSearch({
    ...{ title: 'Toulon', includedCities: ['/cities/83137'], notificationEnabled: true, withCoherentPrice: null },
    endpointRecipient: receiver.urlOf('/matches'),
  });
  await publish(...Array.from({ length: ADVERTS }, (_, at) => ({ title: `Annonce ${at}`, price: 100_000 + at })));
  await receiver.until((posts) => posts.length === ADVERTS);
  await enter();
  await t.test('the list of results is read in its order', () => readList(scene));
  await t.test('a property is read in its order', () => readProperty(scene));
  await t.test('the searches and the editor are read in their order', () => readSearches(scene, id));
  await t.test('the deliveries are read in their order', () => readDeliveries(scene));
  await t.test('only rows near the visible part are drawn', () => scroll(scene));
});

interface Told {
  readonly role: string;
  readonly name: string;
  readonly level?: number;
}

const CONTROLS = /^(?:button|link|textbox|searchbox|combobox|checkbox|switch|option|spinbutton|progressbar|img|image)$/;

/**
 * Checks that the view has the required landmarks, headings and named controls, and that `parts` appear in this order.
 */
async function readsAs(
  { page }: ConsoleScene,
  parts: readonly (readonly [role: string, name: RegExp])[],
): Promise<void> {
  const told = await page.do<Told[]>('reading');
  const named = (role: string): readonly string[] => told.filter((one) => one.role === role).map(({ name }) => name);
  assert.deepEqual([named('banner').length, named('navigation'), named('main').length], [1, ['Vigie console'], 1]);
  assert.ok(named('main')[0] !== '');
  const headings = told.filter(({ role }) => role === 'heading').map(({ level }) => Number(level));
  assert.equal(headings[0], 1);
  assert.equal(headings.filter((level) => level === 1).length, 1);
  for (const [at, level] of headings.entries()) assert.ok(level <= (headings[at - 1] ?? 0) + 1, headings.join());
  const nameless = told.filter(({ role, name }) => CONTROLS.test(role) && name.trim() === '');
  assert.deepEqual(nameless, []);
  let from = told.findIndex(({ role }) => role === 'main');
  for (const [role, name] of parts) {
    const at = told.findIndex((one, position) => position > from && one.role === role && name.test(one.name));
    const after = told.slice(from + 1).map((one) => `${one.role} ${one.name}`);
    assert.ok(
      at > from,
      `${role} ${name} is not read after ${told[from]?.name}, but: ${after.slice(0, 60).join(' | ')}`,
    );
    from = at;
  }
}

/** Reads the results of all searches, then those of one search, which can be exported. */
async function readList(scene: ConsoleScene): Promise<void> {
  await scene.page.do('until', {
    expression: `document.querySelector('#results')?.innerText.startsWith('${ADVERTS}')`,
  });
  await readsAs(scene, [
    ['heading', /^Map$/],
    ['combobox', /^Search$/],
    ['combobox', /^Period$/],
    ['button', /^For sale|^Sale/],
    ['heading', /^400 notified properties$/],
    ['searchbox', /^Title, city/],
    ['combobox', /^Sort by$/],
    ['list', /^/],
    ['listitem', /^/],
    ['link', /€100,\d{3}.*Annonce/],
    ['region', /^Map$/],
    ['button', /^Zoom in$/],
    ['button', /^Show all$/],
  ]);
  await scene.chooseSearch('Toulon');
  await scene.page.do('wait', { selector: '#results ::-p-text(400 properties found now)' });
  await readsAs(scene, [
    ['combobox', /^Search$/],
    ['heading', /^400 properties found now/],
    ['button', /^Export/],
    ['searchbox', /^Title, city/],
    ['region', /^Map$/],
  ]);
  await scene.chooseSearch('');
  await scene.page.do('wait', { selector: '#results::-p-text(400 notified properties)' });
}

async function readProperty(scene: ConsoleScene): Promise<void> {
  await scene.page.do('click', { selector: '[data-list=matches] a' });
  await scene.page.do('wait', { selector: '.sent .tag[data-state=delivered]' });
  await scene.page.do('wait', { selector: '.for-whom li a' });
  await readsAs(scene, [
    ['link', /Back/],
    ['heading', /^Annonce/],
    ['button', /^Show on the map$/],
    ['link', /^Why this property/],
    ['heading', /^1 advert/],
    ['heading', /^Price history/],
    ['heading', /^For whom/],
    ['link', /^Toulon$/],
    ['heading', /^What was sent/],
    ['region', /^Map$/],
  ]);
}

async function readSearches(scene: ConsoleScene, id: string): Promise<void> {
  await scene.go('searches');
  await readsAs(scene, [
    ['heading', /^Searches$/],
    ['link', /^New search$/],
    ['list', /^/],
    ['link', /^Toulon/],
    ['switch', /Notifications of “Toulon”/],
    ['region', /^Map$/],
  ]);
  await scene.go('searches', id);
  await scene.page.do('wait', { selector: '.preview[data-settled=true] .figures' });
  await readsAs(scene, [
    ['link', /Searches/],
    ['heading', /^Toulon$/],
    ['textbox', /^Title$/],
    ['region', /^Preview$/],
    ['group', /^Where$/],
    ['combobox', /^Add a city/],
    ['button', /^Remove Toulon/],
    ['group', /^The home$/],
    ['textbox', /^Budget/],
    ['group', /^Words of/],
    ['group', /^Notifications$/],
    ['button', /^Delete$/],
    ['button', /^Copy$/],
    ['button', /^Save$/],
    ['region', /^Map$/],
  ]);
}

async function readDeliveries(scene: ConsoleScene): Promise<void> {
  await scene.go('deliveries');
  await scene.page.do('wait', { selector: '.delivery' });
  await readsAs(scene, [
    ['heading', /^Deliveries$/],
    ['combobox', /^Search$/],
    ['combobox', /^State$/],
    ['combobox', /^Channel$/],
    ['list', /^/],
    ['listitem', /^/],
    ['button', /Annonce/],
    ['button', /^Older$/],
  ]);
}

/** More rows than fit on a screen and its surroundings. */
const DRAWN_MAX = 200;

async function scroll({ page, go, picture }: ConsoleScene): Promise<void> {
  await go('map');
  const rows = `document.querySelectorAll('.result').length`;
  await page.do('until', { expression: `${rows} > 0` });
  for (let from = 0; from < ADVERTS; from += 40) {
    assert.ok((await page.do<number>('evaluate', { expression: rows })) <= DRAWN_MAX);
    const main = `document.querySelector('main')`;
    await page.do('evaluate', { expression: `${main}.scrollTop = ${main}.scrollHeight * ${(from + 40) / ADVERTS}; 0` });
    // Rows are visible at every scroll position.
    const seen = `document.elementFromPoint(200, 500)?.closest('.result') !== null`;
    await page.do('until', { expression: seen });
  }
  const last = `[...document.querySelectorAll('[aria-posinset]')].at(-1)`;
  await page.do('until', {
    expression: `${last}.ariaPosInSet === '${ADVERTS}' && ${last}.ariaSetSize === '${ADVERTS}'`,
  });
  assert.ok((await page.do<number>('evaluate', { expression: rows })) <= DRAWN_MAX);
  await picture('list-end');
  assert.deepEqual(await page.do('axe'), []);
}
