/**
 * Faults in the code that builds a recording transaction, and in statements of recordings, claims, outcomes and
 * retries. The tables then have all rows or none, and the next try gives the right state.
 */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { IntakeMessage } from '../../src/engine/domain/intake-message.ts';
import { NO_MEDIANS } from '../../src/engine/domain/market-prices.ts';
import { SEARCH_DEFAULTS } from '../../src/engine/domain/search.ts';
import { createRecorder, type RecordedEntry, type RecorderDependencies } from '../../src/engine/intake/recorder.ts';
import { createClient } from '../../src/engine/store/clients.ts';
import { type Database, type DatabasePool } from '../../src/engine/store/database.ts';
import { createSearch } from '../../src/engine/store/searches.ts';
import { nextOrigin, PRICE_HELD, resolveToulon, TOULON, upsertAt } from '../support/adverts.ts';
import { openDeliveryStage } from '../support/courier.ts';
import { openTestDatabase } from '../support/database.ts';
import { numberedUuid } from '../support/intake.ts';
import { valuesOf } from '../support/lists.ts';
import { ownDatabase } from '../support/own-database.ts';
import { openRecording } from '../support/question-scene.ts';
import { seedDeliveries, seedSearch } from '../support/seeded-deliveries.ts';
import { RECOVERY_MAX_MS, untilIs } from '../support/until.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const TERM = '0/00000001';
const BOUNDS = { advertsMax: 200, bytesMax: 8_388_608, batchBytesMax: 16_777_216, waitingMax: 64 };
const TABLES = ['properties', 'events', 'matches', 'snapshots', 'deliveries', 'open_deliveries', 'dead_letters'];

/** Counts down to the step that fails; negative if no step fails. */
interface Fault {
  in: number;
}

const NEVER: Fault = { in: -1 };

class InjectedError extends Error {}

function step(fault: Fault): void {
  fault.in -= 1;
  if (fault.in === -1) throw new InjectedError('injected');
}

/** Makes each statement of a transaction a step. A failing statement is not sent, or PostgreSQL refuses it. */
function faulty(database: DatabasePool, fault: Fault, kind: 'unsent' | 'refused'): Database {
  return {
    query: database.query.bind(database),
    async connect() {
      const client = await database.connect();
      const { query } = client;
      const pass = query.bind(client) as (...statement: unknown[]) => unknown;
      const fail = (statement: unknown, ...rest: unknown[]): unknown => {
        if (statement === 'rollback') return pass(statement, ...rest);
        try {
          step(fault);
        } catch (error) {
          if (kind === 'unsent') throw error;
          return pass('select 1 / 0', ...rest.filter((each) => typeof each === 'function'));
        }
        return pass(statement, ...rest);
      };
      return new Proxy(client, { get: (target, member) => (member === 'query' ? fail : Reflect.get(target, member)) });
    },
  };
}

/** A picture whose serialisation is a step. */
const picture = (fault: Fault) =>
  ({
    toJSON() {
      step(fault);
      return 'https://portal.example/1.jpg';
    },
  }) as unknown as string;

function messagesOf(from: number, price: number, fault: Fault): readonly IntakeMessage[] {
  return [1, 2, 3].map((number) => {
    const message = upsertAt(from, {
      propertyUuid: numberedUuid('property', number),
      advertUuid: numberedUuid('advert', number),
      property: { transactionType: 0, propertyType: 0, city: { insee: TOULON.insee, zipcode: null, name: null } },
      advert: { title: 'Appartement', price, surface: 50 },
    });
    // Added afterwards, because the digest of the test message serialises its advert.
    return { ...message, advert: { ...message.advert, pictures: [picture(fault)] } };
  });
}

const LETTER = { stream: 'ADVERTS', sequence: 1, subject: 'adverts', headers: {}, bytes: Buffer.from('x') };

const entriesOf = (messages: readonly IntakeMessage[]): readonly RecordedEntry[] =>
  messages.map((message) => ({ message, origin: nextOrigin(), bytes: 100, traceparent: null, letter: LETTER }));

/** A dead letter whose headers are a step. */
function letterOf(sequence: number, fault: Fault) {
  const headers = {
    get traced() {
      step(fault);
      return 'yes';
    },
  };
  return { ...LETTER, sequence, headers, reason: 'rejected', failedKey: null };
}

