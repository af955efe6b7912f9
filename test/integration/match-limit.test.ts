/**
 * The limit of a client's matches per advert: estimated from the stored properties when a search is saved, and
 * corrected with a sample of adverts. Only a change that increases the estimate is refused.
 */

import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { createRandom } from '../../bench/adverts/seeded-random.ts';
import { satisfies } from '../../src/engine/domain/criteria.ts';
import type { SearchNumber, Uuid } from '../../src/engine/domain/ids.ts';
import { criteriaOf, SEARCH_DEFAULTS } from '../../src/engine/domain/search.ts';
import { sampleMatches } from '../../src/engine/intake/match-sampling.ts';
import { createClient, findClientByName, updateClientSettings } from '../../src/engine/store/clients.ts';
import { migrate } from '../../src/engine/store/database.ts';
import { followMedians } from '../../src/engine/store/market-medians.ts';
import { correctMatchTotals, readSearchTotals } from '../../src/engine/store/search-totals.ts';
import { createSearch } from '../../src/engine/store/searches.ts';
import { createMatchEstimator } from '../../src/features/explanations/explanations.ts';
import { startTestApi } from '../support/api.ts';
import { connectDatabase } from '../support/database.ts';
import { copyDatabase, restoreDatabase } from '../support/database-copy.ts';
import { valuesOf } from '../support/lists.ts';
import { knownProperties, openRecording, randomMembers, sampleMessages } from '../support/question-scene.ts';
import { startTestPostgres } from '../support/servers.ts';

const HELD = 300;

const limits = { searches: 100_000, polygonCorners: 500_000, excludedWords: 100_000, matchesPerAdvert: 100 };
let prepare: ReturnType<typeof createMatchEstimator> | null = null;
const api = await startTestApi(
  { after },
  {
    settings: { searchLimits: limits },
    async prepareEstimate() {
      prepare ??= createMatchEstimator(api.database);
      return prepare();
    },
  },
);

async function clientNamed(name: string): Promise<Uuid> {
  return (await findClientByName(api.database, name))?.id as Uuid;
}

const totalOf = async (name: string): Promise<number> =>
  (await readSearchTotals(api.database, await clientNamed(name))).matchesPerAdvert;

function caller(key: string) {
  return (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
    api.call(method, path, body, { key, headers });
}

describe('a client', () => {
  it('may have searches without criteria up to the limit, even if no property is stored', async () => {
    const call = caller(await api.newClient('greedy'));
    const post = () => call('POST', '/searches', { title: 'x' });
    const statuses = valuesOf(await Promise.all(Array.from({ length: 100 }, post)), 'status');
    assert.deepEqual([...new Set(statuses)], [201]);
    const { body } = await post();
    assert.deepEqual(
      [body.type, body.limit, body.maximum, body.used],
      ['/docs.jsonld#LimitReached', 'matchesPerAdvert', 100, 100],
    );
    assert.match(
      body.detail,
      /^You may have 100 matches per advert in total, and have 100 by estimate; this would add 1\. Remove some/,
    );
    assert.equal(await totalOf('greedy'), 100);
  });

  it('has exactly the limit that operators set, for simultaneous requests with and without an idempotency key', async () => {
    const call = caller(await api.newClient('two hundred at once', { matchesPerAdvertMax: 7 }));
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, at) =>
        call('POST', '/searches', { title: 'x' }, at % 2 === 0 ? {} : { 'Idempotency-Key': `${at}` }),
      ),
    );
    assert.equal(answers.filter(({ status }) => status === 201).length, 7);
    assert.equal(await totalOf('two hundred at once'), 7);
  });

  it('above the limit may narrow, rename and delete searches, and widen them again only within the limit', async () => {
    const key = await api.newClient('full', { matchesPerAdvertMax: 2 });
    const call = caller(key);
    const paths: string[] = [];
    for (let made = 0; made < 2; made++) {
      paths.push((await call('POST', '/searches', { title: 'x' })).headers.get('Location') as string);
    }
    const [first = '', second = ''] = paths;
    // This API simulates another process, which has not cached the former limit.
    await updateClientSettings(api.database, await clientNamed('full'), { matchesPerAdvertMax: 1 });
    const other = await startTestApi(
      { after },
      {
        database: api.database,
        prepareEstimate: createMatchEstimator(api.database),
      },
    );
    const call2 = async (method: string, path: string, body?: object) =>
      (await other.call(method, path, body, { key })).status;
    assert.equal(await call2('PATCH', first, { title: 'y' }), 200);
    assert.equal(await call2('PUT', first, { title: 'z', notificationEnabled: false }), 200);
    // No stored property satisfies this search.
    assert.equal(await call2('PATCH', first, { budgetMax: 1 }), 200);
    assert.equal(await totalOf('full'), 1);
    assert.equal(await call2('PATCH', first, { budgetMax: null }), 403);
    assert.equal(await call2('PATCH', first, { budgetMax: 2 }), 200);
    assert.equal(await call2('POST', '/searches', { title: 'x' }), 403);
    assert.equal(await call2('POST', '/searches', { title: 'x', budgetMax: 1 }), 201);
    assert.equal(await call2('DELETE', second), 204);
    assert.equal(await totalOf('full'), 0);
    assert.equal(await call2('PATCH', first, { budgetMax: null }), 200);
    assert.equal(await totalOf('full'), 1);
  });
});

