/** `vigie listen`: what comes to a program on this machine is what the webhook would be. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { connectBroker } from '../../src/engine/broker/connection.ts';
import { runVigie, spawnVigie } from '../support/daemon.ts';
import { numberedUuid, upsert } from '../support/intake.ts';
import { startTestServers } from '../support/servers.ts';
import { startHere } from '../support/service.ts';
import { until } from '../support/until.ts';

interface Received {
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

test('each item of the feed is posted with its bytes, signed by its search and a secret of the client', async (t) => {
  const servers = await startTestServers(t);
  const daemon = await startHere(t, servers);
  const received: Received[] = [];
  const program = createServer((request, response) => {
    void text(request).then((body) => {
      received.push({ headers: request.headers, body });
      response.writeHead(received.length === 1 ? 500 : 200).end();
    });
  });
  program.listen(0, '127.0.0.1');
  await once(program, 'listening');
  t.after(() => program.close());
  const key = (await runVigie(['keys', 'create', '--client', 'me'], servers)).stdout.trim();
  const headers = { 'X-API-KEY': key, 'Content-Type': 'application/json' };
  const created = await fetch(`${daemon.apiUrl}/searches`, {
    ...{ method: 'POST', headers },
    body: JSON.stringify({ title: 'All', notificationEnabled: true, context: { createdAt: ',"body":{}}]' } }),
  });
  assert.equal(created.status, 201);
  const search = (await created.json()) as { '@id': string; token: string };
  const broker = await connectBroker({ url: servers.nats.url, name: 'test', onStatus: () => undefined });
  t.after(() => broker.close());
  const publish = (n: number) => {
    const { advert, ...message } = upsert({
      property: numberedUuid('property', n),
      advert: numberedUuid('advert', n),
      crawledAt: `2026-03-10T08:15:0${n}Z`,
      price: 250_000,
    });
    const bytes = JSON.stringify({ ...message, advert: { ...advert, title: `"}], ${n} \\` } });
    return broker.jetStream.publish(`adverts.${numberedUuid('property', n)}`, bytes);
  };
  const feed = async () => (await fetch(`${daemon.apiUrl}/feed`, { headers })).text();
  await publish(1);
  await until(feed, (page) => page.includes('property.ad.create'));

  const secret = `whsec_${Buffer.from('a secret of the client, long enough').toString('base64')}`;
  const { port } = program.address() as AddressInfo;
  const target = `http://127.0.0.1:${port}/hooks`;
  const line = [
    'listen',
    '--forward',
    target,
    '--key',
    key,
    '--api',
    daemon.apiUrl,
    '--since',
    '1h',
    '--secret',
    secret,
  ];
  const listening = spawnVigie(line, servers);
  t.after(() => listening.kill('SIGKILL'));
  const shown: string[] = [];
  listening.stdout?.on('data', (chunk) => shown.push(String(chunk)));
  await until(
    async () => received.length,
    (count) => count === 1,
  );
  await publish(2);
  await until(
    async () => received.length,
    (count) => count === 2,
  );
  const whole = await feed();
  const bodies = received.map(({ headers: posted, body }) => {
    assert.ok(whole.includes(`"body":${body}}`), 'the bytes of the feed');
    for (const each of [secret, search.token]) new Webhook(each).verify(body, posted as Record<string, string>);
    return String(posted['webhook-id']);
  });
  assert.equal(new Set(bodies).size, 2);
  await until(
    async () => shown.join(''),
    (output) => /property\.ad\.create {2}\S+ {2}500 [^]*property\.ad\.create {2}\S+ {2}200 /.test(output),
  );

  // Of one search alone.
  const other = (await (
    await fetch(`${daemon.apiUrl}/searches`, {
      ...{ method: 'POST', headers },
      body: JSON.stringify({ title: 'Other', notificationEnabled: true }),
    })
  ).json()) as { '@id': string; token: string };
  await publish(3);
  await until(feed, (page) => page.split('"property.ad.create"').length > 4);
  await until(
    async () => received.length,
    (count) => count === 4,
  );
  const narrow = spawnVigie([...line.slice(0, -2), '--search', other['@id']], servers);
  t.after(() => narrow.kill('SIGKILL'));
  await until(
    async () => received.length,
    (count) => count === 5,
  );
  const { headers: posted, body } = received[4] as Received;
  new Webhook(other.token).verify(body, posted as Record<string, string>);
  narrow.kill('SIGINT');
  await once(narrow, 'exit');
  assert.equal(received.length, 5);

  const exited = once(listening, 'exit');
  listening.kill('SIGINT');
  await exited;

  const refused = await runVigie(['listen', '--forward', target, '--key', 'none', '--api', daemon.apiUrl], servers);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /^vigie: GET \/feed answered 401: /);
});
