/**
 * The part of the composition root that opens delivery: the sender, the courier, cancellations, and the features'
 * background tasks.
 */

import { onChange } from '../engine/broker/announcements.ts';
import { createPauseGate } from '../engine/broker/pause-gate.ts';
import { startCourier } from '../engine/delivery/courier.ts';
import { createSender, type Sender } from '../engine/delivery/sender.ts';
import { startCancellations } from '../engine/maintenance/cancellations.ts';
import type { Database } from '../engine/store/database.ts';
import { rememberWebhookSecrets, type WebhookSecrets } from '../engine/store/webhook-secrets.ts';
import type { FeatureTask } from '../feature.ts';
import { FEATURES } from '../features.ts';
import { VERSION } from '../version.ts';
import { measureStage } from './measures.ts';
import type { Parts } from './parts.ts';

export async function openDelivery(parts: Parts): Promise<void> {
  const {
    config,
    metrics,
    pipelineDatabase,
    broker,
    announcer,
    documents,
    observers,
    heartbeat,
    draining,
    supervisor,
    onTransientError,
  } = parts;
  const sender = openSender(parts);
  const gate = createPauseGate();
  let inFlight = (): number => 0;
  let waiting = (): number => 0;
  await heartbeat.addStage({ name: 'deliver', gate, inFlight: () => inFlight() });
  // A running attempt counts as progress even if its endpoint hangs, because the duration of an attempt is limited.
  const noteProgress = parts.stalls.follow('deliver', () => gate.isOpen && sender.inFlight === 0 && waiting() > 0);
  const courier = await startCourier({
    broker,
    announcer,
    database: pipelineDatabase,
    documents,
    secrets: openSecrets(parts, pipelineDatabase),
    sender,
    retryDelayMs: config.retryDelayMs,
    attemptTimeoutMs: config.attemptTimeoutMs,
    attemptsInFlightMax: config.attemptsInFlightMax,
    clock: () => new Date(),
    gate,
    onClaimed: noteProgress,
    onAttempt(settled) {
      noteProgress();
      observers.onAttempt(settled);
    },
    onMissing: observers.onMissing,
    onAborted: observers.onAborted,
    endpointPauseDays: config.endpointPauseDays,
    onEndpointDead: observers.onEndpointDead,
    onFailureSeries: observers.onFailureSeries,
    supervisor,
    onTransientError,
  });
  draining('courier', () => courier.drain());
  waiting = () => courier.waiting() + courier.inFlight();
  const tasks = FEATURES.flatMap(({ name, start }): FeatureTask | [] => {
    const task = start?.(parts, gate) ?? null;
    if (task === null) return [];
    draining(name, () => task.drain());
    return task;
  });
  inFlight = () => tasks.reduce((sum, { inFlight: own = 0 }) => sum + own, courier.inFlight());
  measureStage(metrics, 'deliver', gate, inFlight);
  const cancellations = startCancellations({ database: parts.database, onTransientError });
  draining('cancellations', () => cancellations.stop());
}

/** Secrets that sign webhooks in addition to the tokens of searches. The cache is cleared when any secret changes. */
export function openSecrets({ broker }: Parts, database: Database): WebhookSecrets {
  const secrets = rememberWebhookSecrets(database);
  onChange(broker, 'secrets', secrets.forget);
  return secrets;
}

export function openSender({ config, resolveName, closing }: Parts): Sender {
  const sender = createSender({
    connectTimeoutMs: config.connectTimeoutMs,
    attemptTimeoutMs: config.attemptTimeoutMs,
    allowPrivateNetworks: config.allowPrivateEndpoints,
    resolveName,
    userAgent: `Vigie/${VERSION}`,
  });
  closing('sender', () => sender.close());
  return sender;
}
