/**
 * `vigie demo`: the whole journey on one screen. A daemon on its embedded servers, a few saved searches, a crawler that
 * never was, and a client's endpoint that shows what reaches it. Its data lie apart from those of `vigie serve`.
 */

import { createServer } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { type Broker, connectBroker } from '../broker/connection.ts';
import { publish } from '../broker/publish.ts';
import { advertSubject } from '../broker/topology.ts';
import { type Config, readConfig } from '../config.ts';
import type { PointOfInterest } from '../domain/point-of-interest.ts';
import { dataDirectoryPath } from '../embedded/data-directory.ts';
import { createLog } from '../log.ts';
import { createCommuneLocator } from '../matching/commune-locator.ts';
import { loadReference } from '../reference/communes.ts';
import { type Service, startService } from '../service.ts';
import { createApiKey, createClient, findClientByName } from '../store/clients.ts';
import { type Database, openDatabase } from '../store/database.ts';
import { replacePointSource } from '../store/points-of-interest.ts';
import { type DemoMail, startDemoMailServer } from './demo-mail-server.ts';
import { type DemoReceiver, type ReceivedDelivery, startDemoReceiver } from './demo-receiver.ts';
import { DEMO_SEARCHES } from './demo-searches.ts';
import { createSampleCrawler, type IntakeMessageJson } from './sample-adverts.ts';
import { samplePointsOfInterest } from './sample-points-of-interest.ts';
import { stopSignal } from './stop-signal.ts';
import { CommandError, formatEuros, print, styled } from './terminal.ts';

export interface DemoOptions {
  /** Null: until Ctrl-C. */
  readonly seconds: number | null;
  /** Null: another one each time. The same seed twice on the same data publishes what is known already. */
  readonly seed: number | null;
}

const PUBLISH_EVERY_MS = 200;
const NEAR_THE_OLD_PORT = '/indicators/points_of_interest?lat=43.2951&lon=5.3740&radius=3&facilities[]=school';
/** Five minutes are too long for a demonstration. */
const MAIL_GATHER_MS = 10_000;
/** What the demonstration has seen. */
type Tally = Record<'published' | 'matches' | 'events' | 'mails' | 'refused', number>;

/** Before the crawler starts to change adverts it needs some. */
const FIRST_ADVERTS = 40;
const SHOWN_PER_SECOND = 12;
const MAIL_LINES_SHOWN = 5;
const FIRST_MATCH_MS_MAX = 60_000;
const POINTS = 5_000;

/** Throws `CommandError` when nothing was delivered though nobody broke it off, or a signature did not verify. */
export async function runDemo({ seconds, seed }: DemoOptions): Promise<void> {
  const tally: Tally = { published: 0, matches: 0, events: 0, mails: 0, refused: 0 };
  const stopping = stopSignal(() => process.exit(1));
  const ending = new AbortController();
  stopping.addEventListener('abort', () => ending.abort(), { once: true });
  print(styled('bold', 'Vigie demonstration: starting PostgreSQL, nats-server and the daemon …'));
  const mailServer = await startDemoMailServer((mail) => {
    tally.mails += 1;
    print(describeMail(mail));
  });
  const config = await demoConfig(mailServer.url);
  const service = await startService(config, createLog(config.logLevel));
  const show = throttledPrint();
  const titles = new Map<string, string>();
  const receiver = await startDemoReceiver({
    onDelivery(path, delivery) {
      if (path === '/matches') tally.matches += 1;
      else tally.events += 1;
      show(describeDelivery(path, delivery, titles));
    },
    onRefused(reason) {
      tally.refused += 1;
      print(styled('red', `  ✗ refused: ${reason}`));
    },
  });
  const broker = await connectBroker({ url: service.natsUrl, name: 'vigie demo', onStatus: () => undefined });
  try {
    const key = await onDatabase(service, demoKey);
    await replaceSearches(service, key, receiver, titles);
    await onDatabase(service, importSamplePoints);
    showWhereToLook(service, key, config.dataDir ?? '');
    const crawl = crawlUntil(ending.signal, broker, seed ?? Date.now() % 1_000_000_000, (message) => {
      if (tally.published === 0 && seconds !== null) setTimeout(() => ending.abort(), seconds * 1_000).unref();
      tally.published += 1;
      show(describeAdvert(message));
    });
    const shown = crawl.then(() => untilDelivered(tally, stopping));
    await Promise.race([shown, service.failed.then((reason) => Promise.reject(new CommandError(reason)))]);
  } finally {
    await broker.close();
    await service.stop();
    await receiver.close();
    await mailServer.close();
  }
  summarise(tally, stopping.aborted);
}

