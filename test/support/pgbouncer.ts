/**
 * pgbouncer in front of a test's PostgreSQL. It comes from the distribution's package, unpacked into the cache without
 * root.
 */

import { execFile } from 'node:child_process';
import { access, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { succeeds } from '../../src/engine/actor/waiting.ts';
import { cacheEntry, unpackDebianPackages } from '../../src/local/cache.ts';
import { startChildServer, waitUntilReady } from '../../src/local/child-server.ts';
import { cacheDirectory } from '../../src/local/data-directory.ts';
import { portForLater } from './ports.ts';
import { type Cleanup, temporaryDirectory } from './servers.ts';

const run = promisify(execFile);

/** Includes the libraries that a small installation may lack. */
const PACKAGES = ['pgbouncer', 'libc-ares2', 'libevent-2.1-7'];
const PROGRAM = 'usr/sbin/pgbouncer';
const READY_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 5_000;

/** The directory of the unpacked packages. Rejects if the distribution has none. */
export function fetchPgbouncer(): Promise<string> {
  const isUsable = (path: string) => succeeds(access(join(path, PROGRAM)));
  return cacheEntry(cacheDirectory(), `pgbouncer-${process.arch}`, isUsable, (path) =>
    unpackDebianPackages(PACKAGES, path),
  );
}

/**
 * Resolves with a URL of the same database through pgbouncer. `connectQuery`: statement, in quotes, that pgbouncer runs
 * on each new connection to PostgreSQL.
 */
export async function startPgbouncer(
  cleanup: Cleanup,
  unpacked: string,
  databaseUrl: string,
  settings: Readonly<Record<string, string>>,
  connectQuery?: string,
): Promise<string> {
  const directory = await temporaryDirectory('pgbouncer');
  const target = new URL(databaseUrl);
  const port = await portForLater();
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
    await rm(directory, { recursive: true, force: true, maxRetries: 10 });
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
