/** What the operator adds to the console: a tile server, and pictures of adverts. Nobody else is asked for anything. */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { SHARED_DATA } from '../support/checkout.ts';
import { openConsole } from '../support/console-scene.ts';
import type { Cleanup } from '../support/servers.ts';

/** One transparent pixel. */
const TILE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
);

interface TileServer {
  readonly origin: string;
  readonly paths: readonly string[];
  /** Who the requests said that they came from. */
  readonly referers: ReadonlySet<string | undefined>;
}

async function startTileServer(cleanup: Cleanup): Promise<TileServer> {
  const paths: string[] = [];
  const referers = new Set<string | undefined>();
  const server = createServer((request, response) => {
    paths.push(request.url ?? '');
    referers.add(request.headers.referer);
    response.writeHead(200, { 'Content-Type': 'image/png' }).end(TILE);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  cleanup.after(async () => {
    server.closeAllConnections();
    server.close();
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, paths, referers };
}

const MONACO = fileURLToPath(new URL('tiles/monaco.pmtiles', SHARED_DATA));
const unlessMonaco = { skip: existsSync(MONACO) ? false : 'the real file is not at ../shared/data/tiles' };

/** How many pixels of the tiles are as good as in each colour of the page's; letters have edges of all shades. */
const PAINTED = `(() => {
  const named = ['road', 'building', 'green', 'label'].map((name) => {
    const probe = document.body.appendChild(document.createElement('i'));
    probe.style.color = 'var(--map-' + name + ')';
    const colour = getComputedStyle(probe).color.match(/\\d+/g).map(Number);
    probe.remove();
    return [name, colour];
  });
  const counts = { road: 0, building: 0, green: 0, label: 0 };
  for (const tile of document.querySelectorAll('canvas.leaflet-tile-loaded')) {
    const { data } = tile.getContext('2d').getImageData(0, 0, tile.width, tile.height);
    for (let at = 0; at < data.length; at += 4) {
      const isNear = (wanted) => [0, 1, 2].every((which) => Math.abs(data[at + which] - wanted[which]) <= 4);
      for (const [name, wanted] of named) if (data[at + 3] === 255 && isNear(wanted)) counts[name] += 1;
    }
  }
  return counts;
})()`;
const ENOUGH = `(({ road, building, green, label }) =>
  road > 5_000 && building > 5_000 && green > 500 && label > 25)(${PAINTED})`;

test('a file of streets is drawn, with their names, and asked of this server alone', {
  ...unlessMonaco,
  timeout: 300_000,
}, async (t) => {
  const { page, rest, enter, address, picture } = await openConsole(t, { VIGIE_MAP_FILE: MONACO });
  await rest.createSearch({ title: 'Monaco', lat: '43.738', lon: '7.424', radius: 1, notificationEnabled: true });
  for (const scheme of ['light', 'dark']) {
    await page.do('look', { width: 1440, height: 900, scheme });
    await enter();
    await page.do('wait', { selector: 'canvas.leaflet-tile-loaded' });
    await page.do('wheel', { x: 930, y: 480, deltaY: -600 });
    await page.do('until', { expression: ENOUGH });
    await picture(`streets-${scheme}`);
  }
  assert.match(await page.do('text', { selector: '.leaflet-control-attribution' }), /OpenStreetMap/);
  const hints = `document.querySelectorAll('.no-streets').length`;
  assert.equal(await page.do('evaluate', { expression: hints }), 0);
  assert.deepEqual(await page.do('axe'), []);
  const { complaints, addresses } = await page.do<Record<'complaints' | 'addresses', string[]>>('report');
  const asked = addresses.filter((one) => !/^(?:data|about):/.test(one));
  assert.deepEqual([...new Set(asked.map((one) => new URL(one).origin))], [new URL(address).origin]);
  assert.ok(asked.some((one) => one.endsWith('.pmtiles')));
  assert.deepEqual(complaints, []);
});

test('tiles and pictures come from where the operator says', { timeout: 300_000 }, async (t) => {
  const tiles = await startTileServer(t);
  const { page, rest, enter, publish, address, picture } = await openConsole(t, {
    VIGIE_MAP_TILES_URL: `${tiles.origin}/{z}/{x}/{y}.png`,
    VIGIE_MAP_ATTRIBUTION: '© <b>Tuiles</b> & fils',
    VIGIE_CONSOLE_PICTURES: 'true',
  });
  const policy = (await fetch(address)).headers.get('Content-Security-Policy')?.split(';');
  assert.deepEqual(
    policy?.filter((directive) => /http/.test(directive)),
    [`img-src 'self' data: ${tiles.origin} https:`],
  );
  await rest.createSearch({ title: 'Toulon', includedCities: ['/cities/83137'], notificationEnabled: true });
  await page.do('look', { width: 1280, height: 800, scheme: 'light' });
  await enter();
  await page.do('wait', { selector: '.leaflet-tile-loaded' });
  assert.equal(await page.do('text', { selector: '.leaflet-control-attribution' }), '© <b>Tuiles</b> & fils');
  for (const path of tiles.paths) assert.match(path, /^\/\d+\/\d+\/\d+\.png$/);
  assert.deepEqual([...tiles.referers], [`${new URL(address).origin}/`]);
  await publish({ title: 'Avec photos', price: 230_000 });
  const shows = async (selector: string): Promise<void> => {
    await page.do('wait', { selector });
    const sources = `[...document.querySelectorAll('${selector}')].map(({ src }) => src)`;
    assert.deepEqual(await page.do('evaluate', { expression: sources }), ['https://portal.example/1.jpg']);
  };
  await shows('.result img.thumbnail');
  await page.do('click', { selector: '[data-list=matches] a' });
  await shows('.pictures img');
  assert.deepEqual(await page.do('axe'), []);
  await picture('operator');
  const { complaints, addresses } = await page.do<Record<'complaints' | 'addresses', string[]>>('report');
  const asked = new Set(addresses.filter((one) => !/^(?:data|about):/.test(one)).map((one) => new URL(one).origin));
  const allowed = [new URL(address).origin, tiles.origin, 'https://portal.example'];
  assert.deepEqual([...asked].sort(), allowed.sort());
  assert.deepEqual(
    complaints.filter((complaint) => !complaint.startsWith('Failed to load resource:')),
    [],
  );
});
