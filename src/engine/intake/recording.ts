/**
 * The recorders of one term. Each records its share of the properties, so that one computes while another waits for
 * PostgreSQL; all changes of a property are in one share, and keep the order in which they were admitted. A slow recorder
 * fills its mailbox, and `admit` waits.
 */

import { type Grace, spawn, startGrace } from '../actor/actor.ts';
import type { Supervisor } from '../actor/supervisor.ts';
import { RetryAbandonedError } from '../actor/supervisor.ts';
import { acknowledgeAll } from '../broker/acknowledge.ts';
import type { Broker } from '../broker/connection.ts';
import type { PauseGate } from '../broker/pause-gate.ts';
import type { PulledMessage } from '../broker/pull.ts';
import { requeuedFrom } from '../broker/requeued.ts';
import { traceparentOf } from '../broker/tracing.ts';
import type { DueDelivery } from '../domain/delivery.ts';
import { decodeIntakeMessage, type IntakeMessage, onItsSubject, PoisonError } from '../domain/intake-message.ts';
import { propertyOf } from '../domain/rejection.ts';
import type { TellUnknown } from '../domain/unknown-members.ts';
import type { Database } from '../store/database.ts';
import { CommitUnknownError } from '../store/database.ts';
import { type Term, TermOverError } from '../store/intake-leader.ts';
import type { IntakeBreaker } from './breaker.ts';
import { describe } from './breaker.ts';
import { BarrierError, recordUpToBarrier } from './hold.ts';
import { type IntakeStart, testMemory } from './position.ts';
import type { RecordedBatch, RefusedMessage } from './recorded-batch.ts';
import type { Recorded, Recorder } from './recorder.ts';
import { ForgottenError, type RecordedEntry } from './recorder.ts';
import { type Rejections, startRejections } from './rejections.ts';

export interface IntakeDependencies {
  readonly broker: Broker;
  readonly database: Database;
  readonly recordBatch: Recorder;
  readonly recordBatchMax: number;
  /** Of messages, and of those that are being pulled. */
  readonly recordBatchBytesMax: number;
  /** Closed, it pauses the stage. */
  readonly gate?: PauseGate;
  /** Told where the term begins. */
  readonly onStart: (start: IntakeStart) => void;
  /** Told when the database turns out to have forgotten what it had recorded. */
  readonly onForgotten: () => void;
  /** Told again and again while a move of a client keeps messages from being recorded. */
  readonly onHeld?: (error: Error) => void;
  /** Told of the deliveries of each recorded batch. */
  readonly announceDue: (due: readonly DueDelivery[]) => void;
  /** `seconds`: what recording took. */
  readonly onRecorded: (recorded: Recorded, batch: RecordedBatch, seconds: number) => void;
  readonly supervisor: Supervisor;
  readonly breaker: Pick<IntakeBreaker, 'admits'>;
  /** Told of members of messages that nobody knows. */
  readonly onUnknownMember: TellUnknown;
  /** Told how many refused messages were told to their crawlers, or were not. */
  readonly onTold: (count: number) => void;
  readonly onUntold: (count: number) => void;
  readonly onTrouble: (what: string, error: Error) => void;
}

export interface Recording {
  /** Messages admitted and not yet recorded. */
  readonly depth: number;
  /** Messages admitted and not yet acknowledged. */
  readonly inFlight: number;
  /** True once the term has ended, or nothing more is to be recorded in it. */
  readonly isOver: boolean;
  readonly admit: (pulled: PulledMessage) => Promise<void>;
  /** Records nothing more. */
  forget(): void;
  /** Resolves when everything admitted is recorded, or forgotten; within one grace for all of it. */
  readonly drain: () => Promise<void>;
}

/** An error that is no `PoisonError` is a bug of the decoder. */
interface Decoded {
  readonly pulled: PulledMessage;
  readonly message: IntakeMessage | Error;
  /** See `DeadLetter`. */
  readonly setAsideFor: string | null;
}

interface RecordedPart {
  readonly batch: RecordedBatch;
  /** What is to be recorded next. */
  readonly left: readonly Decoded[];
}

type RecordPart = (decoded: readonly Decoded[]) => Promise<RecordedPart | null>;

interface Share extends Pick<Recording, 'depth' | 'inFlight'> {
  readonly admit: (decoded: Decoded) => Promise<void>;
  readonly drain: (grace: Grace) => Promise<void>;
}

