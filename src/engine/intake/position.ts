/**
 * Determines where a term starts in the stream of adverts, and stores its position there. PostgreSQL decides, not the
 * consumer (store/intake-position.ts): if this database was restored, acknowledged messages that it lacks are taken in
 * again. The position is stored once a second, after the messages, and at an orderly end. After any other end, the next
 * term reads the messages of the last second again. The states of the adverts show that they are recorded.
 */

import { startTask } from '../actor/task.ts';
import { pause } from '../actor/waiting.ts';
import type { Broker } from '../broker/connection.ts';
import { BrokerSilentError } from '../broker/outage.ts';
import type { InOrder } from '../broker/replay.ts';
import {
  type ConsumerPosition,
  isStored,
  readConsumerPosition,
  readSince,
  readStoredAt,
  type StoredMessage,
  stepDownConsumer,
} from '../broker/stream-position.ts';
import { ADVERTS_STREAM } from '../broker/topology.ts';
import type { Database } from '../store/database.ts';
import type { Term } from '../store/intake-leader.ts';
import {
  type FoundStart,
  type HighWaterMark,
  type NumberedStream,
  noteSynchronous,
  type RecordedPosition,
  readIntakePosition,
  recordStart,
  type StoredPosition,
  writeIntakePosition,
} from '../store/intake-position.ts';

/** The state that a term finds at its start. */
export interface IntakeStart extends FoundStart {
  readonly stream: NumberedStream & { readonly createdAt: string };
  /** When the last recorded message was stored, as far as is known, in milliseconds since the epoch. */
  readonly storedUpToMs: number;
  /** Number of messages that were acknowledged before and are taken in again. */
  readonly behind: number;
  /** False if the stream was created again or is an older copy. Then only its timestamps show what was recorded. */
  readonly isKnownStream: boolean;
  /** If a message up to this sequence changes the database, the database had lost or rejected that message. */
  readonly handedOutUpTo: number;
  /** Null if the stream has all known messages, or its creation time is not that of the known stream. */
  readonly lost: LostTail | null;
  /** True if the consumer has handed out more messages than the stream has, and must be restarted. */
  readonly isConsumerAhead: boolean;
}

/** The messages that a stream has lost at its end. */
export interface LostTail {
  /** Number of known messages that are lost. NATS may have lost more. Too low if the counting server lags behind. */
  readonly messages: number;
  /** The last message before the lost messages, and when it was stored; null if the stream does not have it. */
  readonly after: number;
  readonly storedAt: string | null;
}

const MARK_EVERY_MS = 1_000;
/** Number of checks before the consumer gets another leader: ten seconds, as in broker/jetstream-watch.ts. */
const SHORT_CHECKS = 10;
/** Number of checks until the next request if a request did not help. Each change of the leader delays messages. */
const SHORT_AGAIN_CHECKS = 60;
/** Number of checks, one a second: as many seconds as the start of a term waits for a server that lags behind. */
const LACKING_CHECKS = 15;

/** Rejects if a server is unavailable. */
export async function findIntakeStart(broker: Broker, database: Database): Promise<IntakeStart> {
  const stored = await readIntakePosition(database);
  const { recorded, highWaterMark, stream: known, isCopied, isPromoted, clockBehind, unledSeconds } = stored;
  const at = await readAppliedPosition(broker, stored);
  const { lastSequence, createdAt } = at;
  const acknowledgedUpTo = Math.min(at.acknowledgedUpTo, lastSequence);
  const isKnownStream = recorded.sequence <= lastSequence && (await isOfStream(broker, highWaterMark, known, at));
  const sequence = isKnownStream ? recorded.sequence : await recordedInOther(broker, recorded);
  const stillThere = Math.max(sequence, at.firstSequence - 1);
  const storedUpToMs = Math.max(highWaterMark?.storedAtMs ?? 0, Date.parse(recorded.storedAt ?? '') || 0);
  return {
    // A consumer that was created again hands out all messages again.
    recordedUpTo: Math.min(sequence, at.handedOutUpTo, lastSequence),
    stream: { number: known.number + (isKnownStream ? 0 : 1), createdAt },
    clockBehind: { ms: clockBehind.ms, upTo: clockBehind.upTo ?? lastSequence },
    storedUpToMs,
    behind: Math.max(0, acknowledgedUpTo - stillThere),
    isKnownStream,
    // Messages that the stream has dropped meanwhile cannot be taken in again to compare them.
    isRestored: isCopied || !isKnownStream || Math.min(acknowledgedUpTo, stillThere) > sequence,
    // Messages that a lost primary had recorded but not yet acknowledged may be missing too.
    handedOutUpTo: isPromoted ? Math.min(at.handedOutUpTo, lastSequence) : acknowledgedUpTo,
    isConsumerAhead: at.handedOutUpTo > lastSequence,
    lost: known.createdAt === createdAt ? await lostTailOf(broker, at, stored, { isKnownStream, storedUpToMs }) : null,
    unledSeconds,
  };
}

