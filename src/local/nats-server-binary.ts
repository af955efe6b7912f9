/**
 * Finds a nats-server: the one named, the one installed, or the package of Debian and Ubuntu, unpacked into the
 * cache directory.
 */

import { execFile } from 'node:child_process';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { cacheEntry } from './cache-entry.ts';
import { ServerMissingError } from './child-server.ts';
import { unpackDebianPackages } from './debian-package.ts';

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

/** `onLog` is called before the package is fetched: it may take a minute. Throws `ServerMissingError`. */
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
  const isUsable = (path: string) =>
    inspect(join(path, PACKAGED)).then(
      () => true,
      () => false,
    );
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

function firstLine(error: Error & { readonly stderr?: string }): string {
  return (error.stderr?.trim() || error.message).split('\n')[0] ?? '';
}
