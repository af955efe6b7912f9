/**
 * Records the messages of one term in stream order, in batches (batch-pipeline.ts). If recording is slow, the mailbox
 * fills, and `admit` waits.
 */

import { type Actor, spawn, startGrace } from '../actor/actor.ts';
import { RetryAbandonedError, type Supervisor } from '../actor/supervisor.ts';
import type { PauseGate } from '../broker/pause-gate.ts';
import { acknowledgeAll, type PulledMessage } from '../broker/pull.ts';
import { requeuedFrom } from '../broker/retry-messages.ts';
import { ADVERTS_STREAM } from '../broker/topology.ts';
import { traceparentOf } from '../broker/tracing.ts';
import type { DueDelivery } from '../domain/delivery.ts';
import {
  decodeIntakeMessage,
  type IntakeMessage,
  inItsTime,
  isFromFuture,
  onItsSubject,
  RejectedMessageError,
} from '../domain/intake-message.ts';
import { propertyOf } from '../domain/rejection.ts';
import type { ReportUnknown } from '../domain/unknown-members.ts';
import { CommitUnknownError, type Database } from '../store/database.ts';
import { readDeadLettersOf } from '../store/dead-letters.ts';
import { type Term, TermOverError } from '../store/intake-leader.ts';
import { BatchPipeline, type RecordOptions, type Rest } from './batch-pipeline.ts';
import { describe, type IntakeBreaker } from './breaker.ts';
import { createRestoreDetector, type IntakeStart } from './position.ts';
import type { DeadLetteredMessage, RecordedBatch } from './recorded-batch.ts';
import { type Recorded, type RecordedEntry, type Recorder, RestoredError } from './recorder.ts';
import { type RejectionDependencies, startRejections } from './rejections.ts';
import { type ClockComparison, createStreamClock, type StreamClock } from './stream-clock.ts';

export interface IntakeDependencies extends RejectionDependencies {
  readonly database: Database;
  readonly recordBatch: Recorder;
  readonly recordBatchMax: number;
  /** Maximum bytes of the messages in the mailbox, of those that a batch takes from it, and of those being pulled. */
  readonly recordBatchBytesMax: number;
  /** While the gate is closed, no further messages are pulled. */
  readonly gate?: PauseGate;
  readonly onStart: (start: IntakeStart) => void;
  /** Called if messages show, after the term has begun, that the database was restored to an older state. */
  readonly onRestored: (news: readonly number[], start: IntakeStart) => void;
  readonly announceDue: (due: readonly DueDelivery[]) => void;
  /** `seconds` is the duration of the recording. */
  readonly onRecorded: (recorded: Recorded, batch: RecordedBatch, seconds: number) => void;
  readonly breaker: Pick<IntakeBreaker, 'admits'>;
  readonly clocks: ClockComparison;
  readonly onUnknownMember: ReportUnknown;
}

/** If `message` is an error other than `RejectedMessageError`, the decoder has a bug. */
interface Decoded {
  readonly pulled: PulledMessage;
  readonly message: IntakeMessage | Error;
  /** See `DeadLetter`. */
  readonly failedKey: string | null;
}

interface RecordedPart {
  readonly batch: RecordedBatch;
  readonly rest: Rest<Decoded>;
}

type RecordPart = (decoded: readonly Decoded[], options: RecordOptions<Decoded>) => Promise<RecordedPart | null>;

/** Maximum number of recorded batches that wait for their acknowledgement. */
const ACKNOWLEDGER_MAILBOX_MAX = 4;