async function openScene(t: TestContext) {
  const database = openTestDatabase(t, await ownDatabase(t), 4, 'pipeline');
  const client = await createClient(database, { name: 'tests', rateLimitPerSecond: null, rateLimitBurst: null });
  await createSearch(database, client.id, {
    ...SEARCH_DEFAULTS,
    title: 'Toulon',
    includedInseeCodes: [TOULON.insee],
    withCoherentPrice: null,
    notificationEnabled: true,
    endpointRecipient: 'https://client.example/matches',
    eventEndpoint: 'https://client.example/events',
    subscribedEvents: ['ad.update.price', 'property.ad.update'],
  });
  const { matcher } = await openRecording(t, database, resolveToulon);
  return { database, matcher };
}

async function contentsOf(database: Database): Promise<Record<string, string>> {
  const contents: Record<string, string> = {};
  for (const table of TABLES) {
    const { rows } = await database.query<{ hash: string }>(
      `select count(*) || ' ' || coalesce(md5(string_agg(each::text, ',' order by each::text)), '') as hash from ${table} each`,
    );
    contents[table] = rows[0]?.hash ?? '';
  }
  return contents;
}

type Arrange = (
  fault: Fault,
  scene: Awaited<ReturnType<typeof openScene>>,
) => Partial<Pick<RecorderDependencies, 'database' | 'matcher' | 'resolvePlace' | 'clock'>>;

const ARRANGED: Readonly<Record<string, Arrange>> = {
  'a statement that cannot be sent': (fault, { database }) => ({ database: faulty(database, fault, 'unsent') }),
  'a statement that PostgreSQL refuses': (fault, { database }) => ({ database: faulty(database, fault, 'refused') }),
  'matching, resolving a place, or the clock': (fault, { matcher }) => ({
    matcher: {
      notifying: matcher.notifying,
      match(facts) {
        step(fault);
        return matcher.match(facts);
      },
    },
    resolvePlace(place) {
      step(fault);
      return resolveToulon(place);
    },
    clock() {
      step(fault);
      return new Date();
    },
  }),
  'putting texts together': () => ({}),
};

for (const [what, arrange] of Object.entries(ARRANGED)) {
  test(`if recording fails in ${what}, no row of it remains, and the next try gives the right state`, async (t) => {
    const scene = await openScene(t);
    const { database, matcher } = scene;
    const standing = {
      matcher,
      medians: () => NO_MEDIANS,
      resolvePlace: resolveToulon,
      bounds: BOUNDS,
      clock: () => new Date(),
      database,
    };
    const record = createRecorder(standing);
    let price = 200_000;
    let failures = 0;
    for (let fails = true, at = 0; fails; at++) {
      price += 1_000;
      const before = await contentsOf(database);
      const fault: Fault = { in: -1 };
      const inTexts = what.startsWith('putting') ? fault : NEVER;
      const failing = createRecorder({ ...standing, ...arrange(fault, scene) });
      const messages = messagesOf(at, price, inTexts);
      fault.in = at;
      const error = await failing(TERM, entriesOf(messages), [letterOf(at, inTexts)]).then(
        () => null,
        (thrown: Error) => thrown,
      );
      fails = error !== null;
      if (error !== null) {
        failures += 1;
        assert.match(error.message + String(error.cause), /injected|division by zero/);
        assert.deepEqual(await contentsOf(database), before, `${what} ${at}: ${error.stack}`);
        fault.in = -1;
        await record(TERM, entriesOf(messages), []);
      }
      const { rows } = await database.query<{ price: number; snapshots: number; deliveries: number }>(
        `select ${PRICE_HELD} as price,
           (select count(*)::integer from snapshots) as snapshots,
           (select count(*)::integer from delivery_states where exists (
             select from snapshots where snapshots.id = snapshot_id)) as deliveries
         from properties`,
      );
      assert.deepEqual(valuesOf(rows, 'price'), [price, price, price]);
      // A property has one match delivery, then two event deliveries for each change; each change has one snapshot.
      assert.equal(rows[0]?.snapshots, 3 * (at + 1));
      assert.equal(rows[0]?.deliveries, 3 + 6 * at);
    }
    assert.ok(failures > 5, `${failures} steps failed`);
  });
}

