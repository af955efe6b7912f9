/**
 * Puts the deliveries' stream back when it is gone. A stream that had to be created, or that somebody has put in the
 * place of ours, holds no message for the deliveries that are open, however many: they are walked through in the
 * background, page by page, and the row of how far that has come survives the process. What is due is parked, to be
 * drawn from the table behind what is new; what waits for its time gets its message again.
 */

import { singleFlight } from '../actor/in-flight.ts';
import { nullWhenGivenUp, patienceUntil, persist, troubleWatch } from '../actor/supervisor.ts';
import { startTask } from '../actor/task.ts';
import { pause } from '../actor/waiting.ts';
import type { Broker } from '../broker/connection.ts';
import { retryOf } from '../broker/delivery-messages.ts';
import { publishAll } from '../broker/publish.ts';
import { ensureDeliveries } from '../broker/topology.ts';
import { timeOrderedUuid } from '../domain/ids.ts';
import type { Database } from '../store/database.ts';
import { parkDeliveries, readDispatched } from '../store/deliveries.ts';
import { advanceRestoration, noteStream, readRestoration, type StreamIdentity } from '../store/stream-restorations.ts';

export interface RestorationDependencies {
  readonly broker: Broker;
  readonly database: Database;
  readonly onTrouble: (what: string, error: Error) => void;
}

export interface StreamRestoration {
  /** Resolves when the stream and its consumers are there; callers that come while one is at it share its end. */
  ensure(): Promise<void>;
  /** Resolves when the page under way is done. The next start goes on behind it. */
  stop(): Promise<void>;
}

const PAGE = 1_000;
/** Leaves most of PostgreSQL to what is new. */
const PAGE_PAUSE_MS = 50;

export function createStreamRestoration(dependencies: RestorationDependencies): StreamRestoration {
  const { broker, database, onTrouble } = dependencies;
  /** The newest: of a stream that it has replaced nothing is to be restored any more. */
  let stream: StreamIdentity | null = null;

  async function ensureOnce(): Promise<void> {
    const isNew = await ensureDeliveries(broker);
    const { deliveriesStream: name } = broker.names;
    const { created: createdAt } = await broker.manager.streams.info(name);
    const ensured = { name, createdAt };
    await noteStream(database, ensured, isNew);
    stream = ensured;
    restoring.ask();
  }

  async function restoreAll(stopping: AbortSignal): Promise<void> {
    const of = stream as StreamIdentity;
    const watch = troubleWatch('restore deliveries', onTrouble);
    while (!stopping.aborted) {
      const page = persist(() => restorePage(dependencies, of), watch, patienceUntil(stopping));
      if ((await page.catch(nullWhenGivenUp)) !== false) return;
      await pause(PAGE_PAUSE_MS, stopping);
    }
  }

  const work = { what: 'restore deliveries', work: restoreAll, onTrouble };
  const restoring = startTask({ ...work, everyMs: Number.POSITIVE_INFINITY });
  return { ensure: singleFlight(ensureOnce), stop: restoring.stop };
}

/**
 * Resolves with true at the end. Everything here may be done twice: a parked delivery is parked, and two messages for a
 * retry do no harm. One that is being sent gets its message for the end of its lease: the one it had is gone.
 */
async function restorePage({ broker, database }: RestorationDependencies, stream: StreamIdentity): Promise<boolean> {
  const after = await readRestoration(database, stream);
  if (after === null) return true;
  const page = await readDispatched(database, after, PAGE);
  const due = page.filter(({ dueInMs }) => dueInMs === 0);
  await parkDeliveries(
    database,
    due.map(({ id }) => id),
  );
  const now = new Date();
  await publishAll(
    broker,
    page
      .filter(({ dueInMs }) => dueInMs > 0)
      .map((delivery) => retryOf(broker, delivery, now.getTime() + delivery.dueInMs, `again-${timeOrderedUuid(now)}`)),
  );
  // A last page that is not full: what comes after it is recorded at this moment, and has its message.
  const isLast = page.length < PAGE;
  await advanceRestoration(database, stream, after, isLast ? null : (page.at(-1)?.id ?? null));
  return isLast;
}
