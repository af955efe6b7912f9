/** Searches over REST: creation, change and lists; and how the matcher reads their changes. */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, it } from 'node:test';
import { setImmediate as nextLook } from 'node:timers/promises';
import { SEARCH_DEFAULTS, type SearchMembers } from '../../src/engine/domain/search.ts';
import type { Database } from '../../src/engine/store/database.ts';
import { changedSince } from '../../src/engine/store/search-feed.ts';
import type { Violation } from '../../src/rest/problem.ts';
import { startTestApi } from '../support/api.ts';
import { tuplesOf, valuesOf } from '../support/lists.ts';
import { searchNumberOfId, seedMatch } from '../support/seeded-matches.ts';

const api = await startTestApi({ after });

async function created(members: Readonly<Record<string, unknown>>, key = api.key): Promise<Record<string, unknown>> {
  const { status, body, text } = await api.call('POST', '/searches', members, { key });
  assert.equal(status, 201, text);
  return body;
}

const pathsOf = (body: { violations: { propertyPath: string }[] }) => body.violations.map((one) => one.propertyPath);

describe('a search that is created', () => {
  it('is refused with all of its violations at once, each with its path and code', async () => {
    const { status, body } = await api.call('POST', '/searches', {
      titel: 'x',
      transactionType: 2,
      budgetMin: -1,
      surfaceMin: '65',
      roomMin: 5,
      roomMax: 2,
      lat: 91,
      includedCities: ['/cities/83137', '/cities/99999', '/departments/83', {}],
      includedFeatures: ['balcony', 'pool', 'balkony'],
      expressions: 'word=x',
      endpointRecipient: 'http://hooks.example.com',
      eventEndpoint: 'https://user:secret@hooks.example.com',
      subscribedEvents: ['ad.update'],
      eventThresholds: {
        price: { percent: 0, amount: '5', since: 'first', direction: 'sideways', step: 1 },
        surface: { since: 'told' },
        pictures: {},
      },
    });
    assert.equal(status, 422);
    assert.deepEqual(body['@type'], ['ConstraintViolationList', 'hydra:Error']);
    const expected = [
      ...['titel', 'transactionType', 'budgetMin', 'surfaceMin', 'lat', 'includedCities[2]', 'includedCities[3]'],
      ...['includedFeatures[2]', 'expressions', 'endpointRecipient', 'eventEndpoint', 'subscribedEvents[0]'],
      ...['title', 'roomMin'],
      ...['percent', 'amount', 'since', 'direction'].map((name) => `eventThresholds.price.${name}`),
      ...['eventThresholds.pictures', 'eventThresholds.price.step', 'eventThresholds.surface'],
    ];
    assert.deepEqual([...pathsOf(body)].sort(), expected.sort());
    const unknown = body.violations.find((one: { propertyPath: string }) => one.propertyPath === 'titel');
    assert.match(unknown.message, /nearest one is title$/);
    assert.equal(unknown.code, 'unknown_member');
  });

  it('accepts form values such as flags in text, and values from its own answers', async () => {
    const ring = [
      [5, 43],
      [6, 43],
      [6, 44],
      [5, 43],
    ];
    const { body: created } = await api.call('POST', '/searches', {
      ...{ title: 'x', furnished: 'true', withVirtualTour: 'false', geoShapes: [ring] },
      ...{ id: '/searches/1', originId: '1', '@anything': {} },
    });
    assert.deepEqual([created.furnished, created.withVirtualTour], [true, false]);
    assert.deepEqual(created.geoShapes, [[ring]]);
    const { status, body } = await api.call('PUT', created['@id'], { ...created, id: created['@id'], title: 'y' });
    assert.equal(status, 200);
    const { updatedAt: _updatedAt, ...kept } = body;
    assert.deepEqual({ ...created, ...kept, title: 'x' }, created);
  });

  it('accepts unknown values for criteria that it sets, and drops them with cleared criteria', async () => {
    const missing = async (method: string, path: string, body: object) => {
      const { status, body: answer } = await api.call(method, path, body);
      assert.ok(status < 300 || status === 422, JSON.stringify(answer));
      return status < 300 ? answer.orMissing : answer.violations.map((one: Violation) => [one.propertyPath, one.code]);
    };
    const unset = (...positions: number[]) => positions.map((at) => [`orMissing[${at}]`, 'criterion_not_set']);
    const home = { budgetMax: 200_000, roomMin: 3, energyCategories: 'A', includedZipcodes: ['83000'] };
    const { body: search } = await api.call('POST', '/searches', { title: 'x', ...home });
    assert.deepEqual(search.orMissing, []);
    const iri = search['@id'];
    const named = ['room', 'energy', 'areas', 'withCoherentPrice'];
    assert.deepEqual(await missing('PATCH', iri, { orMissing: [...named, 'room'] }), named);
    // For rooms, 0 means no limit.
    assert.deepEqual(await missing('PATCH', iri, { roomMin: 0, budgetMax: null }), named.slice(1));
    assert.deepEqual(await missing('PATCH', iri, { roomMin: 4, includedZipcodes: [] }), [
      'energy',
      'withCoherentPrice',
    ]);
    const again = { orMissing: ['areas', 'room', 'budget', 'floor'], energyCategories: null };
    assert.deepEqual(await missing('PATCH', iri, again), unset(0, 2, 3));
    assert.deepEqual(await missing('PUT', iri, { orMissing: ['floor'], floorMin: 0 }), ['floor']);
    assert.deepEqual(await missing('PUT', iri, { orMissing: null }), []);
    // `excludedCities` is the former name of `excludedAreas`.
    const excluded = { excludedZipcodes: ['83000'], orMissing: ['excludedCities', 'excludedAreas'] };
    assert.deepEqual(await missing('PUT', iri, excluded), ['excludedAreas']);
    assert.deepEqual(await missing('PUT', iri, { excludedZipcodes: [], orMissing: ['excludedCities'] }), unset(0));
    const body = { title: 'x', budgetMax: 'x', orMissing: ['budget', 'expressions', 'furnished'] };
    assert.deepEqual(await missing('POST', '/searches', body), [['budgetMax', 'invalid_type'], ...unset(1, 2)]);
    const wrong = { title: 'x', orMissing: ['price', 1] };
    assert.deepEqual(
      await missing('POST', '/searches', wrong),
      [0, 1].map((at) => [`orMissing[${at}]`, 'invalid_value']),
    );
  });

  it('is announced to the matcher before the client gets the answer', async () => {
    const before = api.changes.count;
    await created({ title: 'sent' });
    assert.equal(api.changes.count, before + 1);
  });
});

