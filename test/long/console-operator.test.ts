/** An operator may allow a tile server and the adverts' pictures in the console. The page contacts no other host. */

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { openConsole } from '../support/console-scene.ts';
import { assertNone } from '../support/lists.ts';
import { listenOnLoopback } from '../support/loopback.ts';
import type { Cleanup } from '../support/servers.ts';

/** One transparent pixel. */
const TILE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
);

interface TileServer {
  readonly origin: string;
  readonly paths: readonly string[];
  /** The Referer headers of the requests. */
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
  return { origin: `http://127.0.0.1:${await listenOnLoopback(cleanup, server)}`, paths, referers };
}

test('tiles and pictures are loaded only from the servers that the operator has allowed', {
  timeout: 300_000,
}, async (t) => {
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
  assertNone(complaints.filter((complaint) => !complaint.startsWith('Failed to load resource:')));
});
