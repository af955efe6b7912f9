/** Collections as admin interfaces read them: paged, ordered, and cheap with many rows. */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, it } from 'node:test';
import { endpointKeyOf } from '../../src/engine/domain/endpoint.ts';
import { timeOrderedUuid } from '../../src/engine/domain/ids.ts';
import { LISTED_DELIVERIES, LISTED_MATCHES, LISTED_MAX, listOfClient } from '../../src/engine/store/client-listings.ts';
import type { Queryable } from '../../src/engine/store/database.ts';
import { startTestApi } from '../support/api.ts';
import { searchNumberOfId, seedMatch, seedSampleProperty } from '../support/seeded-matches.ts';

const api = await startTestApi({ after });

// oxlint-disable-next-line typescript/no-explicit-any -- collections of every resource
const get = async (path: string, key?: string): Promise<any> => {
  const { status, body, text } = await api.call('GET', path, undefined, key === undefined ? {} : { key });
  assert.equal(status, 200, `${path}: ${text}`);
  return body;
};
const idsOf = (page: { 'hydra:member': { '@id': string }[] }) => page['hydra:member'].map((one) => one['@id']);

interface Client {
  readonly key: string;
  readonly searches: readonly { readonly iri: string; readonly number: number }[];
}

async function newClient(name: string, searchCount: number): Promise<Client> {
  const key = await api.newClient(name);
  const searches = [];
  for (let i = 0; i < searchCount; i++) {
    const { body } = await api.call('POST', '/searches', { title: `${name} ${searchCount - i}` }, { key });
    searches.push({ iri: body['@id'], number: await searchNumberOfId(api.database, body['@id'].slice(10)) });
  }
  return { key, searches };
}

const newProperty = () => seedSampleProperty(api.database);

interface Listed {
  readonly id: string;
  readonly at: number;
}

/** Newest first; rows of the same instant by descending id. */
function newestFirst(listed: readonly Listed[], prefix: string): string[] {
  const sorted = listed.toSorted((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1));
  return sorted.map(({ id }) => prefix + id);
}

const START_MS = Date.UTC(2026, 2, 1);
const at = (minute: number) => START_MS + minute * 60_000;

/** There are only eleven instants, so many matches share one. */
async function newMatches({ searches }: Client, count: number, propertyUuids: readonly string[]): Promise<Listed[]> {
  const matches: Listed[] = [];
  for (let i = 0; i < count; i++) {
    const match = { id: timeOrderedUuid(new Date(at((i * 7) % 11))), at: at((i * 7) % 11) };
    const search = searches[i % searches.length]?.number;
    const property = propertyUuids[Math.floor(i / searches.length)];
    await seedMatch(api.database, {
      ...{ id: match.id, searchNumber: search as number, propertyUuid: property as string },
      createdAt: new Date(match.at),
    });
    matches.push(match);
  }
  return matches;
}

async function newDeliveries({ searches }: Client, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    await api.database.query(
      `insert into deliveries (id, search_number, match_id, channel, kind, endpoint, endpoint_key, head, snapshot_id, created_at,
         sequence)
       values ($1, $2, $3, 'match', 'property.ad.create', 'https://h.example.com', 'k', '', $3, $4, 1)`,
      [timeOrderedUuid(new Date(at(i % 5))), searches[i % searches.length]?.number, randomUUID(), new Date(at(i % 5))],
    );
  }
}

/** Reads all pages from the first one on by following the links. */
async function walk(path: string, key: string): Promise<string[]> {
  const ids: string[] = [];
  for (let next: string | undefined = path; next !== undefined; ) {
    const page = await get(next, key);
    ids.push(...idsOf(page));
    next = page['hydra:view']['hydra:next'];
  }
  return ids;
}

/** Creates a recovery and stops it, because only one may be active at a time. */
async function newRecovery(key: string): Promise<void> {
  const since = new Date(Date.now() - 60_000).toISOString();
  const { body, text } = await api.call('POST', '/recoveries', { since }, { key });
  assert.equal((await api.call('DELETE', body['@id'], undefined, { key })).status, 204, text);
}

const agency = await newClient('agency', 7);
const endpointRecipient = 'https://agency.example.com/hook';
await api.call(
  'PUT',
  agency.searches[0]?.iri ?? '',
  { title: 'agency 7', endpointRecipient, notificationRecipient: 'jo@example.org' },
  { key: agency.key },
);
for (let i = 0; i < 3; i++) {
  await newRecovery(agency.key);
  await api.call('POST', '/webhook-secrets', {}, { key: agency.key });
}
const neighbour = await newClient('neighbour', 2);
const properties = await Promise.all(Array.from({ length: 8 }, newProperty));
const matches = await newMatches(agency, 50, properties);
await newMatches(neighbour, 6, properties);
await newDeliveries(agency, 40);

