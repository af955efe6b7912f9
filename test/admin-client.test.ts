/** `vigie admin` does not reveal its token, or the keys in responses, to anyone on the network. */

import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { type ConnectionFlags, call, connectAdmin } from '../src/cli/admin/client.ts';
import { CommandError } from '../src/cli/terminal.ts';
import { readConfig } from '../src/config.ts';
import { listenOnLoopback } from './support/loopback.ts';

const FLAGS: ConnectionFlags = {
  address: undefined,
  ca: undefined,
  cert: undefined,
  key: undefined,
  'token-file': undefined,
  timeout: undefined,
};
const CONFIG = readConfig({ VIGIE_ADMIN_TOKEN: 'token-of-this-test-0123456789' });

test('plaintext is allowed only for the loopback, in every spelling of the address', async () => {
  for (const address of [
    '192.0.2.7:9465',
    'admin.example:9465',
    'localhost.example:9465',
    '127.0.0.1.example:9465',
    '127.0.0.1:9465.example',
    '127.0.0.1@192.0.2.7:9465',
    '[2001:db8::7]:9465',
    '2001:db8::7',
    '0.0.0.0:9465',
    '127.0.0.256:9465',
    'dns:192.0.2.7:9465',
    'dns:///admin.example:9465',
    'dns://192.0.2.53/localhost:9465',
    'ipv4:127.0.0.1:9465,192.0.2.7:9465',
    'ipv6:[::1]:9465,[2001:db8::7]:9465',
    'xds:///admin',
    ':9465',
    '',
  ]) {
    await assert.rejects(connectAdmin(CONFIG, { ...FLAGS, address }), (error: Error) => {
      assert.ok(error instanceof CommandError, `${address}: ${error.message}`);
      assert.match(error.message, /in plaintext/, address);
      assert.match(error.message, /--ca FILE/, address);
      return true;
    });
  }
});

test('the loopback needs no certificate', async () => {
  for (const address of [
    undefined,
    '127.0.0.1:9465',
    '127.8.9.10:9465',
    'localhost:9465',
    '[::1]:9465',
    'dns:localhost:9465',
    'dns:///127.0.0.1:9465',
  ]) {
    const { channel } = await connectAdmin(CONFIG, { ...FLAGS, address });
    channel.close();
  }
});

test('a proxy set in the environment is not used for loopback', async (t) => {
  const visitors: string[] = [];
  const listen = async (name: string): Promise<number> => {
    const server = createServer((socket) => {
      visitors.push(name);
      socket.destroy();
    });
    return listenOnLoopback(t, server);
  };
  const [proxy, daemon] = [await listen('proxy'), await listen('daemon')];
  const before = process.env.grpc_proxy;
  process.env.grpc_proxy = `http://127.0.0.1:${proxy}`;
  t.after(() => {
    if (before === undefined) delete process.env.grpc_proxy;
    else process.env.grpc_proxy = before;
  });
  const client = await connectAdmin(CONFIG, { ...FLAGS, address: `127.0.0.1:${daemon}` });
  t.after(() => client.channel.close());
  await assert.rejects(call(client, 'GetStatus', {}), /No daemon answers/);
  assert.ok(visitors.includes('daemon'));
  assert.ok(!visitors.includes('proxy'));
});
