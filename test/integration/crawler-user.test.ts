/** What the crawlers' user of config/nats-server.conf can do, and cannot. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { connect, type NatsConnection } from 'nats';
import { startTestPostgres } from '../support/servers.ts';
import { startHere } from '../support/service.ts';
import { startShippedNats } from '../support/shipped-nats.ts';
import { until } from '../support/until.ts';

/** As `openssl rand -hex` may make it: to NATS a number, but for its quotes. */
const NUMERIC_SECRET = '4e5f6a';

async function connectCrawler(t: TestContext, servers: string): Promise<NatsConnection> {
  const connection = await connect({ servers, user: 'crawler', pass: 'crawler-secret', inboxPrefix: '_INBOX_crawler' });
  t.after(() => connection.close());
  return connection;
}

test('a crawler publishes, hears what is refused, reads what it missed, and can do no more', async (t) => {
  const address = await startShippedNats(t, { vigie: NUMERIC_SECRET, crawler: 'crawler-secret' });
  const postgres = await startTestPostgres(t);
  await startHere(t, { postgres, nats: { url: `nats://vigie:${NUMERIC_SECRET}@${address}` } });
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
