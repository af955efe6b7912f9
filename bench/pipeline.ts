/**
 * The whole journey under load: crawlers publish to NATS, a daemon of its own process matches, records and delivers, a
 * receiver audits. First as fast as it goes, for `--seconds`; then at a steady rate, for the latency from publication
 * to webhook; then the raw limits of the parts. Servers are the embedded ones, durable as in production, all on this
 * machine.
 *
 *   npm run bench:pipeline -- [--searches 10000] [--seconds 60] [--rate 100] [--rate-seconds 30]
 *                             [--notifying 0.2] [--endpoints 50] [--seed 1] [--json]
 *                             [--profile folder]
 *
 * `--profile` leaves the daemon's CPU profile in the folder. `changesPerSecond` counts messages that changed something; re-crawls without change come on top.
 */

import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Broker, connectBroker } from '../src/broker/connection.ts';
import { type Publication, publishAll } from '../src/broker/publish.ts';
import { advertSubject, ensureAdvertsStream } from '../src/broker/topology.ts';
import { createSampleCrawler, type SampleCrawler } from '../src/cli/sample-adverts.ts';
import { cacheDirectory } from '../src/embedded/data-directory.ts';
import { startNatsServer } from '../src/embedded/nats-server.ts';
import { startPostgres } from '../src/embedded/postgres.ts';
import { loadReference } from '../src/reference/communes.ts';
import { type Database, migrate, openDatabase } from '../src/store/database.ts';
import { usageOf } from './pipeline/processes.ts';
import { bulkInsertRate, postRate, publishRate } from './pipeline/raw-limits.ts';
import { type Receiver, startReceiver } from './pipeline/receiver.ts';
import { insertSavedSearches } from './pipeline/saved-searches.ts';

const { values } = parseArgs({
  options: {
    searches: { type: 'string', default: '10000' },
    seconds: { type: 'string', default: '60' },
    rate: { type: 'string', default: '100' },
    'rate-seconds': { type: 'string', default: '30' },
    notifying: { type: 'string', default: '0.2' },
    endpoints: { type: 'string', default: '50' },
    seed: { type: 'string', default: '1' },
    profile: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});
const options = {
  searches: Number(values.searches),
  seconds: Number(values.seconds),
  rate: Number(values.rate),
  rateSeconds: Number(values['rate-seconds']),
  notifying: Number(values.notifying),
  endpoints: Number(values.endpoints),
  seed: Number(values.seed),
};

/** Published and not yet recorded, at most: more would only measure the disk of nats-server. */
const BACKLOG_MAX = 4_000;
const PUBLISH_BATCH = 500;
const RECORD_BATCH = 256;
const PROFILING = values.profile !== undefined;
const STATEMENT_STATISTICS = { shared_preload_libraries: 'pg_stat_statements' };
const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const say = (line: string): boolean => process.stderr.write(`${line}\n`);

interface Run {
  readonly database: Database;
  readonly broker: Broker;
  readonly receiver: Receiver;
  readonly crawler: SampleCrawler;
  readonly published: { count: number };
  readonly daemon: { readonly pid: number; readonly operationsUrl: string };
  readonly processes: Readonly<Record<string, number>>;
}

interface Counts {
  readonly recorded: number;
  readonly changed: number;
  readonly matches: number;
  readonly deliveries: number;
  readonly delivered: number;
}

async function main(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'vigie-bench-'));
  const cacheDir = cacheDirectory(null);
  const serverBin = process.env.NATS_SERVER_BIN ?? null;
  const [postgres, nats] = await Promise.all([
    startPostgres({ dataDir: folder, cacheDir, settings: PROFILING ? STATEMENT_STATISTICS : {} }),
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
  });
  const { daemon, readySeconds, stop } = await startDaemon(postgres.url, nats.url);
  try {
    const reference = await loadReference();
    const crawler = createSampleCrawler({ seed: options.seed, reference, startAt: new Date(), intervalMs: 1 });
    const processes = { daemon: daemon.pid, postgres: postgres.pid, nats: nats.pid, bench: process.pid };
    const run = { database, broker, receiver, crawler, published: { count: 0 }, daemon, processes };
    if (PROFILING) await database.query('create extension pg_stat_statements');
    const throughput = await measureThroughput(run);
    if (PROFILING) await sayStatements(database);
    const latency = await measureLatency(run);
    await untilDelivered(run);
    const counts = await countsOf(run);
    const audit = { lost: counts.deliveries - receiver.distinct, duplicates: receiver.duplicates };
    const raw = await measureRaw(run, throughput.recorded);
    report({
      ...throughput,
      readySeconds,
      latencyMs: latency,
      ...audit,
      ...raw,
      shareOfBulkInsert: round(throughput.recordedPerSecond / raw.bulkInsertPerSecond, 2),
    });
  } finally {
    await stop();
    await broker.close();
    await database.end();
    await receiver.close();
    await Promise.all([postgres.stop(), nats.stop()]);
    await rm(folder, { recursive: true, force: true });
  }
}

