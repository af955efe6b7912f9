/** PostgreSQL checks of the manual, how long its disk lasts, and how old the last backup is. */

import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Config } from '../../config.ts';
import type { Database } from '../../engine/store/database.ts';
import { readNewestMigration } from '../../engine/store/installation.ts';
import { listInstances } from '../../engine/store/instances.ts';
import { readLastBackup } from '../../local/postgres-backup.ts';
import { VERSION } from '../../version.ts';
import { bytesText, type Finding, findingsAbout } from './finding.ts';

const { fine, lookAt, wrong, unknown } = findingsAbout('PostgreSQL');

/** The day on which the support of a major version ends (postgresql.org, versioning policy). */
const SUPPORT_ENDS: Readonly<Record<string, string>> = {
  13: '2025-11-13',
  14: '2026-11-12',
  15: '2027-11-11',
  16: '2028-11-09',
  17: '2029-11-08',
  18: '2030-11-14',
};
const GIBIBYTE = 1024 ** 3;
const MAX_WAL_LEAST = 4 * GIBIBYTE;
/** Half of the manual's recommendation. */
const SHARED_BUFFERS_LEAST = GIBIBYTE / 2;
/** In addition to the two pools of an instance: explanations, the worker thread, leadership, unknown keys. */
const OTHER_CONNECTIONS = 6;
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** A restore takes in again what the stream of adverts holds, which may be a day: time to make the next one. */
const BACKUP_HOURS_MAX = 20;
/** Below this the disk is full before an operator can react. */
const FREE_SHARE_LEAST = 0.05;

export interface DatabaseScene {
  readonly database: Database;
  readonly config: Config;
  /** The directory of the embedded server; null when PostgreSQL is given. */
  readonly embeddedIn: string | null;
  readonly now: Date;
}

/** Rejects when PostgreSQL goes away meanwhile. */
export async function checkDatabase(scene: DatabaseScene): Promise<readonly Finding[]> {
  const settings = await readSettings(scene.database);
  const newestMigration = await readNewestMigration(scene.database);
  const findings = [...versionFindings(settings, scene.now), ...settingFindings(settings, scene)];
  if (newestMigration === 0) {
    return [
      ...findings,
      ...connectionFindings(settings, scene, 1),
      fine('the database is empty: the first start prepares it'),
    ];
  }
  const instances = await listInstances(scene.database);
  const about = findingsAbout('service');
  return [
    ...findings,
    ...connectionFindings(settings, scene, Math.max(1, instances.length)),
    ...(await diskFindings(scene)),
    ...(await backupFindings(scene)),
    ...instances.flatMap(({ host, processId, version, failing }) => [
      ...(version === VERSION
        ? []
        : [
            about.lookAt(
              `${host}:${processId} has version ${version}, and this is ${VERSION}`,
              'restart it with this one',
            ),
          ]),
      ...failing.map(({ actor, reason }) => about.wrong(`${host}:${processId} fails at ${actor}: ${reason}`)),
    ]),
  ];
}

type Settings = Awaited<ReturnType<typeof readSettings>>;

/** Settings of the server; a session's own do not count. No table is read. */
async function readSettings(database: Database) {
  const { rows } = await database.query<{
    version: string;
    encoding: string;
    fsync: string;
    fullPageWrites: string;
    standbys: string;
    autovacuum: string;
    walCompression: string;
    maxWalBytes: number;
    sharedBufferBytes: number;
    connectionsMax: number;
  }>(
    `select current_setting('server_version') as version, current_setting('server_encoding') as encoding,
       current_setting('fsync') as fsync, current_setting('full_page_writes') as "fullPageWrites",
       current_setting('autovacuum') as autovacuum,
       current_setting('synchronous_standby_names') as standbys,
       current_setting('wal_compression') as "walCompression",
       pg_size_bytes(current_setting('max_wal_size'))::float8 as "maxWalBytes",
       pg_size_bytes(current_setting('shared_buffers'))::float8 as "sharedBufferBytes",
       current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer
         as "connectionsMax"`,
  );
  return rows[0] as (typeof rows)[number];
}

function versionFindings({ version }: Settings, now: Date): readonly Finding[] {
  const ends = SUPPORT_ENDS[version.split('.', 1).join('')];
  const isSupported = ends === undefined || now.toISOString().slice(0, 10) <= ends;
  if (isSupported) return [fine(`version ${version}`)];
  return [lookAt(`version ${version} has been out of support since ${ends}`, 'upgrade it')];
}

