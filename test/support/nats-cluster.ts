/** A cluster of nats-servers with JetStream on the loopback interface, whose members can be killed, frozen and wiped. */

import { mkdir, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { type ChildServer, startChildServer, waitUntilReady } from '../../src/local/child-server.ts';
import { findNatsServer } from '../../src/local/nats-server.ts';
import { CACHE, type Cleanup, temporaryDirectory } from './servers.ts';

export interface ClusterNode {
  readonly name: string;
  readonly url: string;
  /** Null while it is down. */
  readonly pid: number | null;
  kill(): Promise<void>;
  /** While it is down: forgets everything it has stored. */
  wipe(): Promise<void>;
  restart(): Promise<void>;
}

const READY_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 10_000;

export async function startNatsCluster(cleanup: Cleanup, size = 3): Promise<readonly ClusterNode[]> {
  const root = await temporaryDirectory('nats-cluster');
  const ports = await freePorts(2 * size);
  const routePorts = ports.slice(size);
  const nodes = ports.slice(0, size).map((port, position) => {
    const name = `n${position + 1}`;
    const directory = join(root, name);
    let server: ChildServer | null = null;
    const start = async (): Promise<void> => {
      const lines = configuration(name, port, routePorts[position] ?? 0, routePorts);
      server = await startWithConfiguration(name, directory, port, lines);
    };
    return {
      name,
      url: `nats://127.0.0.1:${port}`,
      get pid() {
        return server?.pid ?? null;
      },
      async kill() {
        if (server !== null) process.kill(server.pid, 'SIGKILL');
        await server?.exited;
        server = null;
      },
      wipe: () => rm(join(directory, 'store'), { recursive: true, force: true }),
      restart: start,
    };
  });
  cleanup.after(async () => {
    for (const node of nodes) await node.kill();
    await rm(root, { recursive: true, force: true });
  });
  await Promise.all(nodes.map((node) => node.restart()));
  return nodes;
}

/** Resolves when it listens on `port`. */
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

function configuration(name: string, port: number, routePort: number, routePorts: readonly number[]): string {
  return [
    `server_name: ${name}`,
    'host: "127.0.0.1"',
    `port: ${port}`,
    'jetstream { store_dir: "store" }',
    'cluster {',
    '  name: vigie',
    '  host: "127.0.0.1"',
    `  port: ${routePort}`,
    `  routes: [${routePorts.map((each) => `"nats://127.0.0.1:${each}"`).join(', ')}]`,
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

/** Held all at once, so that they differ. */
async function freePorts(count: number): Promise<readonly number[]> {
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
  await Promise.all(servers.map((server) => new Promise((closed) => server.close(closed))));
  return ports;
}
