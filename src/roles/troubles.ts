/**
 * Troubles of a server that is away come back with every attempt of every loop until it is there again. One line when
 * such a trouble begins and one when it is over say the same, and can be read.
 */

import type { ActorFailure } from '../engine/actor/supervisor.ts';
import { BrokerSilentError, isBrokerSilence } from '../engine/broker/outage.ts';
import { databaseRefusal } from '../engine/store/outage.ts';
import type { Log } from '../log.ts';

export interface Troubles {
  /** `what`: the work that met the trouble and goes on by itself. */
  readonly onTrouble: (what: string, error: Error) => void;
  readonly onFailure: (failure: ActorFailure) => void;
  /** Of the connection to NATS. */
  readonly onBrokerStatus: (status: 'disconnected' | 'reconnected' | 'error', detail: string) => void;
}

interface OpenTrouble {
  readonly beganAt: number;
  count: number;
  /** Rings when it has not come back for a while. */
  over: NodeJS.Timeout | undefined;
}

/** Longer than the pauses between attempts of anything that repeats them. */
const OVER_AFTER_MS = 30_000;

/** What is one trouble, whatever work meets it; null: that of the work. */
function serverTrouble(error: Error): string | null {
  if (isBrokerSilence(error)) return 'NATS';
  const reason = databaseRefusal(error);
  return reason === null ? null : `PostgreSQL: ${reason}`;
}

export function createTroubles(log: Pick<Log, 'info' | 'warn' | 'error'>): Troubles {
  const open = new Map<string, OpenTrouble>();

  /** True when nobody has told it yet. */
  function isNews(what: string, error: Error): boolean {
    // Partitions, ports and sequences differ between those who meet one trouble.
    const key = serverTrouble(error) ?? `${what}: ${error.message.replaceAll(/\d+/g, '#')}`;
    const known = open.get(key);
    const lastAt = performance.now();
    const trouble = known ?? { beganAt: lastAt, count: 0, over: undefined };
    trouble.count += 1;
    open.set(key, trouble);
    clearTimeout(trouble.over);
    trouble.over = setTimeout(() => {
      open.delete(key);
      const { count, beganAt } = trouble;
      log.info({ what, reason: error.message, count, durationMs: Math.round(lastAt - beganAt) }, 'trouble over');
    }, OVER_AFTER_MS);
    trouble.over.unref();
    return known === undefined;
  }

  return {
    onTrouble(what, error) {
      if (isNews(what, error)) log.warn({ what, err: error }, 'trouble');
    },
    onBrokerStatus(status, detail) {
      // A connection that is lost is the same trouble as the answers that do not come.
      const isOver = status === 'reconnected';
      if (isOver) log.info({ status, detail }, 'connection to NATS');
      else if (isNews('connection to NATS', new BrokerSilentError(detail))) {
        log.warn({ status, detail }, 'connection to NATS');
      }
    },
    onFailure({ actor, error, isBug, isFinal, retryInMs }) {
      if (!isFinal && !isNews(`actor ${actor}`, error)) return;
      log.error({ actor, err: error, isBug, retryInMs }, isFinal ? 'actor crashed' : 'actor failed');
    },
  };
}
