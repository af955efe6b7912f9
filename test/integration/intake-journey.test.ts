/** Crawlers may send messages twice, out of order, and with invalid ones between them. */

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { createApiKey, runVigie } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { connectCrawler, numberedUuid, upsert } from '../support/intake.ts';
import { everythingTo, restClient } from '../support/rest-client.ts';
import { emptyDirectory, startTestServers } from '../support/servers.ts';
import { startHere } from '../support/service.ts';
import { until } from '../support/until.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const property = numberedUuid('property', 1);
const advert = numberedUuid('advert', 1);
const at = (minute: number): string => `2026-03-10T08:${String(minute).padStart(2, '0')}:00.000Z`;

test('duplicates and stale messages change nothing, and invalid messages are kept with their bytes and block no others', async (t) => {
  const servers = await startTestServers(t);
  const receiver = await startWebhookReceiver(t);
  const daemon = await startHere(t, servers);
  const rest = restClient(daemon, await createApiKey(servers));
  await rest.createSearch({
    ...everythingTo(receiver),
    includedCities: ['/cities/83137'],
    subscribedEvents: ['ad.update.price', 'property.ad.create', 'property.ad.update', 'ad.update.expired'],
  });
  const crawler = await connectCrawler(t, servers.nats.url);
  const database = connectDatabase(t, servers.postgres.url);

  const created = upsert({ property, advert, crawledAt: at(10), price: 250_000 });
  const cheaper = upsert({ property, advert, crawledAt: at(20), price: 239_000 });
  const garbage = ['{"kind": "upsert", "price": NaN}', Buffer.from([0xff, 0xfe, 0x00]), '', '[]', 'null'];
  const impossible = [
    { ...created, property: { ...created.property, locations: { lat: 91, lon: 0 } } },
    { ...created, property: { ...created.property, propertyType: 7 } },
    { ...created, advert: { ...created.advert, price: -1 } },
    { ...created, crawledAt: 'yesterday' },
  ];
  await crawler.publish(created, ...garbage.slice(0, 2), created, cheaper, ...garbage.slice(2));
  await crawler.publish(upsert({ property, advert, crawledAt: at(5), price: 1 }), cheaper, ...impossible, created);
  await crawler.publish({ kind: 'expire', crawledAt: at(30), property: { uuid: property }, advert: { uuid: advert } });

  const expected = [
    '/events ad.update.expired false true',
    '/events ad.update.price 250000 239000',
    '/events property.ad.create',
    '/events property.ad.update',
    '/matches property.ad.create',
  ];
  await receiver.until((posts) => posts.length >= expected.length);
  const letters = await until(
    async () => (await database.query('select subject, body, reason from dead_letters order by id')).rows,
    (rows) => rows.length === garbage.length + impossible.length,
  );
  assert.deepEqual(
    letters.map(({ body }) => body.toString('latin1')),
    [...garbage, ...impossible].map((message) =>
      (message instanceof Buffer
        ? message
        : Buffer.from(typeof message === 'string' ? message : JSON.stringify(message))
      ).toString('latin1'),
    ),
  );
  for (const { reason, subject } of letters) {
    assert.match(subject, /^adverts\./);
    assert.ok(reason.length > 10, `the reason is only ${reason}`);
  }
  const seen = receiver.posts.map(({ path, body }) => {
    const { event, adEvent } = JSON.parse(body.toString());
    return [path, event, ...(adEvent ? [adEvent.fieldOldValue, adEvent.fieldNewValue] : [])].join(' ');
  });
  assert.deepEqual(seen.sort(), expected);
  const metrics = await (await fetch(`${daemon.operationsUrl}/metrics`)).text();
  assert.match(metrics, /vigie_changes_total\{outcome="stale"\} 2\n/);
  assert.equal(await daemon.end('SIGTERM'), 0);
});

test('publish refuses lines that violate the contract, with their numbers, and publishes each line once', async (t) => {
  const servers = await startTestServers(t);
  await startHere(t, servers);
  const good = JSON.stringify(upsert({ property, advert, crawledAt: at(10), price: 250_000 }));
  const first = await runVigie(['publish'], servers, { input: `${good}\nnonsense\n\n${good}\n` });
  assert.equal(first.code, 1);
  assert.match(first.stdout, /^1 published, 1 already in the stream, 1 refused/);
  assert.match(first.stderr, /Line 2 was refused: not JSON/);
  const folder = await emptyDirectory(t);
  const file = join(folder, 'adverts.ndjson');
  await writeFile(file, `${good}\n`);
  const again = await runVigie(['publish', file], servers);
  assert.equal(again.code, 0);
  assert.match(again.stdout, /^0 published, 1 already in the stream, 0 refused/);
  const misspelt = JSON.stringify({
    ...upsert({ property, advert, crawledAt: at(20), price: 240_000 }),
    advert: { uuid: advert, prise: 240_000 },
  });
  const strict = await runVigie(['publish', '--strict'], servers, { input: `${misspelt}\n` });
  assert.equal(strict.code, 1);
  assert.match(
    strict.stderr,
    /^Line 1 was refused: advert\.prise is not a member of .*; the nearest one is price\.\n$/,
  );
  const lenient = await runVigie(['publish'], servers, { input: `${good}\n${misspelt}\n${misspelt} \n` });
  assert.equal(lenient.code, 0);
  assert.match(
    lenient.stderr,
    /^Line 2: advert\.prise is not a member of .* and has no effect; the nearest one is price\.\n$/,
  );
  assert.match(lenient.stdout, /^2 published, 1 already in the stream, 0 refused/);
  const missing = await runVigie(['publish', '/nonexistent/file'], servers);
  assert.equal(missing.code, 1);
  assert.match(missing.stderr, /no such file/);
});
