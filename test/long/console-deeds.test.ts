/** A client's actions on searches, matches and deliveries in the console, and their effects in the service. */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { type ConsoleScene, openConsole } from '../support/console-scene.ts';
import { queryOnce } from '../support/database.ts';
import { until } from '../support/until.ts';

test('changes in the console take effect in the service', { timeout: 600_000 }, async (t) => {
  const scene = await openConsole(t);
  await scene.page.do('look', { width: 1280, height: 800, scheme: 'light' });
  await scene.enter();
  await t.test('the editor and the list state what will and will not be sent', () => foresee(scene));
  await t.test('criteria of the home are shown as chips, and may accept unknown values', () => describeHome(scene));
  await t.test('a version that another user saved in the meantime is shown and not overwritten', () =>
    meetConflict(scene),
  );
  await t.test('a saved change is confirmed, even if another change follows', () => saveOnce(scene));
  await t.test('a copied search is silent, and otherwise the same', () => copySearch(scene));
  await t.test('unsaved changes are kept while the user opens other views', () => keepUnsaved(scene));
  await t.test('a search is deleted only after a confirmation', () => deleteSearch(scene));
  await t.test('notifications are switched in the list', () => switchNotifications(scene));
  await t.test('the current results of a search without notifications are listed and shown', () =>
    seeSilentSearch(scene),
  );
  await t.test('map and list show the chosen search, kind and period', () => filterMatches(scene));
  await t.test('a property shows its price history and its deliveries', () => readProperty(scene));
  await t.test('the time until the next attempt counts down', () => countDown(scene));
  await t.test('a resumed endpoint offers to resend all webhooks that have failed, including the first', () =>
    resendFailed(scene),
  );
  await t.test('a webhook that is refused is shown with its answer', () => testWebhook(scene));
});

interface Saved {
  readonly [member: string]: unknown;
  readonly '@id': string;
  readonly title: string;
}

async function savedSearches({ rest }: ConsoleScene): Promise<readonly Saved[]> {
  const { body } = await rest.request<{ 'hydra:member': Saved[] }>('GET', '/searches?order[title]=asc');
  return body['hydra:member'];
}

async function describeHome({ page, rest, go, picture }: ConsoleScene): Promise<void> {
  await go('searches', 'new');
  await page.do('fill', { selector: 'input[name=title]', text: 'Lumineux' });
  await page.do('wait', { selector: '.preview[data-settled=true]' });
  await picture('new-search');
  await page.do('click', { selector: 'summary::-p-text(floor, energy, features)' });
  await page.do('fill', { selector: 'input[name=floorMin]', text: '1' });
  for (const label of ['Energy class', 'With']) await page.do('click', { selector: `[aria-label="${label}"] button` });
  const unknown = (name: string) => `input[aria-label="${name}: Also when it is not stated"]`;
  for (const name of ['Floor', 'Energy class', 'With']) {
    assert.ok(await page.do('evaluate', { expression: `document.querySelector('${unknown(name)}').checked` }), name);
  }
  await page.do('click', { selector: unknown('With') });
  await picture('home');
  assert.deepEqual(await page.do('axe'), []);
  await page.do('click', { selector: 'summary::-p-text(floor, energy, features)' });
  const chips = `[...document.querySelectorAll('.chip-static')].map(({ innerText }) => innerText.split('\\n')[0]).join('|')`;
  await page.do('until', { expression: `${chips} === 'Floor (minimum): 1|Energy class: A|With: Balcony'` });
  await picture('home-chips');
  await page.do('click', { selector: '.chip-static button' });
  await page.do('until', { expression: `${chips} === 'Energy class: A|With: Balcony'` });
  const categories = await rest.request<{ 'hydra:member': { name: string }[] }>('GET', '/site_categories');
  const press = `document.querySelector('[aria-label="Categories of site"] button').click()`;
  await page.do('evaluate', { expression: press });
  const category = `Categories of site: ${categories.body['hydra:member'][0]?.name}`;
  await page.do('until', { expression: `${chips} === 'Energy class: A|With: Balcony|${category}'` });
  await page.do('evaluate', { expression: press });
  await page.do('until', { expression: `${chips} === 'Energy class: A|With: Balcony'` });
  await page.do('evaluate', { expression: SAVE });
  await page.do('wait', { selector: 'a[href^="#/deliveries/"]' });
  const id = (await page.do<string>('evaluate', { expression: 'location.hash' })).split('/').at(-1);
  const { body } = await rest.request<Saved>('GET', `/searches/${id}`);
  assert.deepEqual(
    [body.floorMin, body.energyCategories, body.includedFeatures, body.orMissing],
    [null, 'A', ['balcony'], ['energy']],
  );
  await rest.request('DELETE', body['@id']);
}

