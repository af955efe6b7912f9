/** Permissions of the crawlers' user in config/nats-server.conf and in an embedded NATS server. */

import assert from 'node:assert/strict';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { connect, type NatsConnection } from 'nats';
import { startNatsServer } from '../../src/local/nats-server.ts';
import { ROOT } from '../support/checkout.ts';
import { CACHE, startTestPostgres, temporaryDirectory } from '../support/servers.ts';
import { startHere } from '../support/service.ts';
import { startShippedNats } from '../support/shipped-nats.ts';
import { until, untilIs } from '../support/until.ts';

/** `openssl rand -hex` may generate such a password: without quotes NATS would read it as a number. */
const NUMERIC_SECRET = '4e5f6a';

interface Access {
  readonly url: string;
  readonly crawlerUrl: string;
}

async function connectCrawler(t: TestContext, { crawlerUrl }: Access): Promise<NatsConnection> {
  const { host, username, password } = new URL(crawlerUrl);
  const connection = await connect({
    servers: host,
    user: username,
    pass: password,
    inboxPrefix: `_INBOX_${username}`,
  });
  t.after(() => connection.close());
  return connection;
}

test('a crawler can publish, receive rejections and read missed ones, and nothing else', async (t) => {
  const address = await startShippedNats(t, { vigie: NUMERIC_SECRET, crawler: 'crawler-secret' });
  await checkRights(t, {
    url: `nats://vigie:${NUMERIC_SECRET}@${address}`,
    crawlerUrl: `nats://crawler:crawler-secret@${address}`,
  });
});

test('a crawler of the embedded NATS has the rights of the shipped configuration', async (t) => {
  const dataDir = await temporaryDirectory('embedded-crawler');
  const serverBin = process.env.NATS_SERVER_BIN || null;
  const server = await startNatsServer({ dataDir, serverBin, cacheDir: CACHE });
  t.after(async () => {
    await server.stop();
    await rm(dataDir, { recursive: true, force: true });
  });
  await checkRights(t, server);
  const rightsIn = async (path: string): Promise<readonly string[]> =>
    (await readFile(path, 'utf8')).match(/(?<=^ *(?:publish|subscribe): )\[.*\]/gm) ?? [];
  const shipped = await rightsIn(join(ROOT, 'config/nats-server.conf'));
  assert.equal(shipped.length, 2);
  const named = new URL(server.crawlerUrl).username;
  assert.deepEqual(
    (await rightsIn(join(dataDir, 'nats/nats-server.conf'))).map((rights) => JSON.parse(rights)),
    shipped.map((rights) => JSON.parse(rights.replace('_INBOX_crawler', `_INBOX_${named}`))),
  );
});

async function checkRights(t: TestContext, access: Access): Promise<void> {
  await startHere(t, { postgres: await startTestPostgres(t), nats: { url: access.url } });
  const crawler = await connectCrawler(t, access);
  const heard: string[] = [];
  crawler.subscribe('adverts-rejected.>', { callback: (_error, message) => heard.push(message.string()) });
  const { seq } = await crawler.jetstream().publish('adverts.nowhere', 'nonsense');
  await untilIs(() => heard.length, 1);
  assert.equal(JSON.parse(String(heard[0])).sequence, seq);

  const late = await connectCrawler(t, access);
  const ask = async (subject: string, body: object) =>
    (await late.request(subject, JSON.stringify(body))).json<{ readonly message?: { readonly data: string } }>();
  // NATS may deliver a message to subscribers before it has stored it.
  const { message } = await until(
    () => ask('$JS.API.STREAM.MSG.GET.REJECTED', { seq: 1, next_by_subj: 'adverts-rejected.unknown' }),
    (answer) => answer.message !== undefined,
  );
  assert.equal(Buffer.from(message?.data ?? '', 'base64').toString(), heard[0]);

  const deliverAnywhere = {
    stream_name: 'REJECTED',
    config: { deliver_subject: 'deliveries.0.x', ack_policy: 'none' },
  };
  for (const [subject, body] of [
    ['$JS.API.CONSUMER.CREATE.REJECTED', deliverAnywhere],
    ['$JS.API.STREAM.MSG.GET.ADVERTS', { seq: 1 }],
    ['$JS.API.STREAM.DELETE.REJECTED', {}],
    ['$JS.API.STREAM.PURGE.ADVERTS', {}],
    ['deliveries.0.x', {}],
    ['adverts-rejected.unknown', {}],
  ] as const) {
    await assert.rejects(late.request(subject, JSON.stringify(body), { timeout: 1_000 }), subject);
  }

  // A crawler cannot read answers to others either: pulled adverts are delivered to an inbox of the daemon.
  const curious = await connectCrawler(t, access);
  const refused = new Promise<string>((resolve) => {
    curious.subscribe('_INBOX.>', {
      callback: (error, message) => resolve(error === null ? `heard ${message.subject}` : error.code),
    });
  });
  assert.equal(await refused, 'PERMISSIONS_VIOLATION');
}
