/**
 * Finds a nats-server: the configured one, the one installed, or the package of Debian and Ubuntu, fetched and
 * unpacked into the cache directory without root. apt verifies its signature, from whatever mirror the machine uses.
 */

import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ServerMissingError } from './postgres-binaries.ts';

const run = promisify(execFile);

export interface NatsServerBinary {
  /** A path, or a name on the PATH. */
  readonly path: string;
  /** As the server states it, such as `2.10.27`. */
  readonly version: string;
  /** Knows `sync_interval: always`: 2.10 and later. */
  readonly canSyncAlways: boolean;
}

/** Debian installs it where the PATH of a plain user does not look. */
const INSTALLED = ['nats-server', '/usr/sbin/nats-server', '/usr/local/sbin/nats-server'];
/** A full update of the lists on a slow line. */
const APT_TIMEOUT_MS = 180_000;

/** Throws `ServerMissingError`, which names the ways to provide one. */
export async function findNatsServer(configured: string | null, cacheDir: string): Promise<NatsServerBinary> {
  if (configured !== null) {
    const binary = await inspect(configured).catch((cause: Error) => {
      throw new ServerMissingError(`NATS_SERVER_BIN: ${configured} does not run (${firstLine(cause)})`, { cause });
    });
    return binary;
  }
  const cached = join(cacheDir, `nats-server-${process.arch}`);
  const program = join(cached, 'usr/sbin/nats-server');
  for (const path of [...INSTALLED, program]) {
    const binary = await inspect(path).catch(() => null);
    if (binary !== null) return binary;
  }
  try {
    await fetchPackage(cacheDir, cached);
    return await inspect(program);
  } catch (cause) {
    throw new ServerMissingError(
      `embedded NATS: no nats-server found, and the distribution's package cannot be fetched ` +
        `(${firstLine(cause as Error)}). Either put nats-server on the PATH, or name it in NATS_SERVER_BIN, ` +
        'or give the URL of a NATS server with JetStream in NATS_URL.',
      { cause },
    );
  }
}

/** Runs it: a file of another processor or a broken download is no server. */
async function inspect(path: string): Promise<NatsServerBinary> {
  const { stdout } = await run(path, ['--version']);
  const [, version, major, minor] = /v?((\d+)\.(\d+)\.\d+\S*)/.exec(stdout) ?? [];
  if (version === undefined) throw new Error(`it answers --version with ${stdout.trim().slice(0, 80)}`);
  const canSyncAlways = Number(major) > 2 || (Number(major) === 2 && Number(minor) >= 10);
  return { path, version, canSyncAlways };
}

/** Complete or absent: unpacked beside, then renamed. When a parallel start was faster, its copy stands. */
async function fetchPackage(cacheDir: string, target: string): Promise<void> {
  await mkdir(cacheDir, { recursive: true });
  const work = await mkdtemp(join(cacheDir, 'apt-'));
  try {
    await download(work);
    const archive = (await readdir(work)).find((name) => name.endsWith('.deb'));
    if (archive === undefined) throw new Error('apt-get download left no package');
    await run('dpkg-deb', ['-x', join(work, archive), join(work, 'unpacked')]);
    await rename(join(work, 'unpacked'), target).catch(() => access(target));
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** First with the machine's own package lists; where it has none, or old ones, with lists of our own. */
async function download(work: string): Promise<void> {
  await mkdir(join(work, 'cache/archives/partial'), { recursive: true });
  await mkdir(join(work, 'state/lists/partial'), { recursive: true });
  const cache = ['-o', `Dir::Cache=${join(work, 'cache')}`, '-o', 'APT::Sandbox::User='];
  const own = [...cache, '-o', `Dir::State=${join(work, 'state')}`];
  const apt = (...args: readonly string[]) => run('apt-get', ['-qq', ...args], { cwd: work, timeout: APT_TIMEOUT_MS });
  if (await succeeds(apt(...cache, 'download', 'nats-server'))) return;
  // One source out of reach fails an update that brought the lists we need; the download tells.
  await succeeds(apt(...own, '-o', 'Acquire::Languages=none', '-o', 'Acquire::Retries=2', 'update'));
  await apt(...own, 'download', 'nats-server');
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
