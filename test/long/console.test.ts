/** The console in a real browser: the actions of a client, and the page while the service is down. */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type ConsoleScene, openConsole } from '../support/console-scene.ts';
import { runVigie } from '../support/daemon.ts';
import { emptyDirectory } from '../support/servers.ts';
import { until } from '../support/until.ts';

/** A desktop screen, a tablet, a phone, and a phone in landscape; light in English, dark in French. */
const LOOKS = [
  [1440, 900],
  [1024, 768],
  [390, 844],
  [844, 390],
].flatMap(([width, height]) => ['light', 'dark'].map((scheme) => ({ width, height, scheme })));

test('a client signs in, draws a search, and sees its results and deliveries', { timeout: 600_000 }, async (t) => {
  const scene = await openConsole(t);
  await t.test('a wrong key is reported at the sign-in', () => signInWrongly(scene));
  await t.test('a key in the fragment opens the page and is removed from the address', () => signIn(scene));
  await t.test('a search is drawn, previewed and saved; a violation is shown at its field', () => drawSearch(scene));
  await t.test('its match appears on the map, and its webhook is shown', () => seeMatch(scene));
  await t.test('a delivery that failed is sent again', () => resend(scene));
  await t.test('three clicks explain why an advert did not match', () => askWhy(scene));
  await t.test('points of interest, a webhook test and its code are shown', (t) => lookAround(t, scene));
  await t.test('the page resumes when the service is available again', () => surviveRestart(scene));
  await t.test('every view is accessible, light in English and dark in French, at every width', (t) =>
    showViews(t, scene),
  );
  await t.test('the page and the service answer in French', () => speakFrench(scene));
  await t.test('on low screens the form has half of the height, and the preview one line', () => fitLowScreens(scene));
  await t.test('the page requested nothing from other hosts, and no error occurred', () => stayAtHome(scene));
});

async function signInWrongly({ page, address }: ConsoleScene): Promise<void> {
  await page.do('look', { width: 1280, height: 800, scheme: 'light' });
  await page.do('evaluate', { expression: '0' });
  await page.do('goto', { url: address });
  await page.do('fill', { selector: 'input[name=key]', text: 'vgk_wrong' });
  await page.do('press', { key: 'Enter' });
  await page.do('wait', { selector: '.violation' });
  assert.match(await page.do<string>('text', { selector: '.violation' }), /unknown or revoked|inconnue ou révoquée/);
  assert.deepEqual(await page.do('axe'), []);
}

async function signIn({ page, address, enter, picture }: ConsoleScene): Promise<void> {
  await enter();
  await page.do('wait', { selector: '.empty-title' });
  assert.equal(await page.do('evaluate', { expression: 'location.href' }), address);
  assert.match(await page.do<string>('text', { selector: '.empty-title' }), /No search yet: draw one/);
  await picture('empty');
}

/** The middle of the map, in pixels of the page. */
const TOULON_ON_MAP = `(() => {
  const box = document.querySelector('.map').getBoundingClientRect();
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
})()`;

