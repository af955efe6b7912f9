/** Reads and changes the position of a durable consumer in its stream, reads times of storage, and trims a stream. */

import { AckPolicy, type ConsumerInfo, DeliverPolicy, nanos, type StreamConfig } from 'nats';
import { type Broker, onceElected } from './connection.ts';
import { hasMajority } from './jetstream-watch.ts';
import { BrokerSilentError } from './outage.ts';
import { nullIfMissing } from './topology.ts';

export interface ConsumerPosition {
  /** When the stream was created. Distinguishes the stream from a later stream with the same name. */
  readonly createdAt: string;
  /** The sequence of the oldest message in the stream. */
  readonly firstSequence: number;
  /** The sequence of the newest message that the stream has ever had. */
  readonly lastSequence: number;
  readonly messages: number;
  /** Every message up to this sequence is acknowledged. */
  readonly acknowledgedUpTo: number;
  readonly handedOutUpTo: number;
  /** True if the consumer reports no pending message although the stream has one (`withholds`). */
  readonly isShort: boolean;
  /** True if the stream has replicas, so that its leader may have changed. */
  readonly isReplicated: boolean;
  /** False if the answering server may be cut off from the stream's other servers. */
  readonly isByMajority: boolean;
}

/** Rejects if NATS is unavailable, or the stream or consumer is missing. */
export async function readConsumerPosition(
  broker: Broker,
  stream: string,
  consumer: string,
): Promise<ConsumerPosition> {
  const [{ created, config, state, cluster }, info] = await Promise.all([
    broker.manager.streams.info(stream),
    broker.manager.consumers.info(stream, consumer),
  ]);
  return {
    createdAt: created,
    firstSequence: state.first_seq,
    lastSequence: state.last_seq,
    messages: state.messages,
    acknowledgedUpTo: acknowledgedUpTo(info, config),
    handedOutUpTo: info.delivered.stream_seq,
    isShort: withholds(info, state.last_seq),
    isReplicated: config.num_replicas > 1,
    isByMajority: hasMajority(cluster),
  };
}

/**
 * The sequence up to which every message is acknowledged. If no message is in flight, this is the last delivered
 * message, because `ack_floor` does not advance over messages that the stream has dropped. For a replicated consumer
 * only `ack_floor` counts. A new leader may answer before it knows the messages in flight, and report none (nats-server
 * 2.10, `setLeader`).
 */
export function acknowledgedUpTo(
  { ack_floor, delivered, num_ack_pending }: Pick<ConsumerInfo, 'ack_floor' | 'delivered' | 'num_ack_pending'>,
  { num_replicas }: Pick<StreamConfig, 'num_replicas'>,
): number {
  return num_ack_pending === 0 && num_replicas === 1 ? delivered.stream_seq : ack_floor.stream_seq;
}

/**
 * Whether the consumer reports no pending message although the stream has one after the last delivered message.
 * Observed on nats-server 2.10 after a cluster had lost its majority; this ended only when the next message arrived.
 */
export function withholds({ delivered, num_pending }: ConsumerInfo, sequence: number): boolean {
  return num_pending === 0 && sequence > delivered.stream_seq;
}

/** Makes another server lead the consumer and count its pending messages again. Rejects if no server answers. */
export async function stepDownConsumer({ connection }: Broker, stream: string, consumer: string): Promise<void> {
  await connection.request(`$JS.API.CONSUMER.LEADER.STEPDOWN.${stream}.${consumer}`);
}

/**
 * Deletes the durable consumer and creates it again with the same settings, starting at `sequence`. A consumer whose
 * position is beyond the end of its stream would skip new messages up to this position. Rejects if NATS is unavailable.
 */
export async function restartConsumer(
  { manager }: Broker,
  { stream, consumer, sequence }: { readonly stream: string; readonly consumer: string; readonly sequence: number },
): Promise<void> {
  const { config } = await manager.consumers.info(stream, consumer);
  const { opt_start_time: _, ...settings } = config;
  const from = { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: sequence };
  await manager.consumers.delete(stream, consumer);
  await onceElected(() => manager.consumers.add(stream, { ...settings, ...from }));
}

/** The server deletes the temporary consumer after this time if this process has not deleted it. */
const FORGOTTEN_AFTER_MS = 5_000;

