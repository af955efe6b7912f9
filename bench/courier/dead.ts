/**
 * Dead endpoints. In a day of two couriers a tenth of the endpoints fail, half of them without an answer. Couriers
 * pause them at noon (decisions, section 6), and the client resumes them in the evening. The reference is the same day
 * with all endpoints healthy. A second benchmark resumes an endpoint with many waiting deliveries.
 */

import type { ChildProcess } from 'node:child_process';
import { endpointKeyOf } from '../../src/engine/domain/endpoint.ts';
import { pauseOwnEndpoint, resumeEndpoint } from '../../src/engine/store/endpoints.ts';
import { seedDeliveries } from '../../test/support/seeded-deliveries.ts';
import { RECOVERY_MAX_MS, until } from '../../test/support/until.ts';
import { freshLatencies, HEALTHY_ENDPOINTS, percentile, WARM_UP_MS } from './latencies.ts';
import { announce, end, type Scene, startStage } from './scene.ts';

const HOURS = 24;
const NOON = 12;
const EVENING = 20;
/** A tenth of all endpoints; the other nine tenths are the healthy ones. */
const DEAD_ENDPOINTS = Math.floor(HEALTHY_ENDPOINTS / 9);
/** Deliveries for each dead endpoint in an hour. */
const DEAD_PER_HOUR = 5;
/** Logged times are rounded to the millisecond. */
const ROUNDED_MS = 2;

/** Runs both days on one database, one after the other, with hours of the same length. */
export async function benchDead(scene: Scene, hourMs: number) {
  const stages = [await startStage(scene, { retryDelayMs: hourMs }), await startStage(scene, { retryDelayMs: hourMs })];
  await freshLatencies(scene, async (elapsedMs) => elapsedMs > hourMs);
  const well = await liveDay(scene, hourMs, false);
  const dead = await liveDay(scene, hourMs, true);
  await Promise.all(stages.map(end));
  const p99 = { well: percentile(well.latencies, 0.99), dead: percentile(dead.latencies, 0.99) };
  return {
    endpoints: HEALTHY_ENDPOINTS + DEAD_ENDPOINTS,
    deadEndpoints: DEAD_ENDPOINTS,
    pausedAtNoon: dead.paused,
    deliveriesToDead: dead.count,
    attemptsBegunWhilePaused: dead.begun,
    lost: well.lost + dead.lost,
    early: dead.early,
    doubled: dead.doubled,
    failedAfterSixAttempts: dead.failed,
    healthyP50WithoutDeadMs: percentile(well.latencies, 0.5),
    healthyP50BesideDeadMs: percentile(dead.latencies, 0.5),
    healthyP99WithoutDeadMs: p99.well,
    healthyP99BesideDeadMs: p99.dead,
    healthyP99RatioBesideDead: Number((p99.dead / p99.well).toFixed(2)),
  };
}

