/** The console's map: all listed results, the places chosen in the search form, and the preview of a search. */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { type ConsoleScene, openConsole } from '../support/console-scene.ts';
import type { RestClient } from '../support/rest-client.ts';
import { until } from '../support/until.ts';

test('the map shows the listed properties and the chosen places', { timeout: 600_000 }, async (t) => {
  const scene = await openConsole(t);
  const { page, rest, publish, enter } = scene;
  await page.do('look', { width: 1280, height: 800, scheme: 'light', timeZone: 'America/Guadeloupe' });
  const receiver = { notificationEnabled: true, endpointRecipient: scene.receiver.urlOf('/') };
  await rest.createSearch({ title: 'Partout', ...receiver });
  await rest.createSearch({ title: 'Près du port', lat: '43.1258', lon: '5.9306', radius: '5', ...receiver });
  await publish(
    { title: 'Au port', price: 200_000 },
    { title: 'Au Mourillon', price: 300_000, lat: 43.108, lon: 5.94 },
    { title: 'À Dunkerque', price: 150_000, lat: 51.034, lon: 2.377 },
  );
  await scene.receiver.until((posts) => posts.length === 5);
  await enter();
  await t.test('the first view and “Show all” contain all listed properties', () => seeAll(scene));
  await t.test('a property is one row for all its searches, and names them', () => readForWhom(scene));
  await t.test('neighbouring countries and shores are land, the sea is not', () => showLand(scene));
  await t.test('towns and departments are shown as outlines, zip codes are marked, and the map is centred on all', () =>
    choosePlaces(scene),
  );
  await t.test('“Why?” names the property, and states in both languages that it is outside an area', () =>
    askWhy(scene),
  );
  await t.test(
    'the map shows the properties that the preview counts, and the preview names the days of its average',
    () => preview(scene),
  );
});

/** The radius of the search is 5 km. The published location is about 18 km from the centre. */
async function askWhy({ page, rest, publish, go, picture }: ConsoleScene): Promise<void> {
  const property = randomUUID();
  await publish({ property, title: 'Villa à Hyères', price: 450_000, lat: 43.1258, lon: 6.1556 });
  const explained = () => rest.request<{ 'hydra:totalItems': number }>('GET', `/explanations?property=${property}`);
  await until(explained, ({ body }) => body['hydra:totalItems'] >= 1);
  await go('why', property);
  const search = await searchNamed(rest, 'Près du port');
  await page.do('wait', { selector: `main option[value="${search}"]` });
  await page.do('choose', { selector: 'main select', value: search });
  await page.do('wait', { selector: '.named a' });
  assert.match(await page.do('text', { selector: '.named' }), /Villa à Hyères\s+Apartment · Toulon · €450,000/);
  const reason = `document.querySelector('.criteria li[data-holds=false]')?.textContent`;
  await page.do('until', { expression: `${reason}?.includes('The property is outside the area searched.')` });
  await picture('why-far');
  await page.do('click', { selector: 'button[lang=fr]' });
  await page.do('until', { expression: `${reason}?.includes('Le bien est en dehors de la zone recherchée.')` });
  await page.do('click', { selector: 'button[lang=en]' });
  await publish({ property, title: 'Villa à Hyères', price: 450_000, lat: 43.1258, lon: 5.9306 });
}

/** Resolves with the search's IRI. */
async function searchNamed(rest: RestClient, title: string): Promise<string> {
  const path = `/searches?title=${encodeURIComponent(title)}`;
  const { body } = await rest.request<{ 'hydra:member': readonly { '@id': string }[] }>('GET', path);
  return body['hydra:member'][0]?.['@id'] ?? '';
}

