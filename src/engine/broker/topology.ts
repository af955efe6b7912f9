/**
 * Creates missing streams and consumers, and never alters existing ones: an operator's settings take precedence, and a
 * changed `ack_wait` would move every waiting retry.
 *
 * `ADVERTS` stores the messages of crawlers and has one durable consumer per installation. `RETRIES` stores the retries
 * that are not due yet; there is one such stream per installation (domain/namespace.ts). The subject
 * `retries.<partition>.<delivery>` identifies a retry. Each partition has a consumer, because the cost of a burst of
 * due retries grows with the square of their number per consumer. A consumer has one filter subject, because
 * nats-server 2.9 supports no more. `REJECTED` notifies crawlers of rejected messages.
 */

import { randomBytes } from 'node:crypto';
import {
  AckPolicy,
  type ConsumerConfig,
  DiscardPolicy,
  NatsError,
  nanos,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from 'nats';
import type { Uuid } from '../domain/ids.ts';
import { type DatabaseLabel, labelOf, labelText } from '../domain/namespace.ts';
import { ADVERTS, REJECTED } from '../domain/streams.ts';
import { type Broker, onceElected, PEERS_MAX_MS } from './connection.ts';

export const ADVERTS_STREAM = ADVERTS.name;
export const RETRY_PARTITIONS = 8;

/** Maximum unacknowledged adverts of all instances together. This also limits how many a restart reads again. */
const INTAKE_ACK_PENDING_MAX = 2_048;
const INTAKE_ACK_WAIT_MS = 60_000;
const RETRY_ACK_WAIT_MS = 90_000;
const DUPLICATE_WINDOW_MS = 2 * 60_000;

type Named = Pick<Broker, 'names'>;
type Shaped = Pick<Broker, 'names' | 'replicas'>;

export type WantedStream = Partial<StreamConfig> & { readonly name: string; readonly subjects: string[] };
export type WantedConsumer = Partial<ConsumerConfig> & { readonly stream: string; readonly durable_name: string };

export const advertSubject = ADVERTS.subjectOf;

export function retryConsumer(partition: number): string {
  return `retries-${partition}`;
}

/** `endpointKey` is hexadecimal. Its first eight digits, which depend only on the URL, determine the partition. */
export function retryPartition(endpointKey: string): number {
  return Number.parseInt(endpointKey.slice(0, 8), 16) % RETRY_PARTITIONS;
}

export function retrySubject({ names }: Named, endpointKey: string, id: Uuid): string {
  return `${names.retries}.${retryPartition(endpointKey)}.${id}`;
}

/** Every stream that the daemon creates if missing. */
export function streamsOf({ names, replicas }: Shaped): readonly WantedStream[] {
  const shared = { storage: StorageType.File, num_replicas: replicas };
  return [
    {
      ...shared,
      name: ADVERTS_STREAM,
      subjects: [ADVERTS.subjects],
      retention: RetentionPolicy.Limits,
      // A full stream refuses new messages, because old messages may not be recorded yet. The leader makes room
      // (intake/trimming.ts).
      discard: DiscardPolicy.New,
      max_age: nanos(ADVERTS.keptMs),
      duplicate_window: nanos(ADVERTS.duplicateWindowMs),
    },
    {
      ...shared,
      name: REJECTED.name,
      subjects: [REJECTED.subjects],
      retention: RetentionPolicy.Limits,
      discard: DiscardPolicy.Old,
      max_age: nanos(REJECTED.keptMs),
      duplicate_window: nanos(DUPLICATE_WINDOW_MS),
    },
    {
      ...shared,
      name: names.retriesStream,
      subjects: [`${names.retries}.*.*`],
      retention: RetentionPolicy.Workqueue,
      duplicate_window: nanos(DUPLICATE_WINDOW_MS),
    },
  ];
}

/** Every consumer that the daemon creates if missing. */
export function consumersOf({ names }: Pick<Shaped, 'names'>): readonly WantedConsumer[] {
  const ofPartition = (durable: string, filter: string): WantedConsumer => ({
    stream: names.retriesStream,
    durable_name: durable,
    filter_subject: filter,
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(RETRY_ACK_WAIT_MS),
    max_ack_pending: -1,
    max_deliver: -1,
  });
  const partitions = Array.from({ length: RETRY_PARTITIONS }, (_, partition) => partition);
  return [
    {
      stream: ADVERTS_STREAM,
      durable_name: names.intakeConsumer,
      ack_policy: AckPolicy.Explicit,
      ack_wait: nanos(INTAKE_ACK_WAIT_MS),
      max_ack_pending: INTAKE_ACK_PENDING_MAX,
      max_deliver: -1,
    },
    ...partitions.map((partition) => ofPartition(retryConsumer(partition), `${names.retries}.${partition}.*`)),
  ];
}

/** Creates a missing `ADVERTS`, and before that `REJECTED`, for which `ADVERTS` may leave too little room. */
export async function ensureAdvertsStream(broker: Broker): Promise<void> {
  await ensureStream(broker, ADVERTS_STREAM, async () => {
    const room = await readRoom(broker);
    await ensureStream(broker, REJECTED.name, async () => rejectedBounds(room)).catch(unlessRefused);
    const share = isAtLeast(broker.serverVersion, 2, 10) ? SHARE : SHARE_BEFORE_2_10;
    return room === null ? {} : { max_bytes: Math.floor(room * share) };
  });
}

export async function ensureIntake(broker: Broker): Promise<void> {
  await ensureAdvertsStream(broker);
  await ensureConsumers(broker, ADVERTS_STREAM);
}

/** Resolves with true if the stream was missing. */
export function ensureRejections(broker: Broker): Promise<boolean> {
  return ensureStream(broker, REJECTED.name, async () => rejectedBounds(await readRoom(broker)));
}

/** Ignores a refusal of `REJECTED`, so that `ADVERTS` is created. The next attempt to create `REJECTED` reports it. */
function unlessRefused(error: unknown): void {
  if (!(error instanceof NatsError) || error.api_error === undefined) throw error;
}

function rejectedBounds(room: number | null): Pick<StreamConfig, 'max_bytes'> {
  return { max_bytes: Math.floor(Math.min(REJECTED.bytesMax, (room ?? SMALLEST_BYTES) * REJECTED.shareMax)) };
}

export async function ensureRetries(broker: Broker): Promise<void> {
  await ensureStream(broker, broker.names.retriesStream);
  await ensureConsumers(broker, broker.names.retriesStream);
}

function ensureStream(
  broker: Broker,
  name: string,
  more: () => Promise<Partial<StreamConfig>> = async () => ({}),
): Promise<boolean> {
  const wanted = streamsOf(broker).find((each) => each.name === name) as WantedStream;
  // Streams that several installations share have no owner label.
  const isShared = name === ADVERTS_STREAM || name === REJECTED.name;
  return createIfMissing(
    () => broker.manager.streams.info(name),
    async () => broker.manager.streams.add({ ...wanted, ...(isShared ? {} : labelling(broker)), ...(await more()) }),
  );
}

async function ensureConsumers(broker: Broker, ofStream: string): Promise<void> {
  for (const { stream, ...wanted } of consumersOf(broker)) {
    if (stream !== ofStream) continue;
    await createIfMissing(
      () => broker.manager.consumers.info(stream, wanted.durable_name),
      () => broker.manager.consumers.add(stream, { ...wanted, ...labelling(broker) }),
    );
  }
}

/** Resolves with true if the stream or consumer was missing. */
async function createIfMissing(info: () => Promise<unknown>, create: () => Promise<unknown>): Promise<boolean> {
  if ((await info().catch(nullIfMissing)) !== null) return false;
  await onceElected(create);
  return true;
}

/**
 * Resolves when `ADVERTS`, `RETRIES` and their consumers, if they exist, have leaders; called at start-up. A cluster
 * that has lost a server elects new leaders after a while. A cluster that has lost most of its servers needs the
 * operator. `onWaiting` is called for each failed check. Rejects if a leader is missing for `PEERS_MAX_MS`.
 */
export async function untilElected({ manager, names }: Broker, onWaiting: (error: Error) => void): Promise<void> {
  const lookAt = (info: () => Promise<unknown>): Promise<void> =>
    onceElected(async () => {
      await info().catch((error: Error) => {
        if (isMissing(error)) return;
        onWaiting(error);
        throw error;
      });
    }, PEERS_MAX_MS);
  for (const stream of [ADVERTS_STREAM, names.retriesStream]) await lookAt(() => manager.streams.info(stream));
  for (const { stream, durable_name } of consumersOf({ names })) {
    await lookAt(() => manager.consumers.info(stream, durable_name));
  }
}

/** JetStream answers 404 for a stream, consumer or message that does not exist. */
export function isMissing(error: unknown): boolean {
  return error instanceof NatsError && error.api_error?.code === 404;
}

export function nullIfMissing(error: unknown): null {
  if (isMissing(error)) return null;
  throw error;
}

/** The share of JetStream's room for `ADVERTS`. The rest is for retries, rejections, and JetStream's own files. */
const SHARE = 3 / 4;
/**
 * For nats-server below 2.10, which does not recover a stream whose `max_bytes` exceeds the free room of its store.
 * Without `max_file_store`, that room shrinks with every start.
 */
const SHARE_BEFORE_2_10 = 1 / 2;
const SMALLEST_BYTES = 16 * 1_024 * 1_024;
const LARGEST_BYTES = 2 ** 50;
/** Precision of the search, as a share of the room. */
const PRECISION = 1 / 64;

/** JetStream's error codes for exceeded limits of the account, of the server, or of every server in a cluster. */
const REFUSALS: ReadonlySet<number | undefined> = new Set([10_002, 10_005, 10_023, 10_047, 10_122]);

/**
 * The number of bytes that new streams can reserve in JetStream's store. Only the system account can read the size of a
 * store, so a binary search finds the largest stream that the server would create. Null if even the smallest stream has
 * no room. Rejects if NATS is unavailable.
 */
async function readRoom(broker: Broker): Promise<number | null> {
  const name = `VIGIE-ROOM-${randomBytes(6).toString('hex')}`;
  let room = LARGEST_BYTES;
  while (room >= SMALLEST_BYTES && !(await hasRoom(broker, name, room))) room /= 2;
  if (room < SMALLEST_BYTES) return null;
  for (let step = room / 2; step >= room * PRECISION; step /= 2) {
    if (await hasRoom(broker, name, room + step)) room += step;
  }
  return room;
}

async function hasRoom({ manager, replicas }: Broker, name: string, bytes: number): Promise<boolean> {
  const config = { name, subjects: [name], storage: StorageType.File, num_replicas: replicas, max_bytes: bytes };
  try {
    await manager.streams.add(config);
  } catch (error) {
    if (error instanceof NatsError && REFUSALS.has(error.api_error?.err_code)) return false;
    throw error;
  }
  await manager.streams.delete(name);
  return true;
}

const KEY = 'vigie-database';
const DESCRIPTION = 'of the Vigie database ';

type Labelled = Pick<Partial<StreamConfig & ConsumerConfig>, 'metadata' | 'description'>;

/**
 * The part of a configuration that names the owning database; empty for a command, which has no database. If two
 * databases shared a consumer or `RETRIES`, each would silently take messages of the other. Therefore the daemon labels
 * these when it creates them: in the metadata, or in the description for nats-server below 2.10.
 */
export function labelling({ database, serverVersion }: Pick<Broker, 'database' | 'serverVersion'>): Labelled {
  if (database === null) return {};
  const text = labelText(database);
  return knowsMetadata(serverVersion) ? { metadata: { [KEY]: text } } : { description: `${DESCRIPTION}${text}` };
}

/** Null for a shared stream, or if another program created the stream or consumer. */
export function ownerOf({ metadata, description }: Labelled): DatabaseLabel | null {
  const described = description?.startsWith(DESCRIPTION) ? description.slice(DESCRIPTION.length) : undefined;
  return labelOf(metadata?.[KEY] ?? described);
}

function knowsMetadata(version: string): boolean {
  return isAtLeast(version, 2, 10);
}

export function isAtLeast(version: string, major: number, minor: number): boolean {
  const [ofMajor = 0, ofMinor = 0] = version.split('.').map(Number);
  return ofMajor > major || (ofMajor === major && ofMinor >= minor);
}