/** Checks what the page says will be sent, on a service without a mail server. */
async function foresee(scene: ConsoleScene): Promise<void> {
  const { page, rest, go } = scene;
  const { id, iri } = await rest.createSearch({ title: 'Muette', includedCities: ['/cities/13055'] });
  const told = async (expected: readonly string[]): Promise<void> => {
    const lines = `[...document.querySelectorAll('main .outlook')].map(({ innerText }) => innerText).join('|')`;
    await page.do('until', { expression: `${lines} === ${JSON.stringify(expected.join('|'))}` });
  };
  await go('searches', id);
  await told(['Notifications are off: nothing will be sent.']);
  await page.do('click', { selector: 'input[role=switch]' });
  await told(['Nothing will be sent: give an e-mail address or a webhook.']);
  await page.do('fill', { selector: 'input[name=notificationRecipient]', text: 'agence@example.com' });
  const mailless = MAIL_FAULTS[2][1];
  await told([mailless]);
  await page.do('click', { selector: '.save-bar .primary' });
  const bar = `document.querySelector('.save-bar [role=status]').innerText`;
  await page.do('until', { expression: `${bar} === ${JSON.stringify(`Saved. ${mailless}`)}` });
  for (const [status, sentence] of MAIL_FAULTS) {
    await page.do('evaluate', { expression: answerEmailStatus(status) });
    for (const opened of ['', id]) {
      await go('searches', opened);
      await told([sentence]);
    }
  }
  await page.do('fill', { selector: 'input[name=endpointRecipient]', text: 'https://agency.example/matches' });
  await told(['New properties will be sent by webhook.', mailless]);
  await page.do('evaluate', {
    expression: `document.querySelector('[aria-label="Events that are sent"] button').click()`,
  });
  await page.do('fill', { selector: 'input[name=notificationRecipient]', text: ' ' });
  const events = 'The chosen events will not be sent: they need an e-mail address or a webhook.';
  await told(['New properties will be sent by webhook.', events]);
  await scene.picture('outlook');
  // A city of arrondissements has no zip code of its own, so none is shown.
  assert.equal(await page.do('text', { selector: '.chip-static' }), 'Marseille\n×');
  await page.do('click', { selector: '.save-bar .primary' });
  await page.do('until', { expression: `${bar} === 'Saved.'` });
  await page.do('click', { selector: '.back' });
  await told(['New properties will be sent by webhook.', events]);
  assert.deepEqual(await page.do('axe'), []);
  await rest.request('DELETE', iri);
}

/** `unavailable`, the real answer of the service, is last, so that the page shows it afterwards. */
const MAIL_FAULTS = [
  ['refused', 'No e-mail will be sent: the recipient’s server refuses this address. Correct it.'],
  ['unsubscribed', 'No e-mail will be sent: the recipient has unsubscribed.'],
  ['unavailable', 'No e-mail will be sent: this service has no mail server.'],
] as const;

/** Replaces the service's e-mail status of searches in all later answers. */
const answerEmailStatus = (status: string): string => `(() => {
  const ask = (window.ask ??= window.fetch);
  window.fetch = async (...asked) => {
    const response = await ask(...asked);
    if (!String(asked[0]).includes('/searches')) return response;
    const text = (await response.text()).replaceAll('"emailStatus":"unavailable"', '"emailStatus":"${status}"');
    return new Response(response.status === 204 ? null : text, response);
  };
})()`;

const SAVE = `document.querySelector('.save-bar .primary').click()`;

