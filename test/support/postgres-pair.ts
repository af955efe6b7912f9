/**
 * A primary and a streaming standby on the loopback interface, which can change roles repeatedly. A commit is answered
 * only after the standby has it, except after `loosen`, and between a promotion and the return of the former primary.
 */

import { execFile } from 'node:child_process';
import { chown, mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type pg from 'pg';
import { type PostgresServer, startPostgres } from '../../src/local/postgres.ts';
import { withClient } from './database.ts';
import { portForLater } from './ports.ts';
import { CACHE, type Cleanup, copyTestCluster, TEST_SETTINGS, type TestServer, temporaryDirectory } from './servers.ts';
import { untilIs } from './until.ts';

const run = promisify(execFile);

/** As a `TestServer` it is the current primary. */
export interface PostgresPair extends TestServer {
  /** Names both servers; a client that uses it connects to the writable server. */
  readonly url: string;
  /** One URL for each server, the current primary first. */
  readonly urls: readonly [string, string];
  /** For the current primary. */
  readonly superuserUrl: string;
  readonly standby: Pick<TestServer, 'pid'>;
  /** Data directory of the current primary. */
  readonly directory: string;
  /** From now on commits do not wait for the standby. */
  loosen(): Promise<void>;
  /** After `loosen`: waits until the standby has all previous commits, then ends its replication. */
  detach(): Promise<void>;
  /** After `kill`: makes the standby the primary. */
  promote(): Promise<void>;
  /** After `promote`: restores the former primary as a standby, from a copy of the new primary. */
  rejoin(): Promise<void>;
}

interface Member {
  readonly dataDir: string;
  server: PostgresServer;
  isUp: boolean;
}

/** Both servers have all settings, because either may be the primary. */
const SETTINGS = {
  ...TEST_SETTINGS,
  wal_level: 'replica',
  // Keeps the log that is written while the standby is copied.
  wal_keep_size: '256MB',
  max_wal_size: '256MB',
  wal_retrieve_retry_interval: '200ms',
};
const STANDBY_NAME = 'standby';
/** A file that disappears while the directory is copied makes the copy fail. */
const COPY_ATTEMPTS = 5;

/** `directories`: data directories of the two servers, by default temporary directories. */
export async function startPostgresPair(cleanup: Cleanup, directories: readonly string[] = []): Promise<PostgresPair> {
  const [first = await temporaryDirectory('primary'), second = await temporaryDirectory('standby')] = directories;
  let primary = await startMember(cleanup, first, copyTestCluster);
  let standby = await startMember(cleanup, second, async (dataDir) => {
    await copyTestCluster(dataDir);
    await copyCluster(primary, dataDir);
  });
  await untilSynchronous(primary.server);
  const hosts = [primary, standby].map(({ server }) => new URL(server.url).host).join(',');
  const { username, password, pathname } = new URL(primary.server.url);
  return {
    url: `postgres://${username}:${password}@${hosts}${pathname}?target_session_attrs=read-write`,
    get urls(): [string, string] {
      return [primary.server.url, standby.server.url];
    },
    get superuserUrl() {
      return primary.server.superuserUrl;
    },
    get directory() {
      return primary.dataDir;
    },
    get pid() {
      return primary.isUp ? primary.server.pid : null;
    },
    standby: {
      get pid() {
        return standby.isUp ? standby.server.pid : null;
      },
    },
    async kill() {
      if (primary.isUp) process.kill(primary.server.pid, 'SIGKILL');
      await primary.server.exited;
      primary.isUp = false;
    },
    async stop() {
      await primary.server.stop();
      primary.isUp = false;
    },
    async restart() {
      if (primary.isUp) return;
      await startAgain(primary);
      // Unanswered commits are visible now, and must not be lost with this server.
      await untilSynchronous(primary.server);
    },
    async loosen() {
      await on(primary.server, `alter system set synchronous_standby_names = ''`);
      await on(primary.server, 'select pg_reload_conf()');
    },
    async detach() {
      const { server } = primary;
      await untilIs(
        async () =>
          (await on(server, 'select replay_lsn = pg_current_wal_lsn() as same from pg_stat_replication')).rows[0]?.same,
        true,
      );
      await on(standby.server, `alter system set primary_conninfo = ''`);
      await on(standby.server, 'select pg_reload_conf()');
      await untilIs(async () => (await on(server, 'select from pg_stat_replication')).rowCount, 0);
    },
    async promote() {
      await on(standby.server, 'select pg_promote()');
      [primary, standby] = [standby, primary];
    },
    async rejoin() {
      await copyCluster(primary, standby.dataDir);
      await startAgain(standby);
      await untilSynchronous(primary.server);
    },
  };
}

async function startMember(
  cleanup: Cleanup,
  dataDir: string,
  fill: (dataDir: string) => Promise<void>,
): Promise<Member> {
  cleanup.after(() => rm(dataDir, { recursive: true, force: true, maxRetries: 10 }));
  await mkdir(dataDir, { recursive: true });
  await fill(dataDir);
  const server = await startPostgres({ dataDir, cacheDir: CACHE, settings: SETTINGS, port: await portForLater() });
  const member = { dataDir, server, isUp: true };
  cleanup.after(() => member.server.stop());
  return member;
}

async function startAgain(member: Member): Promise<void> {
  const port = Number(new URL(member.server.url).port);
  member.server = await startPostgres({ dataDir: member.dataDir, cacheDir: CACHE, settings: SETTINGS, port });
  member.isUp = true;
}

/**
 * Makes `dataDir` a standby of the running primary. The embedded binaries lack pg_basebackup, which would do the same
 * (PostgreSQL, "Making a Base Backup Using the Low Level API").
 */
async function copyCluster({ dataDir: source, server }: Member, dataDir: string): Promise<void> {
  const cluster = join(dataDir, 'postgres/cluster');
  const label = await withClient(server.superuserUrl, async (client) => {
    await client.query("select pg_backup_start('standby', true)");
    for (let attempt = 1; ; attempt++) {
      await rm(cluster, { recursive: true, force: true });
      const copied = run('cp', ['-a', '--reflink=auto', join(source, 'postgres/cluster'), cluster]);
      const error = await copied.then(
        () => null,
        (failure: Error) => failure,
      );
      if (error === null) break;
      if (attempt === COPY_ATTEMPTS) throw error;
    }
    const { rows } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)');
    return (rows[0] as { labelfile: string }).labelfile;
  });
  const { uid, gid } = await stat(cluster);
  for (const stale of ['postmaster.pid', 'postmaster.opts', 'standby.signal', 'pg_wal']) {
    await rm(join(cluster, stale), { recursive: true, force: true });
  }
  await mkdir(join(cluster, 'pg_wal'), { mode: 0o700 });
  const { username, password, hostname, port } = new URL(server.superuserUrl);
  const conninfo = `host=${hostname} port=${port} user=${username} password=${password} application_name=${STANDBY_NAME}`;
  await writeFile(join(cluster, 'postgresql.auto.conf'), `primary_conninfo = '${conninfo}'\n`);
  await writeFile(join(cluster, 'backup_label'), label);
  await writeFile(join(cluster, 'standby.signal'), '');
  for (const made of ['pg_wal', 'postgresql.auto.conf', 'backup_label', 'standby.signal']) {
    await chown(join(cluster, made), uid, gid);
  }
}

/** Resolves when the standby replicates and every commit from now on waits for it. */
async function untilSynchronous(primary: PostgresServer): Promise<void> {
  await on(primary, `alter system set synchronous_standby_names = '${STANDBY_NAME}'`);
  await on(primary, 'select pg_reload_conf()');
  await untilIs(
    async () => (await on(primary, 'select sync_state from pg_stat_replication')).rows[0]?.sync_state,
    'sync',
  );
}

function on(server: PostgresServer, statement: string): Promise<pg.QueryResult> {
  return withClient(server.superuserUrl, (client) => client.query(statement));
}
