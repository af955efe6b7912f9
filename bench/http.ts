/**
 * Benchmarks of the REST API:
 * - requests per second for points of interest, first at repeated places, then at places that are all different; a bare
 *   Koa that answers a constant body of the same size is the reference for the first;
 * - POST and GET of searches on a full table, with the query plans;
 * - latencies of one client while another sends the most expensive requests to an API with the daemon's matcher;
 * - clients' queries over many properties while a recorder works.
 *
 *   npm run bench:http -- [--searches 1000000] [--points 100000] [--seconds 5] [--rounds 3] [--properties 100000]
 *   [--only hostile|questions] [--json]
 */

import { type ChildProcess, fork } from 'node:child_process';
import { parseArgs } from 'node:util';
import autocannon from 'autocannon';
import type { PoolClient, QueryConfig } from 'pg';
import type { Uuid } from '../src/engine/domain/ids.ts';
import { SEARCH_DEFAULTS } from '../src/engine/domain/search.ts';
import { loadReference } from '../src/engine/reference/communes.ts';
import { createApiKey, createClient } from '../src/engine/store/clients.ts';
import { type Database, migrate, openDatabase, type Queryable } from '../src/engine/store/database.ts';
import { changedSince } from '../src/engine/store/search-feed.ts';
import { listSearches } from '../src/engine/store/search-listing.ts';
import { createSearch } from '../src/engine/store/searches.ts';
import { LOADER, moduleUrl } from '../test/support/checkout.ts';
import { startTestPostgres } from '../test/support/servers.ts';
import { samplePointsOfInterest } from './adverts/sample-places.ts';
import { endOf, messageOf } from './child.ts';
import { benchHostile } from './http/hostile.ts';
import { benchQuestions } from './http/questions.ts';
import { seedSearches } from './http/seed.ts';
import { SMOKE, sized } from './smoke.ts';

const { values: options } = parseArgs({
  options: {
    ...SMOKE,
    searches: { type: 'string', default: sized('1000000', '2000') },
    points: { type: 'string', default: sized('100000', '1000') },
    seconds: { type: 'string', default: sized('5', '1') },
    rounds: { type: 'string', default: sized('3', '1') },
    properties: { type: 'string', default: sized('100000', '100') },
    only: { type: 'string', default: '' },
    json: { type: 'boolean', default: false },
  },
});
const CONNECTIONS = sized(32, 4);
const QUERIES = sized(500, 20);
const WARM_UP_SECONDS = sized(2, 1);
/** On a busy machine an answer may take longer than autocannon's default timeout. */
const ANSWER_SECONDS_MAX = 120;
/** More queries than the API caches, and different ones for each connection, so that every answer is computed. */
const DISTINCT_QUERIES = sized(12_800, 80);
const say = (line: string): void => (options.json ? console.error(line) : console.log(line));

type Requests = Parameters<typeof autocannon>[0]['requests'];
type Client = Parameters<NonNullable<Parameters<typeof autocannon>[0]['setupClient']>>[0];
type Load = Awaited<ReturnType<typeof autocannon>>;

interface Served {
  readonly url: string;
  readonly process: ChildProcess;
  readonly stop: () => Promise<void>;
}

async function serve(...args: readonly string[]): Promise<Served> {
  const smoke = options.smoke ? ['--smoke'] : [];
  const child = fork(moduleUrl('bench/http/server'), [...args, ...smoke], { execArgv: [...LOADER] });
  const { port } = await messageOf<{ readonly port: number }>(child);
  return {
    url: `http://127.0.0.1:${port}`,
    process: child,
    async stop() {
      child.disconnect();
      await endOf(child);
    },
  };
}

async function load(url: string, requests: Requests, seconds = Number(options.seconds)): Promise<Load> {
  return loadEach(url, () => requests, seconds);
}

/** `requestsOf` returns the requests of a connection, by its number. */
async function loadEach(url: string, requestsOf: (connection: number) => Requests, seconds: number): Promise<Load> {
  let connection = 0;
  const setupClient = (client: Client): void => client.setRequests(requestsOf(connection++));
  const result = await autocannon({
    url,
    connections: CONNECTIONS,
    duration: seconds,
    timeout: ANSWER_SECONDS_MAX,
    requests: requestsOf(0),
    setupClient,
  });
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`${result.non2xx} refused, ${result.errors} failed`);
  return result;
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] as number;