interface ShareWork {
  /** Resolves with null when nothing is to be recorded any more. */
  readonly record: RecordPart;
  /** Whether a message that a bug stands in the way of is to be set aside; if not, nothing more is recorded. */
  readonly mayBeSetAside: (decoded: Decoded, error: Error) => boolean;
  readonly reject: Rejections['tell'];
}

/** One to compute, one to wait for PostgreSQL: more would share the same core. */
const SHARES = 2;
/** What cannot be read belongs to no property, and keeps no place among those that can. */
const UNREADABLE_SHARE = SHARES;
/** Recorded batches of a share that wait for their acknowledgement at most. */
const ACKNOWLEDGER_MAILBOX_MAX = 4;

export function startRecording(term: Term, start: IntakeStart, dependencies: IntakeDependencies): Recording {
  const { breaker } = dependencies;
  const memory = testMemory(term, start, dependencies);
  let isOver = false;
  const record: RecordPart = async (decoded) => {
    if (isOver) return null;
    try {
      return await recordDecoded(
        term,
        decoded,
        { tellingUpTo: memory.tellingUpTo, stream: start.stream.number },
        dependencies,
      );
    } catch (error) {
      if (error instanceof ForgottenError) {
        await memory.noteForgotten();
        return record(decoded);
      }
      if (error instanceof BarrierError) return recordUpToBarrier(error, decoded, record, dependencies.onHeld);
      // Nobody knows whether the batch is recorded: the next term reads the truth, and what it missed, anew.
      if (!(error instanceof TermOverError || error instanceof CommitUnknownError)) throw error;
      isOver = true;
      return null;
    }
  };
  const mayBeSetAside: ShareWork['mayBeSetAside'] = (decoded, error) => {
    if (!isOver && !breaker.admits(culpritOf(decoded), error)) isOver = true;
    return !isOver;
  };
  const rejections = startRejections(dependencies);
  const work = { record, mayBeSetAside, reject: rejections.tell };
  const shares = Array.from({ length: SHARES + 1 }, () => startShare(work, dependencies));
  const sum = (count: (share: Share) => number): number => shares.reduce((total, share) => total + count(share), 0);
  return {
    get depth() {
      return sum(({ depth }) => depth);
    },
    get inFlight() {
      return sum(({ inFlight }) => inFlight) + rejections.inFlight;
    },
    get isOver() {
      return isOver;
    },
    admit(pulled) {
      const decoded = { pulled, message: decode(pulled, dependencies.onUnknownMember), setAsideFor: null };
      return (shares[shareOf(decoded)] as Share).admit(decoded);
    },
    forget() {
      isOver = true;
    },
    async drain() {
      const grace = startGrace();
      await Promise.all(shares.map((share) => share.drain(grace)));
      await rejections.drain(grace);
      grace.end();
    },
  };
}

function startShare({ record, mayBeSetAside, reject }: ShareWork, dependencies: IntakeDependencies): Share {
  const { recordBatchMax, recordBatchBytesMax, supervisor } = dependencies;
  let inFlight = 0;
  const end = ({ understood }: RecordedBatch): void => {
    inFlight -= understood.length;
  };
  const acknowledger = spawn<RecordedBatch>({
    name: 'acknowledger',
    mailboxMax: ACKNOWLEDGER_MAILBOX_MAX,
    supervisor,
    async receive([taken]) {
      const batch = taken as RecordedBatch;
      await acknowledgeAll(batch.understood);
      end(batch);
    },
    // Its messages come again to be recognised as recorded.
    setAside: async (batch) => end(batch),
  });
  async function recordAll(decoded: readonly Decoded[]): Promise<readonly Decoded[]> {
    const part = await record(decoded);
    if (part === null) return [];
    const { poison } = part.batch;
    inFlight -= poison.length;
    // One that has ended lets go: the messages come again.
    await Promise.all([reject(poison), acknowledger.tell(part.batch)]).catch((cause: Error) => {
      throw new RetryAbandonedError('the acknowledger has ended', { cause });
    });
    return part.left;
  }
  const recorder = spawn<Decoded>({
    name: 'recorder',
    mailboxMax: recordBatchMax,
    batchMax: recordBatchMax,
    weighing: { weigh: ({ pulled }) => pulled.bytes.length, weightMax: recordBatchBytesMax },
    supervisor,
    keyOf: culpritOf,
    receive: recordAll,
    async setAside(decoded, error) {
      if (mayBeSetAside(decoded, error)) await recordAll([setAsideBy(error, decoded)]);
    },
  });
  return {
    get depth() {
      return recorder.depth;
    },
    get inFlight() {
      return inFlight;
    },
    admit(decoded) {
      inFlight += 1;
      return recorder.tell(decoded);
    },
    async drain(grace) {
      await recorder.drain(grace);
      await acknowledger.drain(grace);
    },
  };
}

