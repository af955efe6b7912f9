/** Checks PostgreSQL against the manual. For the embedded server, also checks free disk space and the last backup. */

import { dirname } from 'node:path';
import type { Config } from '../../config.ts';
import type { Database } from '../../engine/store/database.ts';
import { listInstances } from '../../engine/store/instances.ts';
import { readNewestMigration } from '../../engine/store/schema.ts';
import { bytesText } from '../../local/disk-space.ts';
import { readLastBackup } from '../../local/postgres-backup.ts';
import { diskFinding, type Finding, findingsAbout } from './finding.ts';

const { fine, lookAt, wrong } = findingsAbout('PostgreSQL');

const GIBIBYTE = 1024 ** 3;
const MAX_WAL_LEAST = 4 * GIBIBYTE;
/** Half of the value that the manual recommends. */
const SHARED_BUFFERS_LEAST = GIBIBYTE / 2;
/** Connections outside the two pools of an instance: clients' queries, the worker thread, leadership, key look-ups. */
const OTHER_CONNECTIONS = 6;
const HOUR_MS = 3_600_000;
/** A restore needs the adverts since the backup, which NATS keeps for a day. Leaves time for the next backup. */
const BACKUP_HOURS_MAX = 20;

export interface DatabaseScene {
  readonly database: Database;
  readonly config: Config;
  /** The directory of the embedded server; null if DATABASE_URL is set. */
  readonly embeddedIn: string | null;
  readonly now: Date;
}

/** Rejects if PostgreSQL is lost during the checks. */
export async function checkDatabase(scene: DatabaseScene): Promise<readonly Finding[]> {
  const { database, embeddedIn, now } = scene;
  const settings = await readSettings(database);
  const isEmpty = (await readNewestMigration(database)) === 0;
  const instances = isEmpty ? [] : await listInstances(database);
  const about = [
    fine(`Version ${settings.version}.`),
    ...settingFindings(settings, scene),
    ...connectionFindings(settings, scene, Math.max(1, instances.length)),
  ];
  if (isEmpty) return [...about, fine('The database is empty. The first start prepares it.')];
  if (embeddedIn === null) return about;
  return [...about, await diskFinding('PostgreSQL', embeddedIn), await backupFinding(embeddedIn, now)];
}

type Settings = Awaited<ReturnType<typeof readSettings>>;

/** Settings that belong to the server rather than to a session. Reads no table. */
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

function settingFindings(settings: Settings, { config, embeddedIn }: DatabaseScene): readonly Finding[] {
  const { fsync, fullPageWrites, standbys, autovacuum, walCompression, encoding } = settings;
  const { maxWalBytes, sharedBufferBytes } = settings;
  const isSeveral = config.databaseUrl?.split('@').at(-1)?.includes(',') ?? false;
  const rules: readonly (readonly [boolean, Finding])[] = [
    [encoding !== 'UTF8', wrong(`The encoding is ${encoding}.`, 'Create the database again with the encoding UTF8.')],
    [fsync === 'off', wrong('fsync is off, so a power cut may destroy the database.', 'Set fsync = on.')],
    [
      fullPageWrites === 'off',
      wrong('full_page_writes is off, so a power cut may destroy the database.', 'Set full_page_writes = on.'),
    ],
    [autovacuum === 'off', wrong('autovacuum is off, so tables only grow.', 'Set autovacuum = on.')],
    [
      isSeveral && standbys === '',
      lookAt('No standby confirms commits, so a promotion may lose commits.', 'Set synchronous_standby_names.'),
    ],
    [
      embeddedIn === null && maxWalBytes < MAX_WAL_LEAST,
      lookAt(`max_wal_size is ${bytesText(maxWalBytes)}, so checkpoints are frequent.`, 'Set max_wal_size = 4GB.'),
    ],
    [
      !['off', 'lz4'].includes(walCompression),
      lookAt(`wal_compression is ${walCompression}, which uses much CPU time.`, 'Set wal_compression = off, or lz4.'),
    ],
    [
      embeddedIn === null && sharedBufferBytes < SHARED_BUFFERS_LEAST,
      lookAt(
        `shared_buffers is ${bytesText(sharedBufferBytes)}, so pages are written repeatedly.`,
        'Set shared_buffers = 1GB, or a quarter of the memory if that is less.',
      ),
    ],
  ];
  const findings = rules.flatMap(([isSo, finding]) => (isSo ? [finding] : []));
  return findings.length === 0 ? [fine('The settings meet the requirements of the manual.')] : findings;
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
      `${wanted}, but PostgreSQL allows ${connectionsMax}.`,
      'Raise max_connections, or lower VIGIE_DATABASE_CONNECTIONS_MAX.',
    ),
  ];
}

async function backupFinding(embeddedIn: string, now: Date): Promise<Finding> {
  const at = await readLastBackup(dirname(embeddedIn));
  const remedy = 'Run vigie backup FILE every night, and keep FILE on another machine.';
  if (at === null) return lookAt('There is no backup.', remedy);
  const hours = Math.floor((now.getTime() - at.getTime()) / HOUR_MS);
  const text = `The last backup is ${hours} hours old`;
  return hours < BACKUP_HOURS_MAX ? fine(`${text}.`) : lookAt(`${text}. NATS may keep adverts only a day.`, remedy);
}
