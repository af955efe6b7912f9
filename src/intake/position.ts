/**
 * From where a term takes the stream of adverts in, and how far it has come. The rows decide (store/intake-position.ts):
 * what JetStream has had acknowledged and this database has not seen, because it was restored from a copy, is taken in
 * again. The position is written down once a second, after the fact, so each term takes in what came in the last second
 * of the one before once more, which changes nothing.
 */

import { singleFlight } from '../actor/in-flight.ts';
import { startTask } from '../actor/task.ts';
import type { Broker } from '../broker/connection.ts';
import { readConsumerPosition, readFirstSince, readStoredAt } from '../broker/stream-position.ts';
import { ADVERTS_STREAM } from '../broker/topology.ts';
import type { Database } from '../store/database.ts';
import type { Term } from '../store/intake-leader.ts';
import {
  type RecordedPosition,
  raiseSequenceFloor,
  readIntakePosition,
  writeIntakePosition,
} from '../store/intake-position.ts';
import type { IntakeDependencies } from './intake.ts';

/** What a term finds. */
export interface IntakeStart {
  /** Every message up to this one is recorded. */
  readonly recordedUpTo: number;
  /** Messages that were acknowledged once and are taken in again. */
  readonly behind: number;
  /** False: the stream was restored or made anew, and tells by its clock alone what was recorded. */
  readonly isKnownStream: boolean;
  /** The database may have told what it does not know any more. */
  readonly isRestored: boolean;
  /** Up to here a message that is news to the database has been forgotten by it. */
  readonly acknowledgedUpTo: number;
  /** How long nobody had taken adverts in, as far as the database knows. */
  readonly unledSeconds: number;
}

export interface PositionMarks {
  stop(): Promise<void>;
  /** Once more, for an end in order: then the next term takes nothing in twice. Never rejects. */
  markLast(): Promise<void>;
}

const MARK_EVERY_MS = 1_000;

/** Rejects when a server is away. */
export async function findIntakeStart(broker: Broker, database: Database): Promise<IntakeStart> {
  const [at, { recorded, isCopied, unledSeconds }] = await Promise.all([
    readConsumerPosition(broker, ADVERTS_STREAM, broker.names.intakeConsumer),
    readIntakePosition(database),
  ]);
  const { acknowledgedUpTo } = at;
  const isKnownStream = await isOfStream(broker, recorded, at);
  const sequence = isKnownStream
    ? recorded.sequence
    : (await readFirstSince(broker, ADVERTS_STREAM, seenAt(recorded))) - 1;
  const stillThere = Math.max(sequence, at.firstSequence - 1);
  return {
    recordedUpTo: Math.min(sequence, acknowledgedUpTo),
    behind: Math.max(0, acknowledgedUpTo - stillThere),
    isKnownStream,
    // What the stream has dropped meanwhile nobody can take in again, and see whether it is news.
    isRestored: isCopied || !isKnownStream || Math.min(acknowledgedUpTo, stillThere) > sequence,
    acknowledgedUpTo,
    unledSeconds,
  };
}

/** Servers of NATS tell the time apart by less. */
const CLOCKS_APART_MAX_MS = 60_000;

/**
 * In another stream, or an older copy that has gone on by itself, the numbers of messages say nothing: what it took before
 * the recorded message is recorded as well, or lost; all that it took afterwards may be news.
 */
function seenAt({ storedAt }: RecordedPosition): Date {
  return new Date(Date.parse(storedAt ?? '') - CLOCKS_APART_MAX_MS);
}

/** What the stream has dropped since, nobody can compare: every message that it holds is newer. */
async function isOfStream(
  broker: Broker,
  { sequence, storedAt }: RecordedPosition,
  { firstSequence, lastSequence }: { readonly firstSequence: number; readonly lastSequence: number },
): Promise<boolean> {
  if (sequence < firstSequence || storedAt === null) return true;
  if (sequence > lastSequence) return false;
  const stored = await readStoredAt(broker, ADVERTS_STREAM, sequence);
  return stored === null || stored === storedAt;
}

/** `settledUpTo`: how far what is taken in again is recorded. */
export function startPositionMarks(
  term: Term,
  { recordedUpTo }: IntakeStart,
  settledUpTo: () => number,
  {
    broker,
    database,
    onTrouble,
  }: {
    readonly broker: Broker;
    readonly database: Database;
    readonly onTrouble: (what: string, error: Error) => void;
  },
): PositionMarks {
  let marked = recordedUpTo;

  async function mark(): Promise<void> {
    // Asked first: what is settled after that is not counted.
    const settled = settledUpTo();
    const { acknowledgedUpTo } = await readConsumerPosition(broker, ADVERTS_STREAM, broker.names.intakeConsumer);
    const sequence = Math.min(settled, acknowledgedUpTo);
    if (sequence <= marked) return;
    const storedAt = await readStoredAt(broker, ADVERTS_STREAM, sequence);
    if (storedAt === null) return;
    await writeIntakePosition(database, term, { sequence, storedAt });
    marked = sequence;
  }

  const what = 'intake position';
  const { stop } = startTask({ what, everyMs: MARK_EVERY_MS, work: mark, onTrouble });
  return { stop, markLast: () => mark().catch((error: Error) => onTrouble(what, error)) };
}

/**
 * Whether the database has forgotten what it had recorded, as the messages of a term tell: what was acknowledged once is
 * no news to a database that was not restored.
 */
export interface Memory {
  /** Messages up to this one tell whether the database was restored; 0 once that is known. */
  readonly tellingUpTo: number;
  /** Raises the numbers of what is told from now on, once, whichever shares find out. */
  noteForgotten(): Promise<void>;
}

export function testMemory(
  term: Term,
  { isRestored, acknowledgedUpTo, unledSeconds }: IntakeStart,
  { database, onForgotten }: IntakeDependencies,
): Memory {
  let tellingUpTo = isRestored ? 0 : acknowledgedUpTo;
  async function note(): Promise<void> {
    if (tellingUpTo === 0) return;
    await raiseSequenceFloor(database, term, unledSeconds);
    tellingUpTo = 0;
    onForgotten();
  }
  return {
    get tellingUpTo() {
      return tellingUpTo;
    },
    noteForgotten: singleFlight(note),
  };
}