describe('every collection that the entrypoint names', () => {
  it('can be read unpaged, paged, and in every order that it offers', async () => {
    const { '@context': _context, '@id': _id, '@type': _type, ...collections } = await get('/');
    assert.ok(Object.keys(collections).length >= 8);
    for (const path of Object.values(collections) as string[]) {
      const bare = await get(path, agency.key);
      assert.ok(bare['hydra:totalItems'] > 0 && bare['hydra:member'].length > 0, path);
      const total = bare['hydra:totalItems'];
      assert.equal(
        (await get(`${path}?page=2&itemsPerPage=1`, agency.key))['hydra:member'].length,
        total > 1 ? 1 : 0,
        path,
      );
      const variables = bare['hydra:search']['hydra:mapping'].map(({ variable }: { variable: string }) => variable);
      const orders = variables.filter((variable: string) => variable.startsWith('order['));
      assert.ok(orders.includes('order[id]'), path);
      for (const order of orders) {
        const ascending = await get(`${path}?${order}=ASC&itemsPerPage=1000`, agency.key);
        const lastPage = Math.ceil(total / 100);
        const descending = await get(`${path}?${order}=DESC&itemsPerPage=100&page=${lastPage}`, agency.key);
        assert.equal(ascending['hydra:member'].length, Math.min(total, 100), path);
        const tail = idsOf(descending).reverse();
        if (lastPage === 1) assert.deepEqual(idsOf(ascending), tail, `${path} ${order}`);
        else assert.deepEqual(idsOf(ascending).slice(0, tail.length), tail, `${path} ${order}`);
      }
    }
  });

  it('reduces a page that is too large', async () => {
    for (const size of ['101', '1000', '9'.repeat(30)]) {
      assert.equal((await get(`/cities?itemsPerPage=${size}`))['hydra:member'].length, 100);
    }
  });
});

describe('the searches', () => {
  it('can be ordered by id, which is the order of creation', async () => {
    const created = agency.searches.map(({ iri }) => iri);
    assert.deepEqual(idsOf(await get('/searches?order[id]=asc', agency.key)), created);
    assert.deepEqual(idsOf(await get('/searches?order[createdAt]=desc', agency.key)), created.toReversed());
    assert.deepEqual(created.toSorted(), created);
  });
});

describe('the matches of all searches', () => {
  it('are those of the client, newest first, in pages of any size', async () => {
    const expected = newestFirst(matches, '/matches/');
    const page = await get('/matches', agency.key);
    assert.equal(page['hydra:totalItems'], matches.length);
    assert.deepEqual(idsOf(page), expected.slice(0, 30));
    for (const size of [1, 3, 7, 100]) {
      assert.deepEqual(await walk(`/matches?itemsPerPage=${size}`, agency.key), expected, String(size));
      const oldestFirst = await walk(`/matches?order[id]=asc&itemsPerPage=${size}`, agency.key);
      assert.deepEqual(oldestFirst, expected.toReversed(), String(size));
    }
    assert.equal((await get('/matches', neighbour.key))['hydra:totalItems'], 6);
    assert.equal((await get('/matches', await api.newClient('nobody')))['hydra:totalItems'], 0);
  });

  it('exclude those of a deleted search', async () => {
    const client = await newClient('deleting', 2);
    await newMatches(client, 4, properties);
    await api.call('DELETE', client.searches[0]?.iri as string, undefined, { key: client.key });
    const page = await get('/matches', client.key);
    assert.equal(page['hydra:totalItems'], 2);
    assert.ok(page['hydra:member'].every(({ search }: { search: string }) => search === client.searches[1]?.iri));
  });
});

describe('the properties that searches have matched', () => {
  it('are listed once each, the last match first or by id', async () => {
    const listed = await walk('/documents/properties?itemsPerPage=3', agency.key);
    const iris = properties.slice(0, 8).map((uuid) => `/documents/properties/${uuid}`);
    assert.deepEqual(listed.toSorted(), iris.toSorted());
    const matched = (await get('/matches?itemsPerPage=100', agency.key))['hydra:member'];
    const lastMatched = matched.filter((one: { createdAt: string }) => one.createdAt === matched[0].createdAt);
    assert.ok(lastMatched.some(({ property }: { property: string }) => property === listed[0]));
    assert.deepEqual(await walk('/documents/properties?order[id]=asc&itemsPerPage=3', agency.key), iris.toSorted());
    assert.deepEqual(await walk('/documents/properties?order[id]=desc', agency.key), iris.toSorted().reverse());
    assert.deepEqual(idsOf(await get('/documents/properties', await api.newClient('newcomer'))), []);
  });

  it('are found by name on one page, in the requested order', async () => {
    const [a, b] = properties.toSorted() as [string, string];
    const found = async (query: string) =>
      idsOf(await get(`/documents/properties?${query}`)).map((iri) => iri.slice(22));
    assert.deepEqual(await found(`uuid[]=${b}&uuid[]=${a}`), [b, a]);
    assert.deepEqual(await found(`uuid[]=${b}&uuid[]=${a}&order[id]=asc`), [a, b]);
    assert.deepEqual(await found(`uuid[]=${a}&uuid[]=${b}&order[id]=desc&page=2`), []);
  });
});

