/**
 * Clients' queries over many live properties, while a recorder in the same process records changes at a steady pace, as
 * in a daemon. Measures the time of each kind of query, the longest blocking of the event loop, and its thread's
 * longest CPU time between two samples. Also measures how much a hundred callers slow the recorder down. The recorder
 * alone is the reference, because PostgreSQL and this process share cores, which also causes delay.
 */

import type { ChildProcess } from 'node:child_process';
import { setTimeout as wait } from 'node:timers/promises';
import { loadReference } from '../../src/engine/reference/communes.ts';
import { createApiKey, createClient } from '../../src/engine/store/clients.ts';
import { type Database, openDatabase } from '../../src/engine/store/database.ts';
import { createSampleCrawler, type SampleCrawler } from '../adverts/sample-adverts.ts';
import { sized } from '../smoke.ts';
import { seedMarket } from './question-market.ts';

interface Served {
  readonly url: string;
  readonly process: ChildProcess;
  readonly stop: () => Promise<void>;
}

/** The number of adverts that the crawler keeps, so that they can change. */
const CHANGING = 20_000;
/** With the next constant, a hundred messages a second: several times the changes of a whole country. */
const BATCH_MESSAGES = sized(10, 1);
const BATCH_EVERY_MS = 100;
const PACED_MS = sized(20_000, 500);
const ROUNDS = sized(20, 2);
const EXPLANATIONS = sized(100, 2);
const LISTS_OF_EXPLANATIONS = sized(10, 1);
const SEARCHES_OF_CLIENT = sized(100_000, 1_000);
const CALLERS = sized(100, 4);
/** Two callers for each client. */
const CALLING_CLIENTS = CALLERS / 2;

const CIRCLE = { lat: '48.8566', lon: '2.3522' };
const SEARCHES: Readonly<Record<string, object>> = {
  city: { includedCities: ['/cities/83137'], transactionType: 0, budgetMax: 300_000, roomMin: 2 },
  largestCity: { includedCities: ['/cities/75056'], transactionType: 0, budgetMax: 600_000 },
  department: { includedDepartments: ['/departments/75'], transactionType: 0, budgetMax: 500_000, surfaceMin: 30 },
  circle50: { ...CIRCLE, radius: 50, transactionType: 0, budgetMax: 400_000, roomMin: 3 },
  circle500: { ...CIRCLE, radius: 500, transactionType: 0 },
  words: { includedDepartments: ['/departments/75'], expressions: [{ word: 'balcon' }], budgetMax: 500_000 },
  nowhere: { transactionType: 0, propertyTypes: [0, 1], budgetMax: 300_000, surfaceMin: 60 },
  nowhereWords: { transactionType: 0, expressions: [{ word: 'balcon' }, { word: 'jardin' }] },
};
const PLACELESS = ['nowhere', 'nowhereWords'];

type Latencies = number[];

interface Asking {
  readonly server: Served;
  readonly key: string;
}

/** `serve`: starts the API and a recorder in one process. `tell` is called with each figure as soon as it is known. */
export async function benchQuestions(
  databaseUrl: string,
  count: number,
  serve: () => Promise<Served>,
  tell: (line: string) => void,
) {
  const reference = await loadReference();
  const database = openDatabase({ url: databaseUrl, connectionsMax: 4, onConnectionLost: () => undefined });
  const startAt = new Date(Date.now() - 86_400_000);
  const crawler = createSampleCrawler({ seed: 21, reference, startAt, heldMax: CHANGING });
  const cleanups: (() => Promise<void>)[] = [() => database.end()];
  const say = <Figures extends object>(name: string, figures: Figures): Figures => {
    tell(`${name} ${JSON.stringify(figures)}`);
    return figures;
  };
  try {
    const startedAtMs = performance.now();
    await seedMarket(database, reference, crawler, count);
    tell(`${count} properties seeded in ${Math.round((performance.now() - startedAtMs) / 1_000)} s`);
    const server = await serve();
    cleanups.unshift(server.stop);
    const asking = { server, key: await keyOf(database, 'asking') };
    await pacedFor(server, crawler, PACED_MS / 2);
    const answers = await beside(server, crawler, () => benchKinds(asking, say));
    // The reference runs after the queries, so that the code is compiled.
    const alone = say('recorder alone', await measured(server, () => pacedFor(server, crawler, PACED_MS)));
    const callers = await Promise.all(
      Array.from({ length: CALLING_CLIENTS }, (_, i) => keyOf(database, `caller ${i}`)),
    );
    const crowded = say('recorder beside callers', await benchCrowd(server, callers, crawler));
    const explained = await beside(server, crawler, () => benchExplanations(asking, database, say));
    return { properties: count, ...answers, recorderAlone: alone, recorderBesideCallers: crowded, ...explained };
  } finally {
    for (const work of cleanups) await work();
  }
}

