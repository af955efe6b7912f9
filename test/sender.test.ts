import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:net';
import { type TestContext, test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import type { AttemptOutcome } from '../src/domain/delivery.ts';
import { createSender, type Sender, type SenderOptions, type SendRequest } from '../src/webhooks/sender.ts';
import { type Behaviour, startWebhookReceiver } from './support/webhook-receiver.ts';

const TOKEN = `whsec_${Buffer.alloc(32, 3).toString('base64')}`;
const ID = '01900000-0000-7000-8000-000000000001';
const PRIVATE_ADDRESS_NAME = async () => [{ address: '127.0.0.1', family: 4 as const }];

function openSender(t: TestContext, options: Partial<SenderOptions> = {}): Sender {
  const sender = createSender({
    connectTimeoutMs: 60_000,
    attemptTimeoutMs: 60_000,
    allowPrivateNetworks: true,
    userAgent: 'Vigie/0.0.0',
    ...options,
  });
  t.after(() => sender.close());
  return sender;
}

function request(endpoint: string, changes: Partial<SendRequest> = {}): SendRequest {
  return { id: ID, endpoint, body: '{"prix":"1 €"}', token: TOKEN, startedAt: new Date(), ...changes };
}

/** How an attempt ends against an endpoint that behaves so. */
async function outcomeOf(
  t: TestContext,
  behaviour: Behaviour,
  options: Partial<SenderOptions> = {},
): Promise<AttemptOutcome> {
  const receiver = await startWebhookReceiver(t);
  receiver.script('/hook', behaviour);
  return openSender(t, options).send(request(receiver.urlOf('/hook')));
}

/** Again with more time, where a busy machine had too little for what has to come before the deadline. */
async function patiently(
  attempt: (deadlineMs: number) => Promise<AttemptOutcome>,
  isTelling: (outcome: AttemptOutcome) => boolean,
): Promise<AttemptOutcome> {
  for (let deadlineMs = 60; ; deadlineMs *= 4) {
    const outcome = await attempt(deadlineMs);
    if (isTelling(outcome) || deadlineMs > 60_000) return outcome;
  }
}

test('an attempt carries the signed headers and the body byte for byte', async (t) => {
  const receiver = await startWebhookReceiver(t);
  const startedAt = new Date();
  const outcome = await openSender(t).send(request(receiver.urlOf('/hook?a=1&b=%20'), { startedAt }));
  assert.deepEqual(
    { ...outcome, durationMs: 0 },
    { startedAt, durationMs: 0, statusCode: 200, error: null, reason: null, responseHead: '' },
  );
  assert.ok(outcome.durationMs > 0);
  const [post] = receiver.posts;
  assert.ok(post);
  assert.equal(post.path, '/hook?a=1&b=%20');
  assert.equal(post.body.toString(), '{"prix":"1 €"}');
  assert.equal(post.headers['content-type'], 'application/json');
  assert.equal(post.headers['user-agent'], 'Vigie/0.0.0');
  assert.equal(post.headers['webhook-id'], ID);
  assert.equal(post.headers['webhook-timestamp'], String(Math.floor(startedAt.getTime() / 1_000)));
  assert.deepEqual(new Webhook(TOKEN).verify(post.body.toString(), post.headers), { prix: '1 €' });
});

for (const status of [201, 202, 204, 301, 307, 400, 410, 429, 500, 503]) {
  test(`status ${status} is a failure`, async (t) => {
    const headers = { location: 'http://127.0.0.1/' };
    const outcome = await outcomeOf(t, { type: 'answer', status, headers });
    assert.equal(outcome.statusCode, status);
    assert.equal(outcome.error, 'status');
  });
}

test('a redirect is not followed', async (t) => {
  const receiver = await startWebhookReceiver(t);
  receiver.script('/hook', { type: 'answer', status: 307, headers: { location: receiver.urlOf('/elsewhere') } });
  await openSender(t).send(request(receiver.urlOf('/hook')));
  assert.deepEqual(
    receiver.posts.map((post) => post.path),
    ['/hook'],
  );
});

test('the first 2 KiB of the answer are kept as text that PostgreSQL can hold', async (t) => {
  const outcome = await outcomeOf(t, { type: 'answer', status: 500, body: `\0é${'x'.repeat(2_044)}€ and more` });
  assert.equal(outcome.responseHead, `\ufffdé${'x'.repeat(2_044)}`);
});

test('an endpoint that never answers times out', async (t) => {
  const outcome = await outcomeOf(t, { type: 'hang' }, { attemptTimeoutMs: 50 });
  assert.equal(outcome.error, 'timeout');
  assert.equal(outcome.statusCode, null);
  assert.ok(outcome.durationMs >= 49);
});

test('an answer that trickles in does not outlive the deadline', async (t) => {
  const outcome = await outcomeOf(t, { type: 'trickle', everyMs: 5, part: 'head' }, { attemptTimeoutMs: 60 });
  assert.equal(outcome.error, 'timeout');
});

test('a 200 whose body trickles in is delivered at the deadline', async (t) => {
  const outcome = await patiently(
    (attemptTimeoutMs) => outcomeOf(t, { type: 'trickle', everyMs: 5, part: 'body' }, { attemptTimeoutMs }),
    ({ statusCode }) => statusCode !== null,
  );
  assert.equal(outcome.error, null);
  assert.equal(outcome.statusCode, 200);
});

test('an endless answer is cut off and judged by its status', async (t) => {
  const delivered = await outcomeOf(t, { type: 'endless', status: 200 });
  assert.equal(delivered.error, null);
  assert.equal(delivered.responseHead?.length, 2_048);
  const refused = await outcomeOf(t, { type: 'endless', status: 500 });
  assert.equal(refused.error, 'status');
});

test('a reset connection is told apart', async (t) => {
  assert.equal((await outcomeOf(t, { type: 'reset' })).error, 'reset');
});

test('an answer that is not HTTP is told apart', async (t) => {
  assert.equal((await outcomeOf(t, { type: 'garbage' })).error, 'protocol');
});

test('a closed port is told apart', async (t) => {
  const receiver = await startWebhookReceiver(t);
  await receiver.close();
  assert.equal((await openSender(t).send(request(receiver.url))).error, 'connect');
});

test('a name without an address is told apart', async (t) => {
  const resolveName = () => Promise.reject(new Error('queryA ENOTFOUND'));
  const outcome = await openSender(t, { resolveName }).send(request('http://nowhere.test/'));
  assert.deepEqual([outcome.error, outcome.reason], ['dns', 'nowhere.test: queryA ENOTFOUND']);
});

test('a name whose servers never answer costs the connect deadline and no more', async (t) => {
  const sender = openSender(t, { resolveName: () => new Promise(() => undefined), connectTimeoutMs: 40 });
  const outcome = await sender.send(request('http://silent.test/'));
  assert.equal(outcome.error, 'timeout');
});

test('a server that accepts and never speaks TLS times out while connecting', async (t) => {
  const server = createServer();
  await listen(t, server);
  const outcome = await patiently(
    (connectTimeoutMs) => openSender(t, { connectTimeoutMs }).send(request(`https://127.0.0.1:${portOf(server)}/`)),
    ({ reason }) => reason?.startsWith('no connection') === false,
  );
  assert.equal(outcome.error, 'timeout');
  assert.match(String(outcome.reason), /^no TLS handshake within \d+ ms$/);
});

test('trusted TLS delivers; unknown, expired and misnamed certificates do not', async (t) => {
  const receiver = await startWebhookReceiver(t, { tls: 'valid' });
  const authorities = receiver.authority as string;
  const trusting = openSender(t, { authorities, resolveName: PRIVATE_ADDRESS_NAME });
  const { port } = new URL(receiver.url);
  assert.equal((await trusting.send(request(`https://receiver.test:${port}/hook`))).error, null);
  assert.equal((await trusting.send(request(`https://other.test:${port}/hook`))).error, 'tls');
  assert.equal((await openSender(t).send(request(receiver.urlOf('/hook')))).error, 'tls');
  const expired = await startWebhookReceiver(t, { tls: 'expired' });
  const late = openSender(t, { authorities: expired.authority as string });
  assert.equal((await late.send(request(expired.urlOf('/hook')))).error, 'tls');
  assert.deepEqual([receiver.posts.length, expired.posts.length], [1, 0]);
});

test('plain text on a TLS port is told apart', async (t) => {
  const receiver = await startWebhookReceiver(t);
  const outcome = await openSender(t).send(request(receiver.urlOf('/').replace('http:', 'https:')));
  assert.equal(outcome.error, 'tls');
});

test('without private networks no connection is opened to one, by literal or by name', async (t) => {
  const receiver = await startWebhookReceiver(t, { tls: 'valid' });
  const { port } = new URL(receiver.url);
  const sender = openSender(t, {
    allowPrivateNetworks: false,
    resolveName: PRIVATE_ADDRESS_NAME,
    authorities: receiver.authority as string,
  });
  for (const host of [
    '127.0.0.1',
    '2130706433',
    '0x7f.1',
    '[::ffff:127.0.0.1]',
    '[::1]',
    'receiver.test',
    'localhost',
  ]) {
    const outcome = await sender.send(request(`https://${host}:${port}/hook`));
    assert.equal(outcome.error, 'blocked', host);
  }
  assert.equal(receiver.connectionCount, 0);
});

test('a name is judged by the addresses of the very lookup that the connection uses', async (t) => {
  const receiver = await startWebhookReceiver(t);
  const { port } = new URL(receiver.url);
  const answers = ['127.0.0.1', '127.0.0.2'];
  let lookups = 0;
  const resolveName = async () => [{ address: answers[lookups++] as string, family: 4 as const }];
  await openSender(t, { resolveName }).send(request(`http://rebinding.test:${port}/hook`));
  assert.deepEqual([lookups, receiver.posts.length], [1, 1]);
});

test('without private networks plain http is refused before anything is resolved', async (t) => {
  const resolveName = () => assert.fail('resolved');
  const outcome = await openSender(t, { allowPrivateNetworks: false, resolveName }).send(
    request('http://example.test/'),
  );
  assert.deepEqual([outcome.error, outcome.reason], ['blocked', 'plain http is not allowed']);
});

test('an endpoint that is no http URL ends as a failed attempt', async (t) => {
  const sender = openSender(t);
  for (const endpoint of ['', 'nonsense', 'ftp://example.test/', 'https://']) {
    assert.equal((await sender.send(request(endpoint))).error, 'protocol', endpoint);
  }
});

test('connections are kept and used again', async (t) => {
  const receiver = await startWebhookReceiver(t);
  const sender = openSender(t);
  for (let count = 0; count < 20; count++) await sender.send(request(receiver.urlOf('/hook')));
  assert.equal(receiver.posts.length, 20);
  // undici rests a connection for one turn of the event loop, so two of them take turns.
  assert.ok(receiver.connectionCount <= 2);
});

test('one hanging request of a host does not hold up another', async (t) => {
  const receiver = await startWebhookReceiver(t);
  receiver.script('/hang', { type: 'hang' });
  const sender = openSender(t, { attemptTimeoutMs: 400 });
  const order: string[] = [];
  const hanging = Array.from({ length: 5 }, () =>
    sender.send(request(receiver.urlOf('/hang'))).then(() => order.push('hanging')),
  );
  await sender.send(request(receiver.urlOf('/hook'))).then(() => order.push('healthy'));
  await Promise.all(hanging);
  assert.equal(order[0], 'healthy');
});

test('close waits for the attempts under way', async (t) => {
  const receiver = await startWebhookReceiver(t);
  let open: () => void = () => undefined;
  receiver.script('/hook', { type: 'gated', status: 200, gate: new Promise((resolve) => (open = resolve)) });
  const sender = openSender(t);
  const sending = sender.send(request(receiver.urlOf('/hook')));
  await receiver.until((posts) => posts.length === 1);
  const closing = sender.close();
  open();
  await closing;
  assert.equal((await sending).error, null);
});

async function listen(t: TestContext, server: Server): Promise<void> {
  const sockets = new Set<{ destroy(): void }>();
  server.on('connection', (socket) => sockets.add(socket));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
}

function portOf(server: Server): number {
  return (server.address() as { port: number }).port;
}
