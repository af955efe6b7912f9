/**
 * Benchmarks of the courier. PostgreSQL (with fsync), nats-server, the receiver and the courier are processes of this
 * machine. The benchmarks measure:
 * - deliveries per second with everything recorded, also as a share of undici alone with the same receiver;
 * - how long deliveries to healthy endpoints take while a fifth of all endpoints hang with long queues;
 * - how much a recovery of many waiting deliveries delays new ones;
 * - the cost of many waiting retries;
 * - how long new deliveries take while one endpoint has `--waiting` retries, or resumes with `--resumed` deliveries;
 * - only with `--only day`: a day of two couriers, in which an hour takes `--hour` seconds and has `--deliveries`;
 * - only with `--only dead`: a day without dead endpoints, then a day on which a tenth of the endpoints are dead.
 *
 *   npm run bench:courier -- [--deliveries 10000] [--hanging 50000] [--recovered 10000] [--retries 200000] [--waiting
 *   1000000] [--resumed 100000] [--seconds 20] [--hour 10] [--only
 *   throughput|fairness|recovery|retries|waiting|resume|day|dead] [--snapshot] [--profile folder] [--external] [--json]
 *   npm run bench:courier -- --peer pg-boss --peer graphile-worker [--turns 2] [--deliveries 10000] [--snapshot --held
 *   180]
 *
 * `…CpuMicrosPerDelivery` are the CPU times of the courier and of PostgreSQL. `--profile` writes a CPU profile of the
 * courier in `throughput` to the folder. With `--snapshot` a transaction holds a snapshot, as `pg_dump` does, so that
 * no dead row can be removed. `--external` uses a distribution's PostgreSQL with its defaults. `--peer` installs
 * another job queue and compares the courier with it (`courier/peers.ts`).
 */

import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Agent, request } from 'undici';
import type { Broker } from '../src/engine/broker/connection.ts';
import { publishRetries } from '../src/engine/broker/retry-messages.ts';
import type { DueDelivery } from '../src/engine/domain/delivery.ts';
import { endpointKeyOf } from '../src/engine/domain/endpoint.ts';
import { timeOrderedUuid } from '../src/engine/domain/ids.ts';
import { createRecovery, readRecovery } from '../src/features/recoveries/recovery-rows.ts';
import {
  putInState,
  SEEDED_ATTEMPT_AT,
  seedDeliveries,
  seedWaitingRetries,
} from '../test/support/seeded-deliveries.ts';
import { until } from '../test/support/until.ts';
import { type Hour, liveDay } from './courier/day.ts';
import { benchDead, benchResume } from './courier/dead.ts';
import { freshLatencies, HEALTHY_ENDPOINTS, healthyUrls, percentile, WARM_UP_MS } from './courier/latencies.ts';
import { comparePeers } from './courier/peers.ts';
import { announce, closeScene, drain, end, figuresOf, openScene, type Scene, startStage } from './courier/scene.ts';
import { measureThroughput } from './courier/throughput.ts';
import { SMOKE, sized } from './smoke.ts';

const { values: options } = parseArgs({
  options: {
    ...SMOKE,
    deliveries: { type: 'string', default: sized('10000', '200') },
    hanging: { type: 'string', default: sized('50000', '100') },
    recovered: { type: 'string', default: sized('10000', '50') },
    retries: { type: 'string', default: sized('200000', '100') },
    waiting: { type: 'string', default: sized('1000000', '1000') },
    resumed: { type: 'string', default: sized('100000', '100') },
    only: { type: 'string', default: '' },
    profile: { type: 'string' },
    seconds: { type: 'string', default: sized('20', '1') },
    hour: { type: 'string', default: '10' },
    snapshot: { type: 'boolean', default: false },
    peer: { type: 'string', multiple: true, default: [] },
    turns: { type: 'string', default: sized('2', '1') },
    held: { type: 'string', default: sized('180', '1') },
    external: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});
const HANGING_ENDPOINTS = HEALTHY_ENDPOINTS / 4;
const UNDICI_CONCURRENCY = 64;
const HOUR_MS = 3_600_000;
const say = (line: string): void => (options.json ? console.error(line) : console.log(line));

async function undiciPerSecond(scene: Scene, count: number): Promise<number> {
  const { rows } = await scene.database.query(
    `select head || document || '}}' as body from delivery_states join snapshots on snapshots.id = snapshot_id limit 1`,
  );
  const agent = new Agent({ pipelining: 1, connections: UNDICI_CONCURRENCY });
  const urls = healthyUrls(scene, count).values();
  const sendAll = async (): Promise<void> => {
    for (const url of urls) {
      const headers = { 'content-type': 'application/json', 'webhook-id': 'undici' };
      const { body } = await request(url, { method: 'POST', body: rows[0].body, headers, dispatcher: agent });
      await body.dump();
    }
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: UNDICI_CONCURRENCY }, sendAll));
  const perSecond = (1_000 * count) / (performance.now() - startedAt);
  await agent.close();
  return perSecond;
}