async function drawSearch({ page, rest, receiver, picture, publish }: ConsoleScene): Promise<void> {
  await publish({ title: 'Ancien appartement', price: 240_000 });
  await page.do('click', { selector: '.empty a.button' });
  await page.do('fill', { selector: 'input[name=title]', text: 'Drawn by hand' });
  await page.do('click', { selector: '::-p-text(Draw a circle)' });
  // On a busy machine the map may not listen for clicks yet.
  await page.do('wait', { selector: '.map.drawing' });
  const { x, y } = await page.do<{ x: number; y: number }>('evaluate', { expression: TOULON_ON_MAP });
  await page.do('mouse', { x, y });
  await page.do('mouse', { x: x + 60, y });
  await page.do('until', { expression: `document.querySelectorAll('.pair.three input')[2].value > 0` });
  await page.do('click', { selector: '::-p-text(Coordinates)' });
  // A pixel of this map is kilometres wide, so the drawn circle is moved to the adverts by its coordinates.
  for (const [at, text] of ['43.1258', '5.9306', '10'].entries())
    await page.do('fill', { selector: `.pair.three > .field:nth-child(${at + 1}) input`, text });
  await page.do('fill', { selector: 'input[name=budgetMin]', text: '300000' });
  await page.do('fill', { selector: 'input[name=budgetMax]', text: '250000' });
  await page.do('wait', { selector: 'input[name=budgetMin][aria-invalid=true]' });
  const told = `document.querySelector('.violation')?.innerText.includes('must not be above the maximum, which is 250,000')`;
  await page.do('until', { expression: told });
  await picture('violation');
  await page.do('fill', { selector: 'input[name=budgetMin]', text: '100000' });
  await page.do('until', { expression: `/^1\\b/.test(document.querySelector('.figures strong')?.innerText)` });
  await page.do('evaluate', { expression: `document.querySelector('fieldset:has(.sentence) > button').click()` });
  const hits = async (word: string, count: number): Promise<void> => {
    await page.do('fill', { selector: '.word input', text: word });
    const shown = `document.querySelector('.word-hits')?.innerText.endsWith(': ${count}.')`;
    await page.do('until', { expression: shown });
  };
  // The count depends only on the typed words.
  await hits('ancienne', 1);
  await hits('neuf', 0);
  await page.do('evaluate', { expression: `document.querySelector('.word button').click()` });
  await page.do('until', { expression: `document.querySelector('.word') === null` });
  await page.do('fill', { selector: 'input[name=endpointRecipient]', text: receiver.urlOf('/matches') });
  await page.do('fill', { selector: 'input[name=eventEndpoint]', text: receiver.urlOf('/events') });
  await page.do('click', { selector: '[aria-label="Events that are sent"] button' });
  await picture('editor');
  await page.do('click', { selector: '.save-bar .primary' });
  await page.do('wait', { selector: '.save-bar .danger' });
  const { body } = await rest.request<{ 'hydra:member': Record<string, unknown>[] }>('GET', '/searches');
  const [{ title, radius, lat, budgetMin, budgetMax, notificationEnabled } = {}] = body['hydra:member'];
  assert.deepEqual(
    { title, radius, lat, budgetMin, budgetMax, notificationEnabled },
    {
      title: 'Drawn by hand',
      radius: '10',
      lat: '43.1258',
      budgetMin: 100_000,
      budgetMax: 250_000,
      notificationEnabled: true,
    },
  );
}

const SEEN = randomUUID();

async function seeMatch({ page, receiver, publish, picture }: ConsoleScene): Promise<void> {
  await page.do('click', { selector: 'nav a[data-view=map]' });
  await page.do('wait', { selector: '.filters' });
  await publish({
    property: SEEN,
    title: 'T3 vue mer',
    price: 230_000,
    crawledAt: new Date(Date.now() - 60_000).toISOString(),
  });
  await page.do('wait', { selector: '::-p-text(T3 vue mer)' });
  await publish({ property: SEEN, title: 'T3 vue mer', price: 219_000 });
  await receiver.until((posts) => posts.length === 2);
  await page.do('until', {
    expression: `/219,000.*230,000.*-4\\.8%/s.test(document.querySelector('.result')?.innerText)`,
  });
  await picture('match');
  await page.do('click', { selector: '[data-list=matches] a' });
  await page.do('wait', { selector: '.property .tag[data-state=delivered]' });
  await page.do('until', { expression: `document.querySelector('.property').innerText.includes('219,000')` });
  await page.do('wait', { selector: '.prices' });
  assert.match(await page.do<string>('text', { selector: '.property' }), /\/matches/);
  await page.do('until', {
    expression: `/Drawn by hand/.test(document.querySelector('.for-whom').innerText)`,
  });
  assert.match(await page.do<string>('text', { selector: '.description' }), /<b onclick="x">/);
  assert.equal(await page.do('evaluate', { expression: `document.querySelectorAll('.pictures a').length` }), 1);
  await picture('property');
}

