/** A primary and a streaming standby on the loopback interface. No commit is answered before the standby has it. */

import { execFile } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { cacheDirectory } from '../../src/embedded/data-directory.ts';
import { startPostgres } from '../../src/embedded/postgres.ts';
import { type Cleanup, copyTestCluster, TEST_SETTINGS, temporaryDirectory } from './servers.ts';
import { until } from './until.ts';

const run = promisify(execFile);

export interface PostgresPair {
  /** Both, for an instance that wants the one which takes writes. */
  readonly url: string;
  readonly primaryUrl: string;
  readonly standbyUrl: string;
  readonly primaryPid: number;
  killPrimary(): Promise<void>;
  /** Makes the standby the primary. */
  promote(): Promise<void>;
  /** After `promote`: the former primary comes back as the standby of the other. */
  rejoin(): Promise<void>;
}

export async function startPostgresPair(cleanup: Cleanup): Promise<PostgresPair> {
  const cacheDir = cacheDirectory(process.env.VIGIE_CACHE_DIR || null);
  const primaryDir = await temporaryDirectory('primary');
  const standbyDir = await temporaryDirectory('standby');
  await copyTestCluster(primaryDir);
  // Both begin with the same files, as after pg_basebackup, which the embedded binaries lack.
  await run('cp', ['-a', '--reflink=auto', join(primaryDir, 'postgres'), join(standbyDir, 'postgres')]);
  const start = (dataDir: string, settings: Record<string, string>, port?: number) =>
    startPostgres({
      dataDir,
      cacheDir,
      settings: { ...TEST_SETTINGS, wal_level: 'replica', wal_log_hints: 'on', ...settings },
      ...(port === undefined ? {} : { port }),
    });
  const follow = async (dataDir: string, url: string): Promise<Record<string, string>> => {
    await writeFile(join(dataDir, 'postgres/cluster/standby.signal'), '');
    const { username, password, hostname, port } = new URL(url);
    const primary = { host: hostname, port, user: username, password, application_name: 'standby' };
    return {
      primary_conninfo: Object.entries(primary)
        .map(([name, value]) => `${name}=${value}`)
        .join(' '),
    };
  };
  const primary = await start(primaryDir, { synchronous_standby_names: 'standby' });
  cleanup.after(() => rm(primaryDir, { recursive: true, force: true }));
  cleanup.after(() => primary.stop());
  const standby = await start(standbyDir, await follow(standbyDir, primary.superuserUrl));
  cleanup.after(() => rm(standbyDir, { recursive: true, force: true }));
  cleanup.after(() => standby.stop());
  const hosts = [primary.url, standby.url].map((url) => new URL(url).host).join(',');
  const { username, password, pathname } = new URL(primary.url);
  const url = `postgres://${username}:${password}@${hosts}${pathname}?target_session_attrs=read-write`;
  const on = async (server: string, statement: string) => {
    const client = new pg.Client({ connectionString: server });
    await client.connect();
    return client.query(statement).finally(() => client.end());
  };
  await until(
    async () => (await on(primary.superuserUrl, 'select sync_state from pg_stat_replication')).rows[0]?.sync_state,
    (state) => state === 'sync',
  );
  return {
    url,
    primaryUrl: primary.url,
    standbyUrl: standby.url,
    primaryPid: primary.pid,
    async killPrimary() {
      process.kill(primary.pid, 'SIGKILL');
      await primary.exited;
    },
    async promote() {
      await on(standby.superuserUrl, 'select pg_promote()');
    },
    async rejoin() {
      const returned = await start(
        primaryDir,
        await follow(primaryDir, standby.superuserUrl),
        Number(new URL(primary.url).port),
      );
      cleanup.after(() => returned.stop());
    },
  };
}
