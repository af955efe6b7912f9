/** Current results of a search, compared with an evaluation of every property: order, pages, and too many results. */

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { parse } from 'csv-parse/sync';
import { createRandom } from '../../bench/adverts/seeded-random.ts';
import { type Criteria, satisfies } from '../../src/engine/domain/criteria.ts';
import type { Position } from '../../src/engine/domain/geo.ts';
import type { Uuid } from '../../src/engine/domain/ids.ts';
import { propertyDocument } from '../../src/engine/domain/property-document.ts';
import { criteriaOf, SEARCH_DEFAULTS } from '../../src/engine/domain/search.ts';
import { siteCategoryNames } from '../../src/engine/store/site-categories.ts';
import { type QueryTools, satisfiedSince } from '../../src/features/explanations/examination.ts';
import { FOUND_ORDERS, type FoundQuery, foundProperties } from '../../src/features/explanations/found-properties.ts';
import { previewFigures } from '../../src/features/explanations/preview-figures.ts';
import { valuesOf } from '../support/lists.ts';
import { type KnownProperty, knownProperties, randomMembers, sampleMessages } from '../support/question-scene.ts';
import { runsOf } from '../support/random-runs.ts';
import { startRecordedApi } from '../support/recorded-api.ts';

const SEARCHES = runsOf(120);
const ADVERTS = 2_500;
const CATEGORIES = 5;
const START = new Date('2026-03-01T08:00:00Z');
const WORDS = ['balcon', 'jardin', 'vue', 'garage'];
const ALL = 1_000_000;
const PREVIEW = { days: 30, sampleMax: 0, placesMax: 0, now: START } as const;

const { api, scene, createSearch } = await startRecordedApi({ after });
await scene.record(sampleMessages(7, api.reference, ADVERTS, START));
const medians = await scene.computeMedians();
const properties = await knownProperties(api.database, api.reference.resolvePlace, medians);
const siteCategoryName = await siteCategoryNames(api.database);

const tools = (cancelled = new AbortController().signal): QueryTools => ({
  database: api.database,
  sampleStart: 0,
  medians,
  cancelled,
});
const NEWEST = {
  by: 'updatedAt',
  direction: 'desc',
  text: null,
  mark: null,
  marked: [],
  offset: 0,
  limit: ALL,
} as const;
const find = (query: Partial<FoundQuery> & { readonly criteria: Criteria }) =>
  foundProperties({ ...NEWEST, ...query }, tools());

const anything = (): Criteria => criteriaOf({ ...SEARCH_DEFAULTS, title: 'x', withCoherentPrice: null }, () => null);
const withText = (text: string): Criteria => ({
  ...anything(),
  expressions: [text.split(' ').map((word) => ({ word, includes: true, strict: false }))],
});

/** A square around all properties, as a polygon with `corners` corners. */
const square = (corners = 4): Pick<Criteria, 'areas'> => {
  const side = Array.from({ length: corners - 3 }, (_, i): Position => [-5 + (15 * i) / (corners - 3), 41]);
  const polygon = [[...side, [10, 41], [10, 52], [-5, 52], [-5, 41]] as const];
  return { areas: { ...anything().areas, polygons: [polygon] } };
};

/** The value in the document that a client reads. */
function valueOf({ stored }: KnownProperty, by: FoundQuery['by']): number | string | null {
  const document = propertyDocument(stored.state, stored.crawls, () => null, { withContacts: true });
  return (document[by] as number | string | null) ?? null;
}

