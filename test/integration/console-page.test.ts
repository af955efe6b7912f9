/** How the console is served: to whom, with which security policy, with which size, and what it reveals. */

import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { request } from 'undici';
import { startTestApi } from '../support/api.ts';
import { assertNone } from '../support/lists.ts';

const PLAIN = { showsPictures: false, tilesUrl: null, tilesAttribution: '' };
const api = await startTestApi({ after }, { settings: { console: PLAIN } });

const SCRIPT_BYTES_MAX = 130_000;

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

/** The extent in degrees of the border lines of a commune. */
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

/** The body as it was sent, which `fetch` would decompress. */
async function packed(path: string, coding: string): Promise<Buffer> {
  const { statusCode, body } = await request(`${api.baseUrl}${path}`, { headers: { 'Accept-Encoding': coding } });
  assert.equal(statusCode, 200);
  return Buffer.from(await body.arrayBuffer());
}

describe('the console', () => {
  it('needs no key, and its policy allows only its own files', async () => {
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

  it('has files that are cached for a year, in the requested coding', async () => {
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

  it('has every department and the larger communes', async () => {
    const [outlines, places] = (await assetNames()).slice(2);
    const drawn = JSON.parse((await read(String(outlines))).text);
    const codes = drawn.objects.departments.geometries.map(
      (one: { properties: { code: string } }) => one.properties.code,
    );
    const named = JSON.parse((await read(String(places))).text);
    const departments = new Map<string, string>(named.departments);
    assert.equal(codes.length, 101);
    assertNone(codes.filter((code: string) => !departments.has(code)));
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

  it('sends the three largest neighbouring departments in 150 kB', async () => {
    const sizes = await Promise.all(['62', '80', '02'].map((code) => packed(`/console/communes/${code}`, 'br')));
    const bytes = sizes.reduce((sum, { length }) => sum + length, 0);
    assert.ok(bytes > 100_000 && bytes <= 150_000, String(bytes));
  });

  it('loads pictures and tiles only if the operator allows them', async (t) => {
    const tilesUrl = 'https://tiles.example.org/{z}/{x}/{y}.png';
    const console = { showsPictures: true, tilesUrl, tilesAttribution: '"><script>alert(1)</script>' };
    const other = await startTestApi(t, { settings: { console } });
    const response = await fetch(`${other.baseUrl}/console`);
    const policy = String(response.headers.get('Content-Security-Policy'));
    assert.match(policy, /img-src 'self' data: https:\/\/tiles\.example\.org https:;/);
    assert.doesNotMatch(await response.text(), /<script>/);
  });

  it('does not exist when it is disabled', async (t) => {
    const other = await startTestApi(t, { settings: { console: null } });
    assert.equal((await fetch(`${other.baseUrl}/console`)).status, 404);
    const welcome = await fetch(other.baseUrl, { headers: { Accept: 'text/html' } });
    assert.doesNotMatch(await welcome.text(), /console/i);
    assert.match((await read('/', { Accept: 'text/html' })).text, /href="\/console"/);
  });
});
