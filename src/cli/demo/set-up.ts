/** Sets up the demonstration: the daemon, a client with its key and searches, and points of interest. */

import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import type { AddressInfo, Server, Socket } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import { type Config, readConfig } from '../../config.ts';
import { connectBroker } from '../../engine/broker/connection.ts';
import type { PointOfInterest } from '../../engine/domain/point-of-interest.ts';
import { createApiKey, createClient, findClientByName } from '../../engine/store/clients.ts';
import type { Database } from '../../engine/store/database.ts';
import { replacePointSource } from '../../engine/store/points-of-interest.ts';
import { tryPort } from '../../local/child-server.ts';
import { dataDirectoryPath } from '../../local/data-directory.ts';
import { createLog } from '../../log.ts';
import { type Service, StartBrokenOffError, startService } from '../../service.ts';
import { onDatabase } from '../connect.ts';
import { InterruptedError } from '../terminal.ts';

/** The default of five minutes is too long for a demonstration. */
const MAIL_GATHER_MS = 10_000;

export interface SetUp {
  readonly smtpUrl: string;
  readonly receiver: DemoReceiver;
  /** Filled with the titles of the searches, by IRI. */
  readonly titles: Map<string, string>;
  readonly searches: readonly DemoSearch[];
  readonly points: readonly PointOfInterest[];
  /** The end of the data directory's name, so that different demonstrations do not share adverts. */
  readonly dataDirSuffix: string;
  readonly stopping: AbortSignal;
  /** Filled with functions that close the opened resources. */
  readonly closers: (() => Promise<void>)[];
  /** Called with the name of each step when the step begins. */
  readonly onStep: (doing: string) => void;
}

/** Throws `InterruptedError` if interrupted before the demonstration begins. Starting the servers takes longest. */
export async function setUpDemo(setUp: SetUp) {
  const { smtpUrl, points, stopping, closers, onStep, dataDirSuffix } = setUp;
  const config = await demoConfig(smtpUrl, dataDirSuffix);
  const dataDir = config.dataDir ?? '';
  const step = (doing: string): void => {
    if (stopping.aborted)
      throw new InterruptedError(stopping, `The demonstration had not started. Its data are in ${dataDir}.`);
    onStep(doing);
  };
  step('starting PostgreSQL, nats-server and the daemon');
  const service = await startService(config, createLog(config.logLevel, process.stdout.fd, true), stopping).catch(
    (error: Error) => {
      if (error instanceof StartBrokenOffError) step('stopping');
      throw error;
    },
  );
  closers.push(service.stop);
  const broker = await connectBroker({ url: service.natsUrl, name: 'vigie demo' });
  closers.push(() => broker.close());
  step('saving searches');
  const key = await onDatabase(service.databaseUrl, demoKey);
  await replaceSearches(service, key, setUp);
  step('importing points of interest');
  await onDatabase(service.databaseUrl, (database) => replacePointSource(database, 'sample', Readable.from([points])));
  step('ready');
  return { service, broker, key, dataDir };
}

/** Reads the environment, and replaces ports in use. Defaults: private endpoints and a separate data directory. */
async function demoConfig(smtpUrl: string, dataDirSuffix: string): Promise<Config> {
  const config = readConfig(undefined, { VIGIE_LOG_LEVEL: 'warn', VIGIE_ALLOW_PRIVATE_ENDPOINTS: 'true' });
  const apiPort = await freePort(config.api);
  return {
    ...config,
    mail: {
      url: smtpUrl,
      from: { name: 'Vigie', address: 'alerts@vigie.example' },
      gatherMs: MAIL_GATHER_MS,
      publicUrl: `http://127.0.0.1:${apiPort}`,
      authoritiesFile: null,
      isTlsInsecure: false,
    },
    // No load balancer needs to be notified.
    drainAnnounceMs: 0,
    dataDir: config.dataDir ?? `${dataDirectoryPath(null)}${dataDirSuffix}`,
    api: { ...config.api, port: apiPort },
    operations: { ...config.operations, port: await freePort(config.operations) },
    admin: { ...config.admin, port: await freePort(config.admin) },
    natsPort: await freePort({ host: '127.0.0.1', port: config.natsPort }),
  };
}

/** The port, or 0 if it is taken, so that the server listens on a free port. */
function freePort({ host, port }: { readonly host: string; readonly port: number }): Promise<number> {
  return tryPort(host, port).catch(() => 0);
}

async function demoKey(database: Database): Promise<string> {
  const client = (await findClientByName(database, 'demo')) ?? (await createClient(database, { name: 'demo' }));
  return (await createApiKey(database, client.id, 'demonstration')).key;
}

