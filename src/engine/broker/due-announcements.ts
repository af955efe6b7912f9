/**
 * "These deliveries are due", sent to the courier of this process. What exceeds its capacity, or everything where there
 * is none, goes to one other courier. Core NATS may lose it: an announcement only shortens the time until the next scan
 * of the rows, which are the queue.
 */

import type { DueDelivery } from '../domain/delivery.ts';
import { parseUuid } from '../domain/ids.ts';
import { type Broker, listen } from './connection.ts';

/** The courier of this process. */
export interface DueListener {
  /** Returns the deliveries that exceed its capacity. */
  admit(due: readonly DueDelivery[]): readonly DueDelivery[];
  /** True when no other courier is known. */
  readonly isAlone: boolean;
}

export interface DueAnnouncer {
  announce(due: readonly DueDelivery[]): void;
  /** Sends to one other courier, if there is one. */
  pass(due: readonly DueDelivery[]): void;
  /** Returns a function that ends the subscription. */
  listen(listener: DueListener): () => void;
}

const SIGNAL = 'deliveries.due';
const QUEUE = 'couriers';
const ANNOUNCED_MAX = 512;

export function createDueAnnouncer(broker: Broker): DueAnnouncer {
  const subject = `${broker.names.signals}.${SIGNAL}`;
  let local: DueListener | null = null;

  function pass(due: readonly DueDelivery[]): void {
    if (!broker.isConnected()) return;
    for (let start = 0; start < due.length; start += ANNOUNCED_MAX) {
      broker.connection.publish(subject, linesOf(due.slice(start, start + ANNOUNCED_MAX)));
    }
  }

  return {
    pass,
    announce(due) {
      if (local === null) return pass(due);
      const left = local.admit(due);
      if (!local.isAlone) pass(left);
    },
    listen(listener) {
      local = listener;
      const end = listen(broker, subject, (message) => void listener.admit(dueOf(message.string())), QUEUE);
      return () => {
        local = null;
        end();
      };
    },
  };
}

function linesOf(due: readonly DueDelivery[]): string {
  return due.map(({ id, endpointKey, lane }) => `${id} ${endpointKey} ${lane}`).join('\n');
}

function dueOf(lines: string): readonly DueDelivery[] {
  return lines.split('\n').flatMap((line) => {
    const [idText = '', endpointKey = '', lane] = line.split(' ');
    const id = parseUuid(idText);
    return id === null || endpointKey === '' ? [] : [{ id, endpointKey, lane: lane === 'again' ? 'again' : 'first' }];
  });
}
