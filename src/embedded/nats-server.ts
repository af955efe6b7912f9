/**
 * A real nats-server with JetStream for a start without one. It lives in `<data directory>/nats` (`store`,
 * `nats-server.conf`, `server.log`), listens on the loopback interface alone and picks a free port by itself.
 */

import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ChildServer, type EmbeddedServer, startChildServer, waitUntilReady } from './child-server.ts';
import { endFormerServer } from './former-server.ts';
import { findNatsServer, type NatsServerBinary } from './nats-server-binary.ts';

export interface NatsServerOptions {
  /** Held by the caller: a server found running in it is taken for a leftover and stopped. */
  readonly dataDir: string;
  /** The program to run; searched for, and fetched into `cacheDir`, when null. */
  readonly serverBin: string | null;
  readonly cacheDir: string;
  readonly onLog?: (line: string) => void;
  /** A free one when absent. */
  readonly port?: number;
}

/** JetStream reads its streams before it listens: seconds per million messages. */
const READY_TIMEOUT_MS = 300_000;
const STOP_TIMEOUT_MS = 15_000;

/** Resolves when it accepts connections. Throws `ServerMissingError` without a binary, `ServerStartError` on failure. */
export async function startNatsServer(options: NatsServerOptions): Promise<EmbeddedServer> {
  const binary = await findNatsServer(options.serverBin, options.cacheDir, options.onLog);
  const home = join(options.dataDir, 'nats');
  const configFile = join(home, 'nats-server.conf');
  await endFormerServer('SIGTERM', (args) => args[args.indexOf('--config') + 1] === configFile);
  await mkdir(home, { recursive: true, mode: 0o700 });
  // Files of servers that were killed would be read as this one's.
  await rm(join(home, 'ports'), { recursive: true, force: true });
  await mkdir(join(home, 'ports'));
  await writeFile(configFile, configuration(binary, options.port ?? -1), { mode: 0o600 });
  const server = await startChildServer({
    name: 'embedded nats-server',
    command: binary.path,
    args: ['--config', configFile],
    directory: home,
    // One thread: with more, Go takes a fifth more CPU time at a hundred adverts a second, to wake them.
    environment: { GOMAXPROCS: '1' },
    logFile: join(home, 'server.log'),
    onLog: options.onLog,
    stopSignal: 'SIGTERM',
    stopTimeoutMs: STOP_TIMEOUT_MS,
  });
  const url = await waitUntilReady(server, READY_TIMEOUT_MS, () => clientUrl(home, server));
  return { url, pid: server.pid, exited: server.exited, stop: server.stop };
}

/** Paths are relative to the server's working directory: nothing to quote. */
function configuration(binary: NatsServerBinary, port: number): string {
  return [
    'host: "127.0.0.1"',
    `port: ${port}`,
    'server_name: "vigie-embedded"',
    'ports_file_dir: "ports"',
    'jetstream {',
    '  store_dir: "store"',
    // Every write is on disk before it is acknowledged; older servers know no such setting and sync every two minutes.
    ...(binary.canSyncAlways ? ['  sync_interval: always'] : []),
    '}',
    '',
  ].join('\n');
}

/** The server writes `<program>_<pid>.ports` once it listens. Half a file is no JSON yet. */
async function clientUrl(home: string, server: ChildServer): Promise<string | null> {
  const directory = join(home, 'ports');
  const name = (await readdir(directory)).find((file) => file.endsWith(`_${server.pid}.ports`));
  if (name === undefined) return null;
  const text = await readFile(join(directory, name), 'utf8');
  if (!text.endsWith('}')) return null;
  return (JSON.parse(text) as { nats: readonly string[] }).nats[0] ?? null;
}
