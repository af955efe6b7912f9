/**
 * Messages of the stream `RETRIES`. All but probes name a failed attempt and the time of its retry. A courier returns
 * the message to JetStream with a delay until that time (`nak`). The delivery's row decides whether the retry is due.
 */

import type { FailedAttempt } from '../domain/delivery.ts';
import { parseUuid } from '../domain/ids.ts';
import type { Broker } from './connection.ts';
import { type Publication, publishAll } from './publish.ts';
import type { PulledMessage } from './pull.ts';
import { withholds } from './stream-position.ts';
import { ensureRetries, isMissing, retryConsumer, retryPartition, retrySubject } from './topology.ts';

export interface RetryMessage extends FailedAttempt {
  /** When the retry is due, in milliseconds since the epoch, by the courier's clock. */
  readonly dueAtMs: number;
}

/** Rejects unless the stream has stored all messages. */
export function publishRetries(broker: Broker, retries: readonly RetryMessage[]): Promise<void> {
  return publishAll(
    broker,
    retries.map((retry) => publicationOf(broker, retry)),
  );
}

const PROBE = new Uint8Array(65_536);

/** Checks that JetStream can write: stores and deletes a message that no consumer reads. Rejects on failure. */
export async function probeBrokerWrite(broker: Broker): Promise<void> {
  const { jetStream, manager, names } = broker;
  await ensureRetries(broker);
  const { seq } = await jetStream.publish(`${names.retries}.probe.write`, PROBE);
  await manager.streams.deleteMessage(names.retriesStream, seq);
}

function publicationOf(broker: Broker, { id, endpointKey, dueAtMs, ...attempt }: RetryMessage): Publication {
  const bytes = Buffer.from(`${endpointKey} ${textOf(attempt)} ${Math.ceil(dueAtMs)}`);
  return { subject: retrySubject(broker, endpointKey, id), messageId: `${id} ${textOf(attempt)}`, bytes };
}

function textOf({ attemptCount, startedAt }: Pick<RetryMessage, 'attemptCount' | 'startedAt'>): string {
  return `${attemptCount} ${startedAt.getTime()}`;
}

/** Null if another program published the message. */
export function retryOf({ subject, bytes }: Pick<PulledMessage, 'subject' | 'bytes'>): RetryMessage | null {
  const [, , idText = ''] = subject.split('.');
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
  const fields = /^([0-9a-f]{16,}) (\d{1,5}) (\d{1,13}) (\d{1,15})$/.exec(text);
  const id = parseUuid(idText);
  if (id === null || fields === null) return null;
  const [attemptCount, startedAtMs, dueAtMs] = fields.slice(2).map(Number) as [number, number, number];
  return { id, endpointKey: fields[1] as string, attemptCount, startedAt: new Date(startedAtMs), dueAtMs };
}

/**
 * Whether the stream has a message for this attempt that is due at `latestMs` or earlier and will be delivered. Rejects
 * if NATS is unavailable. After a nats-server below 2.10 was killed, the stream may still have acknowledged messages,
 * which are not delivered again.
 */
export async function holdsRetry(
  broker: Broker,
  { id, endpointKey, ...attempt }: Omit<RetryMessage, 'dueAtMs'>,
  latestMs: number,
): Promise<boolean> {
  const { manager, names } = broker;
  try {
    const message = await manager.streams.getMessage(names.retriesStream, {
      last_by_subj: retrySubject(broker, endpointKey, id),
    });
    const held = retryOf({ subject: message.subject, bytes: message.data });
    if (held === null || textOf(held) !== textOf(attempt) || held.dueAtMs > latestMs) return false;
    const consumer = await manager.consumers.info(names.retriesStream, retryConsumer(retryPartition(endpointKey)));
    return message.seq > consumer.ack_floor.stream_seq && !withholds(consumer, message.seq);
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

const HEADER = 'Vigie-Requeued';

/**
 * The header of a message that an operator requeues. It carries the original position, so that the message does not
 * undo later messages. `stream` is the number of the stream in `intake_position`.
 */
export function requeuedHeader(stream: number, sequence: number): Readonly<Record<string, string>> {
  return { [HEADER]: `${stream}/${sequence}` };
}

/** The original sequence of a requeued message, if the message came from the stream with the number `stream`. */
export function requeuedFrom(
  headers: Readonly<Record<string, string>>,
  stream: number,
): { readonly requeuedFrom?: number } {
  const [number, sequence] = (headers[HEADER] ?? '').split('/').map(Number);
  return number === stream && Number.isSafeInteger(sequence) ? { requeuedFrom: sequence as number } : {};
}
