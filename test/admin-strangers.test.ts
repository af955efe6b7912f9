/** Clients without a token can check the health of the administration interface, and cannot harm other clients. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import { connect as connectSocket, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import {
  type ClientReadableStream,
  credentials,
  Metadata,
  makeGenericClientConstructor,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { service } from 'grpc-health-check';
import type { AdminServer, AdminServerSettings } from '../src/grpc/server.ts';
import { type AdminScene, AUTHORIZATION, startAdmin } from './support/admin-server.ts';
import { until, untilIs } from './support/until.ts';

const CHECK = '/grpc.health.v1.Health/Check';
const MEBIBYTE = 1_024 * 1_024;
/** Functions that end the clients of a test, because the server would wait for them. */
const leaving: (() => void)[] = [];

async function startServer(t: TestContext, settings: Partial<AdminServerSettings> = {}): Promise<AdminScene> {
  t.after(() => {
    for (const leave of leaving.splice(0)) leave();
  });
  return startAdmin(t, {}, settings);
}

interface HealthClient {
  watch(request: { readonly service: string }): ClientReadableStream<{ readonly status: string }>;
  check(
    request: { readonly service: string },
    metadata: Metadata,
    done: (error: ServiceError | null, answer: { readonly status: string }) => void,
  ): void;
  close(): void;
}

function healthClient({ address }: AdminServer): HealthClient {
  const Health = makeGenericClientConstructor(service, 'Health');
  const client = new Health(address, credentials.createInsecure()) as unknown as HealthClient;
  leaving.push(() => client.close());
  return client;
}

function checkHealth(client: HealthClient, name: string, metadata = new Metadata()): Promise<string> {
  return new Promise((resolve, reject) =>
    client.check({ service: name }, metadata, (error, answer) =>
      error === null ? resolve(answer.status) : reject(error),
    ),
  );
}

function openSession({ address }: AdminServer): ClientHttp2Session {
  const session = connect(`http://${address}`);
  leaving.push(() => session.destroy());
  return session;
}

/** Begins a call without sending its message. */
function beginCall(session: ClientHttp2Session, path: string, headers: Record<string, string> = {}): ClientHttp2Stream {
  const fixed = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' };
  const stream = session.request({ ...fixed, ...headers }, { endStream: false });
  stream.on('error', () => undefined);
  return stream.resume();
}

/** Adds the length prefix of gRPC over HTTP/2. */
function framed(message: Buffer, isCompressed = false): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt8(isCompressed ? 1 : 0);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** The gRPC status of a call that the server ends without a message. */
async function statusOfEnd(stream: ClientHttp2Stream): Promise<number> {
  const [headers] = (await once(stream, 'response')) as [Record<string, string>];
  return Number(headers['grpc-status']);
}

test('a client without a valid token may check health and watch its changes', async (t) => {
  const { server } = await startServer(t);
  const client = healthClient(server);
  assert.equal(await checkHealth(client, ''), 'SERVING');
  const wrong = Metadata.fromHttp2Headers({ authorization: 'Bearer wrong' });
  assert.equal(await checkHealth(client, 'vigie.admin.v1.AdminService', wrong), 'SERVING');
  await assert.rejects(checkHealth(client, 'another'), { code: status.NOT_FOUND });
  const watch = client.watch({ service: '' });
  const [known, unknown] = [watch[Symbol.asyncIterator](), client.watch({ service: 'another' })];
  assert.equal((await known.next()).value.status, 'SERVING');
  assert.deepEqual(((await once(unknown, 'data')) as [{ status: string }])[0].status, 'SERVICE_UNKNOWN');
  server.setServing(false);
  assert.equal((await known.next()).value.status, 'NOT_SERVING');
  assert.equal(await checkHealth(client, ''), 'NOT_SERVING');
  unknown.on('error', () => undefined);
  await server.stop();
  await assert.rejects(async () => known.next(), { code: status.UNAVAILABLE });
});

