/**
 * Opens a page in Chromium, waits until nothing more is loaded, and prints its markup, its console messages and the
 * addresses that it requested. Run it in the folder where the packages are installed. Argument: the URL.
 */

import chromium from '@sparticuz/chromium';
import puppeteer from 'puppeteer-core';

const browser = await puppeteer.launch({
  executablePath: await chromium.executablePath(),
  args: puppeteer.defaultArgs({ args: chromium.args, headless: 'shell' }),
  headless: 'shell',
});
try {
  const page = await browser.newPage();
  const complaints = [];
  const addresses = [];
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => addresses.push(request.url()));
  await page.goto(process.argv[2], { waitUntil: 'networkidle0', timeout: 0 });
  process.stdout.write(JSON.stringify({ markup: await page.content(), complaints, addresses }));
} finally {
  await browser.close();
}
