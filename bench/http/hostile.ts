/**
 * Latencies of one client while another sends the most expensive requests, one kind after another. The first client
 * sends small requests at fixed times, even if earlier ones are not answered yet. Also measures the longest time that
 * the server's event loop was blocked, including JSON.parse of a body.
 */

import type { ChildProcess } from 'node:child_process';
import { Agent, type RequestOptions, request } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { createApiKey, createClient } from '../../src/engine/store/clients.ts';
import type { Database } from '../../src/engine/store/database.ts';
import { type HostileRequest, hostileRequests } from '../../test/support/hostile-requests.ts';
import { messageOf } from '../child.ts';
import { sized } from '../smoke.ts';

const EVERY_MS = 5;
const KIND_MS = sized(1_000, 20);
const SEED = 15;
const SHOWN = 10;
/** Number of posts that attack memory: distinct texts of a megabyte. */
const FLOOD = sized(4_072, 20);
/** Number of large searches on a page. */
const LARGE = sized(100, 5);

interface Served {
  readonly url: string;
  readonly process: ChildProcess;
  readonly stop: () => Promise<void>;
}

interface Standing {
  readonly standstillMs: number;
  readonly residentBytes: number;
}

type Sent = Pick<HostileRequest, 'method' | 'path' | 'headers' | 'body'>;

interface Beside {
  readonly name: string;
  readonly p99Ms: number;
  /** The first request of its kind is separate, because its code may not be compiled yet. */
  readonly firstStandstillMs: number;
  readonly standstillMs: number;
  /** Time to parse only the body, in this process: a cost that cannot be avoided. */
  readonly parseMs: number;
}

export async function benchHostile(database: Database, serve: () => Promise<Served>) {
  const [hostileKey, otherKey] = [await keyOf(database, 'hostile'), await keyOf(database, 'beside')];
  const server = await serve();
  try {
    const attack = sender(server.url, hostileKey);
    const other = sender(server.url, otherKey);
    const small: Sent = { method: 'GET', path: '/users', headers: {}, body: null };
    await Promise.all([attack(small), other(small)]);
    const quiet = await beside(server, 'nobody', other, () => wait(EVERY_MS));
    const kinds: Beside[] = [];
    for (const one of hostileRequests(SEED))
      kinds.push(await beside(server, one.name, other, () => attack(one), one.body));
    kinds.push(await beside(server, 'pages of large searches', other, await largePages(attack)));
    const worstBy = (member: 'standstillMs' | 'firstStandstillMs') =>
      kinds.toSorted((a, b) => b[member] - a[member]).slice(0, SHOWN);
    const worst = { hostileWorst: worstBy('standstillMs'), hostileWorstFirst: worstBy('firstStandstillMs') };
    return { hostileQuiet: quiet, ...worst, hostileFlood: await flood(server, attack) };
  } finally {
    await server.stop();
  }
}

async function keyOf(database: Database, name: string): Promise<string> {
  const { id } = await createClient(database, { name, rateLimitPerSecond: 1_000_000, rateLimitBurst: 1_000_000 });
  return (await createApiKey(database, id, 'bench')).key;
}

function sender(url: string, key: string): (sent: Sent) => Promise<number> {
  const agent = new Agent({ keepAlive: true });
  const send = ({ method, path, headers, body }: Sent, connection: Agent | false): Promise<number> =>
    new Promise((resolve, reject) => {
      const options: RequestOptions = { method, path, agent: connection, headers: { 'X-API-KEY': key, ...headers } };
      const outgoing = request(url, options, (response) => {
        response.resume();
        response.on('end', () => resolve(response.statusCode ?? 0));
      });
      outgoing.on('error', reject);
      outgoing.end(body ?? undefined);
    });
  // The server may close an idle connection just when it is reused. The second attempt opens a new connection, because
  // another idle one may be closed at the same moment.
  return (sent) =>
    send(sent, agent).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNRESET' || error.code === 'EPIPE') return send(sent, false);
      throw error;
    });
}

async function standing({ process }: Served): Promise<Standing> {
  process.send('standing');
  return messageOf(process);
}

async function beside(
  server: Served,
  name: string,
  other: (sent: Sent) => Promise<number>,
  attack: () => Promise<unknown>,
  body: string | null = null,
): Promise<Beside> {
  const startedAtMs = performance.now();
  if (body !== null) JSON.parse(body);
  const parseMs = performance.now() - startedAtMs;
  await standing(server);
  await attack();
  const { standstillMs: firstStandstillMs } = await standing(server);
  const latencies: number[] = [];
  const underWay: Promise<unknown>[] = [];
  const timer = setInterval(() => {
    const sentAtMs = performance.now();
    const answered = other({ method: 'GET', path: '/users', headers: {}, body: null });
    underWay.push(answered.then(() => latencies.push(performance.now() - sentAtMs)));
  }, EVERY_MS);
  for (const untilMs = performance.now() + KIND_MS; performance.now() < untilMs; ) await attack();
  clearInterval(timer);
  await Promise.all(underWay);
  latencies.sort((a, b) => a - b);
  const { standstillMs } = await standing(server);
  const p99Ms = latencies[Math.floor(latencies.length * 0.99)] ?? 0;
  return {
    name,
    p99Ms: rounded(p99Ms),
    firstStandstillMs: rounded(firstStandstillMs),
    standstillMs: rounded(standstillMs),
    parseMs: rounded(parseMs),
  };
}

/** Saves searches with two full lists of cities. Returns a function that requests a page of them. */
async function largePages(attack: (sent: Sent) => Promise<number>): Promise<() => Promise<number>> {
  const large = hostileRequests(SEED).find(({ name }) => name === 'two full lists of cities');
  if (large === undefined) throw new Error('hostile-requests.ts has no request "two full lists of cities"');
  for (let i = 0; i < LARGE; i++) await attack(large);
  return () => attack({ method: 'GET', path: '/searches?itemsPerPage=100', headers: {}, body: null });
}

async function flood(server: Served, attack: (sent: Sent) => Promise<number>) {
  const text = 'x'.repeat(1_000_000);
  const before = (await standing(server)).residentBytes;
  for (let i = 0; i < FLOOD; i++) {
    const body = `{"title":"x","expressions":"expressions[0][0][word]=${i}${text}"}`;
    await attack({ method: 'POST', path: '/searches', headers: { 'Content-Type': 'application/json' }, body });
  }
  const { residentBytes } = await standing(server);
  const megabytes = (bytes: number) => Math.round(bytes / 1024 ** 2);
  return { posts: FLOOD, residentBeforeMb: megabytes(before), residentAfterMb: megabytes(residentBytes) };
}

function rounded(milliseconds: number): number {
  return Number(milliseconds.toFixed(1));
}