/** The extent of one colour's opaque pixels in a layer, and how far its middle is from the map's; null without any. */
const extentOf = (pane: 'below' | 'pins', colour: string, opacityMin = 200): string => `(() => {
  const canvas = document.querySelector('.leaflet-${pane}-pane canvas');
  const { data, width } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  const probe = document.body.appendChild(document.createElement('i'));
  probe.style.color = 'var(--map-${colour})';
  const wanted = getComputedStyle(probe).color.match(/\\d+/g).map(Number);
  probe.remove();
  const map = document.querySelector('.map').getBoundingClientRect();
  const own = canvas.getBoundingClientRect();
  const found = { left: Infinity, right: -Infinity, top: Infinity, bottom: -Infinity };
  for (let at = 0; at < data.length; at += 4) {
    if (data[at + 3] < ${opacityMin} || wanted.some((value, channel) => Math.abs(data[at + channel] - value) > 12)) continue;
    const x = own.x - map.x + ((at / 4) % width) * own.width / canvas.width;
    const y = own.y - map.y + Math.floor(at / 4 / width) * own.height / canvas.height;
    if (x < 0 || y < 0 || x > map.width || y > map.height) continue;
    Object.assign(found, { left: Math.min(found.left, x), right: Math.max(found.right, x) });
    Object.assign(found, { top: Math.min(found.top, y), bottom: Math.max(found.bottom, y) });
  }
  if (found.left > found.right) return null;
  const off = Math.hypot((found.left + found.right - map.width) / 2, (found.top + found.bottom - map.height) / 2);
  return { ...found, off };
})()`;

/** True if the map shows Dunkerque and Toulon: the pins then extend over more than half of its height. */
const ALL_IN_SIGHT = `(({ top, bottom } = { top: 0, bottom: 0 }) => bottom - top > 0.5 * document.querySelector('.map').clientHeight)(${extentOf('pins', 'sale')} ?? undefined)`;

async function seeAll({ page, chooseSearch, picture }: ConsoleScene): Promise<void> {
  await page.do('until', { expression: ALL_IN_SIGHT });
  await picture('map-first');
  await page.do('wheel', { x: 900, y: 500, deltaY: -1_500 });
  await page.do('until', { expression: `!${ALL_IN_SIGHT}` });
  await page.do('click', { selector: '.whole' });
  await page.do('until', { expression: ALL_IN_SIGHT });
  // With one search chosen, the map shows its results.
  await chooseSearch('Près du port');
  await page.do('until', { expression: `document.querySelectorAll('.result').length === 2` });
  await page.do('until', { expression: `${extentOf('below', 'chosen')}?.off < 4` });
  await chooseSearch('');
}

async function readForWhom({ page }: ConsoleScene): Promise<void> {
  const rows = `[...document.querySelectorAll('.result')].map(({ innerText }) => innerText).sort().join('|')`;
  await page.do('until', { expression: `/Près du port · Partout|Partout · Près du port/.test(${rows})` });
  assert.equal(await page.do('evaluate', { expression: `document.querySelectorAll('.result').length` }), 3);
  assert.equal(await page.do('evaluate', { expression: `document.querySelectorAll('.result svg').length` }), 3);
  await page.do('click', { selector: '[data-list=matches] ::-p-text(À Dunkerque)' });
  const told = `document.querySelector('.for-whom')?.innerText.replaceAll(/\\s+/g, ' ')`;
  await page.do('until', { expression: `/Partout The property began to match the search on /.test(${told})` });
  assert.ok(!(await page.do<string>('evaluate', { expression: told })).includes('Près du port'));
  await page.do('click', { selector: '.property .back' });
}

/** Places with coordinates and whether they are on land. Near borders and shores, data of two sources meets. */
const GROUNDS: Readonly<Record<string, readonly [lat: string, lon: string, isLand: boolean]>> = {
  'Au large': ['42.9', '5.6', false],
  Berne: ['46.948', '7.447', true],
  'Le lac Léman': ['46.44', '6.55', false],
  Jussy: ['46.24', '6.293', true],
  Lausanne: ['46.53', '6.64', true],
  Musson: ['49.575', '5.705', true],
  'Devant Menton': ['43.75', '7.55', false],
  'À l’est de Menton': ['43.815', '7.58', true],
  'Monte-Carlo': ['43.7395', '7.4275', true],
  'Quai de Toulon': ['43.1225', '5.9305', true],
};

/** True if the middle of the map is land. Nothing is painted on the sea. */
const IS_LAND = `(() => {
  const canvas = document.querySelector('.leaflet-land-pane canvas');
  return canvas.getContext('2d').getImageData(canvas.width / 2, canvas.height / 2, 1, 1).data[3] > 200;
})()`;

async function showLand({ page, rest, enter, chooseSearch, picture }: ConsoleScene): Promise<void> {
  const made = await Promise.all(
    Object.entries(GROUNDS).map(([title, [lat, lon]]) => rest.createSearch({ title, lat, lon, radius: '1' })),
  );
  await enter();
  for (const [title, [, , isLand]] of Object.entries(GROUNDS)) {
    await chooseSearch(title);
    await page.do('until', { expression: `${extentOf('below', 'chosen')}?.off < 4` });
    // The shore is coarse until the communes are loaded.
    await page.do('until', { expression: `${IS_LAND} === ${isLand}` });
    await picture(`land-${title}`);
  }
  for (const { iri } of made) await rest.request('DELETE', iri);
  await enter();
}