/** Queues all deliveries before the courier starts, and ends when the last outcome is recorded. */
async function benchThroughput(scene: Scene) {
  const count = Number(options.deliveries);
  await seedDeliveries(scene.database, scene.search, healthyUrls(scene, count));
  const undiciBefore = await undiciPerSecond(scene, count);
  const startedAt = performance.now();
  const stage = await startStage(scene, { profile: options.profile });
  const upMs = performance.now() - startedAt;
  const { tookMs, perSecond, workerMicros, postgresMicros } = await measureThroughput(scene, stage, count);
  await (options.profile === undefined ? end(stage) : drain(stage));
  const undiciAfter = await undiciPerSecond(scene, count);
  const undici = (undiciBefore + undiciAfter) / 2;
  say(`${count} deliveries in ${Math.round(tookMs)} ms (courier up after ${Math.round(upMs)} ms)`);
  return {
    deliveriesPerSecond: Math.round(perSecond),
    undiciPerSecond: Math.round(undici),
    shareOfUndici: Number((perSecond / undici).toFixed(3)),
    daemonCpuMicrosPerDelivery: workerMicros,
    postgresCpuMicrosPerDelivery: postgresMicros,
  };
}

async function benchFairness(scene: Scene) {
  const seconds = Number(options.seconds);
  const forSeconds = async (elapsedMs: number) => elapsedMs > 1_000 * seconds;
  const stage = await startStage(scene);
  await freshLatencies(scene, async (elapsedMs) => elapsedMs > WARM_UP_MS);
  const baseline = await freshLatencies(scene, forSeconds);
  const hanging = Array.from(
    { length: Number(options.hanging) },
    (_, position) => `${scene.receiverUrl}/hang/${position % HANGING_ENDPOINTS}`,
  );
  const addresses = await seedDeliveries(scene.database, scene.search, hanging);
  // The queue of the hanging endpoints and the measurement begin together.
  announce(scene, addresses);
  const beside = await freshLatencies(scene, forSeconds);
  const afterwards = await freshLatencies(scene, forSeconds);
  const { rssMb } = await figuresOf(stage);
  await end(stage);
  await scene.database.query('truncate open_deliveries');
  const p99 = {
    baseline: percentile(baseline, 0.99),
    beside: percentile(afterwards, 0.99),
    during: percentile(beside, 0.99),
  };
  say(`healthy p99: ${p99.baseline} ms alone, ${p99.during} ms while the flood arrives, ${p99.beside} ms afterwards`);
  return {
    healthyP50BaselineMs: percentile(baseline, 0.5),
    healthyP50Ms: percentile(afterwards, 0.5),
    healthyP99BaselineMs: p99.baseline,
    healthyP99Ms: p99.beside,
    healthyP99DuringFloodMs: p99.during,
    healthyP99Ratio: Number((p99.beside / p99.baseline).toFixed(2)),
    healthyP99RatioDuringFlood: Number((p99.during / p99.baseline).toFixed(2)),
    memoryUnderFloodMb: Math.round(rssMb),
  };
}

