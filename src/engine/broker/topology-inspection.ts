/**
 * Inspects the existing streams and consumers of this installation. Reports settings that prevent them from working,
 * and streams or consumers that belong to another database.
 */

import {
  AckPolicy,
  type ConsumerConfig,
  DeliverPolicy,
  DiscardPolicy,
  ReplayPolicy,
  RetentionPolicy,
  type StreamConfig,
} from 'nats';
import { type DatabaseLabel, labelText } from '../domain/namespace.ts';
import { ADVERTS, REJECTED } from '../domain/streams.ts';
import type { Broker } from './connection.ts';
import {
  ADVERTS_STREAM,
  consumersOf,
  isMissing,
  labelling,
  nullIfMissing,
  ownerOf,
  streamsOf,
  type WantedConsumer,
  type WantedStream,
} from './topology.ts';

export interface Inspection extends Differences {
  /** Tells operators that another database owns some of these streams or consumers; null if none does. */
  readonly foreign: string | null;
}

interface Found extends Differences {
  readonly name: string;
  readonly owner: DatabaseLabel | null;
  readonly waiting: string;
  /** Makes this database the owner. */
  readonly adopt: () => Promise<unknown>;
}

/** A missing stream or consumer is not a fault, because it is created when needed. Rejects if NATS is unavailable. */
export async function inspectTopology(broker: Broker): Promise<Inspection> {
  const found = await findAll(broker);
  return {
    faults: found.flatMap(({ faults }) => faults),
    cautions: found.flatMap(({ cautions }) => cautions),
    foreign: foreignOf(broker, found),
  };
}

async function findAll(broker: Broker): Promise<readonly Found[]> {
  const { streams, consumers } = broker.manager;
  const found: Found[] = [];
  let advertsBytesMax = 0;
  for (const wanted of streamsOf(broker)) {
    const { name } = wanted;
    const info = await streams.info(name).catch(nullIfMissing);
    if (name === ADVERTS_STREAM && info !== null) advertsBytesMax = info.config.max_bytes;
    if (name === REJECTED.name && info === null && advertsBytesMax > 0) found.push(noRejections(advertsBytesMax));
    if (info === null) continue;
    const { config } = info;
    found.push({
      name: `stream ${name}`,
      owner: ownerOf(config),
      waiting: `${info.state.messages} messages`,
      adopt: () => streams.update(name, { ...config, ...labelling(broker) }),
      ...streamDifferences(wanted, config),
    });
  }
  for (const wanted of consumersOf(broker)) {
    const { stream, durable_name } = wanted;
    const info = await consumers.info(stream, durable_name).catch(nullIfMissing);
    if (info === null) continue;
    const { config, num_pending, num_ack_pending } = info;
    found.push({
      name: `consumer ${durable_name} of ${stream}`,
      owner: ownerOf(config),
      waiting: `${num_pending + num_ack_pending} messages wait`,
      adopt: () => consumers.update(stream, durable_name, { ...config, ...labelling(broker) }),
      ...consumerDifferences(wanted, config),
    });
  }
  return found;
}

const SHARE_LEFT_TO_ADVERTS = 3 / 4;

/**
 * The daemon creates `REJECTED` at its start, and when it cannot publish a rejection. If `REJECTED` is missing although
 * `ADVERTS` has a limit, JetStream had no room for it.
 */
function noRejections(advertsBytesMax: number): Found {
  const bytes = Math.floor(advertsBytesMax * SHARE_LEFT_TO_ADVERTS);
  const name = `stream ${REJECTED.name}`;
  const caution =
    `The ${name} is missing because ${ADVERTS_STREAM} leaves no room for it, so crawlers do not learn of rejections. ` +
    `Run \`nats stream edit ${ADVERTS_STREAM} --max-bytes=${bytes}\`.`;
  return { name, owner: null, waiting: '', adopt: async () => undefined, faults: [], cautions: [caution] };
}

function foreignIn({ database }: Broker, found: readonly Found[]) {
  return found.flatMap(({ owner, ...one }) => (owner === null || owner.id === database?.id ? [] : { ...one, owner }));
}

