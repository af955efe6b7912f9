/**
 * Controls Chromium remotely. Each line of standard input is a command as JSON, `{do, …}`; each line of standard output
 * is its result, `{value}` or `{error}`. Selectors are puppeteer's. Requested addresses, aborted requests and errors of
 * the page are collected for the command `report`.
 */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import chromium from '@sparticuz/chromium';
import puppeteer from 'puppeteer-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
// Renders in software without a graphics card: the package's emulated GPU takes seconds per frame of a long list.
chromium.setGraphicsMode = false;
const browser = await puppeteer.launch({
  executablePath: await chromium.executablePath(),
  args: puppeteer.defaultArgs({ args: chromium.args, headless: 'shell' }),
  headless: 'shell',
  defaultViewport: { width: 1280, height: 800 },
});
const page = await browser.newPage();
page.setDefaultTimeout(90_000);
const complaints = [];
const addresses = [];
const aborted = [];
page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
page.on('pageerror', (error) => complaints.push(error.message));
// Confirms leaving a page with unsaved changes.
page.on('dialog', (dialog) => void dialog.accept());
page.on('request', (request) => addresses.push(request.url()));
page.on('requestfailed', (request) => aborted.push(request.url()));

const commands = {
  goto: ({ url }) => page.goto(url, { waitUntil: 'load' }).then(() => null),
  click: ({ selector }) => page.locator(selector).click(),
  /** Selects and replaces the field's text. The page may replace its content until the first letter is typed. */
  async fill({ selector, text }) {
    const field = await page.locator(selector).waitHandle();
    await field.focus();
    await field.evaluate((element) => element.select());
    await page.keyboard.type(text);
  },
  type: ({ text }) => page.keyboard.type(text).then(() => null),
  press: ({ key }) => page.keyboard.press(key),
  choose: ({ selector, value }) => page.select(selector, value).then(() => null),
  wait: ({ selector }) => page.waitForSelector(selector).then(() => null),
  gone: ({ selector }) => page.waitForSelector(selector, { hidden: true }).then(() => null),
  until: ({ expression }) => page.waitForFunction(expression).then(() => null),
  text: ({ selector }) => page.$eval(selector, (element) => element.innerText),
  evaluate: ({ expression }) => page.evaluate(expression),
  async mouse({ x, y }) {
    await page.mouse.move(x, y);
    await page.mouse.click(x, y);
  },
  async drag({ from, to }) {
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    await page.mouse.move(to.x, to.y, { steps: 20 });
    await page.mouse.up();
  },
  async wheel({ x, y, deltaY }) {
    await page.mouse.move(x, y);
    await page.mouse.wheel({ deltaY });
  },
  async look({ width, height, scheme, language, timeZone }) {
    if (language !== undefined) await page.setExtraHTTPHeaders({ 'Accept-Language': language });
    if (timeZone !== undefined) await page.emulateTimezone(timeZone);
    await page.emulateMediaFeatures([
      { name: 'prefers-color-scheme', value: scheme },
      { name: 'prefers-reduced-motion', value: 'reduce' },
    ]);
    await page.setViewport({ width, height });
  },
  picture: ({ path }) => page.screenshot({ path }).then(() => null),
  async axe() {
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => globalThis.axe.run());
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`);
  },
  /** The accessibility tree in the order in which a screen reader reads it. */
  async reading() {
    const told = [];
    const take = ({ role, name = '', level, children = [] }) => {
      told.push({ role, name, level });
      children.forEach(take);
    };
    take(await page.accessibility.snapshot({ interestingOnly: false }));
    return told;
  },
  report: () => ({ complaints, addresses, aborted }),
};

for await (const line of createInterface(process.stdin)) {
  const { do: name, ...rest } = JSON.parse(line);
  const told = await Promise.resolve()
    .then(() => commands[name](rest))
    .then(
      (value) => ({ value: value ?? null }),
      (error) => ({ error: `${name} ${JSON.stringify(rest)}: ${error.message}` }),
    );
  process.stdout.write(`${JSON.stringify(told)}\n`);
}
await browser.close();