describe('the current results of a search', () => {
  it('are all live properties that satisfy it, in the requested order, with the time when they began to', async () => {
    const random = createRandom(41);
    let found = 0;
    for (let i = 0; i < SEARCHES; i++) {
      const criteria = criteriaOf(randomMembers(random, properties, CATEGORIES), siteCategoryName);
      const text = random.chance(0.3) ? random.pick(WORDS) : null;
      const order = { by: random.pick(FOUND_ORDERS), direction: random.chance(0.5) ? 'asc' : 'desc' } as const;
      const answer = await find({ criteria, text, ...order });
      const expected = properties.filter(({ facts }) => {
        return satisfies(criteria, facts) && (text === null || satisfies(withText(text), facts));
      });
      const what = JSON.stringify({ criteria, text, order });
      assert.equal(answer.estimated, false, what);
      assert.equal(answer.total, expected.length, what);
      assert.deepEqual(answer.page.map(({ uuid }) => uuid).sort(), valuesOf(expected, 'uuid'), what);
      const byUuid = new Map(expected.map((one) => [one.uuid, one]));
      for (const { uuid, satisfiedSince: since } of answer.page) {
        assert.equal(since, satisfiedSince(criteria, byUuid.get(uuid) as KnownProperty, medians));
      }
      assertOrdered(
        answer.page.map(({ uuid }) => byUuid.get(uuid) as KnownProperty),
        order,
        what,
      );
      found += expected.length;
    }
    assert.ok(found > SEARCHES);
  });

  it('have the same pages for every reader, without duplicates or gaps', async () => {
    for (const by of FOUND_ORDERS) {
      const whole = await find({ criteria: anything(), by });
      const pages: Uuid[] = [];
      for (let offset = 0; offset < whole.total; offset += 333) {
        const { page, total } = await find({ criteria: anything(), by, offset, limit: 333 });
        assert.equal(total, whole.total);
        pages.push(...page.map(({ uuid }) => uuid));
      }
      assert.deepEqual(pages, valuesOf(whole.page, 'uuid'), by);
    }
  });

  it('are complete even if the machine stalls for a second between any two steps, and so is a preview', async () => {
    let nowMs = 0;
    const heldUp = { ...tools(), nowMs: () => (nowMs += 1_000) };
    for (const criteria of [anything(), withText('vue'), { ...withText('balcon'), ...square() }]) {
      const expected = properties.filter(({ facts }) => satisfies(criteria, facts)).map(({ uuid }) => uuid);
      const { page, estimated, margin } = await foundProperties({ ...NEWEST, criteria }, heldUp);
      assert.deepEqual(page.map(({ uuid }) => uuid).sort(), expected);
      assert.deepEqual([estimated, margin], [false, 0]);
      const figures = await previewFigures({ ...PREVIEW, criteria }, heldUp);
      assert.deepEqual([figures.satisfiedNow, figures.estimated, figures.margin], [expected.length, false, 0]);
    }
  });

  it('are cancelled between two slices', async () => {
    let calls = 0;
    const { signal } = new AbortController();
    signal.throwIfAborted = () => {
      calls += 1;
      if (calls === 3) throw new Error('left');
    };
    await assert.rejects(foundProperties({ ...NEWEST, criteria: withText('balcon') }, tools(signal)), /^Error: left$/);
    assert.equal(calls, 3);
  });
});

function assertOrdered(
  listed: readonly KnownProperty[],
  { by, direction }: Pick<FoundQuery, 'by' | 'direction'>,
  what: string,
): void {
  for (const [i, next] of listed.slice(1).entries()) {
    const [a, b] = [valueOf(listed[i] as KnownProperty, by), valueOf(next, by)];
    const isInOrder = b === null || (a !== null && (direction === 'asc' ? a <= b : a >= b));
    assert.ok(isInOrder, `${String(a)} before ${String(b)}: ${what}`);
  }
}

describe('GET /searches/{id}/properties', () => {
  const search = (members: object = {}) => createSearch({ withCoherentPrice: null, ...members });

  it('answers documents with the time when they began to satisfy the search, and their match if any', async () => {
    const id = await search({ notificationEnabled: true, endpointRecipient: 'https://example.com/hook' });
    const { body } = await api.call('GET', `${id}/properties?itemsPerPage=100`);
    assert.equal(body.estimated, false);
    assert.equal(body['hydra:totalItems'], properties.filter(({ facts }) => facts.adverts.length > 0).length);
    const [first] = body['hydra:member'];
    assert.equal(first.match, null);
    assert.ok(Date.parse(first.satisfiedSince));
    // The first advert of a new property is notified, and starts a match.
    const [message] = sampleMessages(99, api.reference, 1, new Date('2026-05-01T08:00:00Z'));
    assert.ok(message);
    await scene.record([message]);
    const { body: now } = await api.call('GET', `${id}/properties`);
    const [newest] = now['hydra:member'];
    assert.equal(newest.uuid, message.propertyUuid);
    const { body: match } = await api.call('GET', newest.match);
    assert.deepEqual([match.property, match.search], [newest['@id'], id]);
    const { body: matches } = await api.call('GET', `${id}/matches`);
    assert.deepEqual(valuesOf(matches['hydra:member'], '@id'), [newest.match]);
    assert.equal((await api.call('GET', newest['@id'])).body.title, newest.title);
  });

  it('answers for a search without notifications, hides contacts as the search does, and sorts', async () => {
    const id = await search({ transactionType: 0, hidePropertyContact: true });
    const { body } = await api.call('GET', `${id}/properties?order[price]=asc&itemsPerPage=50`);
    const members: readonly { price: number | null; adverts: readonly object[] }[] = body['hydra:member'];
    const prices = members.map(({ price }) => price ?? Infinity);
    assert.deepEqual(
      prices,
      prices.toSorted((a, b) => a - b),
    );
    assert.ok(members.every(({ adverts }) => adverts.every((advert) => !('contact' in advert))));
    assert.ok(body['hydra:totalItems'] > members.length);
  });

  it('is CSV on request, one line per property, with a link to the next page', async () => {
    const id = await search();
    const query = `${id}/properties?order[price]=desc&itemsPerPage=20`;
    const { body } = await api.call('GET', query);
    const headers = { 'X-API-KEY': api.key, Accept: 'text/csv' };
    const csv = await fetch(api.baseUrl + query, { headers });
    assert.equal(csv.headers.get('Content-Type'), 'text/csv; charset=utf-8');
    const rows: readonly Record<string, string>[] = parse(await csv.text(), { columns: true });
    const members: readonly Record<string, unknown>[] = body['hydra:member'];
    assert.deepEqual(
      rows.map(({ uuid, price, satisfiedSince: since }) => [uuid, Number(price), since]),
      members.map(({ uuid, price, satisfiedSince: since }) => [uuid, Number(price), since]),
    );
    assert.equal(rows.length, 20);
    assert.ok(csv.headers.get('Link')?.includes(`<${body['hydra:view']['hydra:next']}>; rel="next"`));
  });

  it('refuses two orders, unknown searches and media types', async () => {
    const id = await search();
    const orders = 'order[price]=asc&order[surface]=asc';
    assert.equal((await api.call('GET', `${id}/properties?${orders}`)).status, 400);
    assert.equal((await api.call('GET', '/searches/nothing/properties')).status, 404);
    const image = { headers: { Accept: 'image/png' } };
    assert.equal((await api.call('GET', `${id}/properties`, undefined, image)).status, 406);
  });
});

