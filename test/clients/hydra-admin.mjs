/**
 * Uses API Platform Admin as a user would: opens every list and, if possible, its first entry, sorts and filters,
 * creates a search after correcting a mistake, edits and deletes it, and prints its observations as JSON. Arguments: the
 * address of the page, and optionally a directory for screenshots.
 */

import chromium from '@sparticuz/chromium';
import puppeteer from 'puppeteer-core';

const [address, pictures] = process.argv.slice(2);
const browser = await puppeteer.launch({
  executablePath: await chromium.executablePath(),
  args: puppeteer.defaultArgs({ args: chromium.args, headless: 'shell' }),
  headless: 'shell',
  defaultViewport: { width: 1600, height: 1000 },
});

const complaints = [];
const refused = [];
const seen = { lists: {} };
let page;

async function picture(name) {
  if (pictures !== undefined) await page.screenshot({ path: `${pictures}/${name}.png` });
}

/** The rows of the current list, as the texts of their cells. */
const rows = () =>
  page.$$eval('.RaDatagrid-tbody .RaDatagrid-row', (all) =>
    all.map((row) => row.innerText.split(/\s*\n\s*|\t/).join(' | ')),
  );
const settled = () => page.waitForNetworkIdle({ idleTime: 300, concurrency: 0 });
const open = async (hash) => {
  await page.evaluate((to) => (window.location.hash = to), hash);
  await settled();
};
/** Lists whose rows cannot be opened, each with a cell that no other list has. */
const SUMMARIES = { recipients: 'td.column-lastMailAt' };
/** Opens a list, and waits for its own rows, because the previous list may still be shown. */
const openList = async (name) => {
  await open(`#/${name}`);
  const own = SUMMARIES[name] ?? `a[href^="#/${name}/"]`;
  await page.waitForSelector(`.RaDatagrid-tbody .RaDatagrid-row ${own}`);
};
const rowCountIs = (count) =>
  page.waitForFunction(
    (wanted) => document.querySelectorAll('.RaDatagrid-tbody .RaDatagrid-row').length === wanted,
    {},
    count,
  );
/** Waits for the row, because a list shows its former rows until it has been loaded again. */
const rowOf = (title) =>
  page.waitForSelector(`::-p-xpath(//tr[contains(@class,"RaDatagrid-row")][contains(.,"${title}")])`);
/** Clicks a button by its text or label, as a person finds it. */
const press = async (label) => {
  const button = await page.waitForSelector(`::-p-aria([name="${label}"][role="button"])`);
  await button.click();
};
const follow = async (label) => {
  const link = await page.waitForSelector(`::-p-aria([name="${label}"][role="link"])`);
  await link.click();
};
async function fill(name, text) {
  const input = await page.waitForSelector(`input[name="${name}"]`);
  await input.click({ count: 3 });
  await page.keyboard.press('Backspace');
  await input.type(text);
}

async function lookAtLists() {
  const menu = await page.$$eval('a.RaMenuItemLink-root, [role="menuitem"]', (links) =>
    links.map((link) => link.getAttribute('href')).filter((href) => href?.startsWith('#/')),
  );
  for (const href of menu) {
    const name = href.slice(2);
    await openList(name);
    seen.lists[name] = { rows: (await rows()).length, paging: await textOf('.MuiTablePagination-displayedRows') };
    await picture(`list-${name.replaceAll('/', '-')}`);
  }
}

async function textOf(selector) {
  return page.$eval(selector, (node) => node.innerText).catch(() => null);
}

async function openEach() {
  seen.opened = {};
  for (const name of Object.keys(seen.lists)) {
    if (name in SUMMARIES) continue;
    await openList(name);
    await follow('Show');
    await page.waitForSelector('.RaShow-main');
    await settled();
    seen.opened[name] = (await textOf('.RaShow-main')).slice(0, 2_000);
    await picture(`show-${name.replaceAll('/', '-')}`);
  }
}

