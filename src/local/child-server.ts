/**
 * A server as a child process that cannot outlive the daemon. `setpriv --pdeathsig` (util-linux) makes the kernel send
 * the server its stop signal when the daemon dies, even of SIGKILL; without it an orphan would hold the data, and the
 * next start would fail. The child leads a session of its own, so that a Ctrl-C in the terminal reaches the daemon
 * alone, which stops its servers last. One older log file of it is kept; the last lines of a log explain a failure.
 *
 * The kernel observes the thread that started the child: start servers from the main thread.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { type FileHandle, open, readdir, readFile, rename, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { startTask } from '../engine/actor/task.ts';
import { endsWithin, pause } from '../engine/actor/waiting.ts';
import type { ServerUser } from './ownership.ts';

export interface EmbeddedServer {
  readonly url: string;
  readonly pid: number;
  /** Resolves when the process ends for any reason, with a description. */
  readonly exited: Promise<string>;
  /** Graceful, bounded in time, then SIGKILL. Resolves when the process is gone; more calls change nothing. */
  stop(): Promise<void>;
}

export type ChildServer = Omit<EmbeddedServer, 'url'> & { readonly logFile: string };

export interface ChildServerOptions {
  /** Its name in messages. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly directory: string;
  readonly logFile: string;
  readonly onLog?: ((line: string) => void) | undefined;
  readonly stopSignal: NodeJS.Signals;
  readonly stopTimeoutMs: number;
  /** The whole environment of the child; inherited when absent. */
  readonly environment?: Readonly<Record<string, string>>;
  /** The user to run as; null: the daemon's. */
  readonly user: ServerUser | null;
  /** Inherited by the child as file descriptors 3 and up: access to directories that its user cannot reach by path. */
  readonly handles?: readonly number[];
}

/** The program does not exist. */
export class ServerMissingError extends Error {
  readonly code = 'EMBEDDED_SERVER_MISSING';
}

export class ServerStartError extends Error {
  readonly code = 'EMBEDDED_SERVER_FAILED';
}

const POLL_MS = 20;

export async function startChildServer(options: ChildServerOptions): Promise<ChildServer> {
  const { name, directory, logFile, onLog, environment } = options;
  const log = await openServerLog(logFile);
  const logStart = (await log.stat()).size;
  const stopFollowing = onLog === undefined ? () => Promise.resolve() : await followServerLog(logFile, onLog);
  const child = spawn('setpriv', setprivArguments(options), {
    cwd: directory,
    detached: true,
    stdio: ['ignore', log.fd, log.fd, ...(options.handles ?? [])],
    ...(environment === undefined ? {} : { env: { ...environment } }),
  });
  const exited = new Promise<string>((ended) => {
    child.once('exit', async (code, signal) => {
      await stopFollowing();
      const how = signal === null ? `with exit code ${code}` : `by ${signal}`;
      ended(`${name} ended ${how}; the end of its log, ${logFile}:\n${await tailOf(logFile, logStart)}`);
    });
  });
  await spawned(child, name).finally(() => log.close());
  return { pid: child.pid as number, exited, logFile, stop: () => stop(child, exited, options) };
}

/** Also for the short-lived tools of a server. */
export function setprivArguments(options: Pick<ChildServerOptions, 'command' | 'args' | 'stopSignal' | 'user'>) {
  const { command, args, stopSignal, user } = options;
  const identity =
    user === null ? [] : [`--reuid=${user.userId}`, `--regid=${user.groupId}`, '--clear-groups', '--no-new-privs'];
  return [...identity, `--pdeathsig=${stopSignal.slice('SIG'.length)}`, '--', command, ...args];
}

/**
 * Polls until `probe` finds the server ready. Throws `ServerStartError` with the end of the log when the server ends
 * first, or (after stopping it) when `timeoutMs` have passed.
 */
export async function waitUntilReady<T>(
  server: ChildServer,
  timeoutMs: number,
  probe: () => Promise<T | null>,
): Promise<T> {
  let ended: string | null = null;
  void server.exited.then((description) => {
    ended = description;
  });
  for (const deadline = performance.now() + timeoutMs; performance.now() < deadline; await pause(POLL_MS)) {
    const found = await probe();
    if (found !== null) return found;
    if (ended !== null) throw new ServerStartError(ended);
  }
  await server.stop();
  throw new ServerStartError(`not ready after ${timeoutMs / 1000} s: ${await server.exited}`);
}

function spawned(child: ChildProcess, name: string): Promise<void> {
  return new Promise((settle, reject) => {
    child.once('spawn', settle).once('error', (cause: NodeJS.ErrnoException) => {
      const reason = cause.code === 'ENOENT' ? 'the command setpriv (package util-linux) is missing' : cause.message;
      reject(new ServerStartError(`${name} cannot be started: ${reason}`, { cause }));
    });
  });
}

async function stop(child: ChildProcess, exited: Promise<string>, options: ChildServerOptions): Promise<void> {
  child.kill(options.stopSignal);
  if (await endsWithin(exited, options.stopTimeoutMs)) return;
  child.kill('SIGKILL');
  await exited;
}

