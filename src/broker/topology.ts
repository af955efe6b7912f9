/**
 * Streams and consumers, created when missing and never altered: an operator's settings win, and changing `ack_wait`
 * would move every retry that waits under it.
 *
 * `ADVERTS` holds what crawlers say, and each cell has a durable on it; `DELIVERIES` holds the deliveries to look at, one
 * stream a cell (domain/cell.ts). A delivery's subject is
 * `deliveries.<partition>.<endpoint key>`: one consumer per partition, because a burst of due retries costs a consumer
 * the square of its length, and one filter subject each, because nats-server 2.9 knows no more. Retries have partitions
 * of their own, `deliveries.r<partition>.<endpoint key>`: a consumer hands out due messages before new ones, and the
 * retries of an outage would stand before every live alert. `REJECTED` tells crawlers what was refused of theirs.
 */

import { AckPolicy, DeliverPolicy, DiscardPolicy, NatsError, nanos, RetentionPolicy, StorageType } from 'nats';
import { ADVERTS, REJECTED } from '../domain/streams.ts';
import { type Broker, onceElected } from './connection.ts';

export const ADVERTS_STREAM = ADVERTS.name;
export const DELIVERY_PARTITIONS = 8;

/** Adverts in flight to all instances together. Also bounds what a restart replays. */
const INTAKE_ACK_PENDING_MAX = 2_048;
const INTAKE_ACK_WAIT_MS = 60_000;
const DELIVERY_ACK_WAIT_MS = 90_000;
const DUPLICATE_WINDOW_MS = 2 * 60_000;

/** Who knows which cell it is in. */
type Named = Pick<Broker, 'names'>;

export const advertSubject = ADVERTS.subjectOf;

export function deliveryConsumer(partition: number): string {
  return `courier-${partition}`;
}

export function retryConsumer(partition: number): string {
  return `courier-retries-${partition}`;
}

function deliveryConsumers(): readonly string[] {
  const partitions = Array.from({ length: DELIVERY_PARTITIONS }, (_, partition) => partition);
  return partitions.flatMap((partition) => [deliveryConsumer(partition), retryConsumer(partition)]);
}

/** `endpointKey`: hexadecimal; its first eight digits, the same for all who name a URL, choose the partition. */
export function deliverySubject({ names }: Named, endpointKey: string): string {
  return `${names.deliveries}.${partitionOf(endpointKey)}.${endpointKey}`;
}

export function retrySubject({ names }: Named, endpointKey: string): string {
  return `${names.deliveries}.r${partitionOf(endpointKey)}.${endpointKey}`;
}

function partitionOf(endpointKey: string): number {
  return Number.parseInt(endpointKey.slice(0, 8), 16) % DELIVERY_PARTITIONS;
}

export async function ensureAdvertsStream(broker: Broker): Promise<void> {
  await createIfMissing(
    () => broker.manager.streams.info(ADVERTS_STREAM),
    () =>
      broker.manager.streams.add({
        name: ADVERTS_STREAM,
        subjects: [ADVERTS.subjects],
        storage: StorageType.File,
        num_replicas: broker.replicas,
        retention: RetentionPolicy.Limits,
        discard: DiscardPolicy.Old,
        max_age: nanos(ADVERTS.keptMs),
        duplicate_window: nanos(ADVERTS.duplicateWindowMs),
      }),
  );
}

/** `behind`: where a consumer begins that has to be created; with the oldest message unless said. */
export async function ensureIntake(broker: Broker, behind = 0): Promise<void> {
  await ensureAdvertsStream(broker);
  await createIfMissing(
    () => broker.manager.consumers.info(ADVERTS_STREAM, broker.names.intakeConsumer),
    () =>
      broker.manager.consumers.add(ADVERTS_STREAM, {
        durable_name: broker.names.intakeConsumer,
        ...(behind === 0 ? {} : { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: behind + 1 }),
        ack_policy: AckPolicy.Explicit,
        ack_wait: nanos(INTAKE_ACK_WAIT_MS),
        max_ack_pending: INTAKE_ACK_PENDING_MAX,
        max_deliver: -1,
      }),
  );
}

/** Resolves with true when the stream was missing. */
export function ensureRejections(broker: Broker): Promise<boolean> {
  return createIfMissing(
    () => broker.manager.streams.info(REJECTED.name),
    () =>
      broker.manager.streams.add({
        name: REJECTED.name,
        subjects: [REJECTED.subjects],
        storage: StorageType.File,
        num_replicas: broker.replicas,
        retention: RetentionPolicy.Limits,
        discard: DiscardPolicy.Old,
        max_age: nanos(REJECTED.keptMs),
        max_bytes: REJECTED.bytesMax,
        duplicate_window: nanos(DUPLICATE_WINDOW_MS),
      }),
  );
}

/** Resolves with true when the stream was missing: then no message points at the open deliveries any more. */
export async function ensureDeliveries(broker: Broker): Promise<boolean> {
  const { deliveries, deliveriesStream } = broker.names;
  const isNew = await createIfMissing(
    () => broker.manager.streams.info(deliveriesStream),
    () =>
      broker.manager.streams.add({
        name: deliveriesStream,
        subjects: [`${deliveries}.*.*`],
        storage: StorageType.File,
        num_replicas: broker.replicas,
        retention: RetentionPolicy.Workqueue,
        duplicate_window: nanos(DUPLICATE_WINDOW_MS),
      }),
  );
  for (let partition = 0; partition < DELIVERY_PARTITIONS; partition++) {
    await ensureDeliveryConsumer(broker, deliveryConsumer(partition), `${deliveries}.${partition}.*`);
    await ensureDeliveryConsumer(broker, retryConsumer(partition), `${deliveries}.r${partition}.*`);
  }
  return isNew;
}

async function ensureDeliveryConsumer(broker: Broker, durable: string, filterSubject: string): Promise<void> {
  await createIfMissing(
    () => broker.manager.consumers.info(broker.names.deliveriesStream, durable),
    () =>
      broker.manager.consumers.add(broker.names.deliveriesStream, {
        durable_name: durable,
        filter_subject: filterSubject,
        ack_policy: AckPolicy.Explicit,
        ack_wait: nanos(DELIVERY_ACK_WAIT_MS),
        max_ack_pending: -1,
        max_deliver: -1,
      }),
  );
}

/** Resolves with true when it had to be created. */
async function createIfMissing(info: () => Promise<unknown>, create: () => Promise<unknown>): Promise<boolean> {
  try {
    await info();
    return false;
  } catch (error) {
    if (!isMissing(error)) throw error;
    await create();
    return true;
  }
}

/**
 * For a start: resolves when everything that exists here has a leader. A cluster that has just lost a server chooses
 * others for each stream and consumer.
 */
export async function untilElected({ manager, names }: Broker): Promise<void> {
  const lookAt = (info: () => Promise<unknown>): Promise<void> =>
    onceElected(async () => {
      await info().catch((error: Error) => {
        if (!isMissing(error)) throw error;
      });
    });
  const consumers = [
    [ADVERTS_STREAM, names.intakeConsumer] as const,
    ...deliveryConsumers().map((name) => [names.deliveriesStream, name] as const),
  ];
  for (const stream of [ADVERTS_STREAM, names.deliveriesStream]) await lookAt(() => manager.streams.info(stream));
  for (const [stream, name] of consumers) await lookAt(() => manager.consumers.info(stream, name));
}

/** JetStream answers 404 for a stream or consumer that does not exist. */
export function isMissing(error: unknown): boolean {
  return error instanceof NatsError && error.api_error?.code === 404;
}
