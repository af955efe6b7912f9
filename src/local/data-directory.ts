/**
 * Locations of the embedded servers' data. One daemon at a time locks the data directory. The cache directory of
 * binaries may be deleted at any time. Neither may belong to another user (except root) or be writable by all users,
 * who could replace programs, links and data.
 */

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { constants, type Stats } from 'node:fs';
import { access, type FileHandle, link, mkdir, open, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { ignoreExisting, nullIfMissing } from './ownership.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export interface DataDirectory {
  /** Absolute, with symbolic links resolved. */
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
 * Creates and locks the data directory: `configured`, else `/var/lib/vigie` for root, else `vigie` under
 * `$XDG_DATA_HOME` (`~/.local/share`). Throws `DataDirectoryError` if another daemon has locked it, if it is not
 * writable, or if another user could change it.
 */
export async function openDataDirectory(configured: string | null): Promise<DataDirectory> {
  const wanted = dataDirectoryPath(configured);
  const path = await writableDirectory(wanted).catch((cause: Error) => {
    throw unusable(`${wanted} is not a directory that this user can write to (${cause.message})`, cause);
  });
  const danger = dangerOf(await stat(path));
  if (danger !== null) throw unusable(`${path} ${danger}`);
  return hold(path);
}

/** The path that `openDataDirectory` uses. Throws `DataDirectoryError` for a user without a home directory. */
export function dataDirectoryPath(configured: string | null, environment: Environment = process.env): string {
  const wanted = configured ?? defaultDirectory('/var/lib', environment.XDG_DATA_HOME, '.local/share');
  if (wanted === null) throw unusable('This user has no home directory to store the data in');
  return resolve(wanted);
}

/**
 * The directory of binaries: `vigie` under `$XDG_CACHE_HOME`. If this is unset, `/var/cache/vigie` for root and
 * `~/.cache/vigie` for others. The directory is not created here, because most starts need no cache.
 */
export function cacheDirectory(environment: Environment = process.env): string {
  const wanted = defaultDirectory('/var/cache', environment.XDG_CACHE_HOME, '.cache', true);
  // Without a home directory, creating this path fails with an error that names the path.
  return resolve(wanted ?? '/nonexistent/.cache/vigie');
}

/** XDG Base Directory Specification: relative values of the variables are ignored. */
function defaultDirectory(ofRoot: string, xdgHome: string | undefined, underHome: string, hasRootXdg = false) {
  const isRoot = process.getuid?.() === 0;
  if ((!isRoot || hasRootXdg) && xdgHome !== undefined && isAbsolute(xdgHome)) return join(xdgHome, 'vigie');
  if (isRoot) return join(ofRoot, 'vigie');
  const home = homeDirectory();
  return home !== null && isAbsolute(home) ? join(home, underHome, 'vigie') : null;
}

/** Null if neither HOME nor the machine's user list has a home directory. */
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
    `Data directory: ${reason}. Set VIGIE_DATA_DIR to a directory that the daemon may write to.`,
    { cause },
  );
}

async function hold(path: string): Promise<DataDirectory> {
  const release = await lockDirectory(path).catch((cause: Error) => {
    throw unusable(`${path} cannot be locked (${cause.message})`, cause);
  });
  if (release !== null) return { path, close: release };
  const holder = await lastHolder(path);
  throw new DataDirectoryError(
    'DATA_DIRECTORY_IN_USE',
    `Data directory: ${path} is in use by another Vigie daemon${holder === null ? '' : ` (process ${holder})`}. ` +
      'Stop that daemon, or set VIGIE_DATA_DIR to another directory.',
  );
}

/** Why another user could change a directory's content; null if none could. The group is the owner's choice. */
export function dangerOf({ uid, mode }: Stats): string | null {
  if (uid !== process.geteuid?.() && uid !== 0) return `belongs to user ${uid}, who could change its content`;
  if ((mode & 0o002) !== 0) return 'is writable by every user';
  return null;
}

