/**
 * A real nats-server with JetStream for a start without one. It lives in `<data directory>/nats` (`store`, `credentials`,
 * `crawler-credentials`, `nats-server.conf`, `server.log`), listens on the loopback interface alone and asks for a password.
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
  endFormerServer,
  isPortFree,
  ServerMissingError,
  ServerStartError,
  serverNameOf,
  startChildServer,
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

export interface NatsServerOptions {
  /** Held by the caller: a server found running in it is taken for a leftover and stopped. */
  readonly dataDir: string;
  /** The program to run; searched for, and fetched into `cacheDir`, when null. */
  /** Null: the one on the PATH, else the distribution's. */
  readonly serverBin?: string | null;
  readonly cacheDir: string;
  readonly onLog?: (line: string) => void;
  readonly onWarning?: (warning: string) => void;
  /** A free one when absent or 0. */
  readonly port?: number;
  /** Bytes of the store; when absent those of the last start, and at the first one three quarters of the free disk. */
  readonly storeBytesMax?: number;
}

/** `url` has the daemon's user, who may do everything. Files are readable by the daemon's user alone. */
export interface NatsServer extends EmbeddedServer {
  /** Holds `url`. */
  readonly credentialsFile: string;
  /** With the rights of config/nats-server.conf. */
  readonly crawlerUrl: string;
  /** Holds `crawlerUrl`. */
  readonly crawlerCredentialsFile: string;
}

/** JetStream reads its streams before it listens: seconds per million messages. */
const READY_TIMEOUT_MS = 300_000;
const STOP_TIMEOUT_MS = 15_000;
const STORE_SHARE = 3 / 4;
const CONFIG_FILE = 'nats-server.conf';
/** File descriptors that the server inherits: its store, and its program. Its user need not reach either by path. */
const STORE_HANDLE = '/proc/self/fd/3';
const PROGRAM_HANDLE = '/proc/self/fd/4';

/** Resolves when it accepts connections. Throws `ServerMissingError` without a binary, `ServerStartError` on failure. */
export async function startNatsServer(options: NatsServerOptions): Promise<NatsServer> {
  const user = await serverUser('vigie-nats', options.onWarning ?? (() => undefined));
  const binary = await findNatsServer(options.serverBin ?? null, options.cacheDir, options.onLog);
  const home = join(options.dataDir, 'nats');
  await endFormer(home, user);
  if (options.port && !(await isPortFree(options.port))) throw portTaken(options.port);
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

function portTaken(port: number): ServerStartError {
  return new ServerStartError(
    `embedded NATS: another program listens on 127.0.0.1:${port}. Set VIGIE_NATS_PORT to a port that is free (0 takes ` +
      'any), or NATS_URL to the NATS that shall be used instead of an embedded one.',
  );
}

async function prepareHome(home: string, user: ServerUser | null): Promise<void> {
  await secureHome(home, user);
  // Files of killed servers would be taken for this one's.
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
        `embedded NATS: ${binary.path} may not be run by user ${user.name}: chmod 755 allows it`,
      );
    }
    return await startChildServer({
      name: 'embedded nats-server',
      command: PROGRAM_HANDLE,
      args: ['--name', serverNameOf(home), '--config', CONFIG_FILE],
      directory: home,
      // One thread: with more, Go takes a fifth more CPU time at a hundred adverts a second, to wake them.
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
 * By default the server takes three quarters of the free disk at each start. Its streams occupy part of it by then, and
 * below 2.10 it does not recover a stream whose bound exceeds that.
 */
async function formerStoreBytes(home: string): Promise<number | null> {
  const former = await readFile(join(home, CONFIG_FILE), 'utf8').catch(() => '');
  const bytes = Number(/^ *max_file_store: (\d+)$/m.exec(former)?.[1]);
  return bytes > 0 ? bytes : null;
}

/** As in config/nats-server.conf, which says why; answers come to the inboxes of its own name. */
const CRAWLER_PUBLISHES = ['adverts.>', '$JS.API.STREAM.INFO.REJECTED', '$JS.API.STREAM.MSG.GET.REJECTED'];
const CRAWLER_SUBSCRIBES = ['adverts-rejected.>'];

/** Relative paths are those of the server's working directory. */
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
    // Seconds for a client's authentication; a busy machine starts slowly.
    '  timeout: 10',
    '}',
    'jetstream {',
    `  store_dir: "${STORE_HANDLE}"`,
    `  max_file_store: ${Math.floor(storeBytesMax)}`,
    // Every write is synced before it is acknowledged; older servers lack the setting and sync every two minutes.
    ...(binary.canSyncAlways ? ['  sync_interval: always'] : []),
    '}',
  ].join('\n');
}

