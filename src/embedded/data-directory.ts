/**
 * Where the embedded servers live: the data directory, held by one daemon at a time, and the cache directory of
 * binaries, which may be deleted at any time.
 *
 * The hold is an abstract unix socket named after the directory's real path. The kernel frees it with the process,
 * whatever ends it, so a lock is never stale. It is as wide as a network namespace: containers that share a volume
 * do not see each other's.
 */

import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { access, mkdir, realpath } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

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

/** A daemon that was just killed keeps its sockets for some milliseconds, more under load. */
const HOLDER_DYING_MS = 5_000;
const HOLDER_ANSWER_MS = 1_000;
const RETRY_MS = 20;

/**
 * Creates and holds the data directory: `configured`, else `/var/lib/vigie` for root, else `vigie` under
 * `$XDG_DATA_HOME` (`~/.local/share`). Throws `DataDirectoryError` when another daemon holds it or it is not writable.
 */
export async function openDataDirectory(
  configured: string | null,
  environment: Environment = process.env,
): Promise<DataDirectory> {
  const wanted = dataDirectoryPath(configured, environment);
  const path = await writableDirectory(wanted).catch((cause: Error) => {
    throw unusable(`${wanted} is not a directory this user can write to (${cause.message})`, cause);
  });
  const server = await hold(path);
  return { path, close: () => new Promise((closed) => void server.close(() => closed())) };
}

/** Where `openDataDirectory` looks. Throws `DataDirectoryError` for a user without a home. */
export function dataDirectoryPath(configured: string | null, environment: Environment = process.env): string {
  const wanted = configured ?? defaultDirectory('/var/lib', environment.XDG_DATA_HOME, '.local/share');
  if (wanted === null) throw unusable('there is no home directory to put the data in');
  return resolve(wanted);
}

/**
 * The directory for binaries: `configured`, else `/var/cache/vigie` for root, else `vigie` under `$XDG_CACHE_HOME`
 * (`~/.cache`). Not created here: most starts need no cache.
 */
export function cacheDirectory(configured: string | null, environment: Environment = process.env): string {
  const wanted = configured ?? defaultDirectory('/var/cache', environment.XDG_CACHE_HOME, '.cache');
  // Without a home the failure to create it names the path, and VIGIE_CACHE_DIR.
  return resolve(wanted ?? '/nonexistent/.cache/vigie');
}

/** XDG Base Directory Specification: a relative value of a variable is ignored. */
function defaultDirectory(ofRoot: string, xdgHome: string | undefined, underHome: string): string | null {
  if (process.getuid?.() === 0) return join(ofRoot, 'vigie');
  if (xdgHome !== undefined && isAbsolute(xdgHome)) return join(xdgHome, 'vigie');
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

/** A holder answers with its process id; one that is dying refuses or says nothing, and is waited for. */
async function hold(path: string): Promise<Server> {
  const name = `\0vigie-data-${createHash('sha256').update(path).digest('hex').slice(0, 32)}`;
  const deadline = performance.now() + HOLDER_DYING_MS;
  for (;;) {
    const server = await listen(name);
    if (server !== null) return server;
    const holder = await askHolder(name);
    if (holder !== null || performance.now() > deadline) {
      throw new DataDirectoryError(
        'DATA_DIRECTORY_IN_USE',
        `data directory: ${path} is in use by another vigie${holder === null ? '' : ` (process ${holder})`}. ` +
          'Stop it, or set VIGIE_DATA_DIR to another directory.',
      );
    }
    await wait(RETRY_MS);
  }
}

/** Null when the name is taken. */
function listen(name: string): Promise<Server | null> {
  return new Promise((settle, reject) => {
    const server = createServer((socket) => socket.on('error', () => socket.destroy()).end(String(process.pid)));
    server.on('error', (error: NodeJS.ErrnoException) => (error.code === 'EADDRINUSE' ? settle(null) : reject(error)));
    server.listen(name, () => settle(server.unref()));
  });
}

function askHolder(name: string): Promise<string | null> {
  return new Promise((settle) => {
    let answer = '';
    const socket = connect(name);
    socket.setTimeout(HOLDER_ANSWER_MS, () => socket.destroy());
    socket.setEncoding('utf8').on('data', (text: string) => {
      answer += text;
    });
    socket.on('error', () => socket.destroy()).on('close', () => settle(/^\d{1,10}$/.test(answer) ? answer : null));
  });
}
