/**
 * Makes room in a stream that refuses new messages when it is full. Removes messages that every durable has
 * acknowledged, oldest first, and never one that a durable still needs.
 */

import type { ConsumerInfo } from 'nats';
import type { Broker } from './connection.ts';
import { readFirstSince } from './stream-position.ts';

export interface TrimLimits {
  /** Messages beyond this one stay, whatever the durables report. */
  readonly upTo: number;
  /** Messages stay that came within this time before the newest one. */
  readonly keptMs: number;
}

export interface Trim {
  /** Messages removed; none while the stream has room. */
  readonly removed: number;
  /** Why none could be removed from a full stream; null otherwise. */
  readonly heldBy: string | null;
}

/** Of its `max_bytes`. */
const FULL_SHARE = 0.8;
const TRIMMED_SHARE = 0.75;
const NOTHING: Trim = { removed: 0, heldBy: null };

/** Rejects when NATS is away. */
export async function trimStream(broker: Broker, stream: string, { upTo, keptMs }: TrimLimits): Promise<Trim> {
  const { manager } = broker;
  const { config, state } = await manager.streams.info(stream);
  const { first_seq: first, last_seq: last, last_ts, bytes, messages } = state;
  if (config.max_bytes <= 0 || bytes < FULL_SHARE * config.max_bytes) return NOTHING;
  const limits: (readonly [number, string])[] = [[upTo, 'what this database has recorded']];
  for await (const consumer of manager.consumers.list(stream)) {
    const { durable_name } = consumer.config;
    if (durable_name !== undefined) limits.push([positionOf(consumer, last), `the consumer ${durable_name}`]);
  }
  // By the stream's own clock, the only one that times its messages.
  const keptFrom = await readFirstSince(broker, stream, new Date(Date.parse(last_ts) - keptMs));
  limits.push([keptFrom - 1, 'what a dump may need that is to be restored']);
  const [lowest, heldBy] = limits.reduce((one, other) => (other[0] < one[0] ? other : one));
  const surplus = Math.ceil(((bytes - TRIMMED_SHARE * config.max_bytes) * messages) / bytes);
  const end = Math.min(lowest, first - 1 + surplus);
  if (end < first) return { removed: 0, heldBy: `${heldBy}, up to message ${lowest}` };
  const { purged } = await manager.streams.purge(stream, { seq: end + 1 });
  return { removed: purged, heldBy: null };
}

/** The last message that it no longer needs. */
function positionOf({ ack_floor, delivered, num_ack_pending, num_pending }: ConsumerInfo, last: number): number {
  if (num_ack_pending > 0) return ack_floor.stream_seq;
  return num_pending === 0 ? last : delivered.stream_seq;
}