function foreignOf(broker: Broker, found: readonly Found[]): string | null {
  const { database } = broker;
  const foreign = foreignIn(broker, found);
  const [first] = foreign;
  if (first === undefined || database === null) return null;
  const others = foreign.length > 1 ? ` and ${foreign.length - 1} more belong` : ' belongs';
  return (
    `The ${first.name}${others} to the database ${labelText(first.owner)}, but this service uses ${labelText(database)}. ` +
    'This service takes no messages, because it would take those of the other service. Set VIGIE_NAMESPACE for one ' +
    'of them. If the other database is gone, run `vigie admin streams adopt`.'
  );
}

/**
 * Transfers the streams and consumers of other databases to this database, with their positions and messages. Resolves
 * with their descriptions. If `isTrial`, nothing is changed.
 */
export async function adoptTopology(broker: Broker, isTrial: boolean): Promise<readonly string[]> {
  const foreign = foreignIn(broker, await findAll(broker));
  if (!isTrial) for (const { adopt } of foreign) await adopt();
  return foreign.map(({ name, waiting, owner }) => `${name} (${waiting}) of ${labelText(owner)}`);
}

interface Differences {
  readonly faults: readonly string[];
  readonly cautions: readonly string[];
}

/** A condition, and the finding if it is true. */
type Rule = readonly [boolean, string];

/** A smaller limit would refuse ordinary adverts, and the write by which the daemon checks JetStream's disk. */
const MESSAGE_BYTES_LEAST = 65_536;
const HOUR_NANOS = 3_600_000_000_000;
const SECOND_NANOS = 1_000_000_000;
const ACK_WAIT_LEAST_NANOS = 30 * SECOND_NANOS;
/** The largest batch, the longest expiry and the most bytes that a pull requests. */
const PULL_BATCH_LEAST = 256;
const PULL_EXPIRES_NANOS = 10 * SECOND_NANOS;
const PULL_BYTES_LEAST = 16 * 1_048_576;
const PULLS_WAITING_LEAST = 16;

/** True if `limit` is set and is less than `below`. JetStream uses 0 and -1 for unlimited. */
function isLimited(limit: number | undefined, below: number): limit is number {
  return limit !== undefined && limit > 0 && limit < below;
}

function hasLimit(limit: number | undefined): boolean {
  return isLimited(limit, Number.POSITIVE_INFINITY);
}

/**
 * Compares an existing stream or consumer with the wanted settings. An operator's settings take precedence, so a
 * difference alone is not a fault. A fault silently loses or stops messages. A caution may cause a failure later.
 */
function streamDifferences(wanted: WantedStream, actual: StreamConfig): Differences {
  const { name } = wanted;
  const isAdverts = wanted.discard === DiscardPolicy.New;
  const untaken = wanted.subjects.filter((subject) => !actual.subjects?.some((each) => covers(each, subject)));
  const { max_msgs, max_bytes, max_msgs_per_subject, max_msg_size, max_age } = actual;
  const isBounded = hasLimit(max_msgs) || hasLimit(max_bytes);
  const faults: readonly Rule[] = [
    [untaken.length > 0, `it accepts ${listOf(actual.subjects)}, not ${listOf(untaken)}`],
    [actual.no_ack ?? false, 'no_ack is set, so publishers do not learn that a message is stored'],
    [actual.sealed, 'it is sealed, so it accepts no messages'],
    [
      isLimited(max_msg_size, MESSAGE_BYTES_LEAST),
      `max_msg_size is ${max_msg_size} bytes, so ordinary messages are refused`,
    ],
    [
      isLimited(max_age, HOUR_NANOS),
      `max_age is ${Math.round((max_age ?? 0) / SECOND_NANOS)} s, so messages are removed too early`,
    ],
    [hasLimit(max_msgs_per_subject), `max_msgs_per_subject is ${max_msgs_per_subject}, so messages would be dropped`],
    [
      isAdverts && isBounded && actual.discard === DiscardPolicy.Old,
      `discard is old with ${hasLimit(max_bytes) ? `max_bytes ${max_bytes}` : `max_msgs ${max_msgs}`}, so unrecorded messages would be dropped`,
    ],
    [
      (wanted.retention === RetentionPolicy.Workqueue) !== (actual.retention === RetentionPolicy.Workqueue),
      `retention is ${actual.retention}, not ${wanted.retention}`,
    ],
  ];
  const cautions: readonly Rule[] = [
    [
      isAdverts && !isBounded,
      'it has no max_bytes, so unrecorded adverts could fill the store that retries also need. Run ' +
        `\`nats stream edit ${name} --max-bytes=<three quarters of max_file_store> --discard=new\``,
    ],
    [
      isAdverts && actual.retention === RetentionPolicy.Interest,
      `retention is ${actual.retention}, so messages that a restored database needs are removed`,
    ],
    [isAdverts && actual.deny_purge, 'deny_purge is set, so recorded messages cannot be removed'],
  ];
  return differencesOf(`Stream ${name}`, faults, cautions);
}

