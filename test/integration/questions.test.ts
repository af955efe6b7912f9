/** Previews compared with an evaluation of every property, and the limits of queries. */

import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { createRandom } from '../../bench/adverts/seeded-random.ts';
import { createWorkerThread } from '../../src/engine/actor/worker-thread.ts';
import { removableCriteria, satisfies, withoutCriterion } from '../../src/engine/domain/criteria.ts';
import { CRITERIA, CRITERION_NAMES } from '../../src/engine/domain/criterion-table.ts';
import type { IntakeMessage } from '../../src/engine/domain/intake-message.ts';
import { parisDayOf } from '../../src/engine/domain/mail.ts';
import { criteriaOf, SEARCH_DEFAULTS } from '../../src/engine/domain/search.ts';
import { listSiteCategories } from '../../src/engine/store/site-categories.ts';
import { type QueryTools, satisfiedSince } from '../../src/features/explanations/examination.ts';
import { previewFigures } from '../../src/features/explanations/preview-figures.ts';
import { sampleStartAt } from '../../src/features/explanations/property-scans.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { valuesOf } from '../support/lists.ts';
import { knownProperties, randomMembers, sampleMessages } from '../support/question-scene.ts';
import { startRecordedApi } from '../support/recorded-api.ts';
import { until, untilIs } from '../support/until.ts';

/** The long tests increase both numbers. */
const SEARCHES = Number(process.env.QUESTIONS_SEARCHES ?? 15);
const ADVERTS = Number(process.env.QUESTIONS_ADVERTS ?? 1_000);
const START = new Date('2026-03-01T08:00:00Z');
const NOW = new Date('2026-03-11T08:00:00Z');
const FIRST = new Date('2026-03-01T20:00:00Z');

const { api, scene } = await startRecordedApi({ after }, { overrides: { now: () => NOW } });
await scene.record(sampleMessages(7, api.reference, ADVERTS, START).map(withGaps));
const medians = await scene.computeMedians();
const properties = await knownProperties(api.database, api.reference.resolvePlace, medians);
const names = new Map((await listSiteCategories(api.database)).map(({ id, name }) => [id, name]));
const siteCategoryName = (id: number) => names.get(id) ?? null;
const categories = names.size;

/** Removes most facts from every fifth property. */
function withGaps(message: IntakeMessage): IntakeMessage {
  if (message.kind === 'expire' || !/^[0-2]/.test(message.propertyUuid)) return message;
  const { property, advert } = message;
  const [nowhere, unmeasured] = [
    { city: null, locations: null },
    { room: null, price: null, surface: null, pricePerMeter: null, propertyType: null, transactionType: null },
  ];
  return {
    ...message,
    property: { ...property, ...(message.propertyUuid < '1' ? nowhere : unmeasured) },
    advert: message.propertyUuid < '1' ? advert : { ...advert, price: null, surface: null },
  };
}

const tools = (sampleStart = 0): QueryTools => ({
  database: api.database,
  sampleStart,
  medians,
  cancelled: new AbortController().signal,
});