async function liveDay(scene: Scene, hourMs: number, isDead: boolean) {
  const { database, search, receiverUrl, successes } = scene;
  const urls = Array.from({ length: DEAD_ENDPOINTS }, (_, position) =>
    [receiverUrl, isDead ? 'dead' : 'well', position % 2 === 0 ? 'silent' : 'failing', position].join('/'),
  );
  const keys = urls.map((url) => endpointKeyOf(search.clientId, url));
  const latencies: number[] = [];
  const ids: string[] = [];
  let paused = 0;
  let [pausedAt, resumedAt] = [new Date(), new Date()];
  for (let hour = 1; hour <= HOURS; hour++) {
    const due = await seedDeliveries(database, search, Array<string[]>(DEAD_PER_HOUR).fill(urls).flat());
    ids.push(...due.map(({ id }) => id));
    announce(scene, due);
    if (isDead && hour === NOON) {
      paused = await pauseByRule(scene, keys);
      pausedAt = new Date();
    }
    if (isDead && hour === EVENING) {
      resumedAt = new Date();
      scene.revive();
      for (const key of keys) await resumeEndpoint(database, key, 'client');
    }
    latencies.push(...(await freshLatencies(scene, async (elapsedMs) => elapsedMs > hourMs)));
  }
  await until(
    async () => (await database.query('select from open_deliveries limit 1')).rowCount,
    (open) => open === 0,
    RECOVERY_MAX_MS,
  );
  const { rows } = await database.query<{ early: number; begun: number; failed: string[] }>(
    `select (select count(*)::integer from attempts join deliveries on id = delivery_id
        where endpoint_key = any($1) and started_at > $3 and started_at < $4) as begun,
       array(select delivery_id from final_outcomes where endpoint_key = any($1) and state = 'failed') as failed,
       (select count(*)::integer from (
          select started_at - lag(started_at + duration_ms * interval '1 millisecond')
            over (partition by delivery_id order by number) as gap
          from attempts join deliveries on id = delivery_id where endpoint_key = any($1)) as gaps
        where gap < $2 * interval '1 millisecond') as early`,
    [keys, hourMs - ROUNDED_MS, pausedAt, resumedAt],
  );
  const [{ early, begun, failed }] = rows as [(typeof rows)[number]];
  const ended = new Set(failed);
  return {
    latencies: latencies.toSorted((a, b) => a - b),
    ...{ count: ids.length, paused, begun, early, failed: failed.length },
    lost: ids.filter((id) => !ended.has(id) && !successes.has(id)).length,
    doubled: ids.filter((id) => (successes.get(id) ?? 0) > 1).length,
  };
}

/** Extends each series by four days, and to at least twenty failures. Resolves with the number of paused endpoints. */
async function pauseByRule({ database }: Scene, keys: readonly string[]): Promise<number> {
  const { rows } = await until(
    async () => {
      await database.query(
        `update endpoints set failing_since = failing_since - interval '4 days', failure_streak = greatest(failure_streak, 20)
         where key = any($1) and failure_streak > 0 and failures_paused_at is null`,
        [keys],
      );
      return database.query('select key from endpoints where key = any($1) and paused_at is not null', [keys]);
    },
    ({ rowCount }) => rowCount === keys.length,
    RECOVERY_MAX_MS,
  );
  return rows.length;
}

/** Resumes one endpoint, which answers immediately, with `count` waiting deliveries. */
export async function benchResume(scene: Scene, count: number, seconds: number) {
  if (count === 0) return {};
  const { database, search, successes } = scene;
  const url = `${scene.receiverUrl}/well/resumed`;
  const key = endpointKeyOf(search.clientId, url);
  await pauseOwnEndpoint(database, key, url);
  const waiting = await seedDeliveries(database, search, Array<string>(count).fill(url));
  await database.query('analyze open_deliveries');
  const stages: readonly ChildProcess[] = [await startStage(scene), await startStage(scene)];
  await freshLatencies(scene, async (elapsedMs) => elapsedMs > WARM_UP_MS);
  const quiet = await freshLatencies(scene, async (elapsedMs) => elapsedMs > 1_000 * seconds);
  await resumeEndpoint(database, key, 'client');
  const resumedAt = performance.now();
  const left = (): boolean => waiting.some(({ id }) => !successes.has(id));
  let tookMs = 0;
  const beside = await freshLatencies(scene, async () => {
    tookMs = performance.now() - resumedAt;
    return !left();
  });
  await Promise.all(stages.map(end));
  const p99 = { quiet: percentile(quiet, 0.99), beside: percentile(beside, 0.99) };
  return {
    resumedDeliveries: count,
    resumedDoubled: waiting.filter(({ id }) => (successes.get(id) ?? 0) > 1).length,
    resumedPerSecond: Math.round((1_000 * count) / tookMs),
    healthyP50QuietBeforeResumingMs: percentile(quiet, 0.5),
    healthyP50WhileResumingMs: percentile(beside, 0.5),
    healthyP99QuietBeforeResumingMs: p99.quiet,
    healthyP99WhileResumingMs: p99.beside,
    healthyP99RatioWhileResuming: Number((p99.beside / p99.quiet).toFixed(2)),
  };
}
