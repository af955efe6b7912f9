/** The console in a browser, on its own daemon: a user's actions, and adverts published at the same time. */

import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { openPage } from './browser.ts';
import { createApiKey, type Settings, startDaemon } from './daemon.ts';
import { connectCrawler } from './intake.ts';
import { portForLater } from './ports.ts';
import { restClient } from './rest-client.ts';
import { type Cleanup, startTestServers } from './servers.ts';
import { startWebhookReceiver } from './webhook-receiver.ts';

export interface Sample {
  readonly property?: string;
  readonly title: string;
  readonly price: number;
  readonly surface?: number;
  /** 0 (default): sale; 1: rent. */
  readonly transactionType?: number;
  readonly lat?: number;
  readonly lon?: number;
  readonly url?: string;
  readonly crawledAt?: string;
}

export type ConsoleScene = Awaited<ReturnType<typeof openConsole>>;

export async function openConsole(cleanup: Cleanup, more: Settings = {}) {
  const [servers, receiver, page, port] = await Promise.all([
    startTestServers(cleanup),
    startWebhookReceiver(cleanup),
    openPage(cleanup),
    portForLater(),
  ]);
  const settings = { VIGIE_API_ADDRESS: `127.0.0.1:${port}`, ...more };
  let daemon = await startDaemon(cleanup, servers, settings);
  const crawler = await connectCrawler(cleanup, servers.nats.url);
  const key = await createApiKey(servers);
  const pictures = process.env.VIGIE_TEST_PICTURES;
  if (pictures !== undefined) await mkdir(pictures, { recursive: true });
  return {
    servers,
    get daemon() {
      return daemon;
    },
    key,
    rest: restClient(daemon, key),
    receiver,
    page,
    address: `${daemon.apiUrl}/console`,
    publish: (...samples: readonly Sample[]) => crawler.publish(...samples.map(messageOf)),
    /** Opens the page with its key, in English, and waits until its live connection is open. */
    async enter() {
      await page.do('goto', { url: 'about:blank' });
      await page.do('goto', { url: `${daemon.apiUrl}/console#key=${key}` });
      await page.do('until', { expression: `document.querySelector('.lamp')?.dataset.connection === 'live'` });
      if ((await page.do('evaluate', { expression: 'document.documentElement.lang' })) === 'fr')
        await page.do('click', { selector: 'button[lang=en]' });
    },
    /** Opens a view by its address. */
    async go(view: string, id = '') {
      await page.do('evaluate', { expression: `location.hash = ${JSON.stringify(`#/${view}/${id}`)}; 0` });
      await page.do('wait', { selector: `nav a[data-view=${view}][aria-current]` });
    },
    /** Types the title of a search into the map's chooser; an empty title selects all searches. */
    async chooseSearch(title: string) {
      const chooser = '.filters input[name=search]';
      await page.do('wait', { selector: title === '' ? chooser : `.filters option[value=${JSON.stringify(title)}]` });
      // Filling in an empty text would not trigger an event in the page, so a blank is typed.
      await page.do('fill', { selector: chooser, text: title || ' ' });
    },
    /** Ends the daemon; `restart` starts it on the same port. */
    async stop() {
      await daemon.end('SIGTERM');
    },
    async restart() {
      daemon = await startDaemon(cleanup, servers, settings);
    },
    /** Saves a screenshot if `VIGIE_TEST_PICTURES` names a folder. */
    async picture(name: string) {
      if (pictures !== undefined) await page.do('picture', { path: `${pictures}/${name}.png` });
    },
  };
}

/** A message about an apartment in Toulon, for sale by default, and its only advert. */
function messageOf({
  property = randomUUID(),
  title,
  price,
  surface = 62,
  transactionType = 0,
  lat = 43.1258,
  lon = 5.9306,
  url,
  crawledAt,
}: Sample) {
  return {
    kind: 'upsert',
    crawledAt: crawledAt ?? new Date().toISOString(),
    property: {
      uuid: property,
      ...{ transactionType, propertyType: 0, city: { insee: '83137' }, locations: { lat, lon }, room: 3 },
    },
    advert: {
      uuid: property.replace(/^.{8}/, 'ad000000'),
      ...{ title, price, surface, url, pictures: ['https://portal.example/1.jpg', 'javascript:alert(1)'] },
      description: 'Vue mer <b onclick="x">dégagée</b>, proche du port.',
      publisher: { category: 'portal', name: 'Agence du Port', type: 1 },
    },
  };
}
