/** Runs a courier, recoveries and cancellations. Arguments: URLs of PostgreSQL and NATS, and the retry delay in ms. */

import { createDueAnnouncer } from '../../src/engine/broker/announcements.ts';
import { connectBroker } from '../../src/engine/broker/connection.ts';
import { startCourier } from '../../src/engine/delivery/courier.ts';
import { createSender } from '../../src/engine/delivery/sender.ts';
import { startCancellations } from '../../src/engine/maintenance/cancellations.ts';
import { openDatabase } from '../../src/engine/store/database.ts';
import { createDocumentCache } from '../../src/engine/store/document-cache.ts';
import { rememberWebhookSecrets } from '../../src/engine/store/webhook-secrets.ts';
import { startRecoveries } from '../../src/features/recoveries/recoveries.ts';
import { quietSupervisor } from '../../test/support/supervisor.ts';
import { ATTEMPTS_IN_FLIGHT_MAX, CONNECTIONS_MAX } from './limits.ts';

const [databaseUrl = '', natsUrl = '', retryDelay = ''] = process.argv.slice(2);
const ATTEMPT_TIMEOUT_MS = 15_000;
const retryDelayMs = Number(retryDelay);
const onTransientError = (what: string, error: Error): void => console.error(what, error.message);

const database = openDatabase({
  url: databaseUrl,
  connectionsMax: CONNECTIONS_MAX,
  plans: 'pipeline',
  onConnectionLost: () => undefined,
});
const broker = await connectBroker({ url: natsUrl, name: 'bench', onStatus: () => undefined });
const sender = createSender({
  connectTimeoutMs: 5_000,
  attemptTimeoutMs: ATTEMPT_TIMEOUT_MS,
  allowPrivateNetworks: true,
  userAgent: 'Vigie/bench',
});
const announcer = createDueAnnouncer(broker);
const parts = { broker, announcer, database, retryDelayMs, onTransientError };
let attempts = 0;
const courier = await startCourier({
  ...parts,
  documents: createDocumentCache(database),
  secrets: rememberWebhookSecrets(database),
  sender,
  attemptTimeoutMs: ATTEMPT_TIMEOUT_MS,
  attemptsInFlightMax: ATTEMPTS_IN_FLIGHT_MAX,
  clock: () => new Date(),
  onAttempt() {
    attempts += 1;
  },
  onMissing: (count) => console.error('missing', count),
  endpointPauseDays: 3,
  onEndpointDead: () => undefined,
  onFailureSeries: () => undefined,
  onAborted: (count) => console.error('aborted', count),
  supervisor: quietSupervisor(({ actor, error }) => onTransientError(actor, error)),
});
startRecoveries({ ...parts, attemptsInFlightMax: ATTEMPTS_IN_FLIGHT_MAX });
startCancellations(parts);
process.send?.('ready');
process.on('message', async (message) => {
  if (message === 'figures') process.send?.({ attempts, rssMb: process.memoryUsage.rss() / 1_048_576 });
  else await courier.drain().then(() => process.exit());
});
process.on('disconnect', () => process.exit());
