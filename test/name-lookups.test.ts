/** Names of endpoints in closed networks: where they are looked up, and the cost of lookups that hang. */

import assert from 'node:assert/strict';
import { createHook } from 'node:async_hooks';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { boundLookups, lookUpInNetwork } from '../src/engine/delivery/name-lookups.ts';
import { createSender } from '../src/engine/delivery/sender.ts';
import { type Cleanup, emptyDirectory } from './support/servers.ts';
import { startWebhookReceiver } from './support/webhook-receiver.ts';

/** A DNS server on loopback that answers as the test decides, and never answers for names that hang. */
interface DnsStub {
  /** `host:port`. */
  readonly address: string;
  /** Names for which an IPv4 address was requested, in order. */
  readonly asked: string[];
}

const ADDRESS_QUERY = 1;
const NO_SUCH_NAME = 3;
const HEAD_BYTES = 12;

/** `addressOf` returns an IPv4 address, `'hang'` for no answer, or null if the name does not exist. */
async function startDnsStub(cleanup: Cleanup, addressOf: (name: string) => string | null): Promise<DnsStub> {
  const asked: string[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (query, { port, address: sender }) => {
    const { name, end } = readName(query);
    const isAddress = query.readUInt16BE(end) === ADDRESS_QUERY;
    if (isAddress) asked.push(name);
    const address = addressOf(name);
    if (address === 'hang') return;
    const answers = isAddress && address !== null ? [recordOf(address)] : [];
    const head = Buffer.from(query.subarray(0, HEAD_BYTES));
    head.writeUInt16BE(0x8180 | (address === null ? NO_SUCH_NAME : 0), 2);
    head.writeUInt16BE(answers.length, 6);
    head.writeUInt32BE(0, 8);
    socket.send(Buffer.concat([head, query.subarray(HEAD_BYTES, end + 4), ...answers]), port, sender);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  cleanup.after(async () => void socket.close());
  return { address: `127.0.0.1:${socket.address().port}`, asked };
}

/** RFC 1035, section 4.1.2: labels, each preceded by its length. */
function readName(query: Buffer): { readonly name: string; readonly end: number } {
  const labels: string[] = [];
  let at = HEAD_BYTES;
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += length + 1;
  }
  return { name: labels.join('.').toLowerCase(), end: at + 1 };
}

/** An A record for the name in the question, with a TTL of one second (section 4.1.3). */
function recordOf(address: string): Buffer {
  return Buffer.from([0xc0, HEAD_BYTES, 0, ADDRESS_QUERY, 0, 1, 0, 0, 0, 1, 0, 4, ...address.split('.').map(Number)]);
}

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
  assert.equal((await found('example.com')).length, 4, 'fewer than five dots: the search domains are tried first');
  await assert.rejects(lookUp('nowhere'), /ENOTFOUND/);
  asked.splice(0);
  await writeFile(confPath, 'domain svc.cluster.local\n');
  assert.deepEqual(await found('example.com'), ['10.0.0.3', 'example.com']);
});

test('eight lookups of a client run at once and 64 in total, and a client at its limit does not block another', async () => {
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

test('a lookup refused because of a limit is not an attempt, an unanswered one is, and neither uses the thread pool', async (t) => {
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
