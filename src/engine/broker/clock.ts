/**
 * What the clock of NATS says. No answer of a server below 2.10 bears its time, but each of JetStream's own is published to
 * whoever listens, with the time (`io.nats.jetstream.advisory.v1.api_audit`).
 */

import { inTime } from '../actor/waiting.ts';
import type { Broker } from './connection.ts';
import { BrokerUnavailableError } from './outage.ts';

const ADVISORIES = '$JS.EVENT.ADVISORY.API';
const ACCOUNT_INFO = '$JS.API.INFO';
const ANSWER_MAX_MS = 1_000;

/**
 * Reads milliseconds since the epoch; rejects when NATS is away. A user who may not listen is refused once, and not asked
 * for again: each refusal is an error of the connection.
 */
export function brokerClock({ connection, manager }: Broker): () => Promise<number> {
  let refusal: Error | null = null;
  return async () => {
    if (refusal !== null) throw refusal;
    let end = (): void => undefined;
    const published = new Promise<number>((resolve, reject) => {
      const subscription = connection.subscribe(ADVISORIES, {
        callback(error, message) {
          refusal = error;
          if (error !== null) return reject(error);
          const { subject, timestamp } = message.json<{ subject: string; timestamp: string }>();
          if (subject === ACCOUNT_INFO) resolve(Date.parse(timestamp));
        },
      });
      end = () => subscription.unsubscribe();
    });
    try {
      const late = (): Error => new BrokerUnavailableError('NATS does not tell its time');
      const [atMs] = await inTime(Promise.all([published, manager.getAccountInfo()]), ANSWER_MAX_MS, late);
      return atMs;
    } finally {
      end();
    }
  };
}