async function resend({ page, receiver, publish, picture }: ConsoleScene): Promise<void> {
  receiver.script('/matches', { type: 'answer', status: 500, body: 'out of order' });
  await page.do('click', { selector: 'nav a[data-view=deliveries]' });
  await page.do('wait', { selector: '.delivery' });
  const abortedRequests = async () => (await page.do<{ aborted: string[] }>('report')).aborted;
  const before = await abortedRequests();
  await publish({ title: 'T2 refusé', price: 200_000 });
  await page.do('wait', { selector: '.delivery[data-status=retry_wait] .countdown' });
  await page.do('click', { selector: '.delivery[data-status=retry_wait] button[aria-expanded]' });
  await page.do('wait', { selector: '.attempts pre' });
  assert.match(await page.do<string>('text', { selector: '.attempts' }), /HTTP 500[^]*out of order/);
  await page.do('wait', { selector: '.payload pre' });
  assert.match(
    await page.do<string>('text', { selector: '.payload pre' }),
    /webhook-id: [0-9a-f-]{36}[^]*"title": "T2 refusé"/,
  );
  const row = await page.do<string>('text', { selector: '.delivery[data-status=retry_wait]' });
  assert.match(row, /T2 refusé\s+€200,000[^]*HTTP 500, \d+ ms[^]*\/matches/);
  await picture('failed-delivery');
  receiver.script('/matches', { type: 'answer', status: 200 });
  await page.do('click', { selector: '.delivery[data-status=retry_wait] .row-more button' });
  await page.do('gone', { selector: '.delivery[data-status=retry_wait]' });
  await page.do('until', { expression: `document.querySelectorAll('.delivery[data-status=delivered]').length === 3` });
  const outcome = `[...document.querySelectorAll('.resent')].map(({ innerText }) => innerText).join('')`;
  await page.do('until', { expression: `/^Sent again: HTTP 200, \\d+ ms\\.$/.test(${outcome})` });
  // A refresh that the feed causes waits for requests in progress instead of aborting them.
  assert.deepEqual((await abortedRequests()).slice(before.length), []);
  // The address contains the chosen filters, so a link or the browser's back button shows the same list.
  await page.do('choose', { selector: '.filters select:nth-of-type(3)', value: 'event' });
  await page.do('until', { expression: `document.querySelectorAll('.delivery').length === 1` });
  assert.match(await page.do<string>('evaluate', { expression: 'location.hash' }), /channel=event/);
  await page.do('evaluate', { expression: 'history.back()' });
  await page.do('until', { expression: `document.querySelectorAll('.delivery').length === 3` });
}

async function askWhy({ page, rest, publish, picture }: ConsoleScene): Promise<void> {
  const url = 'https://portal.example/annonce/42?utm=x#photos';
  await publish({ title: 'T5 trop cher', price: 900_000, url });
  const explained = () => rest.request('GET', `/explanations?url=${encodeURIComponent(url)}`);
  await until(explained, ({ status }) => status === 200);
  await page.do('click', { selector: 'nav a[data-view=map]' });
  await page.do('click', { selector: 'nav a[data-view=why]' });
  await page.do('fill', { selector: 'input[name=advert]', text: url });
  await page.do('click', { selector: 'main form button' });
  await page.do('wait', { selector: 'main select option + option' });
  const [search] = await page.do<string[]>('evaluate', {
    expression: `[...document.querySelectorAll('main select option + option')].map(({ value }) => value)`,
  });
  await page.do('choose', { selector: 'main select', value: search });
  await page.do('wait', { selector: '.explanation' });
  assert.match(await page.do<string>('text', { selector: '.criteria li[data-holds=false]' }), /Budget/);
  await picture('why');
}

/** Kind, name and distance in degrees north of the apartments. */
const POINTS = [
  ['school', 'École du Port', 0.0009],
  ['school', 'Lycée', 0.004],
  ['hospital', 'Sainte-Musse', 0.02],
] as const;

