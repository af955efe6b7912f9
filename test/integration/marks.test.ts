/** Marks of a client's users (seen, kept, hidden) change lists, counts and e-mails, but not webhooks (decisions, 7). */

import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { parse } from 'csv-parse/sync';
import { randomUuid, type Uuid } from '../../src/engine/domain/ids.ts';
import { NEW_MATCHES_MAX } from '../../src/engine/domain/search.ts';
import { marks } from '../../src/features/marks/marks.ts';
import { expireAt, recentFlat } from '../support/adverts.ts';
import { startTestApi } from '../support/api.ts';
import { valuesOf } from '../support/lists.ts';
import { openRecording } from '../support/question-scene.ts';
import { searchNumberOfId, seedMatch } from '../support/seeded-matches.ts';
import { lastFirst } from '../support/servers.ts';

const cleanup = lastFirst({ after });
const api = await startTestApi(cleanup);
const { database } = api;
const scene = await openRecording(cleanup, database, api.reference.resolvePlace);

const created = async (members: object = {}): Promise<string> => {
  const { body } = await api.call('POST', '/searches', { title: 'x', withCoherentPrice: null, ...members });
  return body['@id'];
};

describe('the time of the last visit', () => {
  const [first, second] = ['2026-03-10T08:00:00.000Z', '2026-03-10T09:00:00.000Z'];
  const read = async (search: string) => {
    const { seenAt, newSinceSeen } = (await api.call('GET', search)).body;
    return [seenAt, newSinceSeen];
  };
  const see = async (search: string, body?: object) => (await api.call('PUT', `${search}/seen`, body)).status;
  const matched = async (search: string, ...times: readonly string[]) => {
    const searchNumber = await searchNumberOfId(database, search.slice(10));
    for (const at of times)
      await seedMatch(database, {
        id: randomUuid(),
        searchNumber,
        propertyUuid: randomUuid(),
        createdAt: new Date(at),
      });
  };

  it('is the start of each search’s count, and never moves back or into the future', async () => {
    const [search, other] = [await created(), await created()];
    await matched(search, first, second);
    await matched(other, first);
    assert.deepEqual(await read(search), [null, 2]);
    assert.equal(await see(search, { at: first }), 204);
    assert.deepEqual(
      [await read(search), await read(other)],
      [
        [first, 1],
        [null, 1],
      ],
    );
    for (const at of [first, '2026-03-01']) assert.equal(await see(search, { at }), 204);
    assert.deepEqual(await read(search), [first, 1]);
    assert.equal(await see(search, { at: '2999-01-01T00:00:00Z' }), 204);
    const [seenAt, count] = await read(search);
    assert.ok(Date.parse(seenAt) <= Date.now() && count === 0);
    await matched(search, '2999-01-01T00:00:00Z');
    for (const body of [undefined, {}, { at: null }]) assert.equal(await see(search, body), 204);
    const { body: list } = await api.call('GET', '/searches');
    assert.deepEqual(valuesOf(list['hydra:member'], 'newSinceSeen'), [1, 1]);
    // These members are read-only: sending them does not change the search.
    const { body: before } = await api.call('GET', search);
    const { body: changed } = await api.call('PUT', search, { ...before, newSinceSeen: 7, seenAt: null });
    assert.deepEqual({ ...changed, updatedAt: null }, { ...before, updatedAt: null });
  });

  it('limits the count to a thousand', async () => {
    const search = await created();
    await database.query(
      `insert into matches (id, search_number, property_uuid, created_at, updated_at, has_begun, channel,
         search_version, last_sequence, last_delivery_id, cause)
       select gen_random_uuid(), $1, gen_random_uuid(), now(), now(), true, 'match', 0, 1, gen_random_uuid(), '[]'
       from generate_series(1, ${NEW_MATCHES_MAX + 5})`,
      [await searchNumberOfId(database, search.slice(10))],
    );
    assert.deepEqual(await read(search), [null, NEW_MATCHES_MAX]);
  });

  it('is refused in another form, and for a search of another client', async () => {
    const search = await created();
    for (const body of [{ at: 'yesterday' }, { at: 0 }, { since: first }, []])
      assert.equal(await see(search, body), 422, JSON.stringify(body));
    const key = await api.newClient('stranger');
    for (const path of [search, `/searches/${randomUuid()}`, '/searches/nothing'])
      assert.equal((await api.call('PUT', `${path}/seen`, {}, { key })).status, 404);
  });
});

