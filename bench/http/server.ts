/**
 * The server side of bench/http, in its own process so that the load generator has another core. It is the API on a
 * given database, with or without the matcher or recorder of a daemon. For the reference, it is a bare Koa that answers
 * a constant body. Sends its parent the port. On request, records a batch, or reports its memory and the longest
 * blocking of its event loop since the previous report.
 */

import { once } from 'node:events';
import { openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, BlockList } from 'node:net';
import { devNull } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import Router from '@koa/router';
import Koa from 'koa';
import { createWorkerThreads } from '../../src/engine/actor/worker-thread.ts';
import { readFrenchForms } from '../../src/engine/domain/inflection/lemmas.ts';
import { decodeIntakeMessage } from '../../src/engine/domain/intake-message.ts';
import { startMatcher } from '../../src/engine/intake/matcher.ts';
import { buildPointIndex } from '../../src/engine/matching/points/poi-index.ts';
import { loadReference, type Reference, sortPlaces } from '../../src/engine/reference/communes.ts';
import { type Database, openDatabase } from '../../src/engine/store/database.ts';
import { changedSince } from '../../src/engine/store/search-feed.ts';
import { createMatchEstimator } from '../../src/features/explanations/explanations.ts';
import { createLog } from '../../src/log.ts';
import { createApi } from '../../src/rest/api.ts';
import { openRecording } from '../../test/support/question-scene.ts';
import { quietSupervisor } from '../../test/support/supervisor.ts';
import { samplePointsOfInterest } from '../adverts/sample-places.ts';
import { sized } from '../smoke.ts';

const [kind, argument = '', pointCount = '0'] = process.argv.slice(2);
/** The daemon's limit. It is higher in a smoke run, because a busy machine would exceed it again and again. */
const STATEMENT_MAX_MS = sized(2_000, 25_000);

/** Like the daemon's, but without site categories: no search of the benchmark names one. */
function openMatcher(database: Database) {
  return startMatcher({
    clock: () => new Date(),
    changedSince: (horizon, onSearch) => changedSince(database, horizon, onSearch),
    readSiteCategoryNames: async () => () => null,
    supervisor: quietSupervisor(({ error }) => {
      throw error;
    }),
    onUnreadableSearch: (_, error) => {
      throw error;
    },
  });
}

type Record = (messages: readonly string[]) => Promise<void>;

/** Records batches in their order, over connections with pipelined statements. */
async function openRecorder(databaseUrl: string, { resolvePlace }: Reference): Promise<Record> {
  const database = openDatabase({
    url: databaseUrl,
    connectionsMax: 4,
    plans: 'pipeline',
    onConnectionLost: () => undefined,
  });
  const { recordForKnown, computeMedians } = await openRecording({ after: () => undefined }, database, resolvePlace);
  await computeMedians();
  let last = Promise.resolve();
  return (messages) => {
    last = last.then(() => recordForKnown(messages.map((text) => decodeIntakeMessage(Buffer.from(text)))));
    return last;
  };
}

async function openApiOn(databaseUrl: string, withMatcher: boolean, withRecorder: boolean) {
  const reference = await loadReference();
  // The daemon also loads these before it is ready.
  sortPlaces(reference);
  readFrenchForms();
  const index = await buildPointIndex((add) =>
    add(samplePointsOfInterest({ seed: 1, reference, count: Number(pointCount) })),
  );
  const database = openDatabase({ url: databaseUrl, connectionsMax: 10, onConnectionLost: () => undefined });
  const threads = createWorkerThreads({
    settings: { databaseUrl, connectionsMax: 2, statementTimeoutMs: STATEMENT_MAX_MS },
    onLost(error) {
      throw error;
    },
  });
  const matcher = withMatcher ? await openMatcher(database) : null;
  const record = withRecorder ? await openRecorder(databaseUrl, reference) : null;
  const app = createApi({
    database,
    askThread: threads.ask,
    publicDatabase: database,
    queryDatabase: database,
    onAuthenticated: () => true,
    isStoreFull: () => false,
    prepareEstimate: createMatchEstimator(database),
    reference,
    // The daemon's own log at level info, written to the null device.
    logger: createLog('info', openSync(devNull, 'w')),
    now: () => new Date(),
    searchChanged: async () => matcher?.refresh(),
    onKeyChange: () => undefined,
    pointsOfInterest: () => index,
    onFeed: () => undefined,
    ending: new AbortController().signal,
    announceDue: () => undefined,
    secretsChanged: () => undefined,
    deliverOnce: async () => null,
    settings: {
      publicUrl: null,
      proxies: new BlockList(),
      allowPrivateEndpoints: false,
      endpointPorts: [],
      rateLimit: { perSecond: 1_000_000, burst: 1_000_000 },
      writeLimit: { perSecond: 1_000_000, burst: 1_000_000 },
      databaseConnectionsMax: 10,
      searchLimits: {
        searches: 1_000_000,
        polygonCorners: 10_000_000,
        excludedWords: 10_000_000,
        matchesPerAdvert: 1_000_000,
      },
      isMailAvailable: false,
      isConsentRequired: false,
      connectionsMax: 1_000,
      retentionDays: { events: 0, deliveries: 30, expired: 0 },
      mailLanguage: 'fr',
      console: null,
      version: 'bench',
    },
  });
  return { handler: app.callback(), record };
}

function bareHandler(bodyBytes: number) {
  const app = new Koa();
  const body = JSON.stringify({ x: 'x'.repeat(Math.max(0, bodyBytes - 8)) });
  const router = new Router();
  router.get('/indicators/points_of_interest', (ctx) => {
    ctx.type = 'application/json';
    ctx.body = body;
  });
  app.use(router.routes());
  return app.callback();
}

/**
 * The longest CPU time of this thread between two samples that are meant to be a millisecond apart. The time of other
 * processes is not counted, because it depends on the machine.
 */
function watchThread(): { busiestMs(): number } {
  const workedMs = (): number =>
    Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
  let lastMs = workedMs();
  let busiestMs = 0;
  setInterval(() => {
    const nowMs = workedMs();
    busiestMs = Math.max(busiestMs, nowMs - lastMs);
    lastMs = nowMs;
  }, 1);
  return {
    busiestMs() {
      const busiest = busiestMs;
      busiestMs = 0;
      return busiest;
    },
  };
}

/** Requests of the parent. An id distinguishes answers if several are pending. */
type Requested =
  | 'standing'
  | { readonly id: number; readonly message: 'standing' | { readonly record: readonly string[] } };

const { handler, record } =
  kind === 'bare'
    ? { handler: bareHandler(Number(argument)), record: null }
    : await openApiOn(argument, kind === 'daemon', kind === 'recording');
const server = createServer(handler).listen(0, '127.0.0.1');
await once(server, 'listening');
process.send?.({ port: (server.address() as AddressInfo).port });
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
const thread = watchThread();
process.on('message', async (asked: Requested) => {
  const { id, message } = asked === 'standing' ? { id: null, message: asked } : asked;
  if (message !== 'standing') {
    await record?.(message.record);
    process.send?.({ id });
    return;
  }
  const standing = {
    standstillMs: delay.max / 1e6,
    busyMs: thread.busiestMs(),
    residentBytes: process.memoryUsage.rss(),
  };
  process.send?.({ id, ...standing });
  delay.reset();
});
process.on('disconnect', () => process.exit(0));
