/** `vigie doctor`: looks at a service that runs, or is configured, and changes nothing. A line for each thing. */

import { join } from 'node:path';
import { type Config, readConfig } from '../../config.ts';
import { type Broker, connectBroker } from '../../engine/broker/connection.ts';
import { startClockWatch } from '../../engine/maintenance/clock-watch.ts';
import { readCellState, readDatabaseLabel } from '../../engine/store/cell.ts';
import { assertReachable, type DatabasePool, openDatabase } from '../../engine/store/database.ts';
import { checkSessions } from '../../engine/store/session-check.ts';
import { dataDirectoryPath } from '../../local/data-directory.ts';
import { readRunning } from '../../local/servers.ts';
import { print } from '../terminal.ts';
import { checkBroker } from './broker-checks.ts';
import { brokerCertificate, checkCertificates, databaseCertificate, mailCertificate } from './certificates.ts';
import { checkDatabase } from './database-checks.ts';
import { type Finding, findingsAbout, printFindings } from './finding.ts';
import { checkMail, type MailCheckOptions } from './mail-checks.ts';
import { checkDaemon, checkProgram, problemsOf } from './service-checks.ts';

const CONNECTIONS_MAX = 3;

/** Sets the exit code 1 when something is wrong. */
export async function doctor(isJson: boolean, options: MailCheckOptions): Promise<void> {
  const unreadable = problemsOf(() => readConfig()).map((problem) => findingsAbout('settings').wrong(problem));
  const findings = unreadable.length > 0 ? unreadable : await examine(readConfig(), options, new Date());
  if (isJson) print(JSON.stringify(findings, null, 2));
  else printFindings(findings);
  if (findings.some(({ level }) => level === 'wrong')) process.exitCode = 1;
}

/** What there is to say; prints nothing. */
export async function examine(config: Config, options: MailCheckOptions, now: Date): Promise<readonly Finding[]> {
  const asked = await Promise.all([
    checkDaemon(config),
    checkServers(config, now),
    checkCertificates(config, now),
    mailCertificate(config, now),
    checkMail(config, options),
  ]);
  return [...checkProgram(config, now), ...asked.flat()];
}

async function checkServers(config: Config, now: Date): Promise<readonly Finding[]> {
  const dataDir = dataDirectoryPath(config.dataDir);
  const running = await readRunning(dataDir);
  const [databaseUrl, natsUrl] = [config.databaseUrl ?? running?.databaseUrl, config.natsUrl ?? running?.natsUrl];
  const database = await openOrFind('PostgreSQL', databaseUrl, openChecked);
  const label = database.opened === null ? null : await labelOf(database.opened, databaseUrl as string);
  const connecting = { database: label, cell: config.cell, name: 'vigie doctor', onStatus: () => undefined };
  const nats = await openOrFind('NATS', natsUrl, (url) => connectBroker({ url, ...connecting }));
  try {
    const embedded = (isEmbedded: boolean, folder: string) => (isEmbedded ? join(dataDir, folder) : null);
    const scene = { config, now, embeddedIn: embedded(config.databaseUrl === null, 'postgres') };
    return [
      ...(database.opened === null ? database.findings : await checkDatabase({ database: database.opened, ...scene })),
      ...(nats.opened === null
        ? nats.findings
        : await checkBroker(nats.opened, embedded(config.natsUrl === null, 'nats'))),
      ...(database.opened === null ? [] : await databaseCertificate(database.opened, now)),
      ...(nats.opened === null ? [] : await brokerCertificate(nats.opened, now)),
      ...(await clockFindings(database.opened, nats.opened)),
    ];
  } finally {
    await Promise.all([nats.opened?.close(), database.opened?.end()]);
  }
}

type Opened<T> =
  | { readonly opened: T; readonly findings: null }
  | { readonly opened: null; readonly findings: Finding[] };

/** `url` undefined: nobody says where it is. */
async function openOrFind<T>(
  about: 'PostgreSQL' | 'NATS',
  url: string | undefined,
  open: (url: string) => Promise<T>,
): Promise<Opened<T>> {
  const { unknown, wrong } = findingsAbout(about);
  const setting = about === 'NATS' ? 'NATS_URL' : 'DATABASE_URL';
  if (url === undefined) {
    return { opened: null, findings: [unknown(`${setting} is empty and no daemon runs here`, 'start it first')] };
  }
  try {
    return { opened: await open(url), findings: null };
  } catch (error) {
    return { opened: null, findings: [wrong((error as Error).message)] };
  }
}

async function openChecked(url: string): Promise<DatabasePool> {
  await assertReachable(url);
  const database = openDatabase({ url, connectionsMax: CONNECTIONS_MAX, onConnectionLost: () => undefined });
  await checkSessions(database).catch(async (error: Error) => {
    await database.end();
    throw error;
  });
  return database;
}

/** Null of a database that no daemon has prepared. */
async function labelOf(database: DatabasePool, url: string) {
  const { newestMigration } = await readCellState(database);
  return newestMigration === 0 ? null : readDatabaseLabel(database, url);
}

async function clockFindings(database: DatabasePool | null, broker: Broker | null): Promise<readonly Finding[]> {
  const { fine, lookAt, unknown } = findingsAbout('clocks');
  if (database === null || broker === null) return [unknown('those of the servers cannot be read')];
  const watch = await startClockWatch({ database, broker, nowMs: Date.now, onChange: () => undefined });
  await watch.stop();
  const missing = ['PostgreSQL', 'NATS'].filter((name) => !watch.aheadSeconds.has(name));
  const agreeing = `those of this machine${['PostgreSQL', 'NATS'].map((name) => (missing.includes(name) ? '' : ` and ${name}`)).join('')} agree`;
  return [
    watch.difference === null ? fine(agreeing) : lookAt(watch.difference),
    ...missing.map((name) => unknown(`that of ${name} cannot be read from here`)),
  ];
}
