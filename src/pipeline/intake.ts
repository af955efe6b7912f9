/**
 * From the stream to the recorder, for one term of leadership (pipeline/leadership.ts). One recorder takes the messages
 * in stream order, so a property's changes keep theirs; a slow recorder fills its mailbox, which stops the pulling, and
 * JetStream holds the rest.
 */

import { type Actor, type ActorFailure, spawn } from '../actor/actor.ts';
import type { Broker } from '../broker/connection.ts';
import { type PulledMessage, startPull } from '../broker/pull.ts';
import { startInOrder } from '../broker/replay.ts';
import { ADVERTS_STREAM, ensureIntake, INTAKE_CONSUMER } from '../broker/topology.ts';
import type { Valve } from '../broker/valve.ts';
import { decodeIntakeMessage, type IntakeMessage, PoisonError } from '../domain/intake-message.ts';
import type { Database } from '../store/database.ts';
import { type Term, TermOverError } from '../store/intake-leader.ts';
import { dispatch, type RecordedBatch } from './dispatcher.ts';
import type { RecordBatch, Recorded } from './recorder.ts';
import { traceparentOf } from './tracing.ts';

export interface IntakeDependencies {
  readonly broker: Broker;
  readonly database: Database;
  readonly recordBatch: RecordBatch;
  readonly recordBatchMax: number;
  /** Closed, it pauses the stage. */
  readonly valve?: Valve;
  /** `seconds`: what recording took. */
  readonly onRecorded: (recorded: Recorded, batch: RecordedBatch, seconds: number) => void;
  readonly onFailure: (failure: ActorFailure) => void;
  readonly onTrouble: (what: string, error: Error) => void;
}

export interface Intake {
  /** Messages admitted and not yet recorded. */
  readonly depth: number;
  /** Messages pulled and not yet acknowledged. */
  readonly inFlight: number;
  /** False once it cannot promise the order any more: the term is over, or messages were lost on the way. */
  readonly isSound: boolean;
  /** Stops pulling, then finishes what was pulled. */
  drain(): Promise<void>;
  /** Stops pulling and forgets what is not recorded: the next term begins with it. */
  abandon(): Promise<void>;
}

interface Decoded {
  readonly pulled: PulledMessage;
  readonly message: IntakeMessage | PoisonError;
}

/** Recorded batches that wait for their publication at most. */
const DISPATCH_MAILBOX_MAX = 4;

export async function startIntake(term: Term, dependencies: IntakeDependencies): Promise<Intake> {
  const { broker, recordBatchMax, valve, onTrouble } = dependencies;
  const { disconnections } = broker;
  const recording = startRecording(term, dependencies);
  try {
    await ensureIntake(broker);
    const onMessage = await startInOrder(broker, ADVERTS_STREAM, INTAKE_CONSUMER, recording.admit);
    const pull = startPull(broker, {
      stream: ADVERTS_STREAM,
      consumer: INTAKE_CONSUMER,
      batchMax: recordBatchMax,
      onMessage,
      onTrouble,
      ensure: () => ensureIntake(broker),
      ...(valve === undefined ? {} : { valve }),
    });
    const end = (): Promise<void> => pull.stop().then(recording.drain);
    return {
      get depth() {
        return recording.depth;
      },
      get inFlight() {
        return recording.inFlight;
      },
      get isSound() {
        return !recording.isOver && broker.disconnections === disconnections;
      },
      drain: end,
      abandon() {
        recording.forget();
        return end();
      },
    };
  } catch (error) {
    recording.forget();
    await recording.drain();
    throw error;
  }
}

interface Recording {
  readonly depth: number;
  readonly inFlight: number;
  /** True once the term has ended, or nothing more is to be recorded in it. */
  readonly isOver: boolean;
  readonly admit: (pulled: PulledMessage) => Promise<void>;
  forget(): void;
  readonly drain: () => Promise<void>;
}

function startRecording(term: Term, dependencies: IntakeDependencies): Recording {
  const { broker, database, recordBatchMax, onFailure } = dependencies;
  let isOver = false;
  let inFlight = 0;
  const dispatcher = spawn<RecordedBatch>({
    name: 'dispatcher',
    mailboxMax: DISPATCH_MAILBOX_MAX,
    supervision: 'retry',
    onFailure,
    async receive([taken]) {
      const batch = taken as RecordedBatch;
      await dispatch(broker, database, batch);
      inFlight -= batch.understood.length + batch.poison.length;
    },
  });
  const recorder = spawn<Decoded>({
    name: 'recorder',
    mailboxMax: recordBatchMax,
    batchMax: recordBatchMax,
    supervision: 'retry',
    onFailure,
    async receive(decoded) {
      if (isOver) return;
      try {
        await record(term, decoded, dispatcher, dependencies);
      } catch (error) {
        if (!(error instanceof TermOverError)) throw error;
        isOver = true;
      }
    },
  });
  return {
    get depth() {
      return recorder.depth;
    },
    get inFlight() {
      return inFlight;
    },
    get isOver() {
      return isOver;
    },
    admit(pulled) {
      inFlight += 1;
      return recorder.tell({ pulled, message: decode(pulled) });
    },
    forget() {
      isOver = true;
    },
    async drain() {
      await recorder.drain();
      await dispatcher.drain();
    },
  };
}

function decode(pulled: PulledMessage): IntakeMessage | PoisonError {
  try {
    return decodeIntakeMessage(pulled.bytes);
  } catch (error) {
    if (error instanceof PoisonError) return error;
    throw error;
  }
}

async function record(
  term: Term,
  decoded: readonly Decoded[],
  dispatcher: Actor<RecordedBatch>,
  { recordBatch, onRecorded }: IntakeDependencies,
): Promise<void> {
  const understood: PulledMessage[] = [];
  const messages: IntakeMessage[] = [];
  const poison: (PulledMessage & { readonly reason: string })[] = [];
  for (const { pulled, message } of decoded) {
    if (message instanceof PoisonError) {
      poison.push({ ...pulled, reason: message.message });
    } else {
      understood.push(pulled);
      messages.push(message);
    }
  }
  const startedAt = performance.now();
  const traceparents = understood.map(({ headers }) => traceparentOf(headers));
  const recorded = await recordBatch(term, messages, poison, traceparents);
  const batch = { outbox: recorded.outbox, deliveries: recorded.deliveries, understood, poison };
  onRecorded(recorded, batch, (performance.now() - startedAt) / 1_000);
  await dispatcher.tell(batch);
}
