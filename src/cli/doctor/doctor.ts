/** `vigie doctor`: checks a running or configured service, and changes nothing. Prints one line per finding. */

import { type Config, readConfig } from '../../config.ts';
import { assertServable } from '../../config-conflicts.ts';
import { DESCRIPTORS_REMEDY, descriptorShortage, readDescriptorLimit } from '../../descriptors.ts';
import { connectBroker } from '../../engine/broker/connection.ts';
import { assertReachable, type DatabasePool, openDatabase } from '../../engine/store/database.ts';
import { readDatabaseLabel } from '../../engine/store/installation.ts';
import { assertNotFormer, readNewestMigration } from '../../engine/store/schema.ts';
import { checkSessions } from '../../engine/store/session-check.ts';
import { FEATURES } from '../../features.ts';
import { dataDirectoryPath } from '../../local/data-directory.ts';
import { embeddedDirectories, readRunning } from '../../local/servers.ts';
import { unsupportedNode, VERSION } from '../../version.ts';
import { print, reasonOf } from '../terminal.ts';
import { checkBroker } from './broker-checks.ts';
import { checkCertificates } from './certificates.ts';
import { checkDatabase } from './database-checks.ts';
import { type Finding, findingsAbout, printFindings } from './finding.ts';

const CONNECTIONS_MAX = 3;

/** Sets the exit code to 1 if anything is wrong. */
export async function doctor(isJson: boolean): Promise<void> {
  const unreadable = problemsOf(() => readConfig()).map((problem) => findingsAbout('settings').wrong(problem));
  const findings = unreadable.length > 0 ? unreadable : await examine(readConfig(), new Date());
  if (isJson) print(JSON.stringify(findings, null, 2));
  else printFindings(findings);
  if (findings.some(({ level }) => level === 'wrong')) process.exitCode = 1;
}

/** Returns the findings and prints nothing. */
export async function examine(config: Config, now: Date): Promise<readonly Finding[]> {
  const findings = await Promise.all([checkDaemon(config), checkServers(config, now), checkMail(config)]);
  return [
    ...checkProgram(config, now),
    checkDescriptors(config, readDescriptorLimit()),
    ...checkCertificates(config, now),
    ...findings.flat(),
  ];
}

async function checkServers(config: Config, now: Date): Promise<readonly Finding[]> {
  const dataDir = dataDirectoryPath(config.dataDir);
  const running = await readRunning(dataDir);
  const [databaseUrl, natsUrl] = [config.databaseUrl ?? running?.databaseUrl, config.natsUrl ?? running?.natsUrl];
  const database = await openOrFind('PostgreSQL', databaseUrl, openChecked);
  const label = database.opened === null ? null : await labelOf(database.opened, databaseUrl as string);
  const connecting = { database: label, namespace: config.namespace, name: 'vigie doctor' };
  const nats = await openOrFind('NATS', natsUrl, (url) => connectBroker({ url, ...connecting }));
  try {
    const embedded = embeddedDirectories(config);
    const scene = { config, now, embeddedIn: embedded.get('PostgreSQL') ?? null };
    return [
      ...(database.opened === null ? database.findings : await checkDatabase({ database: database.opened, ...scene })),
      ...(nats.opened === null ? nats.findings : await checkBroker(nats.opened, embedded.get('NATS') ?? null)),
    ];
  } finally {
    await Promise.all([nats.opened?.close(), database.opened?.end()]);
  }
}

/** Connects to a server, or returns a finding with the reason. `url` is undefined if no setting or daemon states it. */
async function openOrFind<T>(
  about: 'PostgreSQL' | 'NATS',
  url: string | undefined,
  open: (url: string) => Promise<T>,
): Promise<{ readonly opened: T | null; readonly findings: Finding[] }> {
  const { unknown, wrong } = findingsAbout(about);
  const setting = about === 'NATS' ? 'NATS_URL' : 'DATABASE_URL';
  if (url === undefined) {
    return { opened: null, findings: [unknown(`${setting} is empty and no daemon runs here.`, 'Start the daemon.')] };
  }
  try {
    return { opened: await open(url), findings: [] };
  } catch (error) {
    return { opened: null, findings: [wrong((error as Error).message)] };
  }
}

async function openChecked(url: string): Promise<DatabasePool> {
  await assertReachable(url);
  const database = openDatabase({ url, connectionsMax: CONNECTIONS_MAX });
  try {
    await checkSessions(database);
    await assertNotFormer(database);
    return database;
  } catch (error) {
    await database.end();
    throw error;
  }
}