async function lookAround(t: TestContext, { page, rest, servers, receiver, picture }: ConsoleScene): Promise<void> {
  const file = join(await emptyDirectory(t), 'points.geojson');
  const features = POINTS.map(([amenity, name, north]) => {
    return { properties: { amenity, name }, geometry: { type: 'Point', coordinates: [5.9306, 43.1258 + north] } };
  });
  await writeFile(file, JSON.stringify({ type: 'FeatureCollection', features }));
  const { code, stderr } = await runVigie(['import', 'points-of-interest', file], servers);
  assert.equal(code, 0, stderr);
  const near = '/indicators/points_of_interest?lat=43.1258&lon=5.9306&radius=5';
  await until(
    () => rest.request<{ 'hydra:totalItems': number }>('GET', near),
    ({ body }) => body['hydra:totalItems'] === POINTS.length,
  );
  // The address of the former page of places shows the map.
  await page.do('evaluate', { expression: `location.hash = '#/places'; 0` });
  await page.do('wait', { selector: 'nav a[data-view=map][aria-current]' });
  await page.do('click', { selector: '[data-list=matches] a' });
  const around = `document.querySelector('.around')?.innerText.replace(/\\s+/g, ' ')`;
  const marks = `document.querySelectorAll('path.poi').length`;
  await page.do('until', { expression: `/2 points of interest Schools 2 École du Port · 0\\.1 km$/.test(${around})` });
  await page.do('until', { expression: `${marks} === 2` });
  await page.do('fill', { selector: '.around input', text: '3' });
  await page.do('until', {
    expression: `/3 points.*Schools 2 École du Port · 0\\.1 km Hospitals 1 Sainte-Musse · 2.\\d+ km$/.test(${around})`,
  });
  await page.do('until', { expression: `${marks} === 3` });
  await picture('around');
  await page.do('click', { selector: '.back' });
  await page.do('until', { expression: `${marks} === 0` });
  await page.do('click', { selector: 'nav a[data-view=endpoints]' });
  await page.do('wait', { selector: '.tag[data-state=healthy]' });
  receiver.script('/matches', { type: 'answer', status: 200, body: 'thank you' });
  await page.do('fill', { selector: 'input[name=endpoint]', text: receiver.urlOf('/matches') });
  await page.do('click', { selector: 'form .primary' });
  await page.do('wait', { selector: '.outcome[data-outcome=true]' });
  assert.match(await page.do<string>('text', { selector: '.outcome' }), /HTTP 200[^]*thank you/);
  const sample = `document.querySelector('pre.code').innerText`;
  await page.do('until', { expression: `${sample}.includes('whsec_…')` });
  await page.do('click', { selector: '::-p-text(Show the secret)' });
  await page.do('until', { expression: `/whsec_[\\w+/]{42}/.test(${sample})` });
  await picture('endpoints');
}

async function surviveRestart({ page, publish, stop, restart, picture }: ConsoleScene): Promise<void> {
  await page.do('click', { selector: 'nav a[data-view=map]' });
  await stop();
  await page.do('until', { expression: `!document.querySelector('.banner').hidden` });
  await picture('lost');
  await publish({ title: 'T4 pendant la panne', price: 210_000 });
  await restart();
  // No row moves under the pointer: new results are shown when the user asks for them.
  await page.do('click', { selector: '.fresh button' });
  await page.do('wait', { selector: '::-p-text(T4 pendant la panne)' });
  await page.do('until', { expression: `document.querySelector('.banner').hidden` });
}

async function showViews(t: TestContext, { page, picture }: ConsoleScene): Promise<void> {
  for (const look of LOOKS) {
    const name = `${look.width}-${look.scheme}`;
    await page.do('look', look);
    const tag = look.scheme === 'light' ? 'en' : 'fr';
    if ((await page.do('evaluate', { expression: 'document.documentElement.lang' })) !== tag)
      await page.do('click', { selector: `button[lang=${tag}]` });
    await page.do('until', { expression: `document.documentElement.lang === '${tag}'` });
    for (const view of ['map', 'searches', 'deliveries', 'why', 'recipients', 'endpoints']) {
      await page.do('evaluate', { expression: `location.hash = '#/${view}'; 0` });
      await page.do('wait', { selector: `nav a[data-view=${view}][aria-current]` });
      await page.do('until', { expression: `document.querySelector('main h1') !== null` });
      await t.test(`${view}, ${name}`, async () => {
        await picture(`${view}-${name}`);
        assert.deepEqual(await page.do('axe'), []);
        const tooWide = `document.documentElement.scrollWidth - innerWidth`;
        assert.equal(await page.do('evaluate', { expression: tooWide }), 0);
      });
    }
    for (const [title, path] of [
      ['editor', `document.querySelector('.search-row a')`],
      ['property', `document.querySelector('[data-list=matches] a')`],
    ] as const) {
      await page.do('evaluate', { expression: `location.hash = '${title === 'editor' ? '#/searches' : '#/map'}'; 0` });
      await page.do('until', { expression: `${path} !== null` });
      await page.do('evaluate', { expression: `${path}.click()` });
      await page.do('wait', { selector: title === 'editor' ? '.preview[data-settled=true]' : '.property .facts' });
      await t.test(`${title}, ${name}`, async () => {
        await picture(`${title}-${name}`);
        assert.deepEqual(await page.do('axe'), []);
      });
    }
  }
  await page.do('look', { width: 1280, height: 800, scheme: 'light' });
}