/**
 * Null if the stream has lost nothing at its end. If the stream has stored messages after a loss, their times are later
 * than that of the last known message. Their sequences may continue from any number: nats-server 2.10 has left a gap.
 */
async function lostTailOf(
  broker: Broker,
  { firstSequence, lastSequence, messages, handedOutUpTo }: ConsumerPosition,
  stored: StoredPosition,
  { isKnownStream, storedUpToMs }: Pick<IntakeStart, 'isKnownStream' | 'storedUpToMs'>,
): Promise<LostTail | null> {
  const later = isKnownStream ? null : await readSince(broker, ADVERTS_STREAM, new Date(storedUpToMs));
  const after = later === null ? lastSequence : firstSequence - 1 + messages - later.messages;
  const lost = (later === null ? handedOutUpTo : lastKnownOf(stored)) - after;
  return lost > 0 ? { messages: lost, after, storedAt: await readStoredAt(broker, ADVERTS_STREAM, after) } : null;
}

function lastKnownOf({ recorded, highWaterMark }: StoredPosition): number {
  return Math.max(recorded.sequence, highWaterMark?.sequence ?? 0);
}

/** Enough time for an election, and for the new leader to apply its log. */
const CATCH_UP_MAX_MS = 15_000;
const RETRY_EVERY_MS = 500;

/**
 * Reads the position. A server that has just become the leader of a replicated stream may not have applied all messages
 * that the previous leader had committed. A stream that lacks known messages is therefore read again.
 */
async function readAppliedPosition(broker: Broker, stored: StoredPosition): Promise<ConsumerPosition> {
  for (let waitedMs = 0; ; waitedMs += RETRY_EVERY_MS) {
    const at = await readConsumerPosition(broker, ADVERTS_STREAM, broker.names.intakeConsumer);
    const known = at.createdAt === stored.stream.createdAt ? lastKnownOf(stored) : 0;
    // With a single server, only the two reads of the position may differ.
    const waitMaxMs = at.isReplicated ? CATCH_UP_MAX_MS : RETRY_EVERY_MS;
    if (at.lastSequence >= Math.max(known, at.handedOutUpTo)) return at;
    if (waitedMs >= waitMaxMs && at.isByMajority) return at;
    if (waitedMs >= waitMaxMs) throw new BrokerSilentError(`the leader of ${ADVERTS_STREAM} has no majority`);
    await pause(RETRY_EVERY_MS);
  }
}

/** An upper limit for the difference between the clocks of NATS servers. */
const CLOCKS_APART_MAX_MS = 60_000;

/**
 * For another stream, or an older copy that has continued on its own, sequences cannot be compared. Messages stored
 * before the recorded message are recorded or lost. Messages stored later may be new.
 */
async function recordedInOther(broker: Broker, { storedAt }: RecordedPosition): Promise<number> {
  if (storedAt === null) return 0;
  const since = new Date(Date.parse(storedAt) - CLOCKS_APART_MAX_MS);
  return (await readSince(broker, ADVERTS_STREAM, since)).first - 1;
}

/**
 * Whether the stream is the known stream. Compares the last message that PostgreSQL knows: a stream
 * restored elsewhere has it too, but an older copy does not. If it cannot be compared, the creation time decides.
 */
async function isOfStream(
  broker: Broker,
  highWaterMark: HighWaterMark | null,
  known: NumberedStream,
  { createdAt, firstSequence, lastSequence }: ConsumerPosition,
): Promise<boolean> {
  const isSameAge = known.createdAt === null || known.createdAt === createdAt;
  if (highWaterMark === null || highWaterMark.sequence < firstSequence) return isSameAge;
  if (highWaterMark.sequence > lastSequence) return false;
  return (await isStored(broker, ADVERTS_STREAM, highWaterMark)) ?? isSameAge;
}

/**
 * Checks once a second whether the stream has lost messages that it had. This is so if its leader lacks them for long,
 * or if another message has the number of the newest one. A server that only lags catches up.
 */
