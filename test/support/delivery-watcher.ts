/** Records when each delivery could first be read as delivered. No attempt may begin later. */

import type { Database } from '../../src/engine/store/database.ts';
import type { Cleanup } from './servers.ts';

export interface Watcher {
  /** By delivery, milliseconds since the epoch, read after the query, so that no attempt may start later. */
  readonly seenDelivered: ReadonlyMap<string, number>;
  /** Forgets observations after `time` (milliseconds since the epoch), because the rows were restored to that time. */
  forgetSince(time: number): Promise<void>;
}

const WATCH_EVERY_MS = 250;

export function watchDeliveries(cleanup: Cleanup, database: Pick<Database, 'query'>): Watcher {
  const seen = new Map<string, number>();
  let looking: Promise<void> = Promise.resolve();
  async function look(): Promise<void> {
    const { rows } = await database.query<{ id: string }>(
      'select delivery_id as id from attempts where status_code = 200',
    );
    const now = performance.timeOrigin + performance.now();
    for (const { id } of rows) if (!seen.has(id)) seen.set(id, now);
  }
  const timer = setInterval(() => {
    // PostgreSQL may be unavailable.
    looking = looking.then(look).catch(() => undefined);
  }, WATCH_EVERY_MS);
  cleanup.after(async () => {
    clearInterval(timer);
    await looking;
  });
  return {
    seenDelivered: seen,
    async forgetSince(time) {
      await looking;
      for (const [id, seenAt] of seen) if (seenAt > time) seen.delete(id);
    },
  };
}