export function startRecording(term: Term, start: IntakeStart, dependencies: IntakeDependencies) {
  const { recordBatchMax, recordBatchBytesMax, supervisor } = dependencies;
  const clock = createStreamClock(start, dependencies);
  const recorded = startTerm(term, start, clock, dependencies);
  const rejections = startRejections(dependencies);
  let inFlight = 0;
  const acknowledger = startAcknowledger(supervisor, (count) => {
    inFlight -= count;
  });
  const pipeline = new BatchPipeline<Decoded, RecordedPart>({
    record: recorded.record,
    async handOn({ batch }) {
      inFlight -= batch.deadLettered.length;
      // After `drain`, recorded messages are not acknowledged, and are then redelivered.
      await Promise.all([rejections.publish(batch.deadLettered), acknowledger.tell(batch)]).catch((cause: Error) => {
        throw new RetryAbandonedError('the acknowledger has ended', { cause });
      });
    },
    // Messages that cannot be decoded have a common key, so that they are dead-lettered in order.
    keyOf: ({ message }) => (message instanceof Error ? null : message.propertyUuid),
  });
  const recorder = spawn<Decoded>({
    name: 'recorder',
    mailboxMax: recordBatchMax,
    batchMax: recordBatchMax,
    weighing: { weigh: ({ pulled }) => pulled.bytes.length, weightMax: recordBatchBytesMax },
    supervisor,
    keyOf,
    receive: (messages) => pipeline.receive(messages),
    settle: (arrival) => pipeline.settle(arrival),
    async deadLetter(decoded, error) {
      if (recorded.mayDeadLetter(decoded, error)) await pipeline.replace(decoded, failedBy(error, decoded));
    },
  });
  return {
    /** Number of messages admitted but not yet in a batch. */
    get depth() {
      return recorder.depth;
    },
    /** Number of messages handed to `admit` but not yet acknowledged or terminated. */
    get inFlight() {
      return inFlight + rejections.inFlight;
    },
    /** True once the term has ended or will record nothing further. */
    get isOver() {
      return recorded.isOver;
    },
    admit(pulled: PulledMessage) {
      inFlight += 1;
      return recorder.tell({ pulled, message: decode(pulled, clock, dependencies.onUnknownMember), failedKey: null });
    },
    forget: recorded.end,
    /** Resolves when all admitted messages are settled, or were dropped after one shared grace period. */
    async drain() {
      const grace = startGrace();
      for (const stage of [recorder, acknowledger, rejections]) await stage.drain(grace);
      grace.end();
    },
  };
}

function startAcknowledger(supervisor: Supervisor, onEnded: (count: number) => void): Actor<RecordedBatch> {
  return spawn<RecordedBatch>({
    name: 'acknowledger',
    mailboxMax: ACKNOWLEDGER_MAILBOX_MAX,
    supervisor,
    async receive([batch]) {
      const { understood } = batch as RecordedBatch;
      await acknowledgeAll(understood);
      onEnded(understood.length);
    },
    // The messages are redelivered, and recognised as recorded.
    deadLetter: async ({ understood }) => onEnded(understood.length),
  });
}

/** Records the messages of the term until it is over. */
function startTerm(term: Term, start: IntakeStart, clock: StreamClock, dependencies: IntakeDependencies) {
  const { breaker } = dependencies;
  const restores = createRestoreDetector(term, start, dependencies);
  /** Sequences of messages that are stored as dead letters. They do not show that the database was restored. */
  const refused = new Set<number>();
  let isOver = false;
  const record: RecordPart = async (decoded, options) => {
    if (isOver) return null;
    const early = decoded.filter(({ message }) => isFromFuture(message)).map(({ pulled }) => pulled);
    if (early.length > 0 && (await clock.wasBehind(early))) isOver = true;
    if (isOver) return null;
    try {
      const wasRecorded = (sequence: number): boolean => sequence <= restores.evidenceUpTo && !refused.has(sequence);
      const reading = { wasRecorded, stream: start.stream.number };
      return await recordDecoded(term, decoded, reading, options, dependencies);
    } catch (error) {
      if (error instanceof RestoredError) {
        const { database } = dependencies;
        const letters = await readDeadLettersOf(database, ADVERTS_STREAM, start.stream.number, error.sequences);
        for (const sequence of letters) refused.add(sequence);
        const news = error.sequences.filter((sequence) => !refused.has(sequence));
        if (news.length > 0) await restores.raiseNumbers(news);
        return record(decoded, options);
      }
      // The term is over, or the commit may have failed. The next term takes in the messages that were not recorded.
      if (!(error instanceof TermOverError || error instanceof CommitUnknownError)) throw error;
      isOver = true;
      return null;
    }
  };
  return {
    get isOver() {
      return isOver;
    },
    /** Resolves with null if nothing further is recorded. */
    record,
    /** Whether a message may be dead-lettered because of a bug. If not, nothing further is recorded. */
    mayDeadLetter(decoded: Decoded, error: Error): boolean {
      if (!isOver && !breaker.admits(keyOf(decoded), error)) isOver = true;
      return !isOver;
    },
    /** No batch begins after this call. A batch that has begun may still be recorded. */
    end() {
      isOver = true;
    },
  };
}