for (const when of ['before it took effect', 'after it took effect'] as const) {
  test(`a claim or an outcome whose statement fails ${when} is repaired, and every attempt is counted once`, async (t) => {
    const receiver = await startWebhookReceiver(t);
    const stage = await openDeliveryStage(t, { retryDelayMs: 60_000 });
    const search = await seedSearch(stage.database);
    const due = await seedDeliveries(
      stage.database,
      search,
      Array.from({ length: 12 }, (_, number) => receiver.urlOf(`/${number % 4}`)),
      'one match',
    );
    const failed = failEveryOther(stage.database, when);
    await stage.start();
    stage.announcer.announce(due);
    await receiver.until((posts) => posts.length >= due.length, RECOVERY_MAX_MS);
    await stage.untilAllEnded();
    const { rows } = await stage.database.query<{ state: string; attempt_count: number; logged: number }>(
      `select state, attempt_count, (select count(*)::integer from attempts where delivery_id = id) as logged
       from delivery_states`,
    );
    assert.equal(rows.length, due.length);
    for (const row of rows) assert.deepEqual(row, { state: 'delivered', attempt_count: 1, logged: 1 });
    assert.equal(receiver.posts.length, due.length);
    for (const name of ['claim', 'settle']) assert.ok((failed.get(name) ?? 0) >= 2, name);
    assert.deepEqual(stage.repairs, { missing: [], aborted: [] });
    await untilIs(
      async () =>
        (
          await stage.database.query(
            'select last_alert_at = (select max(finished_at) from delivery_states) as is from searches',
          )
        ).rows[0].is,
      true,
      RECOVERY_MAX_MS,
    );
  });
}

for (const when of ['before it took effect', 'after it took effect'] as const) {
  test(`a retry whose statement fails ${when} is made once`, async (t) => {
    const receiver = await startWebhookReceiver(t);
    const stage = await openDeliveryStage(t, { retryDelayMs: 500 });
    const paths = Array.from({ length: 8 }, (_, number) => `/${number}`);
    for (const path of paths) {
      receiver.script(path, { type: 'answer', status: 500 }, { type: 'answer', status: 200 });
    }
    const search = await seedSearch(stage.database);
    const due = await seedDeliveries(stage.database, search, paths.map(receiver.urlOf));
    const failed = failEveryOther(stage.database, when);
    await stage.start();
    stage.announcer.announce(due);
    await stage.untilAllEnded();
    const { rows } = await stage.database.query('select distinct state, attempt_count from delivery_states');
    assert.deepEqual(rows, [{ state: 'delivered', attempt_count: 2 }]);
    assert.equal(receiver.posts.length, 2 * paths.length);
    assert.ok((failed.get('release-retries') ?? 0) >= 1);
    assert.deepEqual(stage.repairs.aborted, []);
  });
}

/** Makes every other statement of each kind fail: it is not executed, or its answer is lost. */
function failEveryOther(database: Database, when: string): ReadonlyMap<string, number> {
  const [seen, failed] = [new Map<string, number>(), new Map<string, number>()];
  const away = (): Error => Object.assign(new Error('away'), { code: '57P01' });
  const isToFail = (name: string): boolean => {
    const count = (seen.get(name) ?? 0) + 1;
    seen.set(name, count);
    if (count % 2 === 1) failed.set(name, (failed.get(name) ?? 0) + 1);
    return count % 2 === 1;
  };
  const { query, connect } = database;
  Object.assign(database, {
    async query(statement: { readonly name?: string }, ...rest: unknown[]) {
      const { name } = statement;
      const run = query.bind(database) as (...all: unknown[]) => Promise<unknown>;
      if (name === undefined || !isToFail(name)) return run(statement, ...rest);
      if (when === 'after it took effect') await run(statement, ...rest);
      throw away();
    },
    async connect(lend?: unknown) {
      // The pool calls `connect` in this way for a single statement.
      if (lend !== undefined) return Reflect.apply(connect, database, [lend]);
      const client = await connect.call(database);
      let last = '';
      const run = client.query.bind(client) as (...all: unknown[]) => Promise<unknown>;
      const lent = Object.create(client, {
        query: {
          value(statement: string | { readonly name?: string }, ...rest: unknown[]) {
            if (typeof statement !== 'string' && statement.name !== undefined) last = statement.name;
            if (statement !== 'commit' || !['claim', 'release-held'].includes(last)) return run(statement, ...rest);
            if (!isToFail(last === 'release-held' ? 'settle' : last)) return run(statement, ...rest);
            if (when === 'before it took effect') return Promise.reject(away());
            return run(statement, ...rest).then(() => Promise.reject(away()));
          },
        },
        on: { value: client.on.bind(client) },
        off: { value: client.off.bind(client) },
        release: { value: client.release.bind(client) },
      });
      return lent;
    },
  });
  return failed;
}
