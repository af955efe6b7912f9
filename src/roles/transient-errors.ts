/**
 * While a server is unreachable, every retry of every task fails. To avoid a log line for each failure, one line is
 * logged when such an error begins, and one when it has ended.
 */

import type { ActorFailure } from '../engine/actor/supervisor.ts';
import { BrokerSilentError, brokerReason, isBrokerOutage, isBrokerSilence } from '../engine/broker/outage.ts';
import { databaseRefusal, isDatabaseOutage } from '../engine/store/outage.ts';
import type { Log } from '../log.ts';

export type TransientErrors = ReturnType<typeof createTransientErrors>;

interface OpenError {
  readonly beganAt: number;
  count: number;
  /** Fires when the error has not recurred for `OVER_AFTER_MS`. */
  over: NodeJS.Timeout | undefined;
}

/** Longer than any pause before a retry (20 s). A task with longer intervals logs its error each time. */
const OVER_AFTER_MS = 30_000;

/** The server whose errors count as one error for all work; null if the errors of each work count separately. */
function serverOf(error: Error): string | null {
  if (isBrokerSilence(error)) return 'NATS';
  const reason = databaseRefusal(error);
  return reason === null ? null : `PostgreSQL: ${reason}`;
}

/** Logs the stack only for possible bugs. For an outage, the failing line of our code is irrelevant. */
function loggedError(error: Error): Readonly<Record<string, unknown>> {
  if (!isDatabaseOutage(error) && !isBrokerOutage(error) && !isBrokerSilence(error)) return { err: error };
  const messages = [];
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) messages.push(brokerReason(cause));
  return { reason: messages.join(': '), code: (error as { readonly code?: unknown }).code ?? null };
}

/** `note` is called for every error, whether it is logged or not. */
export function createTransientErrors(
  log: Pick<Log, 'info' | 'warn' | 'error'>,
  note: (error: Error) => void = () => undefined,
) {
  const open = new Map<string, OpenError>();

  /** Counts the error. True if no equal error occurred within `OVER_AFTER_MS`. */
  function isNews(what: string, error: Error): boolean {
    // Numbers such as partitions, ports and sequences may differ although the error is the same.
    const key = serverOf(error) ?? `${what}: ${error.message.replaceAll(/\d+/g, '#')}`;
    const known = open.get(key);
    const lastAt = performance.now();
    const current = known ?? { beganAt: lastAt, count: 0, over: undefined };
    current.count += 1;
    open.set(key, current);
    clearTimeout(current.over);
    current.over = setTimeout(() => {
      open.delete(key);
      const { count, beganAt } = current;
      log.info(
        { what, reason: error.message, count, durationMs: Math.round(lastAt - beganAt) },
        'A transient error has ended.',
      );
    }, OVER_AFTER_MS);
    current.over.unref();
    return known === undefined;
  }

  return {
    /** `what` names the work that met the error. */
    onTransientError(what: string, error: Error) {
      note(error);
      if (isNews(what, error)) log.warn({ what, ...loggedError(error) }, 'A transient error occurred.');
    },
    /** Called when the connection to NATS breaks, returns or reports an error. */
    onBrokerStatus(status: 'disconnected' | 'reconnected' | 'error', detail: string) {
      // A lost connection and missing answers count as one error.
      const isOver = status === 'reconnected';
      if (isOver) log.info({ status, detail }, 'The connection to NATS works again.');
      else if (isNews('connection to NATS', new BrokerSilentError(detail))) {
        log.warn({ status, detail }, 'The connection to NATS does not work.');
      }
    },
    onFailure({ actor, error, isBug, isFinal, retryInMs }: ActorFailure) {
      note(error);
      if (!isFinal && !isNews(`actor ${actor}`, error)) return;
      log.error({ actor, ...loggedError(error), isBug, retryInMs }, isFinal ? 'An actor crashed.' : 'An actor failed.');
    },
  };
}
