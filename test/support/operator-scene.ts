/** For tests of operators' interfaces: a running service with one search, adverts that satisfy it, and an endpoint. */

import { randomUUID } from 'node:crypto';
import { type Broker } from '../../src/engine/broker/connection.ts';
import { publish } from '../../src/engine/broker/publish.ts';
import { advertSubject } from '../../src/engine/broker/topology.ts';
import { connectTestBroker } from './broker.ts';
import { createApiKey, type Daemon, type RunningService, type Settings, startDaemon } from './daemon.ts';
import { type CreatedSearch, restClient } from './rest-client.ts';
import { type Cleanup, startTestServers, type TestServers } from './servers.ts';
import { startHere } from './service.ts';
import { startWebhookReceiver, type WebhookReceiver } from './webhook-receiver.ts';

export interface OperatorScene<S extends RunningService = RunningService> {
  readonly servers: TestServers;
  readonly daemon: S;
  readonly key: string;
  readonly receiver: WebhookReceiver;
  readonly search: CreatedSearch;
  /** Publishes adverts that satisfy the search; resolves with their properties. */
  publishAdverts(count: number, headers?: Readonly<Record<string, string>>): Promise<readonly string[]>;
  publishPoison(): Promise<void>;
}

/** Runs the service in the test's process. */
export function startScene(cleanup: Cleanup, settings: Settings = {}): Promise<OperatorScene> {
  return openScene(cleanup, (servers) => startHere(cleanup, servers, settings));
}

/** Runs a daemon, for tests of its output and exit. */
export function startDaemonScene(cleanup: Cleanup, settings: Settings = {}): Promise<OperatorScene<Daemon>> {
  return openScene(cleanup, (servers) => startDaemon(cleanup, servers, settings));
}

async function openScene<S extends RunningService>(
  cleanup: Cleanup,
  start: (servers: TestServers) => Promise<S>,
): Promise<OperatorScene<S>> {
  const servers = await startTestServers(cleanup);
  const receiver = await startWebhookReceiver(cleanup);
  const daemon = await start(servers);
  const key = await createApiKey(servers);
  const search = await restClient(daemon, key).createSearch({
    title: 'Toulon',
    budgetMax: 300_000,
    notificationEnabled: true,
    endpointRecipient: receiver.urlOf('/hook'),
  });
  const broker = await connectTestBroker(cleanup, servers.nats.url);
  return {
    servers,
    daemon,
    key,
    receiver,
    search,
    publishAdverts: (count, headers = {}) => publishAdverts(broker, count, headers),
    async publishPoison() {
      const bytes = Buffer.from('{"kind":"upsert"');
      await publish(broker, { subject: advertSubject(randomUUID()), messageId: randomUUID(), bytes });
    },
  };
}

/** URL of the property's only advert on its portal. */
export function portalUrlOf(property: string): string {
  return `https://portal.example/annonces?id=${property}`;
}

export async function publishAdverts(
  broker: Broker,
  count: number,
  headers: Readonly<Record<string, string>> = {},
): Promise<readonly string[]> {
  const properties: string[] = [];
  for (let i = 0; i < count; i++) {
    const uuid = randomUUID();
    const message = {
      kind: 'upsert',
      crawledAt: new Date().toISOString(),
      property: { uuid, transactionType: 0, propertyType: 0, city: { insee: '83137' } },
      advert: { uuid: randomUUID(), title: 'Appartement', price: 250_000, surface: 60, url: portalUrlOf(uuid) },
    };
    const bytes = Buffer.from(JSON.stringify(message));
    await publish(broker, { subject: advertSubject(uuid), messageId: randomUUID(), bytes, headers });
    properties.push(uuid);
  }
  return properties;
}

export interface Readiness {
  /** 0: no server listens. */
  readonly status: number;
  readonly text: string;
  readonly checks: Readonly<Record<string, { readonly status: string; readonly reason?: string }>>;
}

export async function readinessOf({ operationsUrl }: Pick<RunningService, 'operationsUrl'>): Promise<Readiness> {
  const answer = await fetch(`${operationsUrl}/readyz`).catch(() => null);
  if (answer === null) return { status: 0, text: '', checks: {} };
  const text = await answer.text();
  return { status: answer.status, text, checks: (JSON.parse(text) as Readiness).checks };
}

/** Sum of a counter or gauge over its labels, from the operations port; 0 if it is absent. */
export async function metricOf(
  { operationsUrl }: Pick<RunningService, 'operationsUrl'>,
  name: string,
): Promise<number> {
  const exposition = await (await fetch(`${operationsUrl}/metrics`)).text();
  return exposition
    .split('\n')
    .filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}
