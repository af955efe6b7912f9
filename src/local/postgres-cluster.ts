/**
 * Creates the database cluster, completely or not at all: everything is made in a directory beside and renamed into
 * place, so an interrupted attempt is thrown away by the next one. A cluster of another user is taken over, and one
 * whose passwords are lost gets new ones.
 */

import { access, open, rename, rm } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { ServerStartError } from './child-server.ts';
import type { PostgresBinaries } from './postgres-binaries.ts';
import { POSTGRES_SUPERUSER, type PostgresPasswords, readPasswords, setRoles } from './postgres-roles.ts';
import { POSTGRES_DATABASE, type PostgresHome, pathFromChild, runSingleUser, runTool } from './postgres-tools.ts';
import { randomSecret, writeSecret } from './secret-file.ts';
import { giveDirectory, giveTree, secureHome } from './server-home.ts';

const INITDB_PASSWORD_FILE = 'initdb-password';

/** `isDurable: false` leaves out every fsync, for tests. The caller holds the data directory, and no server works in it. */
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
  const staging = { ...home, path: `${home.path}.new` };
  // A program of the interrupted attempt may write its last files meanwhile.
  await rm(staging.path, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  await secureHome(staging.path, staging.user);
  const passwords = await initialise(staging, binaries, isDurable);
  await rename(staging.path, home.path);
  if (isDurable) await syncDirectory(dirname(home.path));
  return passwords;
}

/**
 * A user without an entry in the machine's list of users can run a cluster, and not make one: initdb looks itself up.
 * Throws `ServerStartError` for one who would have to.
 */
export async function assertCanPrepare(home: PostgresHome): Promise<void> {
  if (home.user !== null || ((await isThere(clusterOf(home))) && (await readPasswords(home)) !== null)) return;
  try {
    userInfo();
  } catch (cause) {
    const user = process.geteuid?.();
    throw new ServerStartError(
      `embedded PostgreSQL: the user id ${user} has no entry in the machine's list of users, which making a database ` +
        `needs. Add one (useradd --uid ${user} NAME), run as another user, or set DATABASE_URL to a PostgreSQL that runs.`,
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
  // One that is never used: `setRoles` replaces it by one that the server's user cannot read.
  await writeSecret(join(home.path, INITDB_PASSWORD_FILE), randomSecret(), home.user);
  await runTool(home, binaries.initdb, [
    `--pgdata=${pathFromChild(home, 'cluster')}`,
    `--username=${POSTGRES_SUPERUSER}`,
    `--pwfile=${pathFromChild(home, INITDB_PASSWORD_FILE)}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    // Characters as Unicode has them whatever the machine's libc knows, in code point order; `C` for the rest of libc.
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

function clusterOf(home: PostgresHome): string {
  return join(home.path, 'cluster');
}

/** Its home is renamed into place when all is there. */
function isThere(cluster: string): Promise<boolean> {
  return access(join(cluster, 'PG_VERSION')).then(
    () => true,
    () => false,
  );
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  await directory.sync().finally(() => directory.close());
}
