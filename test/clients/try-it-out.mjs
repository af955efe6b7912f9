/**
 * Tries the API in its own documentation as a reader does: authorizes, opens each operation with a body, presses "Try
 * it out" and "Execute" with the unchanged example, and prints the answers. Arguments: the address of the
 * documentation, the key, the values of `id` and `uuid` in paths, the operations as JSON, and optionally a directory
 * for screenshots.
 */

import chromium from '@sparticuz/chromium';
import puppeteer from 'puppeteer-core';

const [address, key, id, uuid, operations, pictures] = process.argv.slice(2);
const wanted = JSON.parse(operations);
const browser = await puppeteer.launch({
  executablePath: await chromium.executablePath(),
  args: puppeteer.defaultArgs({ args: chromium.args, headless: 'shell' }),
  headless: 'shell',
  defaultViewport: { width: 1400, height: 1600 },
});
const complaints = [];
const tried = [];

async function authorize(page) {
  await (await page.waitForSelector('button.authorize')).click();
  await (await page.waitForSelector('.auth-container input')).type(key);
  await (await page.waitForSelector('.auth-btn-wrapper button.authorize')).click();
  await (await page.waitForSelector('.auth-btn-wrapper button.btn-done')).click();
}

async function tryIt(page, block, name) {
  await (await block.waitForSelector('.opblock-summary-control')).click();
  await (await block.waitForSelector('.try-out__btn')).click();
  await block.waitForSelector('.body-param__text');
  // The example already has the id of an endpoint.
  for (const [parameter, value] of name.includes('/endpoints/') ? [] : Object.entries({ id, uuid })) {
    const input = await block.$(`tr[data-param-name="${parameter}"] input`);
    await input?.click({ count: 3 });
    await input?.type(value);
  }
  await (await block.waitForSelector('button.execute')).click();
  const status = await block.waitForSelector('.live-responses-table tbody .response-col_status');
  const body = await block.$$eval('.live-responses-table tbody .highlight-code', ([code]) => code?.innerText ?? '');
  tried.push({ name, status: Number.parseInt(await status.evaluate((cell) => cell.innerText), 10), body });
  if (pictures !== undefined) await block.screenshot({ path: `${pictures}/try-${tried.length}.png` });
  await (await block.waitForSelector('.opblock-summary-control')).click();
}

try {
  const page = await browser.newPage();
  page.setDefaultTimeout(45_000);
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  await page.goto(address, { waitUntil: 'networkidle0' });
  if (pictures !== undefined) await page.screenshot({ path: `${pictures}/docs.png` });
  await authorize(page);
  for (const block of await page.$$('.opblock-post, .opblock-put, .opblock-patch')) {
    const name = await block.$eval('.opblock-summary', (line) =>
      [...line.querySelectorAll('.opblock-summary-method, .opblock-summary-path')]
        .map((part) => part.innerText.replaceAll('\u200b', ''))
        .join(' '),
    );
    if (wanted.includes(name)) await tryIt(page, block, name);
  }
  process.stdout.write(JSON.stringify({ tried, complaints }));
} catch (error) {
  process.stderr.write(`${error.message}\n${JSON.stringify({ tried, complaints }, null, 1)}\n`);
  process.exitCode = 1;
} finally {
  await browser.close();
}