/** Checks the page's texts and the service's answers in French, including folded parts and those below the screen. */
async function speakFrench({ page, go }: ConsoleScene): Promise<void> {
  const says = async (...texts: readonly string[]): Promise<void> => {
    for (const text of texts)
      await page.do('until', { expression: `document.body.textContent.includes(${JSON.stringify(text)})` });
  };
  await go('deliveries');
  await says('Carte', 'Recherches', 'Envois', 'Pourquoi\u202f?', 'Se déconnecter');
  await go('endpoints');
  await says('Secret de la recherche');
  await go('searches', 'new');
  await says('Toutes les 5 minutes');
  await page.do('click', { selector: '.save-bar .primary' });
  await says('ne doit pas être vide', 'Corrigez le champ en rouge.');
  const [isMailFirst, areFolded] = await page.do<boolean[]>('evaluate', {
    expression: `((mail, webhook) => [
      mail.compareDocumentPosition(webhook) === Node.DOCUMENT_POSITION_FOLLOWING,
      ['textarea', '.pair.three'].every((one) => document.querySelector('details:not([open]) ' + one) !== null),
    ])(...['notification', 'endpoint'].map((one) => document.querySelector('input[name=' + one + 'Recipient]')))`,
  });
  assert.deepEqual([isMailFirst, areFolded], [true, true]);
  assert.deepEqual(await page.do('axe'), []);
}

/** 1366 × 768 at 200 % zoom, two phones in landscape, a window next to another one, and a tablet. */
const LOW_SCREENS = [
  [683, 384],
  [667, 375],
  [844, 390],
  [844, 700],
  [1024, 768],
] as const;

async function fitLowScreens({ page, go, picture }: ConsoleScene): Promise<void> {
  for (const [width, height] of LOW_SCREENS) {
    for (const scheme of ['light', 'dark']) {
      await page.do('look', { width, height, scheme });
      await go('searches', 'new');
      await page.do('wait', { selector: '.preview[data-settled=true] .folded' });
      await picture(`low-${width}x${height}-${scheme}`);
      const heightOf = (selector: string) => `document.querySelector('${selector}').getBoundingClientRect().height`;
      const free = `${heightOf('main')} - ${heightOf('.preview')} - ${heightOf('.save-bar')}`;
      const [formPixels, linePixels, tooWide] = await page.do<number[]>('evaluate', {
        expression: `[${free}, ${heightOf('.preview')}, document.documentElement.scrollWidth - innerWidth]`,
      });
      const name = `${width} × ${height}`;
      assert.ok(
        Number(formPixels) >= height / 2,
        `${name}: ${formPixels} next to ${await page.do('text', { selector: '.save-bar' })}`,
      );
      assert.ok(Number(linePixels) <= 64, `${name}: ${linePixels}`);
      assert.equal(tooWide, 0, name);
      await page.do('click', { selector: '.folded summary' });
      await page.do('wait', { selector: '.folded[open] .hint' });
      assert.deepEqual(await page.do('axe'), []);
      await page.do('click', { selector: '.folded summary' });
      await go('searches');
    }
  }
  await page.do('look', { width: 1280, height: 800, scheme: 'light' });
}

async function stayAtHome({ page, daemon, address, go }: ConsoleScene): Promise<void> {
  await go('map');
  // Zooms in, from wherever the map is, to the scale at which streets would be shown.
  await page.do('until', {
    expression: `document.querySelector('.no-streets') ?? void document.querySelector('.leaflet-control-zoom-in').click()`,
  });
  assert.match(await page.do('text', { selector: '.no-streets summary' }), /rues/);
  const { complaints, addresses } = await page.do<Record<'complaints' | 'addresses', string[]>>('report');
  const { origin } = new URL(address);
  const strange = addresses.filter((one) => !/^(?:data|about):/.test(one) && new URL(one).origin !== origin);
  assert.deepEqual(strange, []);
  // Browsers log every unsuccessful answer and every failed connection; the page itself may log nothing.
  const own = complaints.filter((complaint) => !complaint.startsWith('Failed to load resource:'));
  assert.deepEqual(own, []);
  assert.deepEqual(daemon.errors, []);
}
