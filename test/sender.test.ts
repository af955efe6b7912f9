/** One attempt of a webhook, against HTTP servers that answer well, badly or not at all. */

import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { guardAnswers } from '../src/engine/delivery/answer-gate.ts';
import { createSender, type Sender, type SenderOptions, type SendRequest } from '../src/engine/delivery/sender.ts';
import type { AttemptOutcome } from '../src/engine/domain/delivery.ts';
import { createGate } from './support/gate.ts';
import { valuesOf } from './support/lists.ts';
import { listenOnLoopback } from './support/loopback.ts';
import { type Behaviour, startWebhookReceiver } from './support/webhook-receiver.ts';

const TOKEN = `whsec_${Buffer.alloc(32, 3).toString('base64')}`;
const ID = '01900000-0000-7000-8000-000000000001';
const PRIVATE_ADDRESS_NAME = async () => [{ address: '127.0.0.1', family: 4 as const }];

/** A sender that makes every attempt, so that there is always an outcome. */
interface MadeSender extends Sender {
  send(request: SendRequest): Promise<AttemptOutcome>;
}

function openSender(t: TestContext, options: Partial<SenderOptions> = {}): MadeSender {
  const sender = createSender({
    connectTimeoutMs: 60_000,
    attemptTimeoutMs: 60_000,
    allowPrivateNetworks: true,
    userAgent: 'Vigie/0.0.0',
    ...options,
  });
  t.after(() => sender.close());
  return sender as MadeSender;
}

function request(endpoint: string, changes: Partial<SendRequest> = {}): SendRequest {
  return { id: ID, endpoint, clientId: ID, body: '{"prix":"1 €"}', token: TOKEN, startedAt: new Date(), ...changes };
}

/** The outcome of an attempt at an endpoint with this behaviour. */
async function outcomeOf(
  t: TestContext,
  behaviour: Behaviour,
  options: Partial<SenderOptions> = {},
): Promise<AttemptOutcome> {
  const receiver = await startWebhookReceiver(t);
  receiver.script('/hook', behaviour);
  return openSender(t, options).send(request(receiver.urlOf('/hook')));
}

/** Repeats the attempt with longer deadlines until it is telling, because a busy machine may need more time. */
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
  assert.equal(post.headers['vigie-sequence'], undefined, 'a delivery without a sequence has no such header');
  assert.deepEqual(new Webhook(TOKEN).verify(post.body.toString(), post.headers), { prix: '1 €' });
});

for (const status of [201, 202, 204, 301, 307, 400, 410, 429, 500, 503]) {
  test(`status ${status} is a failure, and no redirect is followed`, async (t) => {
    const receiver = await startWebhookReceiver(t);
    receiver.script('/hook', { type: 'answer', status, headers: { location: receiver.urlOf('/elsewhere') } });
    const { statusCode, error } = await openSender(t).send(request(receiver.urlOf('/hook')));
    assert.deepEqual([statusCode, error], [status, 'status']);
    assert.deepEqual(valuesOf(receiver.posts, 'path'), ['/hook']);
  });
}

test('the first 2 KiB of the answer are kept as text that PostgreSQL can store', async (t) => {
  const outcome = await outcomeOf(t, { type: 'answer', status: 500, body: `\0é${'x'.repeat(2_044)}€ and more` });
  assert.equal(outcome.responseHead, `\ufffdé${'x'.repeat(2_044)}`);
});

test('an endpoint that never answers times out', async (t) => {
  const outcome = await outcomeOf(t, { type: 'hang' }, { attemptTimeoutMs: 50 });
  assert.equal(outcome.error, 'timeout');
  assert.equal(outcome.statusCode, null);
  assert.ok(outcome.durationMs >= 49);
});

test('an answer whose head arrives slowly does not extend the deadline', async (t) => {
  const outcome = await outcomeOf(t, { type: 'trickle', everyMs: 5, part: 'head' }, { attemptTimeoutMs: 60 });
  assert.equal(outcome.error, 'timeout');
});