async function startDaemon(databaseUrl: string, natsUrl: string) {
  const startedAt = performance.now();
  const profiling = PROFILING ? ['--cpu-prof', `--cpu-prof-dir=${values.profile}`] : [];
  const child = spawn(process.execPath, [...profiling, '--max-semi-space-size=64', '--import', 'tsx', MAIN, 'serve'], {
    env: {
      ...process.env,
      DATABASE_URL: databaseUrl,
      NATS_URL: natsUrl,
      VIGIE_API_PORT: '0',
      VIGIE_OPERATIONS_PORT: '0',
      VIGIE_ADMIN_PORT: '0',
      VIGIE_ALLOW_PRIVATE_ENDPOINTS: 'true',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const operationsUrl = await new Promise<string>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the daemon ended with ${code}`)));
    createInterface({ input: child.stdout }).on('line', (line) => {
      const entry = JSON.parse(line) as { message: string; operations: string };
      if (entry.message === 'ready') resolve(entry.operations);
      else if (entry.message !== 'starting') say(line);
    });
  });
  return {
    daemon: { pid: child.pid as number, operationsUrl },
    readySeconds: round((performance.now() - startedAt) / 1_000, 1),
    stop: () =>
      new Promise<void>((resolve) => {
        child.once('exit', () => resolve());
        child.kill('SIGTERM');
      }),
  };
}

/** Publishes as fast as the daemon records, for the given time; measures until the last one is recorded. */
async function measureThroughput(run: Run) {
  const before = { cpu: cpuOf(run), counts: await countsOf(run) };
  const startedAt = performance.now();
  const elapsed = (): number => (performance.now() - startedAt) / 1_000;
  let peakMb = 0;
  let shownAt = 0;
  while (elapsed() < options.seconds) {
    await publishNext(run, PUBLISH_BATCH);
    while (run.published.count - (await countsOf(run)).recorded > BACKLOG_MAX) await wait(200);
    peakMb = Math.max(peakMb, usageOf(run.daemon.pid).residentMb);
    if (elapsed() - shownAt < 10) continue;
    shownAt = elapsed();
    const { recorded, delivered, deliveries } = await countsOf(run);
    say(
      `${Math.round(shownAt)} s: ${Math.round(recorded / shownAt)} changes/s, ${deliveries - delivered} deliveries open`,
    );
  }
  await untilRecorded(run);
  const seconds = elapsed();
  const counts = await countsOf(run);
  const recorded = counts.recorded - before.counts.recorded;
  const changed = counts.changed - before.counts.changed;
  const cpu = Object.entries(cpuOf(run)).map(([name, now]) => [name, round(now - (before.cpu[name] ?? 0), 1)]);
  await untilDelivered(run);
  const deliveredSeconds = elapsed();
  return {
    seconds: round(seconds, 1),
    recorded,
    recordedPerSecond: round(recorded / seconds, 0),
    changesPerSecond: round(changed / seconds, 0),
    matchesPerChange: round((counts.matches - before.counts.matches) / changed, 2),
    deliveriesPerSecond: round((await countsOf(run)).deliveries / deliveredSeconds, 0),
    cpuSeconds: Object.fromEntries(cpu),
    residentMb: Object.fromEntries(
      Object.entries(run.processes).map(([name, pid]) => [name, round(usageOf(pid).residentMb, 0)]),
    ),
    daemonPeakMb: round(peakMb, 0),
  };
}

/** CPU seconds by process; the bench's own without the servers and the daemon, which are its children. */
function cpuOf({ processes }: Run): Record<string, number> {
  const seconds = Object.fromEntries(Object.entries(processes).map(([name, pid]) => [name, usageOf(pid).cpuSeconds]));
  const { bench = 0, ...children } = seconds;
  return { ...children, bench: bench - Object.values(children).reduce((sum, child) => sum + child, 0) };
}

/** Publishes at a steady rate and waits for what it leads to. */
async function measureLatency(run: Run) {
  await untilDelivered(run);
  run.receiver.takeLatencies();
  const startedAt = performance.now();
  for (let sent = 0; sent < options.rate * options.rateSeconds; sent++) {
    const dueMs = (sent * 1_000) / options.rate - (performance.now() - startedAt);
    if (dueMs > 0) await wait(dueMs);
    await publishNext(run, 1);
  }
  await untilRecorded(run);
  await untilDelivered(run);
  const latencies = run.receiver.takeLatencies().sort((a, b) => a - b);
  const at = (share: number): number =>
    latencies[Math.min(latencies.length - 1, Math.floor(share * latencies.length))] ?? 0;
  return { p50: at(0.5), p99: at(0.99), max: at(1), samples: latencies.length };
}

async function measureRaw(run: Run, changes: number) {
  const body = `{"event":"property.ad.create","match":${'x'.repeat(4_000)}}`;
  const publications = Array.from({ length: 5_000 }, () => publicationOf(run.crawler, 'raw'));
  await run.broker.manager.streams.add({ name: 'RAW', subjects: ['raw.>'] });
  return {
    bulkInsertPerSecond: round(await bulkInsertRate(run.database, changes, RECORD_BATCH), 0),
    publishPerSecond: round(await publishRate(run.broker, publications), 0),
    postPerSecond: round(await postRate(`${run.receiver.url}/raw`, body), 0),
  };
}

/** `crawledAt` is the moment of publication: the receiver subtracts it. */
function publicationOf(crawler: SampleCrawler, prefix: string | null): Publication {
  const message = { ...crawler.next(), crawledAt: new Date().toISOString() };
  const { uuid } = message.property;
  return {
    subject: prefix === null ? advertSubject(uuid) : `${prefix}.${uuid}`,
    messageId: `${message.advert.uuid}/${message.crawledAt}/${message.kind}`,
    bytes: Buffer.from(JSON.stringify(message)),
  };
}

async function publishNext(run: Run, count: number): Promise<void> {
  await publishAll(
    run.broker,
    Array.from({ length: count }, () => publicationOf(run.crawler, null)),
  );
  run.published.count += count;
}

async function untilRecorded(run: Run): Promise<void> {
  while ((await run.broker.manager.consumers.info('ADVERTS', 'intake')).num_pending > 0) await wait(20);
  while ((await run.broker.manager.consumers.info('ADVERTS', 'intake')).num_ack_pending > 0) await wait(20);
}

async function untilDelivered(run: Run): Promise<void> {
  for (;;) {
    const { delivered, deliveries } = await countsOf(run);
    if (delivered >= deliveries) return;
    await wait(50);
  }
}

/** From the daemon's own metrics. */
async function countsOf({ daemon }: Run): Promise<Counts> {
  const text = await (await fetch(`${daemon.operationsUrl}/metrics`)).text();
  const sum = (pattern: RegExp): number =>
    [...text.matchAll(pattern)].reduce((total, line) => total + Number(line[1]), 0);
  return {
    recorded: sum(/^vigie_changes_total\{.*\} (\d+)$/gm),
    changed: sum(/^vigie_changes_total\{outcome="(?:created|changed)"\} (\d+)$/gm),
    matches: sum(/^vigie_matches_total (\d+)$/gm),
    deliveries: sum(/^vigie_deliveries_total (\d+)$/gm),
    delivered: sum(/^vigie_delivery_attempts_total\{result="delivered"\} (\d+)$/gm),
  };
}

/** The statements that took most of PostgreSQL's time so far. */
async function sayStatements(database: Database): Promise<void> {
  const { rows } = await database.query<{ calls: string; ms: number; rows: string; query: string }>(`
    select calls, total_exec_time as ms, rows, regexp_replace(query, '\\s+', ' ', 'g') as query
    from pg_stat_statements order by total_exec_time desc limit 20`);
  for (const { calls, ms, rows: count, query } of rows) {
    say(`${Math.round(ms)} ms in ${calls} calls, ${count} rows: ${query.slice(0, 80)}`);
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
