/**
 * The PostgreSQL and NATS servers of a configuration: external ones by URL, or embedded ones in the data directory. A
 * daemon with an embedded server stores the addresses in `running.json` in that directory, so that commands of the same
 * user find them.
 */

import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { EmbeddedServerOptions } from './child-server.ts';
import {
  cacheDirectory,
  type DataDirectory,
  dataDirectoryPath,
  isDirectoryLocked,
  openDataDirectory,
} from './data-directory.ts';
import { type NatsServer, startNatsServer } from './nats-server.ts';
import { readSecret, writeSecret } from './ownership.ts';
import { type PostgresServer, postgresHome, startPostgres } from './postgres.ts';
import { assertCanPrepare } from './postgres-cluster.ts';

export interface ServerSettings {
  readonly databaseUrl: string | null;
  readonly natsUrl: string | null;
  /** The port of the embedded NATS; 0 for a free one. */
  readonly natsPort: number;
  readonly dataDir: string | null;
}

export interface Servers {
  readonly databaseUrl: string;
  readonly natsUrl: string;
  /** The file with the crawlers' URL of the embedded NATS; null with an external NATS. */
  readonly natsCredentialsFile: string | null;
  /** Resolves with a description as soon as an embedded server ends, also after `stop`; never if both are external. */
  readonly lost: Promise<string>;
  stop(): Promise<void>;
}

export type ServerObserver = Required<Pick<EmbeddedServerOptions, 'onLog' | 'onWarning'>>;

export function embeddedDirectories({
  databaseUrl,
  natsUrl,
  dataDir,
}: Pick<ServerSettings, 'databaseUrl' | 'natsUrl' | 'dataDir'>): ReadonlyMap<'PostgreSQL' | 'NATS', string> {
  const directories = new Map<'PostgreSQL' | 'NATS', string>();
  if (databaseUrl === null) directories.set('PostgreSQL', join(dataDirectoryPath(dataDir), 'postgres'));
  if (natsUrl === null) directories.set('NATS', join(dataDirectoryPath(dataDir), 'nats'));
  return directories;
}

const RUNNING_FILE = 'running.json';

/** Starts the servers that have no URL. Throws `DataDirectoryError`, `ServerMissingError` or `ServerStartError`. */
export async function openServers(settings: ServerSettings, observer: ServerObserver): Promise<Servers> {
  const { databaseUrl, natsUrl } = settings;
  if (databaseUrl !== null && natsUrl !== null) {
    const lost = new Promise<never>(() => undefined);
    return { databaseUrl, natsUrl, natsCredentialsFile: null, lost, stop: async () => undefined };
  }
  const directory = await openDataDirectory(settings.dataDir);
  const { postgres, nats, stop } = await startMissing(directory, settings, observer);
  const urls = { databaseUrl: (databaseUrl ?? postgres?.url) as string, natsUrl: (natsUrl ?? nats?.url) as string };
  const running: Running = { ...urls, crawlerUrl: nats?.crawlerUrl ?? null };
  await writeSecret(join(directory.path, RUNNING_FILE), JSON.stringify(running));
  const lost = Promise.race([postgres, nats].flatMap((server) => (server === null ? [] : [server.exited])));
  return { ...urls, natsCredentialsFile: nats?.crawlerCredentialsFile ?? null, lost, stop };
}

/** Starts only the embedded PostgreSQL, for a command without a running daemon. Throws like `openServers`. */
export async function openPostgres(
  settings: ServerSettings,
  observer: ServerObserver,
): Promise<Pick<Servers, 'databaseUrl' | 'stop'>> {
  const directory = await openDataDirectory(settings.dataDir);
  const { postgres, stop } = await startMissing(directory, { ...settings, natsUrl: 'not started' }, observer);
  return { databaseUrl: (postgres as PostgresServer).url, stop };
}

async function startMissing(directory: DataDirectory, settings: ServerSettings, observer: ServerObserver) {
  const options = { ...observer, dataDir: directory.path, cacheDir: cacheDirectory() };
  const runningFile = join(directory.path, RUNNING_FILE);
  const started: (PostgresServer | NatsServer)[] = [];
  const stop = async (): Promise<void> => {
    await rm(runningFile, { force: true });
    await Promise.all(started.map((server) => server.stop()));
    await directory.close();
  };
  const starting = async <S extends PostgresServer | NatsServer>(start: Promise<S>): Promise<S> => {
    const server = await start;
    started.push(server);
    return server;
  };
  try {
    // A killed daemon leaves the file behind.
    await rm(runningFile, { force: true });
    if (settings.databaseUrl === null) await assertCanPrepare(await postgresHome(directory.path));
    const servers = await Promise.allSettled([
      settings.databaseUrl === null ? starting(startPostgres(options)) : null,
      settings.natsUrl === null ? starting(startNatsServer({ ...options, port: settings.natsPort })) : null,
    ]);
    const [postgres, nats] = servers.map((result) => {
      if (result.status === 'rejected') throw result.reason;
      return result.value;
    }) as [PostgresServer | null, NatsServer | null];
    return { postgres, nats, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

interface Running {
  readonly databaseUrl: string;
  readonly natsUrl: string;
  /** Null with an external NATS. */
  readonly crawlerUrl: string | null;
}

/** The addresses of the daemon that runs on this data directory; null if none runs, or if it is still starting. */
export async function readRunning(dataDir: string): Promise<Running | null> {
  if (!(await isDirectoryLocked(dataDir))) return null;
  const running = await readSecret(join(dataDir, RUNNING_FILE));
  return running === null ? null : (JSON.parse(running) as Running);
}