/** Replaces the searches of an earlier demonstration, whose receiver no longer runs. */
async function replaceSearches(service: Service, key: string, { receiver, titles, searches }: SetUp): Promise<void> {
  const { 'hydra:member': former } = await call<{ 'hydra:member': { '@id': string }[] }>(
    service,
    key,
    'GET',
    '/searches',
  );
  for (const { '@id': iri } of former) await call(service, key, 'DELETE', iri);
  const { secret } = await call<{ secret: string }>(service, key, 'POST', '/webhook-secrets', { overlapHours: 0 });
  receiver.remember(secret);
  for (const search of searches) {
    const created = await call<{ '@id': string }>(service, key, 'POST', '/searches', {
      ...search,
      notificationEnabled: true,
      endpointRecipient: `${receiver.url}/matches`,
      eventEndpoint: `${receiver.url}/events`,
      // A new address each time, because one address would soon reach the limit of twenty e-mails a day.
      notificationRecipient: `demo-${Date.now()}@vigie.example`,
    });
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

const PRICE_EVENTS = ['ad.update.price', 'ad.update.expired', 'ad.update.reactivated'];

/** Searches in and around Toulon: by communes, by a circle, by a polygon, and one also by words. */
export const DEMO_SEARCHES = [
  {
    title: 'Appartements à Toulon, jusqu’à 300 000 €',
    transactionType: 0,
    propertyTypes: [0],
    budgetMax: 300_000,
    includedCities: ['/cities/83137'],
    subscribedEvents: [...PRICE_EVENTS, 'property.match.end', 'property.match.resume'],
  },
  {
    title: 'À moins de 1,5 km des plages du Mourillon',
    transactionType: 0,
    lat: '43.1090',
    lon: '5.9440',
    radius: '1.5',
    subscribedEvents: [...PRICE_EVENTS, 'ad.update.surface', 'ad.update.pictures'],
  },
  {
    title: 'Maison avec jardin, Toulon et La Valette',
    transactionType: 0,
    propertyTypes: [1],
    roomMin: 4,
    budgetMax: 700_000,
    includedCities: ['/cities/83137', '/cities/83144'],
    subscribedEvents: PRICE_EVENTS,
  },
  {
    title: 'Location au centre de Toulon, jusqu’à 900 €',
    transactionType: '1',
    propertyTypes: [0],
    budgetMax: 900,
    geoShapes: [
      [
        [5.9225, 43.1285],
        [5.9375, 43.1295],
        [5.9455, 43.1235],
        [5.9385, 43.1175],
        [5.9265, 43.1205],
        [5.9225, 43.1285],
      ],
    ],
    subscribedEvents: ['ad.update.price', 'property.ad.create', 'property.ad.update'],
  },
  {
    title: 'Vue mer à Toulon, sans viager',
    includedCities: ['/cities/83137'],
    expressions: [
      [
        { word: 'vue mer', options: { includes: true, strict: true } },
        { word: 'pas de vue mer', options: { includes: false, strict: true } },
        { word: 'viager', options: { includes: false, strict: false } },
      ],
    ],
    subscribedEvents: PRICE_EVENTS,
  },
] as const;

/** A search that finds the adverts of a file, except those with an incoherent price. */
export const EVERYTHING = {
  title: 'Toutes les annonces',
  subscribedEvents: [...PRICE_EVENTS, 'ad.update.surface', 'ad.update.pictures', 'property.ad.update'],
};

export type DemoSearch = { readonly title: string } & Readonly<Record<string, unknown>>;

export interface ReceivedDelivery {
  readonly event: string;
  readonly adEvent?: {
    readonly fieldName: string;
    readonly fieldOldValue: string | null;
    readonly fieldNewValue: string | null;
    readonly percentVariation: string | null;
  };
  readonly match: {
    readonly search: string;
    readonly propertyDocument: {
      readonly title: string | null;
      readonly price: number | null;
      readonly city: { readonly name: string } | null;
    };
  };
}

type DemoReceiver = Awaited<ReturnType<typeof startDemoReceiver>>;

interface DemoReceiverOptions {
  /** `path` is the path of the endpoint, which distinguishes matches from events. */
  readonly onDelivery: (path: string, delivery: ReceivedDelivery) => void;
  readonly onRefused: (reason: string) => void;
}

/** The client's endpoint. It verifies the signature of each webhook and reports the content. */
export async function startDemoReceiver(options: DemoReceiverOptions) {
  let webhook: Webhook | null = null;
  const server = createHttpServer(async (request, response) => {
    try {
      options.onDelivery(request.url ?? '/', verify(webhook, await text(request), request));
      response.writeHead(200).end('signature verified');
    } catch (error) {
      options.onRefused((error as Error).message);
      response.writeHead(400).end((error as Error).message);
    }
  });
  const { address, close } = await listenLocally(server);
  return {
    url: `http://${address}`,
    /** Stores the secret for the verification of webhooks, as a client would. */
    remember(secret: string) {
      webhook = new Webhook(secret);
    },
    close,
  };
}

/** Listens on a free port of 127.0.0.1. Its connections, all from the daemon, do not keep this process alive. */
export async function listenLocally(server: Server) {
  server.on('connection', (socket: Socket) => socket.unref());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => void server.close(),
  };
}

/** Throws if the signature is invalid. */
function verify(webhook: Webhook | null, body: string, request: IncomingMessage): ReceivedDelivery {
  if (webhook === null) throw new Error('the webhook arrived before its secret');
  return webhook.verify(body, request.headers as Record<string, string>) as ReceivedDelivery;
}
