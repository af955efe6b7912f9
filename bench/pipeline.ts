/**
 * The whole journey under load: crawlers publish to NATS, a daemon in its own process matches, records and delivers,
 * and a receiver audits. The first measurement is at full speed for `--seconds`, the second at a steady rate, for the
 * latency from publication to webhook. The third is the same while a crawler floods one property with adverts of 50 kB,
 * beyond its limits. The last measures the raw limits of the parts. The servers are embedded, and durable as in
 * production.
 *
 *   npm run bench:pipeline -- [--searches 10000] [--seconds 60] [--rate 100] [--rate-seconds 30, 0 for none]
 *   [--flood-rate 100] [--notifying 0.05] [--endpoints 50] [--seed 1] [--json] [--crowd 0] [--silent 0] [--backlog
 *   4000] [--unchanged 0] [--rich 0] [--profile folder] [--external] [--apart]
 *
 * Options:
 * - `--silent`: searches of one client without criteria and notifications, to show their cost for all others;
 * - `--crowd`: searches of 20 clients that all match one advert, which is published as a further measurement begins;
 * - `--unchanged`: share of re-crawls without changes during a further measurement, `recrawls`;
 * - `--profile`: folder for the daemon's CPU profile; `--external`: uses a distribution's PostgreSQL with its defaults;
 * - `--apart`: intake leader and courier are separate processes, and the courier waits until everything is recorded.
 *
 * Figures:
 * - `changesPerSecond`: messages that changed something; `matchesPerSecond`: matches that began;
 * - `matchesPerChange`: rows of matches that a change wrote; `rowsPerChange`: rows by table (share of HOT updates);
 * - `besideFloodMs`, `besideCrowdMs`: latencies of other deliveries; `refused`: dead letters, all beyond the limits;
 * - `fsyncMs`: time until a bare write is durable, measured during `latencyMs`, which includes two such writes;
 * - `kibPerChange`: growth of tables, WAL and `ADVERTS` by a change and its deliveries; `bytesPerChange`: by relation;
 * - `cpuMicrosPerChange`: CPU until everything is delivered;
 * - `perChange`, `perDelivery` (`--apart`): cost of recording a change, and of sending a delivery, by process.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { announceChange } from '../src/engine/broker/announcements.ts';
import { type Broker, connectBroker } from '../src/engine/broker/connection.ts';
import { type Publication, publishAll } from '../src/engine/broker/publish.ts';
import { ensureAdvertsStream } from '../src/engine/broker/topology.ts';
import { loadReference } from '../src/engine/reference/communes.ts';
import { pauseControl, resumeControl } from '../src/engine/store/controls.ts';
import { type Database, migrate, openDatabase } from '../src/engine/store/database.ts';
import { ALL_DEAD_LETTERS, countDeadLetters } from '../src/engine/store/dead-letter-reads.ts';
import { cacheDirectory } from '../src/local/data-directory.ts';
import { startNatsServer } from '../src/local/nats-server.ts';
import { startPostgres } from '../src/local/postgres.ts';
import { startExternalPostgres } from '../test/support/external-postgres.ts';
import { createSampleCrawler, type SampleCrawler } from './adverts/sample-adverts.ts';
import { type Consumption, consumedPerOne, consumptionOf, cpuSecondsBetween } from './pipeline/consumption.ts';
import { crowdPublication, insertCrowd } from './pipeline/crowd.ts';
import { batchQuantiles, type Daemon, startDaemon, startRolesApart } from './pipeline/daemon.ts';
import { startDiskProbe } from './pipeline/disk-probe.ts';
import { usageOf } from './pipeline/processes.ts';
import { floodPublication, publicationOf } from './pipeline/publications.ts';
import { bulkInsertRate, postRate, publishRate } from './pipeline/raw-limits.ts';
import { CROWD_PATH, type Receiver, startReceiver } from './pipeline/receiver.ts';
import { measureRecrawls } from './pipeline/recrawls.ts';
import { insertSavedSearches, insertSilentSearches } from './pipeline/saved-searches.ts';
import { costliestStatements, matchesWritten, STATEMENT_STATISTICS, startCounting } from './pipeline/statements.ts';
import { bytesByRelation, growth, rowsWritten } from './pipeline/storage.ts';
import { SMOKE, sized } from './smoke.ts';

const { values } = parseArgs({
  options: {
    ...SMOKE,
    searches: { type: 'string', default: sized('10000', '500') },
    seconds: { type: 'string', default: sized('60', '2') },
    rate: { type: 'string', default: '100' },
    'flood-rate': { type: 'string', default: '100' },
    'rate-seconds': { type: 'string', default: sized('30', '1') },
    notifying: { type: 'string', default: '0.05' },
    endpoints: { type: 'string', default: '50' },
    seed: { type: 'string', default: '1' },
    crowd: { type: 'string', default: '0' },
    silent: { type: 'string', default: '0' },
    backlog: { type: 'string', default: '4000' },
    unchanged: { type: 'string', default: sized('0', '0.95') },
    rich: { type: 'string', default: '0' },
    profile: { type: 'string' },
    external: { type: 'boolean', default: false },
    apart: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});
const options = {
  searches: Number(values.searches),
  seconds: Number(values.seconds),
  rate: Number(values.rate),
  floodRate: Number(values['flood-rate']),
  rateSeconds: Number(values['rate-seconds']),
  notifying: Number(values.notifying),
  endpoints: Number(values.endpoints),
  seed: Number(values.seed),
  crowd: Number(values.crowd),
  silent: Number(values.silent),
  /**
   * Maximum number of messages that are published but not recorded. With more, only the disk of nats-server would be
   * measured.
   */
  backlogMax: Number(values.backlog),
};