describe('a mark', () => {
  const hook = { notificationEnabled: true, endpointRecipient: 'https://example.com/hook' };
  const flats = async (insee: string, ...contents: readonly { title: string; price: number }[]) => {
    const messages = contents.map((content) => recentFlat(randomUuid(), randomUuid(), content, insee));
    await scene.record(messages);
    return messages;
  };
  const mark = (search: string, uuid: string, body: object) =>
    api.call('PUT', `${search}/properties/${uuid}/mark`, body);
  const listed = async (path: string) => {
    const { body } = await api.call('GET', path);
    assert.equal(body['hydra:totalItems'], body['hydra:member'].length);
    return body['hydra:member'].map(({ uuid, property }: { uuid?: string; property: string }) => {
      return uuid ?? property.slice(-36);
    });
  };

  it('keeps or hides a property only in the lists of its search, even if it does not satisfy the search', async () => {
    const [search, other] = [await created({ ...hook, includedCities: ['/cities/83137'] }), await created(hook)];
    const found = await flats(
      '83137',
      { title: 'vue mer', price: 3 },
      { title: 'vue', price: 2 },
      { title: '', price: 1 },
    );
    const [a, b, c] = found.map(({ propertyUuid }) => propertyUuid) as [Uuid, Uuid, Uuid];
    const [far] = await flats('83069', { title: 'vue', price: 4 });
    assert.ok(far);
    assert.deepEqual(await listed(`${search}/properties?order[price]=desc`), [a, b, c]);
    const hidden = { state: 'hidden', reason: 'too dear', note: 'à revoir' };
    assert.equal((await mark(search, a, hidden)).status, 200);
    for (const uuid of [b, far.propertyUuid]) assert.equal((await mark(search, uuid, { state: 'kept' })).status, 200);
    assert.deepEqual(await listed(`${search}/properties?order[price]=desc`), [b, c]);
    assert.deepEqual(await listed(`${search}/properties?mark=hidden`), [a]);
    assert.deepEqual(await listed(`${search}/properties?mark=kept&order[price]=desc`), [far.propertyUuid, b]);
    assert.deepEqual(await listed(`${search}/properties?mark=kept&text=mer`), []);
    assert.deepEqual(await listed(`${search}/properties?mark=hidden&text=mer vue`), [a]);
    for (const path of [`${search}/matches`, `/matches?search=${search}`]) {
      const also = path.includes('?') ? '&' : '?';
      assert.deepEqual((await listed(path)).sort(), [b, c].sort());
      assert.deepEqual(await listed(`${path}${also}mark=hidden`), [a]);
      assert.deepEqual(await listed(`${path}${also}mark=kept`), [b]);
    }
    assert.equal((await listed(`/matches?property=${a}`)).length, 1);
    assert.equal((await listed(`${other}/properties`)).length, 4);
    const { body: all } = await api.call('GET', '/matches?itemsPerPage=100');
    assert.equal(
      valuesOf(all['hydra:member'], 'property').filter((iri) => iri === `/documents/properties/${a}`).length,
      1,
    );
    const { body } = await api.call('GET', `${search}/properties?mark=kept&order[price]=desc`);
    const [notSatisfying, satisfying] = body['hydra:member'];
    assert.deepEqual([notSatisfying.match, notSatisfying.matchedAt, notSatisfying.satisfiedSince], [null, null, null]);
    assert.equal(satisfying.mark.state, 'kept');
    assert.ok(Date.parse(satisfying.matchedAt) > 0 && Date.parse(satisfying.satisfiedSince) > 0);
    // An expired property stays marked, and webhooks of a hidden property are still sent.
    await scene.record([expireAt(9_000_000, { propertyUuid: b, advertUuid: found[1]?.advertUuid as Uuid })]);
    assert.deepEqual(await listed(`${search}/properties?mark=kept&order[price]=desc`), [far.propertyUuid, b]);
    const { body: sent } = await api.call('GET', `/deliveries?search=${search}&property=${a}`);
    assert.deepEqual(valuesOf(sent['hydra:member'], 'status'), ['queued']);
    const accept = { headers: { 'X-API-KEY': api.key, Accept: 'text/csv' } };
    const csv = await (await fetch(`${api.baseUrl}${search}/properties?mark=hidden`, accept)).text();
    const [row = {}]: readonly Record<string, string>[] = parse(csv, { columns: true });
    assert.deepEqual([row.mark, row.reason, row.note], ['hidden', 'too dear', 'à revoir']);
  });

  it('changes the members that are sent, and is removed when none is left', async () => {
    const search = await created();
    const [flat] = await flats('83137', { title: 'x', price: 1 });
    const uuid = flat?.propertyUuid as Uuid;
    const path = `${search}/properties/${uuid}/mark`;
    const { body: none } = await api.call('GET', path);
    assert.deepEqual([none.state, none.reason, none.note, none.markedAt], [null, null, null, null]);
    const { body: first } = await mark(search, uuid, { state: 'kept', note: 'Friday' });
    assert.deepEqual([first['@id'], first.search, first.property], [path, search, `/documents/properties/${uuid}`]);
    const { body: changed } = await mark(search, uuid, { ...first, note: undefined, state: null, reason: 'sold' });
    assert.deepEqual([changed.state, changed.reason, changed.note], [null, 'sold', 'Friday']);
    assert.deepEqual((await api.call('GET', path)).body, changed);
    await mark(search, uuid, { reason: '', note: null });
    assert.deepEqual((await api.call('GET', path)).body, none);
    assert.equal((await database.query('select from search_marks where property_uuid = $1', [uuid])).rowCount, 0);
  });

  it('is refused if it is too long or unknown, or if its property is not stored', async () => {
    const search = await created();
    const [flat] = await flats('83137', { title: 'x', price: 1 });
    const uuid = flat?.propertyUuid as Uuid;
    for (const body of [
      { state: 'later' },
      { note: 'é'.repeat(1_025) },
      { note: 'a\0' },
      { reason: 'x'.repeat(256) },
      { notes: 'x' },
      [],
    ])
      assert.equal((await mark(search, uuid, body)).status, 422, JSON.stringify(body).slice(0, 40));
    assert.equal((await mark(search, uuid, { note: 'é'.repeat(1_024) })).status, 200);
    for (const unknown of [randomUuid(), 'nothing', '%00'])
      assert.equal((await mark(search, unknown, { state: 'kept' })).status, 404, unknown);
  });

  it('is one of at most ten thousand of a search, and is removed with its property or its search', async () => {
    const [search, deleted] = [await created(), await created()];
    const [flat, other] = await flats('83137', { title: 'x', price: 1 }, { title: 'y', price: 1 });
    const [uuid, next] = [flat?.propertyUuid as Uuid, other?.propertyUuid as Uuid];
    await mark(search, uuid, { state: 'hidden' });
    await mark(deleted, uuid, { state: 'hidden' });
    await database.query(
      `insert into search_marks (search_number, property_uuid, state)
       select $1, gen_random_uuid(), 'kept' from generate_series(2, 10000)`,
      [await searchNumberOfId(database, search.slice(10))],
    );
    assert.equal((await mark(search, next, { state: 'kept' })).status, 409);
    assert.equal((await mark(search, uuid, { state: 'kept' })).status, 200);
    await api.call('DELETE', deleted);
    const horizons = { events: null, deliveries: null, expired: null };
    for await (const _ of marks.forget?.(database, horizons) ?? assert.fail());
    assert.equal((await mark(search, next, { state: 'kept' })).status, 200);
    const { rows } = await database.query<{ property_uuid: Uuid }>(
      'select property_uuid from search_marks where property_uuid = any($1)',
      [[uuid, next]],
    );
    assert.deepEqual(rows.map(({ property_uuid: left }) => left).sort(), [uuid, next].sort());
  });
});