async function meetConflict(scene: ConsoleScene): Promise<void> {
  const { page, rest, go, picture } = scene;
  const { id, iri } = await rest.createSearch({ title: 'Partagée', ...TOULON, budgetMax: 300_000, roomMin: 2 });
  const read = async () => (await rest.request<Saved>('GET', iri)).body;
  await go('searches', id);
  const write = async (budgetMax: string): Promise<void> => {
    await page.do('fill', { selector: 'input[name=budgetMax]', text: budgetMax });
    await page.do('evaluate', { expression: SAVE });
  };
  // Waits for late content, so that nothing moves under the pointer.
  await page.do('wait', { selector: '.preview[data-settled=true] .figures' });
  await rest.request('PUT', iri, { budgetMax: 250_000, roomMin: 4 });
  await write('320000');
  const told = async (): Promise<string> => {
    await page.do('wait', { selector: '.save-bar .problem' });
    return page.do<string>('text', { selector: '.save-bar .problem' });
  };
  const budget = () =>
    page.do<string>('evaluate', { expression: `document.querySelector('input[name=budgetMax]').value` });
  assert.match(await told(), /changed in the meantime \(.*Budget \(maximum\).*\)/);
  assert.deepEqual(await page.do('axe'), []);
  await picture('conflict');
  // Nothing is saved. The page shows the other version under the user's own changes.
  assert.equal((await read()).budgetMax, 250_000);
  assert.equal(await page.do('evaluate', { expression: `document.querySelector('input[name=roomMin]').value` }), '4');
  assert.equal(await budget(), '320000');
  await page.do('evaluate', { expression: SAVE });
  await page.do('wait', { selector: '::-p-text(Saved.)' });
  const { budgetMax, roomMin } = await read();
  assert.deepEqual({ budgetMax, roomMin }, { budgetMax: 320_000, roomMin: 4 });
  await rest.request('PUT', iri, { title: 'Reprise' });
  await write('330000');
  assert.match(await told(), /\(Title\)/);
  await page.do('until', { expression: `document.querySelector('main h1').innerText === 'Reprise'` });
  await page.do('click', { selector: '.save-bar ::-p-text(Discard the changes)' });
  assert.equal((await read()).budgetMax, 320_000);
  assert.equal(await budget(), '320000');
  await rest.request('DELETE', iri);
}

/** After a change the page makes no further request: it continues with the answer, including its ETag. */
async function saveOnce({ page, rest, go }: ConsoleScene): Promise<void> {
  const said = async (text: string): Promise<void> =>
    page.do('until', { expression: `document.querySelector('.save-bar [role=status]')?.innerText === '${text}'` });
  await go('searches', 'new');
  await page.do('fill', { selector: 'input[name=title]', text: 'Neuve' });
  await page.do('click', { selector: 'input[role=switch]' });
  await page.do('click', { selector: '.save-bar .primary' });
  await said('Saved. Notifications are off: nothing will be sent.');
  await page.do('evaluate', { expression: RECORD_CHANGES });
  for (const budgetMax of ['310000', '320000']) {
    await page.do('fill', { selector: 'input[name=budgetMax]', text: budgetMax });
    await page.do('evaluate', { expression: SAVE });
    await said('Saved. Notifications are off: nothing will be sent.');
  }
  const { body } = await rest.request<{ 'hydra:member': Saved[] }>('GET', '/searches?title=Neuve');
  const [{ '@id': iri, budgetMax } = assert.fail()] = body['hydra:member'];
  assert.equal(budgetMax, 320_000);
  // A search that was changed in the meantime is not deleted either.
  await rest.request('PUT', iri, { roomMin: 4 });
  const remove = async (): Promise<void> => {
    await page.do('click', { selector: '.save-bar .danger' });
    await page.do('click', { selector: 'dialog .danger' });
  };
  await remove();
  await page.do('wait', { selector: '.save-bar ::-p-text(This search has changed in the meantime)' });
  assert.equal(await page.do('evaluate', { expression: `document.querySelector('input[name=roomMin]').value` }), '4');
  await remove();
  await page.do('wait', { selector: '.list.searches' });
  assert.equal((await rest.request('GET', iri)).status, 404);
  const asked = await page.do<{ method: string; isConditional: boolean }[]>('evaluate', {
    expression: 'window.changes',
  });
  assert.deepEqual(
    asked.map(({ method }) => method),
    ['PUT', 'PUT', 'DELETE', 'GET', 'DELETE'],
  );
  assert.ok(asked.every(({ method, isConditional }) => method === 'GET' || isConditional));
}

/** Records the requests of the page for single searches. */
const RECORD_CHANGES = `(() => {
  const ask = (window.ask ??= window.fetch);
  window.changes = [];
  window.fetch = (url, options = {}) => {
    if (/searches\\/[0-9a-f-]{36}$/.test(String(url)))
      window.changes.push({ method: options.method, isConditional: 'If-Match' in (options.headers ?? {}) });
    return ask(url, options);
  };
})()`;

const TOULON = { includedCities: ['/cities/83137'], transactionType: 0 };

