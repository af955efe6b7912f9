/** A courier with its sweeper in the test's own process, on real servers, and a look at its rows. */

import { type Broker, connectBroker } from '../../src/broker/connection.ts';
import { ensureDeliveries } from '../../src/broker/topology.ts';
import { startCancellations } from '../../src/delivery/cancellations.ts';
import { type Courier, startCourier } from '../../src/delivery/courier.ts';
import { createDocumentCache } from '../../src/delivery/document-cache.ts';
import { type Repair, startSweeper } from '../../src/delivery/sweeper.ts';
import { type Database, migrate, openDatabase } from '../../src/store/database.ts';
import { rememberWebhookSecrets } from '../../src/store/webhook-secrets.ts';
import { createSender, type SenderOptions } from '../../src/webhooks/sender.ts';
import { type Cleanup, startTestServers, type TestServers } from './servers.ts';
import { quietSupervisor } from './supervisor.ts';
import { until } from './until.ts';

/** An endpoint that answers does so in time, however busy the machine is: another attempt would be right, and counted. */
const PATIENT_MS = 60_000;

export interface CourierSettings extends Partial<SenderOptions> {
  readonly retryDelayMs: number;
  readonly attemptsInFlightMax?: number;
}

export interface DeliveryStage {
  readonly servers: TestServers;
  readonly database: Database;
  readonly broker: Broker;
  /** What the sweeper had to make good. */
  readonly repairs: readonly Repair[];
  /** `over`: another way to the database, for the courier and its sweeper. */
  start(over?: { readonly databaseUrl: string }): Promise<Courier>;
  /** Resolves when no delivery is open any more. */
  untilAllEnded(): Promise<void>;
}

/** Migrated and connected, with its stream; nothing is delivered before `start`. The last opened closes first. */
export async function openDeliveryStage(cleanup: Cleanup, settings: CourierSettings): Promise<DeliveryStage> {
  const closers: (() => Promise<unknown>)[] = [];
  cleanup.after(async () => {
    for (const close of closers.reverse()) await close();
  });
  const servers = await startTestServers({ after: (work) => closers.push(work) });
  await migrate(servers.postgres.url);
  const connect = (url: string): Database => {
    const pool = openDatabase({ url, connectionsMax: 8, plans: 'pipeline', onConnectionLost: () => undefined });
    closers.push(() => pool.end());
    return pool;
  };
  const database = connect(servers.postgres.url);
  const broker = await connectBroker({ url: servers.nats.url, name: 'test', onStatus: () => undefined });
  closers.push(() => broker.close());
  await ensureDeliveries(broker);
  const repairs: Repair[] = [];
  const attemptTimeoutMs = settings.attemptTimeoutMs ?? PATIENT_MS;

  async function start(over?: { readonly databaseUrl: string }): Promise<Courier> {
    const ownDatabase = over === undefined ? database : connect(over.databaseUrl);
    const sender = createSender({
      connectTimeoutMs: PATIENT_MS,
      allowPrivateNetworks: true,
      userAgent: 'Vigie/test',
      ...settings,
      attemptTimeoutMs,
    });
    closers.push(() => sender.close());
    const parts = { broker, database: ownDatabase, retryDelayMs: settings.retryDelayMs, onTrouble: () => undefined };
    const courier = await startCourier({
      ...parts,
      documents: createDocumentCache(ownDatabase),
      secrets: rememberWebhookSecrets(ownDatabase),
      sender,
      attemptTimeoutMs,
      attemptsInFlightMax: settings.attemptsInFlightMax ?? 64,
      onAttempt: () => undefined,
      supervisor: quietSupervisor(),
    });
    closers.push(() => courier.drain());
    const sweeper = startSweeper({
      ...parts,
      isHeld: courier.holds,
      clock: () => new Date(),
      onRepair: (repair) => repairs.push(repair),
    });
    closers.push(() => sweeper.stop());
    const cancellations = startCancellations(parts);
    closers.push(() => cancellations.stop());
    return courier;
  }

  return {
    servers,
    database,
    broker,
    repairs,
    start,
    async untilAllEnded() {
      await until(
        () => readOpen(database),
        (open) => open.length === 0,
      );
    },
  };
}

/** Some of what is open, to tell what a wait was given up for. */
async function readOpen(database: Pick<Database, 'query'>): Promise<readonly unknown[]> {
  const { rows } = await database.query(
    `select id, endpoint, state, attempt_count, due_at, clock_timestamp() as now from deliveries
     where state in ('queued', 'sending', 'retry_wait', 'parked') limit 5`,
  );
  return rows;
}

export async function countOpen(database: Pick<Database, 'query'>): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    `select count(*)::integer as count from deliveries where state in ('queued', 'sending', 'retry_wait', 'parked')`,
  );
  return rows[0]?.count ?? 0;
}