function decode(pulled: PulledMessage, clock: StreamClock, reportUnknown: ReportUnknown): IntakeMessage | Error {
  try {
    const message = onItsSubject(pulled.subject, decodeIntakeMessage(pulled.bytes, reportUnknown));
    return inItsTime(message, clock.latestOf(pulled));
  } catch (error) {
    return error as Error;
  }
}

/** The same message, to be dead-lettered instead of recorded. */
function failedBy(error: Error, decoded: Decoded): Decoded {
  const propertyUuid = decoded.message instanceof Error ? null : decoded.message.propertyUuid;
  const message = new RejectedMessageError(`could not be recorded: ${describe(error)}`, { propertyUuid });
  return { ...decoded, message, failedKey: keyOf(decoded) };
}

/** The property of the message, or its subject if it could not be decoded. */
function keyOf({ pulled, message }: Decoded): string {
  return message instanceof Error ? pulled.subject : message.propertyUuid;
}

function deadLetterOf({ pulled, message, failedKey }: Decoded, error: RejectedMessageError): DeadLetteredMessage {
  const { violations } = error;
  const stated = message instanceof Error ? error.propertyUuid : message.propertyUuid;
  const propertyUuid = propertyOf(stated, pulled.subject);
  return { ...pulled, reason: error.message, failedKey, violations, propertyUuid };
}

/** Throws the bug of the decoder if there was one. Rejected messages become dead letters. */
async function recordDecoded(
  term: Term,
  decoded: readonly Decoded[],
  { wasRecorded, stream }: { readonly wasRecorded: (sequence: number) => boolean; readonly stream: number },
  { onEvaluated, leavesLarge = false }: RecordOptions<Decoded>,
  { recordBatch, announceDue, onRecorded, onTransientError }: IntakeDependencies,
): Promise<RecordedPart> {
  const entries: (RecordedEntry & { readonly from: Decoded })[] = [];
  const deadLettered: DeadLetteredMessage[] = [];
  for (const from of decoded) {
    const { pulled, message } = from;
    if (message instanceof RejectedMessageError) {
      deadLettered.push(deadLetterOf(from, message));
    } else if (message instanceof Error) {
      throw message;
    } else {
      const { headers, storedAtMs } = pulled;
      const bytes = pulled.bytes.length;
      const traceparent = traceparentOf(headers);
      const wasAcknowledged = wasRecorded(pulled.sequence);
      const origin = { stream, sequence: pulled.sequence, ...requeuedFrom(headers, stream) };
      entries.push({ from, message, origin, letter: pulled, bytes, storedAtMs, traceparent, wasAcknowledged });
    }
  }
  const startedAt = performance.now();
  const fromAt = (position: number): Decoded => (entries[position] as { readonly from: Decoded }).from;
  const restAt = ({ deferred, stateless }: Rest<number>): Rest<Decoded> => {
    return { deferred: deferred.map(fromAt), stateless: stateless.map(fromAt) };
  };
  const recorded = await recordBatch(term, entries, deadLettered, {
    onEvaluated: (rest) => onEvaluated?.(restAt(rest)),
    leavesLarge,
  });
  const { rejected, rest } = recorded;
  const left = new Set([...rest.deferred, ...rest.stateless]);
  const understood: PulledMessage[] = [];
  for (const [position, { from }] of entries.entries()) {
    const reason = rejected.get(position);
    if (reason !== undefined) deadLettered.push(deadLetterOf(from, new RejectedMessageError(reason)));
    else if (!left.has(position)) understood.push(from.pulled);
  }
  const batch = { understood, deadLettered };
  try {
    announceDue(recorded.deliveries.map(({ id, endpointKey }) => ({ id, endpointKey, lane: 'first' })));
    onRecorded(recorded, batch, (performance.now() - startedAt) / 1_000);
  } catch (error) {
    // The batch is recorded even if an observer throws.
    onTransientError('observe a recorded batch', error as Error);
  }
  return { batch, rest: restAt(rest) };
}
