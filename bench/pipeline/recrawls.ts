/** Measures the cost per message when most messages are re-crawls without changes. */

import type { Database } from '../../src/engine/store/database.ts';
import type { SampleCrawler } from '../adverts/sample-adverts.ts';
import { type Consumer, consumedPerOne, consumptionOf } from './consumption.ts';
import type { Daemon } from './daemon.ts';

interface Rows {
  readonly inserted: number;
  readonly updated: number;
  readonly hot: number;
}

export interface Recrawling extends Consumer {
  readonly crawler: SampleCrawler;
  readonly daemon: Daemon;
}

interface Publishing {
  /** Publishes messages, and waits while too many are not recorded. */
  publish(next: SampleCrawler['next']): Promise<void>;
  untilDelivered(): Promise<void>;
}

const SAMPLE_EVERY_MS = 50;

/**
 * Publishes as fast as the daemon records. `share`: the share of re-crawls without changes; 0 skips the measurement.
 */
export async function measureRecrawls(run: Recrawling, share: number, forSeconds: number, publishing: Publishing) {
  const { crawler, daemon, database } = run;
  if (share === 0) return {};
  let published = 0;
  const next = () => {
    published += 1;
    const isUnchanged = Math.floor(published * share) > Math.floor((published - 1) * share);
    return isUnchanged ? crawler.change('none') : crawler.next();
  };
  const before = { consumed: await consumptionOf(run), counts: await daemon.counts(), rows: await readRows(database) };
  const waits = startLockWatch(database);
  const startedAt = performance.now();
  const elapsed = (): number => (performance.now() - startedAt) / 1_000;
  while (elapsed() < forSeconds) await publishing.publish(next);
  await publishing.untilDelivered();
  const seconds = elapsed();
  const lockWaitShare = waits.stop();
  const counts = await daemon.counts();
  const recorded = counts.recorded - before.counts.recorded;
  const rows = await readRows(database);
  const updated = rows.updated - before.rows.updated;
  return {
    recrawls: {
      perSecond: Math.round(recorded / seconds),
      changedShare: rounded((counts.changed - before.counts.changed) / recorded),
      ...consumedPerOne(before.consumed, await consumptionOf(run), recorded),
      rowsInserted: rounded((rows.inserted - before.rows.inserted) / recorded),
      rowsUpdated: rounded(updated / recorded),
      hotShare: rounded((rows.hot - before.rows.hot) / Math.max(1, updated)),
      lockWaitShare,
    },
  };
}

/** `stop` returns the share of active PostgreSQL sessions that waited for a lock. */
function startLockWatch(database: Database): { stop(): number } {
  let [working, waiting] = [0, 0];
  const sampling = setInterval(() => {
    void readSessions(database).then((sessions) => {
      working += sessions.working;
      waiting += sessions.waiting;
    });
  }, SAMPLE_EVERY_MS);
  return {
    stop() {
      clearInterval(sampling);
      return rounded(waiting / Math.max(1, working));
    },
  };
}

async function readRows(database: Database): Promise<Rows> {
  const { rows } = await database.query<Rows>(`
    select sum(n_tup_ins)::float8 as inserted, sum(n_tup_upd)::float8 as updated, sum(n_tup_hot_upd)::float8 as hot
    from pg_stat_user_tables`);
  return rows[0] as Rows;
}

async function readSessions(database: Database): Promise<{ readonly working: number; readonly waiting: number }> {
  const { rows } = await database.query<{ working: number; waiting: number }>(`
    select count(*)::integer as working, (count(*) filter (where wait_event_type = 'Lock'))::integer as waiting
    from pg_stat_activity where state <> 'idle' and datname = current_database() and pid <> pg_backend_pid()`);
  return rows[0] as { working: number; waiting: number };
}

function rounded(value: number): number {
  return Number(value.toFixed(3));
}
