/** The documentation and the entrypoint in a real browser: both contact only the API, and /docs is accessible. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ROUTES } from '../../src/rest/routes.ts';
import { startTestApi } from '../support/api.ts';
import { openPage, visit } from '../support/browser.ts';

const api = await startTestApi({ after });

test('the entrypoint is a page with a link to the documentation', async () => {
  const { markup, complaints, addresses } = await visit(`${api.baseUrl}/`);
  assert.match(markup, /<a href="\/docs">/);
  assert.deepEqual(
    [complaints, addresses.filter((address) => !address.startsWith('data:'))],
    [[], [`${api.baseUrl}/`]],
  );
});

test('/docs shows every operation in a real browser that contacts only the API', async () => {
  const { markup, complaints, addresses } = await visit(`${api.baseUrl}/docs`);
  const { body } = await api.call('GET', '/openapi.json');
  const shown = ROUTES.length + Object.keys(body.webhooks).length;
  assert.equal(markup.match(/class="opblock-summary-path"/g)?.length, shown);
  assert.doesNotMatch(markup, /Failed to load|No API definition/);
  assert.deepEqual(complaints, []);
  const elsewhere = addresses.filter((address) => !address.startsWith(api.baseUrl) && !address.startsWith('data:'));
  assert.deepEqual(elsewhere, []);
});

test('/docs finds searched words, and names ids that exist for the entered key', async (t) => {
  const page = await openPage(t);
  await api.call('POST', '/searches', { title: 'Toulon' });
  const { body: lists } = await api.call('GET', '/searches?itemsPerPage=1');
  const id = lists['hydra:member'][0]['@id'].slice('/searches/'.length);
  await page.do('goto', { url: `${api.baseUrl}/docs?language=fr` });
  await page.do('wait', { selector: '.opblock' });
  await page.do('fill', { selector: '#key', text: api.key });
  await page.do('press', { key: 'Tab' });
  await page.do('until', { expression: `document.querySelector('#first-search').textContent.includes('${id}')` });
  await page.do('click', { selector: '#operations-Search-getSearchesItem button' });
  await page.do('until', { expression: `document.querySelector('#swagger-ui').innerHTML.includes('${id}')` });
  await page.do('fill', { selector: '#words', text: 'idempotency_key_reused' });
  const visible = `[...document.querySelectorAll('#guides section')].filter((one) => !one.hidden).map(({ id }) => id).join()`;
  await page.do('until', { expression: `${visible} === 'errors'` });
  await page.do('fill', { selector: '#words', text: 'zzzzz' });
  await page.do('until', { expression: `document.querySelector('#outcome').textContent === 'Rien trouvé.'` });
});

test('/docs shows all samples in the selected language, can copy them, and lists its sections', async (t) => {
  const page = await openPage(t);
  await page.do('goto', { url: `${api.baseUrl}/docs?language=en` });
  await page.do('wait', { selector: '#tags a[href="#operations-tag-Search"]' });
  const shown = `[...document.querySelectorAll('.samples')].map((group) => [...group.children]
    .filter((one) => !one.hidden && one.open).map(({ dataset }) => dataset.language).join()).join(' ')`;
  assert.match(await page.do<string>('evaluate', { expression: shown }), /^curl curl +curl curl$/);
  await page.do('choose', { selector: '#language', value: 'Python' });
  assert.equal(await page.do('evaluate', { expression: shown }), 'Python Python Python Python Python');
  assert.deepEqual(await page.do('axe'), []);
  // A browser without a clipboard API copies the selected text instead.
  await page.do('evaluate', {
    expression: `Object.defineProperty(navigator, 'clipboard', { value: undefined });
      document.addEventListener('copy', () => (globalThis.copied = getSelection().toString())); 0`,
  });
  const sample = '#first-search [data-language=Python] ';
  await page.do('click', { selector: `${sample}button` });
  await page.do('until', { expression: `document.querySelector('${sample}button').textContent === 'Copied'` });
  const isWhole = `globalThis.copied.trim() === document.querySelector('${sample}code').textContent.trim()`;
  assert.equal(await page.do('evaluate', { expression: isWhole }), true);
  const anchors = `[...document.querySelectorAll('nav a[href^="#"]')].filter(({ hash }) => !document.querySelector(hash)).length`;
  await page.do('until', { expression: `${anchors} === 0` });
});

test('/docs is accessible in French, light and dark, and its search works without a mouse', async (t) => {
  const page = await openPage(t);
  const says = (selector: string, text: string) =>
    page.do('until', { expression: `document.querySelector('${selector}')?.textContent.includes('${text}')` });
  for (const [width, scheme] of [
    [1280, 'light'],
    [1280, 'dark'],
    [390, 'dark'],
  ] as const) {
    await page.do('look', { width, height: 800, scheme });
    await page.do('goto', { url: `${api.baseUrl}/docs?language=fr` });
    await says('#operations-Search-getSearches .opblock-summary-description', 'Liste vos recherches');
    await says('#operations-tag-Recovery', 'Les renvois groupés des webhooks en échec d’une période.');
    assert.deepEqual(await page.do('axe'), [], `${width} ${scheme}`);
    assert.equal(await page.do('evaluate', { expression: `document.documentElement.scrollWidth - innerWidth` }), 0);
  }
  // The search ignores accents, and also finds text inside collapsed operations.
  await page.do('fill', { selector: '#words', text: 'CORRESPONDANCE livre' });
  await page.do('press', { key: 'Enter' });
  assert.equal(await page.do('evaluate', { expression: `document.activeElement.id` }), 'changelog');
  await page.do('fill', { selector: '#words', text: 'text/csv' });
  await says('#outcome', 'Trouvé : 1.');
  await page.do('press', { key: 'Enter' });
  await page.do('press', { key: 'Enter' });
  const opened = '#operations-FoundProperty-getSearchesProperties';
  await says(`${opened} .opblock-description`, 'En text/csv, la page a une ligne par bien');
  await page.do('click', { selector: `${opened} .try-out__btn` });
  await page.do('wait', { selector: `${opened} .execute` });
  await page.do('fill', { selector: '#words', text: ' ' });
  await page.do('click', { selector: '#operations-Search-postSearches button' });
  await page.do('click', { selector: '#operations-Search-postSearches .try-out__btn' });
  await page.do('wait', { selector: '#operations-Search-postSearches .execute' });
  for (const scheme of ['dark', 'light']) {
    await page.do('look', { width: 390, height: 800, scheme });
    // This reader prefers reduced motion, so colours do not fade either.
    assert.equal(await page.do('evaluate', { expression: 'document.getAnimations().length' }), 0, scheme);
    assert.deepEqual(await page.do('axe'), [], scheme);
  }
});