type Say = <Figures extends object>(name: string, figures: Figures) => Figures;

/** Runs `work` while the recorder keeps its pace. */
async function beside<T>(server: Served, crawler: SampleCrawler, work: () => Promise<T>): Promise<T> {
  const ending = new AbortController();
  const recorded = paced(server, crawler, ending.signal);
  try {
    return await work();
  } finally {
    ending.abort();
    await recorded;
  }
}

async function benchKinds(asking: Asking, say: Say) {
  const kinds: Record<string, object> = {};
  const all = { previewOfPlace: [] as Latencies, previewAnywhere: [] as Latencies };
  for (const [name, search] of Object.entries(SEARCHES)) {
    const preview = await timed(asking, () => post(asking, '/searches/preview', search));
    (PLACELESS.includes(name) ? all.previewAnywhere : all.previewOfPlace).push(...preview.latencies);
    kinds[name] = say(name, preview.figures);
  }
  return {
    kinds,
    ...Object.fromEntries(Object.entries(all).map(([name, latencies]) => [name, say(name, percentilesOf(latencies))])),
  };
}

async function benchExplanations(asking: Asking, database: Database, say: Say) {
  const property = await someProperty(database);
  const { '@id': saved } = (await post(asking, '/searches', { title: 'bench' })) as { '@id': string };
  const one = await timed(asking, () => get(asking, `${saved}/explanation?property=${property}`), EXPLANATIONS);
  await seedSearchesOfClient(database);
  const every = await timed(asking, () => get(asking, `/explanations?property=${property}`), LISTS_OF_EXPLANATIONS);
  return {
    explanation: say('explanation', one.figures),
    explanations: say(`explanations of ${SEARCHES_OF_CLIENT} searches`, every.figures),
  };
}

/** The latencies of the recorder's batches while callers send without a pause, unless told to retry later. */
async function benchCrowd(server: Served, keys: readonly string[], crawler: SampleCrawler) {
  const bodies = Object.values(SEARCHES);
  let isOver = false;
  const counts = { answered: 0, refused: 0 };
  const call = async (number: number): Promise<void> => {
    const key = keys[number % keys.length] as string;
    for (let round = number; !isOver; round++) {
      const answer = await send(`${server.url}/searches/preview`, key, bodies[round % bodies.length]);
      await answer.arrayBuffer();
      if (answer.status === 429) {
        counts.refused += 1;
        await wait(1_000 * Number(answer.headers.get('Retry-After')));
      } else if (answer.ok) counts.answered += 1;
      else throw new Error(`POST /searches/preview was answered ${answer.status}`);
    }
  };
  const calling = Promise.all(Array.from({ length: CALLERS }, (_, number) => call(number)));
  const figures = await measured(server, () => pacedFor(server, crawler, PACED_MS));
  isOver = true;
  await calling;
  return { ...figures, ...counts };
}

/** Latencies of batches from the moment they are sent to the recorder's process until their commit. */
async function measured(server: Served, work: () => Promise<Latencies>) {
  await standstill(server);
  const latencies = await work();
  return { ...percentilesOf(latencies), ...(await standstill(server)) };
}

function pacedFor(server: Served, crawler: SampleCrawler, forMs: number): Promise<Latencies> {
  return paced(server, crawler, AbortSignal.timeout(forMs));
}

/** Sends a batch every `BATCH_EVERY_MS`, even if the previous one is not finished. */
async function paced(server: Served, crawler: SampleCrawler, signal: AbortSignal): Promise<Latencies> {
  const latencies: Latencies = [];
  const sent: Promise<unknown>[] = [];
  const startedAtMs = performance.now();
  for (let batch = 1; !signal.aborted; batch++) {
    const sentAtMs = performance.now();
    const messages = Array.from({ length: BATCH_MESSAGES }, () => JSON.stringify(crawler.next()));
    sent.push(tellServer(server, { record: messages }).then(() => latencies.push(performance.now() - sentAtMs)));
    await wait(Math.max(0, startedAtMs + batch * BATCH_EVERY_MS - performance.now()));
  }
  await Promise.all(sent);
  return latencies;
}