/** Queries at places where people live: sample points of another seed than those of the API. */
async function pointPaths(count: number): Promise<readonly string[]> {
  const reference = await loadReference();
  const points = [...samplePointsOfInterest({ seed: 2, reference, count })];
  return points.map(({ lat, lon }) => `/indicators/points_of_interest?lat=${lat}&lon=${lon}&radius=1`);
}

async function meanBytes(url: string, paths: readonly string[], headers: Record<string, string>): Promise<number> {
  let bytes = 0;
  for (const path of paths) bytes += (await (await fetch(url + path, { headers })).arrayBuffer()).byteLength;
  return Math.round(bytes / paths.length);
}

async function benchPoints(api: Served, headers: Record<string, string>) {
  const distinctPaths = await pointPaths(DISTINCT_QUERIES);
  const paths = distinctPaths.slice(0, QUERIES);
  const bodyBytes = await meanBytes(api.url, paths, headers);
  const requests = paths.map((path) => ({ path, headers }));
  const bare = await serve('bare', String(bodyBytes));
  await Promise.all([api, bare].map(({ url }) => load(url, requests, WARM_UP_SECONDS)));
  const rates: { bare: number[]; points: number[]; shares: number[] } = { bare: [], points: [], shares: [] };
  for (let round = 0; round < Number(options.rounds); round++) {
    const bareRate = (await load(bare.url, requests)).requests.average;
    const pointRate = (await load(api.url, requests)).requests.average;
    rates.bare.push(bareRate);
    rates.points.push(pointRate);
    rates.shares.push(pointRate / bareRate);
  }
  await bare.stop();
  const distinct = distinctPaths.map((path) => ({ path, headers }));
  const each = distinct.length / CONNECTIONS;
  const distinctLoad = await loadEach(
    api.url,
    (connection) => distinct.slice(connection * each, (connection + 1) * each),
    Number(options.seconds),
  );
  return {
    poiShareOfBareKoa: Number(median(rates.shares).toFixed(3)),
    poiPerSecond: Math.round(median(rates.points)),
    poiDistinctPerSecond: Math.round(distinctLoad.requests.average),
    bareKoaPerSecond: Math.round(median(rates.bare)),
    poiBodyBytes: bodyBytes,
  };
}

async function benchSearches(api: Served, headers: Record<string, string>, largeHeaders: Record<string, string>) {
  const summary = ({ requests, latency }: Load) => ({
    perSecond: Math.round(requests.average),
    p50Ms: latency.p50,
    p99Ms: latency.p99,
  });
  const list = async (query: string, as = headers) =>
    summary(await load(api.url, [{ path: `/searches${query}`, headers: as }]));
  const bodies = Array.from({ length: QUERIES }, (_, i) =>
    JSON.stringify({
      title: `Recherche ${i}`,
      transactionType: 0,
      budgetMax: 200_000 + i,
      includedCities: ['/cities/83137'],
    }),
  );
  const json = { ...headers, 'Content-Type': 'application/json' };
  const creations = bodies.map((body) => ({ method: 'POST', path: '/searches', headers: json, body }));
  return {
    listSearches: await list(''),
    listSearchesByTitle: await list('?order[title]=asc'),
    listSearchesFiltered: await list('?title=1234'),
    createSearch: summary(await load(api.url, creations)),
    listSearchesOfLargeClient: await list('', largeHeaders),
    listSearchesOfLargeClientFiltered: await list('?title=1234', largeHeaders),
  };
}

