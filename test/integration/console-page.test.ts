/** How the console is served: to whom, under which policy, how much of it, and what it tells of itself. */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { request } from 'undici';
import { openStreetMap } from '../../src/rest/street-map.ts';
import { startTestApi } from '../support/api.ts';
import { SHARED_DATA } from '../support/checkout.ts';

const PLAIN = { showsPictures: false, tilesUrl: null, tilesAttribution: '', streets: null };
const api = await startTestApi({ after }, { settings: { console: PLAIN } });

/** Compressed, both. */
const SCRIPT_BYTES_MAX = 130_000;

const MONACO = fileURLToPath(new URL('tiles/monaco.pmtiles', SHARED_DATA));
const unlessMonaco = { skip: existsSync(MONACO) ? false : 'the real file is not at ../shared/data/tiles' };

async function read(path: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${api.baseUrl}${path}`, { headers, redirect: 'manual' });
  return { response, text: await response.text() };
}

async function assetNames(): Promise<readonly string[]> {
  const { text } = await read('/console');
  const settings = JSON.parse(/data-settings="([^"]*)"/.exec(text)?.[1]?.replaceAll('&quot;', '"') ?? '{}');
  const linked = [...text.matchAll(/(?:href|src)="(console\/[^"]+)"/g)].map(([, name]) => `/${name}`);
  return [...linked, `/console/${settings.outlines}`, `/console/${settings.places}`];
}

type Pair = readonly [number, number];

/** Degrees, of the lines beside a commune. */
function extentOf(lines: readonly number[][], commune: number, scale: Pair, translate: Pair) {
  const [lons, lats]: [number[], number[]] = [[], []];
  let [fromX, fromY] = [0, 0];
  for (const [one, other, ...steps] of lines) {
    let [x, y] = [fromX, fromY];
    for (let at = 0; at < steps.length; at += 2) {
      x += Number(steps[at]);
      y += Number(steps[at + 1]);
      if (at === 0) [fromX, fromY] = [x, y];
      if (one !== commune && other !== commune) continue;
      lons.push(x * scale[0] + translate[0]);
      lats.push(y * scale[1] + translate[1]);
    }
  }
  return { west: Math.min(...lons), east: Math.max(...lons), south: Math.min(...lats), north: Math.max(...lats) };
}

/** As it is sent: `fetch` would unpack it. */
async function packed(path: string, coding: string): Promise<Buffer> {
  const { statusCode, body } = await request(`${api.baseUrl}${path}`, { headers: { 'Accept-Encoding': coding } });
  assert.equal(statusCode, 200);
  return Buffer.from(await body.arrayBuffer());
}

describe('the console', () => {
  it('needs no key, and allows nothing but itself', async () => {
    const { response, text } = await read('/console');
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('Content-Type'), 'text/html; charset=utf-8');
    assert.deepEqual(
      new Set(response.headers.get('Content-Security-Policy')?.split(';')),
      new Set([
        ...[
          "default-src 'none'",
          "script-src 'self'",
          "style-src 'self'",
          "img-src 'self' data:",
          "connect-src 'self'",
        ],
        ...["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
      ]),
    );
    assert.equal(response.headers.get('Referrer-Policy'), 'no-referrer');
    assert.doesNotMatch(text, /<script(?![^>]* src=)|<style|\sstyle=|\son\w+=|https?:\/\/(?!www\.w3\.org)/);
    const again = await read('/console', { 'If-None-Match': String(response.headers.get('ETag')) });
    assert.equal(again.response.status, 304);
    assert.equal((await read('/console/')).response.headers.get('Location'), '../console');
  });

  it('has files that are kept for ever, in the coding that is asked for', async () => {
    const names = await assetNames();
    assert.equal(names.length, 4);
    for (const name of names) {
      const { response, text } = await read(name);
      assert.equal(response.status, 200, name);
      assert.equal(response.headers.get('Cache-Control'), 'public, max-age=31536000, immutable');
      assert.match(name, /-[0-9a-f]{12}\.(?:js|css|json)$/);
      assert.equal(brotliDecompressSync(await packed(name, 'br')).toString(), text);
      assert.equal(gunzipSync(await packed(name, 'gzip')).toString(), text);
      assert.equal((await packed(name, 'identity')).toString(), text);
      const known = await read(name, { 'If-None-Match': String(response.headers.get('ETag')) });
      assert.deepEqual([known.response.status, known.text], [304, '']);
    }
    assert.equal((await read('/console/console-000000000000.js')).response.status, 404);
  });

  it(`has at most ${SCRIPT_BYTES_MAX} bytes of script, compressed`, async () => {
    const script = (await assetNames()).find((name) => name.endsWith('.js')) ?? '';
    const bytes = (await packed(script, 'gzip')).length;
    assert.ok(bytes > 10_000 && bytes <= SCRIPT_BYTES_MAX, String(bytes));
  });

  it('knows every department, and the larger communes', async () => {
    const [outlines, places] = (await assetNames()).slice(2);
    const drawn = JSON.parse((await read(String(outlines))).text);
    const codes = drawn.objects.departments.geometries.map(
      (one: { properties: { code: string } }) => one.properties.code,
    );
    const named = JSON.parse((await read(String(places))).text);
    const departments = new Map<string, string>(named.departments);
    assert.equal(codes.length, 101);
    assert.deepEqual(
      codes.filter((code: string) => !departments.has(code)),
      [],
    );
    assert.match(drawn.attribution, /IGN Admin Express, Licence Ouverte/);
    assert.ok(named.communes.length > 7_000);
    assert.deepEqual(named.communes.find(([insee]: [string]) => insee === '83137').slice(0, 2), ['83137', 'Toulon']);
  });

  it('has the communes of a department by their outlines, in one file that is kept for a day', async () => {
    const path = '/console/communes/83';
    const { response, text } = await read(path);
    assert.deepEqual(
      [response.status, response.headers.get('Content-Type'), response.headers.get('Cache-Control')],
      [200, 'application/json; charset=utf-8', 'public, max-age=86400'],
    );
    const { attribution, communes, lines, scale, translate } = JSON.parse(text);
    assert.match(attribution, /IGN Admin Express/);
    assert.equal(communes.length, 153);
    const at = communes.findIndex(([insee]: [string]) => insee === '83137');
    assert.deepEqual(communes[at], ['83137', 'Toulon']);
    const { west, east, south, north } = extentOf(lines, at, scale, translate);
    assert.ok(west > 5.85 && west < 5.9 && east > 5.97 && east < 6.02, `${west} to ${east}`);
    assert.ok(south > 43.09 && south < 43.12 && north > 43.15 && north < 43.19, `${south} to ${north}`);
    assert.equal(brotliDecompressSync(await packed(path, 'br')).toString(), text);
    assert.equal(gunzipSync(await packed(path, 'gzip')).toString(), text);
    const known = await read(path, { 'If-None-Match': String(response.headers.get('ETag')) });
    assert.deepEqual([known.response.status, known.text], [304, '']);
    for (const unknown of ['99', '975', 'Var', '..%2f83']) {
      assert.equal((await read(`/console/communes/${unknown}`)).response.status, 404, unknown);
    }
  });

  it('sends the three largest departments that lie together in 150 kB', async () => {
    const sizes = await Promise.all(['62', '80', '02'].map((code) => packed(`/console/communes/${code}`, 'br')));
    const bytes = sizes.reduce((sum, { length }) => sum + length, 0);
    assert.ok(bytes > 100_000 && bytes <= 150_000, String(bytes));
  });

  it('takes pictures and tiles where the operator says so, and those alone', async (t) => {
    const tilesUrl = 'https://tiles.example.org/{z}/{x}/{y}.png';
    const console = { showsPictures: true, tilesUrl, streets: null, tilesAttribution: '"><script>alert(1)</script>' };
    const other = await startTestApi(t, { settings: { console } });
    const response = await fetch(`${other.baseUrl}/console`);
    const policy = String(response.headers.get('Content-Security-Policy'));
    assert.match(policy, /img-src 'self' data: https:\/\/tiles\.example\.org https:;/);
    assert.doesNotMatch(await response.text(), /<script>/);
  });

  it(
    'serves a map of streets by ranges, to the byte, and draws it with a script of its own',
    unlessMonaco,
    async (t) => {
      const streets = await openStreetMap(MONACO);
      t.after(() => streets.close());
      const other = await startTestApi(t, { settings: { console: { ...PLAIN, streets } } });
      const text = await (await fetch(`${other.baseUrl}/console`)).text();
      const told = JSON.parse(/data-settings="([^"]*)"/.exec(text)?.[1]?.replaceAll('&quot;', '"') ?? '{}').streets;
      assert.deepEqual(told, {
        ...{ schema: 'openmaptiles', maxZoom: 14, bounds: [7.4, 43.72, 7.45, 43.76], attribution: '© OpenStreetMap' },
        ...{ file: told.file, script: told.script },
      });
      assert.doesNotMatch(text, new RegExp(`src="console/${told.script}`), 'the page loads it when it needs it');
      assert.equal((await fetch(`${other.baseUrl}/console/${told.script}`)).status, 200);
      const whole = await readFile(MONACO);
      const address = `${other.baseUrl}/console/${told.file}`;
      const ask = async (headers: Record<string, string>, method = 'GET') => {
        const response = await fetch(address, { method, headers: { 'Accept-Encoding': 'br, gzip', ...headers } });
        const bytes = Buffer.from(await response.arrayBuffer());
        assert.equal(response.headers.get('Content-Encoding'), null);
        return { status: response.status, range: response.headers.get('Content-Range'), bytes, response };
      };
      const last = whole.length - 1;
      const parts: readonly [range: string, start: number, end: number][] = [
        ['bytes=0-16383', 0, 16_383],
        ['bytes=127-127', 127, 127],
        [`bytes=${last}-`, last, last],
        ['bytes=-100', whole.length - 100, last],
        [`bytes=7-${'9'.repeat(400)}`, 7, last],
        [`bytes=5000-${whole.length * 2}`, 5_000, last],
        [`bytes=-${whole.length * 2}`, 0, last],
      ];
      for (const [range, start, end] of parts) {
        const part = await ask({ Range: range });
        assert.deepEqual([part.status, part.range], [206, `bytes ${start}-${end}/${whole.length}`], range);
        assert.ok(part.bytes.equals(whole.subarray(start, end + 1)), range);
      }
      for (const range of ['bytes=9-3', 'bytes=0-1,4-5', 'lines=0-4', 'bytes=-']) {
        const all = await ask({ Range: range });
        assert.deepEqual([all.status, all.range, all.bytes.equals(whole)], [200, null, true], range);
      }
      for (const range of [`bytes=${whole.length}-`, `bytes=${'9'.repeat(400)}-`, 'bytes=-0']) {
        const outside = await ask({ Range: range });
        assert.deepEqual([outside.status, outside.range], [416, `bytes */${whole.length}`], range);
      }
      const { response } = await ask({});
      assert.equal(response.headers.get('Accept-Ranges'), 'bytes');
      const etag = String(response.headers.get('ETag'));
      assert.equal((await ask({ Range: 'bytes=0-9', 'If-Range': etag })).status, 206);
      assert.equal((await ask({ Range: 'bytes=0-9', 'If-Range': '"another"' })).status, 200);
      for (const headers of [{}, { Range: 'bytes=0-9' }, { Range: `bytes=${whole.length}-` }]) {
        const { status, range, response: head } = await ask(headers, 'HEAD');
        assert.deepEqual([status, range, head.headers.get('Content-Length')], [200, null, String(whole.length)]);
      }
    },
  );

  it('says what is wrong with a map of streets before anything is served', unlessMonaco, async () => {
    const whole = await readFile(MONACO);
    const folder = await mkdtemp(join(tmpdir(), 'streets-'));
    const changed = (change: (bytes: Buffer) => void): Buffer => {
      const bytes = Buffer.from(whole);
      change(bytes);
      return bytes;
    };
    const faults: readonly [RegExp, Buffer][] = [
      [/is no PMTiles file of version 3/, Buffer.from('SQLite format 3'.padEnd(500, '.'))],
      [/is no PMTiles file of version 3/, Buffer.from('PMTiles')],
      [/is no PMTiles file of version 3/, changed((bytes) => bytes.writeUInt8(2, 7))],
      [/is cut short at 100000 bytes/, whole.subarray(0, 100_000)],
      [/holds pictures/, changed((bytes) => bytes.writeUInt8(2, 99))],
      [/compressed with gzip/, changed((bytes) => bytes.writeUInt8(3, 98))],
    ];
    for (const [message, bytes] of faults) {
      const path = join(folder, 'map.pmtiles');
      await writeFile(path, bytes);
      const refusal = await openStreetMap(path).catch((error: Error) => error);
      assert.ok(refusal instanceof Error, String(message));
      assert.match(refusal.message, message);
      assert.ok(refusal.message.startsWith(`VIGIE_MAP_FILE: ${path}: `), refusal.message);
    }
    await assert.rejects(openStreetMap('/nowhere/map.pmtiles'), /VIGIE_MAP_FILE: \/nowhere\/map.pmtiles: .*ENOENT/);
    await assert.rejects(openStreetMap(folder), /VIGIE_MAP_FILE/);
  });

  it('is nowhere when it is left out', async (t) => {
    const other = await startTestApi(t, { settings: { console: null } });
    assert.equal((await fetch(`${other.baseUrl}/console`)).status, 404);
    const welcome = await fetch(other.baseUrl, { headers: { Accept: 'text/html' } });
    assert.doesNotMatch(await welcome.text(), /console/i);
    assert.match((await read('/', { Accept: 'text/html' })).text, /href="\/console"/);
  });
});
