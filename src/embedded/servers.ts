/**
 * The PostgreSQL and NATS that a configuration asks for: given by URL, or embedded in the data directory. A running
 * daemon leaves its addresses in `running.json` there, so that commands of the same user find its embedded servers.
 */

import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { EmbeddedServer } from './child-server.ts';
import { cacheDirectory, openDataDirectory } from './data-directory.ts';
import { startNatsServer } from './nats-server.ts';
import { startPostgres } from './postgres.ts';

export interface ServerSettings {
  readonly databaseUrl: string | null;
  readonly natsUrl: string | null;
  readonly natsServerBin: string | null;
  readonly dataDir: string | null;
  readonly cacheDir: string | null;
}

export interface Servers {
  readonly databaseUrl: string;
  readonly natsUrl: string;
  /** Where embedded data lies; null when both servers are given. */
  readonly dataDir: string | null;
  /** Resolves when an embedded server ends by itself, with a description; never when both are given. */
  readonly lost: Promise<string>;
  stop(): Promise<void>;
}

const RUNNING_FILE = 'running.json';

/** Starts what is not given. Throws `DataDirectoryError`, `ServerMissingError` or `ServerStartError`. */
export async function openServers(settings: ServerSettings, onLog: (line: string) => void): Promise<Servers> {
  const { databaseUrl, natsUrl } = settings;
  if (databaseUrl !== null && natsUrl !== null) {
    return { databaseUrl, natsUrl, dataDir: null, lost: new Promise(() => undefined), stop: async () => undefined };
  }
  const directory = await openDataDirectory(settings.dataDir);
  const cacheDir = cacheDirectory(settings.cacheDir);
  const options = { dataDir: directory.path, cacheDir, onLog };
  const started = await Promise.allSettled([
    databaseUrl === null ? startPostgres(options) : null,
    natsUrl === null ? startNatsServer({ ...options, serverBin: settings.natsServerBin }) : null,
  ]);
  const embedded = started.flatMap((result) => (result.status === 'fulfilled' ? (result.value ?? []) : []));
  const stop = async (): Promise<void> => {
    await rm(join(directory.path, RUNNING_FILE), { force: true });
    await Promise.all(embedded.map((server) => server.stop()));
    await directory.close();
  };
  const failure = started.find((result) => result.status === 'rejected');
  if (failure !== undefined) {
    await stop();
    throw failure.reason;
  }
  const [postgres, nats] = started.map((result) => (result as PromiseFulfilledResult<EmbeddedServer | null>).value);
  const urls = {
    databaseUrl: databaseUrl ?? (postgres as EmbeddedServer).url,
    natsUrl: natsUrl ?? (nats as EmbeddedServer).url,
  };
  await writeRunning(directory.path, { ...urls, processId: process.pid });
  return { ...urls, dataDir: directory.path, lost: Promise.race(embedded.map(({ exited }) => exited)), stop };
}

interface Running {
  readonly processId: number;
  readonly databaseUrl: string;
  readonly natsUrl: string;
}

/** The addresses of the daemon that runs on this data directory; null when none does. */
export async function readRunning(dataDir: string): Promise<Running | null> {
  try {
    const running = JSON.parse(await readFile(join(dataDir, RUNNING_FILE), 'utf8')) as Running;
    return isAlive(running.processId) ? running : null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** A daemon that was killed leaves its file behind. */
function isAlive(processId: number): boolean {
  try {
    process.kill(processId, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Readable by its owner alone: the addresses hold passwords. */
async function writeRunning(dataDir: string, running: Running): Promise<void> {
  const path = join(dataDir, RUNNING_FILE);
  await writeFile(`${path}.new`, JSON.stringify(running), { mode: 0o600 });
  await rename(`${path}.new`, path);
}