/** Explains every statement, and answers that the list is empty. */
function explainer(): { readonly queryable: Queryable; readonly plans: string[] } {
  const plans: string[] = [];
  const query = async (text: string, values: readonly unknown[]) => {
    const { rows } = await api.database.query(`explain (analyze, costs off, timing off) ${text}`, [...values]);
    plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
    return { rows: [{ ids: [], total: 0 }] };
  };
  return { queryable: { query } as unknown as Queryable, plans };
}

describe('a list over all searches', () => {
  it('ends at its documented limit, and refuses requests beyond it with a reason', async () => {
    const client = await newClient('large', 1);
    await api.database.query(
      `insert into matches (id, search_number, property_uuid, created_at, updated_at, has_begun, channel, search_version,
         last_sequence, last_delivery_id, cause)
       select gen_random_uuid(), $1, gen_random_uuid(), $2::timestamptz + n * interval '1 second', now(), true, 'match',
         0, 1, gen_random_uuid(), '[]'
       from generate_series(1, $3) n`,
      [client.searches[0]?.number, new Date(START_MS), LISTED_MAX + 50],
    );
    const first = await get('/matches', client.key);
    assert.deepEqual([first['hydra:totalItems'], first.estimated], [LISTED_MAX, true]);
    assert.equal((await get('/documents/properties', client.key)).estimated, true);
    const last = await get(first['hydra:view']['hydra:last'], client.key);
    assert.equal(last['hydra:member'].length, LISTED_MAX % 30);
    assert.equal(last['hydra:view']['hydra:next'], undefined);
    const { status, body } = await api.call('GET', '/matches?page=335', undefined, { key: client.key });
    assert.deepEqual([status, /name a search/.test(body.detail)], [400, true]);
    const all = await get(`/matches?search=${client.searches[0]?.iri}`, client.key);
    assert.deepEqual([all['hydra:totalItems'], all.estimated], [LISTED_MAX + 50, false]);
  });

  it('finds rare items behind the newest, and states which part it did not search', async () => {
    const client = await newClient('rare', 2);
    const { rows } = await api.database.query('select client_id as id from searches where number = $1', [
      client.searches[0]?.number,
    ]);
    const clientId = rows[0].id;
    const add = (count: number, kind: string, from: number) =>
      api.database.query(
        `insert into deliveries (id, search_number, match_id, channel, kind, endpoint, endpoint_key, head, snapshot_id,
           created_at, sequence)
         select gen_random_uuid(), $1, gen_random_uuid(), 'event', $2, $5, $6, '',
           gen_random_uuid(), $3::timestamptz + n * interval '1 second', 1 from generate_series(1, $4) n`,
        [
          ...[client.searches[0]?.number, kind, new Date(START_MS + from * 1_000), count],
          ...[`https://h.example.com/${kind}`, endpointKeyOf(clientId, `https://h.example.com/${kind}`)],
        ],
      );
    await add(19, 'ad.update.surface', 0);
    await add(LISTED_MAX + 50, 'property.ad.create', 100);
    for (const query of ['event=ad.update.surface', 'endpoint=https://h.example.com/ad.update.surface']) {
      const { 'hydra:totalItems': total, estimated } = await get(`/deliveries?${query}`, client.key);
      assert.deepEqual([total, estimated], [19, false], query);
    }
    const { 'hydra:totalItems': total, estimated } = await get('/deliveries?status=failed', client.key);
    assert.deepEqual([total, estimated], [0, true]);
  });

  it('reads each search once, only by the index of the search', async () => {
    const { rows } = await api.database.query('select client_id as id from searches where number = $1', [
      agency.searches[0]?.number,
    ]);
    await api.database.query(
      `insert into deliveries (id, search_number, match_id, channel, kind, endpoint, endpoint_key, head, snapshot_id,
         sequence)
       select gen_random_uuid(), 0, gen_random_uuid(), 'match', 'property.ad.create', 'https://h.example.com', 'k', '',
         gen_random_uuid(), 1 from generate_series(1, 5000)`,
    );
    await api.database.query(
      `insert into mail_items (id, client_id, search_number, match_id, property_uuid, kind, endpoint, endpoint_key, reason,
         gathers_from, due_at)
       select gen_random_uuid(), gen_random_uuid(), 1000000 + n % 500, gen_random_uuid(), gen_random_uuid(), 'property.ad.create',
         'mailto:a@b.example', 'k', '{}', now(), now() from generate_series(1, 5000) n`,
    );
    await api.database.query('analyze');
    for (const [table, parts] of [
      [LISTED_MATCHES, ['matches']],
      [LISTED_DELIVERIES, ['deliveries', 'mail_items']],
    ] as const) {
      for (const direction of ['asc', 'desc'] as const) {
        const { queryable, plans } = explainer();
        await listOfClient(queryable, table, rows[0].id, { direction, offset: 0, limit: 3 });
        const [plan = ''] = plans;
        assert.doesNotMatch(plan, /Hash Join|Merge Join/, plan);
        for (const part of parts) {
          assert.doesNotMatch(plan, new RegExp(`Seq Scan on ${part}`), plan);
          assert.match(plan, new RegExp(`${part}_search`), plan);
        }
        // The statement reads the first row of each search once.
        assert.match(plan, new RegExp(`loops=${agency.searches.length}\\b`), plan);
      }
    }
  });
});