function consumerDifferences(wanted: WantedConsumer, actual: ConsumerConfig): Differences {
  const filters = [actual.filter_subject ?? '', ...(actual.filter_subjects ?? [])].filter((filter) => filter !== '');
  const subject = wanted.filter_subject ?? ADVERTS.subjects;
  const { deliver_subject, max_ack_pending, ack_wait = 0, max_batch, max_bytes, max_expires = 0, max_waiting } = actual;
  const starts: readonly unknown[] = [DeliverPolicy.All, DeliverPolicy.StartSequence, DeliverPolicy.StartTime];
  const isEverything = filters.length === 0 || filters.some((filter) => covers(filter, subject));
  const faults: readonly Rule[] = [
    [
      deliver_subject !== undefined && deliver_subject !== '',
      `it is a push consumer (to ${deliver_subject}), not a pull consumer`,
    ],
    [!isEverything && wanted.filter_subject === undefined, `it filters ${listOf(filters)}, so it skips other adverts`],
    [!isEverything && wanted.filter_subject !== undefined, `it filters ${listOf(filters)}, not ${subject}`],
    [actual.ack_policy !== AckPolicy.Explicit, `its ack policy is ${actual.ack_policy}, not explicit`],
    [
      !starts.includes(actual.deliver_policy),
      `its deliver policy is ${actual.deliver_policy}, so earlier messages are skipped`,
    ],
    [actual.replay_policy === ReplayPolicy.Original, 'its replay policy is original, so messages arrive too slowly'],
    [
      hasLimit(actual.max_deliver),
      `max_deliver is ${actual.max_deliver}, so a message is dropped after that many deliveries`,
    ],
    [
      isLimited(max_ack_pending, ackPendingLeast(wanted)),
      `max_ack_pending is ${max_ack_pending}, but at least ${ackPendingLeast(wanted)} are needed`,
    ],
    [
      ack_wait < ACK_WAIT_LEAST_NANOS,
      `ack_wait is ${ack_wait / SECOND_NANOS} s, so messages that take longer are delivered twice`,
    ],
    [(actual.backoff ?? []).length > 0, 'it has a backoff, which is added to every delay'],
    [actual.headers_only ?? false, 'it delivers only headers'],
    [hasLimit(actual.inactive_threshold), 'it is deleted after a time without requests (inactive_threshold)'],
    [isLimited(max_batch, PULL_BATCH_LEAST), `max_batch is ${max_batch}, so larger requests are refused`],
    [isLimited(max_bytes, PULL_BYTES_LEAST), `max_bytes of a request is ${max_bytes}, so larger requests are refused`],
    [
      isLimited(max_expires, PULL_EXPIRES_NANOS),
      `max_expires is ${max_expires / SECOND_NANOS} s, so longer requests are refused`,
    ],
    [
      isLimited(max_waiting, PULLS_WAITING_LEAST),
      `max_waiting is ${max_waiting}, but at least ${PULLS_WAITING_LEAST} are needed`,
    ],
  ];
  return differencesOf(`Consumer ${wanted.durable_name} of ${wanted.stream}`, faults, []);
}

