/**
 * Where the embedded servers live: the data directory, held by one daemon at a time, and the cache directory of
 * binaries, which may be deleted at any time. Neither may be in the hands of another user, who could put programs, links
 * and data of his own in the place of ours.
 */

import { constants, type Stats } from 'node:fs';
import { access, mkdir, realpath, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { lastHolder, lockDirectory } from './directory-lock.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export interface DataDirectory {
  /** Absolute, without symbolic links. */
  readonly path: string;
  close(): Promise<void>;
}

export class DataDirectoryError extends Error {
  readonly code: 'DATA_DIRECTORY_IN_USE' | 'DATA_DIRECTORY_UNUSABLE';

  constructor(code: DataDirectoryError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/**
 * Creates and holds the data directory: `configured`, else `/var/lib/vigie` for root, else `vigie` under
 * `$XDG_DATA_HOME` (`~/.local/share`). Throws `DataDirectoryError` when another daemon holds it, it is not writable, or
 * another user could change it.
 */
export async function openDataDirectory(configured: string | null): Promise<DataDirectory> {
  const wanted = dataDirectoryPath(configured);
  const path = await writableDirectory(wanted).catch((cause: Error) => {
    throw unusable(`${wanted} is not a directory this user can write to (${cause.message})`, cause);
  });
  const danger = dangerOf(await stat(path));
  if (danger !== null) throw unusable(`${path} ${danger}`);
  return hold(path);
}

/** Where `openDataDirectory` looks. Throws `DataDirectoryError` for a user without a home. */
export function dataDirectoryPath(configured: string | null, environment: Environment = process.env): string {
  const wanted = configured ?? defaultDirectory('/var/lib', environment.XDG_DATA_HOME, '.local/share');
  if (wanted === null) throw unusable('there is no home directory to put the data in');
  return resolve(wanted);
}

/**
 * The directory for binaries: `vigie` under `$XDG_CACHE_HOME`, or without one `/var/cache/vigie` for root, and
 * `~/.cache/vigie` for others. Not created here: most starts need no cache.
 */
export function cacheDirectory(environment: Environment = process.env): string {
  const wanted = defaultDirectory('/var/cache', environment.XDG_CACHE_HOME, '.cache', true);
  // Without a home the failure to create it names the path, and XDG_CACHE_HOME.
  return resolve(wanted ?? '/nonexistent/.cache/vigie');
}

/** XDG Base Directory Specification: a relative value of a variable is ignored. */
function defaultDirectory(ofRoot: string, xdgHome: string | undefined, underHome: string, hasRootXdg = false) {
  const isRoot = process.getuid?.() === 0;
  if ((!isRoot || hasRootXdg) && xdgHome !== undefined && isAbsolute(xdgHome)) return join(xdgHome, 'vigie');
  if (isRoot) return join(ofRoot, 'vigie');
  const home = homeDirectory();
  return home !== null && isAbsolute(home) ? join(home, underHome, 'vigie') : null;
}

/** Null for a user that neither HOME nor the machine's list of users gives one. */
function homeDirectory(): string | null {
  try {
    return homedir();
  } catch {
    return null;
  }
}

async function writableDirectory(path: string): Promise<string> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
  return realpath(path);
}

function unusable(reason: string, cause?: Error): DataDirectoryError {
  return new DataDirectoryError(
    'DATA_DIRECTORY_UNUSABLE',
    `data directory: ${reason}. Set VIGIE_DATA_DIR to a directory that the daemon may write to.`,
    { cause },
  );
}

async function hold(path: string): Promise<DataDirectory> {
  const lock = await lockDirectory(path).catch((cause: Error) => {
    throw unusable(`${path} cannot be held (${cause.message})`, cause);
  });
  if (lock !== null) return { path, close: lock.release };
  const holder = await lastHolder(path);
  throw new DataDirectoryError(
    'DATA_DIRECTORY_IN_USE',
    `data directory: ${path} is in use by another vigie${holder === null ? '' : ` (process ${holder})`}. ` +
      'Stop it, or set VIGIE_DATA_DIR to another directory.',
  );
}

/** Why what lies in a directory is not safe from other users; null when it is. The group is its owner's choice. */
export function dangerOf({ uid, mode }: Stats): string | null {
  if (uid !== process.geteuid?.() && uid !== 0) return `belongs to user ${uid}, who could change what is in it`;
  if ((mode & 0o002) !== 0) return 'can be written to by every user';
  return null;
}