function settingFindings(settings: Settings, { config, embeddedIn }: DatabaseScene): readonly Finding[] {
  const { fsync, fullPageWrites, standbys, autovacuum, walCompression, encoding } = settings;
  const { maxWalBytes, sharedBufferBytes } = settings;
  const isSeveral = config.databaseUrl?.split('@').at(-1)?.includes(',') ?? false;
  const rules: readonly (readonly [boolean, Finding])[] = [
    [encoding !== 'UTF8', wrong(`the encoding is ${encoding}`, 'make the database anew with the encoding UTF8')],
    [fsync === 'off', wrong('fsync is off, a power cut may destroy the database', 'set fsync = on')],
    [
      fullPageWrites === 'off',
      wrong('full_page_writes is off, a power cut may destroy the database', 'set full_page_writes = on'),
    ],
    [autovacuum === 'off', wrong('autovacuum is off, tables only grow', 'set autovacuum = on')],
    [
      isSeveral && standbys === '',
      lookAt(
        'no standby confirms commits, and a promotion loses the last ones',
        'name it in synchronous_standby_names',
      ),
    ],
    [
      embeddedIn === null && maxWalBytes < MAX_WAL_LEAST,
      lookAt(`max_wal_size is ${bytesText(maxWalBytes)}, checkpoints make changes dear`, 'set max_wal_size = 4GB'),
    ],
    [
      !['off', 'lz4'].includes(walCompression),
      lookAt(`wal_compression is ${walCompression}, which costs much CPU`, 'set wal_compression = off, or lz4'),
    ],
    [
      embeddedIn === null && sharedBufferBytes < SHARED_BUFFERS_LEAST,
      lookAt(
        `shared_buffers is ${bytesText(sharedBufferBytes)}, pages are written again and again`,
        'set shared_buffers = 1GB, or a quarter of the memory where that is less',
      ),
    ],
  ];
  const findings = rules.flatMap(([isSo, finding]) => (isSo ? [finding] : []));
  return findings.length === 0 ? [fine('its settings are as the manual asks')] : findings;
}

function connectionFindings(
  { connectionsMax }: Settings,
  { config }: DatabaseScene,
  instances: number,
): readonly Finding[] {
  const needed = instances * (2 * config.databaseConnectionsMax + OTHER_CONNECTIONS);
  if (needed <= connectionsMax) return [];
  const wanted = `${instances} instance${instances === 1 ? '' : 's'} may open ${needed} connections`;
  return [
    lookAt(
      `${wanted}, and it takes ${connectionsMax}`,
      'raise max_connections, or lower VIGIE_DATABASE_CONNECTIONS_MAX',
    ),
  ];
}

/** Served by the primary key of `events`. */
async function diskFindings({ database, config, embeddedIn, now }: DatabaseScene): Promise<readonly Finding[]> {
  const { rows } = await database.query<{ bytes: number; since: Date | null }>(
    `select pg_database_size(current_database())::float8 as bytes,
       (select recorded_at from events order by id limit 1) as since`,
  );
  const { bytes, since } = rows[0] as (typeof rows)[number];
  const kept = Object.values(config.retentionDays);
  const days = kept.includes(0) ? null : Math.max(...kept);
  const ageDays = since === null ? 0 : (now.getTime() - since.getTime()) / DAY_MS;
  const has = `the database has ${bytesText(bytes)}`;
  // Deleted rows count only for the days for which they are kept.
  const perDay = ageDays < 1 ? null : bytes / Math.min(ageDays, days ?? ageDays);
  const growth = growthText(perDay, days);
  if (embeddedIn === null) return [unknown(`${has}, ${growth}`, 'whether its disk has room cannot be seen from here')];
  const { bavail, blocks, bsize } = await statfs(embeddedIn);
  const free = bavail * bsize;
  const said = `${has}, ${growth}; its disk has ${bytesText(free)} free`;
  if (bavail < blocks * FREE_SHARE_LEAST) return [wrong(said, 'make room')];
  const missing = perDay === null || days === null ? 0 : perDay * days - bytes - free;
  if (missing <= 0) return [fine(said)];
  return [lookAt(said, `make room for ${bytesText(missing)} more, or lower VIGIE_RETENTION_…_DAYS`)];
}

/** The owner of a given PostgreSQL takes care of its backups. */
async function backupFindings({ embeddedIn, now }: DatabaseScene): Promise<readonly Finding[]> {
  if (embeddedIn === null) return [];
  const at = await readLastBackup(dirname(embeddedIn));
  const remedy = 'run vigie backup FILE every night, and keep FILE on another machine';
  if (at === null) return [lookAt('there is no backup', remedy)];
  const hours = Math.floor((now.getTime() - at.getTime()) / HOUR_MS);
  const said = `the last backup is ${hours} hours old`;
  return [hours < BACKUP_HOURS_MAX ? fine(said) : lookAt(`${said}, adverts may leave NATS after 24`, remedy)];
}

function growthText(perDay: number | null, days: number | null): string {
  if (perDay === null) return 'and how fast it grows shows after a day';
  const daily = `and some ${bytesText(perDay)} a day`;
  return days === null ? `${daily} for ever` : `${daily}, kept for up to ${days} days: ${bytesText(perDay * days)}`;
}