async function filterAndSort() {
  await openList('searches');
  const titles = async () => page.$$eval('td.column-title', (cells) => cells.map((cell) => cell.innerText));
  const sortInto = async (order, wanted) => {
    await (await page.waitForSelector('span[data-field="title"]')).click();
    // The list may have this order already, so a second click counts only after the first has taken effect.
    await page.waitForFunction((now) => window.location.hash.includes(`order=${now}&`), {}, order);
    await page.waitForFunction(
      (expected) =>
        [...document.querySelectorAll('td.column-title')].map((cell) => cell.innerText).join('\n') === expected,
      {},
      wanted.join('\n'),
    );
    return titles();
  };
  const ascending = (await titles()).toSorted();
  seen.ascending = await sortInto('ASC', ascending);
  seen.descending = await sortInto('DESC', ascending.toReversed());
  await press('Add filter');
  await (await page.waitForSelector('[data-key="title"]')).click();
  await fill('title', 'zeb');
  await rowCountIs(1);
  seen.filtered = await titles();
  await picture('filtered');
  await open('#/searches?filter={}&displayedFilters={}');
}

async function createWithMistake() {
  await open('#/searches/create');
  await fill('title', 'Created by hand');
  await fill('budgetMin', '500');
  await fill('budgetMax', '300');
  await press('Save');
  const field = await page.waitForSelector('input[name="budgetMin"][aria-invalid="true"]');
  await field.scrollIntoView();
  seen.violation = await field.evaluate((input) => {
    return document.getElementById(input.getAttribute('aria-describedby'))?.innerText;
  });
  await picture('violation');
  await fill('budgetMin', '100');
  await press('Save');
  await page.waitForFunction(() => window.location.hash === '#/searches');
  await rowOf('Created by hand');
  seen.created = (await rows()).filter((row) => row.includes('Created by hand')).length;
  await picture('created');
}

/** Opens the edit page of the only search with this title. */
async function edit(title) {
  await openList('searches');
  const row = await rowOf(title);
  await (await row.waitForSelector('::-p-aria([name="Edit"][role="link"])')).click();
  await page.waitForSelector('input[name="title"]');
  await settled();
}

/** Changes one member and saves, which also sends the other members as the form shows them. */
async function editWhatIsThere() {
  await edit('Maison Lyon');
  await fill('budgetMax', '250000');
  await press('Save');
  await page.waitForFunction(() => !window.location.hash.includes('%2F'));
  await settled();
  await picture('edited');
}

async function editIt() {
  await edit('Created by hand');
  await fill('title', 'Changed by hand');
  await picture('edit');
  await press('Save');
  await page.waitForFunction(() => !window.location.hash.includes('%2F'));
  await rowOf('Changed by hand');
  seen.changed = (await rows()).filter((row) => row.includes('Changed by hand')).length;
}

async function deleteIt() {
  await edit('Changed by hand');
  await press('Delete');
  await (await page.waitForSelector('button.ra-confirm')).click();
  await page.waitForFunction(() => !window.location.hash.includes('%2F'));
  await page.waitForFunction(() => !document.querySelector('.RaDatagrid-tbody')?.innerText.includes('Changed by hand'));
  await page.waitForSelector('.RaDatagrid-tbody .RaDatagrid-row');
  seen.left = await rows();
  await picture('deleted');
}

try {
  page = await browser.newPage();
  page.setDefaultTimeout(45_000);
  // The theme requests a font from another host, which tests do not reach.
  const isOurs = ({ url = '' }) => url === '' || new URL(url).hostname === new URL(address).hostname;
  page.on('console', (message) => {
    if (message.type() === 'error' && isOurs(message.location())) complaints.push(message.text());
  });
  page.on('request', (request) => {
    if (request.method() === 'POST') seen.sent = JSON.parse(request.postData());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('response', (answer) => {
    if (answer.status() >= 400) refused.push(`${answer.status()} ${answer.request().method()} ${answer.url()}`);
  });
  await page.goto(address, { waitUntil: 'networkidle0' });
  await page.waitForSelector('.RaDatagrid-tbody .RaDatagrid-row');
  for (const story of [lookAtLists, openEach, filterAndSort, createWithMistake, editWhatIsThere, editIt, deleteIt]) {
    try {
      await story();
    } catch (error) {
      await picture('failed');
      throw new Error(`${story.name}: ${error.message}`, { cause: error });
    }
  }
  process.stdout.write(JSON.stringify({ ...seen, complaints, refused }));
} catch (error) {
  process.stderr.write(`${error.message}\n${JSON.stringify({ seen, complaints, refused }, null, 1)}\n`);
  process.exitCode = 1;
} finally {
  await browser.close();
}
