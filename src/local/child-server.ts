/**
 * Runs a server as a child process that ends with the daemon. `setpriv --pdeathsig` (util-linux) makes the kernel send
 * the server its stop signal when the daemon dies, even from SIGKILL. Otherwise an orphan would run until the next
 * start ends it. The child has its own session, so that Ctrl-C in the terminal reaches only the daemon, which stops its
 * servers last. One older log file is kept. Errors quote the last lines of the log.
 *
 * The kernel watches the thread that started the child, so servers must be started from the main thread.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type FileHandle, open, readdir, readFile, rename, stat } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { startTask } from '../engine/actor/task.ts';
import { endsWithin, pause } from '../engine/actor/waiting.ts';
import type { ServerUser } from './ownership.ts';

export interface EmbeddedServer {
  readonly url: string;
  readonly pid: number;
  /** Resolves with a description when the process ends for any reason. */
  readonly exited: Promise<string>;
  /** Stops gracefully within a time limit, then by SIGKILL. Resolves when the process has ended. May be repeated. */
  stop(): Promise<void>;
}

export type ChildServer = Omit<EmbeddedServer, 'url'> & { readonly logFile: string };

export interface EmbeddedServerOptions {
  /** Must be locked by the caller. A server that still runs there belongs to an earlier start and is stopped. */
  readonly dataDir: string;
  /** Receives programs that must be copied or downloaded. Default: `cacheDirectory()`. */
  readonly cacheDir?: string;
  /** Called for each line of the server's log. */
  readonly onLog?: (line: string) => void;
  /** Called for each weakness in the server's protection. */
  readonly onWarning?: (warning: string) => void;
  /** A free port if absent; for NATS also if 0. */
  readonly port?: number;
}

export interface ChildServerOptions {
  /** The name in messages. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly directory: string;
  readonly logFile: string;
  readonly onLog?: ((line: string) => void) | undefined;
  readonly stopSignal: NodeJS.Signals;
  readonly stopTimeoutMs: number;
  /** The child's whole environment; inherited if absent. */
  readonly environment?: Readonly<Record<string, string>>;
  /** The user of the process; null for the daemon's own user. */
  readonly user: ServerUser | null;
  /** Inherited as file descriptors 3 and up, for directories and programs that the user cannot reach by path. */
  readonly handles?: readonly number[];
}

/** The server's program is missing, or cannot run here. */
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
      ended(`${name} ended ${how}. The end of its log, ${logFile}:\n${await tailOf(logFile, logStart)}`);
    });
  });
  const spawned = once(child, 'spawn').catch((cause: NodeJS.ErrnoException) => {
    const reason = cause.code === 'ENOENT' ? 'setpriv is missing. Install util-linux' : cause.message;
    throw new ServerStartError(`Cannot start ${name}: ${reason}.`, { cause });
  });
  await spawned.finally(() => log.close());
  return { pid: child.pid as number, exited, logFile, stop: () => stop(child, exited, options) };
}

/** Also used for the short-lived tools of a server. */
export function setprivArguments(options: Pick<ChildServerOptions, 'command' | 'args' | 'stopSignal' | 'user'>) {
  const { command, args, stopSignal, user } = options;
  const identity =
    user === null ? [] : [`--reuid=${user.userId}`, `--regid=${user.groupId}`, '--clear-groups', '--no-new-privs'];
  return [...identity, `--pdeathsig=${stopSignal.slice('SIG'.length)}`, '--', command, ...args];
}

/**
 * Polls until `probe` returns a value. If the server is not ready after `timeoutMs`, stops it. In this case, and if the
 * server ends first, throws `ServerStartError` with the end of the log.
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
  throw new ServerStartError(`The server was not ready after ${timeoutMs / 1000} s. ${await server.exited}`);
}

async function stop(child: ChildProcess, exited: Promise<string>, options: ChildServerOptions): Promise<void> {
  child.kill(options.stopSignal);
  if (await endsWithin(exited, options.stopTimeoutMs)) return;
  child.kill('SIGKILL');
  await exited;
}

/** A larger log file is renamed at a start. A server logs some kilobytes a day if nothing happens. */
const ROTATE_BYTES = 8 * 1024 * 1024;
const TAIL_BYTES = 4_096;
const TAIL_LINES = 12;
const FOLLOW_INTERVAL_MS = 500;
const FOLLOW_BYTES_MAX = 64 * 1024;

