/**
 * From where a term takes the stream of adverts in, and how far it has come. The rows decide (store/intake-position.ts):
 * what JetStream has had acknowledged and this database has not seen, because it was restored from a copy, is taken in
 * again. The position is written down once a second, after the fact, so each term takes in what came in the last second
 * of the one before once more, which changes nothing.
 */

import type { Broker } from '../broker/connection.ts';
import { readConsumerPosition, readFirstSince, readStoredAt } from '../broker/stream-position.ts';
import { ADVERTS_STREAM, INTAKE_CONSUMER } from '../broker/topology.ts';
import type { Database } from '../store/database.ts';
import type { Term } from '../store/intake-leader.ts';
import { type RecordedPosition, readIntakePosition, writeIntakePosition } from '../store/intake-position.ts';

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
    readConsumerPosition(broker, ADVERTS_STREAM, INTAKE_CONSUMER),
    readIntakePosition(database),
  ]);
  const { acknowledgedUpTo } = at;
  if (recorded === null) {
    return {
      ...{ recordedUpTo: acknowledgedUpTo, behind: 0, isKnownStream: true, isRestored: isCopied },
      ...{ acknowledgedUpTo, unledSeconds },
    };
  }
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
  let running: Promise<void> | null = null;

  async function mark(): Promise<void> {
    // Asked first: what is settled after that is not counted.
    const settled = settledUpTo();
    const { acknowledgedUpTo } = await readConsumerPosition(broker, ADVERTS_STREAM, INTAKE_CONSUMER);
    const sequence = Math.min(settled, acknowledgedUpTo);
    if (sequence <= marked) return;
    const storedAt = await readStoredAt(broker, ADVERTS_STREAM, sequence);
    if (storedAt === null) return;
    await writeIntakePosition(database, term, { sequence, storedAt });
    marked = sequence;
  }

  const tryToMark = (): Promise<void> => mark().catch((error: Error) => onTrouble('intake position', error));
  const timer = setInterval(() => {
    running ??= tryToMark().finally(() => {
      running = null;
    });
  }, MARK_EVERY_MS);
  return {
    async stop() {
      clearInterval(timer);
      await running;
    },
    markLast: tryToMark,
  };
}