describe('a preview', () => {
  it('has the same counts as an evaluation of every property', async () => {
    const random = createRandom(31);
    const seen = new Set<string>();
    let found = 0;
    for (let i = 0; i < SEARCHES; i++) {
      const members = randomMembers(random, properties, categories);
      const orMissing = CRITERION_NAMES.filter(() => random.chance(0.3));
      const criteria = criteriaOf({ ...members, orMissing }, siteCategoryName);
      for (const criterion of CRITERIA) if (criterion.isSet(criteria)) seen.add(criterion.name);
      const figures = await previewFigures({ criteria, days: 30, sampleMax: 20, placesMax: 5, now: NOW }, tools());
      const satisfied = properties.filter(({ facts }) => satisfies(criteria, facts));
      found += satisfied.length;
      const what = JSON.stringify(criteria);
      assert.equal(figures.satisfiedNow, satisfied.length, what);
      assert.deepEqual([figures.estimated, figures.margin], [false, 0]);
      for (const { criterion, satisfiedNow, estimated } of figures.withoutCriterion) {
        const wider = withoutCriterion(criteria, criterion);
        assert.equal(
          satisfiedNow,
          properties.filter(({ facts }) => satisfies(wider, facts)).length,
          `${criterion} ${what}`,
        );
        assert.equal(estimated, false);
      }
      assert.deepEqual(valuesOf(figures.withoutCriterion, 'criterion'), removableCriteria(criteria));
      const since = satisfied
        .map((one) => ({ uuid: one.uuid, satisfiedSince: satisfiedSince(criteria, one, medians) }))
        .sort((a, b) =>
          a.satisfiedSince === b.satisfiedSince
            ? a.uuid < b.uuid
              ? -1
              : 1
            : a.satisfiedSince < b.satisfiedSince
              ? 1
              : -1,
        );
      assert.deepEqual(figures.sample, since.slice(0, 20));
      for (const { date, count } of figures.startedPerDay) {
        assert.equal(count, since.filter(({ satisfiedSince: at }) => parisDayOf(new Date(at)) === date).length);
      }
      assert.equal(figures.startedPerDay.at(-1)?.date, '2026-03-11');
      assert.equal(figures.startedPerDay.length, 30);
      // The first advert came ten days before. That day does not count: it brought the initial properties.
      assert.equal(figures.knownSince, '2026-03-01');
      const later = since.filter(({ satisfiedSince: at }) => parisDayOf(new Date(at)) > '2026-03-01');
      assert.equal(figures.perDay, Number((later.length / 10).toFixed(3)));
      const firstDay = await previewFigures({ criteria, days: 30, sampleMax: 0, placesMax: 0, now: FIRST }, tools());
      assert.deepEqual([firstDay.knownSince, firstDay.perDay], ['2026-03-01', null]);
      assert.equal(figures.places.length, Math.min(5, satisfied.length));
      for (const { lat, lon } of figures.places)
        assert.ok(satisfied.some(({ facts }) => facts.lat === lat && facts.lon === lon));
    }
    assert.ok(found > SEARCHES);
    for (const name of ['expressions', 'areas', 'excludedAreas', 'withCoherentPrice', 'budget'])
      assert.ok(seen.has(name));
  });

  it('accepts the body of a search, and stores nothing', async () => {
    const body = { transactionType: 0, budgetMax: 300_000, expressions: [{ word: 'balcon' }] };
    const { status, body: preview } = await api.call('POST', '/searches/preview?days=5&sample=3', body);
    assert.equal(status, 200);
    assert.equal(preview.startedPerDay.length, 5);
    assert.ok(preview.sample.length <= 3 && preview.satisfiedNow >= preview.sample.length);
    // Null, because the service has data for all five days.
    assert.equal(preview.knownSince, null);
    assert.deepEqual(preview.places, []);
    const { body: shown } = await api.call('POST', '/searches/preview?places=2000', {
      ...{ ...body, lat: 46, lon: 2, radius: 500 },
    });
    assert.equal(shown.estimated, false);
    assert.equal(shown.places.length, shown.satisfiedNow);
    const centres = shown.places.filter(
      ([lon, lat]: number[]) => !properties.some(({ facts }) => facts.lon === lon && facts.lat === lat),
    );
    assert.ok(centres.length < shown.places.length / 2, `${centres.length} of ${shown.places.length}`);
    assert.equal((await api.call('GET', '/searches')).body['hydra:totalItems'], 0);
    assert.equal(api.changes.count, 0);
  });

  it('has the violations of saving, but needs no title', async () => {
    const wrong = {
      titel: 'x',
      budgetMin: 5,
      budgetMax: 2,
      includedCities: ['/cities/1'],
      endpointRecipient: 'ftp://x',
    };
    const [saved, tried] = [
      await api.call('POST', '/searches', { ...wrong, title: 'x' }),
      await api.call('POST', '/searches/preview', wrong),
    ];
    assert.equal(tried.status, 422);
    assert.deepEqual(tried.body.violations, saved.body.violations);
    assert.equal((await api.call('POST', '/searches/preview', {})).status, 200);
  });
});