/** `first` is the first sequence stored at or after `at`, or else the next sequence. Counts the messages from there. */
export async function readSince(
  { manager }: Broker,
  stream: string,
  at: Date,
): Promise<{ readonly first: number; readonly messages: number }> {
  const { name, delivered, num_pending } = await manager.consumers.add(stream, {
    ack_policy: AckPolicy.None,
    deliver_policy: DeliverPolicy.StartTime,
    opt_start_time: at.toISOString(),
    inactive_threshold: nanos(FORGOTTEN_AFTER_MS),
    mem_storage: true,
  });
  await manager.consumers.delete(stream, name);
  return { first: delivered.stream_seq + 1, messages: num_pending };
}

/** When the message was stored, in the server's format with nanoseconds; null if the stream does not have it. */
export async function readStoredAt(broker: Broker, stream: string, sequence: number): Promise<string | null> {
  const message = await broker.manager.streams.getMessage(stream, { seq: sequence }).catch(nullIfMissing);
  return message?.timestamp ?? null;
}

/** Consumers receive the time as a number of nanoseconds, which JavaScript rounds. */
const ROUNDED_MS = 1;

export interface StoredMessage {
  readonly sequence: number;
  /** Milliseconds since the epoch, by the stream's clock. */
  readonly storedAtMs: number;
}

/**
 * False if the stream has another message with this sequence, null if it has none. Rejects if the last message of the
 * stream's leader is before this sequence.
 */
export async function isStored(
  broker: Broker,
  stream: string,
  { sequence, storedAtMs }: StoredMessage,
): Promise<boolean | null> {
  const stored = await readStoredAt(broker, stream, sequence);
  if (stored !== null) return Math.abs(Date.parse(stored) - storedAtMs) <= ROUNDED_MS;
  const { state } = await broker.manager.streams.info(stream);
  if (state.last_seq < sequence)
    throw new BrokerSilentError(`the leader of ${stream} lacks messages up to ${sequence}`);
  return null;
}

/** The sequence of the first message at or after `sequence`, by the stream's leader; null if there is none. */
export async function readNextStored({ manager }: Broker, stream: string, sequence: number): Promise<number | null> {
  const query = { seq: sequence, next_by_subj: '>' };
  return (await manager.streams.getMessage(stream, query).catch(nullIfMissing))?.seq ?? null;
}

interface TrimLimits {
  /** Messages after this sequence are kept, even if no consumer needs them. */
  readonly upTo: number;
  /** Messages stored less than this time before the newest message are kept. */
  readonly keptMs: number;
}

export interface Trim {
  /** Number of removed messages. */
  readonly removed: number;
  /** Why no message of a full stream could be removed; null otherwise. */
  readonly heldBy: string | null;
}

/** Shares of `max_bytes`: above the first, messages are removed down to the second. */
const FULL_SHARE = 0.8;
const TRIMMED_SHARE = 0.75;
const NOTHING: Trim = { removed: 0, heldBy: null };

/**
 * Makes room before the stream is full and refuses new messages. Removes the oldest messages that every durable
 * consumer has acknowledged, within `TrimLimits`. Rejects if NATS is unavailable.
 */
export async function trimStream(broker: Broker, stream: string, { upTo, keptMs }: TrimLimits): Promise<Trim> {
  const { manager } = broker;
  const { config, state } = await manager.streams.info(stream);
  const { first_seq: first, last_seq: last, last_ts, bytes, messages } = state;
  if (config.max_bytes <= 0 || bytes < FULL_SHARE * config.max_bytes) return NOTHING;
  const limits: (readonly [number, string])[] = [[upTo, 'the last message recorded in this database']];
  for await (const consumer of manager.consumers.list(stream)) {
    const { durable_name } = consumer.config;
    if (durable_name !== undefined) limits.push([neededAfter(consumer, config, last), `the consumer ${durable_name}`]);
  }
  // By the stream's own clock, which timestamps its messages.
  const kept = await readSince(broker, stream, new Date(Date.parse(last_ts) - keptMs));
  limits.push([kept.first - 1, 'the messages that a restored dump may need']);
  const [lowest, heldBy] = limits.reduce((one, other) => (other[0] < one[0] ? other : one));
  const surplus = Math.ceil(((bytes - TRIMMED_SHARE * config.max_bytes) * messages) / bytes);
  const end = Math.min(lowest, first - 1 + surplus);
  if (end < first) return { removed: 0, heldBy: `${heldBy}, up to message ${lowest}` };
  const { purged } = await manager.streams.purge(stream, { seq: end + 1 });
  return { removed: purged, heldBy: null };
}

/** The sequence of the last message that the consumer no longer needs. */
function neededAfter(consumer: ConsumerInfo, config: StreamConfig, last: number): number {
  const acknowledged = acknowledgedUpTo(consumer, config);
  return consumer.num_pending === 0 && acknowledged >= consumer.delivered.stream_seq ? last : acknowledged;
}
