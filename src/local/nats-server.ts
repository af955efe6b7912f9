/**
 * Runs an embedded nats-server with JetStream if no NATS is configured. Its files are in `<data directory>/nats`
 * (`store`, `ports`, `credentials`, `crawler-credentials`, `nats-server.conf`, `server.log`). It listens only on the
 * loopback interface and requires a password.
 */

import { execFile } from 'node:child_process';
import { mkdir, open, readdir, readFile, realpath, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { succeeds } from '../engine/actor/waiting.ts';
import { cacheEntry, unpackDebianPackages } from './cache.ts';
import {
  type ChildServer,
  type EmbeddedServer,
  type EmbeddedServerOptions,
  endFormerServer,
  ServerMissingError,
  ServerStartError,
  serverNameOf,
  startChildServer,
  tryPort,
  waitUntilReady,
} from './child-server.ts';
import { readDiskSpace } from './disk-space.ts';
import {
  giveDirectory,
  giveTree,
  randomSecret,
  readSecret,
  type ServerUser,
  secureHome,
  serverUser,
  writeSecret,
} from './ownership.ts';

export interface NatsServerOptions extends EmbeddedServerOptions {
  /** The program; null for an installed one or, if there is none, the distribution's package in `cacheDir`. */
  readonly serverBin?: string | null;
  readonly cacheDir: string;
  /** Maximum size of the store. By default the size of the last start, or three quarters of the free disk space. */
  readonly storeBytesMax?: number;
}

/** `url` has the NATS user of the daemon, with all rights. Only the daemon's system user can read the two files. */
export interface NatsServer extends EmbeddedServer {
  /** Contains `url`. */
  readonly credentialsFile: string;
  /** Names a user with the rights of crawlers in config/nats-server.conf. */
  readonly crawlerUrl: string;
  /** Contains `crawlerUrl`. */
  readonly crawlerCredentialsFile: string;
}

/** JetStream reads its streams before it listens, which takes seconds per million messages. */
const READY_TIMEOUT_MS = 300_000;
const STOP_TIMEOUT_MS = 15_000;
const STORE_SHARE = 3 / 4;
const CONFIG_FILE = 'nats-server.conf';
/** Descriptors of the store and the program, which the server inherits because its user may not reach the paths. */
const STORE_HANDLE = '/proc/self/fd/3';
const PROGRAM_HANDLE = '/proc/self/fd/4';

/**
 * Resolves when the server accepts connections. Throws `ServerMissingError` without a binary, and `ServerStartError` if
 * the start fails.
 */
export async function startNatsServer(options: NatsServerOptions): Promise<NatsServer> {
  const user = await serverUser('vigie-nats', options.onWarning ?? (() => undefined));
  const binary = await findNatsServer(options.serverBin ?? null, options.cacheDir, options.onLog);
  const home = join(options.dataDir, 'nats');
  await endFormer(home, user);
  if (options.port) await tryPort('127.0.0.1', options.port).catch(refuseTaken(options.port));
  await prepareHome(home, user);
  const credentialsFile = join(home, NATS_CREDENTIALS_FILE);
  const crawlerCredentialsFile = join(home, CRAWLER_CREDENTIALS_FILE);
  const daemon = await readOrMakeAccess(credentialsFile, `vigie-${randomSecret().slice(0, 8)}`);
  const crawler = await readOrMakeAccess(crawlerCredentialsFile, `crawler-${randomSecret().slice(0, 8)}`);
  const storeBytesMax =
    options.storeBytesMax ??
    (await formerStoreBytes(home)) ??
    (await readDiskSpace(join(home, 'store'))).freeBytes * STORE_SHARE;
  const configured = configuration(binary, options.port || -1, { daemon, crawler }, storeBytesMax);
  await writeSecret(join(home, CONFIG_FILE), configured, user);
  const server = await spawnIn(home, user, binary, options.onLog);
  const address = await waitUntilReady(server, READY_TIMEOUT_MS, () => clientAddress(home, server));
  const url = await keepAccess(credentialsFile, daemon, address);
  const crawlerUrl = await keepAccess(crawlerCredentialsFile, crawler, address);
  const { pid, exited, stop } = server;
  return { url, credentialsFile, crawlerUrl, crawlerCredentialsFile, pid, exited, stop };
}

function endFormer(home: string, user: ServerUser | null): Promise<void> {
  const name = serverNameOf(home);
  return endFormerServer({
    name: 'embedded nats-server',
    stopSignal: 'SIGTERM',
    userIds: [process.geteuid?.(), user?.userId].filter((id) => id !== undefined),
    isCommandLine: (args) => args.includes(name),
  });
}

function refuseTaken(port: number): (error: NodeJS.ErrnoException) => never {
  return (error) => {
    if (error.code !== 'EADDRINUSE') throw error;
    throw new ServerStartError(
      `Embedded NATS: another program listens on 127.0.0.1:${port}. Set VIGIE_NATS_PORT to a free port (0 selects ` +
        'one), or NATS_URL to the URL of an external NATS server.',
    );
  };
}

async function prepareHome(home: string, user: ServerUser | null): Promise<void> {
  await secureHome(home, user);
  // Otherwise, port files of killed servers could be mistaken for those of this server.
  await rm(join(home, 'ports'), { recursive: true, force: true });
  await giveDirectory(join(home, 'ports'), user);
  await giveDirectory(join(home, 'store'), user);
  const streams = join(await realpath(join(home, 'store')), 'jetstream');
  await mkdir(streams, { recursive: true, mode: 0o700 });
  await giveTree(streams, user);
}

async function spawnIn(
  home: string,
  user: ServerUser | null,
  binary: NatsServerBinary,
  onLog: ((line: string) => void) | undefined,
): Promise<ChildServer> {
  const store = await open(join(home, 'store'), 'r');
  const program = await open(binary.path, 'r');
  try {
    if (user !== null && ((await program.stat()).mode & 0o001) === 0) {
      throw new ServerMissingError(
        `Embedded NATS: user ${user.name} may not run ${binary.path}. Run chmod 755 ${binary.path}.`,
      );
    }
    return await startChildServer({
      name: 'embedded nats-server',
      command: PROGRAM_HANDLE,
      args: ['--name', serverNameOf(home), '--config', CONFIG_FILE],
      directory: home,
      // One thread: with more, Go spends a fifth more CPU time on waking threads at a hundred adverts a second.
      environment: { GOMAXPROCS: '1' },
      logFile: join(home, 'server.log'),
      onLog,
      stopSignal: 'SIGTERM',
      stopTimeoutMs: STOP_TIMEOUT_MS,
      user,
      handles: [store.fd, program.fd],
    });
  } finally {
    await Promise.all([store.close(), program.close()]);
  }
}

/**
 * The limit of the store at the last start; null if there is none. A new limit would be lower, because the streams
 * occupy part of the disk. Versions below 2.10 do not recover a stream whose limit exceeds that of the store.
 */
async function formerStoreBytes(home: string): Promise<number | null> {
  const former = await readFile(join(home, CONFIG_FILE), 'utf8').catch(() => '');
  const bytes = Number(/^ *max_file_store: (\d+)$/m.exec(former)?.[1]);
  return bytes > 0 ? bytes : null;
}

/** The crawler's permissions; config/nats-server.conf explains them. Its inboxes begin with `_INBOX_` and its name. */
const CRAWLER_PUBLISHES = ['adverts.>', '$JS.API.STREAM.INFO.REJECTED', '$JS.API.STREAM.MSG.GET.REJECTED'];
const CRAWLER_SUBSCRIBES = ['adverts-rejected.>'];

/** Relative paths are resolved from the server's working directory. */
function configuration(
  binary: NatsServerBinary,
  port: number,
  { daemon, crawler }: Readonly<Record<'daemon' | 'crawler', NatsAccess>>,
  storeBytesMax: number,
): string {
  return [
    'host: "127.0.0.1"',
    `port: ${port}`,
    'ports_file_dir: "ports"',
    'authorization {',
    '  users: [',
    `    { user: "${daemon.user}", password: "${daemon.password}" }`,
    `    { user: "${crawler.user}", password: "${crawler.password}", permissions: {`,
    `      publish: ${JSON.stringify(CRAWLER_PUBLISHES)}`,
    `      subscribe: ${JSON.stringify([`_INBOX_${crawler.user}.>`, ...CRAWLER_SUBSCRIBES])}`,
    '    } }',
    '  ]',
    // Time limit of a client's authentication, in seconds. Long, because a busy machine starts slowly.
    '  timeout: 10',
    '}',
    'jetstream {',
    `  store_dir: "${STORE_HANDLE}"`,
    `  max_file_store: ${Math.floor(storeBytesMax)}`,
    // Syncs every write before its acknowledgement. Older servers lack the setting and sync every two minutes.
    ...(binary.canSyncAlways ? ['  sync_interval: always'] : []),
    '}',
  ].join('\n');
}

/** The server writes `host:port` to `<program>_<pid>.ports` when it listens. A partial file is not valid JSON. */
async function clientAddress(home: string, server: ChildServer): Promise<string | null> {
  const directory = join(home, 'ports');
  const name = (await readdir(directory)).find((file) => file.endsWith(`_${server.pid}.ports`));
  if (name === undefined) return null;
  const text = await readFile(join(directory, name), 'utf8');
  if (!text.endsWith('}')) return null;
  const [url] = (JSON.parse(text) as { nats: readonly string[] }).nats;
  return url === undefined ? null : new URL(url).host;
}

interface NatsAccess {
  readonly user: string;
  readonly password: string;
}

/**
 * Credentials of the embedded NATS: random and created once. A file that only the daemon's user can read stores them as
 * a URL that any client accepts. If the file is deleted, the next start creates new credentials.
 */
const NATS_CREDENTIALS_FILE = 'credentials';
const CRAWLER_CREDENTIALS_FILE = 'crawler-credentials';

async function readOrMakeAccess(path: string, newUser: string): Promise<NatsAccess> {
  const known = await readSecret(path);
  if (known !== null && URL.canParse(known)) {
    const { username, password } = new URL(known);
    if (SECRET.test(username) && SECRET.test(password)) return { user: username, password };
  }
  return { user: newUser, password: randomSecret() };
}

/** Rejects a user name or password that an edit of the file has cut off. */
const SECRET = /^[\w-]{8,}$/;

/** Resolves with the URL, which includes the credentials. */
async function keepAccess(path: string, { user, password }: NatsAccess, address: string): Promise<string> {
  const url = `nats://${user}:${password}@${address}`;
  if ((await readSecret(path)) !== url) await writeSecret(path, url);
  return url;
}

const run = promisify(execFile);

interface NatsServerBinary {
  readonly path: string;
  /** As the server reports it, for example `2.10.27`. */
  readonly version: string;
  /** True from version 2.10, which accepts `sync_interval: always`. */
  readonly canSyncAlways: boolean;
}

/** Debian installs it in a directory that is not on an ordinary user's PATH. */
const INSTALLED = ['nats-server', '/usr/sbin/nats-server', '/usr/local/sbin/nats-server'];
const PACKAGED = 'usr/sbin/nats-server';

/**
 * Finds the configured nats-server, the installed one, or the package of Debian or Ubuntu, unpacked into the cache
 * directory. Calls `onLog` before it downloads the package, which may take a minute. Throws `ServerMissingError`.
 */
export async function findNatsServer(
  configured: string | null,
  cacheDir: string,
  onLog: (line: string) => void = () => undefined,
): Promise<NatsServerBinary> {
  if (configured !== null) return inspectConfigured(configured);
  for (const path of INSTALLED) {
    const binary = await inspect(path).catch(() => null);
    if (binary !== null) return binary;
  }
  const isUsable = (path: string) => succeeds(inspect(join(path, PACKAGED)));
  try {
    const unpacked = await cacheEntry(cacheDir, `nats-server-${process.arch}`, isUsable, (path) => {
      onLog('No usable nats-server is installed. Downloading the distribution’s package, which may take a minute.');
      return unpackDebianPackages(['nats-server'], path);
    });
    return await inspect(join(unpacked, PACKAGED));
  } catch (cause) {
    throw new ServerMissingError(
      'Embedded NATS: no nats-server is installed, and the distribution’s package cannot be downloaded into ' +
        `${cacheDir} (${firstLine(cause as Error)}). Put nats-server on the PATH, ` +
        'or set NATS_URL to the URL of a NATS server with JetStream.',
      { cause },
    );
  }
}

async function inspectConfigured(configured: string): Promise<NatsServerBinary> {
  return inspect(configured).catch((cause: Error) => {
    throw new ServerMissingError(`${configured} is not a nats-server (${firstLine(cause)}). Name another.`, { cause });
  });
}

/** Runs the program, to see whether it fits the processor, and because its version decides which settings are valid. */
async function inspect(name: string): Promise<NatsServerBinary> {
  // Absolute, so that messages and callers do not depend on the working directory.
  const path = resolve(name.includes('/') ? name : (await run('sh', ['-c', 'command -v -- "$0"', name])).stdout.trim());
  const { stdout } = await run(path, ['--version']);
  const [, version, major, minor] = /nats-server: v?((\d+)\.(\d+)\.\d+\S*)/.exec(stdout) ?? [];
  if (version === undefined) throw new Error(`its answer to --version is "${stdout.trim().slice(0, 80)}"`);
  const canSyncAlways = Number(major) > 2 || (Number(major) === 2 && Number(minor) >= 10);
  return { path, version, canSyncAlways };
}

function firstLine(error: Error & { readonly stderr?: string }): string {
  return (error.stderr?.trim() || error.message).split('\n')[0] ?? '';
}