test('a 200 whose body arrives slowly counts as delivered at the deadline', async (t) => {
  const outcome = await patiently(
    (attemptTimeoutMs) => outcomeOf(t, { type: 'trickle', everyMs: 5, part: 'body' }, { attemptTimeoutMs }),
    ({ statusCode }) => statusCode !== null,
  );
  assert.equal(outcome.error, null);
  assert.equal(outcome.statusCode, 200);
});

test('an endless answer is cut off, and its status decides', async (t) => {
  const delivered = await outcomeOf(t, { type: 'endless', status: 200 });
  assert.equal(delivered.error, null);
  assert.equal(delivered.responseHead?.length, 2_048);
  const refused = await outcomeOf(t, { type: 'endless', status: 500 });
  assert.equal(refused.error, 'status');
});

test('a reset connection and an answer that is not HTTP are reported as different errors', async (t) => {
  assert.equal((await outcomeOf(t, { type: 'reset' })).error, 'reset');
  assert.equal((await outcomeOf(t, { type: 'garbage' })).error, 'protocol');
});

test('a closed port is a connection error', async (t) => {
  const receiver = await startWebhookReceiver(t);
  await receiver.close();
  assert.equal((await openSender(t).send(request(receiver.url))).error, 'connect');
});

test('a name without an address is a DNS error that names the host', async (t) => {
  const resolveName = () => Promise.reject(new Error('queryA ENOTFOUND'));
  const outcome = await openSender(t, { resolveName }).send(request('http://nowhere.test/'));
  assert.deepEqual([outcome.error, outcome.reason], ['dns', 'nowhere.test: queryA ENOTFOUND']);
});

test('a name whose servers never answer costs only the connect deadline', async (t) => {
  const sender = openSender(t, { resolveName: () => new Promise(() => undefined), connectTimeoutMs: 40 });
  const outcome = await sender.send(request('http://silent.test/'));
  assert.equal(outcome.error, 'timeout');
});