describe('the estimate', () => {
  it('counts the stored properties that satisfy the search', async () => {
    const scene = await openRecording({ after }, api.database, api.reference.resolvePlace);
    await scene.record(sampleMessages(7, api.reference, HELD, new Date('2026-03-01T00:00:00Z')));
    const medians = await followMedians(api.database).renew();
    const known = await knownProperties(api.database, api.reference.resolvePlace, medians);
    const estimate = await createMatchEstimator(api.database)();
    const random = createRandom(3);
    let found = 0;
    for (let tried = 0; tried < 200; tried++) {
      // Neither the categories nor all texts are in the sample.
      const unestimated = { includedSiteCategories: [], expressions: null };
      const drawn = randomMembers(random, known, 1);
      const alternatives = drawn.alternatives.map((each) => ({ ...each, ...unestimated }));
      const members = { ...drawn, alternatives, ...unestimated, excludedSiteCategories: [] };
      const criteria = criteriaOf(members, () => null);
      const expected = known.filter(({ facts }) => facts.adverts.length > 0 && satisfies(criteria, facts)).length;
      found += expected;
      const isBare = isDeepStrictEqual(
        { ...members, withCoherentPrice: true },
        { ...SEARCH_DEFAULTS, title: 'seeded' },
      );
      if (!isBare) assert.equal(await estimate(members), expected, JSON.stringify(members));
    }
    assert.ok(found > 1_000);
    const word = async (expressions: string) => estimate({ ...SEARCH_DEFAULTS, title: 'x', expressions });
    const house = 'expressions[0][0][word]=maison&expressions[0][0][options][includes]=';
    const [has, hasNot] = [await word(`${house}true`), await word(`${house}false`)];
    assert.ok(has > 10 && hasNot > 10, `${has} ${hasNot}`);
    assert.ok(Math.abs(has + hasNot - known.filter(({ facts }) => facts.adverts.length > 0).length) <= 1);
  });

  it('uses the same stored properties for a minute, and then reads them again', async () => {
    let nowMs = 0;
    let reads = 0;
    const counting = {
      query: (...args: Parameters<typeof api.database.query>) => {
        reads += 1;
        return api.database.query(...args);
      },
    } as unknown as typeof api.database;
    const prepareAt = createMatchEstimator(counting, () => nowMs);
    await Promise.all(Array.from({ length: 50 }, () => prepareAt()));
    const once = reads;
    nowMs = 59_999;
    await prepareAt();
    assert.equal(reads, once);
    nowMs = 60_000;
    await prepareAt();
    assert.equal(reads, 2 * once);
  });

  it('is computed again after a failure', async () => {
    let isFailing = true;
    const failing = {
      query: (...args: Parameters<typeof api.database.query>) =>
        isFailing ? Promise.reject(new Error('gone')) : api.database.query(...args),
    } as unknown as typeof api.database;
    const prepareAt = createMatchEstimator(failing);
    await assert.rejects(prepareAt(), /gone/);
    isFailing = false;
    assert.equal(await (await prepareAt())({ ...SEARCH_DEFAULTS, title: 'x' }), 1_000);
  });
});

