/** What the crawlers' user of config/nats-server.conf can do, and cannot. */

import assert from 'node:assert/strict';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { connect, type NatsConnection } from 'nats';
import { startChildServer, waitUntilReady } from '../../src/local/child-server.ts';
import { findNatsServer } from '../../src/local/nats-server-binary.ts';
import { startDaemon } from '../support/daemon.ts';
import { CACHE, startTestPostgres, temporaryDirectory } from '../support/servers.ts';
import { until } from '../support/until.ts';

const CONFIG = fileURLToPath(new URL('../../config/nats-server.conf', import.meta.url));
const READY_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 10_000;

/** The configuration as it is shipped, but for addresses, and for what an older server does not know. */
async function startShippedServer(t: TestContext): Promise<string> {
  const directory = await temporaryDirectory('shipped-nats');
  await mkdir(join(directory, 'store'));
  const binary = await findNatsServer(process.env.NATS_SERVER_BIN || null, CACHE);
  const port = await freePort();
  const shipped = await readFile(CONFIG, 'utf8');
  const config = shipped
    .replace('host: 0.0.0.0', 'host: "127.0.0.1"')
    .replace('port: 4222', `port: ${port}`)
    .replace(/^http: .*$/m, '')
    .replace('store_dir: /var/lib/nats', 'store_dir: "store"')
    .replace('$VIGIE_NATS_PASSWORD', 'vigie-secret')
    .replace('$CRAWLER_NATS_PASSWORD', 'crawler-secret')
    .replace(/^ *sync_interval: always$/m, binary.canSyncAlways ? '$&' : '');
  await writeFile(join(directory, 'nats-server.conf'), config);
  const server = await startChildServer({
    ...{ name: 'nats-server', command: binary.path, user: null, directory, stopSignal: 'SIGTERM' },
    args: ['--config', 'nats-server.conf'],
    logFile: join(directory, 'server.log'),
    stopTimeoutMs: STOP_TIMEOUT_MS,
  });
  t.after(async () => {
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  });
  const address = `127.0.0.1:${port}`;
  const probe = () =>
    connect({ servers: address, user: 'vigie', pass: 'vigie-secret', reconnect: false }).then(
      (connection) => connection.close().then(() => true as const),
      () => null,
    );
  await waitUntilReady(server, READY_TIMEOUT_MS, probe);
  return address;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const address = server.address();
  await new Promise((closed) => server.close(closed));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

async function connectCrawler(t: TestContext, servers: string): Promise<NatsConnection> {
  const connection = await connect({ servers, user: 'crawler', pass: 'crawler-secret', inboxPrefix: '_INBOX_crawler' });
  t.after(() => connection.close());
  return connection;
}

test('a crawler publishes, hears what is refused, reads what it missed, and can do no more', async (t) => {
  const address = await startShippedServer(t);
  const postgres = await startTestPostgres(t);
  await startDaemon(t, { postgres, nats: { url: `nats://vigie:vigie-secret@${address}` } });
  const crawler = await connectCrawler(t, address);
  const heard: string[] = [];
  crawler.subscribe('adverts-rejected.>', { callback: (_error, message) => heard.push(message.string()) });
  const { seq } = await crawler.jetstream().publish('adverts.nowhere', 'nonsense');
  await until(
    async () => heard,
    (told) => told.length === 1,
  );
  assert.equal(JSON.parse(String(heard[0])).sequence, seq);

  const late = await connectCrawler(t, address);
  const ask = async (subject: string, body: object) =>
    (await late.request(subject, JSON.stringify(body))).json<{ readonly message: { readonly data: string } }>();
  const missed = await ask('$JS.API.STREAM.MSG.GET.REJECTED', { seq: 1, next_by_subj: 'adverts-rejected.unknown' });
  assert.equal(Buffer.from(missed.message.data, 'base64').toString(), heard[0]);

  const deliverAnywhere = {
    stream_name: 'REJECTED',
    config: { deliver_subject: 'deliveries.0.x', ack_policy: 'none' },
  };
  for (const [subject, body] of [
    ['$JS.API.CONSUMER.CREATE.REJECTED', deliverAnywhere],
    ['$JS.API.STREAM.MSG.GET.ADVERTS', { seq: 1 }],
    ['$JS.API.STREAM.DELETE.REJECTED', {}],
    ['deliveries.0.x', {}],
    ['adverts-rejected.unknown', {}],
  ] as const) {
    await assert.rejects(late.request(subject, JSON.stringify(body), { timeout: 1_000 }), subject);
  }

  // Nor does it hear what others are answered: a pulled advert comes to an inbox of the daemon.
  const curious = await connectCrawler(t, address);
  const refused = new Promise<string>((resolve) => {
    curious.subscribe('_INBOX.>', {
      callback: (error, message) => resolve(error === null ? `heard ${message.subject}` : error.code),
    });
  });
  assert.equal(await refused, 'PERMISSIONS_VIOLATION');
});