describe('a search with more properties than are evaluated', () => {
  before(async () => {
    // Copies each property eleven times. Only 12,000 of the copies have an event. The samples are the same in each run,
    // because one in forty exceeds its margin.
    await api.database.query(`
      create table copied as select uuid, md5(uuid::text || number)::uuid as copy
        from properties, generate_series(1, 11) as number;
      insert into properties (uuid, state, state_bytes, crawls, changed_at)
        select copy, state, state_bytes, crawls, changed_at from copied join properties using (uuid);
      insert into property_summaries select (d).* from (
        select jsonb_populate_record(summary, jsonb_build_object('property_uuid', copy,
          'sample_key', ('x' || left(md5(copy::text), 8))::bit(32)::integer)) as d
        from copied join property_summaries summary on property_uuid = uuid offset 0) changed;
      insert into events (property_uuid, advert_uuid, kind, created_at)
        select copy, copy, 'property.ad.update', now() from copied order by copy limit 12000;`);
  });

  it('evaluates the 10,000 live properties that changed last, including one that was just recorded', async () => {
    const [message] = sampleMessages(77, api.reference, 1, new Date('2026-06-01T08:00:00Z'));
    assert.ok(message);
    await scene.record([message]);
    const { rows } = await api.database.query<{ uuid: Uuid; isRental: boolean }>(`
      select property_uuid as uuid, transaction_type = 1 as "isRental"
      from (select property_uuid, max(id) as last from events group by property_uuid) changed
      join property_summaries using (property_uuid) where is_live order by last desc limit 10000`);
    assert.equal(rows.length, 10_000);
    const rentals = rows.flatMap(({ uuid, isRental }) => (isRental ? [uuid] : []));
    const rental = { ...anything(), transactionType: 1 } as const;
    const answer = await find({ criteria: rental });
    assert.equal(answer.estimated, true);
    assert.deepEqual(answer.page.map(({ uuid }) => uuid).sort(), rentals.sort());
    const everything = await find({ criteria: anything() });
    assert.equal(everything.page[0]?.uuid, message.propertyUuid);
    assert.equal(everything.total, 10_000);
  });

  it('states how many more there may be', async () => {
    const { rows } = await api.database.query<{ count: number }>(
      'select count(*)::integer as count from property_summaries where is_live and transaction_type = 1',
    );
    const truth = rows[0]?.count ?? 0;
    const { total, margin } = await find({ criteria: { ...anything(), transactionType: 1 } });
    assert.ok(total < truth && truth <= total + margin, `${total} of ${truth}, margin ${margin}`);
    assert.ok(total + margin < 1.2 * truth, `${total} of ${truth}, margin ${margin}`);
  });

  it('evaluates proportionally fewer if a polygon has many corners', async () => {
    const fine = { ...anything(), ...square(5_000) };
    const { total, estimated, margin } = await find({ criteria: fine });
    assert.ok(total > 3_000 && total <= 4_000, `${total}`);
    assert.ok(estimated && margin > 10_000, `${margin}`);
  });
});