/** A waiting retry counts as unacknowledged, so the consumer of retries must not limit them. */
function ackPendingLeast({ max_ack_pending = 0 }: WantedConsumer): number {
  return max_ack_pending === -1 ? Number.POSITIVE_INFINITY : PULL_BATCH_LEAST;
}

function differencesOf(what: string, faults: readonly Rule[], cautions: readonly Rule[]): Differences {
  const sentences = (rules: readonly Rule[]): readonly string[] =>
    rules.flatMap(([isSo, text]) => (isSo ? [`${what}: ${text}.`] : []));
  return { faults: sentences(faults), cautions: sentences(cautions) };
}

function listOf(subjects: readonly string[] | undefined): string {
  return subjects === undefined || subjects.length === 0 ? 'nothing' : subjects.join(' and ');
}

/** Whether `pattern` matches every subject that `wanted` matches (NATS, *Subject-Based Messaging*). */
export function covers(pattern: string, wanted: string): boolean {
  const theirs = pattern.split('.');
  const ours = wanted.split('.');
  for (const [position, token] of theirs.entries()) {
    if (token === '>') return ours.length > position;
    const own = ours[position];
    if (own === undefined || own === '>' || (token !== '*' && token !== own)) return false;
  }
  return theirs.length === ours.length;
}

export interface StreamFigures {
  readonly name: string;
  readonly messages: number;
  readonly bytes: number;
  /** Maximum bytes; 0 if the stream has no limit. */
  readonly bytesMax: number;
  readonly consumers: number;
  /** Messages not yet delivered by a consumer. */
  readonly pending: number;
  /** Messages delivered but not acknowledged, including every waiting retry. */
  readonly ackPending: number;
}

/** Of the consumers of `ADVERTS`, counts only intake's. Zeros for a missing stream. Rejects if NATS is unavailable. */
export function readStreamFigures(broker: Broker): Promise<readonly StreamFigures[]> {
  const { intakeConsumer, retriesStream } = broker.names;
  return Promise.all([
    figuresOf(broker, ADVERTS_STREAM, (consumer) => consumer === intakeConsumer),
    figuresOf(broker, retriesStream),
    figuresOf(broker, REJECTED.name),
  ]);
}

async function figuresOf(
  broker: Broker,
  name: string,
  isOurs: (consumer: string) => boolean = () => true,
): Promise<StreamFigures> {
  try {
    const { config, state } = await broker.manager.streams.info(name);
    const bytesMax = Math.max(0, config.max_bytes);
    let pending = 0;
    let ackPending = 0;
    let consumers = 0;
    for await (const consumer of broker.manager.consumers.list(name)) {
      if (!isOurs(consumer.name)) continue;
      pending += consumer.num_pending;
      ackPending += consumer.num_ack_pending;
      consumers += 1;
    }
    return { name, messages: state.messages, bytes: state.bytes, bytesMax, consumers, pending, ackPending };
  } catch (error) {
    if (!isMissing(error)) throw error;
    return { name, messages: 0, bytes: 0, bytesMax: 0, consumers: 0, pending: 0, ackPending: 0 };
  }
}

export interface Backlog {
  /** Adverts that are not recorded yet. */
  readonly waiting: number;
  /** When the oldest of them was stored; null if this is unknown or there are none. */
  readonly oldestAt: Date | null;
  /** Every message up to this sequence is recorded. */
  readonly recorded: number;
}

/** Null if there is no consumer of intake, as before its first start. Rejects if NATS is unavailable. */
export async function readBacklog({ manager, names }: Broker): Promise<Backlog | null> {
  const consumer = await manager.consumers.info(ADVERTS_STREAM, names.intakeConsumer).catch(nullIfMissing);
  if (consumer === null) return null;
  const waiting = consumer.num_pending + consumer.num_ack_pending;
  const recorded = consumer.ack_floor.stream_seq;
  if (waiting === 0) return { waiting, oldestAt: null, recorded };
  const { state } = await manager.streams.info(ADVERTS_STREAM);
  const oldest = Math.max(recorded + 1, state.first_seq);
  const message = await manager.streams.getMessage(ADVERTS_STREAM, { seq: oldest }).catch(nullIfMissing);
  return { waiting, oldestAt: message?.time ?? null, recorded };
}