/** Null for a database that no daemon has prepared. */
async function labelOf(database: DatabasePool, url: string) {
  return (await readNewestMigration(database)) === 0 ? null : readDatabaseLabel(database, url);
}

const ANSWER_MAX_MS = 5_000;

export function checkProgram(config: Config, now: Date): readonly Finding[] {
  const { fine, lookAt, wrong } = findingsAbout('settings');
  const about = findingsAbout('version');
  const unsupported = unsupportedNode(process.versions.node, now);
  const problems = problemsOf(() => assertServable(config)).map((problem) => wrong(problem));
  const unknown = config.unknownNames.map((name) =>
    lookAt(`${name} is not a setting.`, 'Correct or unset it. config/default.env lists the settings.'),
  );
  return [
    unsupported === null
      ? about.fine(`Vigie ${VERSION}, Node.js ${process.versions.node}.`)
      : about.lookAt(`Vigie ${VERSION}. ${unsupported}`),
    ...(problems.length + unknown.length === 0 ? [fine('The settings are consistent.')] : [...problems, ...unknown]),
  ];
}

/** `limit` is the limit of this process, which a daemon started from the same shell would also have. */
export function checkDescriptors(config: Config, limit: number | null): Finding {
  const { fine, lookAt, unknown } = findingsAbout('descriptors');
  if (limit === null) return unknown('The limit cannot be read here.', 'Check it with `ulimit -n`.');
  const shortage = descriptorShortage(config, limit);
  return shortage === null ? fine(`The limit is ${limit} (ulimit -n).`) : lookAt(shortage, DESCRIPTORS_REMEDY);
}

/** Returns the problems of the `ConfigError` that `work` throws, one entry each. */
function problemsOf(work: () => unknown): readonly string[] {
  try {
    work();
    return [];
  } catch (error) {
    if ((error as { code?: string }).code !== 'CONFIG_INVALID') throw error;
    return (error as Error).message
      .split('\n')
      .slice(1)
      .map((line) => line.trim());
  }
}

interface Readiness {
  readonly checks: Readonly<Record<string, { readonly status: string; readonly reason?: string }>>;
}

async function checkDaemon({ operations: { host, port } }: Config): Promise<readonly Finding[]> {
  const { fine, lookAt, wrong, unknown } = findingsAbout('service');
  const named = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  const url = `http://${named.includes(':') ? `[${named}]` : named}:${port}/readyz`;
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MAX_MS) });
    const { checks } = (await answer.json()) as Readiness;
    const findings = Object.entries(checks).flatMap(([name, { status, reason = '' }]) => {
      if (status === 'ok') return [];
      return [(status === 'failed' ? wrong : lookAt)(`${name}: ${reason}`)];
    });
    return findings.length === 0 ? [fine(`${url} reports that the daemon is ready.`)] : findings;
  } catch (error) {
    if (error instanceof SyntaxError)
      return [wrong(`Another program answers at ${url}.`, 'Correct VIGIE_OPERATIONS_ADDRESS.')];
    const reason = reasonOf(((error as Error).cause as Error | undefined) ?? (error as Error));
    return [unknown(`No daemon answers at ${url} (${reason}).`, 'Start the daemon, or run the doctor on its machine.')];
  }
}

/** Checks whether the mail server accepts connections and the login. */
async function checkMail(config: Config): Promise<readonly Finding[]> {
  const { fine, lookAt, wrong } = findingsAbout('mail');
  const { mail } = config;
  if (mail === null) return [fine('No e-mails are sent, because VIGIE_SMTP_URL is empty.')];
  const { url, isTlsInsecure, publicUrl } = mail;
  const noOneClick = lookAt(
    `VIGIE_PUBLIC_URL is ${publicUrl}. E-mails have no one-click unsubscription, which needs https (RFC 8058).`,
    'Set it to the https address of the API.',
  );
  const reasons = await Promise.all(FEATURES.map(async ({ checkServer }) => (await checkServer?.(config)) ?? null));
  const reason = reasons.find((each) => each !== null) ?? null;
  const { host } = new URL(url);
  return [
    reason === null
      ? fine(`${host} accepts connections${url.includes('@') ? ' and the login' : ''}.`)
      : wrong(`${host}: ${reason}.`, 'Correct VIGIE_SMTP_URL, or check the mail server.'),
    ...(isTlsInsecure
      ? [
          lookAt(
            "The mail server's certificate is not verified.",
            'Set VIGIE_SMTP_TLS_CA to the file of its certificate authority.',
          ),
        ]
      : []),
    ...(publicUrl.startsWith('https:') ? [] : [noOneClick]),
  ];
}
