/** The position of a durable consumer in its stream, and when the stream stored a message. */

import { AckPolicy, type ConsumerInfo, DeliverPolicy, nanos, type StreamConfig } from 'nats';
import type { Broker } from './connection.ts';
import { isMissing } from './topology.ts';

export interface ConsumerPosition {
  /** When the stream was created, which distinguishes it from a later stream of the same name. */
  readonly createdAt: string;
  /** The sequence of the oldest message that the stream still holds. */
  readonly firstSequence: number;
  /** The sequence of the newest message that the stream ever held. */
  readonly lastSequence: number;
  /** Every message up to this one is acknowledged. */
  readonly acknowledgedUpTo: number;
  readonly handedOutUpTo: number;
  /** The consumer does not know of the messages that follow, though the stream holds them. */
  readonly isShort: boolean;
  /** The stream is replicated, and another server may have become its leader. */
  readonly isReplicated: boolean;
}

/** Rejects when NATS is away or either is missing. */
export async function readConsumerPosition(
  broker: Broker,
  stream: string,
  consumer: string,
): Promise<ConsumerPosition> {
  const [{ created, config, state }, info] = await Promise.all([
    broker.manager.streams.info(stream),
    broker.manager.consumers.info(stream, consumer),
  ]);
  return {
    createdAt: created,
    firstSequence: state.first_seq,
    lastSequence: state.last_seq,
    acknowledgedUpTo: acknowledgedUpTo(info, config),
    handedOutUpTo: info.delivered.stream_seq,
    isShort: withholds(info, state.last_seq),
    isReplicated: config.num_replicas > 1,
  };
}

/**
 * Every message of the stream up to this one is acknowledged. The floor does not advance over messages that the stream
 * has dropped. For a replicated consumer only the floor counts: a server of the cluster answers as its leader before it
 * has read which messages are in flight, and then counts none (nats-server 2.10, `setLeader`).
 */
export function acknowledgedUpTo(
  { ack_floor, delivered, num_ack_pending }: Pick<ConsumerInfo, 'ack_floor' | 'delivered' | 'num_ack_pending'>,
  { num_replicas }: Pick<StreamConfig, 'num_replicas'>,
): number {
  return num_ack_pending === 0 && num_replicas === 1 ? delivered.stream_seq : ack_floor.stream_seq;
}

/**
 * Whether the consumer counts no waiting message, though the stream holds one after the last that it handed out.
 * nats-server 2.10 has left consumers so after a cluster had lost its majority, until the next message came.
 */
export function withholds({ delivered, num_pending }: ConsumerInfo, sequence: number): boolean {
  return num_pending === 0 && sequence > delivered.stream_seq;
}

/** Makes another server of the cluster lead the consumer, which then recounts what waits. Rejects when none answers. */
export async function stepDownConsumer({ connection }: Broker, stream: string, consumer: string): Promise<void> {
  await connection.request(`$JS.API.CONSUMER.LEADER.STEPDOWN.${stream}.${consumer}`);
}

/** After this time the server deletes the temporary consumer, if it was not deleted. */
const FORGOTTEN_AFTER_MS = 5_000;

/** The sequence of the first message stored at `at` or later; of the next message when there is none. */
export async function readFirstSince({ manager }: Broker, stream: string, at: Date): Promise<number> {
  const { name, delivered } = await manager.consumers.add(stream, {
    ack_policy: AckPolicy.None,
    deliver_policy: DeliverPolicy.StartTime,
    opt_start_time: at.toISOString(),
    inactive_threshold: nanos(FORGOTTEN_AFTER_MS),
    mem_storage: true,
  });
  await manager.consumers.delete(stream, name);
  return delivered.stream_seq + 1;
}

/** In the server's format, with nanoseconds; null when the stream does not hold the message. */
export async function readStoredAt(broker: Broker, stream: string, sequence: number): Promise<string | null> {
  try {
    return (await broker.manager.streams.getMessage(stream, { seq: sequence })).timestamp;
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

/**
 * The sequence of the first message from `sequence` on that the stream holds, according to its leader; null if none.
 */
export async function readNextHeld({ manager }: Broker, stream: string, sequence: number): Promise<number | null> {
  const query = { seq: sequence, next_by_subj: '>' };
  try {
    return (await manager.streams.getMessage(stream, query)).seq;
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

interface TrimLimits {
  /** Messages beyond this one stay, whatever the durables report. */
  readonly upTo: number;
  /** Messages that were stored less than this before the newest one stay. */
  readonly keptMs: number;
}

export interface Trim {
  /** Number of removed messages; 0 while the stream has room. */
  readonly removed: number;
  /** Why no message could be removed from a full stream; null otherwise. */
  readonly heldBy: string | null;
}

/** Shares of its `max_bytes`. */
const FULL_SHARE = 0.8;
const TRIMMED_SHARE = 0.75;
const NOTHING: Trim = { removed: 0, heldBy: null };

/**
 * Makes room in a stream that refuses new messages when it is full: removes messages that every durable has
 * acknowledged, oldest first, and never one that a durable still needs. Rejects when NATS is away.
 */
export async function trimStream(broker: Broker, stream: string, { upTo, keptMs }: TrimLimits): Promise<Trim> {
  const { manager } = broker;
  const { config, state } = await manager.streams.info(stream);
  const { first_seq: first, last_seq: last, last_ts, bytes, messages } = state;
  if (config.max_bytes <= 0 || bytes < FULL_SHARE * config.max_bytes) return NOTHING;
  const limits: (readonly [number, string])[] = [[upTo, 'what this database has recorded']];
  for await (const consumer of manager.consumers.list(stream)) {
    const { durable_name } = consumer.config;
    if (durable_name !== undefined) limits.push([neededAfter(consumer, config, last), `the consumer ${durable_name}`]);
  }
  // By the stream's own clock, which timestamps its messages.
  const keptFrom = await readFirstSince(broker, stream, new Date(Date.parse(last_ts) - keptMs));
  limits.push([keptFrom - 1, 'what a dump may need that is to be restored']);
  const [lowest, heldBy] = limits.reduce((one, other) => (other[0] < one[0] ? other : one));
  const surplus = Math.ceil(((bytes - TRIMMED_SHARE * config.max_bytes) * messages) / bytes);
  const end = Math.min(lowest, first - 1 + surplus);
  if (end < first) return { removed: 0, heldBy: `${heldBy}, up to message ${lowest}` };
  const { purged } = await manager.streams.purge(stream, { seq: end + 1 });
  return { removed: purged, heldBy: null };
}

/** The last message that the consumer no longer needs. */
function neededAfter(consumer: ConsumerInfo, config: StreamConfig, last: number): number {
  const acknowledged = acknowledgedUpTo(consumer, config);
  return consumer.num_pending === 0 && acknowledged >= consumer.delivered.stream_seq ? last : acknowledged;
}