test('a server that accepts and never speaks TLS times out while connecting', async (t) => {
  const port = await listenOnLoopback(t, createServer());
  const outcome = await patiently(
    (connectTimeoutMs) => openSender(t, { connectTimeoutMs }).send(request(`https://127.0.0.1:${port}/`)),
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

test('plain text on a TLS port is a TLS error', async (t) => {
  const receiver = await startWebhookReceiver(t);
  const outcome = await openSender(t).send(request(receiver.urlOf('/').replace('http:', 'https:')));
  assert.equal(outcome.error, 'tls');
});

test('if private networks are not allowed, no connection is opened to one, by address or by name', async (t) => {
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

test('a name is checked with the addresses of the same lookup that the connection uses', async (t) => {
  const receiver = await startWebhookReceiver(t);
  const { port } = new URL(receiver.url);
  const answers = ['127.0.0.1', '127.0.0.2'];
  let lookups = 0;
  const resolveName = async () => [{ address: answers[lookups++] as string, family: 4 as const }];
  await openSender(t, { resolveName }).send(request(`http://rebinding.test:${port}/hook`));
  assert.deepEqual([lookups, receiver.posts.length], [1, 1]);
});

test('if private networks are not allowed, plain http is refused before anything is resolved', async (t) => {
  const resolveName = () => assert.fail('resolved');
  const outcome = await openSender(t, { allowPrivateNetworks: false, resolveName }).send(
    request('http://example.test/'),
  );
  assert.deepEqual([outcome.error, outcome.reason], ['blocked', 'plain http is not allowed']);
});

test('an endpoint that is not an http URL causes a failed attempt', async (t) => {
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
  // undici leaves a connection idle for one turn of the event loop, so two of them alternate.
  assert.ok(receiver.connectionCount <= 2);
});

test('a 200 after provisional answers is a success', async (t) => {
  const provisional = 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n';
  const answer = `${provisional}HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nmerci`;
  const { url, connections } = await listenRaw(t, (socket) => socket.on('data', () => socket.write(answer)));
  const inPieces = await listenRaw(t, (socket) =>
    socket.once('data', async () => {
      for (const byte of answer) await new Promise((done) => socket.write(byte, done));
    }),
  );
  const sender = openSender(t);
  for (const endpoint of [url, url, inPieces.url]) {
    const { statusCode, error, responseHead } = await sender.send(request(endpoint));
    assert.deepEqual([statusCode, error, responseHead], [200, null, 'merci']);
  }
  assert.ok(connections() <= 2);

  const body = 'x'.repeat(60_000);
  const atOnce = `${provisional}HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  const large = await listenRaw(t, (socket) => socket.once('data', () => socket.write(atOnce)));
  assert.equal((await sender.send(request(large.url))).error, null);
});

test('the head of an answer, including provisional answers, is limited to 16 KiB, and its body is limited too', () => {
  const provisional = 'HTTP/1.1 103 Early Hints\r\n\r\n';
  const failureOf = (...chunks: readonly string[]): string | null => {
    const left = chunks.map((chunk) => Buffer.from(chunk));
    let failure: string | null = null;
    const socket = Object.assign(new EventEmitter(), {
      read: () => left.shift() ?? null,
      write: () => true,
      destroy: ({ message }: Error) => void (failure = message),
    }) as unknown as Socket;
    guardAnswers(socket, 100_000);
    socket.write('POST');
    while (socket.read() !== null);
    return failure;
  };
  const lines = (start: string, bytes: number) => start.padEnd(bytes, 'x');
  for (const [beyond, ...before] of [
    ['x', lines('HTTP/1.1 200 OK\r\nx: ', 16_384)],
    ['x', provisional, lines('HTTP/1.1 200 OK\r\nx: ', 16_384 - provisional.length)],
    ['x', lines('HTTP/1.1 200 OK\r\n\r\n', 99_000), 'x'.repeat(1_000)],
    ['x', provisional.repeat(500), lines('HTTP/1.1 200 OK\r\n\r\n', 99_000), 'x'.repeat(1_000)],
  ] as const) {
    assert.equal(failureOf(...before), null);
    assert.match(failureOf(...before, beyond) ?? '', /is longer than (?:16384|100000) bytes$/);
  }
});

/** Endless data that never becomes an answer: `start`, then `rest` repeated. */
const FLOODS: Readonly<Record<string, readonly [start: string, rest: string]>> = {
  'status line': ['HTTP/1.1 200 O', 'K'],
  'header value': ['HTTP/1.1 200 OK\r\nx: ', 'x'],
  'blanks before a header value': ['HTTP/1.1 200 OK\r\nx:', ' '],
  headers: ['HTTP/1.1 200 OK\r\n', 'x: y\r\n'],
  'provisional answers': ['', 'HTTP/1.1 100 Continue\r\n\r\n'],
  'line breaks': ['', '\r\n'],
};

for (const [what, [start, rest]] of Object.entries(FLOODS)) {
  test(`an endless flood of ${what} is cut off`, async (t) => {
    const flood = Buffer.from(rest.repeat(Math.ceil(16_384 / rest.length)));
    let sent = 0;
    const { url } = await listenRaw(t, (socket) =>
      socket.once('data', () => {
        socket.write(start);
        const pour = (): void => {
          if (socket.destroyed) return;
          sent += flood.length;
          socket.write(flood, pour);
        };
        pour();
      }),
    );
    const { error, statusCode } = await openSender(t, { attemptTimeoutMs: 60_000 }).send(request(url));
    assert.deepEqual([error, statusCode], ['protocol', null]);
    assert.ok(sent < 64 * 1_024 * 1_024, 'only as much as the kernel buffers');
  });
}

test('an endless chunk extension is cut off, and the 200 before it counts', async (t) => {
  const { url } = await listenRaw(t, (socket) =>
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;');
      const pour = (): void => void (socket.destroyed || socket.write(Buffer.alloc(16_384, 'x'), pour));
      pour();
    }),
  );
  const { error, statusCode } = await openSender(t, { attemptTimeoutMs: 60_000 }).send(request(url));
  assert.deepEqual([error, statusCode], [null, 200]);
});

test('if the endpoint closes a kept connection without an answer, the request is tried once more on a new one', async (t) => {
  let requests = 0;
  const { url, connections } = await listenRaw(t, (socket) => {
    let own = 0;
    socket.on('data', () => {
      requests += 1;
      own += 1;
      if (own > 1) socket.resetAndDestroy();
      else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
    });
  });
  const sender = openSender(t);
  const outcomes: AttemptOutcome[] = [];
  for (let count = 0; count < 10; count++) outcomes.push(await sender.send(request(url)));
  assert.ok(outcomes.every(({ error }) => error === null));
  // Both posts of an attempt are logged.
  const twice = outcomes.filter(({ reason }) => reason !== null);
  assert.ok(twice.length > 0);
  for (const { reason } of twice) assert.match(reason ?? '', /^posted again after \d+ ms: the kept connection broke/);
  assert.ok(requests > 10, 'some requests met the closed connection');
  assert.ok(connections() >= 10);
});

test('a kept connection that turns out to be reset before anything is written is replaced', async (t) => {
  const sockets: Socket[] = [];
  const { url, connections } = await listenRaw(t, (socket) => {
    sockets.push(socket);
    socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'));
  });
  const sender = openSender(t);
  for (let count = 1; count <= 10; count++) {
    assert.equal((await sender.send(request(url))).error, null);
    // The connection is free for the next request only after this turn of the event loop.
    await setImmediate();
    sockets.at(-1)?.resetAndDestroy();
  }
  assert.equal(connections(), 10);
});

test('a request is not tried again after a byte was received, or on a new connection', async (t) => {
  let requests = 0;
  const closing = await listenRaw(t, (socket) => {
    socket.on('data', () => {
      requests += 1;
      socket.destroy();
    });
  });
  const sender = openSender(t);
  const { error: closed, reason } = await sender.send(request(closing.url));
  assert.equal(closed, 'reset');
  assert.doesNotMatch(reason ?? '', /posted again/);
  assert.equal(requests, 1);

  let own = 0;
  const breaking = await listenRaw(t, (socket) => {
    socket.on('data', () => {
      own += 1;
      if (own % 2 === 1) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
      else socket.end('HTTP/1.1 2');
    });
  });
  const errors: unknown[] = [];
  while (errors.length < 6) errors.push((await sender.send(request(breaking.url))).error);
  assert.equal(own, 6);
  assert.ok(errors.includes('reset'));
});

test('an endpoint that closes immediately is not reported as blocked', async (t) => {
  const { url } = await listenRaw(t, (socket) => socket.resetAndDestroy());
  const endpoint = url.replace('http:', 'https:').replace('127.0.0.1', 'closing.example.com');
  const sender = openSender(t, {
    allowPrivateNetworks: false,
    isPublic: (address) => address === '127.0.0.1',
    resolveName: PRIVATE_ADDRESS_NAME,
  });
  const errors = new Set<unknown>();
  for (let count = 0; count < 50; count++) errors.add((await sender.send(request(endpoint))).error);
  assert.equal(errors.has('blocked'), false, [...errors].join());
});

test('a hanging request to a host does not delay another', async (t) => {
  const receiver = await startWebhookReceiver(t);
  receiver.script('/hang', { type: 'hang' });
  const sender = openSender(t);
  let ended = 0;
  const hanging = Array.from({ length: 5 }, () => sender.send(request(receiver.urlOf('/hang'))).then(() => ended++));
  assert.equal((await sender.send(request(receiver.urlOf('/hook')))).error, null);
  assert.equal(ended, 0);
  await receiver.close();
  await Promise.all(hanging);
});

test('close waits for the attempts in progress', async (t) => {
  const receiver = await startWebhookReceiver(t);
  const { gate, open } = createGate();
  receiver.script('/hook', { type: 'gated', status: 200, gate });
  const sender = openSender(t);
  const sending = sender.send(request(receiver.urlOf('/hook')));
  await receiver.until((posts) => posts.length === 1);
  const closing = sender.close();
  open();
  await closing;
  assert.equal((await sending).error, null);
});

/** A TCP server whose answers the test writes itself. */
async function listenRaw(t: TestContext, onConnection: (socket: Socket) => void) {
  let count = 0;
  const server = createServer((socket) => {
    count += 1;
    socket.on('error', () => undefined);
    onConnection(socket);
  });
  return { url: `http://127.0.0.1:${await listenOnLoopback(t, server)}/hook`, connections: () => count };
}
