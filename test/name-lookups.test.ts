/** Names of endpoints in closed networks: where they are looked up, and the cost of look-ups that hang. */

import assert from 'node:assert/strict';
import { createHook } from 'node:async_hooks';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { boundLookups, lookUpInNetwork } from '../src/engine/delivery/name-lookups.ts';
import { createSender } from '../src/engine/delivery/sender.ts';
import { startDnsStub } from './support/dns-stub.ts';
import { emptyDirectory } from './support/servers.ts';
import { startWebhookReceiver } from './support/webhook-receiver.ts';

async function filesOf(t: TestContext, hosts: string, resolvConf: string): Promise<readonly [string, string]> {
  const folder = await emptyDirectory(t);
  const paths = [join(folder, 'hosts'), join(folder, 'resolv.conf')] as const;
  await Promise.all([writeFile(paths[0], hosts), writeFile(paths[1], resolvConf)]);
  return paths;
}

test('names are found in the hosts file, then in the search domains of resolv.conf in the order of ndots', async (t) => {
  const known: Readonly<Record<string, string>> = {
    'hooks.team.svc.cluster.local': '10.0.0.1',
    'hooks.other.svc.cluster.local': '10.0.0.2',
    'example.com': '10.0.0.3',
  };
  const { address, asked } = await startDnsStub(t, (name) => known[name] ?? null);
  const conf = 'search old\nsearch team.svc.cluster.local svc.cluster.local\noptions edns0 ndots:5\n';
  const hosts = '# 10.9.9.9 listed\n10.1.0.1 LAN listed # comment\nfe80::1 listed\nx listed\n';
  const [hostsPath, confPath] = await filesOf(t, hosts, conf);
  const lookUp = lookUpInNetwork(hostsPath, confPath, [address]);
  const found = async (name: string) => {
    const addresses = await lookUp(name).then((all) => all.map((each) => each.address));
    return [...addresses, ...asked.splice(0).toSorted()];
  };
  assert.deepEqual(await found('listed'), ['10.1.0.1', 'fe80::1']);
  assert.deepEqual(await found('localhost'), ['127.0.0.1']);
  assert.deepEqual(await found('hooks'), ['10.0.0.1', 'hooks.team.svc.cluster.local']);
  assert.deepEqual(await found('hooks.other'), [
    '10.0.0.2',
    'hooks.other.svc.cluster.local',
    'hooks.other.team.svc.cluster.local',
  ]);
  assert.deepEqual(await found('example.com.'), ['10.0.0.3', 'example.com']);
  assert.equal((await found('example.com')).length, 4, 'fewer than five dots: the search domains come first');
  await assert.rejects(lookUp('nowhere'), /ENOTFOUND/);
  asked.splice(0);
  await writeFile(confPath, 'domain svc.cluster.local\n');
  assert.deepEqual(await found('example.com'), ['10.0.0.3', 'example.com']);
});

test('eight look-ups of a client run at once and 64 in total, and a client without any can start one', async () => {
  const hanging: (() => void)[] = [];
  const lookUp = (name: string) =>
    name === 'known' ? Promise.resolve([]) : new Promise<never>((_, reject) => hanging.push(() => reject(new Error())));
  const resolve = boundLookups(lookUp, 5);
  const refused = { message: /too many DNS lookups are in progress/ };
  const underWay: Promise<unknown>[] = [];
  const fill = (client: string) => {
    for (let n = 0; n < 20; n++) underWay.push(resolve(`${n}.hanging.test`, client).catch((error: Error) => error));
  };
  fill('one');
  await assert.rejects(resolve('known', 'one'), refused);
  assert.equal(hanging.length, 8);
  assert.deepEqual(await resolve('known', 'other'), []);
  for (let client = 0; client < 100; client++) fill(`client ${client}`);
  assert.equal(hanging.length, 64);
  await assert.rejects(resolve('known', 'other'), refused);
  for (const end of hanging) end();
  await Promise.all(underWay);
  assert.deepEqual(await resolve('known', 'one'), []);
});

test('a look-up refused because of a limit is not an attempt, an unanswered one is, and neither uses the thread pool', async (t) => {
  const receiver = await startWebhookReceiver(t);
  const { port } = new URL(receiver.url);
  const { address } = await startDnsStub(t, (name) => (name.endsWith('hanging.test') ? 'hang' : '127.0.0.1'));
  const onThreads: string[] = [];
  const hook = createHook({ init: (_, type) => void (/^GETADDRINFO|^FSREQ/.test(type) && onThreads.push(type)) });
  const [hostsPath, confPath] = await filesOf(t, '', '');
  const sender = createSender({
    ...{ connectTimeoutMs: 60_000, attemptTimeoutMs: 60_000, allowPrivateNetworks: true, userAgent: 'Vigie/0.0.0' },
    resolveName: boundLookups(lookUpInNetwork(hostsPath, confPath, [address]), 5),
  });
  t.after(() => sender.close());
  const send = (host: string, clientId: string) =>
    sender.send({
      ...{ id: 'id', clientId, body: '{}', startedAt: new Date() },
      endpoint: `http://${host}:${port}/hook`,
      token: `whsec_${Buffer.alloc(32, 3).toString('base64')}`,
    });
  hook.enable();
  const hanging = Array.from({ length: 8 }, (_, n) => send(`${n}.hanging.test`, 'one'));
  assert.equal(await send('known.test', 'one'), null);
  assert.equal((await send('known.test', 'other'))?.error, null);
  assert.equal(receiver.connectionCount, 1);
  for (const outcome of await Promise.all(hanging)) {
    assert.equal(outcome?.error, 'dns');
    assert.match(String(outcome?.reason), /hanging\.test: (?:no answer within 5000 ms|.*ETIMEOUT)/);
  }
  assert.equal((await send('known.test', 'one'))?.error, null);
  assert.equal(receiver.connectionCount, 2, 'clients share no connection');
  hook.disable();
  assert.deepEqual(onThreads, []);
});