/** The open lock files: a garbage-collected handle would close its file and release the lock. */
const held = new Set<FileHandle>();

const LOCK_FILE = 'lock';
/** A killed daemon keeps its files open for some milliseconds, or longer under load. */
const HOLDER_DYING_SECONDS = 3;
const CONFLICT = 75;

/**
 * Locks a file that no other user can open, with `flock`. The lock belongs to our open file, so the kernel releases it
 * whenever the process ends, and no lock is ever stale. Containers that share the directory see each other's locks.
 * Waits some seconds for another daemon that may be ending. Resolves with the function that unlocks, or with null if
 * that daemon keeps the lock. Throws if the file belongs to another user.
 */
async function lockDirectory(directory: string): Promise<(() => Promise<void>) | null> {
  const path = join(directory, LOCK_FILE);
  const { O_CREAT, O_RDWR, O_NOFOLLOW } = constants;
  const file = await open(path, O_CREAT | O_RDWR | O_NOFOLLOW, 0o600);
  try {
    const { uid, mode } = await file.stat();
    if (uid !== process.geteuid?.())
      throw new Error(`${path} belongs to user ${uid}: run as that user, or change its owner`);
    if ((mode & 0o077) !== 0) await file.chmod(0o600);
    if (!(await flock(file, ['--exclusive', '--timeout', String(HOLDER_DYING_SECONDS)]))) {
      await file.close();
      return null;
    }
    await file.truncate();
    await file.write(`${process.pid}\n`, 0);
  } catch (error) {
    await file.close();
    throw error;
  }
  held.add(file);
  return () => {
    held.delete(file);
    return file.close();
  };
}

/** The process id that was last written to the lock file; null if there is none. */
async function lastHolder(directory: string): Promise<number | null> {
  const written = await readFile(join(directory, LOCK_FILE), 'utf8').catch(() => '');
  return /^\d+\n$/.test(written) ? Number(written) : null;
}

/** False if no process has locked the directory, also if there is no lock file yet. */
export async function isDirectoryLocked(directory: string): Promise<boolean> {
  const file = await open(join(directory, LOCK_FILE)).catch(nullIfMissing);
  if (file === null) return false;
  try {
    return !(await flock(file, ['--shared', '--nonblock']));
  } finally {
    await file.close();
  }
}

/** Runs the command `flock`, because Node.js has no such call. The inherited file stays locked afterwards. */
async function flock({ fd }: FileHandle, options: readonly string[]): Promise<boolean> {
  const command = spawn('flock', [...options, '--conflict-exit-code', String(CONFLICT), '3'], {
    stdio: ['ignore', 'ignore', 'pipe', fd],
  });
  const ended = once(command, 'close').catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOENT' ? new Error('the command flock is missing: install the package util-linux') : error;
  });
  const [output, [code]] = await Promise.all([text(command.stderr as NodeJS.ReadableStream), ended]);
  if (code === 0) return true;
  if (code === CONFLICT) return false;
  throw new Error(`flock failed: ${output.trim()}`);
}

const FILE = 'admin-token';

/**
 * The token of a daemon without a configured one. It is created once and stored in the data directory, where only its
 * owner can read it. Null if no daemon has created one, or if this user may not read the file.
 */
export async function readToken(dataDir: string): Promise<string | null> {
  try {
    return (await readFile(join(dataDir, FILE), 'utf8')).trim();
  } catch (error) {
    if (['ENOENT', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw error;
  }
}

export async function readOrMakeToken(dataDir: string): Promise<string> {
  const known = await readToken(dataDir);
  if (known !== null) return known;
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const draft = join(dataDir, `${FILE}.${process.pid}.${randomBytes(4).toString('hex')}`);
  await writeFile(draft, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' });
  // Creating a link is atomic, so no reader sees a partial token. Another daemon may create the token first.
  const linked = link(draft, join(dataDir, FILE)).catch(ignoreExisting);
  await linked.finally(() => rm(draft, { force: true }));
  return (await readFile(join(dataDir, FILE), 'utf8')).trim();
}