/** The server writes to the file directly, because a pipe would break if the daemon is killed. */
export async function openServerLog(path: string): Promise<FileHandle> {
  const size = await sizeOf(path);
  if (size > ROTATE_BYTES) await rename(path, `${path}.1`);
  return open(path, 'a', 0o600);
}

/** The last lines after the byte `start`, where the log of this run begins. */
export async function tailOf(path: string, start: number): Promise<string> {
  const size = await sizeOf(path);
  const lines = (await readFrom(path, Math.max(start, size - TAIL_BYTES), TAIL_BYTES)).trim().split('\n');
  return lines.slice(-TAIL_LINES).join('\n') || '(it wrote nothing)';
}

/** Reports each new line within half a second. Returns a function that stops this. */
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

/** Empty if the file cannot be read, because an unreadable log must not cause a failure. */
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

/** Resolves with a free port of 127.0.0.1, which another process may take before it is used. */
export function freePort(): Promise<number> {
  return tryPort('127.0.0.1', 0).catch((cause: Error) => {
    throw new Error('No port of 127.0.0.1 is free. Stop other programs that listen there.', { cause });
  });
}

/** Listens briefly, and resolves with the port; 0 selects a free port. Rejects if the address is unavailable. */
export async function tryPort(host: string, wanted: number): Promise<number> {
  const server = createServer().listen(wanted, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await server[Symbol.asyncDispose]();
  return port;
}

export interface FormerServer {
  /** The name in messages. */
  readonly name: string;
  readonly stopSignal: NodeJS.Signals;
  readonly userIds: readonly number[];
  readonly isCommandLine: (commandLine: readonly string[]) => boolean;
}

/** On a fast shutdown, PostgreSQL writes at most `shared_buffers`, which takes some seconds on a slow disk. */
const FAREWELL_MS = 30_000;
/** After SIGKILL, a process that waits for the disk may take this long to end. */
const DEATH_MS = 10_000;

/** The name of the server in `home`, which is part of its command line. */
export function serverNameOf(home: string): string {
  return `vigie-${createHash('sha256').update(home).digest('hex').slice(0, 16)}`;
}

/**
 * Ends servers of an earlier daemon that still run in our directory. When that daemon died, the kernel sent them a stop
 * signal, but they may still be writing. They are recognised by their command line, because a pid file outlives its
 * process. Only processes of the servers' users count, because anyone can start a program with any command line. The
 * caller has locked the data directory, so they belong to no living daemon. They receive `stopSignal` and, after 30
 * seconds, SIGKILL: if the daemon died while a server started, the kernel may have sent no signal. Resolves when none
 * remains. Throws `ServerStartError` if a process survives.
 */
export async function endFormerServer(former: FormerServer): Promise<void> {
  const killAt = performance.now() + FAREWELL_MS;
  const signalled = new Set<number>();
  for (;;) {
    const left = await findProcesses(former);
    if (left.length === 0) return;
    if (performance.now() > killAt + DEATH_MS) {
      throw new ServerStartError(
        `${former.name}: process ${left.join(', ')} of an earlier start does not end. End it, then start the service again.`,
      );
    }
    for (const pid of left) {
      if (performance.now() > killAt) signal(pid, 'SIGKILL');
      else if (!signalled.has(pid)) signal(pid, former.stopSignal);
      signalled.add(pid);
    }
    await pause(POLL_MS);
  }
}

async function findProcesses(former: FormerServer): Promise<readonly number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const areFormer = await Promise.all(pids.map((pid) => isFormer(pid, former)));
  return pids.filter((_, at) => areFormer[at]);
}

/** A zombie has an empty command line and therefore does not match. */
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
    // The process has ended since it was listed.
  }
}
