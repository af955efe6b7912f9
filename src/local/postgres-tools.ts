/**
 * Running PostgreSQL's own programs on a cluster. They may run as a user who cannot walk to it (`/root/…`): the daemon
 * opens the directory, and they reach it through `/proc/self/fd/3`.
 */

import { spawn } from 'node:child_process';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { ServerStartError, setprivArguments } from './child-server.ts';
import type { PostgresBinaries } from './postgres-binaries.ts';
import { openServerLog, tailOf } from './server-log.ts';
import type { ServerUser } from './server-user.ts';

/** The directory of the cluster, its passwords and its log. */
export interface PostgresHome {
  readonly path: string;
  /** Whom PostgreSQL runs as; null: the daemon's user. */
  readonly user: ServerUser | null;
}

export const POSTGRES_DATABASE = 'vigie';

/** Nothing of the caller's: PGDATA, LC_ALL and the like would change what the programs do. */
export const POSTGRES_ENVIRONMENT: Readonly<Record<string, string>> = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };

/** Where a PostgreSQL program that inherited the home as descriptor 3 finds `name` in it. */
export function pathFromChild(home: PostgresHome, name: string): string {
  return home.user === null ? join(home.path, name) : `/proc/self/fd/3/${name}`;
}

/** Runs a PostgreSQL program to its end. Throws `ServerStartError` with what it said. */
export async function runTool(home: PostgresHome, command: string, args: readonly string[], input = ''): Promise<void> {
  const logFile = join(home.path, 'server.log');
  const log = await openServerLog(logFile);
  const logStart = (await log.stat()).size;
  const handle = await open(home.path, 'r');
  const tool = spawn('setpriv', setprivArguments({ command, args, stopSignal: 'SIGKILL', user: home.user }), {
    cwd: home.path,
    detached: true,
    env: POSTGRES_ENVIRONMENT,
    stdio: ['pipe', log.fd, log.fd, handle.fd],
  });
  const exitCode = await new Promise<number | null>((ended, reject) => {
    tool.once('error', reject).once('exit', ended);
    // A program that ends before it reads says why by itself.
    tool.stdin?.on('error', () => undefined).end(input);
  }).finally(() => closeAll(log, handle));
  if (exitCode === 0) return;
  const said = await tailOf(logFile, logStart);
  throw new ServerStartError(`embedded PostgreSQL: ${command} ended with code ${exitCode}:\n${said}`);
}

/**
 * Runs statements as the superuser, without a server and its passwords: of a server that crashed, the log is replayed
 * first. Throws `ServerStartError` at the first that fails. `isDurable: false` leaves out every fsync.
 */
export async function runSingleUser(
  home: PostgresHome,
  binaries: PostgresBinaries,
  database: string,
  statements: readonly string[],
  isDurable: boolean,
): Promise<void> {
  const settings = {
    fsync: isDurable ? 'on' : 'off',
    exit_on_error: 'on',
    // Statements may hold passwords.
    log_min_error_statement: 'panic',
    log_checkpoints: 'off',
  };
  // -j: a statement ends with a semicolon and an empty line.
  const args = [
    ...['--single', '-j', '-D', pathFromChild(home, 'cluster')],
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    database,
  ];
  await runTool(home, binaries.postgres, args, statements.map((each) => `${each};\n\n`).join(''));
}

async function closeAll(...handles: readonly FileHandle[]): Promise<void> {
  for (const handle of handles) await handle.close();
}
