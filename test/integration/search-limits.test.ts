/** Limits of a client's searches, corners and excluded words are exact, with any number of concurrent writers. */

import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { type Uuid, uuidOf } from '../../src/engine/domain/ids.ts';
import { SEARCH_DEFAULTS, type SearchMembers } from '../../src/engine/domain/search.ts';
import { weightOf } from '../../src/engine/domain/search-limits.ts';
import { createClient, updateClientSettings } from '../../src/engine/store/clients.ts';
import { readSearchTotals } from '../../src/engine/store/search-totals.ts';
import { createSearch } from '../../src/engine/store/searches.ts';
import { startTestApi } from '../support/api.ts';

const api = await startTestApi(
  { after },
  {
    settings: {
      searchLimits: { searches: 100_000, polygonCorners: 500_000, excludedWords: 100_000, matchesPerAdvert: 1_000 },
    },
  },
);

const square = [
  [
    [0, 0],
    [1, 0],
    [1, 1],
    [0, 1],
    [0, 0],
  ],
] as const;
const without = (...words: string[]) => [words.map((word) => ({ word, includes: false }))];

async function clientOf(key: string): Promise<Uuid> {
  const { body } = await api.call('GET', '/users', undefined, { key });
  return uuidOf(body['hydra:member'][0]['@id'].split('/').at(-1));
}

describe('a client with limits of its own', () => {
  it('gets a refusal with the limit for searches beyond it', async () => {
    const key = await api.newClient('limited', { searchesMax: 3, polygonCornersMax: 12, excludedWordsMax: 3 });
    const post = (members: object) => api.call('POST', '/searches', { title: 'x', ...members }, { key });
    assert.equal((await post({ geoShapes: square, expressions: without('bruit', 'travaux') })).status, 201);
    for (const [members, limit, maximum, used] of [
      [{ geoShapes: square, excludedGeoShapes: square }, 'polygonCorners', 12, 5],
      [{ expressions: without('a1', 'b2') }, 'excludedWords', 3, 2],
    ] as const) {
      const { status, body } = await post(members);
      assert.equal(status, 403);
      assert.deepEqual(
        [body.type, body.limit, body.maximum, body.used],
        ['/docs.jsonld#LimitReached', limit, maximum, used],
      );
    }
    assert.equal((await post({ geoShapes: square, expressions: without('x') })).status, 201);
    assert.equal((await post({ expressions: [{ word: 'calme' }] })).status, 201);
    const refused = await post({});
    assert.deepEqual([refused.status, refused.body.limit, refused.body.used], [403, 'searches', 3]);
    assert.match(refused.body.detail, /^You may have 3 searches in total, and have 3\. Remove some, or ask/);
    const lonely = await api.newClient('lonely', { searchesMax: 1 });
    const create = () => api.call('POST', '/searches', { title: 'x' }, { key: lonely });
    assert.equal((await create()).status, 201);
    assert.match((await create()).body.detail, /^You may have 1 search in total, and have 1\./);
  });

  it('may change, reduce and delete its searches, and create the same number again', async () => {
    const key = await api.newClient('changing', { searchesMax: 1, polygonCornersMax: 5, excludedWordsMax: 1 });
    const call = (method: string, path: string, body?: object) => api.call(method, path, body, { key });
    const { headers } = await call('POST', '/searches', { title: 'x', geoShapes: square });
    const path = headers.get('Location') as string;
    await updateClientSettings(api.database, await clientOf(key), { searchesMax: 0, polygonCornersMax: 1 });
    assert.equal((await call('PUT', path, { title: 'y', geoShapes: square })).status, 200);
    assert.equal((await call('PUT', path, { budgetMax: 5 })).status, 200);
    // The limits of a key are cached for some seconds; another instance reads the new ones.
    const other = await startTestApi({ after }, { database: api.database });
    const grow = { excludedGeoShapes: square };
    assert.equal((await other.call('PATCH', path, grow, { key })).status, 403);
    assert.equal((await call('PATCH', path, { geoShapes: null, expressions: without('x') })).status, 200);
    assert.deepEqual(await readSearchTotals(api.database, await clientOf(key)), {
      ...{ searches: 1, polygonCorners: 0, excludedWords: 1, matchesPerAdvert: 0 },
    });
    assert.equal((await call('DELETE', path)).status, 204);
    assert.deepEqual(await readSearchTotals(api.database, await clientOf(key)), {
      ...{ searches: 0, polygonCorners: 0, excludedWords: 0, matchesPerAdvert: 0 },
    });
  });

  it('gets exactly its limit, however many it creates at once', async () => {
    const key = await api.newClient('hurried', { searchesMax: 20, polygonCornersMax: 30, excludedWordsMax: 7 });
    const post = (members: object) => api.call('POST', '/searches', { title: 'x', ...members }, { key });
    const count = async (members: object) => {
      const answers = await Promise.all(Array.from({ length: 16 }, () => post(members)));
      return answers.filter(({ status }) => status === 201).length;
    };
    assert.equal(await count({ geoShapes: square }), 6);
    assert.equal(await count({ expressions: without('a1', 'b2', 'c3') }), 2);
    assert.equal(await count({}), 12);
    const { body } = await api.call('GET', '/searches?itemsPerPage=1', undefined, { key });
    assert.equal(body['hydra:totalItems'], 20);
  });

  it('two transactions that free space for each other do not deadlock', async () => {
    const key = await api.newClient('swapping', { polygonCornersMax: 15 });
    const paths: string[] = [];
    for (let i = 0; i < 3; i++) {
      const { headers } = await api.call('POST', '/searches', { title: 'x', geoShapes: square }, { key });
      paths.push(headers.get('Location') as string);
    }
    const writes = Array.from({ length: 60 }, (_, i) =>
      api.call('PATCH', paths[i % 3] as string, { geoShapes: i % 2 === 0 ? null : square }, { key }),
    );
    for (const { status } of await Promise.all(writes)) assert.ok(status === 200 || status === 403, String(status));
    assert.ok((await readSearchTotals(api.database, await clientOf(key))).polygonCorners <= 15);
  });
});

