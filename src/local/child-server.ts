/**
 * A server as a child process that cannot outlive the daemon. `setpriv --pdeathsig` (util-linux) has the kernel send
 * the server its stop signal when the daemon dies, even of SIGKILL; without it an orphan would hold the data, and the
 * next start would fail. The child leads a session of its own, so that a Ctrl-C in the terminal reaches the daemon
 * alone, which stops its servers last.
 *
 * The kernel watches the thread that started the child: start servers from the main thread.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { endsWithin, pause } from '../engine/actor/waiting.ts';
import { followServerLog, openServerLog, tailOf } from './server-log.ts';
import type { ServerUser } from './server-user.ts';

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
  /** As messages call it. */
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
  /** Whom to run as; null: the daemon's user. */
  readonly user: ServerUser | null;
  /** Inherited by the child as file descriptors 3 and up: a way to what its user cannot walk to. */
  readonly handles?: readonly number[];
}

/** There is no program to start. */
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
