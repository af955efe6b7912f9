/**
 * SIGTERM ends a daemon in order, regardless of its users and its work. The load balancer is notified first, work in
 * progress is finished, and no request is cut off, repeated or refused.
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { connect } from 'node:net';
import { after, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { createApiKey, startDaemon } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { createGate } from '../support/gate.ts';
import { connectCrawler, numberedFlat } from '../support/intake.ts';
import { everythingTo, restClient } from '../support/rest-client.ts';
import { startTestServers } from '../support/servers.ts';
import { until, untilIs } from '../support/until.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const ANNOUNCE_MS = 3_000;
/** Longer than the announcement: a hanging attempt is still in progress when new work is no longer accepted. */
const ATTEMPT_TIMEOUT_MS = 12_000;

const servers = await startTestServers({ after });

test('work in progress at a SIGTERM is finished, recorded and logged once, and nothing keeps the daemon alive', async (t) => {
  const receiver = await startWebhookReceiver(t);
  const database = connectDatabase(t, servers.postgres.url);
  const crawler = await connectCrawler(t, servers.nats.url);
  const daemon = await startDaemon(t, servers, {
    VIGIE_DRAIN_ANNOUNCE_MS: String(ANNOUNCE_MS),
    VIGIE_ATTEMPT_TIMEOUT_MS: String(ATTEMPT_TIMEOUT_MS),
    // On a fast machine the clients below could exceed the default rate, and would get 429.
    VIGIE_RATE_LIMIT_PER_SECOND: '1000000',
    VIGIE_LOG_LEVEL: 'debug',
  });
  const closed = once(daemon.process, 'close');
  const key = await createApiKey(servers);
  const rest = restClient(daemon, key);

  // Clients that keep sending requests over kept connections, and pollers of readiness.
  const agent = new Agent({ keepAlive: true });
  let isGone = false;
  const answers: Answer[] = [];
  /** Answers to requests after an answer that closed its connection: the server has received the signal. */
  const farewells = { '/searches': [] as Answer[], '/readyz': [] as Answer[] };
  const askOn = async (url: string, path: keyof typeof farewells): Promise<void> => {
    let hasHeard = false;
    while (!isGone) {
      const isFarewell = hasHeard;
      const answer = await ask(`${url}${path}`, key, agent).catch(() => null);
      if (answer === null) {
        await wait(10);
        continue;
      }
      if (path === '/searches') answers.push(answer);
      if (isFarewell) farewells[path].push(answer);
      hasHeard ||= answer.closes;
    }
  };
  const asking = [
    ...Array.from({ length: 8 }, () => askOn(daemon.apiUrl, '/searches')),
    ...Array.from({ length: 4 }, () => askOn(daemon.operationsUrl, '/readyz')),
  ];

  // A request whose body is never complete.
  const { hostname, port } = new URL(daemon.apiUrl);
  const socket = connect(Number(port), hostname);
  t.after(() => void socket.destroy());
  socket.on('error', () => undefined);
  socket.write('POST /searches HTTP/1.1\r\nHost: vigie\r\nContent-Length: 100\r\n\r\n{');

  // A test of a webhook, and an attempt at an endpoint that hangs.
  const { gate, open } = createGate();
  receiver.script('/slow', { type: 'gated', gate, status: 200 });
  receiver.script('/matches', { type: 'hang' });
  await rest.createSearch(everythingTo(receiver));
  const query = new URLSearchParams({ endpoint: receiver.urlOf('/slow'), eventType: 'ad.update.price' });
  const tested = rest.request<{ delivery: { delivered: boolean } }>('GET', `/webhook-tester?${query.toString()}`);
  await crawler.publish(numberedFlat(1, 100_000));
  await receiver.until((posts) => posts.length === 2);
  await until(
    async () => answers.length,
    (count) => count > 200,
  );

  const signalledAt = performance.now();
  const ended = daemon.end('SIGTERM');
  await untilRefused(daemon.apiUrl);
  open();
  const { status, body } = await tested;
  assert.deepEqual([status, body.delivery.delivered], [200, true]);
  assert.equal(await ended, 0, JSON.stringify(daemon.log.at(-1)));
  const tookMs = performance.now() - signalledAt;
  isGone = true;
  await Promise.all([...asking, closed]);
  agent.destroy();
  t.diagnostic(`ended in ${Math.round(tookMs)} ms, ${farewells['/searches'].length} requests answered meanwhile`);
  for (const [path, told] of Object.entries(farewells)) {
    assert.ok(told.length > 0, `${path} is answered while the end is announced`);
    assert.ok(
      told.every(({ closes }) => closes),
      'every answer ends its connection',
    );
  }
  assert.deepEqual([...new Set(farewells['/searches'].map((answer) => answer.status))], [200]);
  assert.deepEqual([...new Set(farewells['/readyz'].map((answer) => answer.status))], [503], '/readyz fails at once');
  const { rows } = await database.query('select error from attempts');
  assert.deepEqual(rows, [{ error: 'timeout' }]);
  const answered = new Set(answers.map(({ requestId }) => requestId));
  const logged = daemon.log.flatMap(({ message, requestId }) =>
    message === 'request' && answered.has(String(requestId)) ? [String(requestId)] : [],
  );
  assert.deepEqual(logged.toSorted(), [...answered].toSorted());
  assert.equal(daemon.log.at(-1)?.message, 'stopped');
});

test('simultaneous signals count as one; a later one ends the daemon immediately', async (t) => {
  const daemon = await startDaemon(t, servers, { VIGIE_DRAIN_ANNOUNCE_MS: '60000', VIGIE_DRAIN_TIMEOUT_MS: '120000' });
  const signalledAt = performance.now();
  const ended = daemon.end('SIGTERM');
  const again = setInterval(() => daemon.process.kill('SIGINT'), 50);
  assert.equal(await ended, 1);
  clearInterval(again);
  assert.ok(performance.now() - signalledAt > 1_000, 'the first echoes changed nothing');
  assert.equal(daemon.log.at(-1)?.message, 'A second signal was received, so the daemon ends without draining.');
});

test('SIGTERM during start-up ends the daemon in order too', async (t) => {
  const starting = startDaemon(t, servers, {}, { onStarting: (daemon) => void daemon.kill('SIGTERM') });
  await assert.rejects(starting, /the daemon ended with 0/);
});

interface Answer {
  readonly status: number;
  readonly closes: boolean;
  readonly requestId: string;
}

function ask(url: string, key: string, agent: Agent): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = get(url, { agent, headers: { 'X-API-KEY': key } }, (answer) => {
      answer.once('error', reject).resume();
      answer.once('end', () =>
        resolve({
          status: answer.statusCode ?? 0,
          closes: answer.headers.connection === 'close',
          requestId: String(answer.headers['x-request-id']),
        }),
      );
    });
    asked.once('error', reject);
  });
}

/** Resolves once connections to the URL are refused. */
async function untilRefused(url: string): Promise<void> {
  await untilIs(
    () =>
      fetch(`${url}/`).then(
        () => false,
        () => true,
      ),
    true,
  );
}
