/**
 * Measures whether the console stays smooth with 1,000 searches and 10,000 matches. A simulated user moves the map,
 * filters, opens properties and scrolls through the list, in a browser without a graphics card. Counts frames, and
 * tasks of the page itself, that took longer than 100 ms. Arguments: `--matches N`, `--searches N`.
 */

import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { openPage } from '../test/support/browser.ts';
import { createApiKey, runVigie, startDaemon } from '../test/support/daemon.ts';
import { restClient } from '../test/support/rest-client.ts';
import { startTestServers } from '../test/support/servers.ts';
import { RECOVERY_MAX_MS, until } from '../test/support/until.ts';
import { createRandom } from './adverts/seeded-random.ts';
import { SMOKE, sized } from './smoke.ts';

const { values } = parseArgs({
  options: {
    ...SMOKE,
    matches: { type: 'string', default: sized('10000', '30') },
    searches: { type: 'string', default: sized('1000', '20') },
  },
});
const [matchCount, searchCount] = [Number(values.matches), Number(values.searches)];
const LONG_MS = 100;
const AT_ONCE = 20;
/** A client may write 50 times a second; `AT_ONCE` searches per batch are 40 a second. */
const BATCH_MS = 500;

const closers: (() => Promise<void>)[] = [];
const cleanup = { after: (work: () => Promise<void>) => void closers.push(work) };
const random = createRandom(1);
const between = (low: number, high: number): number => low + random.uniform() * (high - low);
/** A random point in a rectangle over most of France. */
const somewhere = () => ({ lat: between(43.5, 49.5), lon: between(-1, 6.5) });

const MEASURE = `(() => {
  const seen = { frames: 0, long: 0, worstMs: 0, longTasks: 0 };
  let last = performance.now();
  const frame = (now) => {
    seen.frames += 1;
    seen.long += now - last > ${LONG_MS};
    seen.worstMs = Math.max(seen.worstMs, now - last);
    last = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  new PerformanceObserver((list) => {
    seen.longTasks += list.getEntries().filter(({ duration }) => duration > ${LONG_MS}).length;
  }).observe({ type: 'longtask' });
  globalThis.seen = seen;
})()`;

/** Scrolls 400 pixels a frame to the end of the list. Returns the largest number of rows that were drawn at once. */
const SCROLL = `(async () => {
  const main = document.querySelector('main');
  let drawnMax = 0;
  for (let at = 0; at < main.scrollHeight - main.clientHeight; at += 400) {
    main.scrollTop = at;
    await new Promise(requestAnimationFrame);
    drawnMax = Math.max(drawnMax, document.querySelectorAll('.result').length);
  }
  return drawnMax;
})()`;

interface Seen {
  readonly frames: number;
  readonly long: number;
  readonly worstMs: number;
  readonly longTasks: number;
}

try {
  const servers = await startTestServers(cleanup);
  const daemon = await startDaemon(cleanup, servers);
  const key = await createApiKey(servers);
  const rest = restClient(daemon, key);
  const notifying = { notificationEnabled: true, withCoherentPrice: null };
  await rest.createSearch({ title: 'Everywhere', transactionType: 0, ...notifying });
  for (let made = 1; made < searchCount; made += AT_ONCE) {
    const searches = Array.from({ length: AT_ONCE }, (_, at) => rest.createSearch(areaSearch(made + at)));
    await Promise.all([pause(BATCH_MS), ...searches]);
  }
  say('searches saved');
  const lines = Array.from({ length: matchCount }, () => advertLine());
  const published = await runVigie(['publish'], servers, { input: lines.join('\n') });
  if (published.code !== 0) throw new Error(published.stderr);
  say('adverts published');
  const countMatches = async () => (await rest.request<{ 'hydra:totalItems': number }>('GET', '/matches')).body;
  await until(countMatches, (body) => body['hydra:totalItems'] >= Math.min(matchCount, 10_000), RECOVERY_MAX_MS);
  say('matches recorded');
  for (const seen of await useIt(`${daemon.apiUrl}/console#key=${key}`)) report(seen);
} finally {
  for (const close of closers.reverse()) await close();
}

/** A search by circle, polygon or department for homes to rent; all adverts are sales, so it has no matches. */
function areaSearch(at: number): Record<string, unknown> {
  const { lat, lon } = somewhere();
  const kinds = [
    { lat, lon, radius: Number(between(3, 30).toFixed(1)) },
    { geoShapes: [ringRound(lat, lon)] },
    { includedDepartments: [`/departments/${String(1 + (at % 19)).padStart(2, '0')}`] },
  ];
  return { title: `Search ${at}`, transactionType: 1, ...kinds[at % kinds.length] };
}

function ringRound(lat: number, lon: number): number[][] {
  const corner = (at: number): number[] => {
    const angle = (at * Math.PI) / 6;
    return [lon + 0.2 * Math.cos(angle), lat + 0.15 * Math.sin(angle)];
  };
  return Array.from({ length: 13 }, (_, at) => corner(at % 12));
}

function advertLine(): string {
  const property = { uuid: randomUUID(), transactionType: 0, propertyType: 0, locations: somewhere() };
  const advert = { uuid: randomUUID(), title: 'Appartement', price: Math.round(between(90_000, 600_000)), surface: 60 };
  return JSON.stringify({ kind: 'upsert', crawledAt: new Date().toISOString(), property, advert });
}

async function useIt(address: string): Promise<readonly Seen[]> {
  const page = await openPage(cleanup);
  await page.do('look', { width: 1280, height: 800, scheme: 'light' });
  await page.do('goto', { url: address });
  await page.do('until', {
    expression: `Number(document.querySelector('#results')?.innerText.replaceAll(/\\D/g, '')) >= ${Math.min(matchCount, 10_000)}`,
  });
  say('matches shown');
  await page.do('evaluate', { expression: MEASURE });
  const middle = { x: 850, y: 430 };
  for (let round = 0; round < 3; round++) {
    await page.do('drag', { from: middle, to: { x: 650, y: 330 } });
    await page.do('wheel', { ...middle, deltaY: -240 });
    await page.do('drag', { from: { x: 650, y: 330 }, to: middle });
    await page.do('wheel', { ...middle, deltaY: 240 });
    await page.do('click', { selector: '.chip:has([data-kind=sale])' });
    await page.do('click', { selector: '.chip:has([data-kind=sale])' });
    await page.do('click', { selector: '[data-list=matches] a' });
    await page.do('wait', { selector: '.property .facts' });
    await page.do('click', { selector: '.back' });
  }
  const used = await page.do<Seen>('evaluate', { expression: 'globalThis.seen' });
  await page.do('wait', { selector: '.result' });
  await page.do('evaluate', { expression: MEASURE });
  const drawnMax = await page.do<number>('evaluate', { expression: SCROLL });
  say(`scrolled, ${drawnMax} rows drawn at once`);
  return [used, await page.do<Seen>('evaluate', { expression: 'globalThis.seen' })];
}

/** Reports progress, because the set-up takes longer than the measurement. */
function say(what: string): void {
  console.error(`${(performance.now() / 1_000).toFixed(0)} s  ${what}`);
}

function report({ frames, long, worstMs, longTasks }: Seen): void {
  console.log(`${searchCount} searches, ${matchCount} matches: ${frames} frames, ${long} above ${LONG_MS} ms`);
  console.log(`the longest ${worstMs.toFixed(0)} ms; tasks of the page above ${LONG_MS} ms: ${longTasks}`);
  // A smoke run is too short to judge.
  if (longTasks > 0 && !values.smoke) process.exitCode = 1;
}