function createTailCheck(broker: Broker, recordedUpTo: number) {
  let knownUpTo = recordedUpTo;
  let lackingChecks = 0;
  return async (position: ConsumerPosition, newest: StoredMessage | null): Promise<boolean> => {
    const { lastSequence, handedOutUpTo, isByMajority, isReplicated } = position;
    if (lastSequence < knownUpTo) {
      lackingChecks += Number(isByMajority);
      return lackingChecks >= LACKING_CHECKS;
    }
    knownUpTo = Math.max(knownUpTo, handedOutUpTo);
    lackingChecks = 0;
    return isReplicated && newest !== null && (await isStored(broker, ADVERTS_STREAM, newest)) === false;
  };
}

interface MarkOptions {
  readonly broker: Broker;
  readonly database: Database;
  readonly onOtherStream: () => void;
  readonly onTransientError: (what: string, error: Error) => void;
}

/**
 * Stores the position up to which `inOrder` has settled all messages. Calls `onOtherStream` if the stream was
 * created again or has lost messages: the term must then end.
 */
export function startPositionMarks(
  term: Term,
  { recordedUpTo, handedOutUpTo, stream }: IntakeStart,
  inOrder: Pick<InOrder, 'settledUpTo' | 'newest'>,
  { broker, database, onOtherStream, onTransientError }: MarkOptions,
) {
  let markedUpTo = recordedUpTo;
  /** Consecutive checks that found the consumer short of messages. */
  const short = { handedOutUpTo: 0, checks: 0 };
  const hasLostTail = createTailCheck(broker, recordedUpTo);

  /** Null if the stream was created again since the start of the term. */
  async function readPosition(): Promise<ConsumerPosition | null> {
    const position = await readConsumerPosition(broker, ADVERTS_STREAM, broker.names.intakeConsumer);
    if (position.createdAt === stream.createdAt) return position;
    onOtherStream();
    return null;
  }

  /** A message may arrive between the two reads of a position, so it counts as withheld only after repeated checks. */
  async function handOutWithheld({ isReplicated, isShort, handedOutUpTo }: ConsumerPosition): Promise<void> {
    short.checks = isReplicated && isShort && handedOutUpTo === short.handedOutUpTo ? short.checks + 1 : 0;
    short.handedOutUpTo = handedOutUpTo;
    if (short.checks < SHORT_CHECKS) return;
    short.checks = SHORT_CHECKS - SHORT_AGAIN_CHECKS;
    await stepDownConsumer(broker, ADVERTS_STREAM, broker.names.intakeConsumer);
  }

  async function mark(): Promise<void> {
    // Read first, so that messages settled later do not count.
    const { settledUpTo: sequence, newest } = inOrder;
    const position = await readPosition();
    if (position === null) return;
    if (await hasLostTail(position, newest)) return onOtherStream();
    await handOutWithheld(position);
    const isPast = sequence >= handedOutUpTo;
    if (sequence <= markedUpTo && isPast) await noteSynchronous(database, term);
    const storedAt = sequence <= markedUpTo ? null : await readStoredAt(broker, ADVERTS_STREAM, sequence);
    if (storedAt === null) return;
    await writeIntakePosition(database, term, { sequence, storedAt, isPast });
    markedUpTo = sequence;
  }

  const what = 'intake position';
  const { stop } = startTask({ what, everyMs: MARK_EVERY_MS, work: mark, onTransientError });
  return {
    /** Checks whether the stream is still that of the term. Call this when the stream may have been created again. */
    check: async () => void (await readPosition()),
    stop,
    /** Stores the position at an orderly end, so that the next term takes in no message again. Never rejects. */
    markLast: () => mark().catch((error: Error) => onTransientError(what, error)),
  };
}

/**
 * Detects that the database has lost recorded messages: a message that was acknowledged before, but not rejected,
 * changes the database.
 */
export function createRestoreDetector(
  term: Term,
  start: IntakeStart,
  {
    database,
    onRestored,
  }: { readonly database: Database; readonly onRestored: (news: readonly number[], start: IntakeStart) => void },
) {
  let raising: Promise<void> | null = null;
  let evidenceUpTo = start.isRestored ? 0 : start.handedOutUpTo;
  async function note(news: readonly number[]): Promise<void> {
    if (evidenceUpTo === 0) return;
    await recordStart(database, term, { ...start, isRestored: true });
    evidenceUpTo = 0;
    onRestored(news, start);
  }
  return {
    /** Messages up to this sequence show whether the database was restored; 0 once this is known. */
    get evidenceUpTo() {
      return evidenceUpTo;
    },
    /**
     * Raises the numbers of later notifications, only once even if several batches detect the loss. `news` contains the
     * sequences of the messages that show the loss.
     */
    raiseNumbers(news: readonly number[]) {
      raising ??= note(news).finally(() => {
        raising = null;
      });
      return raising;
    },
  };
}