async function copySearch(scene: ConsoleScene): Promise<void> {
  const { page, rest, receiver, go } = scene;
  const members = {
    ...{ title: 'Famille', ...TOULON, budgetMax: 300_000, pricePerMeterMin: 1_000, roomMin: 3, furnished: false },
    expressions: 'expressions[0][0][word]=vue%20mer&expressions[0][0][options][strict]=true',
    geoShapes: [
      [
        [5.9, 43.1],
        [6, 43.1],
        [6, 43.2],
        [5.9, 43.1],
      ],
    ],
    ...{ endpointRecipient: receiver.urlOf('/famille'), subscribedEvents: ['ad.update.price'], context: { desk: 4 } },
    notificationEnabled: true,
  };
  const { id } = await rest.createSearch(members);
  await go('searches', id);
  await page.do('click', { selector: '::-p-text(Copy)' });
  await page.do('until', { expression: `document.querySelector('main h1')?.innerText === 'Famille (copy)'` });
  const [original, copy] = await savedSearches(scene);
  const own = ['@id', 'title', 'token', 'createdAt', 'updatedAt', 'notificationEnabled'];
  const others = (search: Saved | undefined) =>
    Object.fromEntries(Object.entries(search ?? {}).filter(([name]) => !own.includes(name)));
  assert.deepEqual(others(copy), others(original));
  assert.deepEqual([original?.notificationEnabled, copy?.notificationEnabled], [true, false]);
  assert.notEqual(copy?.token, original?.token);
}

/** Leaves the form while editing, returns, and then discards the changes. */
async function keepUnsaved(scene: ConsoleScene): Promise<void> {
  const { page, go } = scene;
  const place = await page.do<string>('evaluate', { expression: `location.hash` });
  await page.do('fill', { selector: 'input[name=budgetMax]', text: '280 000' });
  await go('map');
  await page.do('evaluate', { expression: `location.hash = ${JSON.stringify(place)}; 0` });
  await page.do('until', { expression: `document.querySelector('input[name=budgetMax]')?.value === '280 000'` });
  await page.do('click', { selector: '::-p-text(Discard the changes)' });
  await page.do('until', { expression: `document.querySelector('input[name=budgetMax]')?.value === '300000'` });
  await page.do('gone', { selector: '::-p-text(Discard the changes)' });
  assert.deepEqual(
    (await savedSearches(scene)).map(({ budgetMax }) => budgetMax),
    [300_000, 300_000],
  );
}

async function deleteSearch(scene: ConsoleScene): Promise<void> {
  const { page, picture } = scene;
  const ask = async (): Promise<void> => {
    await page.do('click', { selector: '.save-bar .danger' });
    await page.do('wait', { selector: 'dialog[open]' });
  };
  await ask();
  assert.match(await page.do<string>('text', { selector: 'dialog' }), /Delete the search “Famille \(copy\)”\?/);
  assert.deepEqual(await page.do('axe'), []);
  await picture('question');
  await page.do('press', { key: 'Escape' });
  await page.do('gone', { selector: 'dialog[open]' });
  await ask();
  await page.do('click', { selector: 'dialog button:not(.danger)' });
  await page.do('gone', { selector: 'dialog[open]' });
  assert.equal((await savedSearches(scene)).length, 2);
  await ask();
  await page.do('click', { selector: 'dialog .danger' });
  await page.do('until', { expression: `document.querySelectorAll('.search-row').length === 1` });
  assert.deepEqual(
    (await savedSearches(scene)).map(({ title }) => title),
    ['Famille'],
  );
}

async function switchNotifications(scene: ConsoleScene): Promise<void> {
  const { page } = scene;
  const [before] = await savedSearches(scene);
  await scene.rest.request('PUT', before?.['@id'] ?? '', { budgetMax: 290_000 });
  await page.do('evaluate', { expression: RECORD_CHANGES });
  for (const isOn of [false, true]) {
    await page.do('click', { selector: 'input[role=switch]' });
    const shown = `document.querySelector('input[role=switch]:enabled')?.checked === ${isOn}`;
    await page.do('until', { expression: shown });
    const [{ notificationEnabled, budgetMax } = assert.fail()] = await savedSearches(scene);
    assert.deepEqual([notificationEnabled, budgetMax], [isOn, 290_000]);
  }
  const asked = await page.do<{ isConditional: boolean }[]>('evaluate', { expression: 'window.changes' });
  assert.deepEqual(
    asked.map(({ isConditional }) => isConditional),
    [false, true, false, true],
  );
}