describe('the sample of adverts', () => {
  it('contains one advert in a hundred, and restarts when it is read', () => {
    const [one, two] = [1, 2] as unknown as [SearchNumber, SearchNumber];
    const sampling = sampleMatches(() => [one, two]);
    for (let judged = 0; judged < 250; judged++) sampling.match({} as never);
    assert.deepEqual(sampling.flush(), {
      adverts: 2,
      matched: new Map([
        [one, 2],
        [two, 2],
      ]),
    });
    assert.deepEqual(sampling.flush(), { adverts: 0, matched: new Map() });
  });

  it('moves a client’s total towards the matches found, and removes them with the searches', async () => {
    await api.newClient('sampled');
    const id = await clientNamed('sampled');
    const numbers: SearchNumber[] = [];
    for (let made = 0; made < 40; made++) {
      const members = { ...SEARCH_DEFAULTS, title: 'x', budgetMax: made };
      numbers.push((await createSearch(api.database, id, members)).number);
    }
    const correct = (each: number) =>
      correctMatchTotals(api.database, { adverts: 200, matched: new Map(numbers.map((one) => [one, each])) });
    await correct(200);
    assert.equal(await totalOf('sampled'), 20);
    for (let term = 0; term < 20; term++) await correct(200);
    assert.ok(Math.abs((await totalOf('sampled')) - 40) < 0.1);
    await api.database.query('update searches set deleted_at = now() where number = any($1)', [numbers.slice(5)]);
    assert.equal(await totalOf('sampled'), 5);
    numbers.length = 5;
    for (let term = 0; term < 20; term++) await correct(100);
    assert.ok((await totalOf('sampled')) <= 5);
    await correctMatchTotals(api.database, { adverts: 0, matched: new Map() });
    await api.database.query('update searches set deleted_at = now() where number = any($1)', [numbers]);
    assert.equal(await totalOf('sampled'), 0);
  });

  it('corrects downwards as well, and never below zero', async () => {
    await api.newClient('overrated');
    const id = await clientNamed('overrated');
    const members = { ...SEARCH_DEFAULTS, title: 'x', budgetMax: 1 };
    for (let made = 0; made < 30; made++) await createSearch(api.database, id, members, { matchesPerMille: 1_000 });
    assert.equal(await totalOf('overrated'), 30);
    await correctMatchTotals(api.database, { adverts: 200, matched: new Map() });
    assert.equal(await totalOf('overrated'), 15);
    await api.database.query('update searches set deleted_at = now() where client_id = $1', [id]);
    assert.equal(await totalOf('overrated'), 0);
  });
});

it('the totals survive restarts and restores, including corrections, and limit as before', async (t) => {
  const [source, target] = [await startTestPostgres(t), await startTestPostgres(t)];
  await migrate(source.url);
  const database = connectDatabase(t, source.url);
  const { id } = await createClient(database, { name: 'restored' });
  const save = (on: typeof database, matchesPerMille: number) =>
    createSearch(
      on,
      id,
      { ...SEARCH_DEFAULTS, title: 'x' },
      { matchesPerMille, limits: { ...limits, matchesPerAdvert: 20 } },
    );
  for (let made = 0; made < 20; made++) await save(database, 1_000);
  await correctMatchTotals(database, { adverts: 200, matched: new Map() });
  await database.query('update searches set deleted_at = now() where number = (select min(number) from searches)');
  const before = await readSearchTotals(database, id);
  assert.deepEqual([before.searches, before.matchesPerAdvert], [19, 9]);
  await migrate(source.url);
  assert.deepEqual(await readSearchTotals(database, id), before);
  await restoreDatabase(target, await copyDatabase(source.url));
  const restored = connectDatabase(t, target.url);
  assert.deepEqual(await readSearchTotals(restored, id), before);
  for (let made = 0; made < 11; made++) await save(restored, 1_000);
  await assert.rejects(save(restored, 1_000), { limit: 'matchesPerAdvert', maximum: 20, used: 20, added: 1 });
  await save(restored, 0);
});
