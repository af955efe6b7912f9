/**
 * The daemon as its users run it: a separate process on a test's servers, with free ports, killed at the end of the
 * test.
 */

import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { createClient, findClientByName, createApiKey as insertApiKey } from '../../src/engine/store/clients.ts';
import { migrate, openDatabase } from '../../src/engine/store/database.ts';
import { moduleUrl, ROOT } from './checkout.ts';
import type { Cleanup } from './servers.ts';
import { TUNING, type Tuning } from './tuning.ts';

/** The administration token of all daemons and commands of the tests. */
export const ADMIN_TOKEN = 'token-of-the-tests-0123456789';

export type Settings = Readonly<Record<string, string>>;

/** An environment variable with values of the configuration that have no setting. */
export function tuned(values: Tuning): Settings {
  return { [TUNING]: JSON.stringify(values) };
}

/** The URLs of the servers that a daemon needs. */
export interface ServerUrls {
  readonly postgres: { readonly url: string };
  readonly nats: { readonly url: string };
}

export type LogLine = Readonly<Record<string, unknown>>;

/** Runs in its own process (`startDaemon`) or in the test's (`startHere`). */
export interface RunningService {
  readonly apiUrl: string;
  /** `host:port` of the gRPC interface. */
  readonly adminAddress: string;
  readonly operationsUrl: string;
  /** Every log line so far. */
  readonly log: readonly LogLine[];
  /** Ends the service as the signal does. Resolves with the exit code (null if killed) when the service has ended. */
  end(signal: 'SIGTERM'): Promise<number | null>;
}

export interface Daemon extends RunningService {
  readonly process: ChildProcess;
  /** Its output on standard error, where a crash prints its stack. */
  readonly errors: readonly string[];
  /** Sends the signal. Resolves with the exit code (null if killed) when the process has ended. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

export interface DaemonOptions {
  /** Called when the daemon logs `starting`. */
  readonly onStarting?: (daemon: ChildProcess) => void;
  /** Directory of another version, with its sources or compiled. */
  readonly root?: string;
  /** Limit of open files, as `ulimit -n` sets it. */
  readonly descriptorsMax?: number;
}

/** Resolves when the daemon reports that it is ready. Rejects with its output if it ends first. */
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

/** Creates a key as `vigie keys create` does, but without a process. */
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

/** Starts one `vigie` command. The caller must end it. */
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
  const ending = existsSync(join(root, `${main}.js`)) ? '.js' : '.ts';
  const file = root === ROOT ? fileURLToPath(moduleUrl(main)) : join(root, main + ending);
  const program = file.endsWith('.js') ? [file] : ['--import=tsx', file];
  if (descriptorsMax === undefined) return spawn(process.execPath, [...program, ...args], options);
  const limited = `ulimit -n ${descriptorsMax} && exec "$0" "$@"`;
  return spawn('sh', ['-c', limited, process.execPath, ...program, ...args], options);
}

/** The environment of a daemon or a command of a test. */
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
    // A busy machine needs more time to drain.
    VIGIE_DRAIN_TIMEOUT_MS: '600000',
    ...settings,
  };
}

/**
 * Log lines above the level `info`, except those about slow requests, which a busy machine causes, and about servers
 * out of support.
 */
export function warningsIn({ log }: Pick<Daemon, 'log'>): Daemon['log'] {
  const isSlow = ({ message, status }: Daemon['log'][number]) => message === 'request' && Number(status) < 500;
  const isCalm = ({ level }: Daemon['log'][number]) => level === 'info' || level === 30;
  return log.filter((line) => !isCalm(line) && !isSlow(line) && !String(line.message).includes('out of support'));
}
