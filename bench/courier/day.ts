/**
 * A day of two couriers on one database, in which an hour lasts some seconds. Each hour has first attempts, the retries
 * of the previous hour, a search that is silenced during its deliveries, and deliveries that their client resends. The
 * 24th hour should cost as much as the second.
 */

import type { ChildProcess } from 'node:child_process';
import { setTimeout as wait } from 'node:timers/promises';
import type { DueDelivery } from '../../src/engine/domain/delivery.ts';
import type { Uuid } from '../../src/engine/domain/ids.ts';
import { SILENCE } from '../../src/engine/store/cancellations.ts';
import { resendDelivery } from '../../src/engine/store/resends.ts';
import { seedDeliveries, seedSearch } from '../../test/support/seeded-deliveries.ts';
import { RECOVERY_MAX_MS, until } from '../../test/support/until.ts';
import { usageOf } from '../pipeline/processes.ts';
import { announce, figuresOf, type Scene, startStage } from './scene.ts';

const HOURS = 24;
const ENDPOINTS = 160;
/** Numbers per thousand deliveries: the first attempt fails; every attempt fails; the search is silenced. */
const FLAKY = 120;
const DOWN = 10;
const SILENCED = 50;
const RESENT_PER_HOUR = 100;
/**
 * The rate is measured until this share is attempted, because the last attempts are retries that become due one by one.
 */
const MOST = 0.8;

export interface Hour {
  readonly attempts: number;
  /** Attempts per second, from the recording of the hour's deliveries until most of them are attempted. */
  readonly perSecond: number;
  /** PostgreSQL's CPU per attempt, with recording, claims, outcomes, retries, cancellations, resends and vacuum. */
  readonly postgresCpuMicros: number;
  /** HOT updates in percent of the attempts: only claims are HOT. PostgreSQL counts some of them in the next hour. */
  readonly hotShare: number;
  readonly tablePages: number;
  readonly indexPages: number;
  readonly deadRows: number;
}

interface Day {
  readonly hours: readonly Hour[];
  readonly deliveries: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly resent: number;
  readonly lost: number;
  readonly doubled: number;
}

/** Runs the day with `perHour` deliveries in each hour. */
export async function liveDay(scene: Scene, perHour: number, hourMs: number): Promise<Day> {
  const stages = [await startStage(scene, { retryDelayMs: hourMs }), await startStage(scene, { retryDelayMs: hourMs })];
  const recorded = new Map<Uuid, string>();
  const resent = new Map<Uuid, number>();
  const hours: Hour[] = [];
  await scene.database.query('update searches set endpoint_recipient = $1', [`${scene.receiverUrl}/ok/0`]);
  const startedAt = performance.now();
  for (let hour = 1; hour <= HOURS; hour++) {
    const before = await countersOf(scene, stages);
    const beganAt = performance.now();
    await record(scene, perHour, recorded);
    const attempted = await until(
      async () => (await attemptsOf(stages)) - before.attempts,
      (count) => count >= MOST * perHour,
      RECOVERY_MAX_MS,
    );
    const perSecond = Math.round((1_000 * attempted) / (performance.now() - beganAt));
    await resendSome(scene, recorded, resent);
    await wait(Math.max(0, startedAt + hour * hourMs - performance.now()));
    const after = await countersOf(scene, stages);
    const made = after.attempts - before.attempts;
    hours.push({
      attempts: made,
      perSecond,
      postgresCpuMicros: Math.round((1e6 * (after.cpuSeconds - before.cpuSeconds)) / made),
      hotShare: Math.round((100 * (after.hotUpdates - before.hotUpdates)) / made),
      ...(await sizeOf(scene)),
    });
  }
  await until(
    async () => (await scene.database.query('select from open_deliveries limit 1')).rowCount,
    (open) => open === 0,
    RECOVERY_MAX_MS,
  );
  return { hours, resent: resent.size, ...(await verdictOf(scene, recorded, resent)) };
}

/**
 * Records and announces `count` deliveries. A twentieth of them belong to a search that is silenced immediately.
 */
