/** A user of the console sees, keeps and hides properties, at the width of a desktop and of a phone. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ConsoleScene, openConsole } from '../support/console-scene.ts';
import { until } from '../support/until.ts';

const SCREENS = [
  [1440, 900, 'light'],
  [390, 844, 'dark'],
] as const;

test('a user sees new homes, keeps one and hides another', { timeout: 600_000 }, async (t) => {
  const scene = await openConsole(t);
  for (const [width, height, scheme] of SCREENS) {
    const title = `At ${width}`;
    const { iri } = await scene.rest.createSearch({
      ...{ title, includedCities: ['/cities/83137'], budgetMax: width * 1_000 },
      ...{ notificationEnabled: true, endpointRecipient: scene.receiver.urlOf('/match') },
    });
    await scene.publish({ title: 'Dear', price: width * 1_000 }, { title: 'Cheap', price: width * 900 });
    const read = async () => (await scene.rest.request<{ newSinceSeen: number }>('GET', iri)).body.newSinceSeen;
    await until(read, (count) => count === 2);
    await scene.page.do('look', { width, height, scheme });
    await scene.enter();
    await t.test(`matches are new until the list of their search is opened, ${width}`, async () => {
      await seeNewOnes(scene, title);
      await until(read, (count) => count === 0);
    });
    await t.test(`a home is kept with a note, another one is hidden, ${width}`, () => keepAndHide(scene, iri, width));
    await scene.rest.request('DELETE', iri);
  }
});

const ROWS = `[...document.querySelectorAll('.result')].map(({ innerText }) => innerText)`;
const rowsAre = (...titles: string[]): string =>
  `${ROWS}.length === ${titles.length} && ${JSON.stringify(titles)}.every((title) => ${ROWS}.some((row) => row.includes(title)))`;

async function isAccessible({ page, picture }: ConsoleScene, name: string): Promise<void> {
  await picture(name);
  assert.deepEqual(await page.do('axe'), []);
}

async function seeNewOnes(scene: ConsoleScene, title: string): Promise<void> {
  const { page, go, chooseSearch } = scene;
  const count = `document.querySelector('.search-row .tag')?.innerText`;
  await go('searches');
  await page.do('until', { expression: `${count} === '2 new'` });
  await isAccessible(scene, `count-${title}`);
  await go('map');
  await chooseSearch(title);
  await page.do('until', { expression: rowsAre('Dear', 'Cheap') });
  const rows = await page.do<string[]>('evaluate', { expression: ROWS });
  assert.ok(
    rows.every((row) => row.includes('New')),
    rows.join(),
  );
  await isAccessible(scene, `new-${title}`);
  await go('searches');
  await page.do('until', { expression: `document.querySelector('.search-row') !== null && ${count} === undefined` });
  await go('map');
}

async function keepAndHide(scene: ConsoleScene, iri: string, width: number): Promise<void> {
  const { page, rest } = scene;
  const marks = async (mark: string) => {
    const { body } = await rest.request<{ 'hydra:member': readonly { title: string; mark: { note: string } }[] }>(
      'GET',
      `${iri}/properties?mark=${mark}`,
    );
    return body['hydra:member'].map((one) => `${one.title} ${one.mark.note}`);
  };
  const open = async (title: string): Promise<void> => {
    await page.do('click', { selector: `.result::-p-text(${title})` });
    await page.do('wait', { selector: '.marking' });
  };
  await open('Cheap');
  await page.do('click', { selector: '.marking .chip::-p-text(Keep)' });
  await page.do('wait', { selector: '.marking .chip[aria-pressed=true]' });
  await page.do('fill', { selector: '.marking textarea', text: 'To visit on Friday' });
  await page.do('click', { selector: '.marking button::-p-text(Save the note):enabled' });
  await until(
    () => marks('kept'),
    (kept) => kept.join() === 'Cheap To visit on Friday',
  );
  await isAccessible(scene, `marking-${width}`);
  await page.do('click', { selector: '.back' });
  await page.do('until', { expression: `${ROWS}.some((row) => row.includes('Cheap') && row.includes('Kept'))` });
  await open('Dear');
  await page.do('click', { selector: '.marking .chip::-p-text(Hide)' });
  await until(
    () => marks('hidden'),
    (hidden) => hidden.length === 1,
  );
  await page.do('click', { selector: '.back' });
  await page.do('until', { expression: rowsAre('Cheap') });
  const choose = (mark: string) =>
    page.do('evaluate', {
      expression: `(() => { const select = document.querySelector('select[aria-label=Marks]'); select.value = '${mark}';
        select.dispatchEvent(new Event('change', { bubbles: true })); })()`,
    });
  await choose('hidden');
  await page.do('until', { expression: rowsAre('Dear') });
  await isAccessible(scene, `hidden-${width}`);
  await choose('');
  await page.do('until', { expression: rowsAre('Cheap') });
}
