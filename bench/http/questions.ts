/**
 * Previews and near-misses on many live properties, with a recorder beside that takes in changes as fast as it can: how
 * long each kind of search takes, how long the server's event loop stood still at most meanwhile, and what the recorder
 * does with and without them.
 */

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createSampleCrawler, type SampleCrawler } from '../../src/cli/demo/sample-adverts.ts';
import { applyMessage, type HeldProperty } from '../../src/domain/change.ts';
import { decodeIntakeMessage, type IntakeMessage } from '../../src/domain/intake-message.ts';
import { readingOf } from '../../src/domain/property-document.ts';
import { loadReference, type Reference } from '../../src/reference/communes.ts';
import { createApiKey, createClient } from '../../src/store/clients.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { writeMedians } from '../../src/store/market-medians.ts';
import { insertProperties, readMarketPrices } from '../../src/store/properties.ts';
import { insertDigests } from '../../src/store/property-digests.ts';
import { openRecording, type RecordingScene } from '../../test/support/question-scene.ts';
import { runStatements } from '../../test/support/statements.ts';

interface Served {
  readonly url: string;
  readonly process: ChildProcess;
  readonly stop: () => Promise<void>;
}

/** Adverts may still change as long as the crawler remembers them. */
const CHANGING = 20_000;
const INSERTED_AT_ONCE = 500;
const CHANGES_AT_ONCE = 64;
/** Of each property that is made; made ones take a while. */
const COPIES = 10;
const ROUNDS = 10;
const EXPLAINED_ROUNDS = 3;

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

/** `tell`: hears of each figure as it is known. */
export async function benchQuestions(
  databaseUrl: string,
  count: number,
  serve: () => Promise<Served>,
  tell: (line: string) => void,
) {
  const reference = await loadReference();
  const database = openDatabase({
    url: databaseUrl,
    connectionsMax: 4,
    plans: 'pipeline',
    onConnectionLost: () => undefined,
  });
  const crawler = createSampleCrawler({
    seed: 21,
    reference,
    startAt: new Date(Date.now() - 86_400_000),
    heldMax: CHANGING,
  });
  const cleanups: (() => Promise<void>)[] = [];
  try {
    await seedProperties(database, reference, crawler, Math.round(count / COPIES));
    await copyProperties(database);
    const recording = await openRecording(
      { after: (work) => void cleanups.push(work) },
      database,
      reference.resolvePlace,
    );
    await readMarketPrices(database, (market, price) => recording.medians.add(market, price));
    await writeMedians(database, [...recording.medians.all()]);
    const alone = await recorded(recording, crawler, 5_000);
    tell(`${alone} messages recorded a second without questions`);
    const server = await serve();
    cleanups.push(server.stop);
    const key = await questionKey(database);
    const figures: Record<string, object> = {};
    const ending = new AbortController();
    const beside = recordUntil(recording, crawler, ending.signal);
    for (const [name, search] of Object.entries(SEARCHES)) {
      const [preview, misses] = [await previews(server, key, search), await nearMisses(server, key, search)];
      figures[name] = { preview, nearMisses: misses };
      tell(`${name} ${JSON.stringify(figures[name])}`);
    }
    figures.explanations = await explanations(server, key, database);
    tell(`explanations ${JSON.stringify(figures.explanations)}`);
    ending.abort();
    return { properties: count, recordedPerSecond: alone, recordedPerSecondBeside: await beside, ...figures };
  } finally {
    for (const work of cleanups) await work();
    await database.end();
  }
}

async function seedProperties(database: Database, reference: Reference, crawler: SampleCrawler, count: number) {
  let batch = new Map<string, HeldProperty>();
  for (let i = 0; i < count; i++) {
    const message = decoded(crawler.newAdvert());
    const held = applyMessage(batch.get(message.propertyUuid) ?? null, message).held as HeldProperty;
    batch.set(message.propertyUuid, held);
    if (batch.size < INSERTED_AT_ONCE && i < count - 1) continue;
    const writes = [...batch.values()].map((each) => {
      const reading = readingOf(each.state, each.crawls, reference.resolvePlace);
      return { held: each, reading, crawls: each.crawls, priced: reading.priced, expiredAt: null };
    });
    const known = await database.query<{ uuid: string }>('select uuid from properties where uuid = any($1::uuid[])', [
      [...batch.keys()],
    ]);
    const fresh = writes.filter(({ held: { state } }) => !known.rows.some(({ uuid }) => uuid === state.uuid));
    await runStatements(database, [...insertProperties(fresh), ...insertDigests(fresh)]);
    batch = new Map();
  }
}

