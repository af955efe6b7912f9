/** A courier in the test's own process, on real servers, and queries of its rows. */

import { createDueAnnouncer, type DueAnnouncer } from '../../src/engine/broker/announcements.ts';
import { type Broker, connectBroker } from '../../src/engine/broker/connection.ts';
import { ensureRetries } from '../../src/engine/broker/topology.ts';
import { type Courier, startCourier } from '../../src/engine/delivery/courier.ts';
import { createSender, type SenderOptions } from '../../src/engine/delivery/sender.ts';
import { startCancellations } from '../../src/engine/maintenance/cancellations.ts';
import { type Database, openDatabase } from '../../src/engine/store/database.ts';
import { createDocumentCache } from '../../src/engine/store/document-cache.ts';
import { rememberWebhookSecrets } from '../../src/engine/store/webhook-secrets.ts';
import { ownDatabase } from './own-database.ts';
import { type Cleanup, startTestNats, type TestServer } from './servers.ts';
import { quietSupervisor } from './supervisor.ts';
import { RECOVERY_MAX_MS, until } from './until.ts';

/**
 * Long enough for an endpoint to answer on any machine, because a timeout would rightly cause another attempt, and
 * tests count attempts.
 */
const PATIENT_MS = 60_000;

export interface CourierSettings extends Partial<SenderOptions> {
  readonly clock?: () => Date;
  readonly retryDelayMs: number;
  readonly attemptsInFlightMax?: number;
  readonly silentMarginMs?: number;
}

type CourierParts = Partial<Parameters<typeof startCourier>[0]> & { readonly databaseUrl?: string };

export interface DeliveryStage {
  readonly servers: { readonly postgres: { readonly url: string }; readonly nats: TestServer };
  readonly database: Database;
  readonly broker: Broker;
  /** The announcer of a process without a courier. */
  readonly announcer: DueAnnouncer;
  /** A count of deliveries for each repair: retries whose message was missing, and attempts whose courier had died. */
  readonly repairs: { readonly missing: number[]; readonly aborted: number[] };
  /** Keys of endpoints that were reported as dead. */
  readonly dead: string[];
  /** `over`: another URL of the database, or other dependencies of the courier. */
  start(over?: CourierParts): Promise<Courier>;
  /** Resolves when no delivery is open any more. */
  untilAllEnded(): Promise<void>;
}

/** Opens a migrated database and a NATS server. No delivery is attempted before `start`. */
export async function openDeliveryStage(cleanup: Cleanup, settings: CourierSettings): Promise<DeliveryStage> {
  const closers: (() => Promise<unknown>)[] = [];
  cleanup.after(async () => {
    for (const close of closers.reverse()) await close();
  });
  const own: Cleanup = { after: (work) => closers.push(work) };
  const [url, nats] = await Promise.all([ownDatabase(own), startTestNats(own)]);
  const servers = { postgres: { url }, nats };
  const connect = (url: string): Database => {
    const pool = openDatabase({ url, connectionsMax: 8, plans: 'pipeline', onConnectionLost: () => undefined });
    closers.push(() => pool.end());
    return pool;
  };
  const database = connect(servers.postgres.url);
  const broker = await connectBroker({ url: servers.nats.url, name: 'test', onStatus: () => undefined });
  closers.push(() => broker.close());
  await ensureRetries(broker);
  const announcer = createDueAnnouncer(broker);
  const repairs: DeliveryStage['repairs'] = { missing: [], aborted: [] };
  const dead: string[] = [];
  const attemptTimeoutMs = settings.attemptTimeoutMs ?? PATIENT_MS;

  async function start({ databaseUrl, ...over }: CourierParts = {}): Promise<Courier> {
    const ownDatabase = databaseUrl === undefined ? database : connect(databaseUrl);
    const sender = createSender({
      connectTimeoutMs: PATIENT_MS,
      allowPrivateNetworks: true,
      userAgent: 'Vigie/test',
      ...settings,
      attemptTimeoutMs,
    });
    closers.push(() => sender.close());
    // A separate announcer, as in a separate process.
    const ownAnnouncer = createDueAnnouncer(broker);
    const parts = {
      broker,
      announcer: ownAnnouncer,
      database: ownDatabase,
      retryDelayMs: settings.retryDelayMs,
      onTransientError: () => undefined,
    };
    const courier = await startCourier({
      ...parts,
      documents: createDocumentCache(ownDatabase),
      secrets: rememberWebhookSecrets(ownDatabase),
      sender,
      attemptTimeoutMs,
      ...(settings.silentMarginMs === undefined ? {} : { silentMarginMs: settings.silentMarginMs }),
      attemptsInFlightMax: settings.attemptsInFlightMax ?? 64,
      clock: settings.clock ?? (() => new Date()),
      onAttempt: () => undefined,
      onMissing: (count) => repairs.missing.push(count),
      endpointPauseDays: 3,
      onEndpointDead: ({ key }) => dead.push(key),
      onFailureSeries: () => undefined,
      onAborted: (count) => repairs.aborted.push(count),
      supervisor: quietSupervisor(),
      ...over,
    });
    closers.push(() => courier.drain());
    const cancellations = startCancellations(parts);
    closers.push(() => cancellations.stop());
    return courier;
  }

  return {
    servers,
    database,
    broker,
    announcer,
    repairs,
    dead,
    start,
    async untilAllEnded() {
      await until(
        () => readOpen(database),
        (open) => open.length === 0,
        RECOVERY_MAX_MS,
      );
    },
  };
}

/** Some open deliveries, for the error of a wait that timed out. */
async function readOpen(database: Pick<Database, 'query'>): Promise<readonly unknown[]> {
  const { rows } = await database.query(
    `select id, endpoint, state, attempt_count, due_at, clock_timestamp() as now from delivery_states
     where state in ('queued', 'sending', 'retry_wait') limit 5`,
  );
  return rows;
}

export async function countOpen(database: Pick<Database, 'query'>): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    `select count(*)::integer as count from delivery_states where state in ('queued', 'sending', 'retry_wait')`,
  );
  return rows[0]?.count ?? 0;
}