describe('a search that is changed', () => {
  for (const [method, type] of [
    ['PUT', 'application/json'],
    ['PATCH', 'application/merge-patch+json'],
    ['PUT', 'application/ld+json'],
  ] as const) {
    it(`keeps the members that ${method} with ${type} does not state; null clears`, async () => {
      const before = await created({ title: 'avant', budgetMax: 300_000, surfaceMin: 50, withCoherentPrice: true });
      const changes = { title: 'après', budgetMax: null, withCoherentPrice: null, token: 'ignored', '@id': '/x' };
      const options = { headers: { 'Content-Type': type } };
      const { status, body } = await api.call(method, String(before['@id']), changes, options);
      assert.equal(status, 200);
      const expected = { ...before, title: 'après', budgetMax: null, withCoherentPrice: null };
      assert.deepEqual({ ...body, updatedAt: null }, { ...expected, updatedAt: null });
      assert.ok(body.updatedAt >= String(before.updatedAt));
    });
  }

  it('is validated as a whole like a creation', async () => {
    const { '@id': iri } = await created({ title: 'x', budgetMax: 100, lat: 1, lon: 1, radius: 1 });
    for (const change of [{ budgetMin: 101 }, { radius: null }, { title: null }, { budgetmax: 1 }]) {
      assert.equal((await api.call('PATCH', String(iri), change)).status, 422, JSON.stringify(change));
    }
    const { body } = await api.call('GET', String(iri));
    assert.deepEqual([body.budgetMin, body.radius, body.title], [null, '1', 'x']);
  });

  it('refuses a feature that implies an excluded one; a saved search with both can still be silenced', async () => {
    const both = { title: 'x', includedFeatures: ['pool', 'garage'], excludedFeatures: ['alarm', 'parking'] };
    const { status, body } = await api.call('POST', '/searches', both);
    assert.deepEqual(
      [status, ...tuplesOf(body.violations, 'propertyPath', 'code')],
      [422, ['excludedFeatures[1]', 'in_both_lists']],
    );
    const { '@id': iri } = await created({ ...both, excludedFeatures: ['alarm'] });
    assert.equal((await api.call('PATCH', String(iri), { excludedFeatures: ['parking'] })).status, 422);
    const change = `update searches set members = (members::jsonb || '{"excludedFeatures": ["parking"]}')::json where id = $1`;
    await api.database.query(change, [String(iri).split('/').at(-1)]);
    assert.equal((await api.call('PATCH', String(iri), { notificationEnabled: false })).status, 200);
    assert.equal((await api.call('PATCH', String(iri), { includedFeatures: ['garage'] })).status, 422);
    assert.equal((await api.call('PATCH', String(iri), { includedFeatures: ['pool'] })).status, 200);
  });

  it('merges the objects of a PATCH at every depth, where null removes; PUT replaces them as a whole', async () => {
    const consent = { source: 'form', at: '2026-01-01T00:00:00Z' };
    const { '@id': iri } = await created({
      title: 't',
      context: { user: 7, folder: { name: 'Lille', order: [1, null] } },
      eventThresholds: { price: { percent: 3, direction: 'down', since: 'told' }, surface: { amount: 5 } },
      ...{ notificationRecipient: 'a@example.com', notificationConsent: consent },
    });
    const changed = async (method: string, change: object) => {
      const { status, body, text } = await api.call(method, String(iri), change);
      assert.equal(status, 200, text);
      return { thresholds: body.eventThresholds, context: body.context, consent: body.notificationConsent };
    };
    const price = { percent: 5, direction: 'down', since: 'told' };
    const surface = { amount: 5 };
    const first = await changed('PATCH', {
      ...{ eventThresholds: { price: { percent: 5 } }, context: { folder: { name: 'Nord' } } },
      notificationConsent: { source: 'telephone' },
    });
    assert.deepEqual(first, {
      thresholds: { price, surface },
      context: { user: 7, folder: { name: 'Nord', order: [1, null] } },
      consent: { ...consent, source: 'telephone' },
    });
    const told = { percent: 5, since: 'told' };
    for (const [method, eventThresholds, expected] of [
      ['PATCH', { price: { direction: null } }, { price: told, surface }],
      ['PATCH', { surface: null }, { price: told }],
      ['PATCH', { price: null }, null],
      ['PATCH', { price: { percent: 4, direction: null } }, { price: { percent: 4 } }],
      ['PUT', { surface }, { surface }],
    ] as const) {
      assert.deepEqual((await changed(method, { eventThresholds })).thresholds, expected);
    }
    const context = { folder: null, '': { a: null } };
    assert.deepEqual((await changed('PATCH', { context })).context, { user: 7, '': {} });
    assert.deepEqual((await changed('PUT', { context: { a: null } })).context, { a: null });
    const other = { notificationRecipient: 'b@example.com', notificationConsent: { source: 'form' } };
    assert.deepEqual(pathsOf((await api.call('PATCH', String(iri), other)).body), ['notificationConsent.at']);
    await Promise.all(Array.from('abcdefgh', (name) => changed('PATCH', { context: { [name]: name } })));
    assert.equal(Object.keys((await changed('PATCH', { context: {} })).context).length, 8);
  });

  it('reports the fault of a circle, and not also that the circle is incomplete', async () => {
    const circle = { title: 'x', lat: 43.1, lon: 5.9, radius: 10 };
    for (const [wrong, expected] of [
      [{ radius: 0 }, ['radius']],
      [{ lat: 91 }, ['lat']],
      [{ lat: 'north', radius: -1 }, ['lat', 'radius']],
      [{ lon: null }, ['lon']],
      [{ lon: null, radius: 501 }, ['radius', 'lon']],
    ] as const) {
      const { status, body } = await api.call('POST', '/searches', { ...circle, ...wrong });
      assert.deepEqual([status, pathsOf(body), body.violationCount], [422, expected, expected.length]);
    }
  });
});