/** The plans of the statements for a creation and for the lists, for the client with a tenth of the rows. */
async function plans(database: Database, clientId: Uuid): Promise<readonly string[]> {
  const sent: { readonly text: string; readonly values: unknown[] }[] = [];
  const recorded = (target: Queryable) =>
    ((statement: string | QueryConfig, bound: unknown[] = []) => {
      const { text, values = bound } = typeof statement === 'string' ? { text: statement } : statement;
      if (!/^(?:begin|commit|rollback)$/.test(text)) sent.push({ text, values });
      return target.query(text, values);
    }) as Queryable['query'];
  const recorder: Database = {
    query: recorded(database),
    async connect() {
      const client = await database.connect();
      const [on, off, release] = [client.on.bind(client), client.off.bind(client), client.release.bind(client)];
      return { query: recorded(client), on, off, release } as PoolClient;
    },
  };
  const some = { title: null, notificationEnabled: null, offset: 0, limit: 30 } as const;
  const all = { ...some, order: 'creation', direction: 'asc' } as const;
  const byTitle = { ...some, order: 'title', direction: 'asc' } as const;
  const found: string[] = [];
  for (const [what, send] of [
    ['creation', () => createSearch(recorder, clientId, { ...SEARCH_DEFAULTS, title: 'Recherche' })],
    ['list', () => listSearches(recorder, clientId, all)],
    ['list by title', () => listSearches(recorder, clientId, byTitle)],
    ['list filtered', () => listSearches(recorder, clientId, { ...all, title: '1234' })],
    ['list filtered, by title', () => listSearches(recorder, clientId, { ...byTitle, title: '1234' })],
  ] as const) {
    await send();
    for (const { text, values } of sent.splice(0)) {
      const detail = text.startsWith('select') ? 'analyze, buffers, costs off, timing off' : 'costs off';
      const { rows } = await database.query<{ 'QUERY PLAN': string }>(`explain (${detail}) ${text}`, values);
      found.push(`${what}: ${text.trim().split(' ', 2).join(' ')} …`, ...rows.map((row) => `  ${row['QUERY PLAN']}`));
    }
  }
  return found;
}

async function main(): Promise<void> {
  const cleanups: (() => Promise<void>)[] = [];
  const durable = { fsync: 'on', full_page_writes: 'on', shared_buffers: '256MB' };
  const postgres = await startTestPostgres({ after: (work) => void cleanups.push(work) }, durable);
  try {
    await migrate(postgres.url);
    const database = openDatabase({ url: postgres.url, connectionsMax: 4, onConnectionLost: () => undefined });
    cleanups.unshift(() => database.end());
    const client = await createClient(database, { name: 'bench' });
    const large = await createClient(database, { name: 'bench large' });
    const { key: largeKey } = await createApiKey(database, large.id, 'bench');
    const { key } = await createApiKey(database, client.id, 'bench');
    const headers = { 'X-API-KEY': key };
    const questions = () =>
      benchQuestions(postgres.url, Number(options.properties), () => serve('recording', postgres.url, '0'), say);
    if (options.only === 'questions') return console.log(JSON.stringify(await questions(), null, options.json ? 0 : 2));
    const hostile = await benchHostile(database, () => serve('daemon', postgres.url, '1000'));
    say(JSON.stringify(hostile, null, 2));
    if (options.only === 'hostile') return console.log(JSON.stringify({ ...hostile, node: process.version }));
    const api = await serve('api', postgres.url, options.points);
    cleanups.unshift(api.stop);
    say(`points of interest: ${options.points}, 1 km, ${CONNECTIONS} connections`);
    const points = await benchPoints(api, headers);
    say(JSON.stringify(points, null, 2));
    say(`filling a table of ${options.searches} searches, a thousandth of them the client's`);
    await seedSearches(database, client.id, large.id, Number(options.searches));
    const startedAtMs = performance.now();
    await changedSince(database, null, () => undefined);
    const feedSeconds = Number(((performance.now() - startedAtMs) / 1000).toFixed(1));
    const searches = await benchSearches(api, headers, { 'X-API-KEY': largeKey });
    say(JSON.stringify({ feedSeconds, ...searches }, null, 2));
    const planLines = await plans(database, large.id);
    for (const line of planLines) say(line);
    const asked = await questions();
    say(JSON.stringify(asked, null, 2));
    const rows = Number(options.searches);
    console.log(
      JSON.stringify({
        ...hostile,
        ...points,
        searchRows: rows,
        feedSeconds,
        ...searches,
        asked,
        node: process.version,
      }),
    );
  } finally {
    for (const cleanup of cleanups) await cleanup();
  }
}

await main();