/** Old and new deliveries belong to one client, the old ones to one endpoint. The recovery must not delay new ones. */
async function benchRecovery(scene: Scene) {
  const count = Number(options.recovered);
  if (count === 0) return {};
  const { database, search } = scene;
  const [url = ''] = healthyUrls(scene, 1);
  await database.query('update searches set endpoint_recipient = $2 where id = $1', [search.id, url]);
  const since = new Date(Date.now() - HOUR_MS);
  const addresses = await seedDeliveries(database, search, Array<string>(count).fill(url));
  const dueAt = Date.now() + HOUR_MS;
  await retryAt(scene, addresses, dueAt);
  const stage = await startStage(scene);
  await until(
    () => pendingRetries(scene.nats.broker),
    (pending) => pending === 0,
    300_000,
  );
  const seconds = Number(options.seconds);
  await freshLatencies(scene, async (elapsedMs) => elapsedMs > WARM_UP_MS);
  const baseline = await freshLatencies(scene, async (elapsedMs) => elapsedMs > 1_000 * seconds);
  const recovery = await createRecovery(database, {
    ...{ id: timeOrderedUuid(new Date()), clientId: search.clientId, searchNumber: null, endpoint: null },
    ...{ since, until: new Date(), includesDelivered: false },
  });
  const startedAt = performance.now();
  let tookMs = 0;
  const beside = await freshLatencies(scene, async (elapsedMs) => {
    const isOver = (await readRecovery(database, search.clientId, recovery.id))?.state === 'finished';
    tookMs = elapsedMs;
    return isOver;
  });
  await end(stage);
  const done = await readRecovery(database, search.clientId, recovery.id);
  // Attempts that the killed courier had not recorded would wait an hour for their next one.
  await database.query('truncate open_deliveries');
  say(`${done?.delivered} of ${done?.matched} brought forward and delivered in ${Math.round(tookMs)} ms`);
  const p99 = { alone: percentile(baseline, 0.99), beside: percentile(beside, 0.99) };
  return {
    recovered: done?.delivered,
    recoverySeconds: Number(((performance.now() - startedAt) / 1_000).toFixed(1)),
    recoveredPerSecond: Math.round((1_000 * (done?.delivered ?? 0)) / tookMs),
    freshP50BesideRecoveryMs: percentile(beside, 0.5),
    freshP99BaselineMs: p99.alone,
    freshP99BesideRecoveryMs: p99.beside,
    freshP99RatioBesideRecovery: Number((p99.beside / p99.alone).toFixed(2)),
  };
}

/** Leaves time for seeding and publishing, so that all retries become due at the same moment. */
function retriesDueInMs(count: number): number {
  return sized(30_000, 8_000) + count * 0.45;
}

async function benchRetries(scene: Scene) {
  const count = Number(options.retries);
  if (count === 0) return {};
  const idleMb = scene.nats.rssMb();
  const addresses = await seedDeliveries(scene.database, scene.search, healthyUrls(scene, count));
  const dueInMs = retriesDueInMs(count);
  const dueAt = Date.now() + dueInMs;
  await retryAt(scene, addresses, dueAt);
  let stage = await startStage(scene);
  await until(
    () => pendingRetries(scene.nats.broker),
    (pending) => pending === 0,
    300_000,
  );
  say(`${count} retries wait, ${Math.round((dueAt - Date.now()) / 1_000)} s before they are due`);
  const memory = { daemon: (await figuresOf(stage)).rssMb, nats: scene.nats.rssMb() };

  await drain(stage);
  const restartedAt = performance.now();
  await scene.nats.restart();
  const [fresh] = await seedDeliveries(scene.database, scene.search, healthyUrls(scene, 1));
  announce(scene, [fresh as DueDelivery]);
  stage = await startStage(scene);
  await until(async () => scene.receivedAt.has((fresh as DueDelivery).id), Boolean);
  const firstDeliveryMs = performance.now() - restartedAt;

  await wait(Math.max(0, dueAt - Date.now()));
  const dueSince = performance.now();
  let drainedMs = 0;
  const latencies = await freshLatencies(scene, async () => {
    const { rows } = await scene.database.query(`select exists (select from delivery_states
      where state in ('queued', 'sending', 'retry_wait') and attempt_count = 1) as left`);
    if (!rows[0].left) drainedMs = performance.now() - dueSince;
    return !rows[0].left;
  });
  await end(stage);
  return {
    waitingRetries: count,
    daemonMb: Math.round(memory.daemon),
    natsMb: Math.round(memory.nats),
    natsMbBefore: Math.round(idleMb),
    firstDeliveryAfterRestartMs: Math.round(firstDeliveryMs),
    drainSeconds: Number((drainedMs / 1_000).toFixed(1)),
    drainPerSecond: Math.round((1_000 * count) / drainedMs),
    freshP99WhileDrainingMs: percentile(latencies, 0.99),
    freshMaxWhileDrainingMs: Math.round(latencies.at(-1) as number),
  };
}