const PUBLISH_BATCH = 500;
const RECORD_BATCH = 256;
const PROFILING = values.profile !== undefined;
const say = (line: string): boolean => process.stderr.write(`${line}\n`);

interface Run {
  readonly database: Database;
  readonly broker: Broker;
  readonly receiver: Receiver;
  readonly crawler: SampleCrawler;
  readonly published: { count: number };
  readonly daemon: Daemon;
  readonly folder: string;
  readonly processes: Readonly<Record<string, number>>;
}

async function main(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'vigie-bench-'));
  const cacheDir = cacheDirectory();
  const serverBin = process.env.NATS_SERVER_BIN ?? null;
  const settings = PROFILING ? STATEMENT_STATISTICS : {};
  let removePostgres = (): Promise<void> => Promise.resolve();
  const cleanup = { after: (work: () => Promise<void>) => void (removePostgres = work) };
  const [postgres, nats] = await Promise.all([
    values.external
      ? startExternalPostgres(cleanup, settings, true)
      : startPostgres({ dataDir: folder, cacheDir, settings }),
    startNatsServer({ dataDir: folder, cacheDir, serverBin }),
  ]);
  const receiver = await startReceiver();
  await migrate(postgres.url);
  const database = openDatabase({ url: postgres.url, connectionsMax: 4, onConnectionLost: () => undefined });
  const broker = await connectBroker({ url: nats.url, name: 'bench', onStatus: () => undefined });
  await ensureAdvertsStream(broker);
  const endpoints = Array.from({ length: options.endpoints }, (_, position) => `${receiver.url}/${position}`);
  say(`${options.searches} searches, ${options.notifying * 100} % notifying, on ${options.endpoints} endpoints`);
  await insertSavedSearches(database, {
    count: options.searches,
    seed: options.seed,
    notifyingShare: options.notifying,
    endpoints,
    richShare: Number(values.rich),
  });
  await insertSilentSearches(database, options.silent);
  if (values.apart) await pauseControl(database, 'deliver', 'only changes are measured');
  const daemon = await (values.apart ? startRolesApart : startDaemon)({
    databaseUrl: postgres.url,
    natsUrl: nats.url,
    profile: values.profile,
    onLine: say,
  });
  const ready = { seconds: round(daemon.readySeconds, 1), daemonMb: residentMbOf(daemon) };
  try {
    const reference = await loadReference();
    const startAt = new Date(Date.now() - 86_400_000);
    const crawler = createSampleCrawler({ seed: options.seed, reference, startAt, intervalMs: 1 });
    const processes = { ...daemon.pids, postgres: postgres.pid ?? 0, nats: nats.pid, bench: process.pid };
    const run = { database, broker, receiver, crawler, published: { count: 0 }, daemon, folder, processes };
    if (PROFILING) await startCounting(postgres.superuserUrl);
    const throughput = await measureThroughput(run);
    const latencies = await measureLatencies(run);
    if (PROFILING) for (const line of await costliestStatements(database)) say(line);
    const counts = await run.daemon.counts();
    const refused = await countDeadLetters(database, ALL_DEAD_LETTERS);
    const lost = run.published.count - counts.recorded - refused + (await notReceived(run));
    const raw = await measureRaw(run, counts.recorded);
    report({
      ...throughput,
      matchesPerChange: round((await matchesWritten(database)) / counts.changed, 2),
      ready,
      ...latencies,
      refused,
      lost,
      duplicates: receiver.duplicates,
      ...raw,
      shareOfBulkInsert: round(throughput.recordedPerSecond / raw.bulkInsertPerSecond, 2),
    });
  } finally {
    await daemon.stop();
    await broker.close();
    await database.end();
    await receiver.close();
    await Promise.all([postgres.stop(), nats.stop()]);
    await removePostgres();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Publishes at full speed for the given time, and measures until all messages are recorded and deliveries made. */
async function measureThroughput(run: Run) {
  const before = {
    consumed: await consumptionOf(run),
    counts: await run.daemon.counts(),
    relations: await bytesByRelation(run.database),
  };
  const startedAt = performance.now();
  const elapsed = (): number => (performance.now() - startedAt) / 1_000;
  let peakMb = 0;
  let sampledAt = 0;
  let shownAt = 0;
  while (elapsed() < options.seconds) {
    await publishOn(run);
    if (elapsed() - sampledAt < 1) continue;
    sampledAt = elapsed();
    peakMb = Math.max(peakMb, residentMbOf(run.daemon));
    if (elapsed() - shownAt < 10) continue;
    shownAt = elapsed();
    const { recorded, delivered, deliveries } = await run.daemon.counts();
    say(
      `${Math.round(shownAt)} s: ${Math.round(recorded / shownAt)} changes/s, ${deliveries - delivered} deliveries open`,
    );
  }
  await untilRecorded(run);
  const seconds = elapsed();
  const counts = await run.daemon.counts();
  const recorded = counts.recorded - before.counts.recorded;
  const changed = counts.changed - before.counts.changed;
  const begun = counts.begun - before.counts.begun;
  const consumedRecording = await consumptionOf(run);
  const sendingFrom = values.apart ? elapsed() : 0;
  if (values.apart) await resumeDelivery(run);
  await untilDelivered(run);
  const consumed = await consumptionOf(run);
  const deliverySeconds = elapsed() - sendingFrom;
  const { deliveries } = await run.daemon.counts();
  const sent = deliveries - before.counts.deliveries;
  return {
    seconds: round(seconds, 1),
    recorded,
    recordedPerSecond: round(recorded / seconds, 0),
    changesPerSecond: round(changed / seconds, 0),
    matchesPerSecond: round(begun / seconds, 0),
    begunPerChange: round(begun / changed, 2),
    recordBatchMs: batchQuantiles(before.counts.batchesWithin, counts.batchesWithin),
    deliveriesPerSecond: round(sent / deliverySeconds, 0),
    deliveriesPerChange: round(sent / changed, 2),
    ...(values.apart ? apartFigures([before.consumed, consumedRecording, consumed], { changed, sent }) : {}),
    kibPerChange: consumedPerOne(before.consumed, consumed, changed).kib,
    cpuMicrosPerChange: consumedPerOne(before.consumed, consumed, changed).cpuMicros,
    bytesPerChange: growth(before.relations, await bytesByRelation(run.database), changed),
    rowsPerChange: await rowsWritten(run.database, changed),
    cpuSeconds: cpuSecondsBetween(before.consumed, consumedRecording),
    residentMb: Object.fromEntries(
      Object.entries(run.processes).map(([name, pid]) => [name, round(usageOf(pid).residentMb, 0)]),
    ),
    daemonPeakMb: peakMb,
  };
}

async function resumeDelivery({ database, broker }: Run): Promise<void> {
  await resumeControl(database, 'deliver');
  announceChange(broker, 'controls');
}

/** The cost of one change until it is recorded, and of one of its deliveries from then on. */
function apartFigures(
  [before, recorded, delivered]: readonly [Consumption, Consumption, Consumption],
  { changed, sent }: { readonly changed: number; readonly sent: number },
) {
  return {
    perChange: consumedPerOne(before, recorded, changed),
    perDelivery: consumedPerOne(recorded, delivered, sent),
  };
}

/** Resident memory of all its processes. */
function residentMbOf({ pids }: Daemon): number {
  return round(
    Object.values(pids).reduce((sum, pid) => sum + usageOf(pid).residentMb, 0),
    0,
  );
}

async function measureLatencies(run: Run) {
  const steps = {
    publish: publishOn.bind(null, run),
    async untilDelivered() {
      await untilRecorded(run);
      await untilDelivered(run);
    },
  };
  const recrawls = await measureRecrawls(run, Number(values.unchanged), options.seconds, steps);
  if (options.rateSeconds === 0) return recrawls;
  return {
    ...recrawls,
    ...(await measureLatency(run)),
    ...(await measureBesideFlood(run)),
    ...(options.crowd > 0 ? await measureBesideCrowd(run) : {}),
  };
}

/** Latencies at a steady rate, with the disk's latency during that time. */
async function measureLatency(run: Run) {
  const probe = await startDiskProbe(run.folder);
  const latencyMs = quantilesOf(await steadyLatencies(run));
  return { latencyMs, fsyncMs: quantilesOf(await probe.stop()) };
}

async function measureBesideFlood(run: Run) {
  const flood = new AbortController();
  const flooded = pace(options.floodRate, flood.signal, () => publish(run, [floodPublication(run.crawler)]));
  const besideFloodMs = quantilesOf(await steadyLatencies(run, () => flood.abort()));
  await flooded;
  await untilRecorded(run);
  return { besideFloodMs };
}

async function measureBesideCrowd(run: Run) {
  await insertCrowd(run.database, options.crowd, `${run.receiver.url}${CROWD_PATH}`);
  while ((await run.daemon.counts()).searches < options.searches + options.crowd) await wait(100);
  const before = (await run.daemon.counts()).deliveries;
  const startedAt = performance.now();
  await publish(run, [crowdPublication(run.crawler)]);
  const besideCrowdMs = quantilesOf(await steadyLatencies(run, () => undefined, false));
  const { deliveries } = await run.daemon.counts();
  return {
    besideCrowdMs,
    withCrowd: deliveries - before,
    crowdSeconds: round((performance.now() - startedAt) / 1_000, 1),
  };
}

/** Publishes at a steady rate and waits for all deliveries. */
async function steadyLatencies(
  run: Run,
  onPublished: () => void = () => undefined,
  isQuiet = true,
): Promise<readonly number[]> {
  if (isQuiet) await untilDelivered(run);
  run.receiver.takeLatencies();
  await pace(options.rate, AbortSignal.timeout(options.rateSeconds * 1_000), () => publishNext(run, 1));
  onPublished();
  await untilRecorded(run);
  await untilDelivered(run);
  return run.receiver.takeLatencies().sort((a, b) => a - b);
}

/** Runs `perSecond` steps a second, until the signal ends it. */
async function pace(perSecond: number, ended: AbortSignal, step: () => Promise<void>): Promise<void> {
  const startedAt = performance.now();
  for (let sent = 0; !ended.aborted; sent++) {
    const dueMs = (sent * 1_000) / perSecond - (performance.now() - startedAt);
    if (dueMs > 0) await wait(dueMs);
    await step();
  }
}

function quantilesOf(ascending: readonly number[]) {
  const at = (share: number): number =>
    round(ascending[Math.min(ascending.length - 1, Math.floor(share * ascending.length))] ?? 0, 1);
  return { p50: at(0.5), p99: at(0.99), max: at(1), samples: ascending.length };
}

/** Number of recorded deliveries that have not arrived. */
async function notReceived({ database, receiver }: Run): Promise<number> {
  const { rows } = await database.query<{ id: string }>('select id from delivery_states');
  return rows.filter(({ id }) => !receiver.has(id)).length;
}

async function measureRaw(run: Run, changes: number) {
  const body = `{"event":"property.ad.create","match":${'x'.repeat(4_000)}}`;
  const publications = Array.from({ length: 5_000 }, () => publicationOf(run.crawler.next, 'raw'));
  await run.broker.manager.streams.add({ name: 'RAW', subjects: ['raw.>'] });
  return {
    bulkInsertPerSecond: round(await bulkInsertRate(run.database, changes, RECORD_BATCH), 0),
    publishPerSecond: round(await publishRate(run.broker, publications), 0),
    postPerSecond: round(await postRate(`${run.receiver.url}/raw`, body), 0),
  };
}

async function publishOn(run: Run, next = run.crawler.next): Promise<void> {
  await publishNext(run, Math.min(PUBLISH_BATCH, options.backlogMax), next);
  while ((await backlogOf(run)) > options.backlogMax) await wait(200);
}

async function publishNext(run: Run, count: number, next = run.crawler.next): Promise<void> {
  const publications = Array.from({ length: count }, () => publicationOf(next, null));
  await publish(run, publications);
}

async function publish({ broker, published }: Run, publications: readonly Publication[]): Promise<void> {
  await publishAll(broker, publications);
  published.count += publications.length;
}

async function untilRecorded(run: Run): Promise<void> {
  while ((await backlogOf(run)) > 0) await wait(20);
}

/**
 * Messages published and not yet recorded. Asks the stream, because the metrics cost the daemon as much as ten
 * messages.
 */
async function backlogOf({ broker }: Run): Promise<number> {
  const { num_pending, num_ack_pending } = await broker.manager.consumers.info('ADVERTS', 'intake');
  return num_pending + num_ack_pending;
}

/** Waits only for deliveries of recorded messages, because during a flood there is always an unrecorded message. */
async function untilDelivered(run: Run): Promise<void> {
  for (;;) {
    const { delivered, deliveries } = await run.daemon.counts();
    if (delivered >= deliveries) return;
    await wait(50);
  }
}

function report(figures: Readonly<Record<string, unknown>>): void {
  for (const [name, figure] of Object.entries(figures)) console.log(`${name.padEnd(22)} ${JSON.stringify(figure)}`);
  if (values.json) console.log(JSON.stringify(figures));
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}

await main();
