/**
 * Publishes messages and waits for their acknowledgements, a limited number at a time. After a failure the caller
 * may publish again with the same message id, which the server recognises within its duplicate window.
 */

import { createInbox, type Msg, type MsgHdrs, NatsError, headers as natsHeaders } from 'nats';
import { type Broker, REQUEST_TIMEOUT_MS, STATUS_NO_RESPONDERS } from './connection.ts';
import { BrokerSilentError, BrokerUnavailableError, brokerReason } from './outage.ts';

export interface Publication {
  readonly subject: string;
  readonly messageId: string;
  readonly bytes: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Maximum number of publishes that await their acknowledgement. */
const PUBLISH_WINDOW = 256;

/**
 * Resolves when the stream has stored every publication. Rejects with the first refusal after all answers have arrived,
 * or earlier if the client fails or no answer arrives for `REQUEST_TIMEOUT_MS`. One inbox receives all answers, because
 * the client's own `publish` creates a timer and a promise race per message, which cost more than sending it.
 */
export function publishAll({ connection }: Broker, publications: readonly Publication[]): Promise<void> {
  if (publications.length === 0) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const inbox = createInbox();
    const queue = publications.entries();
    const unanswered = new Set<string>();
    let failure: Error | null = null;

    function fillWindow(): void {
      while (unanswered.size < PUBLISH_WINDOW) {
        const next = queue.next();
        if (next.done) return;
        const [position, { subject, bytes, ...named }] = next.value;
        const reply = `${inbox}.${position}`;
        connection.publish(subject, bytes, { reply, headers: headersOf(named) });
        unanswered.add(reply);
      }
    }

    function goOn(): void {
      try {
        fillWindow();
      } catch (error) {
        return end(failure ?? (error as Error));
      }
      if (unanswered.size === 0) end(failure);
    }

    function end(error: Error | null): void {
      clearTimeout(timer);
      subscription.unsubscribe();
      if (error === null) resolve();
      else reject(error);
    }

    const subscription = connection.subscribe(`${inbox}.*`, {
      callback(error, answer) {
        if (error !== null) return end(error);
        timer.refresh();
        unanswered.delete(answer.subject);
        failure ??= refusalIn(answer);
        goOn();
      },
    });
    const timer = setTimeout(() => {
      end(
        failure ?? new BrokerSilentError(`NATS did not answer ${unanswered.size} messages in ${REQUEST_TIMEOUT_MS} ms`),
      );
    }, REQUEST_TIMEOUT_MS);
    goOn();
  });
}

/** If `isDuplicate`, the stream already had a message with this id, at `sequence`. */
export async function publish(
  broker: Broker,
  publication: Publication,
): Promise<{ readonly isDuplicate: boolean; readonly sequence: number }> {
  const { subject, bytes, ...named } = publication;
  const acknowledgement = await broker.jetStream
    .publish(subject, bytes, { headers: headersOf(named) })
    .catch((error: Error) => {
      throw error instanceof NatsError && error.api_error ? refused(brokerReason(error)) : error;
    });
  if (acknowledgement.seq === 0) throw new BrokerUnavailableError(NOT_STORED);
  return { isDuplicate: acknowledgement.duplicate, sequence: acknowledgement.seq };
}

function refused(reason: string): BrokerUnavailableError {
  return new BrokerUnavailableError(`NATS does not store the message: ${reason}`);
}

function headersOf({ messageId, headers = {} }: Pick<Publication, 'messageId' | 'headers'>): MsgHdrs {
  const written = natsHeaders();
  for (const [name, value] of Object.entries(headers)) written.set(name, value);
  written.set('Nats-Msg-Id', messageId);
  return written;
}

/**
 * On nats-server below 2.11, a leader that has lost the majority cannot store a message. It nevertheless acknowledges a
 * second publish as a duplicate, with sequence 0. The next leader does not have that message.
 */
const NOT_STORED = 'the stream has not stored the message yet';

/** Why the stream did not store a message; null if it did (JetStream API, `PubAck`). */
function refusalIn(answer: Msg): Error | null {
  if (answer.headers?.code === STATUS_NO_RESPONDERS) return new BrokerUnavailableError('no stream accepts the subject');
  try {
    const { error, seq } = answer.json<{ error?: { code: number; description: string }; seq?: number }>();
    if (error !== undefined) return refused(error.description);
    return seq === 0 ? new BrokerUnavailableError(NOT_STORED) : null;
  } catch (cause) {
    return new BrokerUnavailableError('NATS answered without an acknowledgement', { cause });
  }
}