async function keyOf(database: Database, name: string): Promise<string> {
  const { id } = await createClient(database, { name, rateLimitPerSecond: 1_000_000 });
  return (await createApiKey(database, id, 'bench')).key;
}

async function someProperty(database: Database): Promise<string> {
  const { rows } = await database.query<{ uuid: string }>(
    'select property_uuid as uuid from property_summaries where is_live order by sample_key limit 1',
  );
  return rows[0]?.uuid ?? '';
}

/** As many searches as one client may have. */
async function seedSearchesOfClient(database: Database): Promise<void> {
  await database.query(
    `insert into searches (id, client_id, title, title_folded, members, notification_enabled, subscribed_events,
       hide_property_contact, token)
     select gen_random_uuid(), id, 'x', 'x', jsonb_build_object('title', 'x', 'transactionType', n % 2, 'budgetMax',
       100000 + n * 7, 'surfaceMin', n % 120, 'includedDepartments', jsonb_build_array(lpad((1 + n % 95)::text, 2, '0'))),
       false, '{}', false, 'whsec_' || n
     from clients, generate_series(1, $1::integer) n where name = 'asking'`,
    [SEARCHES_OF_CLIENT],
  );
}

function send(url: string, key: string, body?: object): Promise<Response> {
  const headers = { 'X-API-KEY': key, 'Content-Type': 'application/json' };
  return fetch(url, body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) });
}

const post = ({ server, key }: Asking, path: string, body: object) =>
  answered(() => send(server.url + path, key, body));
const get = ({ server, key }: Asking, path: string) => answered(() => send(server.url + path, key));

/** Retries if told to, because on a busy machine a statement may exceed its limit of two seconds. */
async function answered(ask: () => Promise<Response>): Promise<unknown> {
  const answer = await ask();
  const body: unknown = await answer.json();
  if (answer.status === 429) {
    await wait(1_000 * Number(answer.headers.get('Retry-After')));
    return answered(ask);
  }
  if (!answer.ok) throw new Error(`${answer.url} ${answer.status}: ${JSON.stringify(body)}`);
  return body;
}

/** Runs the requests one after another. */
async function timed({ server }: Asking, ask: () => Promise<unknown>, rounds = ROUNDS) {
  const answer = (await ask()) as Readonly<Record<string, unknown>>;
  await standstill(server);
  const latencies: Latencies = [];
  for (let i = 0; i < rounds; i++) {
    const startedAtMs = performance.now();
    await ask();
    latencies.push(performance.now() - startedAtMs);
  }
  const found = answer.satisfiedNow ?? answer['hydra:totalItems'];
  const figures = { found, estimated: answer.estimated, ...percentilesOf(latencies), ...(await standstill(server)) };
  return { latencies, figures };
}

interface Standstill {
  readonly standstillMs: number;
  /** The longest CPU time of the thread between two samples (server.ts). */
  readonly busyMs: number;
}

/** The longest blocking of the event loop since the previous call. */
async function standstill(server: Served): Promise<Standstill> {
  const { standstillMs, busyMs } = await tellServer<Standstill>(server, 'standing');
  return { standstillMs: rounded(standstillMs), busyMs: rounded(busyMs) };
}

let asked = 0;

/** Resolves with the answer to this message, recognised by its id. */
function tellServer<Answer>({ process }: Served, message: unknown): Promise<Answer> {
  const id = asked++;
  return new Promise((resolve) => {
    const hear = (answer: Answer & { readonly id?: number }): void => {
      if (answer.id !== id) return;
      process.off('message', hear);
      resolve(answer);
    };
    process.on('message', hear);
    process.setMaxListeners(0);
    process.send({ id, message });
  });
}

function percentilesOf(latencies: Latencies) {
  const sorted = latencies.toSorted((a, b) => a - b);
  const at = (share: number): number =>
    rounded(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);
  return { count: sorted.length, p50Ms: at(0.5), p99Ms: at(0.99) };
}

function rounded(milliseconds: number): number {
  return Number(milliseconds.toFixed(1));
}
