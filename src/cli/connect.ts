/**
 * How commands reach the servers of a daemon: by the configured URLs, else through the daemon that runs on the data
 * directory, else (for PostgreSQL alone) by starting the embedded server for as long as the command takes.
 */

import type { Config } from '../config.ts';
import { announceCoordinates, announceKeyChange, announceSearchChange } from '../engine/broker/announcements.ts';
import { type Broker, connectBroker } from '../engine/broker/connection.ts';
import { type Database, migrate, openDatabase } from '../engine/store/database.ts';
import { dataDirectoryPath } from '../local/data-directory.ts';
import { openPostgres, readRunning } from '../local/servers.ts';
import { CommandError, commandLine, print } from './terminal.ts';

/** Throws `CommandError` when no NATS is configured and no daemon runs. */
export async function natsUrlOf(config: Config): Promise<string> {
  const url = await knownNatsUrl(config);
  if (url !== undefined) return url;
  const start = `start one with \`${commandLine} serve\``;
  throw new CommandError(`no daemon runs here: ${start}, or set NATS_URL to the NATS of another`);
}

/** Tells the daemons that commune centres were imported. Where NATS is not to be reached, they find out by themselves. */
export function tellOfCoordinates(config: Config): Promise<void> {
  return tellDaemons(config, announceCoordinates, 'daemons take them within seconds');
}

/** Likewise that a key was revoked. */
export function tellOfKeys(config: Config): Promise<void> {
  return tellDaemons(config, announceKeyChange, 'daemons that know the key refuse it within five seconds');
}

/** Likewise that searches were created. */
export function tellOfSearches(config: Config): Promise<void> {
  return tellDaemons(config, announceSearchChange, 'daemons take them within seconds');
}

async function tellDaemons(config: Config, announce: (broker: Broker) => void, otherwise: string): Promise<void> {
  const url = await knownNatsUrl(config);
  if (url === undefined) return;
  try {
    const broker = await connectBroker({ url, cell: config.cell, name: 'vigie command', onStatus: () => undefined });
    announce(broker);
    await broker.connection.flush();
    await broker.close();
  } catch (error) {
    print(`NATS is not to be reached (${(error as Error).message}): ${otherwise}`);
  }
}

async function knownNatsUrl(config: Config): Promise<string | undefined> {
  return config.natsUrl ?? (await readRunning(dataDirectoryPath(config.dataDir)))?.natsUrl;
}

/** Runs `work` on the migrated database and closes what it opened. */
export async function withDatabase<T>(config: Config, work: (database: Database) => Promise<T>): Promise<T> {
  const runningUrl = config.databaseUrl ?? (await readRunning(dataDirectoryPath(config.dataDir)))?.databaseUrl;
  if (runningUrl !== undefined) return onDatabase(runningUrl, work);
  const server = await openPostgres(config, {
    onLog: () => undefined,
    onWarning: (warning) => process.stderr.write(`vigie: ${warning}\n`),
  });
  try {
    return await onDatabase(server.databaseUrl, work);
  } finally {
    await server.stop();
  }
}

async function onDatabase<T>(url: string, work: (database: Database) => Promise<T>): Promise<T> {
  await migrate(url);
  const database = openDatabase({ url, connectionsMax: 2, onConnectionLost: () => undefined });
  try {
    return await work(database);
  } finally {
    await database.end();
  }
}