/** The same properties again, under other UUIDs. */
async function copyProperties(database: Database): Promise<void> {
  await database.query(
    `create unlogged table copied as
     select uuid, gen_random_uuid() as copy from properties, generate_series(2, $1::integer)`,
    [COPIES],
  );
  await database.query(
    `insert into properties (uuid, state, crawls, department_code, transaction_type, is_land, comparable_price, state_bytes,
       digested_at)
     select copy, state, crawls, department_code, transaction_type, is_land, comparable_price, state_bytes, now()
     from copied join properties using (uuid)`,
  );
  await database.query(
    `insert into property_digests
     select (d).* from (
       select jsonb_populate_record(digest, jsonb_build_object('property_uuid', copy,
         'sample_key', (random() * 4294967295 - 2147483648)::bigint)) as d
       from copied join property_digests digest on property_uuid = uuid offset 0
     ) changed`,
  );
  await database.query('drop table copied');
  await database.query('analyze');
}

function decoded(message: unknown): IntakeMessage {
  return decodeIntakeMessage(Buffer.from(JSON.stringify(message)));
}

function changesOf(crawler: SampleCrawler): readonly IntakeMessage[] {
  return Array.from({ length: CHANGES_AT_ONCE }, () => decoded(crawler.next()));
}

/** Messages a second. */
async function recorded({ record }: RecordingScene, crawler: SampleCrawler, forMs: number): Promise<number> {
  const startedAtMs = performance.now();
  let count = 0;
  for (; performance.now() - startedAtMs < forMs; count += CHANGES_AT_ONCE) await record(changesOf(crawler));
  return Math.round((count * 1_000) / (performance.now() - startedAtMs));
}

async function recordUntil(recording: RecordingScene, crawler: SampleCrawler, signal: AbortSignal): Promise<number> {
  const startedAtMs = performance.now();
  let count = 0;
  for (; !signal.aborted; count += CHANGES_AT_ONCE) await recording.record(changesOf(crawler));
  return Math.round((count * 1_000) / (performance.now() - startedAtMs));
}

async function questionKey(database: Database): Promise<string> {
  const { id } = await createClient(database, { name: 'asking', rateLimitPerSecond: 1_000_000 });
  return (await createApiKey(database, id, 'bench')).key;
}

async function previews(server: Served, key: string, search: object) {
  return timed(server, () => post(server.url, '/searches/preview', key, search));
}

async function nearMisses(server: Served, key: string, search: object) {
  const saved = (await post(server.url, '/searches', key, { title: 'bench', ...search })) as { '@id': string };
  return timed(server, () => sent(`${server.url}${saved['@id']}/near-misses`, { headers: { 'X-API-KEY': key } }));
}

const SEARCHES_OF_CLIENT = 100_000;

/** Of one property, for a client with as many searches as one may have. */
async function explanations(server: Served, key: string, database: Database) {
  await database.query(
    `insert into searches (id, client_id, title, title_folded, members, notification_enabled, subscribed_events,
       hide_property_contact, token)
     select gen_random_uuid(), id, 'x', 'x', jsonb_build_object('title', 'x', 'transactionType', n % 2, 'budgetMax',
       100000 + n * 7, 'surfaceMin', n % 120, 'includedDepartments', jsonb_build_array(lpad((1 + n % 95)::text, 2, '0'))),
       false, '{}', false, 'whsec_' || n
     from clients, generate_series(1, $1::integer) n where name = 'asking'`,
    [SEARCHES_OF_CLIENT],
  );
  const { rows } = await database.query<{ uuid: string }>('select property_uuid as uuid from property_digests limit 1');
  const path = `/explanations?property=${rows[0]?.uuid}`;
  return timed(server, () => sent(server.url + path, { headers: { 'X-API-KEY': key } }), EXPLAINED_ROUNDS);
}

async function post(url: string, path: string, key: string, body: object): Promise<unknown> {
  const headers = { 'X-API-KEY': key, 'Content-Type': 'application/json' };
  return sent(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
}

async function sent(url: string, init: RequestInit): Promise<unknown> {
  const answer = await fetch(url, init);
  const body: unknown = await answer.json();
  if (!answer.ok) throw new Error(`${url} ${answer.status}: ${JSON.stringify(body)}`);
  return body;
}

async function timed(server: Served, ask: () => Promise<unknown>, rounds = ROUNDS) {
  const answer = (await ask()) as Readonly<Record<string, unknown>>;
  await standstill(server);
  const latencies: number[] = [];
  for (let i = 0; i < rounds; i++) {
    const startedAtMs = performance.now();
    await ask();
    latencies.push(performance.now() - startedAtMs);
  }
  latencies.sort((a, b) => a - b);
  return {
    found: answer.satisfiedNow ?? answer['hydra:totalItems'],
    estimated: answer.estimated,
    p50Ms: rounded(latencies[latencies.length >> 1] ?? 0),
    maxMs: rounded(latencies.at(-1) ?? 0),
    standstillMs: rounded(await standstill(server)),
  };
}

async function standstill({ process }: Served): Promise<number> {
  process.send('standing');
  const [message] = (await once(process, 'message')) as [{ standstillMs: number }];
  return message.standstillMs;
}

function rounded(milliseconds: number): number {
  return Number(milliseconds.toFixed(1));
}