/** `host:port`. The server writes `<program>_<pid>.ports` once it listens. Half a file is no JSON yet. */
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
 * A user and password of the embedded NATS: random, made once, kept as a URL that any client takes, in a file that the
 * daemon's user alone can read. Deleting the file makes new ones at the next start.
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

/** A partial password, left by an editor or a crash, is not accepted. */
const SECRET = /^[\w-]{8,}$/;

/** Resolves with the whole URL. */
async function keepAccess(path: string, { user, password }: NatsAccess, address: string): Promise<string> {
  const url = `nats://${user}:${password}@${address}`;
  if ((await readSecret(path)) !== url) await writeSecret(path, url);
  return url;
}

const run = promisify(execFile);

interface NatsServerBinary {
  /** Absolute. */
  readonly path: string;
  /** As the server states it, such as `2.10.27`. */
  readonly version: string;
  /** Knows `sync_interval: always`: 2.10 and later. */
  readonly canSyncAlways: boolean;
}

/** Debian installs it where the PATH of a plain user does not search. */
const INSTALLED = ['nats-server', '/usr/sbin/nats-server', '/usr/local/sbin/nats-server'];
const PACKAGED = 'usr/sbin/nats-server';

/**
 * The nats-server named, the one installed, or the package of Debian and Ubuntu, unpacked into the cache directory.
 * `onLog` is called before the package is fetched: it may take a minute. Throws `ServerMissingError`.
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
      onLog('no nats-server on the PATH: fetching the package of the distribution');
      return unpackDebianPackages(['nats-server'], path);
    });
    return await inspect(join(unpacked, PACKAGED));
  } catch (cause) {
    throw new ServerMissingError(
      'embedded NATS: no nats-server is installed, and the package of the distribution cannot be fetched into ' +
        `${cacheDir} (${firstLine(cause as Error)}). Put nats-server on the PATH, ` +
        'or give the URL of a NATS server with JetStream in NATS_URL.',
      { cause },
    );
  }
}

async function inspectConfigured(configured: string): Promise<NatsServerBinary> {
  return inspect(configured).catch((cause: Error) => {
    throw new ServerMissingError(`${configured} is no nats-server (${firstLine(cause)})`, { cause });
  });
}

/** Runs it: a file for another processor is no server, and the version decides which settings are valid. */
async function inspect(name: string): Promise<NatsServerBinary> {
  // The server runs in another directory than this process.
  const path = resolve(name.includes('/') ? name : (await run('sh', ['-c', 'command -v -- "$0"', name])).stdout.trim());
  const { stdout } = await run(path, ['--version']);
  const [, version, major, minor] = /nats-server: v?((\d+)\.(\d+)\.\d+\S*)/.exec(stdout) ?? [];
  if (version === undefined) throw new Error(`it answers --version with «${stdout.trim().slice(0, 80)}»`);
  const canSyncAlways = Number(major) > 2 || (Number(major) === 2 && Number(minor) >= 10);
  return { path, version, canSyncAlways };
}

function firstLine(error: Error & { readonly stderr?: string }): string {
  return (error.stderr?.trim() || error.message).split('\n')[0] ?? '';
}