/** The waiting retries are all at one endpoint. */
async function benchWaiting(scene: Scene) {
  const count = Number(options.waiting);
  if (count === 0) return {};
  const { database, search } = scene;
  const forSeconds = async (elapsedMs: number) => elapsedMs > 1_000 * Number(options.seconds);
  const stage = await startStage(scene);
  await freshLatencies(scene, async (elapsedMs) => elapsedMs > WARM_UP_MS);
  const quiet = await freshLatencies(scene, forSeconds);
  await seedWaitingRetries(database, search, endpointKeyOf(search.clientId, `${scene.receiverUrl}/hang/0`), count, 1);
  const beside = await freshLatencies(scene, forSeconds);
  await end(stage);
  await database.query('truncate open_deliveries');
  const p99 = { quiet: percentile(quiet, 0.99), beside: percentile(beside, 0.99) };
  return {
    waitingAtOneEndpoint: count,
    healthyP50QuietMs: percentile(quiet, 0.5),
    healthyP50BesideWaitingMs: percentile(beside, 0.5),
    healthyP99QuietMs: p99.quiet,
    healthyP99BesideWaitingMs: p99.beside,
    healthyP99RatioBesideWaiting: Number((p99.beside / p99.quiet).toFixed(2)),
  };
}

/** A ratio compares the last three hours with the second to fourth hour. */
async function benchDay(scene: Scene) {
  const { hours, ...day } = await liveDay(scene, Number(options.deliveries), 1_000 * Number(options.hour));
  for (const [position, hour] of hours.entries()) say(`hour ${position + 1}: ${JSON.stringify(hour)}`);
  const meanOf = (some: readonly Hour[], of: 'perSecond' | 'postgresCpuMicros'): number =>
    some.reduce((sum, hour) => sum + hour[of], 0) / some.length;
  const ratio = (of: 'perSecond' | 'postgresCpuMicros'): number =>
    Number((meanOf(hours.slice(-3), of) / meanOf(hours.slice(1, 4), of)).toFixed(2));
  return { ...day, perSecondRatio: ratio('perSecond'), postgresCpuRatio: ratio('postgresCpuMicros'), ...hours.at(-1) };
}

/** Puts the deliveries into the state after a first attempt that failed. */
async function retryAt({ database, nats }: Scene, due: readonly DueDelivery[], dueAtMs: number): Promise<void> {
  for (let start = 0; start < due.length; start += 10_000) {
    const page = due.slice(start, start + 10_000);
    await putInState(
      database,
      page.map(({ id }) => id),
      'retry_wait',
      1,
      new Date(dueAtMs),
    );
    await publishRetries(
      nats.broker,
      page.map((one) => ({ ...one, attemptCount: 1, startedAt: SEEDED_ATTEMPT_AT, dueAtMs })),
    );
  }
}

/** Number of messages that no consumer has handed out yet. */
async function pendingRetries(broker: Broker): Promise<number> {
  let pending = 0;
  for await (const consumer of broker.manager.consumers.list('RETRIES')) pending += consumer.num_pending;
  return pending;
}

/** Returns a function that ends the transaction. */
async function holdSnapshot({ database }: Scene): Promise<() => void> {
  const client = await database.connect();
  await client.query('begin isolation level repeatable read');
  await client.query('set local idle_in_transaction_session_timeout = 0');
  await client.query('select pg_current_snapshot()');
  return () => client.release(true);
}

async function benchCourier(): Promise<Record<string, number | undefined>> {
  // An hour lasts some seconds here, so the usual minute between two vacuums would be hours. While a snapshot is held,
  // a vacuum cannot remove anything.
  const vacuums = options.only === 'day' && !options.snapshot;
  const scene = await openScene(options.external, vacuums ? { autovacuum_naptime: '1s' } : {});
  const letGo = options.snapshot ? await holdSnapshot(scene) : () => undefined;
  const figures: Record<string, number | undefined> = {};
  try {
    const benches = {
      throughput: benchThroughput,
      fairness: benchFairness,
      recovery: benchRecovery,
      retries: benchRetries,
      waiting: benchWaiting,
      resume: () => benchResume(scene, Number(options.resumed), Number(options.seconds)),
      ...(options.only === 'day' ? { day: benchDay } : {}),
      ...(options.only === 'dead' ? { dead: () => benchDead(scene, 1_000 * Number(options.hour)) } : {}),
    };
    for (const [name, bench] of Object.entries(benches)) {
      if (options.only !== '' && options.only !== name) continue;
      say(`${name} ...`);
      Object.assign(figures, await bench(scene));
    }
  } finally {
    letGo();
    await closeScene();
  }
  return figures;
}

const figures =
  options.peer.length === 0
    ? await benchCourier()
    : await comparePeers({
        ...{ peers: options.peer, deliveries: Number(options.deliveries), turns: Number(options.turns) },
        ...{ heldSeconds: options.snapshot ? Number(options.held) : 0, holdSnapshot, say },
      });
for (const [name, value] of Object.entries(figures)) say(`${name.padEnd(40)} ${value}`);
if (options.json) console.log(JSON.stringify(figures));
