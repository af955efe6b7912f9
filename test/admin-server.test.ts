/** Who may speak to the administration interface, and what a watcher gets that is too slow for what happens. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type ChannelCredentials, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { generate } from 'selfsigned';
import type { Activity } from '../src/engine/domain/activity.ts';
import { uuidOf } from '../src/engine/domain/ids.ts';
import type { AdminDependencies } from '../src/grpc/dependencies.ts';
import { type AdminServerSettings, startAdminServer } from '../src/grpc/server.ts';
import { readOrMakeToken, readToken } from '../src/local/data-directory.ts';
import { AdminStub, type WatchedActivity } from './support/admin.ts';
import { emptyDirectory } from './support/servers.ts';

const TOKEN = 'token-of-this-test';
const PLAIN: AdminServerSettings = {
  host: '127.0.0.1',
  port: 0,
  token: TOKEN,
  certificate: null,
  privateKey: null,
  clientAuthorities: null,
};
const WATCH = { kinds: [], search: '', property: '', endpoint: '', failuresOnly: false };

test('with client authorities a certificate of theirs is needed, and no token', async (t) => {
  const pem = await certificates(t);
  const server = await startAdminServer(
    {
      ...PLAIN,
      token: null,
      certificate: pem.certificate,
      privateKey: pem.privateKey,
      clientAuthorities: pem.certificate,
    },
    dependencies(),
  );
  t.after(() => server.stop());
  const { cert, key } = pem;
  const known = await resultOf(server.address, credentials.createSsl(cert, key, cert));
  assert.equal(known?.code, status.INVALID_ARGUMENT, 'the call arrived');
  const stranger = await resultOf(server.address, credentials.createSsl(cert));
  assert.equal(stranger?.code, status.UNAVAILABLE);
});

test('a token that nobody gave is made once, for its owner alone', async (t) => {
  const folder = await emptyDirectory(t);
  assert.equal(await readToken(folder), null);
  const tokens = await Promise.all([readOrMakeToken(folder), readOrMakeToken(folder), readOrMakeToken(folder)]);
  assert.equal(await readToken(folder), tokens[0]);
  assert.equal(tokens[0]?.length, 43);
});

test('a watcher that is too slow is told how much it missed, and gets the newest', async (t) => {
  let tell: (activities: readonly Activity[]) => void = () => undefined;
  const server = await startAdminServer(
    PLAIN,
    dependencies((listener) => {
      tell = listener;
    }),
  );
  t.after(() => server.stop());
  const { stub, metadata } = client(server.address, credentials.createInsecure());
  t.after(() => stub.close());
  const stream = stub.watchActivity(WATCH, metadata);
  await once(stream, 'metadata');
  tell(Array.from({ length: 3_000 }, (_, i) => change(i)));
  const seen: WatchedActivity[] = [];
  for await (const activity of stream as AsyncIterable<WatchedActivity>) {
    seen.push(activity);
    if (seen.length === 1_000) break;
  }
  assert.equal(seen[0]?.skippedCount, 2_000);
  assert.deepEqual(
    seen.slice(1).filter(({ skippedCount = 0 }) => skippedCount > 0),
    [],
  );
  assert.equal(seen.at(-1)?.change?.newValue, '2999');
});

test('at most sixteen watch at once, and a server that stops lets them go', async (t) => {
  const server = await startAdminServer(PLAIN, dependencies());
  const { stub, metadata } = client(server.address, credentials.createInsecure());
  t.after(() => stub.close());
  const streams = Array.from({ length: 16 }, () => stub.watchActivity(WATCH, metadata));
  const errors = streams.map((stream) => once(stream.resume(), 'error') as Promise<[ServiceError]>);
  await Promise.all(streams.map((stream) => once(stream, 'metadata')));
  const [refused] = (await once(stub.watchActivity(WATCH, metadata).resume(), 'error')) as [ServiceError];
  assert.equal(refused.code, status.RESOURCE_EXHAUSTED);
  await server.stop();
  for (const [error] of await Promise.all(errors)) assert.equal(error.code, status.UNAVAILABLE);
});

function change(number: number): Activity {
  return {
    type: 'change',
    at: new Date(0).toISOString(),
    propertyUuid: uuidOf('0198c5d2-0000-7000-8000-000000000000'),
    advertUuid: uuidOf('0198c5d2-0000-7000-8000-000000000001'),
    kind: 'ad.update.price',
    field: 'price',
    oldValue: null,
    newValue: String(number),
  };
}

/** No call of these tests reaches PostgreSQL or NATS. */
function dependencies(onWatch: (listener: (activities: readonly Activity[]) => void) => void = () => undefined) {
  return {
    logger: { debug: () => undefined, info: () => undefined, error: () => undefined },
    onCall: () => undefined,
    watch: async (listener: (activities: readonly Activity[]) => void) => {
      onWatch(listener);
      return () => undefined;
    },
  } as unknown as AdminDependencies;
}

function client(address: string, channel: ChannelCredentials) {
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${TOKEN}`);
  return { stub: new AdminStub(address, channel), metadata };
}

/** Of a call that is refused for its arguments, when it arrives at all. */
async function resultOf(address: string, channel: ChannelCredentials): Promise<ServiceError | null> {
  const { stub, metadata } = client(address, channel);
  const error = await new Promise<ServiceError | null>((resolve) =>
    stub.getDelivery({ name: '', includeBody: false }, metadata, resolve),
  );
  stub.close();
  return error;
}

async function certificates(t: TestContext) {
  const folder = await emptyDirectory(t);
  const pems = await generate([{ name: 'commonName', value: 'operators.test' }], {
    keyType: 'ec',
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] },
    ],
  });
  const [certificate, privateKey] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  await writeFile(certificate, pems.cert);
  await writeFile(privateKey, pems.private);
  return { certificate, privateKey, cert: Buffer.from(pems.cert), key: Buffer.from(pems.private) };
}