/** The default configuration with private endpoints allowed, data of its own, and free ports where the usual are taken. */
async function demoConfig(smtpUrl: string): Promise<Config> {
  const config = readConfig(undefined, { VIGIE_LOG_LEVEL: 'warn', VIGIE_ALLOW_PRIVATE_ENDPOINTS: 'true' });
  const apiPort = await freePort(config.api);
  return {
    ...config,
    mail: {
      ...{ url: smtpUrl, from: { name: 'Vigie', address: 'alerts@vigie.example' }, gatherMs: MAIL_GATHER_MS },
      publicUrl: `http://127.0.0.1:${apiPort}`,
    },
    // No load balancer stands before it.
    drainAnnounceMs: 0,
    dataDir: config.dataDir ?? `${dataDirectoryPath(null)}-demo`,
    api: { ...config.api, port: apiPort },
    operations: { ...config.operations, port: await freePort(config.operations) },
    admin: { ...config.admin, port: await freePort(config.admin) },
    natsPort: await freePort({ host: '127.0.0.1', port: config.natsPort }),
  };
}

function freePort({ host, port }: { readonly host: string; readonly port: number }): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(0));
    probe.listen(port, host, () => probe.close(() => resolve(port)));
  });
}

async function demoKey(database: Database): Promise<string> {
  const client = (await findClientByName(database, 'demo')) ?? (await createClient(database, { name: 'demo' }));
  return (await createApiKey(database, client.id, 'demonstration')).key;
}

async function importSamplePoints(database: Database): Promise<void> {
  const reference = await loadReference();
  const points = samplePointsOfInterest({ seed: 1, reference, count: POINTS });
  await replacePointSource(database, 'sample', inBatches(points));
}

/** One batch is enough for a sample. */
async function* inBatches(points: Iterable<PointOfInterest>): AsyncGenerator<readonly PointOfInterest[]> {
  yield [...points];
}

async function onDatabase<T>(service: Service, work: (database: Database) => Promise<T>): Promise<T> {
  const database = openDatabase({ url: service.databaseUrl, connectionsMax: 1, onConnectionLost: () => undefined });
  try {
    return await work(database);
  } finally {
    await database.end();
  }
}

/** Searches of an earlier demonstration name a receiver that is gone. */
async function replaceSearches(
  service: Service,
  key: string,
  receiver: DemoReceiver,
  titles: Map<string, string>,
): Promise<void> {
  const { 'hydra:member': former } = await call<{ 'hydra:member': { '@id': string }[] }>(
    service,
    key,
    'GET',
    '/searches',
  );
  for (const { '@id': iri } of former) await call(service, key, 'DELETE', iri);
  for (const search of DEMO_SEARCHES) {
    const created = await call<{ '@id': string; token: string }>(service, key, 'POST', '/searches', {
      ...search,
      notificationEnabled: true,
      endpointRecipient: `${receiver.url}/matches`,
      eventEndpoint: `${receiver.url}/events`,
      // Another one each time: twenty e-mails a day would soon be used up.
      notificationRecipient: `demo-${Date.now()}@vigie.example`,
    });
    receiver.remember(created['@id'], created.token);
    titles.set(created['@id'], search.title);
  }
}