describe('queries', () => {
  it('that take too long are cancelled and answered 429', async (t) => {
    const other = await startTestApi(t, { queryBounds: { statementTimeoutMs: 50 } });
    await withLockedSummaries(other, async () => {
      const { status, headers } = await other.call('POST', '/searches/preview', {});
      assert.equal(status, 429);
      assert.ok(headers.get('Retry-After'));
    });
    await untilIs(async () => (await other.call('POST', '/searches/preview', {})).status, 200);
  });

  it('of a client that disconnects end immediately, with their statements', async (t) => {
    const other = await startTestApi(t);
    const headers = { 'X-API-KEY': other.key, 'Content-Type': 'application/json' };
    await withLockedSummaries(other, async (countWaiting) => {
      const leaving = new AbortController();
      const asked = [1, 2].map(() => {
        const { signal } = leaving;
        return fetch(`${other.baseUrl}/searches/preview`, { method: 'POST', body: '{}', headers, signal });
      });
      await untilIs(countWaiting, 2);
      leaving.abort();
      for (const one of asked) await assert.rejects(one);
      await untilIs(countWaiting, 0);
    });
    // The client has both of its query slots again once the service knows that its statements have ended.
    await until(
      () => Promise.all([1, 2].map(() => other.call('POST', '/searches/preview', {}))),
      (answers) => answers.every(({ status }) => status === 200),
    );
  });

  it('in progress when their thread failed are refused with a time to try again', async (t) => {
    const entry = new URL('../support/counting-thread', import.meta.url);
    const thread = createWorkerThread({ entry, settings: null, heapMaxMb: 64, onLost: () => undefined });
    t.after(thread.stop);
    const other = await startTestApi(t, { askThread: () => thread.ask('exit') });
    const { status, headers, body } = await other.call('POST', '/searches/preview', {});
    assert.equal(status, 503);
    assert.ok(headers.get('Retry-After'));
    assert.match(body.detail, /Try again/);
    assert.equal((await other.call('GET', '/searches')).status, 200);
  });
});

/** While `work` runs, statements that read summaries have to wait. */
async function withLockedSummaries(
  { database }: TestApi,
  work: (countWaiting: () => Promise<number>) => Promise<void>,
): Promise<void> {
  const connection = await database.connect();
  try {
    await connection.query('begin');
    await connection.query('lock table property_summaries in access exclusive mode');
    await work(async () => {
      const { rows } = await database.query<{ count: number }>(
        `select count(*)::integer as count from pg_stat_activity
         where wait_event_type = 'Lock' and datname = current_database()`,
      );
      return rows[0]?.count ?? 0;
    });
  } finally {
    await connection.query('rollback');
    connection.release();
  }
}

describe('a preview from a sample', () => {
  const COPIES = 40_000;
  const HOURS = process.env.QUESTIONS_SEARCHES === undefined ? 12 : 48;

  /**
   * Copies every live property. Each copy has its own position in the sample, the same in every run: samples of two
   * hours share properties and so their errors.
   */
  async function copySummaries(): Promise<void> {
    await api.database.query(
      `select setseed(0.5);
       insert into property_summaries select gen_random_uuid(), keys, location, (random() * 4294967295 - 2147483648)::integer,
         is_live, department_code, insee_code, transaction_type, property_type, price, price_per_meter, surface,
         land_surface, room, bedroom, furnished, facts
       from (select *, row_number() over (order by property_uuid) as place from property_summaries where is_live) one
       join generate_series(1, ${COPIES}) copy on copy % (select count(*) from property_summaries where is_live) + 1 = place`,
    );
  }

  it('is usually within its margin of the true number, and takes another sample each hour', async () => {
    await copySummaries();
    const criteria = criteriaOf({ ...SEARCH_DEFAULTS, title: 'x', transactionType: 0, budgetMax: 300_000 }, () => null);
    const { rows } = await api.database.query<{ count: number }>(
      `select count(*)::integer as count from property_summaries
       where is_live and transaction_type = 0 and price <= 300000`,
    );
    const truth = rows[0]?.count ?? 0;
    const answers = new Set<number>();
    let within = 0;
    for (let hour = 0; hour < HOURS; hour++) {
      const start = sampleStartAt(new Date(START.getTime() + hour * 3_600_000));
      const query = { criteria, days: 1, sampleMax: 0, placesMax: 0, now: START };
      const { satisfiedNow, margin, estimated } = await previewFigures(query, tools(start));
      assert.ok(estimated && margin > 0 && margin < truth / 4, `${margin} of ${truth}`);
      answers.add(satisfiedNow);
      if (Math.abs(satisfiedNow - truth) <= margin) within += 1;
    }
    // Each estimate has a confidence of 95 %.
    assert.ok(within >= (HOURS * 5) / 6, `${within} of ${HOURS}`);
    assert.ok(answers.size > HOURS / 4, `${answers.size} different answers`);
  });
});