describe('the totals', () => {
  it('equal a count of the rows after any kind of write', async () => {
    const { id } = await createClient(api.database, { name: 'counted' });
    const members = (changes: Partial<SearchMembers>): SearchMembers => ({
      ...SEARCH_DEFAULTS,
      title: 'x',
      ...changes,
    });
    const expressions =
      'expressions[0][0][word]=%5Bincludes%5D%3Dfalse&expressions[0][0][options][includes]=false' +
      '&expressions[0][0][options][strict]=false&expressions[1][0][word]=x&expressions[1][0][options][includes]=true';
    const all = [
      members({}),
      members({ geoShapes: [square, [...square, ...square]], excludedGeoShapes: [square] }),
      members({ excludedGeoShapes: [square] }),
      members({ expressions }),
      members({
        excludedGeoShapes: [square],
        alternatives: [{ geoShapes: [square] }, { geoShapes: [square], expressions }],
      }),
    ];
    assert.deepEqual(all.map(weightOf).at(-1), { polygonCorners: 15, excludedWords: 1 });
    for (const one of all) await createSearch(api.database, id, one);
    // Inserts many searches with one statement.
    await api.database.query(
      `insert into searches (id, client_id, token, title, title_folded, members, notification_enabled,
         subscribed_events, hide_property_contact)
       select gen_random_uuid(), client_id, '', title, title, members, false, '{}', false
       from searches, generate_series(1, 400) where client_id = $1 and deleted_at is null`,
      [id],
    );
    await api.database.query(
      `update searches set deleted_at = now() where client_id = $1 and number % 3 = 0 and deleted_at is null`,
      [id],
    );
    await api.database.query(`delete from searches where client_id = $1 and number % 5 = 0`, [id]);
    const { rows } = await api.database.query<{ members: Partial<SearchMembers> }>(
      'select members from searches where client_id = $1 and deleted_at is null',
      [id],
    );
    const expected = { searches: rows.length, polygonCorners: 0, excludedWords: 0, matchesPerAdvert: 0 };
    for (const row of rows) {
      const weight = weightOf({ ...members({}), ...row.members });
      expected.polygonCorners += weight.polygonCorners;
      expected.excludedWords += weight.excludedWords;
    }
    assert.ok(expected.polygonCorners > 1_000 && expected.excludedWords > 100);
    assert.deepEqual(await readSearchTotals(api.database, id), expected);
  });
});
