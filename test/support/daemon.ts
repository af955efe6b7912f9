/**
 * The daemon as its users run it: a process of its own on the servers of a test, with free ports, killed with the test.
 */

import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { createClient, findClientByName, createApiKey as insertApiKey } from '../../src/engine/store/clients.ts';
import { migrate, openDatabase } from '../../src/engine/store/database.ts';
import { LOADER, moduleUrl, ROOT } from './checkout.ts';
import type { Cleanup } from './servers.ts';
import { TUNING, type Tuning } from './tuning.ts';

/** Of every daemon and command of the tests. */
export const ADMIN_TOKEN = 'token-of-the-tests-0123456789';

export type Settings = Readonly<Record<string, string>>;

/** As settings: values in the place of those of the configuration that no setting changes. */
export function tuned(values: Tuning): Settings {
  return { [TUNING]: JSON.stringify(values) };
}

/** What a daemon needs to know of them. */
export interface ServerUrls {
  readonly postgres: { readonly url: string };
  readonly nats: { readonly url: string };
}

export type LogLine = Readonly<Record<string, unknown>>;

/** In a process of its own (`startDaemon`), or in the test's (`startHere`). */
export interface RunningService {
  readonly apiUrl: string;
  /** `host:port` of the gRPC interface. */
  readonly adminAddress: string;
  readonly operationsUrl: string;
  /** Every log line so far. */
  readonly log: readonly LogLine[];
  /** As asked by the signal; resolves with the exit code (null when killed) once it has ended. */
  end(signal: 'SIGTERM'): Promise<number | null>;
}

export interface Daemon extends RunningService {
  readonly process: ChildProcess;
  /** What it has written to standard error, where a crash shows its stack. */
  readonly errors: readonly string[];
  /** Sends the signal and resolves with the exit code (null when killed) once the process is gone. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

export interface DaemonOptions {
  /** Told with its first word. */
  readonly onStarting?: (daemon: ChildProcess) => void;
  /** The directory of another version. */
  readonly root?: string;
  /** As `ulimit -n` sets it. */
  readonly descriptorsMax?: number;
}

/** Resolves when the daemon says it is ready; rejects with its output when it ends before. */
export async function startDaemon(
  cleanup: Cleanup,
  servers: ServerUrls,
  settings: Settings = {},
  { onStarting = () => undefined, ...options }: DaemonOptions = {},
): Promise<Daemon> {
  const daemon = spawnVigie(['serve'], servers, { settings, ...options });
  cleanup.after(async () => {
    if (daemon.exitCode === null && daemon.signalCode === null) daemon.kill('SIGKILL');
  });
  const log: LogLine[] = [];
  const errors: string[] = [];
  daemon.stderr?.on('data', (chunk) => errors.push(String(chunk)));
  const exited = once(daemon, 'exit') as Promise<[number | null]>;
  const ready = new Promise<LogLine>((resolve) => {
    createInterface({ input: daemon.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      const entry = JSON.parse(line) as LogLine;
      log.push(entry);
      if (entry.message === 'starting') onStarting(daemon);
      if (entry.message === 'ready') resolve(entry);
    });
  });
  const failed = exited.then(([code]) => {
    throw new Error(
      `the daemon ended with ${code}:\n${log.map((line) => JSON.stringify(line)).join('\n')}\n${errors.join('')}`,
    );
  });
  const { api, operations, admin } = await Promise.race([ready, failed]);
  failed.catch(() => undefined);
  return {
    apiUrl: String(api),
    adminAddress: String(admin),
    operationsUrl: String(operations),
    process: daemon,
    log,
    errors,
    async end(signal) {
      daemon.kill(signal);
      return (await exited)[0];
    },
  };
}

export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs one `vigie` command to its end. */
export async function runVigie(
  args: readonly string[],
  servers: ServerUrls,
  options: { readonly settings?: Settings; readonly input?: string; readonly root?: string } = {},
): Promise<CommandResult> {
  const command = spawnVigie(args, servers, options);
  command.stdin.end(options.input ?? '');
  const [stdout, stderr, [code]] = await Promise.all([
    text(command.stdout),
    text(command.stderr),
    once(command, 'exit') as Promise<[number | null]>,
  ]);
  return { code, stdout, stderr };
}

/** As `vigie keys create` makes it, without a process of its own. */
export async function createApiKey({ postgres: { url } }: ServerUrls, client = 'tests'): Promise<string> {
  await migrate(url);
  const database = openDatabase({ url, connectionsMax: 1, onConnectionLost: () => undefined });
  try {
    const { id } = (await findClientByName(database, client)) ?? (await createClient(database, { name: client }));
    return (await insertApiKey(database, id, 'test')).key;
  } finally {
    await database.end();
  }
}

/** One `vigie` command, whose end its caller sees to. */
export function spawnVigie(
  args: readonly string[],
  servers: ServerUrls,
  {
    settings = {},
    root = ROOT,
    descriptorsMax,
  }: Omit<DaemonOptions, 'onStarting'> & { readonly settings?: Settings } = {},
): ChildProcessWithoutNullStreams {
  const options = { cwd: root, env: environmentOf(servers, settings) };
  const main = TUNING in settings ? 'test/support/tuned-daemon' : 'src/main';
  const program =
    root === ROOT ? [...LOADER, fileURLToPath(moduleUrl(main))] : ['--import=tsx', join(root, `${main}.ts`)];
  if (descriptorsMax === undefined) return spawn(process.execPath, [...program, ...args], options);
  const limited = `ulimit -n ${descriptorsMax} && exec "$0" "$@"`;
  return spawn('sh', ['-c', limited, process.execPath, ...program, ...args], options);
}

/** Of a daemon or a command of a test. */
export function environmentOf(servers: ServerUrls, settings: Settings): Settings {
  return {
    PATH: process.env.PATH ?? '',
    DATABASE_URL: servers.postgres.url,
    NATS_URL: servers.nats.url,
    VIGIE_API_ADDRESS: '127.0.0.1:0',
    VIGIE_OPERATIONS_ADDRESS: '127.0.0.1:0',
    VIGIE_ADMIN_ADDRESS: '127.0.0.1:0',
    VIGIE_ADMIN_TOKEN: ADMIN_TOKEN,
    VIGIE_ALLOW_PRIVATE_ENDPOINTS: 'true',
    VIGIE_DRAIN_ANNOUNCE_MS: '100',
    // A busy machine drains as well, only later.
    VIGIE_DRAIN_TIMEOUT_MS: '600000',
    ...settings,
  };
}

/** What operators are to look at: not that a request took long on a busy machine, nor that an old server is in use. */
export function warningsIn({ log }: Pick<Daemon, 'log'>): Daemon['log'] {
  const isSlow = ({ message, status }: Daemon['log'][number]) => message === 'request' && Number(status) < 500;
  const isCalm = ({ level }: Daemon['log'][number]) => level === 'info' || level === 30;
  return log.filter((line) => !isCalm(line) && !isSlow(line) && !String(line.message).includes('out of support'));
}