async function seeSilentSearch({ page, rest, publish, enter, chooseSearch }: ConsoleScene): Promise<void> {
  const silent = { title: 'Sans bruit', transactionType: 1, includedCities: ['/cities/83137'] };
  const { iri } = await rest.createSearch(silent);
  await publish({ title: 'Studio à louer', price: 600, transactionType: 1 });
  const found = () => rest.request<{ 'hydra:totalItems': number }>('GET', `${iri}/properties`);
  await until(found, ({ body }) => body['hydra:totalItems'] === 1);
  await enter();
  await chooseSearch('Sans bruit');
  await page.do('wait', { selector: '::-p-text(1 property found now)' });
  await page.do('until', { expression: `${COVERED} > 0` });
  // No notification was sent about the property, but it is shown.
  await page.do('click', { selector: '[data-list=matches] ::-p-text(Studio à louer)' });
  await page.do('wait', { selector: '.property ::-p-text(Studio à louer)' });
  await page.do('click', { selector: '.property .back' });
  await page.do('wait', { selector: '.filters' });
  await chooseSearch('');
}

/** The number of map pixels that matches cover. */
const COVERED = `(() => {
  const canvas = document.querySelector('.leaflet-pins-pane canvas');
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  return data.filter((value, at) => at % 4 === 3 && value > 0).length;
})()`;

async function filterMatches(scene: ConsoleScene): Promise<void> {
  const { page, rest, receiver, publish, servers, enter, chooseSearch } = scene;
  const notifying = { notificationEnabled: true, endpointRecipient: receiver.urlOf('/ventes') };
  await rest.createSearch({ title: 'Ventes', ...TOULON, ...notifying });
  const older = randomUUID();
  await publish(
    { property: older, title: 'Vendu mardi', price: 210_000 },
    { title: 'Vendu ce jour', price: 220_000, surface: 80, lat: 43.14 },
  );
  await receiver.until((posts) => posts.length === 2);
  const earlier = `update matches set created_at = created_at - interval '3 days' where property_uuid = '${older}'`;
  await queryOnce(servers.postgres.url, earlier);
  await enter();
  const shows = async (titles: readonly string[]): Promise<void> => {
    const listed = `[...document.querySelectorAll('[data-list=matches] .row-title')].map((one) => one.innerText).sort()`;
    await page.do('until', { expression: `${listed}.join() === ${JSON.stringify([...titles].sort().join())}` });
    await page.do('until', { expression: `${COVERED} ${titles.length === 0 ? '===' : '>'} 0` });
  };
  await sortResults(scene, shows);
  const period = '.filters select';
  await shows(['Vendu mardi', 'Vendu ce jour']);
  await page.do('choose', { selector: period, value: '1' });
  await shows(['Vendu ce jour']);
  // The period does not apply to the current results of one search.
  await chooseSearch('Ventes');
  await shows(['Vendu mardi', 'Vendu ce jour']);
  await page.do('click', { selector: '.chip:has([data-kind=sale])' });
  await shows([]);
  await chooseSearch('');
  await shows([]);
  await page.do('choose', { selector: period, value: '30' });
  await page.do('click', { selector: '.chip:has([data-kind=sale])' });
  await shows(['Vendu mardi', 'Vendu ce jour']);
}

/** The page sorts the results of all searches; the service sorts and exports those of one search. */
async function sortResults(
  { page, chooseSearch, picture }: ConsoleScene,
  shows: (titles: readonly string[]) => Promise<void>,
): Promise<void> {
  const first = async (title: string): Promise<void> => {
    await page.do('until', { expression: `document.querySelector('.result .row-title')?.innerText === '${title}'` });
  };
  for (const search of ['', 'Ventes']) {
    await chooseSearch(search);
    for (const order of ['surface', 'price', 'pricePerMeter', 'price']) {
      await page.do('choose', { selector: '.result-tools select', value: order });
      await first(order === 'price' ? 'Vendu mardi' : 'Vendu ce jour');
    }
    await page.do('choose', { selector: '.result-tools select', value: 'newest' });
    // Both were published at the same moment, but notified days apart.
    if (search === '') await first('Vendu ce jour');
    await page.do('fill', { selector: 'input[name=results]', text: 'mardi' });
    await shows(['Vendu mardi']);
    await page.do('fill', { selector: 'input[name=results]', text: ' ' });
    await shows(['Vendu mardi', 'Vendu ce jour']);
    if (search === '') continue;
    await page.do('evaluate', { expression: KEEP_EXPORT });
    await page.do('click', { selector: '#results button' });
    await page.do('until', { expression: `window.exported?.split('\\r\\n').length === 4` });
    assert.match(await page.do<string>('evaluate', { expression: 'window.exported' }), /Vendu mardi,.*210000/);
  }
  await picture('results');
  await chooseSearch('');
}