async function call<T>(service: Service, key: string, method: string, path: string, body?: unknown): Promise<T> {
  const response = await fetch(`${service.apiUrl}${path}`, {
    method,
    headers: { 'X-API-KEY': key, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${await response.text()}`);
  return (response.status === 204 ? null : await response.json()) as T;
}

function showWhereToLook(service: Service, key: string, dataDir: string): void {
  print(`  API         ${service.apiUrl}`);
  print(`  health      ${service.operationsUrl}/readyz    metrics ${service.operationsUrl}/metrics`);
  print(`  servers     NATS ${hostsOf(service.natsUrl)}, PostgreSQL ${hostsOf(service.databaseUrl)}`);
  print(`  API key     ${key}`);
  print(`  operators   VIGIE_DATA_DIR=${dataDir} npm run -s vigie -- admin status --address ${service.adminAddress}`);
  print(`  documents   ${service.apiUrl}/docs`);
  print(`  try         curl -H 'X-API-KEY: ${key}' ${service.apiUrl}/searches`);
  print(`              curl -gH 'X-API-KEY: ${key}' '${service.apiUrl}${NEAR_THE_OLD_PORT}'`);
  print();
  for (const { title } of DEMO_SEARCHES) print(`  search      ${title}`);
  print();
}

/** Of one server or several, without credentials. */
function hostsOf(urls: string): string {
  return urls.replaceAll(/\w+:\/\/(?:[^@/,]*@)?/g, '').replace(/[/?].*$/, '');
}

async function crawlUntil(
  ended: AbortSignal,
  broker: Broker,
  seed: number,
  onPublished: (message: IntakeMessageJson) => void,
): Promise<void> {
  const reference = await loadReference({ nearest: createCommuneLocator });
  const crawler = createSampleCrawler({ seed, reference, startAt: new Date() });
  for (let count = 0; !ended.aborted; count++) {
    const message = count < FIRST_ADVERTS ? crawler.newAdvert() : crawler.next();
    const bytes = Buffer.from(JSON.stringify(message));
    await publish(broker, {
      subject: advertSubject(message.property.uuid),
      messageId: `${message.advert.uuid}/${message.crawledAt}`,
      bytes,
    });
    onPublished(message);
    await wait(PUBLISH_EVERY_MS, undefined, { signal: ended }).catch(() => undefined);
  }
}

/** When its seconds are over: a slow machine may not have delivered anything of what was published. */
async function untilDelivered(tally: Tally, stopping: AbortSignal): Promise<void> {
  const givesUpAt = performance.now() + FIRST_MATCH_MS_MAX;
  while (!stopping.aborted && tally.matches === 0 && performance.now() < givesUpAt) await wait(PUBLISH_EVERY_MS);
}

function describeAdvert(message: IntakeMessageJson): string {
  if (message.kind === 'expire') return styled('dim', `→ expired     ${message.advert.uuid}`);
  const { title, price } = message.advert;
  return styled('dim', `→ advert      ${title ?? 'untitled'}, ${formatEuros(price)}`);
}

function describeDelivery(path: string, delivery: ReceivedDelivery, titles: ReadonlyMap<string, string>): string {
  const { event, adEvent, match } = delivery;
  const { title, price, city } = match.propertyDocument;
  const what = `${title ?? 'untitled'}${city === null ? '' : ` (${city.name})`}, ${formatEuros(price)}`;
  const search = styled('dim', `for “${titles.get(match.search) ?? match.search}”, signature verified`);
  if (path === '/matches') return `${styled('green', `  ← match     ${what}`)}  ${search}`;
  const values = adEvent ? ` ${adEvent.fieldOldValue ?? '–'} → ${adEvent.fieldNewValue ?? '–'}` : '';
  const percent = adEvent?.percentVariation ? ` (${adEvent.percentVariation} %)` : '';
  return `${styled('yellow', `  ← event     ${event}${values}${percent}: ${what}`)}  ${search}`;
}

function describeMail({ subject, lines }: DemoMail): string {
  const some = lines.slice(0, MAIL_LINES_SHOWN).map((line) => styled('dim', `              ${line}`));
  return [styled('cyan', `  ✉ e-mail    ${subject}`), ...some].join('\n');
}

/** A burst would scroll away what matters: it is counted, not shown. */
function throttledPrint(): (line: string) => void {
  let second = 0;
  let shown = 0;
  let hidden = 0;
  return (line) => {
    const now = Math.floor(Date.now() / 1_000);
    if (now !== second) {
      if (hidden > 0) print(styled('dim', `  … and ${hidden} more`));
      second = now;
      shown = 0;
      hidden = 0;
    }
    if (shown < SHOWN_PER_SECOND) print(line);
    else hidden += 1;
    shown += 1;
  };
}

function summarise(tally: Tally, isBrokenOff: boolean): void {
  print();
  print(
    styled(
      'bold',
      `${tally.published} adverts and changes in; ${tally.matches} matches and ${tally.events} events out`,
    ) + `, ${tally.mails} e-mails, ${tally.refused} signatures refused`,
  );
  if (tally.matches === 0 && !isBrokenOff) throw new CommandError('nothing was delivered');
  if (tally.refused > 0) throw new CommandError(`${tally.refused} deliveries did not verify`);
}
