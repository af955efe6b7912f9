/** Access to the administration interface by certificate or token, and the limits of its watches. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { credentials, type ServiceError, status } from '@grpc/grpc-js';
import { generate } from 'selfsigned';
import type { Activity } from '../src/engine/domain/activity.ts';
import { uuidOf } from '../src/engine/domain/ids.ts';
import { readOrMakeToken, readToken } from '../src/local/data-directory.ts';
import type { WatchedActivity } from './support/admin.ts';
import { type AdminClient, startAdmin } from './support/admin-server.ts';
import { assertNone } from './support/lists.ts';
import { emptyDirectory } from './support/servers.ts';
import { untilIs } from './support/until.ts';

const WATCH = { kinds: [], search: '', property: '', endpoint: '', failuresOnly: false };

test('with client authorities, a client needs one of their certificates and no token', async (t) => {
  const { certificate, privateKey, cert, key } = await certificates(t);
  const settings = { token: null, certificate, privateKey, clientAuthorities: certificate };
  const { connect } = await startAdmin(t, {}, settings);
  const known = await resultOf(connect(credentials.createSsl(cert, key, cert)));
  assert.equal(known?.code, status.INVALID_ARGUMENT, 'the call arrived');
  const stranger = await resultOf(connect(credentials.createSsl(cert)));
  assert.equal(stranger?.code, status.UNAVAILABLE);
});

test('concurrent callers generate a missing token once, and the file contains it', async (t) => {
  const folder = await emptyDirectory(t);
  assert.equal(await readToken(folder), null);
  const tokens = await Promise.all([readOrMakeToken(folder), readOrMakeToken(folder), readOrMakeToken(folder)]);
  assert.equal(await readToken(folder), tokens[0]);
  assert.equal(tokens[0]?.length, 43);
});

test('a slow watcher learns how many events it missed, and gets the newest', async (t) => {
  let tell: (activities: readonly Activity[]) => void = () => undefined;
  const { connect } = await startAdmin(t, {
    watch: async (listener) => {
      tell = listener;
      return () => undefined;
    },
  });
  const { stub, metadata } = connect();
  const stream = stub.watchActivity(WATCH, metadata);
  await once(stream, 'metadata');
  tell(Array.from({ length: 3_000 }, (_, i) => change(i)));
  const seen: WatchedActivity[] = [];
  for await (const activity of stream as AsyncIterable<WatchedActivity>) {
    seen.push(activity);
    if (seen.length === 1_000) break;
  }
  assert.equal(seen[0]?.skippedCount, 2_000);
  assertNone(seen.slice(1).filter(({ skippedCount = 0 }) => skippedCount > 0));
  assert.equal(seen.at(-1)?.change?.newValue, '2999');
});

test('at most sixteen watches run at once, another may begin when one is cancelled, and a stopping server ends all', async (t) => {
  let watching = 0;
  const watch = async () => {
    watching += 1;
    return () => void (watching -= 1);
  };
  const { server, connect } = await startAdmin(t, { watch });
  const { stub, metadata } = connect();
  const streams = Array.from({ length: 16 }, () => stub.watchActivity(WATCH, metadata));
  const errors = streams.map((stream) => once(stream.resume(), 'error') as Promise<[ServiceError]>);
  await Promise.all(streams.map((stream) => once(stream, 'metadata')));
  const [refused] = (await once(stub.watchActivity(WATCH, metadata).resume(), 'error')) as [ServiceError];
  assert.equal(refused.code, status.RESOURCE_EXHAUSTED);
  const [leaving] = streams as [(typeof streams)[number]];
  leaving.cancel();
  await errors[0];
  await untilIs(() => watching, 15);
  stub.watchActivity(WATCH, metadata).on('error', () => undefined);
  await untilIs(() => watching, 16);
  await server.stop();
  for (const [error] of await Promise.all(errors.slice(1))) assert.equal(error.code, status.UNAVAILABLE);
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

/** The result of a call: an error about its arguments if it arrived at the server. */
function resultOf({ stub, metadata }: AdminClient): Promise<ServiceError | null> {
  return new Promise((resolve) => stub.getDelivery({ name: '', includeBody: false }, metadata, resolve));
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