async function record(scene: Scene, count: number, recorded: Map<Uuid, string>): Promise<void> {
  const { database, receiverUrl } = scene;
  const urls = Array.from({ length: count }, (_, position) => {
    const draw = (position * 617) % 1_000;
    const kind = draw < FLAKY ? 'flaky' : draw < FLAKY + DOWN ? 'down' : 'ok';
    return `${receiverUrl}/${kind}/${position % ENDPOINTS}`;
  });
  const note = (addresses: readonly DueDelivery[], to: (position: number) => string): void => {
    for (const [position, { id }] of addresses.entries()) recorded.set(id, to(position));
    announce(scene, addresses);
  };
  const share = Math.round((count * SILENCED) / 1_000);
  note(await seedDeliveries(database, scene.search, urls.slice(share)), (position) => urls[share + position] as string);
  const silenced = await seedSearch(database);
  note(await seedDeliveries(database, silenced, urls.slice(0, share)), () => 'silenced');
  await database.query(`update searches set ${SILENCE} where id = $1`, [silenced.id]);
}

/** Resends failed deliveries, and some that were delivered. */
async function resendSome(
  { database, nats, search }: Scene,
  recorded: ReadonlyMap<Uuid, string>,
  resent: Map<Uuid, number>,
): Promise<void> {
  const { rows: failed } = await database.query<{ id: Uuid }>(
    `select delivery_id as id from final_outcomes where state = 'failed' order by endpoint_key, delivery_id limit $1`,
    [RESENT_PER_HOUR / 2],
  );
  const delivered = [...recorded].filter(([, to]) => to.includes('/ok/')).slice(-RESENT_PER_HOUR / 2);
  for (const id of [...failed.map((row) => row.id), ...delivered.map(([own]) => own)]) {
    const outcome = await resendDelivery(database, search.clientId, id);
    if (outcome?.type !== 'sent') continue;
    resent.set(id, (resent.get(id) ?? 0) + 1);
    announce({ nats }, outcome.due);
  }
}

async function attemptsOf(stages: readonly ChildProcess[]): Promise<number> {
  const figures = await Promise.all(stages.map(figuresOf));
  return figures.reduce((sum, { attempts }) => sum + attempts, 0);
}

async function countersOf({ database, postgresPid }: Scene, stages: readonly ChildProcess[]) {
  const { rows } = await database.query<{ hot: number }>(
    `select n_tup_hot_upd::float8 as hot from pg_stat_user_tables where relname = 'open_deliveries'`,
  );
  const { cpuSeconds } = usageOf(postgresPid);
  return { attempts: await attemptsOf(stages), cpuSeconds, hotUpdates: rows[0]?.hot ?? 0 };
}

async function sizeOf({ database }: Scene): Promise<Pick<Hour, 'tablePages' | 'indexPages' | 'deadRows'>> {
  const { rows } = await database.query(
    `select pg_relation_size(relid)::integer / 8192 as "tablePages", pg_indexes_size(relid)::integer / 8192 as "indexPages",
       n_dead_tup::integer as "deadRows"
     from pg_stat_user_tables where relname = 'open_deliveries'`,
  );
  return rows[0];
}

/** Compares what the receiver saw with what was recorded. */
async function verdictOf(
  { database, successes }: Scene,
  recorded: ReadonlyMap<Uuid, string>,
  resent: ReadonlyMap<Uuid, number>,
): Promise<Omit<Day, 'hours' | 'resent'>> {
  const { rows } = await database.query<{ failed: number; cancelled: number }>(
    `select count(*) filter (where state = 'failed')::integer as failed,
       count(*) filter (where state = 'cancelled')::integer as cancelled from final_outcomes`,
  );
  let lost = 0;
  let doubled = 0;
  for (const [id, to] of recorded) {
    const count = successes.get(id) ?? 0;
    const mayFail = to === 'silenced' || to.includes('/down/');
    if (count === 0 && (!mayFail || resent.has(id))) lost += 1;
    if (count > 1 + (resent.get(id) ?? 0)) doubled += 1;
  }
  return { deliveries: recorded.size, ...(rows[0] as { failed: number; cancelled: number }), lost, doubled };
}
