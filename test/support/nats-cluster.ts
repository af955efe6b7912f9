/**
 * A cluster of nats-servers with JetStream on the loopback interface, whose members can be killed, frozen, wiped and
 * separated from each other.
 */

import { randomUUID } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { type ChildServer, startChildServer, waitUntilReady } from '../../src/local/child-server.ts';
import { findNatsServer } from '../../src/local/nats-server.ts';
import { CACHE, type Cleanup, temporaryDirectory } from './servers.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

export interface ClusterNode {
  readonly name: string;
  readonly url: string;
  /** Null while it is down. */
  readonly pid: number | null;
  /** Resolves with true if the client with this name is connected to it. */
  serves(client: string): Promise<boolean>;
  kill(): Promise<void>;
  /** Deletes everything that it has stored; only while it is down. */
  wipe(): Promise<void>;
  restart(): Promise<void>;
  /** Cuts it off from its peers; clients can still reach it. */
  separate(): void;
  rejoin(): void;
}

const READY_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 10_000;
const SIZE = 3;

/** `isSecretive`: the servers send clients no addresses of the others, which would bypass a caller's proxies. */
export async function startNatsCluster(cleanup: Cleanup, isSecretive = false): Promise<readonly ClusterNode[]> {
  const root = await temporaryDirectory('nats-cluster');
  const { ports, release } = await reservePorts(3 * SIZE);
  const routePorts = ports.slice(SIZE, 2 * SIZE);
  // A server refuses routes from clusters of other names, in case one of them gets the port of a killed member.
  const cluster = randomUUID();
  // The proxies choose their own ports, which must not be those of the servers.
  const routes = await startRoutes(cleanup, routePorts);
  await release();
  const routesOf = (position: number) => routes.filter(({ from, to }) => from === position || to === position);
  const nodes = ports.slice(0, SIZE).map((port, position) => {
    const name = `n${position + 1}`;
    const monitorPort = ports[2 * SIZE + position] ?? 0;
    const directory = join(root, name);
    let server: ChildServer | null = null;
    const start = async (): Promise<void> => {
      const own = routes.filter(({ from }) => from === position);
      const lines = configuration(
        { cluster, name, port, monitorPort, routePort: routePorts[position] ?? 0, isSecretive },
        own,
      );
      server = await startWithConfiguration(name, directory, port, lines);
    };
    return {
      name,
      url: `nats://127.0.0.1:${port}`,
      get pid() {
        return server?.pid ?? null;
      },
      async serves(client: string) {
        const answer = await fetch(`http://127.0.0.1:${monitorPort}/connz`);
        const { connections } = (await answer.json()) as { connections: readonly { name?: string }[] };
        return connections.some((each) => each.name === client);
      },
      async kill() {
        if (server !== null) process.kill(server.pid, 'SIGKILL');
        await server?.exited;
        server = null;
      },
      wipe: () => rm(join(directory, 'store'), { recursive: true, force: true }),
      restart: start,
      separate: () => routesOf(position).forEach(({ proxy }) => proxy.refuse()),
      rejoin: () => routesOf(position).forEach(({ proxy }) => proxy.heal()),
    };
  });
  cleanup.after(async () => {
    for (const node of nodes) await node.kill();
    await rm(root, { recursive: true, force: true });
  });
  await Promise.all(nodes.map((node) => node.restart()));
  return nodes;
}

/** The route that one member opens to another. */
interface Route {
  readonly from: number;
  readonly to: number;
  readonly proxy: TcpProxy;
}

async function startRoutes(cleanup: Cleanup, ports: readonly number[]): Promise<readonly Route[]> {
  const pairs = ports.flatMap((_, from) => ports.flatMap((port, to) => (from === to ? [] : [{ from, to, port }])));
  return Promise.all(
    pairs.map(async ({ from, to, port }) => ({ from, to, proxy: await startTcpProxy(cleanup, port) })),
  );
}

/** Resolves when the server accepts connections on `port`. */
export async function startWithConfiguration(
  name: string,
  directory: string,
  port: number,
  configured: string,
): Promise<ChildServer> {
  const binary = await findNatsServer(process.env.NATS_SERVER_BIN || null, CACHE);
  await mkdir(directory, { recursive: true });
  const config = join(directory, 'nats-server.conf');
  await writeFile(config, configured);
  const server = await startChildServer({
    name,
    command: binary.path,
    user: null,
    args: ['--config', config],
    directory,
    logFile: join(directory, 'server.log'),
    stopSignal: 'SIGTERM',
    stopTimeoutMs: STOP_TIMEOUT_MS,
  });
  await waitUntilReady(server, READY_TIMEOUT_MS, () => accepts(port));
  return server;
}

interface Member {
  readonly cluster: string;
  readonly name: string;
  readonly port: number;
  readonly monitorPort: number;
  readonly routePort: number;
  readonly isSecretive: boolean;
}

function configuration(member: Member, routes: readonly Route[]): string {
  const { cluster, name, port, monitorPort, routePort, isSecretive } = member;
  return [
    `server_name: ${name}`,
    'host: "127.0.0.1"',
    `port: ${port}`,
    `http: "127.0.0.1:${monitorPort}"`,
    'jetstream { store_dir: "store" }',
    'cluster {',
    `  name: "${cluster}"`,
    '  host: "127.0.0.1"',
    `  port: ${routePort}`,
    // Members announce this address to each other. Nothing listens there, so no route can bypass the proxies.
    '  advertise: "127.0.0.1:1"',
    `  no_advertise: ${isSecretive}`,
    // Includes the member's own address, because members infer the cluster's size from the number of routes, and two
    // would otherwise start without the third.
    `  routes: [${[routePort, ...routes.map(({ proxy }) => proxy.port)].map((each) => `"nats://127.0.0.1:${each}"`).join(', ')}]`,
    '}',
    '',
  ].join('\n');
}

function accepts(port: number): Promise<true | null> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('error', () => resolve(null));
    socket.once('data', () => {
      socket.destroy();
      resolve(true);
    });
  });
}

/** Reserves all ports at once, so that they differ. */
async function reservePorts(count: number) {
  const servers = await Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise<ReturnType<typeof createServer>>((resolve) => {
          const server = createServer().listen(0, '127.0.0.1', () => resolve(server));
        }),
    ),
  );
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  const release = () => Promise.all(servers.map((server) => new Promise((closed) => server.close(closed))));
  return { ports, release };
}
