/** One key sends 800 slow bodies of 1 MiB. The daemon must not keep their memory afterwards. */

import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { createApiKey, startDaemon } from '../support/daemon.ts';
import { startTestServers } from '../support/servers.ts';
import { until, untilIs } from '../support/until.ts';

const BODIES = 800;
const BODY_BYTES = 1_048_576;
const SENT_BYTES = 600_000;
/** A client may have 16 MiB of bodies read at once. */
const READ_MAX = 16;
const GROWTH_MAX = 1.2;

test('after 800 slow bodies of one key the daemon has at most a fifth more memory than before', async (t) => {
  const servers = await startTestServers(t);
  const daemon = await startDaemon(t, servers);
  const key = await createApiKey(servers);
  const { hostname, port } = new URL(daemon.apiUrl);
  const residentKb = async () => {
    const status = await readFile(`/proc/${daemon.process.pid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]);
  };
  const path = new URL(daemon.apiUrl).pathname.replace(/\/$/, '');
  const head = `POST ${path}/searches HTTP/1.1\r\nHost: x\r\nX-API-KEY: ${key}\r\nContent-Type: application/json\r\n`;
  const open = (number: number) => {
    const socket: Socket = connect(Number(port), hostname);
    let answer = '';
    socket.on('data', (data) => (answer += data.toString('latin1')));
    socket.on('error', () => undefined);
    const length = number % 2 === 0 ? `Content-Length: ${BODY_BYTES}` : 'Transfer-Encoding: chunked';
    const text = `{"title":"${'x'.repeat(SENT_BYTES)}`;
    socket.write(`${head}${length}\r\n\r\n${number % 2 === 0 ? '' : `${BODY_BYTES.toString(16)}\r\n`}${text}`);
    return { socket, isRefused: () => answer.startsWith('HTTP/1.1 429 ') };
  };
  // Warm-up: a daemon at work has more memory than one that has only started.
  for (let number = 0; number < 400; number += 1)
    await (await fetch(`${daemon.apiUrl}/searches`, { headers: { 'X-API-KEY': key } })).text();
  const before = await residentKb();
  const all = Array.from({ length: BODIES }, (_, number) => open(number));
  await untilIs(async () => all.filter(({ isRefused }) => isRefused()).length, BODIES - READ_MAX);
  const during = await residentKb();
  for (const { socket } of all) socket.destroy();
  const after = await until(residentKb, (now) => now <= before * GROWTH_MAX);
  t.diagnostic(`${before} KiB before, ${during} with the bodies, ${after} afterwards`);
});
