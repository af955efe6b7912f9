/**
 * Another job queue in place of the courier. It has one job per delivery, which posts the signed body with undici and
 * writes a row to `attempts`. Arguments: the queue's name, its module, the URL of PostgreSQL, and `work` to process
 * jobs. Without `work`, this process adds the jobs that its parent sends.
 *
 * Each queue is configured for many jobs as its documentation recommends: it fetches and completes jobs in batches.
 * Attempts are also written in batches, and a job is complete once its attempt is written.
 */

import { Pool } from 'pg';
import { Agent, request } from 'undici';
import { signatureHeaders } from '../../src/engine/delivery/signature.ts';
import { SEEDED_TOKEN } from '../../test/support/seeded-deliveries.ts';
import { ATTEMPTS_IN_FLIGHT_MAX, CONNECTIONS_MAX } from './limits.ts';

export interface Job {
  readonly id: string;
  readonly endpoint: string;
  /** The part of the body that only this job has; many jobs share the document. */
  readonly head: string;
}

interface Queue {
  add(jobs: readonly Job[]): Promise<unknown>;
  work(): Promise<unknown>;
  stop(): Promise<unknown>;
}

const [name = '', module = '', databaseUrl = '', mode = ''] = process.argv.slice(2);
const ATTEMPTS_MAX = 6;
const RETRY_SECONDS = 3_600;
const PG_BOSS_FETCHERS = 4;

const database = new Pool({ connectionString: databaseUrl, max: 2 });
const agent = new Agent({ pipelining: 1, connections: ATTEMPTS_IN_FLIGHT_MAX });
const { rows: snapshots } = await database.query('select document from snapshots limit 1');
const tail = `${snapshots[0].document}}}`;
let attempts = 0;

async function deliver({ id, endpoint, head }: Job): Promise<void> {
  const body = head + tail;
  const startedAt = new Date();
  const headers = { 'content-type': 'application/json', ...signatureHeaders(id, startedAt, body, SEEDED_TOKEN) };
  const answer = await request(endpoint, { method: 'POST', body, headers, dispatcher: agent });
  await answer.body.dump();
  await record([id, startedAt, Date.now() - startedAt.getTime(), answer.statusCode]);
  if (answer.statusCode !== 200) throw new Error(`status ${answer.statusCode}`);
  attempts += 1;
}

type Attempt = readonly [id: string, startedAt: Date, durationMs: number, statusCode: number];
let gathered: Attempt[] = [];
let written: Promise<void> = Promise.resolve();

/** Attempts that end while rows are being written are written together afterwards. */
function record(attempt: Attempt): Promise<void> {
  if (gathered.push(attempt) === 1) written = written.then(write);
  return written;
}

async function write(): Promise<void> {
  const rows = gathered;
  gathered = [];
  await database.query({
    name: 'attempts',
    text: `insert into attempts (delivery_id, number, started_at, duration_ms, status_code)
      select id, 1, started_at, duration_ms, status_code
      from unnest($1::uuid[], $2::timestamptz[], $3::integer[], $4::smallint[]) as of (id, started_at, duration_ms, status_code)`,
    values: [0, 1, 2, 3].map((column) => rows.map((row) => row[column])),
  });
}

async function openPgBoss(): Promise<Queue> {
  const { PgBoss } = await import(module);
  const boss = new PgBoss({ connectionString: databaseUrl, max: CONNECTIONS_MAX });
  boss.on('error', console.error);
  await boss.start();
  await boss.createQueue('deliveries', { retryLimit: ATTEMPTS_MAX - 1, retryDelay: RETRY_SECONDS });
  const fetching = {
    batchSize: ATTEMPTS_IN_FLIGHT_MAX / PG_BOSS_FETCHERS,
    localConcurrency: PG_BOSS_FETCHERS,
    burstWhenBatchFull: true,
    perJobResults: true,
  };
  return {
    add: (jobs) =>
      boss.insert(
        'deliveries',
        jobs.map((data) => ({ data })),
      ),
    work: () =>
      boss.work('deliveries', fetching, (jobs: readonly { readonly id: string; readonly data: Job }[]) =>
        Promise.all(
          jobs.map(({ id, data }) =>
            deliver(data).then(
              () => ({ id, status: 'completed' }),
              () => ({ id, status: 'failed' }),
            ),
          ),
        ),
      ),
    stop: () => boss.stop(),
  };
}

async function openGraphileWorker(): Promise<Queue> {
  const { Logger, makeWorkerUtils, run } = await import(module);
  const logger = new Logger(() => () => undefined);
  const utils = await makeWorkerUtils({ connectionString: databaseUrl, logger });
  await utils.migrate();
  const worker = {
    ...{ connectionString: databaseUrl, maxPoolSize: CONNECTIONS_MAX, concurrentJobs: ATTEMPTS_IN_FLIGHT_MAX, logger },
    ...{ localQueue: { size: 2 * ATTEMPTS_IN_FLIGHT_MAX }, completeJobBatchDelay: 0, failJobBatchDelay: 0 },
  };
  let runner: { stop(): Promise<void> } | undefined;
  return {
    add: (jobs) =>
      utils.addJobs(jobs.map((payload) => ({ identifier: 'deliver', payload, maxAttempts: ATTEMPTS_MAX }))),
    async work() {
      runner = await run({ preset: { worker }, taskList: { deliver }, parsedCronItems: [], noHandleSignals: true });
    },
    stop: async () => runner?.stop(),
  };
}

const queue = await (name === 'pg-boss' ? openPgBoss() : openGraphileWorker());
process.on('message', async (message: 'figures' | 'drain' | { readonly jobs: readonly Job[] }) => {
  if (message === 'figures') {
    process.send?.({ attempts, rssMb: process.memoryUsage.rss() / 1_048_576 });
  } else if (message === 'drain') {
    await queue.stop();
    process.exit();
  } else {
    await queue.add(message.jobs);
    process.send?.('added');
  }
});
process.on('disconnect', () => process.exit());
if (mode === 'work') await queue.work();
process.send?.('ready');
