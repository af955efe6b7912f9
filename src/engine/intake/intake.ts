/**
 * Passes messages from the stream to the recorder, in stream order, for one term of leadership (leadership.ts). If the
 * recorder is slow, pulling stops, and the other messages stay in JetStream.
 */

import { startPull } from '../broker/pull.ts';
import { startInOrder } from '../broker/replay.ts';
import { restartConsumer } from '../broker/stream-position.ts';
import { ADVERTS_STREAM, ensureIntake } from '../broker/topology.ts';
import type { Term } from '../store/intake-leader.ts';
import { recordStart } from '../store/intake-position.ts';
import { findIntakeStart, startPositionMarks } from './position.ts';
import { type IntakeDependencies, startRecording } from './recording.ts';

export type Intake = Awaited<ReturnType<typeof startIntake>>;

export async function startIntake(term: Term, dependencies: IntakeDependencies) {
  const { broker, database, recordBatchMax, recordBatchBytesMax, gate, onStart, onTransientError } = dependencies;
  const { disconnections } = broker;
  await ensureIntake(broker);
  const start = await findIntakeStart(broker, database);
  onStart(start);
  await recordStart(database, term, start);
  const ofConsumer = { stream: ADVERTS_STREAM, consumer: broker.names.intakeConsumer };
  if (start.isConsumerAhead) await restartConsumer(broker, { ...ofConsumer, sequence: start.recordedUpTo + 1 });
  const recording = startRecording(term, start, dependencies);
  try {
    const onOtherStream = (): void => {
      inOrder.stop();
      recording.forget();
    };
    const callbacks = { handOn: recording.admit, onOtherStream, onTransientError };
    const inOrder = await startInOrder(broker, { ...ofConsumer, recordedUpTo: start.recordedUpTo, ...callbacks });
    const marks = startPositionMarks(term, start, inOrder, { ...dependencies, onOtherStream });
    const pull = startPull(broker, {
      ...ofConsumer,
      batchMax: recordBatchMax,
      bytesMax: recordBatchBytesMax,
      extendsWait: true,
      onMessage: inOrder.admit,
      onTransientError,
      ensure: () => ensureIntake(broker).then(marks.check),
      ...(gate === undefined ? {} : { gate }),
    });
    const end = async (): Promise<void> => {
      inOrder.stop();
      await Promise.all([pull.stop(), marks.stop()]);
      await recording.drain();
    };
    return {
      /** Number of messages admitted but not yet in a batch. */
      get depth() {
        return recording.depth;
      },
      /** Number of messages handed to the recorder but not yet acknowledged or terminated. */
      get inFlight() {
        return recording.inFlight;
      },
      /** False if intake must end: nothing further can be recorded, or the connection to NATS has broken. */
      get isSound() {
        return !recording.isOver && broker.disconnections === disconnections;
      },
      /** Stops pulling, finishes the pulled messages within a grace period, and stores the position. */
      drain: () => end().then(marks.markLast),
      /** Stops pulling and drops unrecorded messages. The next term begins with these messages. */
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