/** A file larger than this at a start is renamed; a quiet server writes some kilobytes a day. */
const ROTATE_BYTES = 8 * 1024 * 1024;
const TAIL_BYTES = 4_096;
const TAIL_LINES = 12;
const FOLLOW_INTERVAL_MS = 500;
const FOLLOW_BYTES_MAX = 64 * 1024;

/** The server writes to the file itself: a pipe would break when the daemon is killed. */
export async function openServerLog(path: string): Promise<FileHandle> {
  const size = await sizeOf(path);
  if (size > ROTATE_BYTES) await rename(path, `${path}.1`);
  return open(path, 'a', 0o600);
}

/** The last lines after the byte `start`, where this run of the server began. */
export async function tailOf(path: string, start: number): Promise<string> {
  const size = await sizeOf(path);
  const lines = (await readFrom(path, Math.max(start, size - TAIL_BYTES), TAIL_BYTES)).trim().split('\n');
  return lines.slice(-TAIL_LINES).join('\n') || '(it wrote nothing)';
}

/** Reports the lines written from now on, within half a second; returns a function that stops it. */
async function followServerLog(path: string, onLine: (line: string) => void): Promise<() => Promise<void>> {
  let offset = await sizeOf(path);

  async function readOn(): Promise<void> {
    const text = await readFrom(path, offset, FOLLOW_BYTES_MAX);
    const complete = text.slice(0, text.lastIndexOf('\n') + 1);
    offset += Buffer.byteLength(complete);
    for (const line of complete.split('\n')) if (line !== '') onLine(line);
  }

  const work = { what: 'log of a server', work: readOn, keepsProcess: false };
  const following = startTask({ ...work, everyMs: FOLLOW_INTERVAL_MS });
  return async () => {
    await following.stop();
    await readOn();
  };
}

async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    (file) => file.size,
    () => 0,
  );
}

/** Empty when the file cannot be read: a log never causes a failure. */
async function readFrom(path: string, position: number, bytesMax: number): Promise<string> {
  const file = await open(path, 'r').catch(() => null);
  if (file === null) return '';
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(bytesMax), 0, bytesMax, position);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Another process may take it before it is used. */
export async function freePort(): Promise<number> {
  const port = await listenOnce(0);
  if (port === null) throw new Error('no port of 127.0.0.1 is free');
  return port;
}

export async function isPortFree(port: number): Promise<boolean> {
  return (await listenOnce(port)) !== null;
}

/** Null when the port is taken. */
function listenOnce(wanted: number): Promise<number | null> {
  return new Promise((settle, reject) => {
    const server = createServer().once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') settle(null);
      else reject(error);
    });
    server.listen(wanted, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      server.close(() => settle(port));
    });
  });
}

export interface FormerServer {
  /** Its name in messages. */
  readonly name: string;
  readonly stopSignal: NodeJS.Signals;
  readonly userIds: readonly number[];
  readonly isCommandLine: (commandLine: readonly string[]) => boolean;
}

/** A fast shutdown of PostgreSQL writes a checkpoint: `shared_buffers` at most, some seconds on a slow disk. */
const FAREWELL_MS = 30_000;
/** From SIGKILL to the end of a process that waits for the disk. */
const DEATH_MS = 10_000;

/** The name of the server in `home`, as on its command line. */
export function serverNameOf(home: string): string {
  return `vigie-${createHash('sha256').update(home).digest('hex').slice(0, 16)}`;
}

/**
 * Servers of a former daemon that still run in our directory: the kernel sent them a stop signal when that daemon died,
 * and they may still be writing. They are recognised by their command line, never by a pid file, which outlives its
 * process, and only among the processes of the users that they may run as: anyone can start a program with any command
 * line. The caller holds the data directory, so no living daemon owns what is found here. Resolves when no such process
 * is left. They are sent `stopSignal` (a daemon killed at the moment of the start has not set the kernel's signal yet),
 * and killed after 30 seconds. Throws `ServerStartError` when one survives that.
 */
export async function endFormerServer(former: FormerServer): Promise<void> {
  const killAt = performance.now() + FAREWELL_MS;
  const asked = new Set<number>();
  for (;;) {
    const left = await findProcesses(former);
    if (left.length === 0) return;
    if (performance.now() > killAt + DEATH_MS) {
      throw new ServerStartError(`${former.name}: a former one does not end (process ${left.join(', ')})`);
    }
    for (const pid of left) {
      if (performance.now() > killAt) signal(pid, 'SIGKILL');
      else if (!asked.has(pid)) signal(pid, former.stopSignal);
      asked.add(pid);
    }
    await pause(POLL_MS);
  }
}

async function findProcesses(former: FormerServer): Promise<readonly number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const areFormer = await Promise.all(pids.map((pid) => isFormer(pid, former)));
  return pids.filter((_, at) => areFormer[at]);
}

/** A zombie has no command line, and is not found. */
async function isFormer(pid: number, { userIds, isCommandLine }: FormerServer): Promise<boolean> {
  const commandLine = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  if (pid === process.pid || !isCommandLine(commandLine.split('\0'))) return false;
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const [, userId] = /^Uid:\t(\d+)/m.exec(status) ?? [];
  return userId !== undefined && userIds.includes(Number(userId));
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // The process ended between the listing and the signal.
  }
}