describe('the list of searches', () => {
  it('filters by part of the title and by notifications, orders by title and pages', async () => {
    const key = await api.newClient('lister');
    const titles = ['Été à Nice', 'zèbre', 'Abricot', 'éclair', 'Été indien', 'T3 – Saint-Étienne'];
    for (const [i, title] of titles.entries()) await created({ title, notificationEnabled: i % 2 === 0 }, key);
    const list = async (query: string) => {
      const { status, body } = await api.call('GET', `/searches${query}`, undefined, { key });
      assert.equal(status, 200);
      return body;
    };
    const titlesOf = async (query: string) =>
      (await list(query))['hydra:member'].map((one: SearchMembers) => one.title);
    assert.deepEqual(await titlesOf(''), titles);
    const sorted = ['Abricot', 'éclair', 'Été à Nice', 'Été indien', 'T3 – Saint-Étienne', 'zèbre'];
    assert.deepEqual(await titlesOf('?order[title]=asc'), sorted);
    assert.deepEqual(await titlesOf('?order%5Btitle%5D=DESC'), sorted.toReversed());
    assert.deepEqual(await titlesOf('?title=ETE'), ['Été à Nice', 'Été indien']);
    assert.deepEqual(await titlesOf('?title=saint+etienne'), ['T3 – Saint-Étienne']);
    assert.deepEqual(await titlesOf('?title=100%25'), []);
    assert.deepEqual(await titlesOf('?notificationEnabled=false'), ['zèbre', 'éclair', 'T3 – Saint-Étienne']);
    const page = await list('?order[title]=asc&page=2&itemsPerPage=2');
    assert.equal(page['hydra:totalItems'], 6);
    assert.deepEqual(
      page['hydra:member'].map((one: SearchMembers) => one.title),
      sorted.slice(2, 4),
    );
    const link = (number: number) => `/searches?order%5Btitle%5D=asc&page=${number}&itemsPerPage=2`;
    assert.deepEqual(page['hydra:view'], {
      '@id': '/searches?order%5Btitle%5D=asc&page=2&itemsPerPage=2',
      '@type': 'hydra:PartialCollectionView',
      'hydra:first': link(1),
      'hydra:last': link(3),
      'hydra:previous': link(1),
      'hydra:next': link(3),
    });
    assert.deepEqual((await list(''))['hydra:view'], { '@id': '/searches', '@type': 'hydra:PartialCollectionView' });
    assert.deepEqual(await titlesOf('?page=99'), []);
    for (const orders of ['order[title]=', 'order[title]=asc&order[id]=desc']) {
      assert.equal((await api.call('GET', `/searches?${orders}`)).status, 400, orders);
    }
  });

  it('finds words in title, recipient and context, and a recipient by the whole address', async () => {
    const key = await api.newClient('finder');
    const folder = { customer: { name: 'Zoé Œuvrard', phones: ['06 12', 7] }, key_of_folder: true };
    await created({ title: 'Été à Nice', notificationRecipient: 'Jo.Martin@example.org', context: folder }, key);
    const house = {
      title: 'Maison',
      publicTitle: 'Près de la plage',
      notificationRecipient: 'jo@example.org',
      context: 'Nice',
    };
    await created(house, key);
    await created({ title: 'Jo Martin à Nice' });
    const titlesOf = async (query: string) => {
      const { body } = await api.call('GET', `/searches?${query}`, undefined, { key });
      assert.equal(body['hydra:totalItems'], body['hydra:member'].length);
      return body['hydra:member'].map(({ title }: SearchMembers) => title);
    };
    for (const [query, expected] of [
      ['q=NICE', ['Été à Nice', 'Maison']],
      ['q=zoe+oeuv', ['Été à Nice']],
      ['q=jo.martin@example.org+ete', ['Été à Nice']],
      ['q=nice+ete&notificationEnabled=false', ['Été à Nice']],
      ['q=nice+ete&notificationEnabled=true', []],
      ['q=%25+Nice', ['Été à Nice', 'Maison']],
      ['q=PLAGE+maison', ['Maison']],
      ['q=folder', []],
      ['q=nice+maison+martin', []],
      ['q=%25_', []],
      ['q=&title=', ['Été à Nice', 'Maison']],
      ['recipient=JO.martin@EXAMPLE.org', ['Été à Nice']],
      ['recipient=martin@example.org', []],
      ['recipient=jo@example.org&emailStatus=OFF', ['Maison']],
      ['recipient=jo@example.org&emailStatus=active', []],
    ] as const) {
      assert.deepEqual(await titlesOf(query), expected, query);
    }
    const { body } = await api.call('GET', '/searches?q=maison', undefined, { key });
    await api.call('PATCH', body['hydra:member'][0]['@id'], { title: 'Villa', context: null }, { key });
    assert.deepEqual(
      [await titlesOf('q=maison'), await titlesOf('q=nice'), await titlesOf('q=villa')],
      [[], ['Été à Nice'], ['Villa']],
    );
  });

  it('counts the matches of the last seven days, and a new match refuses no conditional change', async () => {
    const [first, second] = [await created({ title: 'counted' }), await created({ title: 'other' })];
    const searchNumber = await searchNumberOfId(api.database, String(first['@id']).slice(10));
    for (const days of [0, 6.9, 7.1]) {
      const createdAt = new Date(Date.now() - days * 86_400_000);
      await seedMatch(api.database, { id: randomUUID(), propertyUuid: randomUUID(), searchNumber, createdAt });
    }
    const answers = [
      (await api.call('GET', String(first['@id']))).body,
      (await api.call('PATCH', String(first['@id']), { title: 'counted again' })).body,
      (await api.call('GET', '/searches?q=counted')).body['hydra:member'][0],
      (await api.call('PATCH', String(second['@id']), { matchedLast7Days: 9 })).body,
    ];
    assert.deepEqual(valuesOf(answers, 'matchedLast7Days'), [2, 2, 2, 0]);
    const { body, headers } = await api.call('GET', String(first['@id']));
    const stored = { headers: { 'If-Match': String(headers.get('ETag')) } };
    await seedMatch(api.database, {
      id: randomUUID(),
      propertyUuid: randomUUID(),
      searchNumber,
      createdAt: new Date(),
    });
    assert.notEqual((await api.call('GET', String(first['@id']))).headers.get('ETag'), headers.get('ETag'));
    assert.equal((await api.call('PUT', String(first['@id']), body, stored)).status, 200, 'a match is no conflict');
  });
});