function decode(pulled: PulledMessage, tellUnknown: TellUnknown): IntakeMessage | Error {
  try {
    return onItsSubject(pulled.subject, decodeIntakeMessage(pulled.bytes, tellUnknown));
  } catch (error) {
    return error as Error;
  }
}

/** The same, to be kept instead of recorded. */
function setAsideBy(error: Error, decoded: Decoded): Decoded {
  const propertyUuid = decoded.message instanceof Error ? null : decoded.message.propertyUuid;
  const message = new PoisonError(`could not be recorded: ${describe(error)}`, { propertyUuid });
  return { ...decoded, message, setAsideFor: culpritOf(decoded) };
}

/** Whose message it is, as far as it says. */
function culpritOf({ pulled, message }: Decoded): string {
  return message instanceof Error ? pulled.subject : message.propertyUuid;
}

/** By the property, whatever its kind of UUID leaves constant. */
function shareOf({ message }: Decoded): number {
  if (message instanceof Error) return UNREADABLE_SHARE;
  let hash = 0;
  for (let position = 0; position < message.propertyUuid.length; position++) {
    hash = (Math.imul(hash, 31) + message.propertyUuid.charCodeAt(position)) | 0;
  }
  return (hash >>> 0) % SHARES;
}

function refusalOf({ pulled, message, setAsideFor }: Decoded, refusal: PoisonError): RefusedMessage {
  const { violations } = refusal;
  const told = message instanceof Error ? refusal.propertyUuid : message.propertyUuid;
  const propertyUuid = propertyOf(told, pulled.subject);
  // Every message of a stream has it.
  const { storedAtMs = Date.now() } = pulled;
  return { ...pulled, storedAtMs, reason: refusal.message, setAsideFor, violations, propertyUuid };
}

/** Throws the decoder's bug, if there was one. */
async function recordDecoded(
  term: Term,
  decoded: readonly Decoded[],
  { tellingUpTo, stream }: { readonly tellingUpTo: number; readonly stream: number },
  { recordBatch, announceDue, onRecorded, onTrouble }: IntakeDependencies,
): Promise<RecordedPart> {
  const entries: (RecordedEntry & { readonly from: Decoded })[] = [];
  const poison: RefusedMessage[] = [];
  for (const from of decoded) {
    const { pulled, message } = from;
    if (message instanceof PoisonError) {
      poison.push(refusalOf(from, message));
    } else if (message instanceof Error) {
      throw message;
    } else {
      const { headers, storedAtMs } = pulled;
      const bytes = pulled.bytes.length;
      const traceparent = traceparentOf(headers);
      const wasAcknowledged = pulled.sequence <= tellingUpTo;
      const origin = { stream, sequence: pulled.sequence, ...requeuedFrom(headers, stream) };
      entries.push({ from, message, origin, letter: pulled, bytes, storedAtMs, traceparent, wasAcknowledged });
    }
  }
  const startedAt = performance.now();
  const recorded = await recordBatch(term, entries, poison);
  const { refused } = recorded;
  const leftAt = new Set(recorded.left);
  const understood: PulledMessage[] = [];
  for (const [position, { from }] of entries.entries()) {
    const reason = refused.get(position);
    if (reason !== undefined) poison.push(refusalOf(from, new PoisonError(reason)));
    else if (!leftAt.has(position)) understood.push(from.pulled);
  }
  const batch = { deliveries: recorded.deliveries, understood, poison };
  try {
    announceDue(recorded.deliveries.map(({ id, endpointKey }) => ({ id, endpointKey, lane: 'first' })));
    onRecorded(recorded, batch, (performance.now() - startedAt) / 1_000);
  } catch (error) {
    // It is recorded, whoever cannot look at it.
    onTrouble('observe what was recorded', error as Error);
  }
  return { batch, left: recorded.left.map((position) => (entries[position] as { readonly from: Decoded }).from) };
}