const KEEP_EXPORT = `(() => {
  window.exported = null;
  URL.createObjectURL = (blob) => {
    blob.text().then((text) => (window.exported = text));
    return '#/map';
  };
})()`;

async function readProperty({ page, receiver, publish, picture }: ConsoleScene): Promise<void> {
  const property = randomUUID();
  const days = [3, 2, 1].map((ago) => new Date(Date.now() - ago * 86_400_000).toISOString());
  for (const [at, price] of [250_000, 240_000, 219_500].entries())
    await publish({ property, title: 'Baisse de prix', price, crawledAt: days[at] as string });
  await receiver.until((posts) => posts.length === 3);
  await page.do('click', { selector: '.fresh button' });
  await page.do('click', { selector: '[data-list=matches] ::-p-text(Baisse de prix)' });
  await page.do('wait', { selector: '.prices' });
  assert.match(await page.do<string>('text', { selector: '.prices' }), /€250,000\s.*€240,000\s.*€219,500/);
  await page.do('wait', { selector: '.sent .tag[data-state=delivered]' });
  assert.match(await page.do<string>('text', { selector: '.sent' }), /127\.0\.0\.1:\d+\/ventes/);
  await picture('prices');
}

/** Sets the page's clock ahead by `ms` milliseconds. */
const ahead = (ms: number): string => `(() => {
  globalThis.rightNow ??= Date.now.bind(Date);
  Date.now = () => globalThis.rightNow() + ${ms};
})()`;

async function countDown({ page, receiver, publish, go, picture }: ConsoleScene): Promise<void> {
  receiver.script('/ventes', { type: 'answer', status: 503, body: 'back soon' });
  await publish({ title: 'T2 plus tard', price: 190_000 });
  await go('deliveries');
  const countdown = '.delivery[data-status=retry_wait] .countdown';
  await page.do('wait', { selector: countdown });
  const told = `document.querySelector('${countdown}').innerText`;
  assert.match(await page.do<string>('evaluate', { expression: told }), /^next attempt in (?:1:00:00|5\d:\d\d)$/);
  await page.do('evaluate', { expression: ahead(45 * 60_000) });
  await page.do('until', { expression: `/^next attempt in 1[0-5]:\\d\\d$/.test(${told})` });
  await picture('countdown');
  await page.do('evaluate', { expression: ahead(61 * 60_000) });
  await page.do('until', { expression: `${told} === 'due now'` });
  await page.do('evaluate', { expression: ahead(0) });
}

/** Runs after `countDown`, which leaves one failed webhook. */
async function resendFailed({ page, rest, go }: ConsoleScene): Promise<void> {
  await go('endpoints');
  for (const label of ['Pause', 'Resume', 'Send failed webhooks again']) {
    const button = `[...document.querySelectorAll('.cards .card')].find((card) => card.innerText.includes('/ventes'))
      ?.querySelectorAll('button').values().find(({ innerText }) => innerText === '${label}')`;
    await page.do('until', { expression: `(${button}) !== undefined` });
    await page.do('evaluate', { expression: `(${button}).click()` });
  }
  const matched = await until(
    async () => (await rest.request<{ 'hydra:member': { matched: number }[] }>('GET', '/recoveries')).body,
    ({ 'hydra:member': [recovery] }) => (recovery?.matched ?? 0) > 0,
  );
  assert.equal(matched['hydra:member'][0]?.matched, 1);
}

async function testWebhook({ page, receiver, go }: ConsoleScene): Promise<void> {
  await go('endpoints');
  receiver.script('/nowhere', { type: 'answer', status: 404, body: 'no such <b>path</b>' });
  await page.do('fill', { selector: 'input[name=endpoint]', text: receiver.urlOf('/nowhere') });
  await page.do('click', { selector: 'form .primary' });
  await page.do('wait', { selector: '.outcome[data-outcome=false]' });
  assert.match(await page.do<string>('text', { selector: '.outcome' }), /HTTP 404[^]*no such <b>path<\/b>/);
  await page.do('fill', { selector: 'input[name=endpoint]', text: 'nowhere' });
  await page.do('click', { selector: 'form .primary' });
  await page.do('wait', { selector: '.problem' });
  await page.do('gone', { selector: '.outcome' });
  assert.match(await page.do<string>('text', { selector: '.problem' }), /must be an absolute URL/);
}
