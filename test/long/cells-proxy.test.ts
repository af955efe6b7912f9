/** The committed sample for nginx before two cells: keys and links find their cell by the map, and what shows neither any. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTwoCells } from '../support/cells.ts';
import { connectDatabase } from '../support/database.ts';
import { startCellProxy } from '../support/nginx.ts';
import { restClient } from '../support/rest-client.ts';

test('a proxy finds the cell of a key and of a link in the map, as soon as it has read it', async (t) => {
  const scene = await openTwoCells(t);
  const daemons = { default: await scene.start('default'), west: await scene.start('west') };
  const keys = { default: await scene.keyOf('default', 'acme'), west: await scene.keyOf('west', 'breizh') };
  const proxy = await startCellProxy(t, {
    default: new URL(daemons.default.apiUrl).host,
    west: new URL(daemons.west.apiUrl).host,
  });
  const through = (key: string) => restClient({ apiUrl: proxy.url }, key);
  assert.equal((await through(keys.default).request('GET', '/searches')).status, 200);
  assert.equal((await through(keys.west).request('GET', '/searches')).status, 401, 'nobody has said where it is');

  const { code, stderr } = await scene.cells('map', '--output', proxy.mapFile);
  assert.equal(code, 0, stderr);
  await proxy.reload();
  const iris: string[] = [];
  for (const cell of ['default', 'west'] as const) {
    const { iri } = await through(keys[cell]).createSearch({ title: cell });
    assert.equal((await restClient(daemons[cell], keys[cell]).request('GET', iri)).status, 200);
    iris.push(iri);
  }
  assert.equal((await through(keys.west).request('GET', iris[0] as string)).status, 404);
  for (const path of ['/', '/docs.jsonld', '/console/']) {
    assert.equal((await fetch(`${proxy.url}${path}`)).status, 200, path);
  }
  for (const key of ['', 'vigie_', `${keys.west}x`, `x${keys.west}`]) {
    assert.equal((await through(key).request('GET', '/searches')).status, 401);
  }

  const token = 'A'.repeat(22);
  const database = connectDatabase(t, scene.servers.west.postgres.url);
  const { rows } = await database.query<{ id: string }>(
    `with client as (select id from clients), recipient as (
       insert into mail_recipients (key, client_id) select 'recipient', id from client
     ), link as (
       insert into mail_tokens (hash, recipient_key) values (sha256(convert_to('${token}', 'UTF8')), 'recipient')
     ) select id from client`,
  );
  const link = `/unsubscribe/${rows[0]?.id.slice(-12)}.${token}`;
  assert.equal((await fetch(`${daemons.default.apiUrl}${link}`)).status, 404);
  assert.equal((await fetch(`${proxy.url}${link}`)).status, 200);
  assert.equal((await fetch(`${proxy.url}${link}`, { method: 'POST' })).status, 200);
});