describe('reading the changes of searches', () => {
  const numberOf = (iri: unknown) => searchNumberOfId(api.database, String(iri).slice(10));
  const insert = (title: string, count: number, connection: Pick<Database, 'query'> = api.database) =>
    connection.query(
      `insert into searches (id, client_id, token, title, title_folded, members, notification_enabled,
         subscribed_events, hide_property_contact)
       select gen_random_uuid(), $1, '', $2::text, $2, json_build_object('title', $2), false, '{}', false
       from generate_series(1, $3)`,
      [api.clientId, title, count],
    );

  it('answers all searches once, then those written since, including deletions', async () => {
    const { '@id': kept } = await created({ title: 'kept', budgetMax: 1 });
    const { '@id': gone } = await created({ title: 'gone' });
    const read = async (horizon: string | null) => {
      const found = new Map<number, SearchMembers | null>();
      const next = await changedSince(api.database, horizon, ({ number, members }) => void found.set(number, members));
      return { found, next };
    };
    const all = await read(null);
    const { rows } = await api.database.query(
      'select count(*)::integer as count from searches where deleted_at is null',
    );
    assert.equal(all.found.size, rows[0].count);
    assert.deepEqual(all.found.get(await numberOf(kept)), { ...SEARCH_DEFAULTS, title: 'kept', budgetMax: 1 });
    assert.equal((await read(all.next)).found.size, 0);
    await api.call('PATCH', String(kept), { budgetMax: 2 });
    await api.call('DELETE', String(gone));
    const since = await read(all.next);
    assert.deepEqual([...since.found.keys()].sort(), [await numberOf(kept), await numberOf(gone)].sort());
    assert.equal(since.found.get(await numberOf(kept))?.budgetMax, 2);
    assert.equal(since.found.get(await numberOf(gone)), null);
  });

  it('answers more than a page, each search once and at the pace of its reader, and ends with the reader’s error', async () => {
    const horizon = await changedSince(api.database, null, () => undefined);
    await insert('many', 2500);
    for (const from of [null, horizon]) {
      const numbers: number[] = [];
      await changedSince(api.database, from, ({ number, members }) => {
        if (members?.title === 'many') numbers.push(number);
        return undefined;
      });
      assert.deepEqual([numbers.length, new Set(numbers).size], [2500, 2500]);
    }
    let underWay = 0;
    let atOnce = 0;
    await changedSince(api.database, null, async () => {
      atOnce = Math.max(atOnce, ++underWay);
      await nextLook();
      underWay -= 1;
    });
    assert.deepEqual({ underWay, atOnce }, { underWay: 0, atOnce: 1 });
    const full = new Error('no room');
    let read = 0;
    const refuse = () => {
      if (++read === 1500) throw full;
      return undefined;
    };
    await assert.rejects(changedSince(api.database, null, refuse), full);
    assert.equal(read, 1500);
    await api.database.query(`delete from searches where title = 'many'`);
  });

  it('finds a write that began before a poll and was committed after it', async () => {
    const late = await api.database.connect();
    try {
      await late.query('begin');
      await insert('late', 1, late);
      const horizon = await changedSince(api.database, null, () => undefined);
      await created({ title: 'meanwhile' });
      const next = await changedSince(api.database, horizon, () => undefined);
      await late.query('commit');
      const titles: unknown[] = [];
      await changedSince(api.database, next, ({ members }) => {
        titles.push(members?.title);
        return undefined;
      });
      assert.ok(titles.includes('late'), titles.join());
    } finally {
      late.release();
    }
  });
});
