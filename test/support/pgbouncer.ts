/** pgbouncer from the distribution's package, unpacked into the cache without root, before a test's PostgreSQL. */

import { execFile } from 'node:child_process';
import { access, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheEntry } from '../../src/local/cache.ts';
import { startChildServer, waitUntilReady } from '../../src/local/child-server.ts';
import { cacheDirectory } from '../../src/local/data-directory.ts';
import { type Cleanup, temporaryDirectory } from './servers.ts';

const run = promisify(execFile);

/** With the libraries that a small installation may lack. */
const PACKAGES = ['pgbouncer', 'libc-ares2', 'libevent-2.1-7'];
const PROGRAM = 'usr/sbin/pgbouncer';
const READY_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 5_000;

/** The directory of the unpacked packages. Rejects where the distribution has none. */
export function fetchPgbouncer(): Promise<string> {
  const isUsable = (path: string) =>
    access(join(path, PROGRAM)).then(
      () => true,
      () => false,
    );
  return cacheEntry(cacheDirectory(), `pgbouncer-${process.arch}`, isUsable, fetchInto);
}

async function fetchInto(target: string): Promise<void> {
  const work = join(target, 'apt');
  await mkdir(join(work, 'archives/partial'), { recursive: true });
  const settings = [`Dir::Cache=${work}`, 'APT::Sandbox::User='].flatMap((setting) => ['-o', setting]);
  await run('apt-get', ['-qq', ...settings, 'download', ...PACKAGES], { cwd: work });
  for (const name of await readdir(work)) {
    if (name.endsWith('.deb')) await run('dpkg-deb', ['--extract', join(work, name), target]);
  }
  await rm(work, { recursive: true });
}

/** `connectQuery`: what it says to PostgreSQL first, in quotes. Resolves with a URL that leads through it to the database of `databaseUrl`. */
export async function startPgbouncer(
  cleanup: Cleanup,
  unpacked: string,
  databaseUrl: string,
  settings: Readonly<Record<string, string>>,
  connectQuery?: string,
): Promise<string> {
  const directory = await temporaryDirectory('pgbouncer');
  const target = new URL(databaseUrl);
  const port = await freePort();
  const config = join(directory, 'pgbouncer.ini');
  const lines = [
    '[databases]',
    `vigie = host=${target.hostname} port=${target.port} user=${target.username} password=${target.password}${connectQuery === undefined ? '' : ` connect_query=${connectQuery}`}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    ...Object.entries(settings).map(([name, value]) => `${name} = ${value}`),
  ];
  await writeFile(config, `${lines.join('\n')}\n`, { mode: 0o644 });
  const server = await startChildServer({
    name: 'pgbouncer',
    command: join(unpacked, PROGRAM),
    user: null,
    args: ['-u', 'nobody', config],
    directory: '/',
    environment: {
      LD_LIBRARY_PATH: join(unpacked, `usr/lib/${process.arch === 'x64' ? 'x86_64' : 'aarch64'}-linux-gnu`),
    },
    logFile: join(directory, 'server.log'),
    stopSignal: 'SIGTERM',
    stopTimeoutMs: STOP_TIMEOUT_MS,
  });
  cleanup.after(async () => {
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  });
  await run('chmod', ['755', directory]);
  await waitUntilReady(server, READY_TIMEOUT_MS, () => accepts(port));
  return `postgres://${target.username}@127.0.0.1:${port}/vigie`;
}

function accepts(port: number): Promise<true | null> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(null));
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