test('at most sixteen watches of health run at once, and others may begin when they are cancelled', async (t) => {
  const client = healthClient((await startServer(t)).server);
  const watchMany = async () => {
    const watches = Array.from({ length: 16 }, (_, i) => client.watch({ service: `name ${i}` }));
    for (const watch of watches) watch.on('error', () => undefined);
    await Promise.all(watches.map((watch) => once(watch, 'data')));
    return watches;
  };
  const watches = await watchMany();
  const [refused] = (await once(client.watch({ service: '' }).resume(), 'error')) as [ServiceError];
  assert.equal(refused.code, status.RESOURCE_EXHAUSTED);
  assert.equal(await checkHealth(client, ''), 'SERVING', 'a single check is still answered');
  for (const watch of watches) watch.cancel();
  await until(
    () => watchMany().catch(() => null),
    (again) => again !== null,
  );
});

test('the number of health checks without a message is limited, and they end at a deadline', async (t) => {
  const { server: patient } = await startServer(t, { healthQuestionMs: 3_600_000 });
  const session = openSession(patient);
  const stored = Array.from({ length: 32 }, () => beginCall(session, CHECK));
  assert.equal(await statusOfEnd(beginCall(session, CHECK)), status.RESOURCE_EXHAUSTED);
  for (const stream of stored) stream.close(constants.NGHTTP2_CANCEL);
  await untilIs(() => checkHealth(healthClient(patient), '').catch(() => null), 'SERVING');
  const impatient = openSession((await startServer(t, { healthQuestionMs: 1 })).server);
  assert.equal(await statusOfEnd(beginCall(impatient, CHECK)), status.DEADLINE_EXCEEDED);
});

test('a connection has at most 64 calls in flight, even if the client ignores the limit', async (t) => {
  const session = openSession((await startServer(t)).server);
  // All calls are sent before the server's settings arrive, because this client would respect their limit.
  const headers = { authorization: AUTHORIZATION };
  const streams = Array.from({ length: 80 }, () =>
    beginCall(session, '/vigie.admin.v1.AdminService/GetStatus', headers),
  );
  await untilIs(() => streams.filter(({ closed }) => closed).length, 16);
  const refused = streams.filter(({ closed }) => closed);
  for (const { rstCode } of refused) assert.equal(rstCode, constants.NGHTTP2_REFUSED_STREAM);
  assert.equal(session.remoteSettings.maxConcurrentStreams, 64);
});

test('connections without a token displace each other, never those with a token', async (t) => {
  const { server, connect } = await startServer(t);
  const { stub, metadata } = connect();
  const ask = () =>
    new Promise<ServiceError | null>((resolve) =>
      stub.getDelivery({ name: '', includeBody: false }, metadata, resolve),
    );
  assert.equal((await ask())?.code, status.INVALID_ARGUMENT, 'the call arrived');

  const [host, port] = server.address.split(':');
  const strangers: Socket[] = [];
  leaving.push(() => strangers.forEach((socket) => socket.destroy()));
  for (let i = 0; i < 200; i++) {
    const socket = connectSocket(Number(port), host);
    socket.on('error', () => undefined).resume();
    strangers.push(socket);
    await once(socket, 'connect');
  }
  const isOpen = ({ destroyed, readyState }: Socket) => !destroyed && readyState === 'open';
  await untilIs(() => strangers.filter(isOpen).length, 16);
  assert.ok(strangers.slice(-16).every(isOpen), 'the oldest connections are closed first');
  assert.equal((await ask())?.code, status.INVALID_ARGUMENT, 'the connection with a token is still open');
  assert.equal(await checkHealth(healthClient(server), ''), 'SERVING', 'a new connection is served');
});

test('a message above four mebibytes is refused, compressed or not', async (t) => {
  const { server } = await startServer(t);
  const session = openSession(server);
  const long = beginCall(session, CHECK);
  long.end(framed(Buffer.alloc(4 * MEBIBYTE + 1)));
  assert.equal(await statusOfEnd(long), status.RESOURCE_EXHAUSTED);
  const packed = beginCall(session, CHECK, { 'grpc-encoding': 'gzip' });
  packed.end(framed(gzipSync(Buffer.alloc(256 * MEBIBYTE)), true));
  assert.equal(await statusOfEnd(packed), status.RESOURCE_EXHAUSTED);
  assert.equal(await checkHealth(healthClient(server), ''), 'SERVING');
});