const RING = 'extent.right - extent.left > 12 && extent.right - extent.left < 60';
const OUTLINE = 'Math.max(extent.right - extent.left, extent.bottom - extent.top) > 300';
/** True if the map shows other searches, which have pale lines. */
const HAS_OTHERS = `${extentOf('below', 'area', 100)} !== null`;

async function choosePlaces({ page, rest, go, chooseSearch, picture }: ConsoleScene): Promise<void> {
  await page.do('until', { expression: HAS_OTHERS });
  await go('searches', 'new');
  await page.do('until', { expression: `!(${HAS_OTHERS})` });
  const marked = async (name: string, isMark: string): Promise<void> => {
    await page.do('until', {
      expression: `((extent) => extent?.off < 4 && ${isMark})(${extentOf('below', 'chosen')})`,
    });
    await picture(`chosen-${name}`);
  };
  const choose = async (text: string): Promise<void> => {
    // Removes the former choice, which the map would show until the new choice is loaded.
    await page.do('evaluate', { expression: `document.querySelector('.chip-static button')?.click()` });
    await page.do('gone', { selector: '.chip-static' });
    await page.do('until', { expression: `${extentOf('below', 'chosen')} === null` });
    await page.do('fill', { selector: 'fieldset [role=combobox]', text });
    await page.do('press', { key: 'Enter' });
    await page.do('until', {
      expression: `[...document.querySelectorAll('.chip-static')].some(({ innerText }) => innerText.includes('${text}'))`,
    });
  };
  await choose('Toulon');
  await marked('town', OUTLINE);
  // The outline of this village would be invisible on a map of the whole country.
  await choose('Rochefourchat');
  await marked('village', OUTLINE);
  // The arrondissement of this zip code has no outline.
  await choose('75011');
  await marked('zip-code', RING);
  await choose('Var');
  await marked('department', OUTLINE);
  await go('map');
  const { id } = await rest.createSearch({ title: 'Toulon', includedCities: ['/cities/83137'] });
  await go('searches', id);
  await marked('saved', OUTLINE);
  await go('searches');
  // The page loads searches created elsewhere when it shows the list.
  await page.do('wait', { selector: '.search-row ::-p-text(Toulon)' });
  await go('map');
  await chooseSearch('Toulon');
  await marked('listed', OUTLINE);
  await chooseSearch('');
}

async function preview({ page, receiver, go, picture }: ConsoleScene): Promise<void> {
  await go('searches', 'new');
  await page.do('click', { selector: '::-p-text(Discard the changes)' });
  const counts = async (count: number): Promise<void> => {
    const figure = `document.querySelector('.preview[data-settled=true] .figures strong')?.innerText`;
    await page.do('until', { expression: `${figure} === '${count}'` });
  };
  await counts(4);
  await page.do('click', { selector: '.whole' });
  await page.do('until', { expression: ALL_IN_SIGHT });
  const told = await page.do<string>('text', { selector: '.preview' });
  // A few minutes of changes give no daily average.
  assert.doesNotMatch(told, /\d\s+a day/);
  // A preview counts days in Paris time, wherever it is read. The first match began with the first change.
  const { match } = JSON.parse(String(receiver.posts[0]?.body)) as { match: { createdAt: string } };
  const inParis = { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'Europe/Paris' } as const;
  const since = new Intl.DateTimeFormat('en-GB', inParis).format(new Date(match.createdAt));
  assert.ok(told.includes(`No daily average yet: ${since} is the first day with data.`), told);
  await picture('previewed');
  // Only the advert at Dunkerque is found, although another search finds all adverts.
  await page.do('fill', { selector: 'input[name=budgetMax]', text: '160000' });
  await counts(1);
  await page.do('until', { expression: `${extentOf('pins', 'sale')} !== null && !${ALL_IN_SIGHT}` });
  await page.do('fill', { selector: 'input[name=budgetMax]', text: '1000' });
  await counts(0);
  await page.do('until', { expression: `${extentOf('pins', 'sale')} === null` });
}
