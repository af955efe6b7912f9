/**
 * The clock of NATS. A server below 2.10 puts no time into its answers, but JetStream publishes an advisory with the
 * time for each API call (`io.nats.jetstream.advisory.v1.api_audit`).
 */

import { inTime } from '../actor/waiting.ts';
import type { Broker } from './connection.ts';
import { BrokerUnavailableError } from './outage.ts';

const ADVISORIES = '$JS.EVENT.ADVISORY.API';
const ACCOUNT_INFO = '$JS.API.INFO';
const ANSWER_MAX_MS = 1_000;

/**
 * Resolves with milliseconds since the epoch; rejects when NATS is away. A user without the right to subscribe is
 * refused once and does not ask again: each refusal is an error of the connection.
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
