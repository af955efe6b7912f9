/**
 * The recorders of one term. Each records one lane, its share of the properties, so that one computes while another
 * waits for PostgreSQL; all changes of a property are in one lane, and keep the order in which they were admitted. A
 * slow recorder fills its mailbox, and `admit` waits.
 */

import { type Actor, spawn } from '../actor/actor.ts';
import type { PulledMessage } from '../broker/pull.ts';
import { decodeIntakeMessage, type IntakeMessage, PoisonError } from '../domain/intake-message.ts';
import { type Term, TermOverError } from '../store/intake-leader.ts';
import { deleteOutboxEntries, type OutboxEntry } from '../store/outbox.ts';
import { dispatch, type RecordedBatch } from './dispatcher.ts';
import type { IntakeDependencies } from './intake.ts';
import { traceparentOf } from './tracing.ts';

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
  /** Resolves when everything admitted is recorded, or forgotten. */
  readonly drain: () => Promise<void>;
}

interface Decoded {
  readonly pulled: PulledMessage;
  readonly message: IntakeMessage | PoisonError;
}

type RecordBatch = (decoded: readonly Decoded[]) => Promise<RecordedBatch | null>;
type Lane = Pick<Recording, 'depth' | 'inFlight' | 'drain'> & { readonly admit: (decoded: Decoded) => Promise<void> };

/** One to compute, one to wait for PostgreSQL: more would share the same core. */
const LANES = 2;
/** Recorded batches of a lane that wait for their publication at most. */
const DISPATCH_MAILBOX_MAX = 4;
/** Outbox entries that have served and are still there, at most. */
const OUTBOX_MAX = 256;
/** Well below the age at which the sweeper takes an entry for abandoned. */
const OUTBOX_GATHER_MS = 100;

export function startRecording(term: Term, dependencies: IntakeDependencies): Recording {
  let isOver = false;
  const record: RecordBatch = async (decoded) => {
    if (isOver) return null;
    try {
      return await recordDecoded(term, decoded, dependencies);
    } catch (error) {
      if (!(error instanceof TermOverError)) throw error;
      isOver = true;
      return null;
    }
  };
  const outbox = startOutbox(dependencies);
  const lanes = Array.from({ length: LANES }, () => startLane(record, outbox.tell, dependencies));
  const sum = (count: (lane: Lane) => number): number => lanes.reduce((total, lane) => total + count(lane), 0);
  return {
    get depth() {
      return sum(({ depth }) => depth);
    },
    get inFlight() {
      return sum(({ inFlight }) => inFlight);
    },
    get isOver() {
      return isOver;
    },
    admit(pulled) {
      const decoded = { pulled, message: decode(pulled) };
      return (lanes[laneOf(decoded)] as Lane).admit(decoded);
    },
    forget() {
      isOver = true;
    },
    async drain() {
      await Promise.all(lanes.map((lane) => lane.drain()));
      await outbox.drain();
    },
  };
}

/** Forgets the entries that it is told of. */
function startOutbox({ database, onFailure }: IntakeDependencies): Actor<OutboxEntry> {
  return spawn<OutboxEntry>({
    name: 'outbox',
    mailboxMax: OUTBOX_MAX,
    batchMax: OUTBOX_MAX,
    gatherMs: OUTBOX_GATHER_MS,
    supervision: 'retry',
    onFailure,
    receive: (entries) => deleteOutboxEntries(database, entries),
  });
}

function startLane(record: RecordBatch, forget: Actor<OutboxEntry>['tell'], dependencies: IntakeDependencies): Lane {
  const { broker, recordBatchMax, onFailure } = dependencies;
  let inFlight = 0;
  const dispatcher = spawn<RecordedBatch>({
    name: 'dispatcher',
    mailboxMax: DISPATCH_MAILBOX_MAX,
    supervision: 'retry',
    onFailure,
    async receive([taken]) {
      const batch = taken as RecordedBatch;
      await dispatch(broker, batch, forget);
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
      const batch = await record(decoded);
      if (batch !== null) await dispatcher.tell(batch);
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

/** By the property, whatever its kind of UUID leaves constant; what cannot be read belongs to none. */
function laneOf({ message }: Decoded): number {
  if (message instanceof PoisonError) return 0;
  let hash = 0;
  for (let position = 0; position < message.propertyUuid.length; position++) {
    hash = (Math.imul(hash, 31) + message.propertyUuid.charCodeAt(position)) | 0;
  }
  return (hash >>> 0) % LANES;
}

async function recordDecoded(
  term: Term,
  decoded: readonly Decoded[],
  { recordBatch, onRecorded }: IntakeDependencies,
): Promise<RecordedBatch> {
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
  return batch;
}
