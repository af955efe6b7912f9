/**
 * Connects commands to a daemon's servers: to the configured URLs, or to the servers of the daemon that runs on the
 * data directory. If there is neither, the embedded PostgreSQL (but not NATS) runs for as long as the command.
 */

import type { Config } from '../config.ts';
import { announceChange } from '../engine/broker/announcements.ts';
import { connectBroker } from '../engine/broker/connection.ts';
import { type Database, migrate, openDatabase } from '../engine/store/database.ts';
import { dataDirectoryPath } from '../local/data-directory.ts';
import { openPostgres, readRunning } from '../local/servers.ts';
import { CommandError, commandLine, print } from './terminal.ts';

/** Throws `CommandError` if NATS is not configured and no daemon runs. */
export async function natsUrlOf(config: Config): Promise<string> {
  const url = await knownNatsUrl(config);
  if (url !== undefined) return url;
  const start = `Start one with \`${commandLine} serve\``;
  throw new CommandError(`No daemon runs here. ${start}, or set NATS_URL to the NATS server of another daemon.`);
}

/** The crawlers' URL of a running daemon's embedded NATS. Throws `CommandError` if there is none. */
export async function crawlerUrlOf(config: Config): Promise<string> {
  const url = (await readRunning(dataDirectoryPath(config.dataDir)))?.crawlerUrl;
  if (config.natsUrl === null && url) return url;
  const daemonsUrl = await natsUrlOf(config);
  const { host } = new URL(daemonsUrl.split(',', 1).join());
  throw new CommandError(
    `${host} is an external NATS server, so Vigie does not know its users. config/nats-server.conf has one for ` +
      `crawlers. \`${commandLine} nats --operator\` prints the daemon’s URL.`,
  );
}

const OTHERWISE = {
  keys: 'Daemons refuse the key within five seconds.',
  searches: 'Daemons read the searches within seconds.',
} as const;

/** Notifies daemons of a change. If NATS is unreachable, the daemons detect the change themselves within seconds. */
export async function notifyDaemons(config: Config, changed: keyof typeof OTHERWISE): Promise<void> {
  const url = await knownNatsUrl(config);
  if (url === undefined) return;
  try {
    const broker = await connectBroker({ url, namespace: config.namespace, name: 'vigie command' });
    announceChange(broker, changed);
    await broker.connection.flush();
    await broker.close();
  } catch (error) {
    print(`Cannot reach NATS (${(error as Error).message}). ${OTHERWISE[changed]}`);
  }
}

async function knownNatsUrl(config: Config): Promise<string | undefined> {
  return config.natsUrl ?? (await readRunning(dataDirectoryPath(config.dataDir)))?.natsUrl;
}

/** Migrates the database, runs `work` on it, and closes the connections. */
export async function withDatabase<T>(config: Config, work: (database: Database) => Promise<T>): Promise<T> {
  return withDatabaseUrl(config, async (url) => {
    await migrate(url);
    return onDatabase(url, work);
  });
}

/** Runs `work` on the database without migrating it. */
export async function withDatabaseUrl<T>(config: Config, work: (url: string) => Promise<T>): Promise<T> {
  const runningUrl = config.databaseUrl ?? (await readRunning(dataDirectoryPath(config.dataDir)))?.databaseUrl;
  if (runningUrl !== undefined) return work(runningUrl);
  const server = await openPostgres(config, {
    onLog: () => undefined,
    onWarning: (warning) => process.stderr.write(`vigie: ${warning}\n`),
  });
  try {
    return await work(server.databaseUrl);
  } finally {
    await server.stop();
  }
}

/** Runs `work` on the database at `url`, and closes the connections. */
export async function onDatabase<T>(url: string, work: (database: Database) => Promise<T>): Promise<T> {
  const database = openDatabase({ url, connectionsMax: 2 });
  try {
    return await work(database);
  } finally {
    await database.end();
  }
}
