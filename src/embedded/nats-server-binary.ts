/**
 * Finds a nats-server: the configured one, the one installed, or the package of Debian and Ubuntu, fetched and
 * unpacked into the cache directory without root. apt verifies its signature, from whatever mirror the machine uses.
 */

import { execFile } from 'node:child_process';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { cacheEntry } from './cache-entry.ts';
import { ServerMissingError } from './child-server.ts';

const run = promisify(execFile);

export interface NatsServerBinary {
  /** Absolute. */
  readonly path: string;
  /** As the server states it, such as `2.10.27`. */
  readonly version: string;
  /** Knows `sync_interval: always`: 2.10 and later. */
  readonly canSyncAlways: boolean;
}

/** Debian installs it where the PATH of a plain user does not look. */
const INSTALLED = ['nats-server', '/usr/sbin/nats-server', '/usr/local/sbin/nats-server'];
const PACKAGED = 'usr/sbin/nats-server';
/** One step of apt on a slow line: a full update is some 15 MB. */
const APT_TIMEOUT_MS = 120_000;

/** `onLog` is told before the package is fetched: it may take a minute. Throws `ServerMissingError`. */
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
      return fetchPackage(path);
    });
    return await inspect(join(unpacked, PACKAGED));
  } catch (cause) {
    throw new ServerMissingError(
      'embedded NATS: no nats-server is installed, and the package of the distribution cannot be fetched into ' +
        `${cacheDir} (${firstLine(cause as Error)}). Put nats-server on the PATH, or name it in NATS_SERVER_BIN, ` +
        'or give the URL of a NATS server with JetStream in NATS_URL.',
      { cause },
    );
  }
}

async function inspectConfigured(configured: string): Promise<NatsServerBinary> {
  return inspect(configured).catch((cause: Error) => {
    throw new ServerMissingError(`NATS_SERVER_BIN: ${configured} is no nats-server (${firstLine(cause)})`, { cause });
  });
}

/** Runs it: a file for another processor is no server, and its version decides what its configuration may say. */
async function inspect(name: string): Promise<NatsServerBinary> {
  // The server runs in another directory than we do.
  const path = resolve(name.includes('/') ? name : (await run('sh', ['-c', 'command -v -- "$0"', name])).stdout.trim());
  const { stdout } = await run(path, ['--version']);
  const [, version, major, minor] = /nats-server: v?((\d+)\.(\d+)\.\d+\S*)/.exec(stdout) ?? [];
  if (version === undefined) throw new Error(`it answers --version with «${stdout.trim().slice(0, 80)}»`);
  const canSyncAlways = Number(major) > 2 || (Number(major) === 2 && Number(minor) >= 10);
  return { path, version, canSyncAlways };
}

async function fetchPackage(target: string): Promise<void> {
  const work = join(target, 'apt');
  await download(work);
  const archive = (await readdir(work)).find((name) => name.endsWith('.deb'));
  if (archive === undefined) throw new Error('apt-get download left no package');
  await run('dpkg-deb', ['--extract', join(work, archive), target]);
  await rm(work, { recursive: true });
}

/** With the machine's package lists first; where it has none, or old ones, with lists of our own. */
async function download(work: string): Promise<void> {
  await mkdir(join(work, 'cache/archives/partial'), { recursive: true });
  await mkdir(join(work, 'state/lists/partial'), { recursive: true });
  // No change of user, when root: it could not write here.
  const options = [`Dir::Cache=${join(work, 'cache')}`, 'APT::Sandbox::User=', 'Acquire::Retries=1'];
  const ownLists = [...options, `Dir::State=${join(work, 'state')}`, 'Acquire::Languages=none'];
  const apt = (settings: readonly string[], ...args: readonly string[]) =>
    run('apt-get', ['-qq', ...settings.flatMap((setting) => ['-o', setting]), ...args], {
      cwd: work,
      timeout: APT_TIMEOUT_MS,
    });
  if (await succeeds(apt(options, 'download', 'nats-server'))) return;
  // An update fails when one of many sources is out of reach: whether it brought our package, the download tells.
  const updateError = await apt([...ownLists, 'APT::Update::Error-Mode=any'], 'update').then(
    () => null,
    (error: Error) => error,
  );
  await apt(ownLists, 'download', 'nats-server').catch((error: Error) => {
    throw updateError ?? error;
  });
}

function succeeds(attempt: Promise<unknown>): Promise<boolean> {
  return attempt.then(
    () => true,
    () => false,
  );
}

function firstLine(error: Error & { readonly stderr?: string }): string {
  return (error.stderr?.trim() || error.message).split('\n')[0] ?? '';
}
